//! How virtual time passes.

use super::{Rt, Thread};
use std::time::Duration;

impl Rt {
    /// If nobody can go on but by giving up waiting, time passes until the first does.
    #[inline]
    pub(super) fn pass_time(&mut self) {
        if self.has_deadlines {
            self.pass_to_next_deadline();
        }
    }

    fn pass_to_next_deadline(&mut self) {
        let Some(first) = self.next_deadline() else { return };
        if !(0..self.threads.len()).any(|id| self.is_able(id)) {
            self.time_is(first);
        }
    }

    /// When the first gives up waiting of those whose time is not up.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.threads.iter().filter_map(waits_until).min()
    }

    /// So much time has passed.
    pub(super) fn time_is(&mut self, now: Duration) {
        self.now = self.now.max(now);
        self.states.time_passes();
        let now = self.now;
        for thread in &mut self.threads {
            if waits_until(thread).is_some_and(|deadline| deadline <= now) {
                thread.timed_out = true;
            }
        }
    }
}

/// When the thread gives up waiting, if its time is not up.
fn waits_until(thread: &Thread) -> Option<Duration> {
    if thread.timed_out { None } else { thread.op()?.deadline }
}
