//! Numbers as sequences of sets: the valuations in which each bit is 1.
//!
//! A number is in two's complement, its lowest bit first and its sign last, with as many bits as it needs.

use super::diagram::{Diagrams, Done, Set};
use oxidd::BooleanFunction;

/// Bits of a number.
pub type Number = Vec<Set>;

/// A constant.
pub fn constant(d: &Diagrams, value: i128) -> Number {
    let mut bits = Vec::new();
    let mut rest = value;
    loop {
        bits.push(d.constant(rest & 1 == 1));
        let is_done = (rest == 0 || rest == -1) && (rest & 1 == 1) == (value < 0);
        rest >>= 1;
        if is_done {
            return bits;
        }
    }
}

/// With at least so many bits.
fn widened(a: &Number, bits: usize) -> Number {
    let sign = a.last().expect("a number has a sign");
    a.iter().cloned().chain(std::iter::repeat_n(sign.clone(), bits.saturating_sub(a.len()))).collect()
}

/// Without bits that say nothing.
fn trimmed(mut a: Number) -> Number {
    while a.len() > 1 && a[a.len() - 1] == a[a.len() - 2] {
        a.pop();
    }
    a
}

/// The lowest bits, as a number with or without sign.
pub fn wrapped(d: &Diagrams, a: &Number, bits: usize, signed: bool) -> Number {
    let mut out = widened(a, bits);
    out.truncate(bits);
    if !signed {
        out.push(d.none.clone());
    }
    trimmed(out)
}

/// One of two.
pub fn if_else(c: &Set, a: &Number, b: &Number) -> Done<Number> {
    let bits = a.len().max(b.len());
    let (a, b) = (widened(a, bits), widened(b, bits));
    Ok(trimmed(a.iter().zip(&b).map(|(a, b)| c.ite(a, b)).collect::<Done<_>>()?))
}

/// The sum, and one more where `carry` is.
fn sum(a: &Number, b: &Number, carry: Set) -> Done<Number> {
    let bits = a.len().max(b.len()) + 1;
    let (a, b) = (widened(a, bits), widened(b, bits));
    let mut carry = carry;
    let mut out = Vec::new();
    for (x, y) in a.iter().zip(&b) {
        let either = x.xor(y)?;
        out.push(either.xor(&carry)?);
        carry = either.ite(&carry, x)?;
    }
    Ok(trimmed(out))
}

fn inverted(a: &Number) -> Done<Number> {
    a.iter().map(|b| b.not()).collect()
}

pub fn add(d: &Diagrams, a: &Number, b: &Number) -> Done<Number> {
    sum(a, b, d.none.clone())
}

pub fn sub(d: &Diagrams, a: &Number, b: &Number) -> Done<Number> {
    sum(a, &inverted(b)?, d.all.clone())
}

pub fn negated(d: &Diagrams, a: &Number) -> Done<Number> {
    sub(d, &constant(d, 0), a)
}

pub fn mul(d: &Diagrams, a: &Number, b: &Number) -> Done<Number> {
    let bits = a.len() + b.len();
    let (a, b) = (widened(a, bits), widened(b, bits));
    let mut out = vec![d.none.clone(); bits];
    for (i, bit) in b.iter().enumerate() {
        let row: Number = a[..bits - i].iter().map(|x| x.and(bit)).collect::<Done<_>>()?;
        let upper = sum(&out[i..].to_vec(), &row, d.none.clone())?;
        let upper = widened(&upper, bits - i);
        out.truncate(i);
        out.extend(upper.into_iter().take(bits - i));
    }
    Ok(trimmed(out))
}

/// Quotient and remainder, truncated towards zero; both 0 where the divisor is 0.
pub fn divide(d: &Diagrams, a: &Number, b: &Number) -> Done<(Number, Number)> {
    let (negative_a, negative_b) = (a[a.len() - 1].clone(), b[b.len() - 1].clone());
    let (x, y) = (if_else(&negative_a, &negated(d, a)?, a)?, if_else(&negative_b, &negated(d, b)?, b)?);
    let mut rest = constant(d, 0);
    let mut quotient = vec![d.none.clone(); x.len() + 1];
    for i in (0..x.len()).rev() {
        rest.insert(0, x[i].clone());
        let fits = less(d, &rest, &y)?.not()?;
        rest = if_else(&fits, &sub(d, &rest, &y)?, &rest)?;
        quotient[i] = fits;
    }
    let quotient = if_else(&negative_a.xor(&negative_b)?, &negated(d, &quotient)?, &quotient)?;
    let rest = if_else(&negative_a, &negated(d, &rest)?, &rest)?;
    let (zero, is_zero) = (constant(d, 0), equal(d, b, &constant(d, 0))?);
    Ok((if_else(&is_zero, &zero, &quotient)?, if_else(&is_zero, &zero, &rest)?))
}

pub fn equal(d: &Diagrams, a: &Number, b: &Number) -> Done<Set> {
    let bits = a.len().max(b.len());
    let (a, b) = (widened(a, bits), widened(b, bits));
    a.iter().zip(&b).rev().try_fold(d.all.clone(), |all, (x, y)| all.and(&x.equiv(y)?))
}

/// Where the first is less than the second.
pub fn less(d: &Diagrams, a: &Number, b: &Number) -> Done<Set> {
    let bits = a.len().max(b.len());
    let (mut a, mut b) = (widened(a, bits), widened(b, bits));
    // A number with its sign inverted compares like one without.
    for n in [&mut a, &mut b] {
        n[bits - 1] = n[bits - 1].not()?;
    }
    a.iter().zip(&b).try_fold(d.none.clone(), |lower, (x, y)| x.xor(y)?.ite(y, &lower))
}

/// Bit by bit, on the lowest bits.
pub fn bitwise(a: &Number, b: &Number, op: impl Fn(&Set, &Set) -> Done<Set>) -> Done<Number> {
    let bits = a.len().max(b.len());
    let (a, b) = (widened(a, bits), widened(b, bits));
    Ok(trimmed(a.iter().zip(&b).map(|(x, y)| op(x, y)).collect::<Done<_>>()?))
}

pub fn bitwise_not(a: &Number) -> Done<Number> {
    inverted(a)
}

/// Shifted by the amount modulo the width (a power of two): by its lowest bits, which a number that needs fewer has in its sign.
pub fn shifted_left(d: &Diagrams, a: &Number, by: &Number, width: usize) -> Done<Number> {
    let bits = width.trailing_zeros() as usize;
    widened(by, bits)[..bits].iter().enumerate().try_fold(a.clone(), |a, (i, bit)| {
        let far: Number = std::iter::repeat_n(d.none.clone(), 1 << i).chain(a.iter().cloned()).collect();
        if_else(bit, &far, &a)
    })
}

/// See [`shifted_left`].
pub fn shifted_right(a: &Number, by: &Number, width: usize) -> Done<Number> {
    let bits = width.trailing_zeros() as usize;
    widened(by, bits)[..bits].iter().enumerate().try_fold(a.clone(), |a, (i, bit)| {
        let far: Number = widened(&a, a.len().max((1 << i) + 1))[1 << i..].to_vec();
        if_else(bit, &far, &a)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(d: &Diagrams, number: &Number) -> i128 {
        let bit = |(i, bit): (usize, &Set)| if *bit == d.all { 1_i128 << i } else { 0 };
        let (sign, low) = number.split_last().expect("a number has a sign");
        low.iter().enumerate().map(bit).sum::<i128>() - bit((low.len(), sign))
    }

    #[test]
    fn numbers_are_shifted_by_amounts_modulo_the_width() {
        let d = Diagrams::new(1, 1 << 12).expect("there is memory");
        for width in [8, 16] {
            for (a, by) in (-20..20).flat_map(|a| (-20..20).map(move |by| (a, by))) {
                let (x, y) = (constant(&d, a), constant(&d, by));
                let far = by.rem_euclid(width as i128);
                let left = shifted_left(&d, &x, &y, width).expect("there is memory");
                let right = shifted_right(&x, &y, width).expect("there is memory");
                assert_eq!((value(&d, &left), value(&d, &right)), (a << far, a >> far), "{a} by {by} of {width}");
            }
        }
    }
}
