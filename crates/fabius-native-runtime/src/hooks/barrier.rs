//! Barriers, in their own bytes.

use super::entries;
use crate::control::in_program;
use crate::op::{Op, Wait};
use crate::real::next;
use crate::rt::rt;
use crate::threads::{fail, point};
use fabius_trace::BugKind;

/// What we keep in a `pthread_barrier_t`. It is initialized by a call; before `main` that of the C library's.
#[repr(C)]
struct Barrier {
    mark: u32,
    count: u32,
    arrived: u32,
}

const MARK: u32 = 0xfab1_0b4e;

fn at(barrier: usize) -> &'static mut Barrier {
    // SAFETY: the program gives the address of a barrier.
    unsafe { &mut *(barrier as *mut Barrier) }
}

entries! {
    pthread_barrier_init: "rcx" => init;
    pthread_barrier_destroy: "rsi" => destroy;
    pthread_barrier_wait: "rsi" => wait;
}

extern "C-unwind" fn init(barrier: usize, attributes: usize, count: u32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_barrier_init(usize, usize, u32) -> i32)(barrier, attributes, count) };
    }
    if count == 0 {
        return libc::EINVAL;
    }
    super::tsan::check_memory(barrier, 32, true, pc);
    // Others may use it already, which is no use of this barrier.
    point(Op::new("pthread_barrier_init", pc).on(barrier));
    super::tsan::check_memory(barrier, 32, true, pc);
    if super::cond::waiting(barrier).next().is_some() {
        fail(BugKind::SyncMisuse, "a barrier is initialized while threads wait at it", pc);
    }
    *at(barrier) = Barrier { mark: MARK, count, arrived: 0 };
    0
}

extern "C-unwind" fn destroy(barrier: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_barrier_destroy(usize) -> i32)(barrier) };
    }
    super::tsan::check_memory(barrier, 32, true, pc);
    point(Op::new("pthread_barrier_destroy", pc).on(barrier));
    if super::cond::waiting(barrier).next().is_some() {
        fail(BugKind::SyncMisuse, "a barrier is destroyed while threads wait at it", pc);
    }
    at(barrier).mark = 0;
    0
}

extern "C-unwind" fn wait(barrier: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_barrier_wait(usize) -> i32)(barrier) };
    }
    super::tsan::check_memory(barrier, 32, true, pc);
    point(Op::new("pthread_barrier_wait", pc).on(barrier));
    super::tsan::check_memory(barrier, 32, true, pc);
    let b = at(barrier);
    if b.mark != MARK {
        fail(BugKind::SyncMisuse, "a barrier is used that is not initialized (or was before `main`)", pc);
    }
    let rt = rt();
    let me = rt.current;
    rt.clocks.release(me, barrier);
    b.arrived += 1;
    if b.arrived == b.count {
        b.arrived = 0;
        let waiting: Vec<usize> = super::cond::waiting(barrier).collect();
        rt.clocks.acquire(me, barrier);
        for thread in waiting {
            super::cond::wake(thread);
            // What all brought is known to whoever leaves, and to nobody who comes later. What this thread does from here on is not.
            rt.clocks.acquire(thread, barrier);
        }
        rt.clocks.forget(barrier);
        return libc::PTHREAD_BARRIER_SERIAL_THREAD;
    }
    let since = rt.steps;
    let thread = rt.me();
    (thread.waits_for, thread.waits_since, thread.woken) = (barrier, since, false);
    point(Op::new("wait for the others", pc).reads(barrier).when(Wait::Woken));
    0
}
