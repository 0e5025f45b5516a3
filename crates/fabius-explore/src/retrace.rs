//! From stored states back to a schedule: makes the moves again, from the beginning.

use crate::dispatcher::{Last, Move};
use crate::node::{Context, Node, Script};
use crate::search::{Bug, Found};
use crate::system::{ANONYMOUS, BufferId, Snapshot, StepLog, TaskId};
use fabius_trace::{Schedule, Turn};
use std::collections::HashMap;

/// A state on the way.
pub(crate) struct Target {
    /// Its encoding.
    pub state: Vec<u8>,
    /// Who ran last, if the cost depends on it.
    pub last: Option<Last>,
    /// Which thread leads there, and whether it makes progress, if that matters.
    pub step: Option<(BufferId, bool)>,
}

/// Task ids change when anonymous tasks are renumbered; schedules name tasks by their number of creation.
#[derive(Clone, Default)]
pub(crate) struct Names {
    of: HashMap<TaskId, u32>,
    next: u32,
}

impl Names {
    /// The number of a task, in order of creation.
    pub fn of(&self, task: TaskId) -> u32 {
        self.of[&task]
    }

    pub fn born(&mut self, log: &StepLog) {
        for born in &log.born {
            self.of.insert(born.task, self.next);
            self.next += 1;
        }
    }

    pub fn renamed(&mut self, order: &[TaskId]) {
        let old = std::mem::take(&mut self.of);
        self.of = old.iter().filter(|(t, _)| **t & ANONYMOUS == 0).map(|(t, n)| (*t, *n)).collect();
        let anonymous = order.iter().zip(ANONYMOUS..);
        self.of.extend(anonymous.map(|(old_id, new_id)| (new_id, old[old_id])));
    }
}

struct Retrace<'a, 'b, S: Snapshot> {
    context: &'a Context<'b, S>,
    node: Node<S::State>,
    names: Names,
    schedule: Schedule,
    delays: Vec<u32>,
    /// Delays since the last turn.
    pending_delays: u32,
    cost: u32,
}

/// The schedule through all these states, and then, if there is one, through a last move: the index in the list of
/// moves (for a step that leads from no state at all, the initial one), and its choices.
pub(crate) fn retrace<S: Snapshot>(
    context: &Context<'_, S>,
    way: &[Target],
    last_move: Option<(usize, Vec<u32>)>,
    what: Bug,
) -> Found {
    let Some((first, rest)) = way.split_first() else {
        let choices = last_move.map(|(_, choices)| choices).unwrap_or_default();
        let schedule = vec![Turn { task: Turn::START, choices }];
        return Found { what, cost: 0, schedule, delays: vec![0], cycle: None };
    };
    let mut r = begin(context, first);
    for target in rest {
        r.advance(target);
    }
    if let Some((number, choices)) = last_move {
        let mut moves = Vec::new();
        context.moves(&r.node, &mut moves);
        r.record(moves[number], choices);
    }
    Found { what, cost: r.cost, schedule: r.schedule, delays: r.delays, cycle: None }
}

fn begin<'a, 'b, S: Snapshot>(context: &'a Context<'b, S>, first: &Target) -> Retrace<'a, 'b, S> {
    let mut script = Script::default();
    let mut log = context.log();
    loop {
        if let Ok(mut node) = context.initial(&mut script, &mut log) {
            let mut names = Names::default();
            names.born(&log);
            context.canonicalize(&mut node, |order| names.renamed(order));
            if encoded(context, &node) == first.state {
                let (choices, mut schedule, mut delays) = (script.choices(), Vec::new(), Vec::new());
                if !choices.is_empty() {
                    schedule.push(Turn { task: Turn::START, choices });
                    delays.push(0);
                }
                return Retrace { context, node, names, schedule, delays, pending_delays: 0, cost: 0 };
            }
        }
        assert!(script.advance(), "a stored initial state is one");
    }
}

fn encoded<S: Snapshot>(context: &Context<'_, S>, node: &Node<S::State>) -> Vec<u8> {
    let mut bytes = Vec::new();
    context.encode(node, &mut bytes);
    bytes
}

impl<S: Snapshot> Retrace<'_, '_, S> {
    fn price(&self, mv: Move) -> u32 {
        self.context.price(&self.node, self.context.last(&self.node), &mv)
    }

    /// Makes the cheapest move that leads to the target.
    fn advance(&mut self, target: &Target) {
        let mut moves = Vec::new();
        self.context.moves(&self.node, &mut moves);
        moves.sort_by_key(|mv| self.price(*mv));
        let mut log = self.context.log();
        for mv in moves {
            let mut script = Script::default();
            loop {
                let mut next = self.node.clone();
                let mut names = self.names.clone();
                if self.context.apply(&mut next, mv, &mut script, &mut log).is_ok() {
                    names.born(&log);
                    self.context.canonicalize(&mut next, |order| names.renamed(order));
                    let as_asked = match (target.step, mv) {
                        (Some(step), Move::Run(pick)) => step == (pick.buffer, log.progress),
                        (Some(_), Move::Delay(_)) => false,
                        (None, _) => target.last.is_none_or(|last| last == self.context.last(&next)),
                    };
                    if as_asked && encoded(self.context, &next) == target.state {
                        self.record(mv, script.choices());
                        (self.node, self.names) = (next, names);
                        return;
                    }
                }
                if !script.advance() {
                    break;
                }
            }
        }
        unreachable!("a stored state is reached from the one before it");
    }

    fn record(&mut self, mv: Move, choices: Vec<u32>) {
        self.cost += self.price(mv);
        match mv {
            Move::Run(pick) => {
                self.schedule.push(Turn { task: self.names.of(pick.task), choices });
                self.delays.push(std::mem::take(&mut self.pending_delays));
            }
            Move::Delay(_) => self.pending_delays += 1,
        }
    }
}
