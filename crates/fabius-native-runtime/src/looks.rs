//! Loops that look at one object and do nothing else: `while (!flag);`, a lock made of an exchange, `while (trylock(&m));`. As long as
//! the object is as it was found, another look would find the same and come back to the same place. So who has looked in vain
//! once waits for another value, as for a lock, and what happens in between has no executions that differ in how often it looked.
//!
//! Who gives way in such a loop does so where others may go on for nothing; the wait behind that adds nothing to it.
//!
//! That nothing else was done is known by what the thread calls of ours: from one look to the next nothing but to give way and to use
//! its own stack, neither another access to memory nor a function of the library; its stack, its registers, and what the operation is
//! given are the same. Code that tells us nothing may still change what the loop depends on. So it is seen at each place whether memory
//! is the same at the second look, and where nobody can go on any more, those who wait like this look again: it is a livelock only if
//! memory is then as it was. Loops that look at several objects are another matter (`state.rs`).

use crate::control::calls;
use crate::cycles::{Sight, Unseen};
use crate::op::{Op, Wait};
use crate::place::Place;
use crate::rt::{Rt, rt};

/// So often memory is compared at a place where nobody comes round.
const TRIES: u32 = 64;

/// The thread is about to look at an object from here, by an operation that is given these numbers besides: what it waits for, if
/// it has looked in vain. `until` makes that of what it has found.
pub fn waits(address: usize, given: [u64; 2], pc: usize, until: impl Fn(u64) -> Wait) -> Wait {
    let rt = rt();
    let me = rt.current;
    let look = Sight { at: (pc, address, given), place: Place::here(), found: None, memory: None };
    let before = rt.threads[me].look.replace(look);
    let Some(Sight { at, place, found: Some((value, stack, then)), memory }) = before else { return Wait::Not };
    let nothing_was_done = (at, place, then + 1) == (look.at, look.place, calls());
    let is_here = nothing_was_done && !rt.threads[me].looks_again && rt.stack_from(me, place) == Some(stack);
    if is_here && !rt.is_mapped(address) && !rt.changes_unseen(pc, memory) { until(value) } else { Wait::Not }
}

/// What the thread has found, and left there.
pub fn found(value: u64) {
    let rt = rt();
    if let Some(look) = rt.threads[rt.current].look {
        let found = rt.stack_from(rt.current, look.place).map(|stack| (value, stack, calls()));
        let memory = rt.looks_for_unseen(look.at.0).then(|| rt.memory()).flatten();
        rt.me().look = Some(Sight { found, memory, ..look });
    }
}

/// Whether the running thread, whose call is under way, has made no other one since it has looked in vain.
pub fn has_only_looked() -> bool {
    let rt = rt();
    let Some(Sight { at, found: Some((_, _, then)), memory, .. }) = rt.me().look else { return false };
    let has = then + 1 == calls();
    if has && memory.is_some() && rt.memory() != memory {
        rt.unseen.entry(at.0).or_default().changes = Some(true);
    }
    has
}

/// The call is over, and counts as none: the thread has given way.
pub fn has_only_looked_still() {
    let rt = rt();
    let Some(mut look) = rt.me().look else { return };
    if let Some((_, _, then)) = look.found.as_mut() {
        *then = calls();
    }
    look.memory = look.memory.and_then(|_| rt.memory());
    rt.me().look = Some(look);
}

impl Rt {
    /// Whether it is to be seen what the code behind a look from there changes.
    fn looks_for_unseen(&mut self, pc: usize) -> bool {
        let Unseen { changes, tries } = self.unseen.entry(pc).or_default();
        *tries += 1;
        changes.is_none() && *tries <= TRIES
    }

    /// Whether that code changes memory without a call of ours, which is found out when the thread first comes round.
    fn changes_unseen(&mut self, pc: usize, memory: Option<u64>) -> bool {
        let now = memory.and_then(|_| self.memory());
        let known = self.unseen.entry(pc).or_default();
        if known.changes.is_none() && memory.is_some() {
            known.changes = Some(memory != now);
        }
        known.changes == Some(true)
    }

    /// If nobody can go on any more, but some wait for another value: these look again from here on, and are watched. Not where
    /// there is too much to be watched.
    pub fn lets_look_again(&mut self) {
        let all = 0..self.threads.len();
        if self.is_ready(self.current) || all.clone().any(|thread| self.is_ready(thread)) {
            return;
        }
        let waits = |rt: &Rt, thread: usize| !rt.threads[thread].finished && rt.threads[thread].op.wait.is_in_loop();
        if !all.clone().any(|thread| waits(self, thread)) || self.state().is_none() {
            return;
        }
        for number in all {
            if waits(self, number) {
                let thread = &mut self.threads[number];
                (thread.looks_again, thread.spins) = (true, true);
                thread.op = Op { wait: Wait::Not, ..thread.op };
                self.free[number] = true;
                let op = self.threads[number].op;
                self.waiting.announces(number, &op);
            }
        }
    }

    /// Whether the object has another value.
    pub fn is_other(bytes: (usize, usize), value: u64) -> bool {
        let mut now = [0; 8];
        let size = bytes.1.min(now.len());
        // SAFETY: the program was looking at these bytes, and cannot have given them back to the kernel.
        unsafe { std::ptr::copy_nonoverlapping(bytes.0 as *const u8, now.as_mut_ptr(), size) };
        u64::from_le_bytes(now) != value
    }

    /// Whether the program has mapped this memory, and may unmap it.
    fn is_mapped(&self, address: usize) -> bool {
        self.mapped.iter().any(|part| part.contains(&address))
    }
}
