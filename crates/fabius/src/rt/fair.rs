//! Fair scheduling: a thread that gives way for ever does not leave others behind that could go on.
//!
//! Paper: Fair Stateless Model Checking (PLDI 2008), Algorithm 1, as in CHESS.
//!
//! Deviations:
//! 1. Threads that come into being later join with empty windows.
//! 2. The algorithm loses executions in which a thread goes on that has yielded. So it is used only for loops that
//!    `repetition.rs` does not see through, for every sixteenth round of these, and an answer says when it kept a thread
//!    from going on.

use super::{LeavesOut, Rt};
use std::collections::BTreeSet;

/// For each thread, since its last yield: who was always ready, whom its steps disabled, who was scheduled.
#[derive(Clone, Debug, Default)]
struct Window {
    ready: BTreeSet<usize>,
    disabled: BTreeSet<usize>,
    scheduled: BTreeSet<usize>,
    /// Whether it has yielded before.
    open: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Fair {
    windows: Vec<Window>,
    /// The first of a pair gives way to the second, as long as that is ready.
    gives_way: BTreeSet<(usize, usize)>,
    ready_before: BTreeSet<usize>,
    yielded: Option<usize>,
}

impl Fair {
    /// Whether any thread has given way so often that it matters.
    pub fn is_watching(&self) -> bool {
        self.yielded.is_some() || !self.windows.is_empty()
    }

    pub fn yields(&mut self, thread: usize) {
        self.yielded = Some(thread);
    }

    /// Whether the thread need not give way to another that can go on.
    pub fn allows(&self, rt: &Rt, thread: usize) -> bool {
        self.gives_way.range((thread, 0)..(thread + 1, 0)).all(|(_, other)| !rt.is_able(*other))
    }

    pub fn before(&mut self, rt: &Rt, thread: usize) {
        self.gives_way.retain(|(_, preferred)| *preferred != thread);
        self.ready_before = (0..rt.threads.len()).filter(|t| rt.is_able(*t)).collect();
    }

    pub fn after(&mut self, rt: &Rt, thread: usize) {
        self.windows.resize_with(rt.threads.len(), Window::default);
        let ready: BTreeSet<usize> = (0..rt.threads.len()).filter(|t| rt.is_able(*t)).collect();
        for window in &mut self.windows {
            window.ready.retain(|t| ready.contains(t));
            window.scheduled.insert(thread);
        }
        let disabled = self.ready_before.iter().filter(|t| !ready.contains(t) && **t != thread);
        self.windows[thread].disabled.extend(disabled);
        if self.yielded.take() == Some(thread) {
            let window = &mut self.windows[thread];
            if window.open {
                let starved = window.ready.union(&window.disabled).filter(|t| !window.scheduled.contains(t));
                self.gives_way.extend(starved.filter(|t| **t != thread).map(|t| (thread, *t)));
            }
            *window = Window { ready, open: true, ..Window::default() };
        }
    }
}

impl Rt {
    /// Whether none of those that could go on has waited for longer, where all repeat themselves.
    pub(super) fn is_its_turn(&self, id: usize) -> bool {
        let since = |id: usize| (self.threads[id].went_on, id);
        (0..self.threads.len()).all(|other| !self.can_go_on(other) || since(id) <= since(other))
    }

    /// Whether others go first because it has given way, where a search leaves something out.
    pub(super) fn leaves_it_to_others(&self, id: usize) -> bool {
        let this = &self.threads[id];
        if self.settings.leaves_out == LeavesOut::Nothing || !this.gave_way {
            return false;
        }
        let goes_first = |other: usize| match self.settings.leaves_out {
            // Nobody has made a step since it gave way. No class of executions knows that.
            LeavesOut::NoNews => self.current == id,
            _ => !self.threads[other].gave_way || self.threads[other].times_gave_way < this.times_gave_way,
        };
        let mut others = (0..self.threads.len()).filter(|other| *other != id && goes_first(*other));
        others.any(|other| self.is_able(other) && self.fair.allows(self, other))
    }
}
