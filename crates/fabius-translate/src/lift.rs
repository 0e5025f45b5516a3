//! From what a sequential program printed back to a schedule of the concurrent one.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), appendix B.
//!
//! Deviations:
//! 1. Tasks are told apart by the order in which the sequential program runs them: at once where they are posted, or one
//!    after the other.
//! 2. What a thread does before its first scheduling point belongs to the step that spawned it, as in our semantics.
//! 3. What is there from the beginning is made process by process, in whatever order it runs.

use crate::explicit::code;
use fabius_trace::{Schedule, Turn, parts_of_wide};
use std::collections::{BTreeMap, VecDeque};

/// An event, as printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its time; beginnings and ends of tasks have none.
    pub at: Option<i128>,
    /// Its code and operand, see [`code`].
    pub values: [i128; 2],
}

/// When the sequential program runs a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// Where it is posted; threads after those that were spawned before them.
    Inside,
    /// After those posted before it.
    Queue,
    /// In the order of time in which they were posted.
    InTime,
}

/// A schedule, and whether an assertion fails at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// The schedule.
    pub schedule: Schedule,
    /// Whether somebody failed.
    pub failed: bool,
    /// The threads that are there from the beginning, in the order in which they run: the number of each, if it has turns at
    /// all, and the process that it is of.
    pub processes: Vec<(Option<u32>, usize)>,
}

/// Events that make no sense: an error of Fabius.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiftError(pub String);

/// A task, as found in the events.
#[derive(Clone, Debug, Default)]
struct Task {
    /// When it was posted; `None` for `init`.
    posted: Option<(i128, usize)>,
    thread: bool,
    /// The first step of its own.
    first_step: Option<i128>,
    /// It did not finish before it had a turn.
    seen: bool,
    process: Option<usize>,
    /// Its place among those that are made with it.
    place: i128,
}

/// Who posts what is there from the beginning.
const NOBODY: usize = usize::MAX;

/// What happens at a time.
#[derive(Clone, Copy, Debug)]
enum What {
    Step,
    Choice(u32),
    Wide(u64),
    Fail,
    Other,
}

/// The schedule of the concurrent program.
///
/// # Errors
/// [`LiftError`].
pub fn lift(events: &[Event], nesting: Nesting) -> Result<Happened, LiftError> {
    let wrong = |what: &str| Err(LiftError(what.into()));
    let mut tasks: Vec<Task> = Vec::new();
    let mut stack: Vec<usize> = Vec::new();
    let mut posted: VecDeque<(i128, usize)> = VecDeque::new();
    let mut spawned: VecDeque<(i128, usize)> = VecDeque::new();
    let mut started: VecDeque<(i128, usize)> = VecDeque::new();
    let mut line: BTreeMap<i128, (Option<usize>, What)> = BTreeMap::new();
    let mut fail = None;
    for event in events {
        let [what, operand] = event.values;
        let what = i64::try_from(what).unwrap_or(-1);
        let current = stack.last().copied();
        let entry = match what {
            code::STEP => What::Step,
            code::CHOICE => match u32::try_from(operand) {
                Ok(choice) => What::Choice(choice),
                Err(_) => return wrong("a choice is not counted by 32 bits"),
            },
            // Of all numbers of 64 bits: those of unsigned types are coded by their bits.
            code::WIDE => What::Wide(operand.rem_euclid(1 << 64) as u64),
            code::POST => {
                let Some(at) = event.at else { return wrong("a post has no time") };
                posted.push_back((at, current.unwrap_or(NOBODY)));
                What::Other
            }
            code::SPAWN => {
                let Some(at) = event.at else { return wrong("a thread is spawned at no time") };
                spawned.push_back((at, current.unwrap_or(NOBODY)));
                What::Other
            }
            code::START => {
                let Some(at) = event.at else { return wrong("a start has no time") };
                started.push_back((at, current.unwrap_or(NOBODY)));
                What::Other
            }
            code::BEGIN => {
                let by = if operand >= 2 {
                    // One start may stand for any number of threads.
                    if started.len() > 1 { started.pop_front() } else { started.front().copied() }
                } else {
                    let is_thread = operand == 1;
                    let line = if is_thread { &mut spawned } else { &mut posted };
                    if nesting == Nesting::Inside && !is_thread && line.len() > 1 {
                        return wrong("a task that was posted does not run at once");
                    }
                    match nesting {
                        Nesting::Inside | Nesting::Queue => line.pop_front(),
                        Nesting::InTime => {
                            let first = (0..line.len()).min_by_key(|n| line[*n].0);
                            first.and_then(|n| line.remove(n))
                        }
                    }
                };
                // The first one is `init`, if it is not declared.
                if by.is_none() && !tasks.is_empty() {
                    return wrong("a task runs that nobody posted");
                }
                stack.push(tasks.len());
                let thread = operand % 2 == 1;
                let process = usize::try_from(operand - 3).ok().filter(|_| thread).map(|twice| twice / 2);
                tasks.push(Task { posted: by, thread, process, ..Task::default() });
                continue;
            }
            code::END => {
                if stack.pop().is_none() {
                    return wrong("a task ends that does not run");
                }
                continue;
            }
            code::SEEN => {
                if let Some(task) = current {
                    tasks[task].seen = true;
                }
                continue;
            }
            code::FAIL => What::Fail,
            _ => return wrong("an event is none"),
        };
        let Some(at) = event.at else { return wrong("an event has no time") };
        if matches!(entry, What::Fail) {
            fail.get_or_insert((at, current));
        }
        if let (What::Step, Some(task)) = (&entry, current) {
            tasks[task].first_step.get_or_insert(at);
        }
        if line.insert(at, (current, entry)).is_some() {
            return wrong("two events at the same time");
        }
    }
    make_by_process(&mut tasks);
    Ok(schedule(&tasks, &line, fail))
}

/// What is there from the beginning is made at one time, in the order of the processes.
fn make_by_process(tasks: &mut [Task]) {
    let mut declared: Vec<usize> = (0..tasks.len()).filter(|t| tasks[*t].process.is_some()).collect();
    let first = declared.iter().filter_map(|t| tasks[*t].posted).min();
    declared.sort_by_key(|t| tasks[*t].process);
    for (place, t) in (0..).zip(declared) {
        (tasks[t].posted, tasks[t].place) = (first, place);
    }
}

/// The time and task to which an event of a thread's prefix belongs: that of the post.
fn home(tasks: &[Task], task: Option<usize>, at: i128) -> (Option<usize>, Vec<i128>) {
    let mut key = vec![at];
    let mut task = task;
    while let Some(t) = task {
        let begun = !tasks[t].thread || tasks[t].first_step.is_some_and(|first| first <= key[0]);
        if begun {
            return (Some(t), key);
        }
        let Some((posted, by)) = tasks[t].posted else { return (None, key) };
        key.splice(..0, [posted, tasks[t].place]);
        task = (by != NOBODY).then_some(by);
    }
    (None, key)
}

fn schedule(
    tasks: &[Task],
    line: &BTreeMap<i128, (Option<usize>, What)>,
    fail: Option<(i128, Option<usize>)>,
) -> Happened {
    // The numbers of tasks: in order of creation, without those that finished before they had a turn.
    let mut created: Vec<usize> = (0..tasks.len()).collect();
    created.retain(|t| tasks[*t].seen || !tasks[*t].thread);
    created.sort_by_key(|t| (tasks[*t].posted.map_or(i128::MIN, |(at, _)| at), tasks[*t].place));
    let number = |task: usize| created.iter().position(|t| *t == task).map_or(u32::MAX, |n| n as u32);
    let mut all: Vec<(Vec<i128>, Option<usize>, What)> = line
        .iter()
        .map(|(at, (task, what))| {
            let (task, key) = home(tasks, *task, *at);
            (key, task, *what)
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    let end = fail.map(|(at, task)| home(tasks, task, at).1);
    let mut schedule = Schedule::new();
    let mut running = None;
    for (key, task, what) in all {
        if end.as_ref().is_some_and(|end| key > *end) {
            break;
        }
        let Some(task) = task else {
            if matches!(what, What::Choice(_) | What::Wide(_)) {
                if schedule.is_empty() {
                    schedule.push(Turn { task: Turn::START, choices: Vec::new() });
                }
                schedule[0].choices.extend(choices(what));
            }
            continue;
        };
        if matches!(what, What::Step) || running != Some(task) {
            schedule.push(Turn { task: number(task), choices: Vec::new() });
            running = Some(task);
        }
        if let Some(turn) = schedule.last_mut() {
            turn.choices.extend(choices(what));
        }
    }
    let number_of = |t: usize| created.contains(&t).then(|| number(t));
    let processes = tasks.iter().enumerate().filter_map(|(t, task)| Some((number_of(t), task.process?))).collect();
    Happened { schedule, failed: fail.is_some(), processes }
}

/// What a schedule says of a choice.
fn choices(what: What) -> Vec<u32> {
    match what {
        What::Choice(choice) => vec![choice],
        What::Wide(choice) => parts_of_wide(choice).to_vec(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at: i128, what: i64, operand: i64) -> Event {
        let at = (![code::BEGIN, code::END].contains(&what)).then_some(at);
        Event { at, values: [what.into(), operand.into()] }
    }

    #[test]
    fn tasks_are_numbered_by_the_time_at_which_they_were_posted() {
        // The first task posts one, which runs later, and then another one, which runs before it.
        let events = [
            event(0, code::START, 0),
            event(0, code::BEGIN, 2),
            event(1, code::STEP, 0),
            event(2, code::POST, -1),
            event(0, code::BEGIN, 0),
            event(5, code::STEP, 0),
            event(0, code::END, 0),
            event(3, code::POST, -1),
            event(0, code::BEGIN, 0),
            event(4, code::STEP, 0),
            event(0, code::END, 0),
            event(0, code::END, 0),
        ];
        let turns =
            |nesting| lift(&events, nesting).map(|h| h.schedule.iter().map(|turn| turn.task).collect::<Vec<_>>());
        assert_eq!(turns(Nesting::Inside), Ok(vec![0, 2, 1]));
    }

    #[test]
    fn a_task_that_waits_for_another_one_that_was_posted_behind_it_makes_no_sense() {
        let posts =
            [event(0, code::START, 0), event(0, code::BEGIN, 2), event(1, code::POST, -1), event(2, code::POST, -1)];
        let begins = [event(0, code::BEGIN, 0)];
        let events = [posts.as_slice(), &begins].concat();
        assert!(lift(&events, Nesting::Inside).is_err());
        assert!(lift(&events, Nesting::Queue).is_ok());
    }
}
