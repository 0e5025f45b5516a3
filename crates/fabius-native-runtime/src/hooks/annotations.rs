//! What programs tell ThreadSanitizer that its instrumentation does not see: locks of their own, and what else orders.
//!
//! What would hide data races is not heeded. Coroutines need not be told of: what runs on one thread is ordered.

use super::entries;
use crate::control::in_program;
use crate::op::Op;
use crate::rt::rt;
use crate::threads::point;

entries! {
    __tsan_acquire: "rsi" => acquire;
    __tsan_release: "rsi" => release;
    __tsan_mutex_post_lock: "rcx" => locked;
    __tsan_mutex_pre_unlock: "rdx" => unlocked;
    AnnotateHappensBefore: "rcx" => happens_before;
    AnnotateHappensAfter: "rcx" => happens_after;
    AnnotateRWLockAcquired: "r8" => rwlock_acquired;
    AnnotateRWLockReleased: "r8" => rwlock_released;
}

/// What is told of an object; what its own atomic accesses order is another thing.
fn told(address: usize) -> usize {
    address | 1 << 62
}

fn acquires(name: &'static str, address: usize, pc: usize) {
    if in_program() {
        point(Op::new(name, pc).on(address));
        rt().clocks.acquire(rt().current, told(address));
    }
}

fn releases(name: &'static str, address: usize, pc: usize) {
    if in_program() {
        point(Op::new(name, pc).on(address));
        rt().clocks.release(rt().current, told(address));
    }
}

/// The program says that it learns what was released.
extern "C-unwind" fn acquire(address: usize, pc: usize) {
    acquires("__tsan_acquire", address, pc);
}

/// The program says that it releases what it knows.
extern "C-unwind" fn release(address: usize, pc: usize) {
    releases("__tsan_release", address, pc);
}

/// `__tsan_mutex_try_lock_failed`.
const FAILED: u32 = 1 << 5;

extern "C-unwind" fn locked(address: usize, flags: u32, _: i32, pc: usize) {
    if flags & FAILED == 0 {
        acquires("__tsan_mutex_post_lock", address, pc);
    }
}

extern "C-unwind" fn unlocked(address: usize, _: u32, pc: usize) -> i32 {
    releases("__tsan_mutex_pre_unlock", address, pc);
    1
}

extern "C-unwind" fn happens_before(_: usize, _: i32, address: usize, pc: usize) {
    releases("AnnotateHappensBefore", address, pc);
}

extern "C-unwind" fn happens_after(_: usize, _: i32, address: usize, pc: usize) {
    acquires("AnnotateHappensAfter", address, pc);
}

extern "C-unwind" fn rwlock_acquired(_: usize, _: i32, address: usize, _: isize, pc: usize) {
    acquires("AnnotateRWLockAcquired", address, pc);
}

extern "C-unwind" fn rwlock_released(_: usize, _: i32, address: usize, _: isize, pc: usize) {
    releases("AnnotateRWLockReleased", address, pc);
}

/// Functions that need to do nothing, and return what is no null pointer where they are asked for something.
macro_rules! nothing {
    ($($name:ident)*) => { $(
        #[doc = concat!("`", stringify!($name), "`, as the program calls it.")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[allow(non_snake_case)]
        pub unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!("mov eax, 1", "ret")
        }
    )* };
}

nothing! {
    __tsan_mutex_create __tsan_mutex_destroy __tsan_mutex_pre_lock __tsan_mutex_post_unlock __tsan_mutex_pre_signal
    __tsan_mutex_post_signal __tsan_mutex_pre_divert __tsan_mutex_post_divert __tsan_flush_memory
    __tsan_get_current_fiber __tsan_create_fiber __tsan_destroy_fiber __tsan_switch_to_fiber __tsan_set_fiber_name
    __tsan_external_register_tag __tsan_external_register_header __tsan_external_assign_tag __tsan_external_read
    __tsan_external_write AnnotateRWLockCreate AnnotateRWLockCreateStatic AnnotateRWLockDestroy AnnotateFlushState
    AnnotateNewMemory AnnotateNoOp AnnotateFlushExpectedRaces AnnotateEnableRaceDetection AnnotateMutexIsUsedAsCondVar
    AnnotateMutexIsNotPHB AnnotatePCQGet AnnotatePCQPut AnnotatePCQDestroy AnnotatePCQCreate AnnotateExpectRace AnnotateBenignRace
    AnnotateBenignRaceSized AnnotateIgnoreReadsBegin AnnotateIgnoreReadsEnd AnnotateIgnoreWritesBegin AnnotateIgnoreWritesEnd
    AnnotateIgnoreSyncBegin AnnotateIgnoreSyncEnd AnnotatePublishMemoryRange AnnotateUnpublishMemoryRange AnnotateThreadName
    AnnotateCondVarSignal AnnotateCondVarSignalAll AnnotateCondVarWait AnnotateTraceMemory AnnotateMemoryIsInitialized
    AnnotateMemoryIsUninitialized
}
