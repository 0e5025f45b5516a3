//! Integers of small range in the order encoding: one literal for each value, which says that the number is at least that.
//!
//! Rounds and budgets are such numbers. That a round only ever grows is then one clause of two literals for each value,
//! where comparators of binary numbers hide it from unit propagation.

use crate::gates::Gates;
use crate::term::Value;
use batsat::Lit;

/// Ranges of at most so many values are small.
const MOST: Value = 33;

/// A number between `lo` and `lo + at_least.len()`.
#[derive(Clone, Debug)]
pub struct Small {
    lo: Value,
    /// The number is at least `lo + 1`, `lo + 2`, ..: each implies the one before it.
    at_least: Vec<Lit>,
}

impl Small {
    /// Whether the range is small.
    pub fn fits(range: Option<(Value, Value)>) -> bool {
        range.is_some_and(|(lo, hi)| lo <= hi && hi - lo < MOST)
    }

    /// A new number of this range.
    pub fn variable(gates: &mut Gates, lo: Value, hi: Value) -> Small {
        let at_least: Vec<Lit> = (lo..hi).map(|_| gates.fresh()).collect();
        for pair in at_least.windows(2) {
            gates.clause(&[!pair[1], pair[0]]);
        }
        Small { lo, at_least }
    }

    /// A constant.
    pub fn constant(value: Value) -> Small {
        Small { lo: value, at_least: Vec::new() }
    }

    fn hi(&self) -> Value {
        self.lo + self.at_least.len() as Value
    }

    fn at_least(&self, gates: &Gates, value: Value) -> Lit {
        match value - self.lo {
            below if below <= 0 => gates.constant(true),
            k if k <= self.at_least.len() as Value => self.at_least[k as usize - 1],
            _ => gates.constant(false),
        }
    }

    /// `if c then x else y`, if that is small.
    pub fn mux(gates: &mut Gates, c: Lit, x: &Small, y: &Small) -> Option<Small> {
        let (lo, hi) = (x.lo.min(y.lo), x.hi().max(y.hi()));
        Small::fits(Some((lo, hi))).then(|| {
            let choose = |v| {
                let (a, b) = (x.at_least(gates, v), y.at_least(gates, v));
                gates.mux(c, a, b)
            };
            Small { lo, at_least: (lo + 1..=hi).map(choose).collect() }
        })
    }

    /// Whether two numbers are equal.
    pub fn equal(gates: &mut Gates, x: &Small, y: &Small) -> Lit {
        let (x, y) = if x.at_least.is_empty() { (y, x) } else { (x, y) };
        if y.at_least.is_empty() {
            let (here, above) = (x.at_least(gates, y.lo), x.at_least(gates, y.lo + 1));
            return if y.lo < x.lo { gates.constant(false) } else { gates.and(here, !above) };
        }
        let (lo, hi) = (x.lo.min(y.lo), x.hi().max(y.hi()));
        let same: Vec<Lit> = (lo + 1..=hi)
            .map(|v| {
                let (a, b) = (x.at_least(gates, v), y.at_least(gates, v));
                gates.same(a, b)
            })
            .collect();
        gates.all(&same)
    }

    /// Whether the first is less.
    pub fn less(gates: &mut Gates, x: &Small, y: &Small) -> Lit {
        let (lo, hi) = (x.lo.min(y.lo), x.hi().max(y.hi()));
        // Not: whatever y is at least, so is x.
        let follows: Vec<Lit> = (lo + 1..=hi)
            .map(|v| {
                let (a, b) = (x.at_least(gates, v), y.at_least(gates, v));
                gates.or(a, !b)
            })
            .collect();
        !gates.all(&follows)
    }

    /// The sum, if that is small.
    pub fn add(gates: &mut Gates, x: &Small, y: &Small) -> Option<Small> {
        let (lo, hi) = (x.lo.checked_add(y.lo)?, x.hi().checked_add(y.hi())?);
        Small::fits(Some((lo, hi))).then(|| {
            let reaches = |v: Value| {
                // Some part of it comes from x, the rest from y.
                let ways: Vec<Lit> = (x.lo..=x.hi())
                    .map(|a| {
                        let (from_x, from_y) = (x.at_least(gates, a), y.at_least(gates, v - a));
                        !gates.and(from_x, from_y)
                    })
                    .collect();
                !gates.all(&ways)
            };
            Small { lo, at_least: (lo + 1..=hi).map(reaches).collect() }
        })
    }

    /// `-x`.
    pub fn negated(&self) -> Small {
        Small { lo: -self.hi(), at_least: self.at_least.iter().rev().map(|l| !*l).collect() }
    }

    /// The number if its range is cut to this one, which it does not leave.
    pub fn within(self, gates: &Gates, range: Option<(Value, Value)>) -> Small {
        match range {
            Some((lo, hi)) if lo > self.lo || hi < self.hi() => {
                let (lo, hi) = (lo.max(self.lo), hi.min(self.hi()));
                Small { lo, at_least: (lo + 1..=hi).map(|v| self.at_least(gates, v)).collect() }
            }
            _ => self,
        }
    }

    /// The two's complement number, from the least significant bit to the sign.
    pub fn bits(&self, gates: &mut Gates, length: usize) -> Vec<Lit> {
        let bit = |i: usize| {
            let is_one = |v: Value| v >> i & 1 == 1;
            // It is one from some values on, up to others.
            let mut ways = Vec::new();
            let mut v = self.lo;
            while v <= self.hi() {
                if !is_one(v) {
                    v += 1;
                    continue;
                }
                let from = self.at_least(gates, v);
                while v <= self.hi() && is_one(v) {
                    v += 1;
                }
                let to = self.at_least(gates, v);
                ways.push(!gates.and(from, !to));
            }
            !gates.all(&ways)
        };
        (0..length).map(bit).collect()
    }

    /// Least and greatest value.
    pub fn range(&self) -> (Value, Value) {
        (self.lo, self.hi())
    }

    /// The value in the model that was found last.
    pub fn value(&self, gates: &Gates) -> Value {
        self.lo + self.at_least.iter().filter(|l| gates.value(**l) == Some(true)).count() as Value
    }
}
