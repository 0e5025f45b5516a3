//! From a request to an answer: explores, begins again when data races show that there must be more scheduling points, and
//! runs what fails twice more to write it down.

use crate::rt::rt;
use crate::system::Program;
use crate::threads::fabius_fails;
use fabius_explore::search::{Bug, Cut, Found, Monitor, Options, Outcome, Progress, Reduction, Strategy};
use fabius_explore::system::{Choose, End, StepLog, System};
use fabius_explore::{shrink, stateless, walk};
use fabius_native_protocol as protocol;
use fabius_native_protocol::{
    Answer, Failed, Isolation, NONDETERMINISTIC, Recorded, RecordedStep, Request, Walk, What,
};
use fabius_trace::{Bound, BugKind, Schedule, Turn};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// What is still explored after a data race was seen, in the hope of a failure that it leads to, unless the request says how
/// much.
const BEHIND_RACES: (u32, u64) = (2, 50_000);

/// How long a data race that was seen is looked for once more behind the time that there is.
const ONCE_MORE: Duration = Duration::from_secs(2);

/// Does what is asked.
pub fn run(request: &Request) -> Answer {
    match &request.what {
        What::Explore => explore(request),
        What::Replay(schedule) | What::Repeat(schedule) => replay(schedule),
    }
}

fn explore(request: &Request) -> Answer {
    let began = Instant::now();
    let mut reduction = request.reduction;
    let (mut executions, mut options, mut outcome, mut first);
    loop {
        forget();
        first = first_execution();
        let found_races = rt().again;
        forget();
        if found_races {
            continue;
        }
        let rt = rt();
        let races = !rt.races.raced.is_empty() && !rt.settings.race_is_bug;
        options = of(request, reduction, races, began);
        outcome = search(&options);
        executions = rt.header.executions();
        let asked = rt.header.stop.load(Relaxed) != 0 || outcome.cut == Some(Cut::Time);
        if rt.unannounced && reduction && !asked {
            // Somebody looks at what is not announced: executions that seem alike need not be.
            reduction = false;
            continue;
        }
        if !rt.again || asked || rt.not_restored.is_some() {
            break;
        }
    }
    if let Some(why) = rt().not_restored.take() {
        return Answer {
            cut: Some(protocol::Cut::Interrupted),
            executions,
            not_restored: Some(why),
            ..Answer::default()
        };
    }
    let mut bug = outcome.bug.take();
    if bug.is_none() && !rt().races.raced.is_empty() && !rt().settings.race_is_bug {
        rt().settings.race_is_bug = true;
        rt().header.halt.store(false, Relaxed);
        // It was seen already, so it is there to be found again, also if the time is over.
        let enough = Instant::now() + ONCE_MORE;
        let found =
            search(&Options { deadline: options.deadline.map(|deadline| deadline.max(enough)), ..options.clone() });
        bug = found.bug;
        if bug.is_some() {
            outcome.completed = found.completed;
        } else {
            outcome.cut = outcome.cut.or(found.cut);
            outcome.exhausted = false;
            rt().limits.insert("a data race was seen, and not when it was looked for alone".into());
        }
    }
    // Who has no answer anyway, for instance because a loop never ends, need not be asked again.
    let has_none = matches!(outcome.cut, Some(Cut::Program(..) | Cut::Time | Cut::Interrupted));
    let repeats = bug.is_some() || has_none || first == first_execution();
    if !repeats {
        outcome.cut = Some(Cut::Nondeterminism);
        outcome.exhausted = false;
    }
    rt().points_are_fixed = true;
    let mut answer = Answer {
        levels: outcome.levels,
        completed: outcome.completed,
        exhausted: outcome.exhausted,
        cut: outcome.cut.map(said),
        growth: outcome.growth,
        executions,
        data_points: rt().races.marked.clone(),
        races: rt().races.raced.len(),
        modules: modules(),
        ..Answer::default()
    };
    if let Some(found) = bug {
        failed(&options, Duration::from_millis(request.shrinking), found, &mut answer);
    }
    let rt = rt();
    answer.limits = rt.limits.iter().cloned().collect();
    answer.limits.sort();
    answer.shows_more = rt.weaker.shows_more();
    if rt.stacks.used & rt.stacks.relied_on != 0 {
        answer.limits.push(
            "executions that come back to a state end there, though others use the stack of a thread in them".into(),
        );
    }
    if rt.unfair {
        answer.limits.push("a thread gave way many times without coming back to where it was, and had to wait".into());
    }
    answer
}

/// What was found out so far is not to be known any more.
fn forget() {
    let rt = rt();
    (rt.again, rt.unannounced, rt.unfair, rt.stacks) = (false, false, false, Default::default());
    rt.limits.clear();
    rt.header.halt.store(false, Relaxed);
}

fn of(request: &Request, reduction: bool, races: bool, began: Instant) -> Options {
    let strategy = match request.walk {
        Walk::Iterative => Strategy::Iterative,
        Walk::DepthFirst => Strategy::DepthFirst,
        Walk::Random => Strategy::Random,
        Walk::Pct(changes) => Strategy::Pct(changes),
        Walk::Pos => Strategy::Pos,
        Walk::Urw => Strategy::Urw,
        Walk::Surw => Strategy::Surw,
    };
    let in_order = strategy == Strategy::Iterative && races;
    Options {
        bound: request.bound,
        max: request.max.or((in_order && request.bound != Bound::None).then_some(BEHIND_RACES.0)),
        scheduler: request.scheduler,
        strategy,
        executions: request.executions.or(in_order.then_some(BEHIND_RACES.1)),
        deadline: request.time.map(|t| began + Duration::from_millis(t)),
        jobs: if request.isolation == Isolation::Process { 1 } else { request.jobs },
        workers: crate::crew::PROCESSES,
        seed: request.seed,
        max_steps: request.max_steps,
        reduction: if reduction { Reduction::Classes } else { Reduction::None },
        at_first_bug: true,
        ..Options::default()
    }
}

fn search(options: &Options) -> Outcome {
    let look = |progress: &Progress| rt().header.bound.store(progress.bound, Relaxed);
    let monitor = Monitor { stop: &rt().header.halt, progress: &look };
    match options.strategy {
        Strategy::Iterative | Strategy::DepthFirst => stateless::search(&Program, options, &monitor, &|_| {}),
        _ => walk::search(&Program, options, &monitor),
    }
}

fn said(cut: Cut) -> protocol::Cut {
    match cut {
        Cut::Time => protocol::Cut::Time,
        Cut::Interrupted => protocol::Cut::Interrupted,
        Cut::Executions => protocol::Cut::Executions,
        Cut::Memory => protocol::Cut::Memory,
        Cut::Steps => protocol::Cut::Said("an execution has more steps than `--max-steps`".into()),
        Cut::Nondeterminism => protocol::Cut::Said(NONDETERMINISTIC.into()),
        Cut::Program(..) | Cut::Unfair => protocol::Cut::Said("a limit inside the program".into()),
    }
}

/// Puts a bug into the answer, made as simple as possible and run twice.
fn failed(options: &Options, shrinking: Duration, found: Found, answer: &mut Answer) {
    // What was found is an answer as it is.
    let enough = Instant::now() + shrinking;
    let deadline = Some(options.deadline.map_or(enough, |deadline| deadline.min(enough)));
    let options = Options { strategy: Strategy::Iterative, deadline, ..options.clone() };
    let found = shrink::shrink(&Program, &options, &found, &rt().header.halt);
    let (first, second) = (once(&found.schedule), once(&found.schedule));
    match (first, second) {
        (Some(Once { kind: Some(kind), number, message, run }), Some(second))
            if number == second.number && Some(kind) == second.kind =>
        {
            let Found { cost, schedule, delays, .. } = found;
            answer.bug = Some(Failed { kind, message, cost, schedule, delays, run, number });
            answer.cut = None;
        }
        (first, _) => {
            let what = match (&found.what, first) {
                (_, Some(first)) => first.message,
                (Bug::Fault(kind, _), None) => format!("{kind:?}"),
                _ => "a deadlock".into(),
            };
            answer.cut = Some(protocol::Cut::Said(format!("{NONDETERMINISTIC}; in one run: {what}")));
            answer.exhausted = false;
        }
    }
}

/// Runs one schedule and shows what the program prints.
fn replay(schedule: &Schedule) -> Answer {
    rt().points_are_fixed = true;
    let run = once(schedule);
    // SAFETY: writes out what the program has printed, whose memory is as the execution has left it.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let mut answer = Answer { executions: 1, modules: modules(), ..Answer::default() };
    match run {
        Some(Once { kind: Some(kind), message, run, number }) => {
            let cost = run.steps.iter().filter(|s| s.preempts).count() as u32;
            let (schedule, delays) = (schedule.clone(), vec![0; schedule.len()]);
            answer.bug = Some(Failed { kind, message, cost, schedule, delays, run, number });
        }
        Some(Once { kind: None, run, .. }) => answer.replayed = Some(run),
        None => answer.cut = Some(protocol::Cut::Said("the schedule does not fit the program".into())),
    }
    answer
}

/// What came of one run.
struct Once {
    /// What failed, if anything did.
    kind: Option<BugKind>,
    message: String,
    run: Recorded,
    number: u64,
}

/// Outcomes of choices that are given.
struct Given<'a>(std::slice::Iter<'a, u32>);

impl Choose for Given<'_> {
    fn choose(&mut self, alternatives: u32) -> u32 {
        self.0.next().copied().unwrap_or(0).min(alternatives - 1)
    }
}

/// Runs a schedule and writes everything down; `None` if it does not fit.
fn once(schedule: &Schedule) -> Option<Once> {
    let mut log = StepLog::default();
    let began = Program.initial(&mut Given([].iter()), &mut log);
    rt().record = true;
    let mut fits = began.is_ok();
    for turn in schedule.iter().filter(|t| t.task != Turn::START) {
        let exists = (turn.task as usize) < rt().threads.len();
        if !exists || !Program.possible(&(), turn.task) {
            fits = false;
            break;
        }
        let before = rt().current;
        let preempts = before != turn.task as usize
            && before < rt().threads.len()
            && !rt().may_be_left(before)
            && rt().is_ready(before);
        rt().recorder.steps.push(RecordedStep {
            thread: turn.task,
            preempts,
            choices: turn.choices.clone(),
            ..RecordedStep::default()
        });
        log.clear();
        match Program.step(&mut (), turn.task, &mut Given(turn.choices.iter()), &mut log) {
            Ok(End::Dropped) | Err(_) => break,
            Ok(_) => {}
        }
    }
    let rt = rt();
    rt.record = false;
    let failure = rt.failure.clone();
    let (kind, message) = match failure {
        _ if !fits => return None,
        Some(failure) => (Some(failure.kind), failure.message),
        None => deadlock().inspect(|_| fabius_fails()).unwrap_or_default(),
    };
    let number = rt.recorder.number;
    Some(Once { kind, message, run: rt.recorded(), number })
}

/// Steps after which the comparison of two executions ends.
const COMPARED: u32 = 10_000;

/// A number of all accesses of the execution in which nobody is preempted.
fn first_execution() -> u64 {
    let counted = &rt().worker().executions;
    let before = counted.load(Relaxed);
    let number = undisturbed();
    counted.store(before, Relaxed);
    number
}

fn undisturbed() -> u64 {
    let mut log = StepLog::default();
    if Program.initial(&mut Given([].iter()), &mut log).is_err() {
        return 0;
    }
    rt().record = true;
    let mut current = 0;
    for _ in 0..COMPARED {
        let threads = rt().threads.len();
        let next = (0..threads).map(|n| (current + n) % threads).find(|t| rt().is_ready(*t));
        let Some(next) = next else { break };
        current = next;
        log.clear();
        match Program.step(&mut (), next as u32, &mut Given([].iter()), &mut log) {
            Ok(End::Dropped) | Err(_) => break,
            Ok(_) => {}
        }
    }
    let rt = rt();
    rt.record = false;
    let number = rt.recorder.number;
    rt.recorder = Default::default();
    number
}

/// If nobody can go on, why.
fn deadlock() -> Option<(Option<BugKind>, String)> {
    let rt = rt();
    let left = (0..rt.threads.len()).filter(|t| !rt.threads[*t].finished).count();
    let stuck = !rt.over && left > 0 && (0..rt.threads.len()).all(|t| !rt.is_ready(t));
    if !stuck {
        return None;
    }
    let spins = rt.threads.iter().any(|t| !t.finished && (t.repeats == Some(rt.steps) || t.op.wait.is_in_loop()));
    Some(if spins {
        (Some(BugKind::Livelock), "threads wait in loops for what never comes".into())
    } else {
        (Some(BugKind::Deadlock), "deadlock: no thread can go on".into())
    })
}

/// Where the program and its libraries are in memory.
fn modules() -> Vec<protocol::Module> {
    let mut modules: Vec<protocol::Module> = Vec::new();
    for line in crate::image::maps().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [range, _, offset, _, _, file] = words[..] else { continue };
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let Some((Some(begin), Some(end))) = range.split_once('-').map(|(b, e)| (number(b), number(e))) else {
            continue;
        };
        if !file.starts_with('/') {
            continue;
        }
        match modules.last_mut().filter(|m| m.file == file) {
            Some(module) => module.end = end,
            None => {
                let base = begin - number(offset).unwrap_or(0);
                modules.push(protocol::Module { file: file.into(), base, begin, end });
            }
        }
    }
    modules
}
