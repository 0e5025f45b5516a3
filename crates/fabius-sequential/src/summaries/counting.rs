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
use crate::counters::{Threads, may_wait};
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

/// Whether threads wait for ever, whatever their number and that of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// There is always one that can go on, until all have finished.
    Never,
    /// Nothing is known.
    Open,
    /// Nothing: a procedure is recursive.
    Recursive,
    /// Nothing: there is too much to list.
    TooMany,
}

/// Looks for a proof that no threads wait for ever, with so many nodes of diagrams. What happens behind an assertion that
/// fails does not count.
///
/// # Errors
/// [`NotSequential`].
pub fn waiting(
    template: &Template<'_>,
    nodes: usize,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<(Result<Waiting, GaveUp>, Statistics), NotSequential> {
    let answer = with_steps(template, nodes, 0, |steps, reach| wait(steps, reach, limits, progress))?;
    Ok(answer.unwrap_or((Ok(Waiting::Recursive), Statistics::default())))
}

fn wait(
    steps: &Steps<'_, '_>,
    reach: &mut Reach<'_>,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Waiting, Stopped> {
    let starts = reach.program_ends(limits, progress)?;
    let moves = steps.moves(reach, limits, progress)?;
    let Some(Listed { mut counted, narrow, waits, ends }) = list(steps, reach, &starts, moves, limits)? else {
        return Ok(Waiting::TooMany);
    };
    let gave_up = |why| match why {
        counted::GaveUp::TooMany => Ok(Waiting::TooMany),
        counted::GaveUp::Stopped => Err(Stopped::Limit),
    };
    counted.bad = narrow.into_iter().collect();
    match counted.fails(limits) {
        Ok(false) => {}
        Ok(true) => {
            reach.narrow()?;
            return Ok(Waiting::Open);
        }
        Err(why) => return gave_up(why),
    }
    match may_wait(&Threads { counted: &counted, waits: &waits, ends: &ends }, limits) {
        Ok(true) => Ok(Waiting::Open),
        Ok(false) => Ok(Waiting::Never),
        Err(why) => gave_up(why),
    }
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
    let Some(Listed { mut counted, narrow, .. }) = list(steps, reach, &starts, moves, limits)? else {
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
    /// Where a thread may wait.
    waits: BTreeSet<Pair>,
    /// The places behind the last statement.
    ends: BTreeSet<u32>,
}

/// All steps between pairs that may be reachable; `None` if there are too many.
fn list(
    steps: &Steps<'_, '_>,
    reach: &mut Reach<'_>,
    starts: &Set,
    moves: Moves,
    limits: &Limits<'_>,
) -> Result<Option<Listed>, Stopped> {
    let Moves { shared: [now, then], threads: [one, _, next, three], step, bad, narrow, waits } = moves;
    let (shared, threads) = steps.begin(reach, starts, &one)?;
    let (here, there) = (steps.written_out(reach, &one)?, steps.written_out(reach, &next)?);
    let d = reach.diagrams();
    let (step, bad, narrow) = (step.and(&here)?.and(&there)?, bad.and(&here)?, narrow.and(&here)?);
    let waits = waits.and(&here)?;
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
    let of_place = steps.bits;
    let Some(steps) = members(&reachable.and(&step)?, &all, MOST) else { return Ok(None) };
    let Some(bad) = members(&reachable.and(&bad)?, &both, MOST) else { return Ok(None) };
    let Some(narrow) = members(&reachable.and(&narrow)?, &both, MOST) else { return Ok(None) };
    let Some(waits) = members(&reachable.and(&waits)?, &both, MOST) else { return Ok(None) };
    let mut counted = Counted::default();
    for step in steps {
        let (from, to) = step.split_at(both.len());
        counted.steps.push([numbers.pair(from, now.len()), numbers.pair(to, now.len())]);
    }
    counted.bad = bad.iter().map(|pair| numbers.pair(pair, now.len())).collect();
    let narrow = narrow.iter().map(|pair| numbers.pair(pair, now.len())).collect();
    let waits = waits.iter().map(|pair| numbers.pair(pair, now.len())).collect();
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
    let is_end = |place: &[bool]| place[..of_place].iter().all(|bit| !bit);
    let ends = numbers.places.iter().filter(|(place, _)| is_end(place)).map(|(_, number)| *number).collect();
    Ok(Some(Listed { counted, narrow, waits, ends }))
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
