//! Recognizes that a thread which waits in a loop only repeats itself: everything is as it was when it went on before. Then
//! it need not go on before another thread has made a step.
//!
//! The state is compared for real, as a number of all that a restored execution consists of: the variables of the program
//! and its libraries, the heap, stacks and registers, thread-local storage.

use crate::clocks::Mixed;
use crate::place::Place;
use crate::rt::{Rt, Streak, Thread};
use std::hash::Hasher;

/// Steps that a thread makes by itself until it is looked at whether it repeats itself, and how many are compared then;
/// after twice as many again.
const ALONE: u32 = 64;
const WINDOW: u32 = 8;

/// How often a thread may give way without a step of another one, where it does not come back to the same state.
const YIELDS: u32 = 100;

/// More bytes than this are not compared.
const MOST: usize = 4 << 20;

impl Rt {
    /// The thread is about to go on.
    pub fn goes_on(&mut self, me: usize) {
        self.steps += 1;
        if self.streak.thread != me {
            self.streak = Streak { thread: me, ..Streak::default() };
        }
        self.streak.steps += 1;
        self.streak.yields += u32::from(self.threads[me].gave_way);
        if (self.threads[me].gave_way || self.is_watched(me))
            && let Some(state) = self.state()
        {
            self.left.insert((me, state));
        }
        self.threads[me].gave_way = false;
    }

    fn is_watched(&self, thread: usize) -> bool {
        let alone = if self.streak.thread == thread { self.streak.steps } else { 0 };
        self.threads[thread].spins || alone >= ALONE && alone - (1 << alone.ilog2()) < WINDOW
    }

    /// After a step: who would only repeat himself waits.
    pub fn look_for_repetition(&mut self) {
        let waits = |t: &Thread| !t.finished && t.gave_way;
        let current = self.current;
        let watched = self.is_watched(current) && !self.threads[current].finished;
        if self.left.is_empty() || !(watched || self.threads.iter().any(waits)) {
            return;
        }
        let Some(state) = self.state() else { return };
        for number in 0..self.threads.len() {
            let is_current = number == current && watched;
            let thread = &self.threads[number];
            if !(waits(thread) || is_current || thread.spins) {
                continue;
            }
            if self.left.contains(&(number, state)) {
                let steps = self.steps;
                let thread = &mut self.threads[number];
                thread.repeats = Some(steps);
                thread.spins |= is_current && !thread.gave_way;
                self.repeated = steps;
            } else if self.streak.thread == number
                && self.streak.yields > YIELDS
                && (0..self.threads.len()).any(|o| o != number && self.is_ready(o))
            {
                self.threads[number].repeats = Some(self.steps);
                self.repeated = self.steps;
                self.unfair = true;
            }
        }
    }

    /// A number of everything; `None` if that is too much to be looked at.
    fn state(&self) -> Option<u64> {
        let mut hash = Hash::default();
        let mut size = 0;
        for part in self.image.small()?.chain(crate::heap::in_use()) {
            size += part.len();
            if size > MOST {
                return None;
            }
            // The states of the heap's blocks follow from what was called.
            hash.bytes(part);
        }
        hash.word(if self.clock_read { self.now } else { 0 });
        hash.word(self.random);
        hash.word(self.at_exit.len() as u64);
        for (number, thread) in self.threads.iter().enumerate() {
            // Values of keys are few, and in no particular order.
            let values = thread.values.iter().map(|(key, value)| {
                let mut one = Hash::default();
                one.word(u64::from(*key));
                one.word(*value as u64);
                one.finish()
            });
            hash.word(values.fold(0, u64::wrapping_add));
            hash.word(u64::from(thread.cancelled) | (thread.signals.len() as u64) << 1);
            hash.word(thread.op.name.as_ptr() as u64);
            hash.word(u64::from(thread.finished) | u64::from(thread.woken) << 1);
            if thread.finished {
                continue;
            }
            for word in thread.place.words() {
                hash.word(word as u64);
            }
            let fiber = &self.fibers[number];
            let used = fiber.in_use();
            let from = if thread.place == Place::default() { used.start } else { thread.place.stack() };
            hash.bytes(from..used.end);
            hash.bytes(self.shape.storage(fiber.block));
        }
        Some(hash.finish())
    }
}

#[derive(Default)]
struct Hash(Mixed);

impl Hash {
    fn word(&mut self, word: u64) {
        self.0.write_u64(word);
    }

    fn bytes(&mut self, part: std::ops::Range<usize>) {
        let (mut a, mut b) = (0x9e37_79b9_7f4a_7c15_u64, 0xd1b5_4a32_d192_ed03_u64);
        let mut at = part.start.next_multiple_of(8);
        while at + 16 <= part.end {
            // SAFETY: the part is mapped; it is only looked at.
            let (x, y) = unsafe { (*(at as *const u64), *((at + 8) as *const u64)) };
            let product = u128::from(x ^ a) * u128::from(y ^ b);
            a = (a ^ product as u64).rotate_left(23).wrapping_add(x);
            b = b.wrapping_add((product >> 64) as u64) ^ y;
            at += 16;
        }
        while at < part.end & !7 {
            // SAFETY: as above.
            a = (a ^ unsafe { *(at as *const u64) }).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            at += 8;
        }
        self.word(a);
        self.word(b);
    }

    fn finish(self) -> u64 {
        self.0.finish()
    }
}
