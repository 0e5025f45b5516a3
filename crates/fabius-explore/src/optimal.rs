//! Stateless search that runs one execution for each happens-before relation, without a bound: dynamic partial order
//! reduction with wakeup trees and sleep sets. Which executions are left to be run is in `optimal/tree.rs`.
//!
//! Paper: Optimal Dynamic Partial Order Reduction (POPL 2014), section 6 (Optimal-DPOR).

mod tree;

use crate::node::Context;
use crate::search::{Cut, Found, Monitor, Options, Outcome, Progress};
use crate::stateless::Listener;
use crate::system::System;
use fabius_trace::LevelStats;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tree::{Explored, Memory};

/// Searches. Only for systems of threads that announce their accesses.
pub fn search<S: System>(
    system: &S,
    options: &Options,
    monitor: &Monitor<'_>,
    listener: Listener<'_, S::State>,
) -> Outcome {
    let mut search = begin(system, options, monitor, listener);
    search.go_on_to(options.executions);
    search.outcome()
}

/// Begins a search, without an execution. However many [`Options::executions`] there may be: [`Search::go_on_to`] says that.
pub fn begin<'a, S: System>(
    system: &'a S,
    options: &'a Options,
    monitor: &'a Monitor<'a>,
    listener: Listener<'a, S::State>,
) -> Search<'a, S> {
    let context = Context { system, options, compare: None, is_symmetric: false, joins: false };
    let began = Instant::now();
    let (tree, memory) = (Explored::new(listener), Memory::default());
    Search { context, monitor, tree, memory, began, reported: began, bug: None, cut: None, is_over: false }
}

/// A search under way.
pub struct Search<'a, S: System> {
    context: Context<'a, S>,
    monitor: &'a Monitor<'a>,
    tree: Explored<'a, S::State>,
    memory: Memory,
    began: Instant,
    reported: Instant,
    bug: Option<Found>,
    cut: Option<Cut>,
    /// Whether nothing is left to be tried.
    is_over: bool,
}

impl<S: System> Search<'_, S> {
    /// Goes on until so many executions have been run in all, or until the search ends. Says whether it has only paused.
    pub fn go_on_to(&mut self, executions: Option<u64>) -> bool {
        if executions == Some(0) {
            self.cut = Some(Cut::Executions);
            return true;
        }
        let options = self.context.options;
        while !self.is_over && self.bug.is_none() {
            self.cut = if self.tree.level.executions == 0 {
                None
            } else if self.monitor.stop.load(Ordering::Relaxed) {
                Some(Cut::Interrupted)
            } else if options.deadline.is_some_and(|d| Instant::now() >= d) {
                Some(Cut::Time)
            } else if executions.is_some_and(|most| self.tree.level.executions >= most) {
                Some(Cut::Executions)
            } else {
                None
            };
            if self.cut.is_some() {
                return self.cut == Some(Cut::Executions);
            }
            let old = self.tree.frames.len().saturating_sub(1);
            self.bug = self.tree.execute(&self.context, &mut self.memory);
            if self.bug.is_none() {
                self.tree.reverse_races(old);
                self.tree.growth.see(self.tree.level.executions, self.tree.signatures.len());
                self.report();
                self.is_over = !self.tree.backtrack();
            }
        }
        false
    }

    /// Whether nothing was left out, and nothing failed.
    pub fn has_seen_everything(&self) -> bool {
        self.is_over && self.bug.is_none() && self.cut.is_none() && self.tree.limit.is_none()
    }

    fn report(&mut self) {
        let level = &self.tree.level;
        if level.executions.is_multiple_of(64) && self.reported.elapsed() > Duration::from_millis(200) {
            self.reported = Instant::now();
            (self.monitor.progress)(&Progress {
                executions: level.executions,
                transitions: level.transitions,
                depth: self.tree.frames.len() as u32,
                elapsed: self.began.elapsed(),
                ..Progress::default()
            });
        }
    }

    /// How many there have been.
    pub fn executions(&self) -> u64 {
        self.tree.level.executions
    }

    /// What was found.
    pub fn outcome(self) -> Outcome {
        let exhausted = self.has_seen_everything();
        let Search { tree, bug, .. } = self;
        let cut = self.cut.or(tree.limit);
        let (level, states) = (tree.level, tree.signatures.len());
        Outcome {
            exhausted,
            completed: exhausted.then_some(0),
            cut: if bug.is_some() { None } else { cut },
            bug,
            finals: level.executions,
            reduced: 0,
            growth: tree.growth.end(level.executions, states),
            anew: None,
            levels: vec![LevelStats { states: states as u64, ..level }],
            memory: 0,
        }
    }
}
