//! [`std::hint`] under the scheduler.

pub use std::hint::{black_box, unreachable_unchecked};

/// As in std: says that the thread waits for another, so that the scheduler is fair to that.
#[track_caller]
pub fn spin_loop() {
    crate::thread::yield_at("spin_loop", std::panic::Location::caller());
}
