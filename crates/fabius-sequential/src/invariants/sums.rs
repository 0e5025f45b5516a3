//! Sums of shared variables and of numbers of threads that stay what they are.
//!
//! Paper: Colom, Silva: Convex geometry and semiflows in P/T nets (Advances in Petri Nets 1990), section 3: the minimal
//! semiflows of a net, one transition after the other. (It is Farkas' algorithm.)
//!
//! A *sum* gives each shared variable a weight, and each kind of thread (a place, and what of its own has few values) a weight that is
//! not negative. If no step changes it, it is what it was in the beginning; so the variables and *some* of the threads sum up to that at
//! most. "Who has a reference is counted" is such a sum.
//!
//! Deviations:
//! 1. Steps become known one after the other, by examples; each is taken into account when it is.
//! 2. Variables may have any weight: each is there twice, once negated.

use std::collections::BTreeMap;

/// What a step adds to each part of a sum: to variables, and to numbers of threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// By number of the variable.
    pub variables: BTreeMap<usize, i128>,
    /// By number of the kind.
    pub kinds: BTreeMap<usize, i128>,
}

impl Change {
    /// The difference of both.
    pub fn minus(&mut self, other: &Change) {
        other.variables.iter().for_each(|(v, x)| *self.variables.entry(*v).or_default() -= x);
        other.kinds.iter().for_each(|(k, x)| *self.kinds.entry(*k).or_default() -= x);
    }
}

/// Weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// By number of the variable.
    pub variables: BTreeMap<usize, i128>,
    /// By number of the kind; none is negative.
    pub kinds: BTreeMap<usize, i128>,
}

/// Sums at most: where there are more, none is known.
const MOST: usize = 256;

impl Sum {
    /// What a change adds to the sum.
    pub fn of(&self, change: &Change) -> i128 {
        let dot = |a: &BTreeMap<usize, i128>, b: &BTreeMap<usize, i128>| -> i128 {
            a.iter().filter_map(|(i, x)| Some(x * b.get(i)?)).sum()
        };
        dot(&self.variables, &change.variables) + dot(&self.kinds, &change.kinds)
    }

    /// What has a weight: a variable, with its sign, or a kind.
    fn support(&self) -> impl Iterator<Item = (usize, i128)> + '_ {
        let variables = self.variables.iter().map(|(v, w)| (2 * v, w.signum()));
        variables.chain(self.kinds.keys().map(|k| (2 * k + 1, 1)))
    }

    fn is_within(&self, other: &Sum) -> bool {
        self.support().all(|part| other.support().any(|p| p == part))
    }

    fn combined(&self, factor: i128, other: &Sum, other_factor: i128) -> Option<Sum> {
        let add = |a: &BTreeMap<usize, i128>, b: &BTreeMap<usize, i128>| {
            let mut all: BTreeMap<usize, i128> = BTreeMap::new();
            for (weights, factor) in [(a, factor), (b, other_factor)] {
                for (i, w) in weights {
                    let sum = all.entry(*i).or_default();
                    *sum = sum.checked_add(w.checked_mul(factor)?)?;
                }
            }
            all.retain(|_, w| *w != 0);
            Some(all)
        };
        let mut sum =
            Sum { variables: add(&self.variables, &other.variables)?, kinds: add(&self.kinds, &other.kinds)? };
        let divisor = sum.variables.values().chain(sum.kinds.values()).fold(0, |a, w| gcd(a, w.abs()));
        if divisor > 1 {
            sum.variables.values_mut().chain(sum.kinds.values_mut()).for_each(|w| *w /= divisor);
        }
        const FAR: i128 = 1 << 20;
        sum.variables.values().chain(sum.kinds.values()).all(|w| w.abs() < FAR).then_some(sum)
    }

    fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.kinds.is_empty()
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The sums that nothing known changes.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    pub all: Vec<Sum>,
    /// How often some were no sums.
    pub changed: u64,
    /// There were too many.
    is_given_up: bool,
}

impl Sums {
    /// So many variables, and nothing is known to change.
    pub fn new(variables: usize) -> Sums {
        let mut sums = Sums::default();
        for v in 0..variables {
            for weight in [1, -1] {
                sums.all.push(Sum { variables: BTreeMap::from([(v, weight)]), kinds: BTreeMap::new() });
            }
        }
        sums
    }

    /// There is one more kind of threads.
    pub fn kind(&mut self, kind: usize) {
        if !self.is_given_up {
            self.changed += 1;
            self.all.push(Sum { variables: BTreeMap::new(), kinds: BTreeMap::from([(kind, 1)]) });
        }
    }

    /// Something changes so: from now on only sums count that stay the same.
    pub fn change(&mut self, change: &Change) {
        let (changed, mut all): (Vec<Sum>, Vec<Sum>) =
            std::mem::take(&mut self.all).into_iter().partition(|sum| sum.of(change) != 0);
        self.changed += u64::from(!changed.is_empty());
        let mut new: Vec<Sum> = Vec::new();
        for (i, a) in changed.iter().enumerate() {
            for b in &changed[..i] {
                let (x, y) = (a.of(change), b.of(change));
                if (x < 0) == (y < 0) {
                    continue;
                }
                let Some(sum) = a.combined(y.abs(), b, x.abs()).filter(|sum| !sum.is_empty()) else { continue };
                new.push(sum);
            }
        }
        for sum in new {
            if all.iter().any(|known| known.is_within(&sum)) {
                continue;
            }
            all.retain(|known| !sum.is_within(known));
            all.push(sum);
        }
        self.all = all;
        if self.all.len() > MOST {
            self.all.clear();
            self.is_given_up = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random.
    fn below(state: &mut u64, n: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % n
    }

    /// All weights of up to two of two variables and of three kinds.
    fn small() -> Vec<Sum> {
        let mut all = Vec::new();
        for code in 0..5 * 5 * 27 {
            let parts = |mut code: i128, base: i128, from: i128, n: usize| -> BTreeMap<usize, i128> {
                let mut weights = BTreeMap::new();
                for i in 0..n {
                    weights.insert(i, code % base + from);
                    code /= base;
                }
                weights.retain(|_, w| *w != 0);
                weights
            };
            all.push(Sum { variables: parts(code % 25, 5, -2, 2), kinds: parts(code / 25, 3, 0, 3) });
        }
        all
    }

    #[test]
    fn sums_are_those_that_no_change_changes() {
        let (small, mut found) = (small(), 0);
        for seed in 0..300 {
            let mut state = seed;
            let mut sums = Sums::new(2);
            (0..3).for_each(|kind| sums.kind(kind));
            let mut changes = Vec::new();
            for _ in 0..1 + seed % 3 {
                let mut part = |n: usize| (0..n).map(|i| (i, below(&mut state, 3) as i128 - 1)).collect();
                changes.push(Change { variables: part(2), kinds: part(3) });
                sums.change(changes.last().expect("it was pushed"));
            }
            for sum in &sums.all {
                assert!(sum.kinds.values().all(|w| *w > 0), "seed {seed}: {sum:?}");
                assert!(changes.iter().all(|change| sum.of(change) == 0), "seed {seed}: {sum:?} {changes:?}");
            }
            // Nothing is missing: whatever stays the same has a minimal one in it.
            for sum in small.iter().filter(|sum| !sum.is_empty()) {
                if changes.iter().all(|change| sum.of(change) == 0) {
                    found += 1;
                    assert!(sums.all.iter().any(|known| known.is_within(sum)), "seed {seed}: {sum:?} {changes:?}");
                }
            }
        }
        assert!(found > 1000, "{found}");
    }
}
