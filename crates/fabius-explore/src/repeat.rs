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

/// Makes steps of a prefix, if several can be made; which entry of the path that has led to, and how often that was made. The
/// last step of the path, and those that make choices, are left.
pub(crate) fn repeat_ahead<S: System>(
    item: &Item,
    (at, time): (usize, u32),
    run: &mut Execution<'_, '_, S>,
    out: &mut Findings,
) -> Option<Result<(usize, u32), Stop>> {
    if !run.plans_ahead() {
        return None;
    }
    let mut given = std::mem::take(&mut out.given);
    given.clear();
    let mut rest = item.path[at..].iter().peekable();
    while let Some((task, times)) = rest.next().filter(|(_, times)| *times != CHOICE && given.len() < MOST) {
        let before = if given.is_empty() { time } else { 0 };
        let is_plain = rest.peek().is_some_and(|(_, times)| *times != CHOICE);
        given.push((*task, times - before - u32::from(!is_plain)));
        if !is_plain {
            break;
        }
    }
    let made = repeat_given(&mut given, item.cost, run);
    out.given = given;
    let mut made = match made? {
        Ok(made) => made,
        Err(stop) => return Some(Err(stop)),
    };
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
    Some(Ok((at, time)))
}

/// Makes steps of these tasks, each so often, if there are several; how many it has made.
fn repeat_given<S: System>(
    given: &mut [(TaskId, u32)],
    cost: u32,
    run: &mut Execution<'_, '_, S>,
) -> Option<Result<u32, Stop>> {
    let all: u32 = given.iter().map(|(_, times)| times).sum();
    let first = given.iter_mut().find(|(_, times)| *times > 0).filter(|_| all > 1)?;
    let task = first.0;
    first.1 -= 1;
    if !run.is_possible(task) {
        return None;
    }
    run.script.set(std::iter::empty());
    let made = run.go_ahead(Move::Run(Pick { buffer: task, task }), cost, all - 1, Plan::Given(given));
    // What is usual is not said in the path.
    Some(made.and_then(|made| if run.script.telling().is_empty() { Ok(made) } else { Err(Stop::Dropped) }))
}
