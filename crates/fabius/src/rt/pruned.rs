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
    Joins,
    Ends,
}

/// What threads do in one of the programs: a random part of all, since what is ordered in one way is often ordered in another, too
/// (Swarm Testing, ISSTA 2012).
fn acts(dice: &mut fastrand::Rng) -> Vec<Act> {
    let always = [Act::Does(Did::Load(Relaxed)), Act::Does(Did::Store(Relaxed)), Act::Begins];
    let accesses = [Did::Load(Acquire), Did::Load(SeqCst), Did::Store(Release), Did::Store(SeqCst)];
    let changes = [Relaxed, AcqRel, SeqCst].map(|order| Act::Does(Did::Change(order)));
    let fences = [Acquire, Release, SeqCst].map(Act::Fence);
    let rest = accesses.map(Act::Does).into_iter().chain(changes).chain(fences).chain([Act::Joins, Act::Ends]);
    always.into_iter().chain(rest.filter(|_| dice.bool())).collect()
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

    /// The ways in which an operation may come out, by how many stores are newer.
    fn ways(&mut self, thread: usize, atomic: usize, did: Did) -> Vec<u32> {
        let last = self.clocks.history(atomic, |_| true, Word::of(0)).stores.len() - 1;
        let oldest = last - self.clocks.floor(thread, atomic);
        let mut may = |newer: &u32| {
            let done = self.done(thread, atomic, did, *newer);
            *newer == 0 || self.clocks.has_room(done, did) && self.clocks.allows(done)
        };
        (0..=oldest as u32).filter(&mut may).collect()
    }

    fn does(&mut self, thread: usize, atomic: usize, did: Did, newer: u32, live: &[usize]) {
        let done = self.done(thread, atomic, did, newer);
        self.clocks.atomic(done, Word::of(0), 0);
        let drops = match self.drops {
            Drops::Nothing => false,
            Drops::OfLong => self.clocks.has_many_stores(atomic),
            Drops::AfterEachStore => true,
        };
        if drops && did.stores() {
            let clocks: Vec<Clock> = live.iter().map(|t| self.clocks.clock_after(*t, std::iter::empty())).collect();
            assert!(!self.clocks.prune(atomic, &clocks), "there is room for all");
        }
    }
}

/// Says in how many ways other than the newest an operation could have come out.
fn compare(seed: u64) -> usize {
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut worlds = [Drops::Nothing, Drops::OfLong, Drops::AfterEachStore].map(World::new);
    let (mut live, mut ended, mut begun) = (vec![0], Vec::new(), 1);
    let (acts, most, mut old) = (acts(&mut dice), dice.usize(2..5), 0);
    for number in 0..60 {
        let thread = live[dice.usize(..live.len())];
        match acts[dice.usize(..acts.len())] {
            Act::Does(did) => {
                let atomic = dice.usize(..ATOMICS);
                let [ways, others @ ..] = worlds.each_mut().map(|world| world.ways(thread, atomic, did));
                assert!(others.iter().all(|o| *o == ways), "seed {seed}, {number}: {did:?} {ways:?} {others:?}");
                old += ways.len() - 1;
                let newer = ways[dice.usize(..ways.len())];
                worlds.iter_mut().for_each(|world| world.does(thread, atomic, did, newer, &live));
            }
            Act::Fence(order) => worlds.iter_mut().for_each(|world| world.clocks.fence(thread, order)),
            Act::Begins if live.len() < most => {
                worlds.iter_mut().for_each(|world| world.clocks.born(thread, begun));
                live.push(begun);
                begun += 1;
            }
            Act::Joins if !ended.is_empty() => {
                let ended = ended.swap_remove(dice.usize(..ended.len()));
                worlds.iter_mut().for_each(|world| world.clocks.joined(thread, ended));
            }
            Act::Ends if thread != 0 => {
                live.retain(|other| *other != thread);
                ended.push(thread);
            }
            Act::Begins | Act::Joins | Act::Ends => {}
        }
    }
    old
}

#[test]
fn stores_that_are_dropped_change_nothing() {
    let (first, number) = (number_of("FIRST_SEED", 0), number_of("PROGRAMS", 40_000));
    let old: usize = (first..first + number).map(compare).sum();
    assert!(old as u64 > 10 * number, "{old}");
}

fn number_of(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().unwrap())
}
