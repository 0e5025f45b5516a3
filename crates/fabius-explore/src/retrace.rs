//! From stored states back to a schedule: makes the moves again, from the beginning.
//!
//! Where states that differ by the names of threads are stored as one, the way leads through states that stand for others. Each
//! move is then made twice: there, and with the names that the threads really have.
//!
//! Outcomes of choices that lead to the same place inside of a step are made once, as in the search that has stored the states.

use crate::dispatcher::{Last, Move};
use crate::node::{Context, Node, Script, Stop};
use crate::scheduler::Pick;
use crate::search::{Bug, Cut, Found};
use crate::symmetry::renamed;
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

/// The same node with the names that its threads really have.
struct Real<T> {
    node: Node<T>,
    /// Names in the node that stands for it, and real ones.
    names: Vec<(TaskId, TaskId)>,
}

struct Retrace<'a, 'b, S: Snapshot> {
    context: &'a Context<'b, S>,
    node: Node<S::State>,
    /// Only where names differ.
    real: Option<Real<S::State>>,
    names: Names,
    schedule: Schedule,
    delays: Vec<u32>,
    /// Delays since the last turn.
    pending_delays: u32,
    cost: u32,
}

/// The schedule through all these states, and then, if there is one, through a last move: the index in the list of
/// moves (for a step that leads from no state at all, the initial one), and its choices.
///
/// # Errors
/// A limit struck within one of the steps.
pub(crate) fn retrace<S: Snapshot>(
    context: &Context<'_, S>,
    way: &[Target],
    last_move: Option<(usize, Vec<u32>)>,
    what: Bug,
) -> Result<Found, Cut> {
    let Some((first, rest)) = way.split_first() else {
        let choices = last_move.map(|(_, choices)| choices).unwrap_or_default();
        let schedule = vec![Turn { task: Turn::START, choices }];
        return Ok(Found { what, cost: 0, schedule, delays: vec![0], cycle: None });
    };
    let mut r = begin(context, first)?;
    for target in rest {
        r.advance(target)?;
    }
    if let Some((number, choices)) = last_move {
        let mut moves = Vec::new();
        context.moves(&r.node, &mut moves);
        r.end(moves[number], choices, what)?;
    }
    Ok(Found { what, cost: r.cost, schedule: r.schedule, delays: r.delays, cycle: None })
}

/// What a step leads to, if anywhere.
fn unless_over<T>(result: Result<T, Stop>) -> Result<Option<T>, Cut> {
    match result {
        Ok(end) => Ok(Some(end)),
        Err(Stop::Cut(cut)) if cut.is_final() => Err(cut),
        Err(_) => Ok(None),
    }
}

fn begin<'a, 'b, S: Snapshot>(context: &'a Context<'b, S>, first: &Target) -> Result<Retrace<'a, 'b, S>, Cut> {
    let mut script = Script::merging(context.options);
    let mut log = context.log();
    loop {
        if let Some(mut node) = unless_over(context.initial(&mut script, &mut log))? {
            let mut names = Names::default();
            names.born(&log);
            context.canonicalize(&mut node, |order| names.renamed(order));
            let real = real_one(context, &mut node, None);
            if encoded(context, &node) == first.state {
                let (choices, mut schedule, mut delays) = (script.choices(), Vec::new(), Vec::new());
                if !choices.is_empty() {
                    schedule.push(Turn { task: Turn::START, choices });
                    delays.push(0);
                }
                return Ok(Retrace { context, node, real, names, schedule, delays, pending_delays: 0, cost: 0 });
            }
        }
        assert!(script.advance(), "a stored initial state is one");
    }
}

/// Gives a node the names under which it is stored; its real ones are known from `before`, or are those that it has.
fn real_one<S: Snapshot>(
    context: &Context<'_, S>,
    node: &mut Node<S::State>,
    before: Option<Real<S::State>>,
) -> Option<Real<S::State>> {
    if !context.is_symmetric {
        return None;
    }
    let mut real = before.unwrap_or_else(|| {
        let known = context.system.known_threads(&node.state);
        Real { node: node.clone(), names: known.into_iter().map(|id| (id, id)).collect() }
    });
    let mut new = Vec::new();
    if context.name_threads(node, &mut new) {
        real.names.iter_mut().for_each(|(stored, _)| *stored = renamed(&new, *stored).unwrap_or(*stored));
        real.names.sort_unstable();
    }
    Some(real)
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
    fn advance(&mut self, target: &Target) -> Result<(), Cut> {
        let mut moves = Vec::new();
        self.context.moves(&self.node, &mut moves);
        moves.sort_by_key(|mv| self.price(*mv));
        let mut log = self.context.log();
        for mv in moves {
            let mut script = Script::merging(self.context.options);
            loop {
                let mut next = self.node.clone();
                let mut names = self.names.clone();
                if let Some(end) = unless_over(self.context.apply(&mut next, mv, &mut script, &mut log))? {
                    names.born(&log);
                    let made = log.made.clone();
                    let joined = self.context.join(&mut next, mv, end, &mut self.context.log());
                    let raw = self.real.as_ref().map(|_| next.clone());
                    self.context.canonicalize(&mut next, |order| names.renamed(order));
                    self.context.name_threads(&mut next, &mut Vec::new());
                    let as_asked = match (target.step, mv) {
                        (Some(step), Move::Run(pick)) => step == (pick.buffer, log.progress),
                        (Some(_), Move::Delay(_)) => false,
                        (None, _) => target.last.is_none_or(|last| last == self.context.last(&next)),
                    };
                    if as_asked && encoded(self.context, &next) == target.state {
                        match raw {
                            Some(raw) => self.follow(mv, script.choices(), raw, &made)?,
                            None => {
                                self.record(mv, mv, script.choices());
                                self.record_joined(joined);
                                (self.node, self.names) = (next, names);
                            }
                        }
                        return Ok(());
                    }
                }
                if !script.advance() {
                    break;
                }
            }
        }
        unreachable!("a stored state is reached from the one before it");
    }

    /// Makes the move that has led from the node to `raw`, and has made these threads, under the real names.
    fn follow(&mut self, mv: Move, choices: Vec<u32>, mut raw: Node<S::State>, made: &[TaskId]) -> Result<(), Cut> {
        let (context, real) = (self.context, self.real.take().expect("names differ"));
        // What stands in whatever order is in that of the names.
        let mut in_order = raw.clone();
        let names: Vec<_> = context.system.known_threads(&raw.state).into_iter().map(|id| (id, id)).collect();
        context.rename(&mut in_order, &names);
        let wanted = encoded(context, &in_order);
        let real_move = real.name_of(mv);
        let mut log = context.log();
        for (number, mut script) in scripts(context, choices).into_iter().enumerate() {
            loop {
                let mut next = real.node.clone();
                if let Some(end) = unless_over(context.apply(&mut next, real_move, &mut script, &mut log))? {
                    let joined = context.join(&mut next, real_move, end, &mut context.log());
                    let names = real.names_after(&context.system.known_threads(&raw.state), made, &log.made);
                    let mut stored = next.clone();
                    context.rename(&mut stored, &reversed(&names));
                    if encoded(context, &stored) == wanted {
                        self.record(mv, real_move, script.choices());
                        self.record_joined(joined);
                        self.names.born(&log);
                        self.real = real_one(context, &mut raw, Some(Real { node: next, names }));
                        self.node = raw;
                        return Ok(());
                    }
                }
                if number == 0 || !script.advance() {
                    break;
                }
            }
        }
        unreachable!("threads do the same whatever they are called");
    }

    /// Makes the last move, after which there is a bug.
    fn end(&mut self, mv: Move, choices: Vec<u32>, what: Bug) -> Result<(), Cut> {
        let Some(real) = &self.real else {
            self.record(mv, mv, choices);
            return Ok(());
        };
        let (context, real_move) = (self.context, real.name_of(mv));
        let mut log = context.log();
        for (number, mut script) in scripts(context, choices).into_iter().enumerate() {
            loop {
                let mut next = real.node.clone();
                let result = context.apply(&mut next, real_move, &mut script, &mut log);
                if result == Err(Stop::Bug(what)) {
                    self.record(mv, real_move, script.choices());
                    return Ok(());
                }
                unless_over(result)?;
                if number == 0 || !script.advance() {
                    break;
                }
            }
        }
        unreachable!("threads fail alike whatever they are called");
    }

    /// A move of the node, which is really another one if names differ.
    fn record(&mut self, mv: Move, real: Move, choices: Vec<u32>) {
        self.cost += self.price(mv);
        match real {
            Move::Run(pick) => {
                self.schedule.push(Turn { task: self.names.of(pick.task), choices });
                self.delays.push(std::mem::take(&mut self.pending_delays));
            }
            Move::Delay(_) => self.pending_delays += 1,
        }
    }

    /// So many steps more of whoever made the last one.
    fn record_joined(&mut self, joined: u32) {
        for _ in 0..joined {
            let task = self.schedule.last().expect("they are joined to a step").task;
            self.schedule.push(Turn { task, choices: Vec::new() });
            self.delays.push(0);
        }
    }
}

/// The given choices, which are tried once, and then all: a member of a set of threads is chosen by its place among their names, and an
/// alike value is really another one.
fn scripts<S: Snapshot>(context: &Context<'_, S>, choices: Vec<u32>) -> [Script; 2] {
    let mut given = Script::default();
    given.set(choices.into_iter());
    [given, Script::merging(context.options)]
}

fn reversed(names: &[(TaskId, TaskId)]) -> Vec<(TaskId, TaskId)> {
    let mut reversed: Vec<_> = names.iter().map(|(stored, real)| (*real, *stored)).collect();
    reversed.sort_unstable();
    reversed
}

impl<T> Real<T> {
    fn name_of(&self, mv: Move) -> Move {
        let real = |stored: TaskId| renamed(&self.names, stored).expect("whoever makes a step is known");
        match mv {
            Move::Run(pick) => Move::Run(Pick { buffer: real(pick.buffer), task: real(pick.task) }),
            Move::Delay(_) => unreachable!("nothing is delayed where threads are renamed"),
        }
    }

    /// The names after a step of those that are known then. The threads that it has made are the same ones in the same order; their
    /// names may be those of threads that nobody knows any more.
    fn names_after(&self, known: &[TaskId], made: &[TaskId], really_made: &[TaskId]) -> Vec<(TaskId, TaskId)> {
        let mut names = self.names.clone();
        for (stored, real) in made.iter().zip(really_made) {
            names.retain(|name| name.0 != *stored && name.1 != *real);
            names.push((*stored, *real));
        }
        names.retain(|name| known.contains(&name.0));
        names.sort_unstable();
        names
    }
}
