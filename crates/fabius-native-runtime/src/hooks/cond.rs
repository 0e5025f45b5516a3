//! Condition variables. Who waits for one is known of the threads; of the variable's own bytes four say whether it was destroyed.
//!
//! To wait is three points, as in the C library: to become one who waits, to give the mutex back, to get it again.

use super::{entries, mutex};
use crate::control::in_program;
use crate::op::{Op, Wait};
use crate::real::next;
use crate::rt::rt;
use crate::threads::{Waited, fail, point};
use fabius_trace::BugKind;

/// Bytes of a `pthread_cond_t`.
const SIZE: usize = 48;

/// Where it says that it was destroyed, in the bit in which the C library says so; in a new one it is not set.
const STATE: usize = 36;
const DESTROYED: u32 = 4;

entries! {
    pthread_cond_init: "rdx" => init;
    pthread_cond_destroy: "rsi" => destroy;
    pthread_cond_wait: "rdx" => wait;
    pthread_cond_timedwait: "rcx" => timedwait;
    pthread_cond_clockwait: "r8" => clockwait;
    pthread_cond_signal: "rsi" => signal;
    pthread_cond_broadcast: "rsi" => broadcast;
}

extern "C-unwind" fn init(cond: usize, attributes: usize, pc: usize) -> i32 {
    if in_program() {
        use_of("pthread_cond_init", cond, pc);
        if waiting(cond).next().is_some() {
            fail(BugKind::SyncMisuse, "a condition variable is initialized while threads wait for it", pc);
        }
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn pthread_cond_init(usize, usize) -> i32)(cond, attributes) }
}

extern "C-unwind" fn destroy(cond: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_cond_destroy(usize) -> i32)(cond) };
    }
    use_of("pthread_cond_destroy", cond, pc);
    if waiting(cond).next().is_some() {
        fail(BugKind::SyncMisuse, "a condition variable is destroyed while threads wait for it", pc);
    }
    *state(cond) |= DESTROYED;
    0
}

/// The threads that wait and have not been woken, the longest first.
pub fn waiting(cond: usize) -> impl Iterator<Item = usize> {
    let mut found: Vec<(u64, usize)> = (0..rt().threads.len())
        .filter(|number| rt().threads[*number].waits_for == cond)
        .map(|number| (rt().threads[number].waits_since, number))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, number)| number)
}

/// The point before a condition variable is used, which has to be there.
fn use_of(name: &'static str, cond: usize, pc: usize) {
    point(Op::new(name, pc).on(cond));
    super::tsan::check_memory(cond, SIZE, true, pc);
}

fn state(cond: usize) -> &'static mut u32 {
    // SAFETY: the program gives the address of a condition variable.
    unsafe { &mut *((cond + STATE) as *mut u32) }
}

/// The same of one that is waited for or notified.
fn use_of_one_that_is(name: &'static str, cond: usize, pc: usize) {
    use_of(name, cond, pc);
    if *state(cond) & DESTROYED != 0 {
        fail(BugKind::SyncMisuse, "a condition variable is used that was destroyed", pc);
    }
}

/// Waits under control.
pub fn wait_here(name: &'static str, cond: usize, mutex: usize, deadline: Option<u64>, pc: usize) -> i32 {
    mutex::check(mutex, pc);
    super::cancel::is_cancelled_here();
    use_of_one_that_is(name, cond, pc);
    let since = rt().steps;
    let thread = rt().me();
    (thread.waits_for, thread.waits_since, thread.woken) = (cond, since, false);
    point(Op::new("give the mutex back", pc).on(mutex));
    let given = mutex::release(mutex, pc);
    if given != 0 {
        rt().me().waits_for = 0;
        return given;
    }
    let waited = point(Op::new("wait to be woken", pc).reads(cond).when(Wait::Woken).until(deadline).or_cancelled());
    rt().me().waits_for = 0;
    // Its cleanup handlers own the mutex, whenever it is asked to end.
    let asynchronous = std::mem::take(&mut rt().me().asynchronous);
    let taken = mutex::lock_here("get the mutex again", mutex, None, pc);
    rt().me().asynchronous = asynchronous;
    if waited == Waited::Cancelled || asynchronous {
        super::cancel::is_cancelled_here();
    }
    match waited {
        _ if taken != 0 => taken,
        Waited::TimedOut => libc::ETIMEDOUT,
        _ => 0,
    }
}

extern "C-unwind" fn wait(cond: usize, mutex: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_cond_wait(usize, usize) -> i32)(cond, mutex) };
    }
    wait_here("pthread_cond_wait", cond, mutex, None, pc)
}

extern "C-unwind" fn timedwait(cond: usize, mutex: usize, until: *const libc::timespec, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn pthread_cond_timedwait(usize, usize, *const libc::timespec) -> i32)(cond, mutex, until)
        };
    }
    if super::time::is_invalid(until) {
        return libc::EINVAL;
    }
    wait_here("pthread_cond_timedwait", cond, mutex, Some(super::time::deadline(until)), pc)
}

extern "C-unwind" fn clockwait(cond: usize, mutex: usize, clock: i32, until: *const libc::timespec, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn pthread_cond_clockwait(usize, usize, i32, *const libc::timespec) -> i32)(cond, mutex, clock, until)
        };
    }
    if super::time::is_invalid(until) {
        return libc::EINVAL;
    }
    wait_here("pthread_cond_clockwait", cond, mutex, Some(super::time::deadline(until)), pc)
}

/// Wakes a thread. To be woken orders nothing that the mutex does not order.
pub fn wake(thread: usize) {
    let woken = &mut rt().threads[thread];
    (woken.woken, woken.waits_for) = (true, 0);
}

/// Wakes one of those who wait: any of them.
pub fn signal_here(name: &'static str, cond: usize, pc: usize) -> i32 {
    use_of_one_that_is(name, cond, pc);
    let waiting: Vec<usize> = waiting(cond).collect();
    if !waiting.is_empty() {
        let chosen = rt().choose(waiting.len() as u32) as usize;
        wake(waiting[chosen]);
    }
    0
}

/// Wakes all of them.
pub fn broadcast_here(name: &'static str, cond: usize, pc: usize) -> i32 {
    use_of_one_that_is(name, cond, pc);
    let all: Vec<usize> = waiting(cond).collect();
    for thread in all {
        wake(thread);
    }
    0
}

extern "C-unwind" fn signal(cond: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_cond_signal(usize) -> i32)(cond) };
    }
    signal_here("pthread_cond_signal", cond, pc)
}

extern "C-unwind" fn broadcast(cond: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_cond_broadcast(usize) -> i32)(cond) };
    }
    broadcast_here("pthread_cond_broadcast", cond, pc)
}
