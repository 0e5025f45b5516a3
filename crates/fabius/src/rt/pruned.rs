//! A test: stores that are dropped change nothing, neither what an operation may find nor where it may store.
//!
//! Random operations are made in worlds that drop stores and in one that does not. Each may come out in the same ways in all of them,
//! and comes out in one of these.

use super::clock::{Clock, Did};
use super::clocks::{Clocks, Done};
use super::history::Word;
use std::panic::Location;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

const ATOMICS: usize = 2;

#[derive(Clone, Copy, Debug)]
enum Drops {
    Nothing,
    /// As checks do.
    OfLong,
    AfterEachStore,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Does(Did),
    Fence(Ordering),
    Begins,
    /// It waits for the end of another thread.
    Joins,
    Ends,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Runs,
    Waits(usize),
    Ended,
}

/// What threads do in one of the programs: a random part of all, since what is ordered in one way is often ordered in another, too
/// (Swarm Testing, ISSTA 2012).
fn acts(dice: &mut fastrand::Rng) -> Vec<Act> {
    let always = [Act::Does(Did::Load(Relaxed)), Act::Does(Did::Store(Relaxed)), Act::Begins];
    let accesses = [Did::Load(Acquire), Did::Load(SeqCst), Did::Store(Release), Did::Store(SeqCst)];
    let changes = [Relaxed, Acquire, Release, AcqRel, SeqCst].map(|order| Act::Does(Did::Change(order)));
    let fences = [Acquire, Release, AcqRel, SeqCst].map(Act::Fence);
    let rest = accesses.map(Act::Does).into_iter().chain(changes).chain(fences).chain([Act::Joins, Act::Ends]);
    always.into_iter().chain(rest.filter(|_| dice.u8(..3) == 0)).collect()
}

struct World {
    clocks: Clocks,
    drops: Drops,
}

impl World {
    fn new(drops: Drops) -> World {
        let mut clocks = Clocks::default();
        clocks.deviates = true;
        for atomic in 0..ATOMICS {
            clocks.history(atomic, |_| true, Word::of(0));
        }
        World { clocks, drops }
    }

    fn done(&mut self, thread: usize, atomic: usize, did: Did, newer: u32) -> Done {
        Done { thread, atomic, did, position: self.clocks.position(atomic, newer), place: Location::caller() }
    }

    /// The ways in which an operation may come out: how many stores are newer than what it finds, and that value.
    fn ways(&mut self, thread: usize, atomic: usize, did: Did) -> Vec<(u32, u64)> {
        let last = self.clocks.history(atomic, |_| true, Word::of(0)).stores.len() - 1;
        let oldest = last - self.clocks.floor(thread, atomic);
        let mut way = |newer| {
            let done = self.done(thread, atomic, did, newer);
            let may = newer == 0 || self.clocks.has_room(done, did) && self.clocks.allows(done);
            may.then(|| (newer, self.clocks.value(atomic, done.position).number()))
        };
        (0..=oldest as u32).filter_map(&mut way).collect()
    }

    /// Says how many stores are dropped.
    fn does(&mut self, done: Done, value: u64, states: &[State]) -> usize {
        let Done { atomic, did, .. } = done;
        self.clocks.atomic(done, Word::of(value), 0);
        let drops = match self.drops {
            Drops::Nothing => false,
            Drops::OfLong => self.clocks.has_many_stores(atomic),
            Drops::AfterEachStore => true,
        };
        if !drops || !did.stores() {
            return 0;
        }
        let waits_for = |thread: &usize| match states[*thread] {
            State::Waits(other) => Some(other),
            State::Runs | State::Ended => None,
        };
        let live = (0..states.len()).filter(|thread| states[*thread] != State::Ended);
        let after = |thread| self.clocks.clock_after(thread, std::iter::successors(waits_for(&thread), waits_for));
        let clocks: Vec<Clock> = live.map(after).collect();
        let stores = |world: &mut World| world.clocks.history(atomic, |_| true, Word::of(0)).stores.len();
        let before = stores(self);
        assert!(!self.clocks.prune(atomic, &clocks), "there is room for all");
        before - stores(self)
    }
}

/// Says in how many ways other than the newest operations could have come out, and how many stores were dropped.
fn compare(seed: u64) -> [usize; 2] {
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut worlds = [Drops::Nothing, Drops::OfLong, Drops::AfterEachStore].map(World::new);
    let mut states = vec![State::Runs];
    let (acts, most, mut counted) = (acts(&mut dice), dice.usize(2..5), [0, 0]);
    for number in 0..60 {
        let running: Vec<usize> = (0..states.len()).filter(|thread| states[*thread] == State::Runs).collect();
        let thread = running[dice.usize(..running.len())];
        match acts[dice.usize(..acts.len())] {
            Act::Does(did) => {
                let atomic = dice.usize(..ATOMICS);
                let [ways, others @ ..] = worlds.each_mut().map(|world| world.ways(thread, atomic, did));
                assert!(others.iter().all(|o| *o == ways), "seed {seed}, {number}: {did:?} {ways:?} {others:?}");
                let (newer, _) = ways[dice.usize(..ways.len())];
                let mut dropped = 0;
                for world in &mut worlds {
                    let done = world.done(thread, atomic, did, newer);
                    dropped += world.does(done, number + 1, &states);
                }
                counted = [counted[0] + ways.len() - 1, counted[1] + dropped];
            }
            Act::Fence(order) => worlds.iter_mut().for_each(|world| world.clocks.fence(thread, order)),
            Act::Begins if states.iter().filter(|state| **state != State::Ended).count() < most => {
                worlds.iter_mut().for_each(|world| world.clocks.born(thread, states.len()));
                states.push(State::Runs);
            }
            Act::Joins => {
                let other = dice.usize(..states.len());
                match states[other] {
                    State::Ended => worlds.iter_mut().for_each(|world| world.clocks.joined(thread, other)),
                    // That one runs, so that nobody waits in a circle; somebody goes on.
                    State::Runs if other != thread && running.len() > 1 => states[thread] = State::Waits(other),
                    State::Runs | State::Waits(_) => {}
                }
            }
            Act::Ends if thread != 0 && (running.len() > 1 || states.contains(&State::Waits(thread))) => {
                states[thread] = State::Ended;
                for (waiter, state) in
                    states.iter_mut().enumerate().filter(|(_, state)| **state == State::Waits(thread))
                {
                    worlds.iter_mut().for_each(|world| world.clocks.joined(waiter, thread));
                    *state = State::Runs;
                }
            }
            Act::Begins | Act::Ends => {}
        }
    }
    counted
}

#[test]
fn stores_that_are_dropped_change_nothing() {
    // Among these is one in which a fence must come after what was dropped before all that its thread knows, which few do.
    let (first, number) = (number_of("FIRST_SEED", 150_000), number_of("PROGRAMS", 40_000));
    let sum = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
    let [old, dropped] = (first..first + number).map(compare).fold([0, 0], sum);
    assert!(number < 1000 || old.min(dropped) as u64 > 5 * number, "{old} old values, {dropped} stores dropped");
}

fn number_of(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().unwrap())
}
