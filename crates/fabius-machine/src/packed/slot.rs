//! Words as bits of a packed state.
//!
//! What has few values has a slot that holds all of them. The others are numbers: they have slots of as many bits as the largest
//! of a state takes, of a few sizes.

use crate::layout::Layout;

/// Bytes behind the last slot that may be read and written along.
pub(super) const PADDING: usize = 8;
/// Sizes of slots for numbers.
const SIZES: [u32; 6] = [3, 4, 8, 16, 32, 64];
/// Bits of what has few values.
const FEW: u32 = 5;
/// Widths that there are.
pub(super) const WIDTHS: usize = 2 * SIZES.len();

/// The width of all numbers of a state: the number of a size, doubled, and one more if there are negative ones. Then slots hold
/// all of them without their sign, see [`folded`].
pub(super) type Width = u8;

/// How a word is stored: what is stored is the word minus its least value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    /// In so many bits.
    Small(i64, u32),
    /// As a number, of so many bits at most if it is never negative.
    Number(i64, Option<u32>),
}

/// How the words of a layout are stored. Some of them may always be what they begin as.
pub(super) fn fields<'a>(layout: &'a Layout, fixed: &'a [bool]) -> impl Iterator<Item = Field> + 'a {
    layout.fields.iter().enumerate().map(|(word, (lo, bits))| match bits {
        _ if fixed.get(word) == Some(&true) => Field::Small(layout.initial[word], 0),
        Some(bits) if *bits <= FEW => Field::Small(*lo, *bits),
        bits => Field::Number(*lo, *bits),
    })
}

/// Where a word is in a packed state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The word.
    pub(super) at: u32,
    byte: u32,
    shift: u8,
    /// Whether what is stored is [`folded`].
    folds: bool,
    mask: u64,
    /// What is stored is the word minus this.
    pub(super) lo: i64,
}

/// Gives slots their places, one behind the other.
#[derive(Debug)]
pub(super) struct Places {
    bit: usize,
}

impl Places {
    /// Begins behind so many bytes.
    pub(super) fn behind(bytes: usize) -> Places {
        Places { bit: bytes * 8 }
    }

    /// A slot of so many bits; those of whole bytes begin with one, as all of more than 32 must.
    pub(super) fn slot(&mut self, at: u32, lo: i64, bits: u32) -> Slot {
        if bits >= 8 {
            self.bit = self.bit.next_multiple_of(8);
        }
        let mask = mask(bits);
        let (byte, shift) = (self.bit as u32 / 8, (self.bit % 8) as u8);
        self.bit += bits as usize;
        Slot { at, byte, shift, folds: false, mask, lo }
    }

    /// A slot for a number of no fixed range.
    pub(super) fn number(&mut self, at: u32, width: Width) -> Slot {
        let slot = self.slot(at, 0, size(width));
        Slot { folds: has_negative(width), ..slot }
    }

    /// Where the last one ends.
    pub(super) fn bytes(&self) -> usize {
        self.bit.div_ceil(8)
    }
}

impl Slot {
    /// The bits that it is.
    pub(super) fn bits(self) -> std::ops::Range<usize> {
        let begin = (self.byte * 8) as usize + usize::from(self.shift);
        begin..begin + self.mask.count_ones() as usize
    }

    /// The word.
    #[inline(always)]
    pub(super) fn get(self, packed: &[u8]) -> i64 {
        let eight = packed[self.byte as usize..].first_chunk().expect("there are bytes behind the last slot");
        let raw = u64::from_le_bytes(*eight) >> self.shift & self.mask;
        if self.folds { (raw >> 1) as i64 ^ -((raw & 1) as i64) } else { raw as i64 + self.lo }
    }

    /// Sets the word.
    #[inline(always)]
    pub(super) fn set(self, word: i64, packed: &mut [u8]) {
        if self.folds {
            self.set_raw(folded(word), packed);
        } else {
            self.set_small(word, packed);
        }
    }

    /// Sets a word of few values.
    #[inline(always)]
    pub(super) fn set_small(self, word: i64, packed: &mut [u8]) {
        self.set_raw(word.wrapping_sub(self.lo) as u64, packed);
    }

    #[inline(always)]
    fn set_raw(self, raw: u64, packed: &mut [u8]) {
        debug_assert!(raw <= self.mask, "the word fits");
        let eight = packed[self.byte as usize..].first_chunk_mut().expect("there are bytes behind the last slot");
        let old = u64::from_le_bytes(*eight);
        *eight = (old & !(self.mask << self.shift) | raw << self.shift).to_le_bytes();
    }
}

/// A number as one without a sign: small ones stay small.
#[inline(always)]
fn folded(word: i64) -> u64 {
    ((word << 1) ^ (word >> 63)) as u64
}

fn mask(bits: u32) -> u64 {
    if bits == 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The least width that holds all the numbers, each without its least value.
pub(super) fn width(words: impl Iterator<Item = i64>) -> Width {
    let (plain, folds) = words.fold((0, 0), |(plain, folds), word| (plain | word as u64, folds | folded(word)));
    let is_negative = plain >> 63 != 0;
    let bits = 64 - if is_negative { folds } else { plain }.leading_zeros();
    let size = SIZES.iter().position(|size| *size >= bits).expect("the last one holds all");
    2 * size as u8 + u8::from(is_negative)
}

/// Bits of a slot for numbers.
pub(super) fn size(width: Width) -> u32 {
    SIZES[usize::from(width / 2)]
}

fn has_negative(width: Width) -> bool {
    !width.is_multiple_of(2)
}

/// What a number may become without another width for all, whatever the others are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slack {
    /// The largest that takes no width of its own, and the largest that there may be.
    low: u64,
    high: u64,
}

impl Slack {
    pub(super) fn of(width: Width) -> Slack {
        let sign = u32::from(has_negative(width));
        let below = usize::from(width / 2).checked_sub(1).map_or(size(width), |below| SIZES[below]);
        // None that is negative is among them.
        Slack { low: mask((below - sign).min(63)), high: mask((size(width) - sign).min(63)) }
    }

    /// Whether the width stays, if a number becomes another one.
    #[inline(always)]
    pub(super) fn allows(self, old: i64, new: i64) -> bool {
        let (old, new) = (old as u64, new as u64);
        new <= self.high && (old <= self.low || old <= self.high && new > self.low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_and_disturb_nobody() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..500 {
            let mut words: Vec<i64> = (0..rng.usize(1..20)).map(|_| rng.i64(..) >> rng.u32(40..64)).collect();
            if rng.bool() {
                words.iter_mut().for_each(|word| *word = word.wrapping_abs());
            }
            let few: Vec<u32> = words.iter().map(|_| rng.u32(0..=FEW)).collect();
            let width = width(words.iter().copied());
            let mut places = Places::behind(2);
            let mut slots: Vec<Slot> = few.iter().map(|bits| places.slot(0, -3, *bits)).collect();
            slots.extend(words.iter().map(|_| places.number(0, width)));
            let mut all: Vec<i64> = few.iter().map(|bits| rng.i64(0..1 << bits) - 3).collect();
            all.extend(words);
            let mut packed = vec![0; places.bytes() + PADDING];
            let mut order: Vec<usize> = (0..all.len()).collect();
            rng.shuffle(&mut order);
            order.iter().for_each(|i| slots[*i].set(all[*i], &mut packed));
            assert!(slots.iter().zip(&all).all(|(slot, word)| slot.get(&packed) == *word));
            assert!(packed[places.bytes()..].iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn where_slack_allows_it_the_width_stays() {
        let mut rng = fastrand::Rng::with_seed(4);
        let mut allowed = 0;
        for _ in 0..50_000 {
            let (right, negative) = (rng.u32(1..64), rng.bool());
            let number = |rng: &mut fastrand::Rng| {
                let number = rng.i64(..) >> right.saturating_sub(rng.u32(0..3));
                if negative { number } else { number & i64::MAX >> right.saturating_sub(1) }
            };
            let mut words: Vec<i64> = (0..3).map(|_| number(&mut rng)).collect();
            let (before, old) = (width(words.iter().copied()), words[0]);
            words[0] = if rng.u32(..8) == 0 { -1 } else { number(&mut rng) };
            if Slack::of(before).allows(old, words[0]) {
                allowed += 1;
                assert_eq!(width(words.iter().copied()), before, "{old} in {words:?}");
            }
        }
        assert!(allowed > 20_000, "{allowed}");
    }
}
