//! Things that happen once in each execution.

use fabius::sync::Once as Inner;
pub use fabius::sync::OnceState;
use fabius::thread::drive;
use std::fmt;
use std::rc::Rc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// [`std::sync::Once`] under the scheduler; once in each execution, also if tests that share a static run at the same time.
pub struct Once {
    key: LazyLock<usize>,
}

impl Once {
    /// As in std.
    pub const fn new() -> Once {
        /// Odd, as opposed to the addresses of statics.
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        Once { key: LazyLock::new(|| NEXT.fetch_add(2, Ordering::Relaxed)) }
    }

    fn inner(&self) -> Rc<Inner> {
        let key = *self.key;
        if drive::execution_local::<Inner>(key).is_none() {
            drive::set_execution_local(key, Inner::new());
        }
        drive::execution_local(key).expect("it has just been made")
    }

    /// As in std: a scheduling point; waits for a call that is under way.
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        self.inner().call_once(f);
    }

    /// As in std.
    #[track_caller]
    pub fn call_once_force<F: FnOnce(&OnceState)>(&self, f: F) {
        self.inner().call_once_force(f);
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.inner().is_completed()
    }
}

impl Default for Once {
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}
