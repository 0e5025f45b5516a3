//! Trace programs as something to explore: nodes and channels are tasks.
//!
//! A step of a node is one command and the assumptions, assertions, assignments and marks behind it: that they are executed
//! later can at most make others wait. A step of a channel makes its next message arrive.

use crate::Property;
use crate::ctp::{Ctp, NodeId};
use crate::semantics::{Buffering, Matching, State, Status, initial};
use fabius_explore::codec::{get, put};
use fabius_explore::search::{Cut, Monitor, Options, Outcome};
use fabius_explore::stateful;
use fabius_explore::system::{Access, Born, Choose, End, Fault, Limit, Snapshot, StepLog, System, TaskId};
use fabius_trace::{Bound, BugKind};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// What a run is explored for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// All complete runs, also those that took another path.
    Outcomes,
    /// Complete runs that break this, or states that nobody can leave.
    Bug(Property),
    /// Runs, complete or not, in which this node comes to its end. (For formulas; to explore, it is as good as nothing.)
    Reach(NodeId),
}

/// A trace program under a network.
#[derive(Clone, Copy, Debug)]
pub struct Runs<'a> {
    /// The program.
    pub ctp: &'a Ctp,
    /// The network.
    pub buffering: Buffering,
    /// What is looked for.
    pub goal: Goal,
}

/// A complete run: which message each receive got, and what became of it.
pub type Complete = (Matching, Status);

impl Runs<'_> {
    fn thread(id: usize) -> Born {
        Born { task: id as TaskId, buffer: id as TaskId, level: 0 }
    }

    /// The bug of a run that has come to its end.
    fn bug_at_the_end(&self, state: &State) -> Option<Fault> {
        let span = |(node, at): (NodeId, usize)| self.ctp.nodes[node].commands[at].span;
        match self.goal {
            Goal::Bug(Property::Assert) => state.failed.map(|place| Fault::Bug(BugKind::Assertion, span(place))),
            Goal::Bug(Property::Unmatched) => state.unmatched(self.ctp).first().map(|s| {
                let send = &self.ctp.sends[*s];
                Fault::Bug(BugKind::Unmatched, span((send.node, send.at)))
            }),
            Goal::Bug(Property::Deadlock) | Goal::Outcomes | Goal::Reach(_) => None,
        }
    }
}

impl System for Runs<'_> {
    type State = State;

    fn initial(&self, _: &mut dyn Choose, log: &mut StepLog) -> Result<State, Fault> {
        let nodes = self.ctp.nodes.len();
        let with_commands = (0..nodes).filter(|n| !self.ctp.nodes[*n].commands.is_empty());
        log.born.extend(with_commands.map(Self::thread));
        if !log.born.is_empty() {
            log.born.extend((0..self.ctp.channels.len()).map(|c| Self::thread(nodes + c)));
        }
        Ok(initial(self.ctp))
    }

    fn has_buffers(&self) -> bool {
        false
    }

    fn ready(&self, state: &State, task: TaskId) -> bool {
        match (task as usize).checked_sub(self.ctp.nodes.len()) {
            None => state.can_execute(self.ctp, self.buffering, task as usize),
            Some(channel) => state.can_deliver(self.ctp, self.buffering, channel),
        }
    }

    fn next_access(&self, _: &State, _: TaskId) -> Option<Access> {
        None
    }

    fn step(&self, state: &mut State, task: TaskId, _: &mut dyn Choose, log: &mut StepLog) -> Result<End, Fault> {
        let (ctp, nodes) = (self.ctp, self.ctp.nodes.len());
        if let Some(channel) = (task as usize).checked_sub(nodes) {
            state.deliver(ctp, self.buffering, channel);
            let all = state.delivered[channel] == ctp.channels[channel].sends.len();
            return Ok(if all { End::Finished } else { End::Point });
        }
        let node = task as usize;
        loop {
            let span = ctp.nodes[node].commands[state.at[node]].span;
            let executed = state.execute(ctp, self.buffering, node);
            executed.map_err(|_| Fault::Limit(Limit::Integer, span))?;
            if state.status == Status::Infeasible && self.goal != Goal::Outcomes {
                return Ok(End::Dropped);
            }
            let next = ctp.nodes[node].commands.get(state.at[node]);
            if !next.is_some_and(|c| c.kind.is_local()) {
                break;
            }
        }
        if !state.is_finished(ctp, node) {
            return Ok(End::Point);
        }
        if state.is_complete(ctp) {
            // What is still on its way stays there.
            let open = (0..ctp.channels.len()).filter(|c| state.delivered[*c] < ctp.channels[*c].sends.len());
            log.finished.extend(open.map(|c| (nodes + c) as TaskId));
            if let Some(fault) = self.bug_at_the_end(state) {
                return Err(fault);
            }
        }
        Ok(End::Finished)
    }
}

impl Snapshot for Runs<'_> {
    fn encode(&self, state: &State, out: &mut Vec<u8>) {
        state.at.iter().for_each(|n| put(*n as u64, out));
        for arrived in &state.arrived {
            put(arrived.len() as u64, out);
            arrived.iter().for_each(|s| put(*s as u64, out));
        }
        state.received.iter().for_each(|n| put(*n as u64, out));
        // Numbers follow from the rest, but not quickly.
        state.values.iter().chain(&state.sent).for_each(|v| put(*v as u64, out));
        put(state.status as u64, out);
        let (node, at) = state.failed.map_or((0, 0), |(node, at)| (node as u64 + 1, at as u64));
        put(node, out);
        put(at, out);
    }

    fn decode(&self, mut bytes: &[u8], state: &mut State) {
        let bytes = &mut bytes;
        state.at.iter_mut().for_each(|n| *n = get(bytes) as usize);
        state.delivered.fill(0);
        for arrived in &mut state.arrived {
            arrived.clear();
            for _ in 0..get(bytes) {
                let s = get(bytes) as usize;
                arrived.push(s);
                state.delivered[self.ctp.sends[s].channel] += 1;
            }
        }
        state.received.iter_mut().for_each(|n| *n = get(bytes) as usize);
        state.values.iter_mut().chain(&mut state.sent).for_each(|v| *v = get(bytes) as i64);
        state.status = match get(bytes) {
            0 => Status::Success,
            1 => Status::Failure,
            2 => Status::Infeasible,
            _ => Status::Error,
        };
        let (node, at) = (get(bytes), get(bytes));
        state.failed = node.checked_sub(1).map(|node| (node as usize, at as usize));
    }

    fn anonymous_tasks(&self, _: &State) -> Vec<TaskId> {
        Vec::new()
    }

    fn compare_anonymous(&self, _: &State, _: TaskId, _: TaskId) -> Ordering {
        unreachable!("every task is a thread")
    }

    fn reorder_anonymous(&self, _: &mut State, _: &[TaskId]) {}
}

/// Explores the runs of a program with states, and calls `visit` for every state.
pub fn explore(runs: &Runs<'_>, options: &Options, monitor: &Monitor<'_>, visit: &(dyn Fn(&State) + Sync)) -> Outcome {
    let deadlock = runs.goal == Goal::Bug(Property::Deadlock);
    let options = Options { deadlock, ..options.clone() };
    stateful::search(runs, &options, monitor, &|v| visit(v.state))
}

/// Which runs are collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that come to their end, with what is received in them.
    Complete,
    /// All, also their beginnings, with what arrives in them.
    All,
}

/// Every outcome of a program, also those of other paths.
///
/// # Errors
/// What cut the exploration short.
pub fn outcomes(
    ctp: &Ctp,
    buffering: Buffering,
    which: Which,
    options: &Options,
    stop: &AtomicBool,
) -> Result<BTreeSet<Complete>, Cut> {
    let found = Mutex::new(BTreeSet::new());
    let runs = Runs { ctp, buffering, goal: Goal::Outcomes };
    let options = Options { bound: Bound::None, ..options.clone() };
    let monitor = Monitor { stop, progress: &|_| {} };
    let outcome = explore(&runs, &options, &monitor, &|state| {
        let matching = match which {
            Which::All => state.arrivals(ctp),
            Which::Complete if state.is_complete(ctp) => state.matching(ctp),
            Which::Complete => return,
        };
        found.lock().expect("nobody panics while holding it").insert((matching, state.status));
    });
    let all = found.into_inner().expect("nobody panics while holding it");
    match outcome.cut {
        None if outcome.exhausted => Ok(all),
        cut => Err(cut.unwrap_or(Cut::Interrupted)),
    }
}
