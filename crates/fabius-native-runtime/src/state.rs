//! Recognizes that a thread which waits in a loop only repeats itself: everything is as it was when it went on before. Then
//! it need not go on before another thread has made a step.
//!
//! A thread that has come back by its own steps alone, without giving way, may be left for nothing wherever it is on that circle:
//! so it goes round once more, and waits then where others can go on. It may hold a lock in a part of the circle, and others
//! that wait for it can go on in another part.
//!
//! The state is compared for real, as a number of all that a restored execution consists of: the variables of the program
//! and its libraries, the heap, stacks and registers, thread-local storage.

use crate::clocks::Mixed;
use crate::cycles::LONGEST;
use crate::place::Place;
use crate::rt::{Left, Rt, Streak, Thread};
use std::ffi::c_void;
use std::hash::Hasher;
use std::ops::Range;

/// Steps that a thread makes by itself until it is looked at whether it repeats itself, and how many are compared then;
/// after twice as many again.
const ALONE: u32 = 64;
const WINDOW: u32 = LONGEST as u32;

/// How often a thread may give way without a step of another one, where it does not come back to the same state, and where
/// there is too much to look whether it does.
const YIELDS: u32 = 100;
const YIELDS_UNSEEN: u32 = 10;

/// How often a thread that seems to go round is looked at without need, until it has made many steps by itself.
const DOUBTS: u32 = 4;

/// Whether a thread that has made so many steps by itself is looked at.
#[inline]
pub fn is_long(alone: u32) -> bool {
    alone >= ALONE && alone - (1 << alone.ilog2()) < WINDOW
}

/// How often a thread may come back to a state where nobody else can go on, until it is found that nobody ever will: behind the
/// first time it is watched, and goes round once more.
const ROUNDS: u32 = 2;

/// More bytes than this are not compared.
const MOST: usize = 4 << 20;

/// Larger stacks are not compared to see whether a thread may have come back.
const MOST_OF_STACK: usize = 4096;

impl Rt {
    /// The thread is about to go on.
    pub fn goes_on(&mut self, me: usize) {
        let known = self.seen_state.take();
        self.steps += 1;
        if self.streak.thread != me {
            self.streak = Streak { thread: me, ..Streak::default() };
            self.recent.count = 0;
        }
        self.streak.steps += 1;
        self.streak.watched = self.streak.watched.saturating_sub(1);
        self.looks_for_circle(me);
        self.streak.yields += u32::from(self.threads[me].gave_way);
        if (self.threads[me].gave_way || self.is_watched(me))
            && let Some(state) = known.or_else(|| self.state())
        {
            let shared = self.cycles.are_looked_for().then_some(self.cycles.shared);
            let left = Left { step: self.steps, yields: self.streak.yields, shared, rounds: 0 };
            self.left.entry((me, state)).or_insert(left);
        }
        self.threads[me].gave_way = false;
    }

    fn is_watched(&self, thread: usize) -> bool {
        let alone = if self.streak.thread == thread { self.streak.steps } else { 0 };
        self.threads[thread].spins || is_long(alone) || self.streak.thread == thread && self.streak.watched > 0
    }

    /// A thread that is where it was, with the same stack and registers, may have come back: then it is seen whether everything else
    /// is the same, too.
    #[inline]
    fn looks_for_circle(&mut self, me: usize) {
        let op = &self.threads[me].op;
        let place = op.pc ^ op.object.rotate_left(32);
        let known = &self.recent.places[..self.recent.count.min(LONGEST)];
        match known.iter().position(|(at, _)| *at == place) {
            None => {
                self.recent.places[self.recent.count % LONGEST] = (place, 0);
                self.recent.count += 1;
            }
            Some(at) if self.streak.doubts < DOUBTS => self.comes_to_known_place(me, at),
            Some(_) => {}
        }
    }

    fn comes_to_known_place(&mut self, me: usize, at: usize) {
        let Some(now) = self.own_state(me) else { return };
        let before = std::mem::replace(&mut self.recent.places[at].1, now);
        if before == now {
            self.streak.watched = WINDOW;
            self.streak.doubts += 1;
        }
    }

    /// A number of the thread's stack and registers; `None` if the stack is large.
    fn own_state(&self, thread: usize) -> Option<u64> {
        let place = self.threads[thread].place;
        let mut hash = Hash::default();
        hash.word(self.stack_from(thread, place)?);
        place.words().into_iter().for_each(|word| hash.word(word as u64));
        Some(hash.finish())
    }

    /// A number of the thread's stack from there on; `None` if it is large.
    pub fn stack_from(&self, thread: usize, place: Place) -> Option<u64> {
        let fiber = &self.fibers[thread];
        let part = place.stack()..fiber.stack().end;
        if !fiber.holds(place.stack()) || part.len() > MOST_OF_STACK {
            return None;
        }
        let mut hash = Hash::default();
        hash.bytes(part);
        Some(hash.finish())
    }

    /// Whether to switch away from the thread is no preemption, though it could go on.
    pub fn may_be_left(&self, thread: usize) -> bool {
        let thread = &self.threads[thread];
        thread.gave_way || thread.goes_round == Some(self.steps)
    }

    /// After a step: who would only repeat himself waits.
    pub fn look_for_repetition(&mut self) {
        let waits = |t: &Thread| !t.finished && t.gave_way;
        let current = self.current;
        if !self.left.is_empty() {
            self.possible.resize(self.threads.len(), 0);
            for thread in 0..self.threads.len() {
                if self.is_possible(thread) {
                    self.possible[thread] = self.steps;
                }
            }
        }
        let watched = self.is_watched(current) && !self.threads[current].finished;
        if !(watched || self.threads.iter().any(waits)) || self.left.is_empty() && self.streak.yields <= YIELDS_UNSEEN {
            return;
        }
        let state = self.state();
        self.seen_state = state;
        let most = if state.is_some() { YIELDS } else { YIELDS_UNSEEN };
        for number in 0..self.threads.len() {
            let is_current = number == current && watched;
            let thread = &self.threads[number];
            if !(waits(thread) || is_current || thread.spins) {
                continue;
            }
            let others = |rt: &Rt| (0..rt.threads.len()).any(|other| other != number && rt.is_ready(other));
            if state.is_some_and(|state| self.left.contains_key(&(number, state))) {
                let others = others(self);
                self.comes_back_to(number, state.unwrap_or_default(), is_current, others);
            } else if self.streak.thread == number && self.streak.yields > most && others(self) {
                self.threads[number].repeats = Some(self.steps);
                self.repeated = self.steps;
                self.unfair = true;
            }
        }
    }

    /// The thread has gone on from this state before.
    fn comes_back_to(&mut self, number: usize, state: u64, is_current: bool, others: bool) {
        let steps = self.steps;
        let streak = self.streak;
        let Some(left) = self.left.get_mut(&(number, state)) else { return };
        let thread = &mut self.threads[number];
        let alone = streak.thread == number && steps - left.step < u64::from(streak.steps);
        let is_point = is_current && !thread.gave_way;
        if is_point && alone && left.yields != streak.yields {
            // It waits where it gives way.
            return;
        }
        thread.spins |= is_point;
        left.rounds += 1;
        self.repeated = steps;
        match left.rounds {
            1 if is_point && alone && others => thread.goes_round = Some(steps),
            1..=ROUNDS if !others => thread.spins = true,
            _ => thread.repeats = Some(steps),
        }
    }

    /// A number of all memory but stacks; `None` if that is too much to be looked at.
    pub fn memory(&self) -> Option<u64> {
        let mut hash = Hash::default();
        self.hash_memory(&mut hash)?;
        let block = self.fibers[self.current].block;
        hash.changes(self.shape.storage(block).start, self.shape.fresh_storage());
        Some(hash.finish())
    }

    fn hash_memory(&self, hash: &mut Hash) -> Option<()> {
        if self.maps_file {
            return None;
        }
        let mut size = 0;
        let mut is_little = |part: &Range<usize>| {
            size += part.len();
            size <= MOST
        };
        for (part, before) in self.image.small() {
            if !is_little(&part) {
                return None;
            }
            if self.unreadable.is_empty() {
                hash.changes(part.start, before);
            } else {
                self.readable(part).into_iter().for_each(|part| hash.bytes(part));
            }
        }
        for page in self.image.written_of_large()? {
            if !is_little(&page) {
                return None;
            }
            hash.word(page.start as u64);
            self.readable(page).into_iter().for_each(|part| hash.bytes(part));
        }
        for part in crate::heap::added().chain(self.mapped.iter().cloned()).flat_map(|part| self.readable(part)) {
            if !is_little(&part) {
                return None;
            }
            // The states of the heap's blocks follow from what was called.
            hash.bytes(part);
        }
        Some(())
    }

    /// A number of everything; `None` if that is too much to be looked at.
    pub fn state(&self) -> Option<u64> {
        let mut hash = Hash::default();
        self.hash_memory(&mut hash)?;
        hash.word(if self.clock_read { self.now } else { 0 });
        hash.word(self.random);
        hash.word(self.moved);
        hash.word(self.at_exit.len() as u64);
        self.semaphores.values().for_each(|value| hash.word(value));
        hash.word(self.signals.len() as u64);
        for (number, thread) in self.threads.iter().enumerate() {
            // Values of keys are few, and in no particular order.
            let values = thread.values.iter().map(|(key, value)| {
                let mut one = Hash::default();
                one.word(u64::from(*key));
                one.word(*value as u64);
                one.finish()
            });
            hash.word(values.fold(0, u64::wrapping_add));
            hash.word(
                u64::from(thread.cancelled) | u64::from(thread.cancellable) << 1 | u64::from(thread.asynchronous) << 2,
            );
            hash.word(thread.signals.len() as u64);
            hash.word(thread.blocked);
            // An access to many bytes is many points, at the same place of the program.
            hash.word(thread.op.name.as_ptr() as u64);
            hash.word(thread.op.object as u64);
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
            hash.changes(self.shape.storage(fiber.block).start, self.shape.fresh_storage());
        }
        Some(hash.finish())
    }

    /// What may be looked at of a part of memory.
    fn readable(&self, part: Range<usize>) -> Vec<Range<usize>> {
        self.unreadable.iter().fold(vec![part], without)
    }
}

/// These parts of memory but for that one.
pub fn without(parts: Vec<Range<usize>>, gone: &Range<usize>) -> Vec<Range<usize>> {
    let left = |part: Range<usize>| [part.start..part.end.min(gone.start), part.start.max(gone.end)..part.end];
    parts.into_iter().flat_map(left).filter(|part| !part.is_empty()).collect()
}

/// So many bytes are compared at once with what was there before.
const CHUNK: usize = 512;

/// Numbers to begin with.
const LANES: [(u64, u64); 4] = [
    (0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03),
    (0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb),
    (0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53),
    (0x2545_f491_4f6c_dd1d, 0x9fb2_1c65_1e98_df25),
];

fn mix((a, b): &mut (u64, u64), x: u64, y: u64) {
    let product = u128::from(x ^ *a) * u128::from(y ^ *b);
    *a = (*a ^ product as u64).rotate_left(23).wrapping_add(x);
    *b = b.wrapping_add((product >> 64) as u64) ^ y;
}

#[derive(Default)]
struct Hash(Mixed);

impl Hash {
    fn word(&mut self, word: u64) {
        self.0.write_u64(word);
    }

    /// What is at this address, where it is not what was there before: most of a program's memory never changes, and to
    /// compare is faster.
    fn changes(&mut self, address: usize, before: &[u8]) {
        for (number, before) in before.chunks(CHUNK).enumerate() {
            let at = address + number * CHUNK;
            // SAFETY: the part is mapped; it is only looked at.
            if unsafe { libc::memcmp(at as *const c_void, before.as_ptr().cast(), before.len()) } != 0 {
                self.word(at as u64);
                self.bytes(at..at + before.len());
            }
        }
    }

    fn bytes(&mut self, part: Range<usize>) {
        // SAFETY: the part is mapped; it is only looked at.
        let word = |at: usize| unsafe { *(at as *const u64) };
        // Several numbers at once: none waits for what another one comes to.
        let mut lanes = LANES;
        let mut at = part.start.next_multiple_of(8);
        while at + 16 * LANES.len() <= part.end {
            for (number, lane) in lanes.iter_mut().enumerate() {
                mix(lane, word(at + 16 * number), word(at + 16 * number + 8));
            }
            at += 16 * LANES.len();
        }
        while at < part.end & !7 {
            mix(&mut lanes[0], word(at), 0);
            at += 8;
        }
        for (a, b) in lanes {
            self.word(a);
            self.word(b);
        }
    }

    fn finish(self) -> u64 {
        self.0.finish()
    }
}
