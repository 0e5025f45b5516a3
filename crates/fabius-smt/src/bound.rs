//! How many bits integers need so that nothing is missed.
//!
//! Paper: Deciding Quantifier-Free Presburger Formulas Using Parameterized Solution Bounds (LICS 2004), theorem 2: a
//! formula over integers with a solution has a small one, if all but a few of its constraints only compare two variables.
//!
//! Deviations:
//! 1. Every sum and every choice between two terms counts as a variable and a constraint of its own, which is coarser.
//! 2. Integers of finite range are taken as constants: whatever their values in a solution are, the rest has a small
//!    solution with just these. So it does not matter what is computed with them.

use crate::term::{Kind, Op, Sort, Term, Terms, Value};

/// Variables that a constraint of a sum has at most, with the one that stands for 0.
const WIDTH: u32 = 4;

/// So many bits, with the sign, are enough for all integers of these terms; `None` if that is not known.
pub fn bits_needed(terms: &Terms, all: impl Iterator<Item = Term>) -> Option<usize> {
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
