//! Which thread it is, for reentrant locks.

use fabius::extend;
use lock_api::GetThreadId;
use std::num::NonZeroUsize;

/// As in parking_lot.
#[derive(Debug)]
pub struct RawThreadId;

/// What tells threads of executions from those of the operating system, whose numbers are addresses.
const INSIDE: usize = 1;

// SAFETY: threads of one execution have different numbers, which are odd; those of the operating system have addresses of
// aligned values.
unsafe impl GetThreadId for RawThreadId {
    const INIT: RawThreadId = RawThreadId;

    fn nonzero_thread_id(&self) -> NonZeroUsize {
        thread_local!(static OWN: u64 = const { 0 });
        let number = if extend::is_inside() {
            2 * extend::me() + INSIDE
        } else {
            OWN.with(|own| std::ptr::from_ref(own).addr())
        };
        NonZeroUsize::new(number).expect("neither odd numbers nor addresses are zero")
    }
}
