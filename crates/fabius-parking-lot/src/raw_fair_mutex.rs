//! The raw lock of `FairMutex`: a type of its own, so that a trait can be implemented for both kinds of locks.

use crate::{GuardMarker, RawMutex};
use fabius::time::Instant;

use std::time::Duration;

/// As in parking_lot, but that who gets the lock next is for the search to say.
pub struct RawFairMutex(RawMutex);

// SAFETY: that of the lock within.
unsafe impl lock_api::RawMutex for RawFairMutex {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to make one")]
    const INIT: RawFairMutex = RawFairMutex(RawMutex::INIT);

    type GuardMarker = GuardMarker;

    #[track_caller]
    fn lock(&self) {
        self.0.lock();
    }

    #[track_caller]
    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    #[track_caller]
    unsafe fn unlock(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.unlock() }
    }

    #[track_caller]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: that of the lock within.
unsafe impl lock_api::RawMutexFair for RawFairMutex {
    #[track_caller]
    unsafe fn unlock_fair(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.unlock_fair() }
    }

    #[track_caller]
    unsafe fn bump(&self) {
        // SAFETY: the caller's.
        unsafe { self.0.bump() }
    }
}

// SAFETY: that of the lock within.
unsafe impl lock_api::RawMutexTimed for RawFairMutex {
    type Duration = Duration;
    type Instant = Instant;

    #[track_caller]
    fn try_lock_for(&self, limit: Duration) -> bool {
        self.0.try_lock_for(limit)
    }

    #[track_caller]
    fn try_lock_until(&self, until: Instant) -> bool {
        self.0.try_lock_until(until)
    }
}
