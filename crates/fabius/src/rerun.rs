//! Runs one schedule and writes down what happens.

use crate::rt::{self, ELSEWHERE, Execution, Job, Limit, Panic, Refine, Rt, Settings};
use crate::system::Test;
use fabius_explore::links::Links;
use fabius_explore::race::{Party, Race, Runner};
use fabius_explore::search::{Bug, Found};
use fabius_explore::system::{Choose, Fault, StepLog, System, TaskId};
use fabius_trace::{
    Action, After, Bound, BugKind, ErrorTrace, Lane, LaneKind, LineCol, Link, LinkKind, Mark, Points, ProgramId,
    Schedule, SchedulerKind, Span, Step, TRACE_VERSION, Turn,
};
use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What happened in an execution that was run once more.
#[derive(Default)]
pub(crate) struct Rerun {
    /// What went wrong; `None`: nothing.
    pub kind: Option<BugKind>,
    /// Why it could not be run to its end though nothing went wrong.
    pub limit: Option<Limit>,
    pub message: String,
    pub at: Option<(String, u32, u32)>,
    /// More about it, line by line.
    pub details: Vec<String>,
    pub lanes: Vec<String>,
    pub rows: Vec<Row>,
    /// The turn that could not be made, if the test behaves differently.
    pub departs: Option<usize>,
    /// For every turn, whether the thread of the turn before could have gone on.
    pub could_go_on: Vec<bool>,
    /// For every turn, what has become of its thread.
    pub after: Vec<Option<After>>,
    /// Which turns belong together.
    pub links: Vec<Link>,
    /// What was reckoned with, and how often operations on atomics deviated.
    pub refine: Refine,
    pub deviations: u32,
    /// What was run: the schedule, and how it went on.
    pub schedule: Schedule,
}

/// An operation of a thread.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub thread: usize,
    /// The turn that it belongs to; 0 stands for the beginning.
    pub step: usize,
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub text: String,
    pub value: Option<String>,
}

/// The choices of one turn, and then always the first alternative.
pub(crate) struct Given<'a>(pub std::slice::Iter<'a, u32>);

impl Choose for Given<'_> {
    fn choose(&mut self, alternatives: u32) -> u32 {
        self.0.next().copied().unwrap_or(0).min(alternatives - 1)
    }
}

/// The choices before the first step of a schedule, and its turns.
pub(crate) fn split(schedule: &[Turn]) -> (&[u32], &[Turn]) {
    match schedule.split_first() {
        Some((first, rest)) if first.task == Turn::START => (&first.choices, rest),
        _ => (&[], schedule),
    }
}

/// Whether there is such a thread, and it can make a step.
pub(crate) fn can_take(test: &Test<'_>, execution: &Execution, task: TaskId) -> bool {
    (task as usize) < execution.get().threads.len() && test.possible(execution, task)
}

/// The thread that ran last goes on, or else the next one that can.
pub(crate) fn next_without_preemption(rt: &Rt) -> Option<Turn> {
    let threads = rt.threads.len();
    let next = (0..threads).map(|t| (rt.current + t) % threads).find(|t| rt.ready(*t))?;
    Some(Turn { task: next as TaskId, choices: Vec::new() })
}

/// Runs a schedule; what it does not say any more goes on with the first thread that can.
pub(crate) fn rerun(test: &Test<'_>, schedule: &[Turn]) -> Rerun {
    let settings = Settings { record: true, ..test.settings };
    let stop = AtomicBool::new(false);
    let test = Test::new(test.body, settings, test.loops.clone(), &stop);
    let (start, turns) = split(schedule);
    let mut rerun = Rerun::default();
    let mut log = StepLog { want_accesses: true, ..StepLog::default() };
    let mut links = Links::default();
    let mut execution = match test.initial(&mut Given(start.iter()), &mut log) {
        Ok(execution) => execution,
        Err(_) => {
            // The state is gone with the failure: run it again up to there, without asking.
            let mut body = test.beginning();
            // SAFETY: the execution ends before what it is a test of.
            let body = unsafe { Job::of(&mut body) };
            let mut execution = Execution::begin(settings, &test.loops, false, &mut Given(start.iter()), body);
            if settings.leaks && execution.get().is_over() {
                execution.get_mut().find_leaks();
            }
            rerun.fill(execution.get());
            return rerun;
        }
    };
    let mut rest = turns.iter();
    for number in 0.. {
        let going_on = || next_without_preemption(execution.get());
        let Some(turn) = rest.next().cloned().or_else(going_on) else { break };
        let task = turn.task;
        if !can_take(&test, &execution, task) {
            rerun.departs = Some(number);
            break;
        }
        let before = rerun.schedule.last().map(|t| t.task);
        rerun.could_go_on.push(before.is_some_and(|b| test.possible(&execution, b) && !test.gave_way(&execution, b)));
        execution.get_mut().recorder.step = number + 1;
        log.clear();
        let result = test.step(&mut execution, task, &mut Given(turn.choices.iter()), &mut log);
        rerun.schedule.push(turn);
        let runner = Runner { task, buffer: task };
        links.step(number as u32, runner, &log);
        rerun.after.push(match result {
            Ok(_) if execution.get().threads[task as usize].finished => Some(After::Finished),
            Ok(_) => (!test.possible(&execution, task)).then_some(After::Waits),
            Err(_) => None,
        });
        if let Err(Fault::Bug(..) | Fault::Limit(..)) = result {
            break;
        }
    }
    let race = execution.get().race.as_ref().map(explored);
    rerun.links = links.finish(race.as_ref(), |_| None);
    if turns.len() < schedule.len() {
        rerun.schedule.insert(0, schedule[0].clone());
    }
    rerun.fill(execution.get());
    rerun
}

/// What came of running the same schedule twice.
pub(crate) enum Twice {
    /// The same, and nothing failed.
    Same,
    /// It fails.
    Fails(Schedule),
    /// The test behaves differently: where.
    Differs(String),
}

/// Runs the same schedule twice: this one, or one without preemptions.
pub(crate) fn twice(test: &Test<'_>, given: Option<&Schedule>) -> Twice {
    let settings = Settings { record: true, ..test.settings };
    let stop = AtomicBool::new(false);
    let test = Test::new(test.body, settings, test.loops.clone(), &stop);
    let (start, turns) = split(given.map_or(&[], Vec::as_slice));
    // Runs that take longer than the check was to take are not finished.
    let deadline = settings.deadline.map(|d| d.max(Instant::now() + Duration::from_secs(1)));
    let late = Cell::new(false);
    let is_late = |step: usize| {
        late.set(late.get() || step % 256 == 255 && deadline.is_some_and(|d| Instant::now() >= d));
        late.get()
    };
    let run = || {
        let mut log = StepLog::default();
        let mut rows = Rerun::default();
        let mut schedule = Schedule::new();
        let Ok(mut execution) = test.initial(&mut Given(start.iter()), &mut log) else { return (rows, schedule) };
        while !is_late(schedule.len()) {
            let next = match given {
                Some(_) => turns.get(schedule.len()).cloned(),
                None => next_without_preemption(execution.get()),
            };
            let Some(turn) = next.filter(|t| can_take(&test, &execution, t.task)) else { break };
            execution.get_mut().recorder.step += 1;
            log.clear();
            let result = test.step(&mut execution, turn.task, &mut Given(turn.choices.iter()), &mut log);
            schedule.push(turn);
            if result.is_err() {
                break;
            }
        }
        if !late.get() {
            rows.fill(execution.get());
        }
        (rows, schedule)
    };
    let ((first, schedule), (second, _)) = (run(), run());
    if late.get() {
        return Twice::Same;
    }
    let describe = |rerun: &Rerun, at: usize| match rerun.rows.get(at) {
        Some(Row { thread, file, line, column, text, value, .. }) => {
            let value = value.as_ref().map_or(String::new(), |v| format!(" ({v})"));
            format!("thread {thread} does {text}{value} at {file}:{line}:{column}")
        }
        None => "it is over".into(),
    };
    // Not the values: addresses may differ.
    let key = |r: &Row| (r.thread, r.file.clone(), r.line, r.column, r.text.clone());
    let same = first.rows.iter().zip(&second.rows).take_while(|(a, b)| key(a) == key(b)).count();
    let differs = same < first.rows.len().max(second.rows.len());
    let (a, b) = (describe(&first, same), describe(&second, same));
    match () {
        () if differs => Twice::Differs(format!("at operation {}: the first time {a}, the second time {b}", same + 1)),
        () if first.kind.is_some() => Twice::Fails(schedule),
        () => Twice::Same,
    }
}

/// A race as the explorer describes one.
fn explored(race: &rt::Race) -> Race {
    let party = |t: rt::Touched| Party { thread: t.thread as TaskId, span: Span::default() };
    Race { variable: race.cell as u64, first: Some(party(race.first)), second: party(race.second) }
}

impl Rerun {
    /// Who accessed what, and what would have ordered that.
    fn explain(&mut self, rt: &Rt, race: &rt::Race) {
        for touched in [race.first, race.second] {
            let (who, at) = (rt.name_of(touched.thread), touched.place);
            self.details.push(format!("{who} accesses it at {}:{}", at.file(), at.line()));
        }
        let nothing = || "nothing that the second thread did before comes after the first access".into();
        self.details.push(race.remedy.clone().unwrap_or_else(nothing));
    }

    fn fill(&mut self, rt: &Rt) {
        self.refine = rt.settings.refine;
        self.deviations = rt.deviations;
        let found = rt.recorder.finds.iter().filter(|(from, to)| *from > 0 && *to > 0);
        self.links.extend(found.map(|(from, to)| Link {
            kind: LinkKind::Finds,
            from: *from as u32 - 1,
            to: *to as u32 - 1,
            label: None,
        }));
        self.links.sort_by_key(|link| (link.to, link.from));
        self.lanes = (0..rt.threads.len()).map(|t| rt.name_of(t)).collect();
        self.rows = rt
            .recorder
            .records
            .iter()
            .map(|r| Row {
                thread: r.thread,
                step: r.step,
                file: r.at.file().to_string(),
                line: r.at.line(),
                column: r.at.column(),
                text: r.name.to_string(),
                value: r.value.clone(),
            })
            .collect();
        self.limit = rt.limit.clone();
        if self.kind.is_some() || self.limit.is_some() {
            return;
        }
        if let Some(failure) = &rt.failure {
            self.kind = Some(failure.kind);
            self.message = failure.message.clone();
            self.at = failure.at.clone();
            let who = rt.name_of(failure.thread);
            if let Some(race) = rt.race.as_ref().filter(|_| failure.kind == BugKind::DataRace) {
                self.explain(rt, race);
                return;
            }
            self.details.push(format!("in {who}{}", place(&failure.at)));
            let others = rt.panics.iter().filter(|p| p.message != failure.message || p.thread != failure.thread);
            self.details.extend(others.map(|p: &Panic| {
                format!("before that, {} panicked{}: {}", rt.name_of(p.thread), place(&p.at), first_line(&p.message))
            }));
        } else if !rt.is_over() && (0..rt.threads.len()).all(|t| !rt.can_go_on(t)) && self.departs.is_none() {
            self.kind = Some(BugKind::Deadlock);
            self.message = "deadlock: no thread can go on".into();
            for (id, thread) in rt.threads.iter().enumerate().filter(|(_, t)| !t.finished) {
                let Some(op) = thread.op() else { continue };
                // SAFETY: the object outlives the announced operation.
                let holders = op.holders.zip(op.ready).map(|(holders, (_, object))| unsafe { holders(object, rt) });
                let held: Vec<String> = holders
                    .unwrap_or_default()
                    .iter()
                    .map(|(holder, at)| {
                        let who = match *holder {
                            ELSEWHERE => "a guard from outside, or one that an earlier execution left".into(),
                            holder if holder == id => "itself".into(),
                            holder => rt.name_of(holder),
                        };
                        format!("held by {who}, taken at {}:{}", at.file(), at.line())
                    })
                    .collect();
                let held = if held.is_empty() { String::new() } else { format!(", {}", held.join("; ")) };
                let at = format!("{}:{}", op.at.file(), op.at.line());
                self.details.push(format!("{} waits in `{}` at {at}{held}", rt.name_of(id), op.name));
                self.at.get_or_insert((op.at.file().to_string(), op.at.line(), op.at.column()));
            }
        }
    }
}

fn place(at: &Option<(String, u32, u32)>) -> String {
    at.as_ref().map_or(String::new(), |(file, line, column)| format!(" at {file}:{line}:{column}"))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

/// What a schedule begins with where operations on atomics choose which store they find, and where steps are counted that are only
/// there because the test looks at what they do: it may look late, and the schedule must fit before.
const WORDS: [(&str, Refine); 9] = [
    ("weak", Refine::WEAK),
    ("releases", Refine::RELEASES),
    ("counts", Refine::COUNTS),
    ("ends", Refine::ENDS),
    ("receivers", Refine::RECEIVERS),
    ("weak_counts", Refine::WEAK_COUNTS),
    ("results", Refine::RESULTS),
    ("leaders", Refine::LEADERS),
    ("remains", Refine::REMAINS),
];

/// A schedule as text: threads by their numbers, `*` for how often in a row, `:` before the outcomes of choices, but for
/// first alternatives at their end.
pub(crate) fn encode(schedule: &Schedule, refine: Refine) -> String {
    let words = WORDS.iter().filter(|(_, seen)| refine.contains(*seen));
    let mut parts: Vec<String> = words.map(|(word, _)| word.to_string()).collect();
    let choices_of = |turn: &Turn| {
        let silent = turn.choices.iter().rev().take_while(|choice| **choice == 0).count();
        turn.choices[..turn.choices.len() - silent].to_vec()
    };
    let schedule: Schedule = schedule.iter().map(|turn| Turn { choices: choices_of(turn), ..turn.clone() }).collect();
    let mut at = 0;
    while at < schedule.len() {
        let turn = &schedule[at];
        let task = if turn.task == Turn::START { "start".to_string() } else { turn.task.to_string() };
        if turn.choices.is_empty() {
            let count = schedule[at..].iter().take_while(|t| *t == turn).count();
            parts.push(if count > 1 { format!("{task}*{count}") } else { task });
            at += count;
        } else {
            let choices: Vec<String> = turn.choices.iter().map(u32::to_string).collect();
            parts.push(format!("{task}:{}", choices.join(".")));
            at += 1;
        }
    }
    if schedule.is_empty() {
        parts.push("start".into());
    }
    parts.join(",")
}

/// The schedule that [`encode`] wrote.
///
/// # Errors
/// The part that cannot be read.
pub(crate) fn decode(text: &str) -> Result<(Schedule, Refine), String> {
    let mut schedule = Vec::new();
    let mut refine = Refine::default();
    if text.trim().is_empty() {
        return Err(text.into());
    }
    for part in text.split([',', ' ']).map(str::trim).filter(|p| !p.is_empty()) {
        let bad = || part.to_string();
        if let Some((_, seen)) = WORDS.iter().find(|(word, _)| part == *word) {
            refine = refine.with(*seen);
            continue;
        }
        let (head, choices) = part.split_once(':').map_or((part, ""), |(head, choices)| (head, choices));
        let (task, count) = head.split_once('*').unwrap_or((head, "1"));
        let task = if task == "start" { Turn::START } else { task.parse::<TaskId>().map_err(|_| bad())? };
        let count: usize = count.parse().map_err(|_| bad())?;
        let choices = choices.split('.').filter(|c| !c.is_empty()).map(str::parse).collect::<Result<Vec<u32>, _>>();
        let turn = Turn { task, choices: choices.map_err(|_| bad())? };
        if count > 1_000_000 {
            return Err(bad());
        }
        schedule.extend(std::iter::repeat_n(turn, count));
    }
    if refine.contains(Refine::WEAK) {
        refine = refine.with(Refine::RACES);
    }
    Ok((schedule, refine))
}

/// The trace of what was run once more.
pub(crate) fn trace(found: &Found, rerun: &Rerun, at: &'static Location<'static>) -> ErrorTrace {
    let lanes = rerun.lanes.iter().map(|name| Lane { name: name.clone(), kind: LaneKind::Thread }).collect();
    let mut steps: Vec<Step> = Vec::new();
    let turns: Vec<&Turn> = found.schedule.iter().filter(|t| t.task != Turn::START).collect();
    let mut rows_of = vec![Vec::new(); turns.len()];
    for row in &rerun.rows {
        if let Some(rows) = row.step.checked_sub(1).and_then(|number| rows_of.get_mut(number)) {
            rows.push(row);
        }
    }
    let mut cost = 0;
    for (number, turn) in turns.iter().enumerate() {
        let rows = rows_of[number].iter().filter(|r| r.thread == turn.task as usize);
        let before = number.checked_sub(1).map(|n| turns[n].task);
        let could_go_on = rerun.could_go_on.get(number).copied().unwrap_or(false);
        let mark = match before {
            Some(before) if before != turn.task && could_go_on => {
                cost += 1;
                Some(Mark::Preemption)
            }
            Some(before) if before != turn.task => Some(Mark::Switch),
            _ => None,
        };
        let actions = rows.map(|r| Action {
            span: Span::default(),
            at: LineCol { line: r.line, column: r.column },
            file: Some(r.file.clone()),
            text: r.text.clone(),
            stack: Vec::new(),
            changes: Vec::new(),
            note: r.value.clone(),
        });
        let actions = actions.collect();
        let lane = turn.task;
        let after = rerun.after.get(number).copied().flatten();
        steps.push(Step { turn: (*turn).clone(), lane, task_name: None, mark, level: None, actions, after });
    }
    ErrorTrace {
        version: TRACE_VERSION,
        stale: rerun.deviations,
        data_points: Vec::new(),
        program: ProgramId {
            file: at.file().to_string(),
            hash: String::new(),
            consts: Vec::new(),
            instances: Vec::new(),
            args: Vec::new(),
        },
        kind: match found.what {
            Bug::Race(_) => BugKind::DataRace,
            _ => rerun.kind.unwrap_or(BugKind::Panic),
        },
        message: rerun.message.clone(),
        span: Span::default(),
        bound: Bound::Preemptions,
        cost: cost + rerun.deviations,
        scheduler: SchedulerKind::Bag,
        points: Points::Sync,
        property: None,
        cycle: None,
        lanes,
        steps,
        links: rerun.links.clone(),
    }
}
