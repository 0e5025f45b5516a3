//! [`std::hint`] under the scheduler.

use crate::rt;
pub use std::hint::{black_box, unreachable_unchecked};

/// As in std: a scheduling point. The thread gives way as in [`yield_now`](crate::thread::yield_now).
#[track_caller]
#[inline(never)]
pub fn spin_loop() {
    rt::give_way("spin_loop", std::panic::Location::caller(), rt::Here::new());
}
