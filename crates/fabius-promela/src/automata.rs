//! From formulas to automata.
//!
//! Paper: Simple On-the-fly Automatic Verification of Linear Temporal Logic (Gerth, Peled, Vardi and Wolper, PSTV 1995): a node is
//! what holds now, what has been said so, and what has to hold behind it. A set of nodes for each `until` that has to be passed again
//! and again becomes one set by counting; nodes that do the same become one state.

use fabius_lang::build::value_of;
use fabius_lang::program::{ConditionId, Expr, ExprKind, UnaryOp};
use fabius_trace::{AutomatonMove, AutomatonState};
use std::collections::{BTreeMap, BTreeSet};

/// More nodes are too many.
const MOST: usize = 4000;

/// A formula with `!` in front of states alone.
pub enum Form {
    State(Expr),
    And(Box<Form>, Box<Form>),
    Or(Box<Form>, Box<Form>),
    Always(Box<Form>),
    Eventually(Box<Form>),
    Until(Box<Form>, Box<Form>),
    Release(Box<Form>, Box<Form>),
}

/// A formula by its number, and one with parts by theirs.
type Id = usize;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    True,
    False,
    /// A condition, or that it does not hold.
    Is(ConditionId, bool),
    And(Id, Id),
    Or(Id, Id),
    Until(Id, Id),
    Release(Id, Id),
}

/// Formulas, each once.
#[derive(Default)]
struct Parts {
    all: Vec<Part>,
    numbers: BTreeMap<Part, Id>,
}

impl Parts {
    fn add(&mut self, part: Part) -> Id {
        *self.numbers.entry(part).or_insert_with(|| {
            self.all.push(part);
            self.all.len() - 1
        })
    }

    fn and(&mut self, a: Id, b: Id) -> Id {
        match (self.all[a], self.all[b]) {
            (Part::False, _) | (_, Part::True) => a,
            (_, Part::False) | (Part::True, _) => b,
            _ if a == b => a,
            _ => self.add(Part::And(a.min(b), a.max(b))),
        }
    }

    fn or(&mut self, a: Id, b: Id) -> Id {
        match (self.all[a], self.all[b]) {
            (Part::True, _) | (_, Part::False) => a,
            (_, Part::True) | (Part::False, _) => b,
            _ if a == b => a,
            _ => self.add(Part::Or(a.min(b), a.max(b))),
        }
    }

    fn until(&mut self, a: Id, b: Id) -> Id {
        match (self.all[a], self.all[b]) {
            (_, Part::True | Part::False) | (Part::False, _) => b,
            // At some time there is a time: once is enough. At some time infinitely often: always.
            (Part::True, _) if self.is_eventually(b) => b,
            (Part::True, Part::Release(_, inner)) if self.is_always(b) && self.is_eventually(inner) => b,
            _ => self.add(Part::Until(a, b)),
        }
    }

    fn release(&mut self, a: Id, b: Id) -> Id {
        match (self.all[a], self.all[b]) {
            (_, Part::True | Part::False) | (Part::True, _) => b,
            (Part::False, _) if self.is_always(b) => b,
            (Part::False, Part::Until(_, inner)) if self.is_eventually(b) && self.is_always(inner) => b,
            _ => self.add(Part::Release(a, b)),
        }
    }

    fn is_eventually(&self, id: Id) -> bool {
        matches!(self.all[id], Part::Until(t, _) if self.all[t] == Part::True)
    }

    fn is_always(&self, id: Id) -> bool {
        matches!(self.all[id], Part::Release(f, _) if self.all[f] == Part::False)
    }

    /// The negation of a formula.
    fn negated(&mut self, form: &Form, conditions: &mut Vec<Expr>) -> Id {
        let mut of = |form: &Form| self.negated(form, conditions);
        match form {
            Form::State(e) => match value_of(e) {
                Some(0) => self.add(Part::True),
                Some(_) => self.add(Part::False),
                None => {
                    let (condition, holds) = condition(e, conditions);
                    self.add(Part::Is(condition, !holds))
                }
            },
            Form::And(a, b) => {
                let (a, b) = (of(a), of(b));
                self.or(a, b)
            }
            Form::Or(a, b) => {
                let (a, b) = (of(a), of(b));
                self.and(a, b)
            }
            Form::Always(a) => {
                let (a, up_to_then) = (of(a), self.add(Part::True));
                self.until(up_to_then, a)
            }
            Form::Eventually(a) => {
                let (a, up_to_when) = (of(a), self.add(Part::False));
                self.release(up_to_when, a)
            }
            Form::Until(a, b) => {
                let (a, b) = (of(a), of(b));
                self.release(a, b)
            }
            Form::Release(a, b) => {
                let (a, b) = (of(a), of(b));
                self.until(a, b)
            }
        }
    }
}

/// A condition by its number, and whether it or its negation is meant. Each stands among the conditions once.
pub fn condition(e: &Expr, conditions: &mut Vec<Expr>) -> (ConditionId, bool) {
    if let ExprKind::Unary(UnaryOp::Not, inner) = &e.kind {
        let (id, holds) = condition(inner, conditions);
        return (id, !holds);
    }
    let same = fabius_lang::without_spans(e);
    let known = conditions.iter().position(|other| fabius_lang::without_spans(other) == same);
    let id = known.unwrap_or_else(|| {
        conditions.push(e.clone());
        conditions.len() - 1
    });
    (id, true)
}

/// What holds in a state of an execution, and behind it.
#[derive(Clone, Default)]
struct Node {
    /// What leads here; `None`: the beginning.
    from: BTreeSet<Option<usize>>,
    new: BTreeSet<Id>,
    old: BTreeSet<Id>,
    next: BTreeSet<Id>,
}

impl Node {
    /// Something has to hold here, and perhaps something behind it.
    fn with(&self, wanted: &[Id], next: Option<Id>) -> Node {
        let mut node = self.clone();
        node.new.extend(wanted.iter().filter(|f| !self.old.contains(f)));
        node.next.extend(next);
        node
    }
}

/// All nodes, if they are not too many.
fn nodes(parts: &Parts, formula: Id) -> Option<Vec<Node>> {
    let mut done: Vec<Node> = Vec::new();
    let mut known: BTreeMap<(BTreeSet<Id>, BTreeSet<Id>), usize> = BTreeMap::new();
    let first = Node { from: BTreeSet::from([None]), new: BTreeSet::from([formula]), ..Node::default() };
    let (mut open, mut steps) = (vec![first], 0);
    while let Some(mut node) = open.pop() {
        steps += 1;
        if done.len() > MOST || steps > 100 * MOST {
            return None;
        }
        let Some(f) = node.new.pop_first() else {
            let key = (node.old.clone(), node.next.clone());
            if let Some(same) = known.get(&key) {
                done[*same].from.extend(node.from);
                continue;
            }
            let number = done.len();
            known.insert(key, number);
            let from = BTreeSet::from([Some(number)]);
            open.push(Node { from, new: node.next.clone(), ..Node::default() });
            done.push(node);
            continue;
        };
        let is_contradicted =
            |c, holds| node.old.iter().any(|other| matches!(parts.all[*other], Part::Is(d, h) if d == c && h != holds));
        match parts.all[f] {
            Part::False => continue,
            Part::Is(c, holds) if is_contradicted(c, holds) => continue,
            _ => {}
        }
        node.old.insert(f);
        match parts.all[f] {
            Part::True | Part::False | Part::Is(..) => open.push(node),
            Part::And(a, b) => open.push(node.with(&[a, b], None)),
            Part::Or(a, b) => open.extend([node.with(&[b], None), node.with(&[a], None)]),
            Part::Until(a, b) => open.extend([node.with(&[a], Some(f)), node.with(&[b], None)]),
            Part::Release(a, b) => open.extend([node.with(&[b], Some(f)), node.with(&[a, b], None)]),
        }
    }
    Some(done)
}

/// The automaton of the executions that a formula does not hold of, if it is not too large.
pub fn of_negation(form: &Form, conditions: &mut Vec<Expr>) -> Option<Vec<AutomatonState>> {
    let mut parts = Parts::default();
    let formula = parts.negated(form, conditions);
    let nodes = nodes(&parts, formula)?;
    let untils: Vec<(Id, Id)> = (0..parts.all.len())
        .filter_map(|f| match parts.all[f] {
            Part::Until(_, b) => Some((f, b)),
            _ => None,
        })
        .collect();
    // How many of the untils have been passed since all of them were.
    let passed = |node: &Node, count: usize| {
        let begin = if count == untils.len() { 0 } else { count };
        let is_passed = |(f, b): &&(Id, Id)| !node.old.contains(f) || node.old.contains(b);
        begin + untils[begin..].iter().take_while(is_passed).count()
    };
    let mut next_of: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (number, node) in nodes.iter().enumerate() {
        node.from.iter().for_each(|from| next_of.entry(*from).or_default().push(number));
    }
    let mut states = vec![AutomatonState::default()];
    let mut numbers: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut open = vec![(0, None, 0)];
    while let Some((state, at, count)) = open.pop() {
        for to in next_of.get(&at).into_iter().flatten() {
            let node = &nodes[*to];
            let count = passed(node, count);
            let number = *numbers.entry((*to, count)).or_insert_with(|| {
                states.push(AutomatonState { accepts: count == untils.len(), moves: Vec::new() });
                open.push((states.len() - 1, Some(*to), count));
                states.len() - 1
            });
            let when = node.old.iter().filter_map(|f| match parts.all[*f] {
                Part::Is(c, holds) => Some((c, holds)),
                _ => None,
            });
            states[state].moves.push(AutomatonMove { when: when.collect(), to: number });
        }
        if states.len() > MOST {
            return None;
        }
    }
    Some(smaller(states))
}

/// The same without moves behind which nothing is accepted, and with one state for all that do the same.
fn smaller(mut states: Vec<AutomatonState>) -> Vec<AutomatonState> {
    let mut live = vec![true; states.len()];
    loop {
        // From where an accepting state is reached by one move at least.
        let mut leads: Vec<bool> = vec![false; states.len()];
        let mut grows = true;
        while grows {
            grows = false;
            for n in (0..states.len()).filter(|n| live[*n]) {
                let found = states[n].moves.iter().any(|m| live[m.to] && (states[m.to].accepts || leads[m.to]));
                grows |= found && !leads[n];
                leads[n] |= found;
            }
        }
        if leads == live {
            break;
        }
        live = leads;
    }
    for state in &mut states {
        state.moves.retain(|m| live[m.to]);
    }
    loop {
        let mut first: BTreeMap<AutomatonState, usize> = BTreeMap::new();
        let mut same: Vec<usize> = Vec::new();
        for (n, state) in states.iter_mut().enumerate() {
            state.moves.sort();
            state.moves.dedup();
            same.push(*first.entry(state.clone()).or_insert(n));
        }
        states.iter_mut().for_each(|s| s.moves.iter_mut().for_each(|m| m.to = same[m.to]));
        // Those that are reached, the first one first.
        let mut order = vec![0];
        let mut at = 0;
        while at < order.len() {
            for m in &states[order[at]].moves {
                if !order.contains(&m.to) {
                    order.push(m.to);
                }
            }
            at += 1;
        }
        let changed = order.len() < states.len();
        let place: BTreeMap<usize, usize> = order.iter().enumerate().map(|(to, n)| (*n, to)).collect();
        states = order.iter().map(|n| states[*n].clone()).collect();
        states.iter_mut().for_each(|s| s.moves.iter_mut().for_each(|m| m.to = place[&m.to]));
        if !changed {
            return states;
        }
    }
}

/// Lets an automaton stay where it is while a condition is what is said of it.
pub fn pass_over(states: &mut [AutomatonState], (condition, is): (ConditionId, bool)) {
    for (n, state) in states.iter_mut().enumerate() {
        state.moves.iter_mut().for_each(|m| m.when.push((condition, !is)));
        state.moves.push(AutomatonMove { when: vec![(condition, is)], to: n });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabius_lang::build::*;
    use fabius_lang::program::{Base, Place, Type};
    use fabius_trace::{Automaton, Span};

    const CONDITIONS: usize = 3;

    fn atom(n: usize) -> Expr {
        read(Place { base: Base::Global(n), path: Vec::new(), ty: Type::Bool, span: Span::default() })
    }

    fn random(rng: &mut fastrand::Rng, deep: u32) -> Form {
        let inner = |rng: &mut fastrand::Rng| Box::new(random(rng, deep.saturating_sub(1)));
        match rng.u32(..if deep == 0 { 2 } else { 10 }) {
            0 => Form::State(atom(rng.usize(..CONDITIONS))),
            1 => Form::State(not(atom(rng.usize(..CONDITIONS)))),
            2 => Form::And(inner(rng), inner(rng)),
            3 => Form::Or(inner(rng), inner(rng)),
            4 | 5 => Form::Always(inner(rng)),
            6 | 7 => Form::Eventually(inner(rng)),
            8 => Form::Until(inner(rng), inner(rng)),
            _ => Form::Release(inner(rng), inner(rng)),
        }
    }

    /// In which states of an execution that repeats a formula holds, by what the operators mean.
    fn holds(form: &Form, states: &[Vec<bool>], repeats: usize) -> Vec<bool> {
        let all = |form: &Form| holds(form, states, repeats);
        // Twice around is enough: behind it nothing is new.
        let ahead = |from: usize| {
            (0..2 * states.len()).scan(from, |at, _| {
                let here = *at;
                *at = if here + 1 == states.len() { repeats } else { here + 1 };
                Some(here)
            })
        };
        let each = |f: &dyn Fn(usize) -> bool| (0..states.len()).map(f).collect();
        match form {
            Form::State(e) => each(&|n| match &e.kind {
                ExprKind::Unary(_, inner) => !holds(&Form::State((**inner).clone()), states, repeats)[n],
                ExprKind::Read(Place { base: Base::Global(g), .. }) => states[n][*g],
                _ => unreachable!("there are no other conditions"),
            }),
            Form::And(a, b) => all(a).into_iter().zip(all(b)).map(|(a, b)| a && b).collect(),
            Form::Or(a, b) => all(a).into_iter().zip(all(b)).map(|(a, b)| a || b).collect(),
            Form::Always(a) => {
                let a = all(a);
                each(&|n| ahead(n).all(|m| a[m]))
            }
            Form::Eventually(a) => {
                let a = all(a);
                each(&|n| ahead(n).any(|m| a[m]))
            }
            Form::Until(a, b) => {
                let (a, b) = (all(a), all(b));
                each(&|n| ahead(n).find(|m| b[*m] || !a[*m]).is_some_and(|m| b[m]))
            }
            Form::Release(a, b) => {
                let (a, b) = (all(a), all(b));
                each(&|n| ahead(n).find(|m| !b[*m] || a[*m]).is_none_or(|m| b[m]))
            }
        }
    }

    #[test]
    fn automata_accept_what_their_formulas_do_not_hold_of() {
        let mut rng = fastrand::Rng::with_seed(32);
        let mut violated = 0;
        for _ in 0..400 {
            let form = random(&mut rng, 3);
            let mut conditions: Vec<Expr> = (0..CONDITIONS).map(atom).collect();
            let states = of_negation(&form, &mut conditions).expect("it is small");
            assert_eq!(conditions.len(), CONDITIONS);
            let automaton = Automaton { states, span: Span::default() };
            for _ in 0..40 {
                let n = rng.usize(1..6);
                let states: Vec<Vec<bool>> = (0..n).map(|_| (0..CONDITIONS).map(|_| rng.bool()).collect()).collect();
                let repeats = rng.usize(..n);
                let expected = !holds(&form, &states, repeats)[0];
                assert_eq!(automaton.accepts(&states, repeats), expected, "{states:?} {repeats} {automaton:?}");
                violated += usize::from(expected);
            }
        }
        assert!((4000..12000).contains(&violated), "{violated}");
    }

    #[test]
    fn automata_are_small() {
        let (a, b) = (|| Box::new(Form::State(atom(0))), || Box::new(Form::State(atom(1))));
        let forms = [
            (Form::Until(a(), b()), 3),
            (Form::Always(Form::Eventually(a()).into()), 2),
            (Form::Or(Form::Always(a()).into(), Form::Eventually(b()).into()), 3),
        ];
        for (form, most) in forms {
            let states = of_negation(&form, &mut Vec::new()).expect("it is small");
            assert!(states.len() <= most, "{states:?}");
        }
    }
}
