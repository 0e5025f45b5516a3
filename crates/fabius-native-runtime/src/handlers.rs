//! Where handlers of signals may run: between any two accesses of the thread that they interrupt.
//!
//! Handlers run at the scheduling points of their thread. What they do elsewhere makes a difference only by memory that both
//! access, the handler and what it interrupts, of which one writes: to the detection of data races both are the same thread.
//! Such accesses are written down here, and become points like those that race; a thread that has handlers to run has a point
//! at its end, too. What is atomic or volatile is a point anyway. A handler that is left by a jump, or ends its thread, shows
//! all that the thread has done so far: that is said in the answer, unless every access is a point.

use crate::interruptions::handled;
use crate::races::Touch;
use crate::rt::{Rt, rt};
use fabius_trace::Points;

const JUMPED: &str =
    "a handler of a signal is left by a jump or ends its thread, which was looked at where threads are switched";

impl Rt {
    /// Whether anybody else is there: otherwise nobody sends a signal meanwhile.
    pub fn has_others(&self) -> bool {
        self.threads.iter().enumerate().any(|(number, thread)| number != self.current && !thread.finished)
    }

    /// Whether a signal may come to the thread whose handler runs.
    pub fn may_be_interrupted(&self) -> bool {
        handled() & !self.threads[self.current].blocked != 0 && self.has_others()
    }

    /// The thread stops what it does to handle signals.
    pub fn is_interrupted(&mut self) {
        let here = 0u8;
        self.me().interrupted.push((&raw const here).addr());
    }

    /// It goes on with that.
    pub fn goes_on_behind_handlers(&mut self) {
        self.me().interrupted.pop();
    }

    /// The thread ends.
    pub fn ends_behind_handlers(&mut self) {
        if !self.me().interrupted.is_empty() {
            self.is_left();
        }
    }

    fn is_left(&mut self) {
        self.me().interrupted.clear();
        if self.settings.points == Points::Sync {
            self.limits.insert(JUMPED.into());
        }
    }
}

/// Notes an access.
#[inline(always)]
pub fn note(touch: Touch) {
    if handled() != 0 {
        compare(touch);
    }
}

#[cold]
fn compare(touch: Touch) {
    let rt = rt();
    if rt.settings.points == Points::All || rt.points_are_fixed {
        return;
    }
    let here = (&raw const touch).addr();
    let (me, fiber) = (rt.current, &rt.fibers[rt.current]);
    let on_stack = fiber.holds(touch.address);
    if let Some(handler) = rt.threads[me].interrupted.last().copied()
        && fiber.holds(here)
        && fiber.holds(handler)
    {
        if handler < here {
            rt.is_left();
        } else if on_stack && touch.address < handler {
            // The handler's own.
            return;
        }
    }
    let depth = rt.threads[me].interrupted.len();
    for at in (touch.address & !7..touch.address + touch.size).step_by(8) {
        if rt.interruptions.touch(touch, depth, at) && rt.mark(at) {
            rt.search_again();
        }
    }
}
