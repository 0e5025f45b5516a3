//! Prefixes of executions are repeated by a plan, as far as nothing has to be looked at on the way.

use crate::dispatcher::Move;
use crate::execution::Execution;
use crate::node::Stop;
use crate::others::CHOICE;
use crate::prefixes::{Findings, Item};
use crate::scheduler::Pick;
use crate::system::{Plan, System, TaskId};

/// How many entries of a path are repeated at once: where steps cannot be made so after all, not all of the path is looked at
/// for each of them.
const MOST: usize = 64;

/// How far a path was repeated: which entry is next, and how often that was made; which of the steps of the last move are behind the
/// path; and how the last step ended.
pub(crate) struct Repeats {
    pub at: usize,
    pub time: u32,
    pub beyond: std::ops::Range<u32>,
    pub result: Result<(), Stop>,
}

/// Makes steps of a prefix, if several can be made. Steps that make choices are left.
pub(crate) fn repeat_ahead<S: System>(
    item: &Item,
    (at, time): (usize, u32),
    run: &mut Execution<'_, '_, S>,
    out: &mut Findings,
    end: End,
) -> Option<Repeats> {
    if !run.plans_ahead() {
        return None;
    }
    let mut given = std::mem::take(&mut out.given);
    given.clear();
    let most = if run.has_marks() { usize::MAX } else { MOST };
    let path = &item.path[at..];
    let is_plain =
        time == 0 && end != End::Left && path.len() <= most && path.iter().all(|(_, times)| *times != CHOICE);
    if is_plain {
        given.extend_from_slice(path);
    }
    let mut rest = if is_plain { [].iter() } else { path.iter() }.peekable();
    while let Some((task, times)) = rest.next().filter(|(_, times)| *times != CHOICE && given.len() < most) {
        let before = if given.is_empty() { time } else { 0 };
        let is_plain = rest.peek().map_or(end != End::Left, |(_, times)| *times != CHOICE);
        given.push((*task, times - before - u32::from(!is_plain)));
        if !is_plain {
            break;
        }
    }
    let all = given.iter().map(|(_, times)| times).sum();
    let is_whole = given.len() == item.path.len() - at && end != End::Left;
    let more = if let (End::GoesOn(most), true) = (end, is_whole) { room(run.steps() + all, most) } else { 0 };
    let made = repeat_given(&mut given, (all, more), item.cost, run, end);
    out.given = given;
    let (made, result) = made?;
    let beyond = all..made.max(all);
    if is_plain && made >= all {
        out.went_all(path);
        return Some(Repeats { at: item.path.len(), time: 0, beyond, result });
    }
    let mut made = made.min(all);
    let (mut at, mut time) = (at, time);
    while made > 0 {
        let (task, of) = item.path[at];
        let times = made.min(of - time);
        out.went((task, times));
        (made, time) = (made - times, time + times);
        if time == of {
            (at, time) = (at + 1, 0);
        }
    }
    Some(Repeats { at, time, beyond, result })
}

/// What becomes of the last step of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It is made with the others, if it makes no choices that are given.
    Made,
    /// The same, and the first task that can go on does, up to so many steps.
    GoesOn(u32),
    /// It is left.
    Left,
}

/// How many steps may be made without asking after so many, of which there may be so many: now and then somebody looks at the clock.
pub(crate) fn room(steps: u32, most: u32) -> u32 {
    most.saturating_sub(steps + 1).min((510 - steps % 256) % 256)
}

/// Makes steps of these tasks, each so often, if there are several, and so many more; how many it has made, and how the last one ended.
fn repeat_given<S: System>(
    given: &mut [(TaskId, u32)],
    (all, more): (u32, u32),
    cost: u32,
    run: &mut Execution<'_, '_, S>,
    end: End,
) -> Option<(u32, Result<(), Stop>)> {
    let first = given.iter_mut().find(|(_, times)| *times > 0).filter(|_| all > 1)?;
    let task = first.0;
    first.1 -= 1;
    if !run.is_possible(task) {
        return None;
    }
    match end {
        End::Left => run.script.set_again(std::iter::empty()),
        End::Made | End::GoesOn(_) => run.script.set(std::iter::empty()),
    }
    let before = run.steps();
    let plan = if more > 0 { Plan::GivenThenFirst(given) } else { Plan::Given(given) };
    let result = run.go_ahead(Move::Run(Pick { buffer: task, task }), cost, all - 1 + more, plan).map(|_| ());
    Some((run.steps() - before, result))
}
