//! When time sends.

use fabius::extend::{Guard, Guarded};
use fabius::time::Instant;
use std::time::Duration;

/// When the next message comes.
pub(crate) struct Timer(Guarded<State>);

struct State {
    next: Option<Instant>,
    /// How long after a message the next one comes, if one does.
    interval: Option<Duration>,
    /// What a selection has got, until it uses it.
    aside: Option<Instant>,
}

impl Timer {
    /// The first message comes then, and the others after so long each.
    pub fn new(next: Option<Instant>, interval: Option<Duration>) -> Timer {
        Timer(Guarded::new(State { next, interval, aside: None }))
    }

    fn state(&self) -> Guard<'_, State> {
        self.0.take()
    }

    /// When it comes.
    pub fn due(&self) -> Option<Instant> {
        self.state().next
    }

    /// Whether it has come.
    pub fn is_due(&self) -> bool {
        self.due().is_some_and(|due| due <= Instant::now())
    }

    /// The message, if it has come.
    pub fn fire(&self) -> Option<Instant> {
        let mut state = self.state();
        let now = Instant::now();
        let due = state.next.filter(|due| *due <= now)?;
        state.next = state.interval.and_then(|interval| now.checked_add(interval));
        Some(due)
    }

    /// A selection takes it.
    pub fn set_aside(&self) {
        let fired = self.fire();
        self.state().aside = fired;
    }

    /// What a selection has got.
    pub fn fired(&self) -> Option<Instant> {
        self.state().aside.take()
    }
}
