//! Facts of asynchronous programs by the definitions: the values of the globals in all final configurations.
//!
//! `levels_Y_K_..` facts bound the rounds of each level activation by K and fix the order of its tasks. That is the bounded
//! semantics of translations to sequential programs and no scheduler of the explorer, so it is written out here, over the
//! steps of the reference.

// Each test uses a part of it.
#![allow(dead_code)]

use fabius_explore::search::{Monitor, Options};
use fabius_explore::stateful;
use fabius_explore::system::{Choose, End, Snapshot, StepLog, System, TaskId};
use fabius_semantics::Reference;
use fabius_semantics::config::Config;
use fabius_trace::{Bound, SchedulerKind};
use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

pub type Facts = BTreeSet<Vec<i64>>;

/// What a kind of facts asks of the search.
pub fn options(kind: &str) -> Option<Options> {
    let (bound, max, scheduler) = match kind.rsplit_once('_') {
        _ if kind == "bag" || kind == "direct" => (Bound::None, None, SchedulerKind::Bag),
        Some(("rr", k)) => (Bound::Delays, Some(k), SchedulerKind::RoundRobin),
        Some(("dfs", k)) => (Bound::Delays, Some(k), SchedulerKind::DepthFirst),
        // K rounds are K - 1 passages to an earlier buffer.
        Some(("rounds_M", k)) => (Bound::Rounds, Some(k), SchedulerKind::Bag),
        _ => return None,
    };
    let max = max.map(|k| k.parse::<u32>().expect("a number") - u32::from(bound == Bound::Rounds));
    Some(Options { bound, max, scheduler, deadlock: false, ..Options::default() })
}

pub fn finals<S>(system: &S, options: &Options, globals: impl Fn(&S::State) -> Vec<i64> + Sync) -> Facts
where
    S: Snapshot + Sync,
    S::State: Send,
{
    let facts = Mutex::new(Facts::new());
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let outcome = stateful::search(system, options, &monitor, &|visit| {
        if visit.is_complete {
            facts.lock().expect("no worker has panicked").insert(globals(visit.state));
        }
    });
    assert!(outcome.bug.is_none() && outcome.cut.is_none(), "{outcome:?}");
    facts.into_inner().expect("no worker has panicked")
}

pub fn of_config(config: &Config) -> Vec<i64> {
    config.globals.iter().map(|v| v.number()).collect()
}

/// Goes through all outcomes of choices.
#[derive(Default)]
pub struct Odometer {
    pub taken: Vec<(u32, u32)>,
    at: usize,
}

impl Choose for Odometer {
    fn choose(&mut self, alternatives: u32) -> u32 {
        if self.at == self.taken.len() {
            self.taken.push((0, alternatives));
        }
        self.at += 1;
        self.taken[self.at - 1].0
    }
}

impl Odometer {
    pub fn advance(&mut self) -> bool {
        self.taken.truncate(self.at);
        self.at = 0;
        while let Some((chosen, of)) = self.taken.pop() {
            if chosen + 1 < of {
                self.taken.push((chosen + 1, of));
                return true;
            }
        }
        false
    }
}

/// One task of an activation.
#[derive(Clone, Debug)]
struct Entry {
    task: TaskId,
    /// The round in which it was posted, as long as it has not run.
    fresh: Option<u32>,
    /// Its place in the tree of posts, and how many it has posted.
    label: Vec<u32>,
    posted: u32,
}

/// The tasks of a level since that level became active.
#[derive(Clone, Debug)]
struct Activation {
    level: u8,
    round: u32,
    /// Which one runs.
    running: usize,
    entries: Vec<Entry>,
}

/// What may run next in an activation, at or behind `from` in this round, or anywhere in a later one.
fn next_in(activation: &Activation, from: usize, yielded: Option<usize>, rounds: u32) -> Vec<Activation> {
    let entries = &activation.entries;
    let none_fresh = |range: std::ops::Range<usize>| entries[range].iter().all(|e| e.fresh.is_none());
    let mut out = Vec::new();
    for (running, entry) in entries.iter().enumerate() {
        let mut add = |round: u32| {
            if entry.fresh.is_none_or(|posted| posted == round) {
                let mut next = Activation { round, running, ..activation.clone() };
                next.entries[running].fresh = None;
                out.push(next);
            }
        };
        if yielded == Some(running) || running >= from && none_fresh(from..running) {
            add(activation.round);
        }
        if none_fresh(0..entries.len()) {
            (activation.round + 1..rounds).for_each(&mut add);
        }
    }
    out
}

/// Where a new task may be put among the entries behind the running one.
fn slots(activation: &Activation, label: &[u32], preorder: bool) -> std::ops::RangeInclusive<usize> {
    let behind = activation.running + 1;
    if !preorder {
        return behind..=activation.entries.len();
    }
    let earlier = activation.entries[behind..].iter().take_while(|e| e.label.as_slice() < label).count();
    behind + earlier..=behind + earlier
}

/// The facts with at most `rounds` rounds of each activation.
pub fn bounded_by_rounds(reference: &Reference, rounds: u32, preorder: bool) -> Facts {
    let mut log = StepLog::default();
    let config = reference.initial(&mut Odometer::default(), &mut log).expect("the programs start");
    let main = Entry { task: log.born[0].task, fresh: None, label: Vec::new(), posted: 0 };
    // Innermost last.
    let acts = vec![Activation { level: 0, round: 0, running: 0, entries: vec![main] }];
    let (mut facts, mut seen, mut open) = (Facts::new(), HashSet::new(), vec![(config, acts)]);
    while let Some((config, acts)) = open.pop() {
        let Some(active) = acts.last() else {
            facts.insert(of_config(&config));
            continue;
        };
        let task = active.entries[active.running].task;
        let mut odometer = Odometer::default();
        loop {
            let mut next = config.clone();
            log.clear();
            let end = reference.step(&mut next, task, &mut odometer, &mut log).expect("the programs do not fail");
            let after = if end == End::Dropped { Vec::new() } else { advanced(&acts, &log, end, rounds, preorder) };
            for acts in after {
                let mut key = format!("{acts:?}").into_bytes();
                reference.encode(&next, &mut key);
                if seen.insert(key) {
                    open.push((next.clone(), acts));
                }
            }
            if !odometer.advance() {
                break;
            }
        }
    }
    facts
}

/// The activations after a step of the running task, in all orders that are allowed.
fn advanced(acts: &[Activation], log: &StepLog, end: End, rounds: u32, preorder: bool) -> Vec<Vec<Activation>> {
    let mut all = vec![acts.to_vec()];
    let runner = acts.len() - 1;
    for born in &log.born {
        all = all
            .into_iter()
            .flat_map(|mut acts| {
                let active = &mut acts[runner];
                let poster = &mut active.entries[active.running];
                let label = [poster.label.as_slice(), &[poster.posted]].concat();
                poster.posted += 1;
                let entry = Entry { task: born.task, fresh: None, label, posted: 0 };
                if born.level > active.level {
                    acts.push(Activation { level: born.level, round: 0, running: 0, entries: vec![entry] });
                    return vec![acts];
                }
                let of_level = acts.iter().position(|a| a.level == born.level).expect("the level is active");
                let put = |slot: usize| {
                    let mut acts = acts.clone();
                    let fresh = Some(acts[of_level].round);
                    acts[of_level].entries.insert(slot, Entry { fresh, ..entry.clone() });
                    acts
                };
                slots(&acts[of_level], &entry.label, preorder).map(put).collect()
            })
            .collect();
    }
    let next = |mut acts: Vec<Activation>| {
        if end == End::Interrupted {
            return vec![acts];
        }
        let mut active = acts.pop().expect("the running task has an activation");
        let running = active.running;
        let nexts = match end {
            End::Finished => {
                active.entries.remove(running);
                if active.entries.is_empty() {
                    return vec![acts];
                }
                next_in(&active, running, None, rounds)
            }
            End::Yield => next_in(&active, running + 1, Some(running), rounds),
            other => panic!("a program with one buffer has no {other:?}"),
        };
        nexts.into_iter().map(|a| [acts.as_slice(), &[a]].concat()).collect()
    };
    all.into_iter().flat_map(next).collect()
}
