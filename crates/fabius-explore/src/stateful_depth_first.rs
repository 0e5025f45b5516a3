//! Depth-first search with states: what is found first need not be cheapest, but deep bugs are found early.
//!
//! Paper: Iterative Context Bounding (PLDI 2007), section 5 (the depth-first search that it is compared with).
//!
//! Deviations:
//! 1. States are stored. With a limit of cost a state alone is not enough: the least cost of each state and of who ran
//!    last is kept, and a visit with less is explored again.

use crate::dispatcher::{Last, Move};
use crate::node::{Context, Node, Script, Stop};
use crate::retrace::{self, Target};
use crate::search::{Bug, Cut, Monitor, Options, Outcome, Progress};
use crate::stateful::{Visit, Visitor};
use crate::system::Snapshot;
use fabius_trace::LevelStats;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A node on the current path.
struct Frame {
    state: Vec<u8>,
    last: Last,
    cost: u32,
    moves: Vec<Move>,
    /// The move to make next.
    next: usize,
    /// Its choices so far; `None` before its first outcome.
    script: Option<Script>,
}

impl Frame {
    /// Bytes in use, about, without the points of its script.
    fn memory(&self) -> u64 {
        (size_of::<Frame>() + self.state.capacity() + self.moves.capacity() * size_of::<Move>()) as u64
    }
}

/// Searches, on one thread.
pub fn search<S: Snapshot>(
    system: &S,
    options: &Options,
    monitor: &Monitor<'_>,
    visit: Visitor<'_, S::State>,
) -> Outcome {
    let context = Context::storing(system, options);
    let mut search = Search {
        context: &context,
        visit,
        costs: HashMap::new(),
        plain: HashSet::new(),
        path: Vec::new(),
        transitions: 0,
        finals: 0,
        cut_off: false,
        limit: None,
        cut: None,
        bytes: 0,
        passing: 0,
    };
    let began = Instant::now();
    let mut reported = began;
    let mut cut = None;
    let mut bug = None;
    let mut script = Script::merging(options);
    let mut log = context.log();
    // Transitions would not do: one outcome may count for many.
    let mut moves = 0u64;
    'roots: loop {
        search.passing = 0;
        script.allow(search.room());
        let initial = context.initial(&mut script, &mut log);
        search.passing = script.memory();
        match initial {
            // Others have been there.
            Ok(_) if script.has_met() => {}
            Ok(node) => {
                let mut base = node.clone();
                bug = search.enter(node, 0).err();
                while bug.is_none() && !search.path.is_empty() {
                    bug = search.advance(&mut base).err();
                    cut = search.cut;
                    moves += 1;
                    if cut.is_none() && moves.is_multiple_of(256) {
                        cut = search.must_stop(monitor);
                        if reported.elapsed() > Duration::from_millis(200) {
                            reported = Instant::now();
                            (monitor.progress)(&search.progress(began));
                        }
                    }
                    if cut.is_some() {
                        break 'roots;
                    }
                }
            }
            Err(Stop::Bug(what)) => bug = retrace::retrace(&context, &[], Some((0, script.choices())), what).ok(),
            Err(Stop::Cut(c)) => {
                search.limit = search.limit.or(Some(c));
                search.cut = search.cut.or(Some(c).filter(|cut| cut.is_final()));
            }
            Err(Stop::Dropped) => {}
        }
        if bug.is_some() || !script.advance() {
            break;
        }
        cut = search.cut.or_else(|| search.must_stop(monitor));
        if cut.is_some() {
            break;
        }
    }
    let done = bug.is_none() && cut.is_none();
    let cut = cut.or(search.limit);
    Outcome {
        levels: vec![LevelStats {
            bound: options.max.unwrap_or(0),
            executions: 0,
            states: search.plain.len() as u64,
            transitions: search.transitions,
        }],
        completed: (done && search.limit.is_none()).then_some(options.max.unwrap_or(0)),
        exhausted: done && !search.cut_off && cut.is_none(),
        cut: if bug.is_some() { None } else { cut },
        memory: search.bytes,
        finals: search.finals,
        reduced: 0,
        growth: Vec::new(),
        anew: None,
        bug,
    }
}

struct Search<'a, 'b, S: Snapshot> {
    context: &'a Context<'b, S>,
    visit: Visitor<'a, S::State>,
    /// The least cost at which each state, with who ran last, was explored.
    costs: HashMap<(Vec<u8>, Last), u32>,
    /// States of the program.
    plain: HashSet<Vec<u8>>,
    path: Vec<Frame>,
    transitions: u64,
    finals: u64,
    /// Whether the bound cut anything off.
    cut_off: bool,
    limit: Option<Cut>,
    /// What ended a step, and with it the search.
    cut: Option<Cut>,
    /// Bytes for states.
    bytes: u64,
    /// Bytes for the path and for points inside of its steps.
    passing: u64,
}

type Found = crate::search::Found;

impl<S: Snapshot> Search<'_, '_, S> {
    fn must_stop(&self, monitor: &Monitor<'_>) -> Option<Cut> {
        let options = self.context.options;
        if monitor.stop.load(Ordering::Relaxed) {
            Some(Cut::Interrupted)
        } else if options.deadline.is_some_and(|d| Instant::now() >= d) {
            Some(Cut::Time)
        } else {
            options.memory.filter(|limit| self.memory() > *limit).map(|_| Cut::Memory)
        }
    }

    fn memory(&self) -> u64 {
        self.bytes + self.passing
    }

    /// Bytes that are left.
    fn room(&self) -> Option<u64> {
        self.context.options.memory.map(|limit| limit.saturating_sub(self.memory()))
    }

    fn progress(&self, began: Instant) -> Progress {
        Progress {
            bound: self.path.last().map_or(0, |f| f.cost),
            states: self.plain.len() as u64,
            transitions: self.transitions,
            frontier: self.path.len() as u64,
            depth: self.path.len() as u32,
            memory: self.memory(),
            elapsed: began.elapsed(),
            ..Progress::default()
        }
    }

    /// Puts a node on the path, unless it has been explored at this cost or less.
    fn enter(&mut self, mut node: Node<S::State>, at_cost: u32) -> Result<(), Found> {
        self.context.settle(&mut node);
        let mut state = Vec::new();
        let plain_from = self.context.encode(&node, &mut state);
        let last = self.context.last(&node);
        let key = (state, last);
        if self.costs.get(&key).is_some_and(|c| *c <= at_cost) {
            return Ok(());
        }
        // A vector and its entry in a table take about this much besides the bytes.
        self.bytes += key.0.len() as u64 + 64;
        self.costs.insert(key.clone(), at_cost);
        let mut moves = Vec::new();
        self.context.moves(&node, &mut moves);
        if self.plain.insert(key.0[plain_from..].to_vec()) {
            self.bytes += (key.0.len() - plain_from) as u64 + 48;
            let is_final = self.context.is_final(&node);
            let is_complete = is_final && self.context.is_complete(&node);
            self.finals += u64::from(is_final);
            (self.visit)(Visit { state: &node.state, is_final, is_complete, cost: at_cost });
        }
        let frame = Frame { state: key.0, last, cost: at_cost, moves, next: 0, script: None };
        self.passing += frame.memory();
        self.path.push(frame);
        if self.context.options.deadlock && self.context.is_deadlock(&node) {
            return self.found(None, Bug::Deadlock);
        }
        Ok(())
    }

    /// Makes the next move of the last node on the path, or takes that node off.
    fn advance(&mut self, base: &mut Node<S::State>) -> Result<(), Found> {
        let room = self.room();
        let frame = self.path.last_mut().expect("the path is not empty");
        let Some(mv) = frame.moves.get(frame.next).copied() else {
            self.passing -= frame.memory();
            self.path.pop();
            return Ok(());
        };
        self.context.decode(&frame.state, base);
        self.context.resume(base, frame.last);
        let total = frame.cost + self.context.price(base, frame.last, &mv);
        if self.context.options.max.is_some_and(|max| total > max) {
            frame.next += 1;
            self.cut_off = true;
            return Ok(());
        }
        let number = frame.next;
        let mut script = frame.script.take().unwrap_or_else(|| Script::merging(self.context.options));
        let before = script.memory();
        script.allow(room.map(|room| room.saturating_add(before)));
        let mut log = self.context.log();
        let result = self.context.apply(base, mv, &mut script, &mut log);
        if matches!(mv, Move::Run(_)) {
            self.transitions = self.transitions.saturating_add(script.weight());
        }
        let choices = script.choices();
        self.passing -= before;
        if script.advance() {
            self.passing += script.memory();
            frame.script = Some(script);
        } else {
            frame.next += 1;
        }
        match result {
            Ok(_) => self.enter(base.clone(), total),
            Err(Stop::Bug(what)) => self.found(Some((number, choices)), what),
            Err(Stop::Cut(cut)) => {
                self.limit = self.limit.or(Some(cut));
                self.cut = self.cut.or(Some(cut).filter(|cut| cut.is_final()));
                Ok(())
            }
            Err(Stop::Dropped) => Ok(()),
        }
    }

    /// The bug, as what ends the search; or a limit does.
    fn found(&mut self, last: Option<(usize, Vec<u32>)>, what: Bug) -> Result<(), Found> {
        let target = |f: &Frame| Target { state: f.state.clone(), last: Some(f.last), step: None };
        let way: Vec<Target> = self.path.iter().map(target).collect();
        match retrace::retrace(self.context, &way, last, what) {
            Ok(found) => Err(found),
            Err(cut) => {
                self.cut = Some(cut);
                Ok(())
            }
        }
    }
}
