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

/// How far a path was repeated: which entry is next, how often that was made, and how the last step ended.
pub(crate) struct Repeats {
    pub at: usize,
    pub time: u32,
    pub result: Result<(), Stop>,
}

/// Makes steps of a prefix, if several can be made. Steps that make choices are left, and if `all` is not wanted the last step of
/// the path.
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
    let mut rest = item.path[at..].iter().peekable();
    while let Some((task, times)) = rest.next().filter(|(_, times)| *times != CHOICE && given.len() < most) {
        let before = if given.is_empty() { time } else { 0 };
        let is_plain = rest.peek().map_or(end == End::Made, |(_, times)| *times != CHOICE);
        given.push((*task, times - before - u32::from(!is_plain)));
        if !is_plain {
            break;
        }
    }
    let made = repeat_given(&mut given, item.cost, run);
    out.given = given;
    let (mut made, result) = made?;
    let (mut at, mut time) = (at, time);
    while made > 0 {
        let (task, of) = item.path[at];
        let times = made.min(of - time);
        out.went(task, times);
        (made, time) = (made - times, time + times);
        if time == of {
            (at, time) = (at + 1, 0);
        }
    }
    Some(Repeats { at, time, result })
}

/// What becomes of the last step of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It is made with the others, if it makes no choices that are given.
    Made,
    /// It is left.
    Left,
}

/// Makes steps of these tasks, each so often, if there are several; how many it has made, and how the last one ended.
fn repeat_given<S: System>(
    given: &mut [(TaskId, u32)],
    cost: u32,
    run: &mut Execution<'_, '_, S>,
) -> Option<(u32, Result<(), Stop>)> {
    let all: u32 = given.iter().map(|(_, times)| times).sum();
    let first = given.iter_mut().find(|(_, times)| *times > 0).filter(|_| all > 1)?;
    let task = first.0;
    first.1 -= 1;
    if !run.is_possible(task) {
        return None;
    }
    run.script.set(std::iter::empty());
    let before = run.steps();
    let result = run.go_ahead(Move::Run(Pick { buffer: task, task }), cost, all - 1, Plan::Given(given)).map(|_| ());
    Some((run.steps() - before, result))
}
