//! Threads as bits of a word, and one of them at random.

use fastrand::Rng as Dice;

/// The bits that are set, in order.
#[derive(Clone)]
pub(crate) struct Bits(pub u64);

impl Iterator for Bits {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let next = (self.0 != 0).then(|| self.0.trailing_zeros());
        self.0 &= self.0.wrapping_sub(1);
        next
    }
}

/// For each byte, how many of its bits are set, and which they are, in order.
static BITS: [(u8, [u8; 8]); 256] = {
    let mut all = [(0, [0; 8]); 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                all[byte].1[all[byte].0 as usize] = bit as u8;
                all[byte].0 += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    all
};

/// How many bits are set.
#[inline]
pub(crate) fn count(bits: u64) -> usize {
    let low = &BITS[(bits & 0xff) as usize];
    if bits < 256 { low.0.into() } else { bits.count_ones() as usize }
}

/// The bit that is set before which so many are.
#[inline]
pub(crate) fn nth(bits: u64, skip: usize) -> u32 {
    // No loop, the end of which a processor could not foretell.
    if bits < 256 {
        return BITS[bits as usize].1[skip].into();
    }
    let left = (0..skip).fold(bits, |left, _| left & left.wrapping_sub(1));
    left.trailing_zeros()
}

/// One of so many numbers, drawn as [`Dice::usize`] does: the same, but not called, as what is done for each step should not be.
#[inline(always)]
pub(crate) fn drawn(dice: &mut Dice, many: usize) -> usize {
    let many = many as u64;
    loop {
        let product = u128::from(dice.u64(..)) * u128::from(many);
        // So rarely that it is asked only where it may be: where some numbers would be drawn more often than others.
        if product as u64 >= many || is_fair(product as u64, many) {
            return (product >> 64) as usize;
        }
    }
}

/// Whether what was drawn does not come up once more than what is next to it.
#[cold]
fn is_fair(low: u64, many: u64) -> bool {
    low >= many.wrapping_neg() % many
}

/// The bit of a thread; none if there are too many.
#[inline]
pub fn bit(thread: usize) -> u64 {
    u64::from(thread < u64::BITS as usize) << (thread % u64::BITS as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_drawn_as_always() {
        // Of so many as the last two, a quarter and half of the draws are made again.
        for many in [1, 2, 3, 7, 64, 1 << 62, usize::MAX / 4 * 3, usize::MAX / 2 + 2] {
            let (mut ours, mut theirs) = (Dice::with_seed(7), Dice::with_seed(7));
            for _ in 0..200 {
                assert_eq!(drawn(&mut ours, many), theirs.usize(..many), "{many}");
            }
        }
    }

    #[test]
    fn bits_are_counted_and_found() {
        for bits in (1..600).chain([u64::MAX, 1 << 63, 0x8000_0100_0000_0001]) {
            let all: Vec<u32> = (0..u64::BITS).filter(|bit| bits >> bit & 1 == 1).collect();
            assert_eq!(count(bits), all.len());
            all.iter().enumerate().for_each(|(skip, bit)| assert_eq!(nth(bits, skip), *bit, "{bits} {skip}"));
        }
    }
}
