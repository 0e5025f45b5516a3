//! What rounds of loops leave in registers and on the stack, where no code may ever look at it.
//!
//! Frames have room that is not written to, or in part: a tag of one byte in a word, of which the rest is what an earlier call or a
//! register had left there. Copies take it along. What it is can depend on the thread of the operating system, and on how the
//! steps before were made. If all of the stack is compared (`repetition.rs`, 1), a loop repeats itself at one time from the first
//! round on, and at another from the second; time may then pass a round later, and one schedule is two executions.
//!
//! 1. This is noticed where a thread comes to the end of a round that can be made again as it was: if others that came there for
//!    the first time were where they had been, and this one is not, or if it has come there by that round before. Then, and where
//!    a schedule does not fit when it is run again, the check begins anew ([`Refine::REMAINS`](super::Refine)).
//! 2. From then on the place of a thread that has come there by a round that was tried out is that round, with what it has looked at,
//!    and the rest of the stack. What the round has written follows from these, if nothing else has changed unseen and no time has
//!    passed meanwhile; else all of the stack is compared. What it has only copied does not follow: that belongs to the rest, so that
//!    who exchanges two values in each round is not where it was.
//! 3. Such a place is another one than that before the first round, whatever lies there. Between two operations of a round there must have
//!    been all that it leaves, once. So a loop that would be seen to repeat itself after one round goes round twice: up to 1.9 times as
//!    many executions, which is why it is not always done.

use super::moved::Origin;

/// What a round leaves that follows from what it has found, or that no code looks at.
#[derive(Clone, Debug, Default)]
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
    /// What follows of these words of the stack with that top, and of the registers; `follows` says it of an origin.
    pub fn of(top: usize, words: &[Leaves], registers: [Origin; 6], follows: impl Fn(Origin) -> bool) -> Left {
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
    /// Whether it gave way at the same place before, and whether it had come there by the same round.
    is_same: bool,
    is_second: bool,
}

impl Came {
    /// The thread has come to another place, or to the same.
    pub fn comes(&mut self, by: Option<u64>, place: Option<u64>) {
        *self = Came { by, place, is_same: place == self.place, is_second: by.is_some() && by == self.by };
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
        if came.is_second {
            return !came.is_same;
        }
        self.is_there |= came.is_same;
        self.is_elsewhere |= !came.is_same;
        self.is_there && self.is_elsewhere
    }
}
