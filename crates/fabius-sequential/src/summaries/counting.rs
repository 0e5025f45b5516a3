//! Threads of any number, counted by where they are: the steps of one thread as a list, for `counted.rs`.
//!
//! Deviations:
//! 1. What is listed are steps between pairs (shared state, thread) that are reachable if every thread that was ever with a
//!    shared state may be there again: a finite list, found as a diagram.

use super::diagram::{Done, and_exists, members};
use super::reach::{Reach, Stopped};
use super::steps::{Moves, Steps, Template, pairs, with_steps};
use super::{GaveUp, NotSequential, Set, Statistics};
use crate::counted::{self, Counted, Pair};
use fabius_smt::Limits;
use oxidd::{BooleanFunction, BooleanFunctionQuant};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of any number of threads and of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// No assertion fails.
    Holds,
    /// Some assertion fails.
    Fails,
    /// Nothing: a procedure is recursive.
    Recursive,
    /// Nothing: there is too much to list.
    TooMany,
}

/// Steps, and pairs, that are listed at most.
const MOST: usize = 1 << 18;

/// Decides whether an assertion fails, with so many nodes of diagrams.
///
/// # Errors
/// [`NotSequential`].
pub fn count(
    template: &Template<'_>,
    nodes: usize,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<(Result<Counting, GaveUp>, Statistics), NotSequential> {
    let answer = with_steps(template, nodes, 0, |steps, reach| decide(steps, reach, limits, progress))?;
    Ok(answer.unwrap_or((Ok(Counting::Recursive), Statistics::default())))
}

fn decide(
    steps: &Steps<'_, '_>,
    reach: &mut Reach<'_>,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Counting, Stopped> {
    let starts = reach.program_ends(limits, progress)?;
    if reach.has_failed() {
        return Ok(Counting::Fails);
    }
    let moves = steps.moves(reach, limits, progress)?;
    let Some(Listed { mut counted, narrow }) = list(steps, reach, &starts, moves, limits)? else {
        return Ok(Counting::TooMany);
    };
    let fails = |counted: &Counted| match counted.fails(limits) {
        Ok(true) => Ok(Counting::Fails),
        Ok(false) => Ok(Counting::Holds),
        Err(counted::GaveUp::TooMany) => Ok(Counting::TooMany),
        Err(counted::GaveUp::Stopped) => Err(Stopped::Limit),
    };
    // What happens behind a value that does not fit is wrong, and does not matter if there never is one.
    let bad = counted.bad.clone();
    counted.bad.extend(&narrow);
    let all = fails(&counted)?;
    if all != Counting::Fails || narrow.is_empty() {
        return Ok(all);
    }
    counted.bad = bad;
    counted.steps.retain(|[from, _]| !narrow.contains(from));
    let right = fails(&counted)?;
    if right == Counting::Holds {
        reach.narrow()?;
    }
    Ok(right)
}

/// What is listed.
struct Listed {
    counted: Counted,
    /// Where a value does not fit.
    narrow: BTreeSet<Pair>,
}

/// All steps between pairs that may be reachable; `None` if there are too many.
fn list(
    steps: &Steps<'_, '_>,
    reach: &mut Reach<'_>,
    starts: &Set,
    moves: Moves,
    limits: &Limits<'_>,
) -> Result<Option<Listed>, Stopped> {
    let Moves { shared: [now, then], threads: [one, _, next, three], step, bad, narrow } = moves;
    let (shared, threads) = steps.begin(reach, starts, &one)?;
    let (here, there) = (steps.written_out(reach, &one)?, steps.written_out(reach, &next)?);
    let d = reach.diagrams();
    let (step, bad, narrow) = (step.and(&here)?.and(&there)?, bad.and(&here)?, narrow.and(&here)?);
    let threads = threads.iter().map(|thread| thread.and(&here)).collect::<Done<Vec<Set>>>()?;
    let some = threads.iter().try_fold(d.none.clone(), |all, one| all.or(one))?;
    let forward = d.renaming([pairs(&then, &now), pairs(&next, &one)].concat())?;
    let only_shared = d.renaming([pairs(&then, &now), pairs(&three, &one)].concat())?;
    let other = d.renaming(pairs(&one, &three))?;
    let moved = d.cube(now.iter().chain(&one).copied())?;
    let mut reachable = shared.and(&some)?;
    loop {
        if limits.are_hit() {
            return Err(Stopped::Limit);
        }
        let before = reachable.clone();
        let steps = reachable.and(&step)?;
        reachable = reachable.or(&forward.of(&steps.exists(&moved)?)?)?;
        let shared_only = steps.exists(&d.cube(next.iter().copied())?)?;
        reachable = reachable.or(&only_shared.of(&and_exists(&shared_only, &other.of(&before)?, &moved)?)?)?;
        if reachable == before {
            break;
        }
    }
    let mut numbers = Numbers::default();
    let both = [&now[..], &one].concat();
    let all = [&both[..], &then, &next].concat();
    let declared = steps.template.declared.len();
    let Some(steps) = members(&reachable.and(&step)?, &all, MOST) else { return Ok(None) };
    let Some(bad) = members(&reachable.and(&bad)?, &both, MOST) else { return Ok(None) };
    let Some(narrow) = members(&reachable.and(&narrow)?, &both, MOST) else { return Ok(None) };
    let mut counted = Counted::default();
    for step in steps {
        let (from, to) = step.split_at(both.len());
        counted.steps.push([numbers.pair(from, now.len()), numbers.pair(to, now.len())]);
    }
    counted.bad = bad.iter().map(|pair| numbers.pair(pair, now.len())).collect();
    let narrow = narrow.iter().map(|pair| numbers.pair(pair, now.len())).collect();
    let Some(begin) = members(&shared, &now, MOST) else { return Ok(None) };
    counted.begin = begin.into_iter().map(|state| numbers.shared(state)).collect();
    for (i, thread) in threads.iter().enumerate() {
        let Some(starts) = members(thread, &one, MOST) else { return Ok(None) };
        let starts: Vec<u32> = starts.into_iter().map(|place| numbers.place(place)).collect();
        if i < declared {
            counted.declared.push(starts);
        } else {
            counted.any.extend(starts);
        }
    }
    Ok(Some(Listed { counted, narrow }))
}

/// Shared states and places of threads, as numbers.
#[derive(Default)]
struct Numbers {
    shared: BTreeMap<Vec<bool>, u32>,
    places: BTreeMap<Vec<bool>, u32>,
}

impl Numbers {
    fn shared(&mut self, state: Vec<bool>) -> u32 {
        let next = self.shared.len() as u32;
        *self.shared.entry(state).or_insert(next)
    }

    fn place(&mut self, place: Vec<bool>) -> u32 {
        let next = self.places.len() as u32;
        *self.places.entry(place).or_insert(next)
    }

    /// The bits of a shared state, so many, and then those of a thread.
    fn pair(&mut self, bits: &[bool], shared: usize) -> Pair {
        (self.shared(bits[..shared].to_vec()), self.place(bits[shared..].to_vec()))
    }
}
