//! Which threads' steps alone need be made in a state.
//!
//! Paper: Partial-Order Methods for the Verification of Concurrent Systems (Godefroid, LNCS 1032, 1996), sections 4.2 and 4.4:
//! persistent sets, of whole threads.
//!
//! A set of threads will do if none of its steps, from where these threads stand, touches what any other thread of the state may
//! touch from where that one stands on ([`Footprints`]), unless both only read it. So nobody else enables, disables or changes
//! these steps before one of them is made, and whatever others do first can be done behind it just as well. That the steps left out
//! are made at last is seen to by the search.
//!
//! Deviations:
//! 1. Who waits in the set may be let go on by others; all that they may touch of what its step touches brings them into the set.
//! 2. Steps that make threads or objects change what those are called that others make. Nothing depends on names.

use crate::code::Instr;
use crate::compile::Compiled;
use crate::footprint::{Footprint, Footprints};
use crate::packed::code::{NOWHERE, PackedCode};
use std::sync::OnceLock;

/// Places of threads, and sites of calls, at most.
const MOST_POINTS: usize = 1 << 14;
/// Sets of several threads are looked for among so many.
const MOST_THREADS: usize = 64;

/// What is known of a program. A *point* is a place where a thread may stand or, behind those, where it goes on when a call returns;
/// the last one is that of the end of the thread that starts the processes.
#[derive(Debug)]
pub(crate) struct Ample {
    prints: Footprints,
    /// The first point of each procedure.
    first: Vec<u32>,
    /// The program counter of each point but the last.
    places: Vec<u32>,
    /// The points of calls, by site, begin here.
    calls: u32,
    futures: Vec<Footprint>,
    /// For each point the points from which on a thread may touch what the step from there touches.
    rows: Vec<OnceLock<Box<[u64]>>>,
}

/// Where an unfinished thread stands.
#[derive(Clone, Debug)]
pub(crate) struct Stand {
    /// Its own point, then those of the calls that are under way, innermost first, and at last perhaps that of the start.
    points: Vec<u32>,
    pub(crate) is_ready: bool,
}

impl Ample {
    /// `None` if the program is too large.
    pub(crate) fn of(program: &Compiled, code: &PackedCode, processes: impl Iterator<Item = usize>) -> Option<Ample> {
        let sites = program.code.sites.len();
        if code.stands.iter().map(Vec::len).sum::<usize>() + sites >= MOST_POINTS {
            return None;
        }
        let prints = Footprints::of(program)?;
        let mut places = Vec::new();
        let mut first = Vec::new();
        for stands in &code.stands {
            first.push(places.len() as u32);
            places.extend_from_slice(stands);
        }
        let calls = places.len() as u32;
        places.extend(program.code.sites.iter().map(|site| site.back));
        let mut futures: Vec<Footprint> = places.iter().map(|pc| prints.future[*pc as usize].clone()).collect();
        let mut start = prints.finish.nothing();
        for entry in processes.filter_map(|proc| program.entries[proc][0]) {
            start.add(&prints.future[entry as usize]);
        }
        futures.push(start);
        let rows = (0..=futures.len()).map(|_| OnceLock::new()).collect();
        Some(Ample { prints, first, places, calls, futures, rows })
    }

    /// Where a thread stands: its procedure, the number of its place there, the sites of the calls that are under way, innermost
    /// first; and whether it starts the processes when it finishes.
    pub(crate) fn stand(&self, proc: usize, stand: u32, calls: impl Iterator<Item = u32>, starts: bool) -> Stand {
        let mut points = vec![self.first[proc] + stand];
        points.extend(calls.map(|site| self.calls + site));
        points.extend(starts.then_some(self.places.len() as u32));
        Stand { points, is_ready: false }
    }

    /// The points from which on a thread may touch what the step from a point touches; for the point behind all, what whoever finishes
    /// does.
    fn row(&self, point: usize) -> &[u64] {
        self.rows[point].get_or_init(|| {
            let step = match self.places.get(point) {
                Some(pc) => &self.prints.step[*pc as usize],
                None => &self.prints.finish,
            };
            let mut row = vec![0; self.futures.len().div_ceil(64)];
            for (other, future) in self.futures.iter().enumerate() {
                if step.conflicts(future) {
                    row[other / 64] |= 1 << (other % 64);
                }
            }
            row.into()
        })
    }

    /// Calls `with` with the row of each part of a thread's next step; false if what the step touches is not known.
    fn rows_of<'a>(&'a self, program: &Compiled, thread: &Stand, with: &mut Vec<&'a [u64]>) -> bool {
        with.clear();
        for (part, point) in thread.points.iter().enumerate() {
            let Some(pc) = self.places.get(*point as usize).map(|pc| *pc as usize) else { break };
            let waits = match program.code.instrs[pc] {
                Instr::Await { guard } if part == 0 => program.code.guards[guard as usize].join.then_some(pc),
                _ => None,
            };
            // Whoever stands at a `join` and can go on has seen the end that it waits for; other ends do not matter.
            let joins = match waits {
                Some(pc) => !thread.is_ready || self.prints.joins[pc + 1],
                None => self.prints.joins[pc],
            };
            if joins {
                return false;
            }
            with.push(self.row(*point as usize));
            if !self.prints.returns[pc] {
                return true;
            }
        }
        with.push(self.row(self.futures.len()));
        true
    }

    /// Whether the next step of a thread, if it can go on, touches nothing that others may touch from where they stand; false if that
    /// is not known.
    pub(crate) fn is_alone(
        &self,
        program: &Compiled,
        thread: &Stand,
        mut others: impl Iterator<Item = Option<Stand>>,
    ) -> bool {
        let mut rows = Vec::new();
        self.rows_of(program, thread, &mut rows)
            && others.all(|other| other.is_some_and(|other| !conflict(&rows, &other)))
    }

    /// Of the threads of a state the numbers of those whose steps will do, in increasing order; false if all must be made.
    pub(crate) fn choose(&self, program: &Compiled, threads: &[Stand], chosen: &mut Vec<usize>) -> bool {
        chosen.clear();
        let ready = threads.iter().filter(|thread| thread.is_ready).count();
        if ready < 2 {
            return false;
        }
        let mut rows = Vec::new();
        let mut meets = vec![u64::MAX; if threads.len() <= MOST_THREADS { threads.len() } else { 0 }];
        for (me, thread) in threads.iter().enumerate() {
            let known = self.rows_of(program, thread, &mut rows);
            let conflicts = |other: &Stand| conflict(&rows, other);
            if thread.is_ready && known && !threads.iter().enumerate().any(|(i, other)| i != me && conflicts(other)) {
                chosen.push(me);
                return true;
            }
            if known && !meets.is_empty() {
                let others = threads.iter().enumerate().filter(|(i, other)| *i != me && conflicts(other));
                meets[me] = others.fold(1 << me, |all, (i, _)| all | 1 << i);
            }
        }
        let is_ready = (0..meets.len()).filter(|i| threads[*i].is_ready).fold(0u64, |all, i| all | 1 << i);
        let sets = (0..meets.len()).filter(|i| threads[*i].is_ready).map(|i| closed(&meets, i));
        let Some(least) = sets.min_by_key(|set| (set & is_ready).count_ones()) else { return false };
        if least & is_ready == is_ready {
            return false;
        }
        chosen.extend((0..meets.len()).filter(|i| (least & is_ready) >> i & 1 == 1));
        true
    }
}

/// Whether a step of these rows touches what a thread may still touch.
fn conflict(rows: &[&[u64]], other: &Stand) -> bool {
    let is_in = |point: u32| rows.iter().any(|row| row[point as usize / 64] >> (point % 64) & 1 == 1);
    other.points.iter().any(|point| is_in(*point))
}

/// A thread with all whom those that are in touch.
fn closed(meets: &[u64], first: usize) -> u64 {
    let mut set = 1u64 << first;
    let mut left = set;
    while left != 0 {
        let next = left.trailing_zeros() as usize;
        left &= left - 1;
        if let Some(more) = meets.get(next).map(|with| with & !set) {
            set |= more;
            left |= more;
        }
    }
    set
}

/// The number of the place of a thread among those of its procedure, if it is one where threads stand.
pub(crate) fn place(code: &PackedCode, pc: u32) -> Option<u32> {
    Some(code.stand_of[pc as usize]).filter(|stand| *stand != NOWHERE)
}
