//! Stopping a search from outside.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Exit code of what was stopped before it could answer.
const STOPPED: i32 = 3;

/// Signals that come as close together as this are one: `timeout` sends its signal to the process, and once more to its group.
const ONE: Duration = Duration::from_millis(300);

/// What is set when the search shall stop and report: by the first Ctrl-C or SIGTERM. A later one ends the process.
pub fn on_interrupt() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Without a handler a signal ends the process at once, which is no worse than a second one.
        let _ = flag::register(signal, Arc::clone(&stop));
    }
    if let Ok(signals) = Signals::new([SIGINT, SIGTERM]) {
        // Without this thread only SIGKILL ends what does not stop.
        let _ = std::thread::Builder::new().name("signals".into()).spawn(move || end_at_a_later_one(signals));
    }
    stop
}

/// Ctrl-C goes to all that a terminal runs; the debugger knows what it means, however often.
pub fn leave_interrupts_to_the_debugger() {
    let _ = flag::register(SIGINT, Arc::default());
}

fn end_at_a_later_one(mut signals: Signals) {
    let mut first: Option<Instant> = None;
    for _ in signals.forever() {
        if first.get_or_insert_with(Instant::now).elapsed() > ONE {
            std::process::exit(STOPPED);
        }
    }
}
