//! The operations that make terms. Each gives the simplest of the equal terms that it can see at once.
//!
//! Besides constant folding there is one idea: a number that takes few values is also kept as a list of cases, so that a
//! comparison with a constant is a truth value of the conditions that chose it. Rounds, levels, task numbers and small
//! counters never become circuits that way.

use crate::term::{Cases, Kind, NONE, Op, Sort, Term, Terms, Value, apply};

/// Cases that are kept at most.
const MOST_CASES: usize = 24;
/// Pairs of cases that are looked at at most.
const MOST_PAIRS: usize = 100;

impl Terms {
    fn app(&mut self, op: Op, sort: Sort, operands: [Term; 3]) -> Term {
        let mut values = [0; 3];
        let constant = operands[..op.arity()].iter().zip(&mut values).all(|(t, v)| match self.value_of(*t) {
            Some(value) => {
                *v = value;
                true
            }
            None => false,
        });
        if constant && let Some(value) = apply(op, sort, values) {
            return self.constant(value, sort);
        }
        self.node(Kind::App(op, operands), sort)
    }

    /// Negation.
    pub fn not(&mut self, a: Term) -> Term {
        match self.kind(a) {
            Kind::App(Op::Not, [b, ..]) => *b,
            _ => self.app(Op::Not, Sort::Bool, [a, NONE, NONE]),
        }
    }

    fn is_not(&self, a: Term, b: Term) -> bool {
        matches!(self.kind(a), Kind::App(Op::Not, [c, ..]) if *c == b)
            || matches!(self.kind(b), Kind::App(Op::Not, [c, ..]) if *c == a)
            || a.0 + b.0 == 1
    }

    /// Whether `a` is a conjunction of `b` and something.
    fn has_conjunct(&self, a: Term, b: Term) -> bool {
        matches!(self.kind(a), Kind::App(Op::And, [x, y, _]) if *x == b || *y == b)
    }

    /// Conjunction.
    pub fn and(&mut self, a: Term, b: Term) -> Term {
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        if a == Terms::FALSE || self.is_not(a, b) {
            return Terms::FALSE;
        }
        if a == Terms::TRUE || a == b || self.has_conjunct(b, a) {
            return b;
        }
        if self.has_conjunct(a, b) {
            return a;
        }
        for (x, y) in [(a, b), (b, a)] {
            match *self.kind(x) {
                // One of the conjuncts is false already.
                Kind::App(Op::And, [p, q, _]) if self.is_not(p, y) || self.is_not(q, y) => return Terms::FALSE,
                Kind::App(Op::Not, [n, ..]) => {
                    if let Kind::App(Op::And, [p, q, _]) = *self.kind(n) {
                        // y and not (p and q), where y contradicts one of them.
                        if self.is_not(p, y) || self.is_not(q, y) {
                            return y;
                        }
                        // y and not (y and q) is y and not q.
                        if p == y || q == y {
                            let other = if p == y { q } else { p };
                            let other = self.not(other);
                            return self.and(y, other);
                        }
                    }
                }
                _ => {}
            }
        }
        self.app(Op::And, Sort::Bool, [a, b, NONE])
    }

    /// Disjunction.
    pub fn or(&mut self, a: Term, b: Term) -> Term {
        let (a, b) = (self.not(a), self.not(b));
        let both = self.and(a, b);
        self.not(both)
    }

    /// Implication.
    pub fn implies(&mut self, a: Term, b: Term) -> Term {
        let not_b = self.not(b);
        let counter = self.and(a, not_b);
        self.not(counter)
    }

    /// Conjunction of all.
    pub fn all(&mut self, terms: impl IntoIterator<Item = Term>) -> Term {
        terms.into_iter().fold(Terms::TRUE, |a, b| self.and(a, b))
    }

    /// Disjunction of all.
    pub fn any(&mut self, terms: impl IntoIterator<Item = Term>) -> Term {
        terms.into_iter().fold(Terms::FALSE, |a, b| self.or(a, b))
    }

    /// `if c then a else b`.
    pub fn ite(&mut self, c: Term, a: Term, b: Term) -> Term {
        if c == Terms::TRUE || a == b {
            return a;
        }
        if c == Terms::FALSE {
            return b;
        }
        if let Kind::App(Op::Not, [d, ..]) = *self.kind(c) {
            return self.ite(d, b, a);
        }
        let sort = self.sort(a);
        debug_assert_eq!(sort, self.sort(b), "both sides have the same sort");
        // A side that asks the same question again.
        let a = match *self.kind(a) {
            Kind::App(Op::Ite, [d, x, _]) if d == c => x,
            _ => a,
        };
        let b = match *self.kind(b) {
            Kind::App(Op::Ite, [d, _, y]) if d == c => y,
            _ => b,
        };
        if a == b {
            return a;
        }
        if sort == Sort::Bool {
            match (a, b) {
                (Terms::TRUE, _) => return self.or(c, b),
                (Terms::FALSE, _) => {
                    let c = self.not(c);
                    return self.and(c, b);
                }
                (_, Terms::FALSE) => return self.and(c, a),
                (_, Terms::TRUE) => {
                    let c = self.not(c);
                    return self.or(c, a);
                }
                _ if a == c => return self.or(c, b),
                _ if b == c => return self.and(c, a),
                _ => {}
            }
        }
        // if c then a else (if d then a else y): if c or d then a else y.
        if let Kind::App(Op::Ite, [d, x, y]) = *self.kind(b) {
            if x == a {
                let either = self.or(c, d);
                return self.ite(either, a, y);
            }
            if y == a {
                let not_c = self.not(c);
                let both = self.and(not_c, d);
                return self.ite(both, x, a);
            }
        }
        if let Kind::App(Op::Ite, [d, x, y]) = *self.kind(a) {
            if x == b {
                let not_d = self.not(d);
                let both = self.and(c, not_d);
                return self.ite(both, y, b);
            }
            if y == b {
                let both = self.and(c, d);
                return self.ite(both, x, b);
            }
        }
        self.app(Op::Ite, sort, [c, a, b])
    }

    /// The values of a number and when it takes them, if they are few.
    pub(crate) fn cases(&mut self, t: Term) -> Option<Cases> {
        if let Some(cases) = self.cases.get(&t) {
            return cases.clone();
        }
        let found = self.find_cases(t);
        self.cases.insert(t, found.clone());
        found
    }

    fn find_cases(&mut self, t: Term) -> Option<Cases> {
        match *self.kind(t) {
            Kind::Const(v) => Some([(v, Terms::TRUE)].into()),
            Kind::App(Op::Ite, [c, a, b]) => {
                let (a, b) = (self.cases(a)?, self.cases(b)?);
                let mut all: Vec<Value> = a.iter().chain(b.iter()).map(|(v, _)| *v).collect();
                all.sort_unstable();
                all.dedup();
                if all.len() > MOST_CASES {
                    return None;
                }
                let when = |cases: &[(Value, Term)], v| {
                    cases.iter().find(|(w, _)| *w == v).map_or(Terms::FALSE, |(_, when)| *when)
                };
                Some(all.into_iter().map(|v| (v, self.ite(c, when(&a, v), when(&b, v)))).collect())
            }
            _ => None,
        }
    }

    /// The number that takes these values under these conditions, exactly one of which holds.
    fn of_cases(&mut self, mut cases: Vec<(Value, Term)>, sort: Sort) -> Term {
        cases.sort_unstable_by_key(|(v, _)| *v);
        let mut merged: Vec<(Value, Term)> = Vec::new();
        for (v, when) in cases {
            match merged.last_mut() {
                Some((last, already)) if *last == v => *already = self.or(*already, when),
                _ => merged.push((v, when)),
            }
        }
        merged.retain(|(_, when)| *when != Terms::FALSE);
        let mut result = None;
        for (v, when) in merged.iter().rev() {
            let value = self.constant(*v, sort);
            result = Some(match result {
                None => value,
                Some(rest) => self.ite(*when, value, rest),
            });
        }
        let result = result.unwrap_or_else(|| self.constant(0, sort));
        if merged.len() <= MOST_CASES && !merged.is_empty() {
            self.cases.insert(result, Some(merged.into()));
        }
        result
    }

    /// A binary operator on numbers, case by case where both sides have few.
    fn by_cases(&mut self, op: Op, sort: Sort, a: Term, b: Term) -> Option<Term> {
        let (of_a, of_b) = (self.cases(a)?, self.cases(b)?);
        if of_a.len() * of_b.len() > MOST_PAIRS || (of_a.len() == 1 && of_b.len() == 1) {
            return None;
        }
        let mut result = Vec::new();
        for (v, when_v) in of_a.iter() {
            for (w, when_w) in of_b.iter() {
                let value = apply(op, sort, [*v, *w, 0])?;
                let when = self.and(*when_v, *when_w);
                result.push((value, when));
            }
        }
        if sort == Sort::Bool {
            return Some(self.any(result.into_iter().filter(|(v, _)| *v == 1).map(|(_, when)| when)));
        }
        let mut values: Vec<Value> = result.iter().map(|(v, _)| *v).collect();
        values.sort_unstable();
        values.dedup();
        (values.len() <= MOST_CASES).then(|| self.of_cases(result, sort))
    }

    /// Equality.
    pub fn eq(&mut self, a: Term, b: Term) -> Term {
        if a == b {
            return Terms::TRUE;
        }
        let sort = self.sort(a);
        debug_assert_eq!(sort, self.sort(b), "both sides have the same sort");
        if sort == Sort::Bool {
            let not_b = self.not(b);
            return self.ite(a, b, not_b);
        }
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        if let (Some((lo, hi)), Some((lo2, hi2))) = (self.range(a), self.range(b))
            && (hi < lo2 || hi2 < lo)
        {
            return Terms::FALSE;
        }
        if let Some(t) = self.by_cases(Op::Eq, Sort::Bool, a, b) {
            return t;
        }
        self.app(Op::Eq, Sort::Bool, [a, b, NONE])
    }

    /// Less than, by the sort's reading of numbers.
    pub fn lt(&mut self, a: Term, b: Term) -> Term {
        if a == b {
            return Terms::FALSE;
        }
        if let (Some((lo, hi)), Some((lo2, hi2))) = (self.range(a), self.range(b)) {
            if hi < lo2 {
                return Terms::TRUE;
            }
            if lo >= hi2 {
                return Terms::FALSE;
            }
        }
        if let Some(t) = self.by_cases(Op::Lt, Sort::Bool, a, b) {
            return t;
        }
        self.app(Op::Lt, Sort::Bool, [a, b, NONE])
    }

    /// Less than or equal.
    pub fn le(&mut self, a: Term, b: Term) -> Term {
        let greater = self.lt(b, a);
        self.not(greater)
    }

    /// An arithmetic or bitwise operator on two numbers of the same sort.
    ///
    /// # Panics
    /// If the operator is none of these.
    pub fn arithmetic(&mut self, op: Op, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        debug_assert_eq!(sort, self.sort(b), "both sides have the same sort");
        let (of_a, of_b) = (self.value_of(a), self.value_of(b));
        match (op, of_a, of_b) {
            (Op::Add | Op::BitOr | Op::BitXor, Some(0), _) => return b,
            (Op::Add | Op::Sub | Op::BitOr | Op::BitXor | Op::Shl | Op::Shr, _, Some(0)) => return a,
            (Op::Mul | Op::Div, _, Some(1)) => return a,
            (Op::Mul, Some(1), _) => return b,
            (Op::Mul | Op::BitAnd, Some(0), _) => return a,
            (Op::Mul | Op::BitAnd, _, Some(0)) => return b,
            (Op::Sub | Op::BitXor, ..) if a == b => return self.constant(0, sort),
            (Op::Add | Op::Sub, _, Some(k)) => {
                // (x + j) + k.
                if let Kind::App(Op::Add, [x, j, _]) = *self.kind(a)
                    && let Some(j) = self.value_of(j)
                    && let Some(sum) = if op == Op::Add { j.checked_add(k) } else { j.checked_sub(k) }
                {
                    let sum = self.constant(sum, sort);
                    return self.arithmetic(Op::Add, x, sum);
                }
            }
            (Op::Add | Op::Mul, Some(_), None) => return self.arithmetic(op, b, a),
            (
                Op::Add
                | Op::Sub
                | Op::Mul
                | Op::Div
                | Op::Rem
                | Op::BitAnd
                | Op::BitOr
                | Op::BitXor
                | Op::Shl
                | Op::Shr,
                ..,
            ) => {}
            _ => panic!("{op:?} is not an operator on two numbers"),
        }
        if let Some(t) = self.by_cases(op, sort, a, b) {
            return t;
        }
        if op == Op::Sub
            && let Some(k) = of_b
        {
            let k = self.constant(-k, sort);
            return self.app(Op::Add, sort, [a, k, NONE]);
        }
        self.app(op, sort, [a, b, NONE])
    }

    /// The number in another sort; bit vectors wrap.
    pub fn cast(&mut self, a: Term, sort: Sort) -> Term {
        if self.sort(a) == sort {
            return a;
        }
        if let Some(cases) = self.cases(a) {
            let cases = cases.iter().map(|(v, when)| (crate::term::wrap(*v, sort), *when)).collect();
            return self.of_cases(cases, sort);
        }
        self.app(Op::Cast, sort, [a, NONE, NONE])
    }

    /// The next point of an order.
    pub fn next(&mut self, a: Term) -> Term {
        self.app(Op::Next, Sort::Order, [a, NONE, NONE])
    }
}
