//! One execution under a [`Scheduler`], and what the tasks of it ask the run for.

use crate::config::{Config, FailurePersistence, MaxSteps};
use crate::scheduler::{Schedule, ScheduleStep, Scheduler, Task, serialization};
use crate::task::{ChildLabelFn, Tag, TaskId, TaskName, forget_labels, with_labels};
use fabius::thread::drive::{self, Driven, Signal};
use std::any::Any;
use std::cell::RefCell;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

pub(crate) type SharedScheduler = Rc<RefCell<dyn Scheduler>>;

/// What is known of the execution under way besides what fabius knows.
pub(crate) struct Run {
    scheduler: SharedScheduler,
    pub schedule: Schedule,
    /// Scheduling decisions so far.
    pub switches: usize,
    /// Where the count against [`MaxSteps`] begins.
    pub counted_from: usize,
    pub tasks: Vec<Rc<Task>>,
    pub details: Vec<Details>,
    pub yields: bool,
    /// The payload of a panic that ended a task.
    pub failure: Option<Box<dyn Any + Send>>,
    pub semaphores: usize,
}

/// What is known of a task.
pub(crate) struct Details {
    pub detached: bool,
    /// It is a future between two polls, or has not begun: it can be dropped without unwinding its stack.
    pub parked: bool,
    /// It is to be dropped when it goes on.
    pub cancelled: bool,
    pub signal: Arc<Signal>,
    pub tag: Option<Arc<dyn Tag>>,
    children: u64,
}

thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
}

/// Calls `f` with the execution under way; `None` if there is none.
pub(crate) fn with<R>(f: impl FnOnce(&mut Run) -> R) -> Option<R> {
    RUN.with(|run| run.try_borrow_mut().ok()?.as_mut().map(f))
}

/// The same, with a clear message if there is none.
#[track_caller]
pub(crate) fn must<R>(f: impl FnOnce(&mut Run) -> R) -> R {
    match with(f) {
        Some(result) => result,
        None => panic!("this works only inside of a test that shuttle runs"),
    }
}

/// Panics inside of an execution, whoever runs it: one has no room for another.
#[track_caller]
pub(crate) fn must_be_outside() {
    assert!(drive::me().is_none(), "a test must not be run inside of another");
}

/// Whether a [`crate::Runner`] runs the caller; otherwise `fabius::check` may.
pub(crate) fn is_active() -> bool {
    RUN.with(|run| run.try_borrow().map_or(true, |run| run.is_some()))
}

/// The task that runs.
pub(crate) fn me() -> Option<TaskId> {
    drive::me().map(TaskId::from)
}

/// A random number, from the scheduler.
pub(crate) fn next_u64() -> Option<u64> {
    let scheduler = with(|run| {
        run.schedule.push_random();
        run.scheduler.clone()
    })?;
    let value = scheduler.borrow_mut().next_u64();
    Some(value)
}

impl Run {
    fn new(scheduler: SharedScheduler, schedule: Schedule) -> Run {
        Run {
            scheduler,
            schedule: Schedule { steps: Vec::new(), ..schedule },
            switches: 0,
            counted_from: 0,
            tasks: Vec::new(),
            details: Vec::new(),
            yields: false,
            failure: None,
            semaphores: 0,
        }
    }

    fn born(&mut self, parent: Option<TaskId>, at: &'static Location<'static>) {
        let id = TaskId::from(self.tasks.len());
        let parent_details = parent.map(|p| &mut self.details[usize::from(p)]);
        let (tag, number) = parent_details.map_or((None, 0), |p| {
            p.children += 1;
            (p.tag.clone(), p.children)
        });
        let parent_signature = parent.map_or(0, |p| self.tasks[usize::from(p)].signature.signature_hash());
        let signature = crate::scheduler::TaskSignature::new(at, parent_signature, number);
        self.tasks.push(Rc::new(Task::new(id, parent, signature)));
        self.details.push(Details {
            detached: false,
            parked: true,
            cancelled: false,
            signal: Arc::new(Signal::new()),
            tag,
            children: 0,
        });
    }
}

/// A task is about to be spawned: a scheduling point. Then its number is given, and its labels.
pub(crate) fn before_spawn(name: Option<&str>, at: &'static Location<'static>) {
    if !is_active() {
        return;
    }
    drive::switch("spawn");
    let parent = me();
    let id = must(|run| {
        run.born(parent, at);
        TaskId::from(run.tasks.len() - 1)
    });
    let mut labels = parent.map(|p| with_labels(p, |l| l.clone())).unwrap_or_default();
    if let Some(name) = name {
        labels.insert(TaskName::from(name));
    }
    if let Some(ChildLabelFn(change)) = labels.get::<ChildLabelFn>().cloned() {
        change(id, &mut labels);
    }
    with_labels(id, |all| *all = labels);
}

/// What a task does: waits to be scheduled, runs, and says if it panicked.
pub(crate) fn body<T>(f: impl FnOnce() -> T) -> T {
    if !is_active() {
        return f();
    }
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        drive::switch("begin");
        set_parked(false);
        let value = f();
        if !drive::is_given_up() && ends_all() {
            drive::switch("end");
        }
        value
    }));
    match result {
        Ok(value) => value,
        Err(payload) if drive::unwinds(&*payload) => std::panic::resume_unwind(payload),
        Err(payload) => {
            with(|run| {
                run.failure.get_or_insert(payload);
            });
            std::panic::resume_unwind(Box::new("the task panicked"))
        }
    }
}

/// Says whether the current task is between two polls.
pub(crate) fn set_parked(parked: bool) {
    if let Some(me) = drive::me() {
        with(|run| run.details[me].parked = parked);
    }
}

/// Whether the current task is to be dropped.
pub(crate) fn is_cancelled() -> bool {
    drive::me().and_then(|me| with(|run| run.details[me].cancelled)).unwrap_or(false)
}

/// Whether the execution may end with the current task, so that others would not go on.
fn ends_all() -> bool {
    with(|run| {
        let Some(me) = drive::me() else { return false };
        if me == 0 {
            return true;
        }
        if run.details[me].detached {
            return false;
        }
        let others = || (0..run.details.len()).filter(|t| *t != me && !drive::has_finished(*t));
        others().all(|t| run.details[t].detached) && others().next().is_some()
    })
    .unwrap_or(false)
}

/// How an execution ended.
enum End {
    Finished,
    /// The scheduler or the number of steps stopped it.
    Stopped,
    Panic(Box<dyn Any + Send>),
    Message(String),
}

/// Clears the run when the execution is over, however that ends.
struct Clear;

impl Drop for Clear {
    fn drop(&mut self) {
        // Dropped only after the borrow: destructors may look.
        let run = RUN.with(|run| run.borrow_mut().take());
        drop(run);
        forget_labels();
    }
}

/// Runs one execution. Panics if it fails.
pub(crate) fn execute(
    scheduler: &SharedScheduler,
    schedule: Schedule,
    config: &Config,
    test: &Arc<dyn Fn() + Send + Sync>,
    at: &'static Location<'static>,
) {
    assert!(!is_active(), "shuttle must not be run inside of a test that shuttle runs");
    let mut run = Run::new(scheduler.clone(), schedule);
    run.born(None, at);
    RUN.with(|place| *place.borrow_mut() = Some(run));
    let clear = Clear;
    with_labels(TaskId::from(0), |labels| labels.insert(TaskName::from("main-thread")));
    let test = test.clone();
    let mut driven = Driven::begin(Box::new(move || body(|| test())), &mut |_| 0);
    let mut end = drive_to_end(&mut driven, scheduler, config);
    if matches!(end, End::Finished) {
        end = drop_detached(&mut driven, config);
    }
    if driven.has_weaker_orderings() && !config.silence_warnings {
        warn_of_weaker_orderings();
    }
    if matches!(end, End::Finished | End::Stopped) {
        drop(driven);
    } else {
        let schedule = must(|run| run.schedule.clone());
        persist(&schedule, &config.failure_persistence, current_name());
        // As in shuttle, what is on the stacks of a failed execution is leaked: its destructors could fail too.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| driven.leak()));
    }
    let panicked = with(|run| run.failure.take()).flatten();
    drop(clear);
    match end {
        End::Panic(payload) => std::panic::resume_unwind(payload),
        End::Message(message) => panic!("{message}"),
        End::Finished => {
            // What was dropped at the end panicked.
            if let Some(payload) = panicked {
                std::panic::resume_unwind(payload);
            }
        }
        End::Stopped => {}
    }
}

/// Once in a process.
fn warn_of_weaker_orderings() {
    static WARNED: std::sync::Once = std::sync::Once::new();
    WARNED.call_once(|| {
        if std::env::var_os(crate::SILENCE_WARNINGS).is_none() {
            let silent = format!("to say nothing of it: `Config::silence_warnings`, or {} in the environment", crate::SILENCE_WARNINGS);
            eprintln!(
                "warning: atomics have the values that they have with `SeqCst`, as with shuttle, whatever their orderings; \
                 `fabius::check` of the same test looks at the others, too ({silent})"
            );
        }
    });
}

fn current_name() -> String {
    let last = with(|run| {
        run.schedule.steps.iter().rev().find_map(|s| match s {
            ScheduleStep::Task(task) => Some(*task),
            ScheduleStep::Random => None,
        })
    });
    last.flatten().map_or_else(|| "main-thread".into(), |task| format!("{task:?}"))
}

/// How the execution has failed, if it has: then it makes no step more.
fn failed(driven: &Driven) -> Option<End> {
    let payload = must(|run| run.failure.take()).map(End::Panic);
    payload.or_else(|| driven.failure().map(End::Message))
}

fn drive_to_end(driven: &mut Driven, scheduler: &SharedScheduler, config: &Config) -> End {
    let mut current = None;
    let mut ready: Vec<Rc<Task>> = Vec::new();
    loop {
        if let Some(end) = failed(driven) {
            return end;
        }
        let steps = must(|run| {
            run.switches += 1;
            run.schedule.len() - run.counted_from
        });
        match config.max_steps {
            MaxSteps::FailAfter(most) if steps >= most => {
                let why = "perhaps the schedule is unfair to a task that another spins for";
                return End::Message(format!("exceeded max_steps bound of {most}: {why}"));
            }
            MaxSteps::ContinueAfter(most) if steps >= most => return End::Stopped,
            _ => {}
        }
        ready.clear();
        let attached = must(|run| {
            let unfinished = (0..driven.threads()).filter(|t| !driven.is_finished(*t));
            let mut attached = Vec::new();
            for thread in unfinished {
                if driven.is_ready(thread) {
                    ready.push(run.tasks[thread].clone());
                }
                if !run.details[thread].detached {
                    attached.push(thread);
                }
            }
            attached
        });
        if attached.is_empty() {
            return End::Finished;
        }
        if ready.is_empty() {
            let names: Vec<String> = attached.iter().map(|t| format!("{:?}", TaskId::from(*t))).collect();
            return End::Message(format!("deadlock! blocked tasks: [{}]", names.join(", ")));
        }
        let refs: Vec<&Task> = ready.iter().map(|t| &**t).collect();
        let yields = must(|run| std::mem::take(&mut run.yields));
        let Some(next) = scheduler.borrow_mut().next_task(&refs, current, yields) else { return End::Stopped };
        assert!(refs.iter().any(|t| t.id() == next), "the scheduler picked {next:?}, which cannot run");
        must(|run| run.schedule.push_task(next));
        current = Some(next);
        driven.step(next.into(), &mut |alternatives| pick(alternatives, next));
    }
}

/// Drops the futures that nobody waits for any more, each as its task: their destructors may wait for one another.
fn drop_detached(driven: &mut Driven, config: &Config) -> End {
    let most = match config.max_steps {
        MaxSteps::FailAfter(most) => most,
        MaxSteps::ContinueAfter(most) => most.max(1_000_000),
        MaxSteps::None => usize::MAX,
    };
    let mut steps = must(|run| run.schedule.len() - run.counted_from);
    let mut cancelled = Vec::new();
    loop {
        let new = must(|run| {
            let threads = 0..driven.threads();
            let new: Vec<usize> = threads.filter(|t| !driven.is_finished(*t) && !run.details[*t].cancelled).collect();
            let new: Vec<usize> = new.into_iter().filter(|t| run.details[*t].parked).collect();
            for thread in &new {
                run.details[*thread].cancelled = true;
                run.details[*thread].signal.give();
            }
            new
        });
        cancelled.extend(new);
        cancelled.retain(|t| !driven.is_finished(*t));
        if cancelled.is_empty() {
            return End::Finished;
        }
        let mut went_on = false;
        for thread in &cancelled {
            if !driven.is_finished(*thread) && driven.is_ready(*thread) {
                went_on = true;
                must(|run| run.switches += 1);
                steps += 1;
                if steps > most {
                    let message = format!("exceeded max_steps bound of {most} while the execution was torn down");
                    return End::Message(message);
                }
                driven.step(*thread, &mut |_| 0);
                if let Some(end) = failed(driven) {
                    return end;
                }
            }
        }
        if !went_on {
            // One that stopped in the middle of something may hold what the others wait for.
            let stuck = (0..driven.threads()).find(|t| !driven.is_finished(*t) && !cancelled.contains(t));
            if let Some(thread) = stuck {
                driven.unwind(thread);
                if let Some(end) = failed(driven) {
                    return end;
                }
                continue;
            }
            let names: Vec<String> = cancelled.iter().map(|t| format!("{:?}", TaskId::from(*t))).collect();
            let message = "deadlock while dropping the tasks that were unfinished at the end of the execution!";
            return End::Message(format!("{message} blocked tasks: [{}]", names.join(", ")));
        }
    }
}

/// A choice inside of a step, for instance whom `notify_one` wakes: the scheduler picks one of as many tasks.
fn pick(alternatives: u32, current: TaskId) -> u32 {
    let count = alternatives as usize;
    let asked = with(|run| (run.scheduler.clone(), run.tasks.iter().take(count).cloned().collect::<Vec<_>>()));
    let Some((scheduler, tasks)) = asked else { return 0 };
    if tasks.len() < count {
        // More alternatives than tasks: that is no choice among threads.
        return (next_u64().unwrap_or(0) % u64::from(alternatives)) as u32;
    }
    let refs: Vec<&Task> = tasks.iter().map(|t| &**t).collect();
    let picked = scheduler.borrow_mut().next_task(&refs, Some(current), false).unwrap_or(TaskId::from(0));
    with(|run| run.schedule.push_task(picked));
    usize::from(picked).min(count - 1) as u32
}

fn persist(schedule: &Schedule, persistence: &FailurePersistence, task: String) {
    let text = serialization::encode(schedule);
    let print = || {
        eprintln!("test panicked in task '{task}'");
        eprintln!("failing schedule:\n\"\n{text}\n\"\npass that string to `shuttle::replay` to replay the failure");
    };
    match persistence {
        FailurePersistence::None => {}
        FailurePersistence::Print => print(),
        FailurePersistence::File(folder) => match save(&text, folder.as_deref()) {
            Ok(path) => {
                eprintln!("test panicked in task '{task}'");
                eprintln!("failing schedule persisted to file: {}", path.display());
                eprintln!("pass that path to `shuttle::replay_from_file` to replay the failure");
            }
            Err(error) => {
                eprintln!("the schedule could not be saved: {error}");
                print();
            }
        },
    }
}

fn save(text: &str, folder: Option<&Path>) -> std::io::Result<PathBuf> {
    use std::io::Write;
    let folder = folder.map_or_else(std::env::current_dir, |f| Ok(f.to_path_buf()))?;
    for number in 0.. {
        let path = folder.join(format!("schedule{number:03}.txt"));
        match std::fs::File::create_new(&path) {
            Ok(mut file) => {
                file.write_all(text.as_bytes())?;
                return path.canonicalize();
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    unreachable!("there is always another number")
}
