//! Whether any execution is complete: ends, or goes on for ever, without being dropped.
//!
//! A search that meets no final state has either met executions that go on for ever, or none but dropped ones, and then its
//! answer says nothing. Only a path that comes back to itself tells them apart.

use crate::dispatcher::{Last, Move};
use crate::node::{Context, Node, Script, Stop};
use crate::search::{Cut, Monitor, Options};
use crate::system::Snapshot;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A place on the path.
struct Frame {
    key: (Vec<u8>, Last),
    cost: u32,
    moves: Vec<Move>,
    next: usize,
    script: Option<Script>,
}

/// What is known of a state that was visited.
struct Seen {
    cost: u32,
    on_path: bool,
}

/// Looks for an execution within the bound that is complete, depth first. `is_dropped` knows an initial state in which an
/// assumption has failed. It gives up after as many outcomes of steps as there may be executions.
///
/// # Errors
/// The limit that ended the search.
pub fn some_execution<S: Snapshot>(
    system: &S,
    options: &Options,
    monitor: &Monitor<'_>,
    is_dropped: &dyn Fn(&S::State) -> bool,
) -> Result<bool, Cut> {
    let context = Context::storing(system, options);
    let mut script = Script::merging(options);
    let mut log = context.log();
    let mut search = Search { context: &context, seen: HashMap::new(), path: Vec::new(), bytes: 0, steps: 0 };
    loop {
        match context.initial(&mut script, &mut log) {
            Ok(node) if is_dropped(&node.state) => {}
            Ok(node) => {
                let mut base = node.clone();
                if search.enter(node, 0) {
                    return Ok(true);
                }
                while !search.path.is_empty() {
                    search.is_over(monitor)?;
                    if search.advance(&mut base)? {
                        return Ok(true);
                    }
                }
            }
            Err(Stop::Bug(_)) => return Ok(true),
            Err(Stop::Cut(cut)) => return Err(cut),
            Err(Stop::Dropped) => {}
        }
        search.is_over(monitor)?;
        if !script.advance() {
            return Ok(false);
        }
    }
}

/// How many outcomes the choices before the first step have.
pub fn beginnings<S: Snapshot>(system: &S, options: &Options, monitor: &Monitor<'_>) -> u64 {
    let context = Context::storing(system, options);
    let mut script = Script::merging(options);
    let mut log = context.log();
    let mut count: u64 = 0;
    loop {
        let stopped = matches!(context.initial(&mut script, &mut log), Err(Stop::Cut(cut)) if cut.is_final());
        count = count.saturating_add(script.weight());
        if stopped || monitor.stop.load(Ordering::Relaxed) || !script.advance() {
            return count;
        }
    }
}

struct Search<'a, 'b, S: Snapshot> {
    context: &'a Context<'b, S>,
    seen: HashMap<(Vec<u8>, Last), Seen>,
    path: Vec<Frame>,
    bytes: u64,
    steps: u64,
}

impl<S: Snapshot> Search<'_, '_, S> {
    fn is_over(&mut self, monitor: &Monitor<'_>) -> Result<(), Cut> {
        let options = self.context.options;
        self.steps += 1;
        if monitor.stop.load(Ordering::Relaxed) {
            return Err(Cut::Interrupted);
        }
        if self.steps.is_multiple_of(64) && options.deadline.is_some_and(|d| Instant::now() >= d) {
            return Err(Cut::Time);
        }
        if options.executions.is_some_and(|most| self.steps > most) {
            return Err(Cut::Executions);
        }
        if options.memory.is_some_and(|limit| self.bytes > limit) { Err(Cut::Memory) } else { Ok(()) }
    }

    /// Puts a node on the path, unless it is known. Says whether an execution is complete there.
    fn enter(&mut self, mut node: Node<S::State>, cost: u32) -> bool {
        self.context.settle(&mut node);
        if self.context.is_final(&node) {
            return true;
        }
        let mut state = Vec::new();
        self.context.encode(&node, &mut state);
        let key = (state, self.context.last(&node));
        if let Some(seen) = self.seen.get(&key) {
            if seen.on_path && (seen.cost == cost || self.context.options.max.is_none()) {
                return true;
            }
            if seen.cost <= cost {
                return false;
            }
        }
        self.bytes += 2 * key.0.len() as u64 + 192;
        self.seen.insert(key.clone(), Seen { cost, on_path: true });
        let mut moves = Vec::new();
        self.context.moves(&node, &mut moves);
        self.path.push(Frame { key, cost, moves, next: 0, script: None });
        false
    }

    /// Makes the next move of the last node on the path, or takes that node off.
    fn advance(&mut self, base: &mut Node<S::State>) -> Result<bool, Cut> {
        let frame = self.path.last_mut().expect("the path is not empty");
        let Some(mv) = frame.moves.get(frame.next).copied() else {
            let frame = self.path.pop().expect("it was just looked at");
            if let Some(seen) = self.seen.get_mut(&frame.key) {
                seen.on_path = false;
            }
            return Ok(false);
        };
        self.context.decode(&frame.key.0, base);
        self.context.resume(base, frame.key.1);
        let cost = frame.cost + self.context.price(base, frame.key.1, &mv);
        if self.context.options.max.is_some_and(|max| cost > max) {
            frame.next += 1;
            return Ok(false);
        }
        let mut script = frame.script.take().unwrap_or_else(|| Script::merging(self.context.options));
        let result = self.context.apply(base, mv, &mut script, &mut self.context.log());
        if script.advance() {
            frame.script = Some(script);
        } else {
            frame.next += 1;
        }
        match result {
            Ok(_) => Ok(self.enter(base.clone(), cost)),
            Err(Stop::Bug(_)) => Ok(true),
            Err(Stop::Cut(cut)) => Err(cut),
            Err(Stop::Dropped) => Ok(false),
        }
    }
}
