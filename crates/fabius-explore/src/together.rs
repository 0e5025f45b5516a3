//! Schedules of a system in which some threads wait for longer than they must, as schedules of the system itself.
//!
//! Paper: Reduction: A Method of Proving Properties of Parallel Programs (Lipton, CACM 1975), section 3: right movers.
//!
//! A thread that joins others in a row, and has no other use of their handles, waits for all of them at once where that makes
//! states equal that differ only in which of them has finished. Whatever happens in the system itself happens so, too, and costs
//! no more preemptions:
//!
//! * *From the system to the one that waits*: the steps that join are moved behind the end of the last thread. Nobody else sees
//!   them. A way `A, join, B` becomes `A, B`: to leave `A` for `B` costs what it costs to leave it for the thread that joins, and to leave
//!   that costs 0 or 1.
//! * *Back*: the thread that joins has been left, for nothing, where it could have gone on. It makes the joins that are open at
//!   once, before it is left, until it waits for a thread that has not finished. They are taken from where they come later; in a
//!   deadlock, where they do not come at all, they are added at the end, behind whoever ran last and cannot go on, for nothing.
//!
//! So least preemptions and all bugs are kept.
//!
//! Deviations:
//! 1. Moves keep a cost, too: preemptions. Contexts are not kept (there may be one more at the end of a deadlock), nor is the least depth.
//! 2. Steps that join are movers by what the front of the program says of handles: nobody else looks at them.
//! 3. Threads alone: in a buffer, whoever can go on holds up others, and whoever waits may lose its place.

use crate::dispatcher::Move;
use crate::execution::Execution;
use crate::node::{Context, Stop};
use crate::search::{Bug, Found, Options};
use crate::system::{System, TaskId};
use fabius_trace::{Bound, Turn};
use std::collections::VecDeque;

/// Whether what is counted is kept where threads wait for all whom they join.
pub fn keeps(bound: Bound) -> bool {
    matches!(bound, Bound::None | Bound::Preemptions)
}

/// What was found in the system that `waits`, as it is found in the system itself.
pub fn apart<S: System>(system: &S, waits: &S, options: &Options, found: &Found) -> Found {
    debug_assert!(!system.has_buffers());
    let context = Context { system, options, compare: None, is_symmetric: false, joins: false };
    let mut left: VecDeque<Turn> = found.schedule.iter().cloned().collect();
    let start = match left.front() {
        Some(first) if first.task == Turn::START => left.pop_front().map(|turn| turn.choices).unwrap_or_default(),
        _ => Vec::new(),
    };
    // Without a step there is nothing to be moved.
    let Ok(mut run) = Execution::begin(&context, &start) else { return found.clone() };
    while let Some(turn) = left.pop_front() {
        let task = match make(&context, &mut run, &turn) {
            Ok(task) => task,
            Err(Stop::Bug(what)) => return run.found(what),
            Err(_) => unreachable!("each step of the system that waits is one of the system"),
        };
        if left.front().is_some_and(|next| next.task == turn.task) {
            continue;
        }
        while is_early(&context, waits, &run, task) {
            let later = left.iter().position(|later| later.task == turn.task);
            let joins = later.and_then(|at| left.remove(at));
            let joins = joins.unwrap_or(Turn { task: turn.task, choices: Vec::new() });
            make(&context, &mut run, &joins).expect("to join is no bug");
        }
    }
    debug_assert!(found.what == Bug::Deadlock, "others end with a step");
    let mut moves = Vec::new();
    loop {
        context.moves(&run.node, &mut moves);
        let early = moves.iter().find_map(|mv| match mv {
            Move::Run(pick) if is_early(&context, waits, &run, pick.task) => Some(*mv),
            _ => None,
        });
        let Some(mv) = early else { return run.found(found.what) };
        run.make(mv, &[]).expect("to join is no bug");
    }
}

fn make<S: System>(context: &Context<'_, S>, run: &mut Execution<'_, '_, S>, turn: &Turn) -> Result<TaskId, Stop> {
    let mut moves = Vec::new();
    context.moves(&run.node, &mut moves);
    let task = moves.iter().find_map(|mv| match mv {
        Move::Run(pick) if run.number_of(pick.task) == Some(turn.task) => Some((*mv, pick.task)),
        _ => None,
    });
    let (mv, task) = task.expect("each step of the system that waits is one of the system");
    run.make(mv, &turn.choices).map(|()| task)
}

/// Whether a thread can go on in the system itself alone.
fn is_early<S: System>(context: &Context<'_, S>, waits: &S, run: &Execution<'_, '_, S>, task: TaskId) -> bool {
    context.system.ready(&run.node.state, task) && !waits.ready(&run.node.state, task)
}
