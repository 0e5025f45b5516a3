//! How many bits integers need so that nothing is missed.
//!
//! Paper: Deciding Quantifier-Free Presburger Formulas Using Parameterized Solution Bounds (LICS 2004), theorem 2: a
//! formula over integers with a solution has a small one, if all but a few of its constraints only compare two variables.
//!
//! Deviations:
//! 1. Every sum and every choice between two terms counts as a variable and a constraint of its own, which is coarser.
//! 2. Integers of finite range are taken as constants: whatever their values in a solution are, the rest has a small
//!    solution with just these. So it does not matter what is computed with them.
//! 3. Where nothing but differences of two is compared, lengths of shortest paths are a solution: at most as many steps as there
//!    are variables, each as long as the greatest constant. A sum of a number and one of finite range is no variable then.

use crate::term::{Kind, Op, Sort, Term, Terms, Value};
use hashbrown::HashMap;

/// Variables that a constraint of a sum has at most, with the one that stands for 0.
const WIDTH: u32 = 4;

/// So many bits, with the sign, are enough for all integers of these terms; `None` if that is not known.
pub fn bits_needed(terms: &Terms, all: impl Iterator<Item = Term>) -> Option<usize> {
    let mut all: Vec<Term> = all.collect();
    all.sort_unstable();
    of_differences(terms, &all).or_else(|| of_sums(terms, all.into_iter()))
}

/// The same where two numbers are compared and no more: of each term, given operands first, by how much it may differ from a number
/// that is free. `None` if there is anything else.
fn of_differences(terms: &Terms, all: &[Term]) -> Option<usize> {
    let mut offsets: HashMap<Term, u128> = HashMap::new();
    // The first is 0.
    let (mut free, mut longest, mut farthest): (u128, u128, u128) = (1, 1, 0);
    for t in all {
        let operands = terms.operands(*t);
        let is_open = |o: &Term| terms.sort(*o) == Sort::Int && size(terms, *o).is_none();
        let offset = |o: &Term| size(terms, *o).or_else(|| offsets.get(o).copied());
        let of_operands = |operands: &[Term]| -> Option<u128> {
            let numbers = operands.iter().filter(|o| terms.sort(**o) == Sort::Int);
            numbers.map(offset).try_fold(0, |sum: u128, o| sum.checked_add(o?))
        };
        if !is_open(t) {
            farthest = farthest.max(if terms.sort(*t) == Sort::Int { size(terms, *t)? } else { 0 });
            if operands.iter().any(is_open) {
                let Kind::App(Op::Eq | Op::Lt, _) = terms.kind(*t) else { return None };
                longest = longest.max(of_operands(operands)? + 1);
            }
            continue;
        }
        let of = match *terms.kind(*t) {
            Kind::Var(_) => {
                free += 1;
                0
            }
            Kind::App(Op::Ite, [_, a, b]) => {
                free += 1;
                longest = longest.max(of_operands(&[a])?).max(of_operands(&[b])?);
                0
            }
            Kind::App(Op::Add, [a, b, _]) if is_open(&a) != is_open(&b) => of_operands(&[a, b])?,
            Kind::App(Op::Sub, [a, b, _]) if !is_open(&b) => of_operands(&[a, b])?,
            _ => return None,
        };
        farthest = farthest.max(of);
        offsets.insert(*t, of);
    }
    let greatest = free.checked_mul(longest)?.checked_add(farthest)?;
    usize::try_from(128 - greatest.leading_zeros()).ok().map(|bits| bits + 1)
}

/// The same for sums.
fn of_sums(terms: &Terms, all: impl Iterator<Item = Term>) -> Option<usize> {
    let (mut variables, mut sums) = (2u64, 0u64);
    let (mut greatest, mut factor): (u128, u128) = (1, 1);
    for t in all {
        if terms.sort(t) == Sort::Int
            && let Some(size) = size(terms, t)
        {
            greatest = greatest.max(size);
        }
        let Kind::App(op, _) = *terms.kind(t) else {
            variables += u64::from(terms.sort(t) == Sort::Int);
            continue;
        };
        let operands = terms.operands(t);
        let open: Vec<Option<u128>> =
            operands.iter().filter(|o| terms.sort(**o) == Sort::Int).map(|o| size(terms, *o)).collect();
        let unbounded = open.iter().filter(|s| s.is_none()).count();
        if unbounded == 0 || matches!(op, Op::Eq | Op::Lt) {
            continue;
        }
        variables += 2;
        let of_other = open.iter().flatten().copied().max().unwrap_or(1);
        match op {
            Op::Ite => {}
            Op::Add | Op::Sub => sums += u64::from(unbounded > 1),
            Op::Mul | Op::Div | Op::Rem if unbounded == 1 => {
                // The divisor is what must be finite.
                if op != Op::Mul && open.get(1).copied().flatten().is_none() {
                    return None;
                }
                sums += 2;
                factor = factor.max(of_other);
            }
            Op::Cast => {
                let Sort::Bits { width, .. } = terms.sort(t) else { return None };
                sums += 1;
                factor = factor.max(1 << width);
            }
            _ => return None,
        }
    }
    let log = |n: u128| u64::from(128 - n.leading_zeros());
    let per_sum = log(u128::from(WIDTH) * factor);
    let bits = 2 * log(u128::from(variables)) + log(greatest + 1) + sums.checked_mul(per_sum)? + 2;
    usize::try_from(bits).ok()
}

/// The greatest magnitude of an integer, if it is of finite range.
fn size(terms: &Terms, t: Term) -> Option<u128> {
    if let Kind::Const(v) = *terms.kind(t) {
        return Some(v.unsigned_abs());
    }
    terms.range(t).map(|(lo, hi): (Value, Value)| lo.unsigned_abs().max(hi.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Embedded, Limits, Solver};

    /// Random systems of differences, decided as by shortest paths: too few bits would lose solutions, which need up to ten.
    #[test]
    fn differences_are_decided_as_by_shortest_paths() {
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut sat, mut unsat, mut known) = (0, 0, 0);
        for n in 0..400 {
            let mut terms = Terms::default();
            let numbers: Vec<Term> = (0..6).map(|_| terms.variable(Sort::Int)).collect();
            let mut solver = Embedded::default();
            let mut all = Vec::new();
            // Of each pair, how much greater the first may be.
            let mut most = vec![vec![None::<Value>; numbers.len()]; numbers.len()];
            for _ in 0..rng.usize(5..12) {
                let (a, b, c) = (rng.usize(..6), rng.usize(..6), rng.i128(-60..=40));
                let constant = terms.constant(c, Sort::Int);
                let far = terms.arithmetic(Op::Add, numbers[b], constant);
                let fact = terms.le(numbers[a], far);
                solver.assert(&terms, fact);
                all.push(fact);
                most[a][b] = Some(most[a][b].map_or(c, |known| known.min(c)));
            }
            for k in 0..6 {
                for a in 0..6 {
                    for b in 0..6 {
                        if let (Some(x), Some(y)) = (most[a][k], most[k][b]) {
                            most[a][b] = Some(most[a][b].map_or(x + y, |known| known.min(x + y)));
                        }
                    }
                }
            }
            let has_solution = (0..6).all(|a| most[a][a].is_none_or(|c| c >= 0));
            let limits = Limits { deadline: None, stop: &Default::default() };
            let answer = solver.check(&terms, &[], &limits).expect("it is asked for what it can do");
            let expected = if has_solution { Answer::Sat } else { Answer::Unsat };
            assert_eq!(answer, expected, "system {n}");
            *(if has_solution { &mut sat } else { &mut unsat }) += 1;
            let every: Vec<Term> = (0..terms.len() as u32).map(Term).collect();
            known += u32::from(of_differences(&terms, &every).is_some_and(|bits| bits <= 16));
        }
        assert!(sat > 50 && unsat > 50 && known == 400, "{sat} {unsat} {known}");
    }
}
