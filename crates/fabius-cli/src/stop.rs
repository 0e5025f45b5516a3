//! Stopping a search from outside.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Exit code of what was stopped before it could answer.
const STOPPED: i32 = 3;

/// What is set when the search shall stop and report: by the first Ctrl-C or SIGTERM. The second ends the process.
pub fn on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset. Without a handler a signal ends the process at once, which is no
        // worse than a second one.
        let _ = flag::register_conditional_shutdown(signal, STOPPED, Arc::clone(&stop));
        let _ = flag::register(signal, Arc::clone(&stop));
    }
    stop
}
