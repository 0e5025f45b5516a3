//! Makes a schedule shorter and simpler without raising its cost: what is left of it still shows the same bug.
//!
//! Every candidate is run; only those that end in the same bug at no higher cost, and are better, are kept.

use crate::dispatcher::Move;
use crate::execution::Execution;
use crate::node::{Context, Stop};
use crate::search::{Bug, Cut, Found, Options};
use crate::system::System;
use fabius_trace::Turn;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Candidates that are tried at most.
const EFFORT: usize = 2_000;
/// How long that may take: nobody waits for a shorter trace.
const LONG_ENOUGH: Duration = Duration::from_secs(5);

/// A shortened version of what was found; infinite executions stay as they are, and those that are as short as can be. As soon as `stop`
/// is set, or the time is over, or it has taken five seconds, no more is tried.
pub fn shrink<S: System>(system: &S, options: &Options, found: &Found, stop: &AtomicBool) -> Found {
    let context = Context { system, options, compare: None, is_symmetric: false, joins: false };
    let mut best = found.clone();
    if matches!(found.what, Bug::Livelock | Bug::Property(_) | Bug::Condition(..)) {
        return best;
    }
    let tried = Cell::new(0);
    // What is found is an answer as it is.
    let enough = Instant::now() + LONG_ENOUGH;
    let deadline = options.deadline.map_or(enough, |deadline| deadline.min(enough));
    let is_over = || stop.load(Ordering::Relaxed) || Instant::now() >= deadline;
    let is_enough = || tried.get() >= EFFORT || is_over();
    let try_one = |turns: &[Turn], best: &Found| -> Option<Found> {
        tried.set(tried.get() + 1);
        run(&context, turns, Some(&best.what)).ok().filter(|c| is_better(c, best))
    };
    loop {
        let mut improved = false;
        // Blocks of turns left out, the longest first.
        let mut length = best.schedule.len() / 2;
        while length > 0 {
            let mut at = 0;
            while at + length <= best.schedule.len() && !is_enough() {
                let mut turns = best.schedule.clone();
                turns.drain(at..at + length);
                match try_one(&turns, &best) {
                    Some(better) => {
                        best = better;
                        improved = true;
                    }
                    None => at += 1,
                }
            }
            length /= 2;
        }
        // A turn moved forward to the last one of the same task, so that blocks grow.
        let mut at = 2;
        // What is better may also be shorter.
        while at < best.schedule.len() && !is_enough() {
            let task = best.schedule[at].task;
            let earlier = (0..at - 1).rev().find(|i| best.schedule[*i].task == task);
            if let Some(earlier) = earlier {
                let mut turns = best.schedule.clone();
                let turn = turns.remove(at);
                turns.insert(earlier + 1, turn);
                if let Some(better) = try_one(&turns, &best) {
                    best = better;
                    improved = true;
                }
            }
            at += 1;
        }
        if !improved || is_enough() {
            return best;
        }
    }
}

/// What a schedule that was found elsewhere leads to, and what it costs.
///
/// # Errors
/// Some turn cannot be made, or nothing goes wrong; with the limit, if one is the reason.
pub fn find(system: &impl System, options: &Options, schedule: &[Turn]) -> Result<Found, Option<Cut>> {
    run(&Context { system, options, compare: None, is_symmetric: false, joins: false }, schedule, None)
}

/// What a schedule costs with exactly these delays before its turns, whatever it ends in; `None` if some turn cannot be made.
pub fn cost(system: &impl System, options: &Options, schedule: &[Turn], delays: &[u32]) -> Option<u32> {
    let context = Context { system, options, compare: None, is_symmetric: false, joins: false };
    let (start, first) = match schedule.first() {
        Some(first) if first.task == Turn::START => (first.choices.as_slice(), 1),
        _ => (&[][..], 0),
    };
    let mut run = match Execution::begin(&context, start) {
        Ok(run) => run,
        Err((Stop::Bug(_), _)) if schedule.len() == first => return Some(0),
        Err(_) => return None,
    };
    let mut moves = Vec::new();
    for (number, turn) in schedule.iter().enumerate().skip(first) {
        context.moves(&run.node, &mut moves);
        for _ in 0..delays.get(number).copied().unwrap_or(0) {
            let delay = *moves.iter().find(|m| matches!(m, Move::Delay(_)))?;
            run.make(delay, &[]).ok()?;
            context.moves(&run.node, &mut moves);
        }
        let runs = |m: &&Move| matches!(m, Move::Run(pick) if run.number_of(pick.task) == Some(turn.task));
        let mv = *moves.iter().find(runs)?;
        match run.make(mv, &turn.choices) {
            Ok(()) => {}
            // There may be a race in a step that is dropped in the end.
            Err(Stop::Bug(_) | Stop::Dropped) if number + 1 == schedule.len() => {}
            Err(_) => return None,
        }
    }
    Some(run.cost)
}

/// Fewer turns, or as many in fewer blocks; never at a higher cost.
fn is_better(new: &Found, old: &Found) -> bool {
    let blocks = |f: &Found| f.schedule.windows(2).filter(|w| w[0].task != w[1].task).count();
    let key = |f: &Found| (f.schedule.len(), blocks(f));
    new.cost <= old.cost && key(new) < key(old)
}

/// Delays that are tried before a turn at most: a scheduler's pick comes round again after as many as there are tasks.
const MAX_DELAYS: u32 = 64;

/// Runs turns to the bug that is wanted, or to any.
fn run<S: System>(context: &Context<'_, S>, turns: &[Turn], wanted: Option<&Bug>) -> Result<Found, Option<Cut>> {
    let (start, turns) = match turns.split_first() {
        Some((first, rest)) if first.task == Turn::START => (first.choices.as_slice(), rest),
        _ => (&[][..], turns),
    };
    let mut run = match Execution::begin(context, start) {
        Ok(run) => run,
        // Before the first scheduling point.
        Err((Stop::Bug(what), script)) if wanted.is_none_or(|wanted| same(&what, wanted)) => {
            let first = Turn { task: Turn::START, choices: script.choices() };
            let schedule: Vec<Turn> = [first].into_iter().filter(|t| !t.choices.is_empty()).collect();
            return Ok(Found { what, cost: 0, delays: vec![0; schedule.len()], schedule, cycle: None });
        }
        Err((stop, _)) => return Err(limit(stop)),
    };
    let mut moves = Vec::new();
    for turn in turns {
        context.moves(&run.node, &mut moves);
        // With delays: as many as it takes until the turn is the scheduler's pick.
        let mut delays = 0;
        let mv = loop {
            let runs = |m: &&Move| matches!(m, Move::Run(pick) if run.number_of(pick.task) == Some(turn.task));
            if let Some(mv) = moves.iter().find(runs) {
                break Some(*mv);
            }
            let delay = moves.iter().find(|m| matches!(m, Move::Delay(_))).copied();
            let Some(delay) = delay.filter(|_| delays < MAX_DELAYS) else { break None };
            delays += 1;
            run.make(delay, &[]).map_err(limit)?;
            context.moves(&run.node, &mut moves);
        };
        let mv = mv.ok_or(None)?;
        if let Err(stop) = run.make(mv, &turn.choices) {
            let Stop::Bug(what) = stop else { return Err(limit(stop)) };
            return if wanted.is_none_or(|wanted| same(&what, wanted)) { Ok(run.found(what)) } else { Err(None) };
        }
    }
    let stuck = wanted.is_none_or(|wanted| *wanted == Bug::Deadlock) && context.is_deadlock(&run.node);
    if stuck { Ok(run.found(Bug::Deadlock)) } else { Err(None) }
}

fn limit(stop: Stop) -> Option<Cut> {
    match stop {
        Stop::Cut(cut) => Some(cut),
        Stop::Bug(_) | Stop::Dropped => None,
    }
}

fn same(a: &Bug, b: &Bug) -> bool {
    match (a, b) {
        (Bug::Race(a), Bug::Race(b)) => a.variable == b.variable && a.second.span == b.second.span,
        _ => a == b,
    }
}
