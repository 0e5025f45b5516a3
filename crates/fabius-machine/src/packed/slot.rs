//! Words as bits of a packed state.

/// Bytes behind the last slot that may be read and written along.
pub(super) const PADDING: usize = 8;

/// Where a word is in a packed state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The word.
    pub(super) at: u32,
    byte: u32,
    shift: u32,
    mask: u64,
    /// What is stored is the word minus this; for numbers of any size, see [`folded`].
    lo: i64,
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

    /// A slot of so many bits, at most 32.
    pub(super) fn small(&mut self, at: u32, lo: i64, bits: u32) -> Slot {
        let slot = Slot { at, byte: self.bit as u32 / 8, shift: self.bit as u32 % 8, mask: (1 << bits) - 1, lo };
        self.bit += bits as usize;
        slot
    }

    /// A slot of whole bytes.
    pub(super) fn number(&mut self, at: u32, bits: u32) -> Slot {
        self.bit = self.bit.next_multiple_of(8);
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let slot = Slot { at, byte: self.bit as u32 / 8, shift: 0, mask, lo: 0 };
        self.bit += bits as usize;
        slot
    }

    /// Where the last one ends.
    pub(super) fn bytes(&self) -> usize {
        self.bit.div_ceil(8)
    }
}

impl Slot {
    /// The bits that it is.
    pub(super) fn bits(self) -> std::ops::Range<usize> {
        let begin = (self.byte * 8 + self.shift) as usize;
        begin..begin + self.mask.count_ones() as usize
    }

    #[inline(always)]
    fn raw(self, packed: &[u8]) -> u64 {
        let eight = packed[self.byte as usize..].first_chunk().expect("there are bytes behind the last slot");
        u64::from_le_bytes(*eight) >> self.shift & self.mask
    }

    #[inline(always)]
    fn set_raw(self, raw: u64, packed: &mut [u8]) {
        let eight = packed[self.byte as usize..].first_chunk_mut().expect("there are bytes behind the last slot");
        let old = u64::from_le_bytes(*eight);
        *eight = (old & !(self.mask << self.shift) | raw << self.shift).to_le_bytes();
    }

    /// The word of a small slot.
    #[inline(always)]
    pub(super) fn get(self, packed: &[u8]) -> i64 {
        self.raw(packed) as i64 + self.lo
    }

    /// Sets the word of a small slot.
    #[inline(always)]
    pub(super) fn set(self, word: i64, packed: &mut [u8]) {
        let raw = (word - self.lo) as u64;
        debug_assert!(raw <= self.mask, "the word is in the range of its type");
        self.set_raw(raw, packed);
    }

    /// The word of a slot for numbers.
    #[inline(always)]
    pub(super) fn get_number(self, packed: &[u8]) -> i64 {
        let raw = self.raw(packed);
        (raw >> 1) as i64 ^ -((raw & 1) as i64)
    }

    /// Sets the word of a slot for numbers, which is wide enough.
    #[inline(always)]
    pub(super) fn set_number(self, word: i64, packed: &mut [u8]) {
        self.set_raw(folded(word), packed);
    }
}

/// A number as one without a sign: small ones stay small.
#[inline(always)]
fn folded(word: i64) -> u64 {
    ((word << 1) ^ (word >> 63)) as u64
}

/// The least of the widths that holds all the numbers.
pub(super) fn width(words: impl Iterator<Item = i64>) -> u8 {
    let all = words.fold(0, |all, word| all | folded(word));
    match 64 - all.leading_zeros() {
        0..=8 => 0,
        9..=16 => 1,
        17..=32 => 2,
        _ => 3,
    }
}

/// Bits of a width.
pub(super) fn bits(width: u8) -> u32 {
    8 << width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_and_disturb_nobody() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..200 {
            let mut places = Places::behind(2);
            let small: Vec<(Slot, u32)> = (0..rng.u32(1..20))
                .map(|at| {
                    let bits = rng.u32(0..=8);
                    (places.small(at, -3, bits), bits)
                })
                .collect();
            let wide = rng.u8(0..4);
            let numbers: Vec<Slot> = (0..rng.u32(0..4)).map(|at| places.number(at, bits(wide))).collect();
            let mut packed = vec![0; places.bytes() + PADDING];
            let mut words = vec![-3; small.len()];
            let mut others = vec![0; numbers.len()];
            for _ in 0..50 {
                let i = rng.usize(..small.len());
                words[i] = rng.i64(0..1 << small[i].1) - 3;
                small[i].0.set(words[i], &mut packed);
                if !numbers.is_empty() {
                    let i = rng.usize(..numbers.len());
                    others[i] = rng.i64(..) >> (64 - bits(wide));
                    numbers[i].set_number(others[i], &mut packed);
                }
                assert!(small.iter().zip(&words).all(|((slot, _), word)| slot.get(&packed) == *word));
                assert!(numbers.iter().zip(&others).all(|(slot, word)| slot.get_number(&packed) == *word));
            }
            assert!(width(others.into_iter()) <= wide);
        }
    }
}
