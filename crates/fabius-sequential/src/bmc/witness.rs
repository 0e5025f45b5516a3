//! What happens in a counterexample.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), appendix B: a counter that every global
//! event increments says in which order the events of the concurrent execution come, whatever order the sequential
//! program has them in.
//!
//! Deviations:
//! 1. The counter is not solved for. Nothing but its own order depends on it, so once the path is known its guesses
//!    follow: two that must be equal are made the same point of one line.

use super::{Bmc, Event};
use fabius_smt::{Kind, Model, Op, Sort, Term, Terms, Value, evaluate};
use std::collections::HashMap;

/// What was printed, in the order of the sequential program.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The prints.
    pub prints: Vec<Print>,
    /// An integer that is chosen may not fit into 64 bits.
    pub beyond_64_bits: bool,
}

/// A `print` that was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Print {
    /// If its first value is a clock: its time. Only the order of times means anything.
    pub at: Option<i128>,
    /// The (other) values.
    pub values: Vec<Value>,
}

/// Values that have been found.
type Known = hashbrown::HashMap<Term, Value>;

/// Points of an order that are known to be a distance apart.
#[derive(Default)]
struct Line {
    /// For each point: another one, and how far behind it this one is.
    parent: HashMap<Term, (Term, i128)>,
}

impl Line {
    fn find(&self, mut t: Term) -> (Term, i128) {
        let mut offset = 0;
        while let Some((parent, distance)) = self.parent.get(&t) {
            offset += distance;
            t = *parent;
        }
        (t, offset)
    }

    /// `a + i` is `b + j`.
    fn unite(&mut self, (a, i): (Term, i128), (b, j): (Term, i128)) {
        let ((root_a, to_a), (root_b, to_b)) = (self.find(a), self.find(b));
        if root_a != root_b {
            self.parent.insert(root_b, (root_a, to_a + i - j - to_b));
        }
    }
}

impl Bmc<'_> {
    pub(super) fn witness(&self, model: &Model) -> Witness {
        let known = &mut hashbrown::HashMap::new();
        let mut line = Line::default();
        for (guard, a, b) in &self.ev.orders {
            if evaluate(&self.ev.terms, model, *guard, known) == 1 {
                let (a, b) = (self.point(model, *a, known), self.point(model, *b, known));
                line.unite(a, b);
            }
        }
        let mut told = Vec::new();
        self.flatten(&self.root, model, known, &mut told);
        let mut prints = Vec::new();
        for values in told {
            let is_clock = values.first().is_some_and(|t| self.ev.terms.sort(*t) == Sort::Order);
            let at = is_clock.then(|| {
                let (base, offset) = self.point(model, values[0], known);
                offset + line.find(base).1
            });
            let rest = &values[usize::from(is_clock)..];
            let values = rest.iter().map(|t| evaluate(&self.ev.terms, model, *t, known)).collect();
            prints.push(Print { at, values });
        }
        let is_large = |v: Value| i64::try_from(v).is_err();
        let chosen = self.ev.terms.variables().iter().filter(|t| self.ev.terms.sort(**t) == Sort::Int);
        let beyond_64_bits = chosen.filter_map(|t| model.get(t)).any(|v| is_large(*v));
        Witness { prints, beyond_64_bits }
    }

    fn flatten(&self, events: &[Event], model: &Model, known: &mut Known, out: &mut Vec<Vec<Term>>) {
        for event in events {
            match event {
                Event::Printed { guard, values } => {
                    if evaluate(&self.ev.terms, model, *guard, known) == 1 {
                        out.push(values.clone());
                    }
                }
                Event::Open(i) => {
                    if let Some(told) = &self.open[*i].told {
                        self.flatten(told, model, known, out);
                    }
                }
            }
        }
    }

    /// A point as a variable or constant and a number of steps from there.
    fn point(&self, model: &Model, mut t: Term, known: &mut Known) -> (Term, i128) {
        let mut offset = 0;
        loop {
            match *self.ev.terms.kind(t) {
                Kind::App(Op::Next, [a, ..]) => {
                    offset += 1;
                    t = a;
                }
                Kind::App(Op::Ite, [c, a, b]) => t = if evaluate(&self.ev.terms, model, c, known) == 1 { a } else { b },
                // All constants are counted from one origin, for which any term stands that is no point.
                Kind::Const(v) => return (Terms::FALSE, offset + v),
                _ => return (t, offset),
            }
        }
    }
}
