//! What rounds of loops leave in registers and on the stack, where no code may ever look at it.
//!
//! Frames have room that is not written to, or in part: a tag of one byte in a word, of which the rest is what an earlier call or a
//! register had left there. Copies take it along. What it is can depend on the thread of the operating system, and on how the
//! steps before were made. If all of the stack is compared (`repetition.rs`, 1), a loop repeats itself at one time from the first
//! round on, and at another from the second; time may then pass a round later, and one schedule is two executions.
//!
//! 1. This is noticed where a thread comes to the end of a round that can be made again as it was: if others that came there for
//!    the first time were where they had been, and this one is not, or if it has come there by that round before. Then, and where
//!    a schedule does not fit when it is run again, or a thread repeats itself that did not before (`again.rs`), the check begins
//!    anew ([`Refine::REMAINS`](super::Refine)).
//! 2. From then on the place of a thread that has come there by a round that was tried out is that round, with what it has looked at,
//!    and the rest of the stack. What the round has written follows from these, if nothing else has changed unseen and no time has
//!    passed meanwhile; else all of the stack is compared. What it has only copied does not follow: that belongs to the rest, so that
//!    who exchanges two values in each round is not where it was. But if it has come there by the same round twice in a row, what that
//!    copies from where it leaves what follows, follows as well, and so on: the second time it has copied what the first has left. How
//!    long that goes on is part of the place.
//! 3. Such a place is another one than that before the first round, whatever lies there. Between two operations of a round there must have
//!    been all that it leaves, once. So a loop that would be seen to repeat itself after one round goes round twice: up to 1.9 times as
//!    many executions, which is why it is not always done.

use super::moved::Origin;

/// What a round leaves that follows from what it has found, or that no code looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// Which registers, as bits.
    pub registers: u8,
    /// Words, by how far they lie below the top, the farthest first; and which of their bits.
    pub words: Vec<(usize, u64)>,
}

/// A word of the stack that a round has written: where, which of its bytes, as bits, and which of them depend on an origin in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaves {
    pub address: usize,
    pub bytes: u8,
    pub depend: u8,
    pub origin: Origin,
}

impl Left {
    /// After how many of the same round in a row what follows of these words of the stack with that top, and of the registers: once, twice,
    /// and so on, the last one for all that come later. `follows` says it of an origin that is not only copied; `is_left` whether an
    /// origin is what a round before has left, of which this follows.
    pub fn in_a_row(
        top: usize,
        words: &[Leaves],
        registers: [Origin; 6],
        follows: impl Fn(Origin) -> bool,
        is_left: impl Fn(Origin, &Left) -> bool,
    ) -> Vec<Left> {
        let mut all = vec![Left::of(top, words, registers, &follows)];
        loop {
            let last = &all[all.len() - 1];
            let next = Left::of(top, words, registers, |origin| follows(origin) || is_left(origin, last));
            if next == *last {
                return all;
            }
            all.push(next);
        }
    }

    /// Whether all of the memory from so far below the top on is part of it.
    pub fn has(&self, below: usize, size: usize) -> bool {
        let has = |byte: usize| {
            let word = self.words.iter().find(|(from, _)| (from.saturating_sub(7)..=*from).contains(&byte));
            word.is_some_and(|(from, bits)| bits >> (8 * (from - byte)) & 0xff == 0xff)
        };
        (0..size).all(|n| below.checked_sub(n).is_some_and(has))
    }

    /// What follows of these words of the stack with that top, and of the registers; `follows` says it of an origin.
    fn of(top: usize, words: &[Leaves], registers: [Origin; 6], follows: impl Fn(Origin) -> bool) -> Left {
        let word = |leaves: &Leaves| {
            let bytes = if follows(leaves.origin) { leaves.bytes } else { leaves.bytes & !leaves.depend };
            let bits = (0..8).filter(|byte| bytes >> byte & 1 == 1).fold(0, |bits, byte| bits | 0xff << (8 * byte));
            (top - leaves.address, bits)
        };
        let registers = registers.into_iter().enumerate().filter(|(_, origin)| follows(*origin));
        Left {
            registers: registers.fold(0, |registers, (n, _)| registers | 1 << n),
            words: words.iter().map(word).collect(),
        }
    }
}

/// How a thread has come to where it gave way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Came {
    /// By a round that changes nothing: the number of what that looks at.
    pub by: Option<u64>,
    place: Option<u64>,
    /// Whether it gave way at the same place before.
    is_same: bool,
    /// By how many of these rounds in a row.
    times: usize,
}

impl Came {
    /// The thread has come to another place, or to the same.
    pub fn comes(&mut self, by: Option<u64>, place: Option<u64>) {
        *self = Came { by, place, is_same: place == self.place, times: self.times_if(by) };
    }

    /// By how many rounds in a row it has come if it comes by this one now.
    pub fn times_if(&self, by: Option<u64>) -> usize {
        if by.is_some() && by == self.by { self.times + 1 } else { 1 }
    }
}

/// Whether threads come to the ends of rounds where they were before, as far as is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ends {
    is_there: bool,
    is_elsewhere: bool,
}

impl Ends {
    /// One has come to the end of a round that it could make again. Says whether it is not always the same: see 1.
    pub fn differ(&mut self, came: Came) -> bool {
        if came.times > 1 {
            return !came.is_same;
        }
        self.is_there |= came.is_same;
        self.is_elsewhere |= !came.is_same;
        self.is_there && self.is_elsewhere
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rt::moved::{NONE, READS};

    const TOP: usize = 0x7f12_3456_7000;

    fn leaves(below: usize, origin: Origin) -> Leaves {
        Leaves { address: TOP - below, bytes: 0xff, depend: 0xff, origin }
    }

    /// What rounds leave in a row that write these words, of which each is made of nothing, or of the word so far below the top, of which
    /// so many bytes are read.
    fn in_a_row(words: &[(usize, Option<(usize, usize)>)]) -> Vec<Vec<usize>> {
        let origin = |n: usize, from: Option<_>| if from.is_none() { NONE } else { READS + n as Origin };
        let made: Vec<Leaves> =
            words.iter().enumerate().map(|(n, (below, from))| leaves(*below, origin(n, *from))).collect();
        let is_left = |origin: Origin, left: &Left| {
            words[usize::from(origin - READS)].1.is_some_and(|(below, size)| left.has(below, size))
        };
        let all = Left::in_a_row(TOP, &made, [NONE; 6], |origin| origin == NONE, is_left);
        let follow =
            |left: &Left| left.words.iter().filter(|(_, bits)| *bits == u64::MAX).map(|(below, _)| *below).collect();
        all.iter().map(follow).collect()
    }

    #[test]
    fn what_is_copied_follows_once_what_it_is_copied_from_does() {
        assert_eq!(in_a_row(&[(24, None), (16, None)]), [vec![24, 16]]);
        // The third word is copied to the second one, and that to the first one.
        let row = in_a_row(&[(24, Some((16, 8))), (16, Some((8, 8))), (8, None)]);
        assert_eq!(row, [vec![8], vec![16, 8], vec![24, 16, 8]]);
        assert_eq!(in_a_row(&[(24, Some((12, 8))), (16, None), (8, None)]), [vec![16, 8], vec![24, 16, 8]]);
    }

    #[test]
    fn what_only_goes_round_never_follows() {
        assert_eq!(in_a_row(&[(16, Some((8, 8))), (8, Some((16, 8)))]), [Vec::<usize>::new()]);
        // What it is copied from is not written, or not all of it.
        assert_eq!(in_a_row(&[(16, Some((64, 8))), (8, None)]), [vec![8]]);
        assert_eq!(in_a_row(&[(24, Some((12, 8))), (8, None)]), [vec![8]]);
    }
}
