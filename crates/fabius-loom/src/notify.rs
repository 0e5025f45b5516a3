use fabius::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::fmt;

/// loom's `Notify`: one thread waits until another notifies. As in loom one wait may end for no reason, which the search tries
/// each time.
#[derive(Default)]
pub struct Notify {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    notified: bool,
    somebody_waits: bool,
    was_woken_for_no_reason: bool,
}

impl Notify {
    /// Nobody has notified.
    #[track_caller]
    pub fn new() -> Notify {
        Notify::default()
    }

    #[track_caller]
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the waiting thread go on, or the next that waits.
    #[track_caller]
    pub fn notify(&self) {
        self.state().notified = true;
        self.changed.notify_one();
    }

    /// Waits to be notified.
    ///
    /// # Panics
    /// If another thread waits.
    #[track_caller]
    pub fn wait(&self) {
        let mut state = self.state();
        assert!(!state.somebody_waits, "only a single thread may wait on `Notify`");
        state.somebody_waits = true;
        if !state.was_woken_for_no_reason && fabius::any_bool() {
            state.was_woken_for_no_reason = true;
            drop(state);
            fabius::thread::yield_now();
            self.state().somebody_waits = false;
            return;
        }
        while !state.notified {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        (state.notified, state.somebody_waits) = (false, false);
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify").finish_non_exhaustive()
    }
}
