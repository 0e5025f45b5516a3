//! [`std::hint`] under the scheduler.

pub use std::hint::*;

/// As in std: a scheduling point, and a hint that the task waits for another.
#[track_caller]
pub fn spin_loop() {
    crate::thread::yield_now();
}
