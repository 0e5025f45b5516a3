//! What happens in one execution, written down.

use crate::races::Touch;
use crate::recorder::{Accessed, DEEPEST, MOST, Recorder, value};
use crate::rt::{Rt, Thread};
use fabius_native_protocol::{Event, Race, Recorded, ThreadEnd};

/// The calls of a thread that are under way, outermost first, and a place in the innermost. Recursion is cut off.
fn calls(thread: &Thread, pc: Option<usize>) -> Vec<u64> {
    let calls = &thread.calls[thread.calls.len().saturating_sub(DEEPEST)..];
    calls.iter().map(|(pc, _)| *pc as u64).chain(pc.map(|pc| pc as u64)).collect()
}

impl Rt {
    /// An event at a place.
    pub fn event_at(&self, pc: usize) -> Event {
        Event { stack: self.calls(pc), ..Event::default() }
    }

    /// The calls that are under way, and the place at which the innermost of them is.
    pub fn calls(&self, pc: usize) -> Vec<u64> {
        calls(&self.threads[self.current], (pc != 0).then_some(pc))
    }

    /// Writes an event down.
    pub fn event(&mut self, mut event: Event) {
        self.recorder.settle();
        event.block = self.block(event.address as usize);
        let words = [self.current as u64, event.address, event.stack.last().copied().unwrap_or(0)];
        for word in words {
            self.recorder.number = (self.recorder.number ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        let Some(step) = self.recorder.steps.last_mut() else { return };
        if step.events.len() < MOST {
            step.events.push(event);
        } else {
            step.left_out += 1;
        }
    }

    /// Writes an access to memory down.
    pub fn access(&mut self, name: &str, touch: Touch, pc: usize) {
        let old = value(touch.address, touch.size);
        let (address, size) = (touch.address as u64, touch.size as u32);
        self.event(Event { name: name.into(), address, size, old, ..self.event_at(pc) });
        let at = self.recorder.here();
        if touch.write && old.is_some() {
            self.recorder.pending = Some((at.0 as usize, at.1 as usize));
        }
        self.remember(touch);
    }

    /// Two accesses race at this byte; the second is the one that was written down last.
    pub fn raced(&mut self, byte: usize, second: Touch) {
        let before = self.recorder.accesses.iter().rev().skip(1);
        let first = before
            .filter(|a| a.touch.races(&second, byte))
            .find(|a| !self.clocks.knows(second.thread, a.touch.thread, a.time));
        if let (Some(first), None) = (first, &self.recorder.race) {
            self.recorder.race = Some(Race { first: first.at, second: self.recorder.here(), address: byte as u64 });
        }
    }

    /// Storage is used of a thread that has ended: where that was is written down behind all that it did.
    pub fn uses_what_is_gone(&mut self, owner: usize) {
        let thread = &self.threads[owner];
        // Places are those behind calls.
        let place = vec![if thread.left_at == 0 { thread.function + 1 } else { thread.left_at } as u64];
        if let Some(last) = self.recorder.steps.iter_mut().rfind(|s| s.thread == owner as u32) {
            let note = Some("the thread ends".into());
            last.events.push(Event { name: "end".into(), stack: place.clone(), note, ..Event::default() });
        }
        self.recorder.ended = Some((owner as u32, place));
    }

    /// What the last event found and left.
    pub fn values(&mut self, old: Option<u64>, new: Option<u64>) {
        if let Some(event) = self.recorder.steps.last_mut().and_then(|s| s.events.last_mut()) {
            (event.old, event.new) = (old, new);
        }
    }

    /// Everything, and how the threads are now.
    pub fn recorded(&mut self) -> Recorded {
        self.recorder.settle();
        let threads = (0..self.threads.len()).map(|number| {
            let thread = &self.threads[number];
            let (address, size) = thread.op.place();
            let waits = (!thread.finished).then(|| Event {
                name: thread.op.name.into(),
                address,
                size,
                stack: calls(thread, Some(thread.op.pc)),
                note: (thread.repeats.is_some() || thread.op.wait.is_in_loop()).then(|| "repeats itself".into()),
                ..Event::default()
            });
            let holder = self.holder(&thread.op).filter(|_| waits.is_some()).map(|h| h as u32);
            ThreadEnd { function: if number == 0 { 0 } else { thread.function as u64 }, waits, holder }
        });
        let threads = threads.collect();
        let (failed_at, failed_line) =
            self.failure.as_ref().map(|f| (f.at.clone(), f.line.clone())).unwrap_or_default();
        let Recorder { steps, race, ended, .. } = std::mem::take(&mut self.recorder);
        Recorded { steps, threads, race, ended, failed_at, failed_line }
    }
}

impl Rt {
    /// The access that was written down last is this one.
    pub fn remember(&mut self, touch: Touch) {
        let (time, at) = (self.clocks.now(touch.thread), self.recorder.here());
        self.recorder.accesses.push(Accessed { touch, time, at });
    }
}
