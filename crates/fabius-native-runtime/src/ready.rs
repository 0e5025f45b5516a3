//! Who can go on.

use crate::delivery;
use crate::hooks::{files, mutex, once, polls, rwlock, semaphore};
use crate::op::{Op, Wait};
use crate::rt::{Rt, Thread};

impl Rt {
    /// Whether what an operation waits for is so.
    pub fn is_so(&self, thread: usize, op: &Op) -> bool {
        match op.wait {
            Wait::Not => true,
            Wait::Mutex | Wait::Freed => mutex::is_free(op.object, thread),
            Wait::Other(value) => Rt::is_other(op.bytes, value),
            Wait::Read => rwlock::is_free(op.object, false),
            Wait::Write => rwlock::is_free(op.object, true),
            Wait::Spin => rwlock::spin_is_free(op.object),
            Wait::Semaphore | Wait::Raised => semaphore::is_up(op.object),
            Wait::Woken => self.threads[thread].woken,
            Wait::End(other) => self.threads[other].finished,
            Wait::Once => once::is_free(op.object),
            Wait::Stream(stream) => self.streams.get(&stream).is_none_or(|(owner, _)| *owner == thread),
            Wait::Guard => once::guard_is_free(op.object),
            Wait::File(file, events) => files::is_ready(file, events),
            Wait::Files(files) => polls::is_ready(files),
            Wait::Message(queue) => self.queues.has_message(queue),
            Wait::Room(queue) => self.queues.has_room(queue),
            // SAFETY: on the stack of the thread that waits.
            Wait::Operations(all) => self.semaphores.is_settled(unsafe { &*all }),
            Wait::Signal(set) => delivery::is_there(thread, set),
            Wait::Others => {
                let is_over = |t: &Thread| t.finished || t.is_timer;
                self.threads.iter().enumerate().all(|(other, t)| other == thread || is_over(t))
            }
        }
    }

    /// Whether the thread's next step is possible.
    pub fn is_possible(&self, thread: usize) -> bool {
        let t = &self.threads[thread];
        // What it waited for last may be gone with its stack.
        if t.finished {
            return false;
        }
        let waits = t.op.deadline.is_none() && !self.is_so(thread, &t.op) && !self.is_cancelled(thread);
        !waits || delivery::is_asked(thread)
    }

    /// Whether the thread ends instead of waiting.
    pub fn is_cancelled(&self, thread: usize) -> bool {
        let t = &self.threads[thread];
        (t.op.cancels || t.asynchronous) && t.cancelled && t.cancellable
    }

    /// The same, but for one who repeats himself.
    #[inline(always)]
    pub fn is_ready(&self, thread: usize) -> bool {
        // Threads may be many, and this is asked of each before every step.
        self.free[thread] && self.repeated != self.steps || self.is_ready_to_act(thread)
    }

    fn is_ready_to_act(&self, thread: usize) -> bool {
        self.threads[thread].repeats != Some(self.steps) && self.is_possible(thread)
    }

    /// Who holds what an operation waits for.
    pub fn holder(&self, op: &Op) -> Option<usize> {
        match op.wait {
            Wait::Mutex | Wait::Freed => mutex::owner(op.object),
            Wait::End(other) => Some(other),
            Wait::Stream(stream) => self.streams.get(&stream).map(|(owner, _)| *owner),
            Wait::Read | Wait::Write => rwlock::writer(op.object),
            _ => None,
        }
    }
}
