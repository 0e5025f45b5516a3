//! Threads, mutexes and condition variables of C11: the C library calls its own functions for them, so they are ours too.

use super::tsan::gives;
use super::{cond, entries, mutex, once, thread};
use crate::control::in_program;
use crate::real::next;
use crate::rt::rt;
use crate::threads::give_way;

const SUCCESS: i32 = 0;
const BUSY: i32 = 1;
const ERROR: i32 = 2;
const NO_MEMORY: i32 = 3;
const TIMED_OUT: i32 = 4;

entries! {
    thrd_create: "rcx" => create;
    thrd_join: "rdx" => join;
    thrd_detach: "rsi" => detach;
    thrd_exit: "rsi" => exit;
    thrd_current: "rdi" => current;
    thrd_yield: "rdi" => yield_here;
    thrd_sleep: "rdx" => sleep;
    mtx_lock: "rsi" => lock;
    mtx_trylock: "rsi" => trylock;
    mtx_timedlock: "rdx" => timedlock;
    mtx_unlock: "rsi" => unlock;
    cnd_wait: "rdx" => wait;
    cnd_timedwait: "rcx" => timedwait;
    cnd_signal: "rsi" => signal;
    cnd_broadcast: "rsi" => broadcast;
    call_once: "rdx" => call_once_here;
    tss_create: "rdx" => tss_create_here;
    tss_get: "rsi" => tss_get_here;
    tss_set: "rdx" => tss_set_here;
    tss_delete: "rsi" => tss_delete_here;
}

fn of(error: i32) -> i32 {
    match error {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ENOMEM | libc::EAGAIN => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

extern "C-unwind" fn create(made: *mut usize, function: usize, argument: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn thrd_create(*mut usize, usize, usize) -> i32)(made, function, argument) };
    }
    match thread::create_here("thrd_create", function, argument, false, pc) {
        Ok(block) => {
            gives("thrd_create", made as usize, 8, pc);
            // SAFETY: the program wants the identity there.
            unsafe { *made = block };
            SUCCESS
        }
        Err(error) => of(error),
    }
}

extern "C-unwind" fn join(thread: usize, result: *mut i32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn thrd_join(usize, *mut i32) -> i32)(thread, result) };
    }
    match thread::join_here("thrd_join", thread, None, pc) {
        Ok(value) => {
            if !result.is_null() {
                gives("thrd_join", result as usize, 4, pc);
                // SAFETY: the program wants the result there.
                unsafe { *result = value as i32 };
            }
            SUCCESS
        }
        Err(error) => of(error),
    }
}

extern "C-unwind" fn detach(thread: usize, _: usize) -> i32 {
    // SAFETY: calls our own.
    of(unsafe { libc::pthread_detach(thread as libc::pthread_t) })
}

extern "C-unwind" fn exit(result: i32, pc: usize) {
    if in_program() {
        let me = rt().me();
        (me.result, me.left_at) = (result as usize, pc);
    }
    // SAFETY: unwinds to where the thread began.
    unsafe { next!(fn pthread_exit(usize))(result as usize) }
}

extern "C-unwind" fn current(_: usize) -> usize {
    // SAFETY: calls our own.
    unsafe { libc::pthread_self() as usize }
}

extern "C-unwind" fn yield_here(pc: usize) {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn thrd_yield())() };
    }
    give_way("thrd_yield", 0, pc);
}

type Time = *const libc::timespec;

extern "C-unwind" fn sleep(time: Time, rest: *mut libc::timespec, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn thrd_sleep(Time, *mut libc::timespec) -> i32)(time, rest) };
    }
    give_way("thrd_sleep", super::time::nanoseconds(time), pc);
    0
}

extern "C-unwind" fn lock(m: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn mtx_lock(usize) -> i32)(m) };
    }
    of(mutex::lock_here("mtx_lock", m, None, pc))
}

extern "C-unwind" fn trylock(m: usize, _: usize) -> i32 {
    // SAFETY: calls our own; the types are alike in the C library.
    of(unsafe { libc::pthread_mutex_trylock(m as *mut libc::pthread_mutex_t) })
}

extern "C-unwind" fn timedlock(m: usize, until: Time, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn mtx_timedlock(usize, Time) -> i32)(m, until) };
    }
    of(mutex::lock_here("mtx_timedlock", m, Some(super::time::deadline(until)), pc))
}

extern "C-unwind" fn unlock(m: usize, _: usize) -> i32 {
    // SAFETY: calls our own.
    of(unsafe { libc::pthread_mutex_unlock(m as *mut libc::pthread_mutex_t) })
}

extern "C-unwind" fn wait(c: usize, m: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn cnd_wait(usize, usize) -> i32)(c, m) };
    }
    of(cond::wait_here("cnd_wait", c, m, None, pc))
}

extern "C-unwind" fn timedwait(c: usize, m: usize, until: Time, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn cnd_timedwait(usize, usize, Time) -> i32)(c, m, until) };
    }
    of(cond::wait_here("cnd_timedwait", c, m, Some(super::time::deadline(until)), pc))
}

extern "C-unwind" fn signal(c: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn cnd_signal(usize) -> i32)(c) };
    }
    of(cond::signal_here("cnd_signal", c, pc))
}

extern "C-unwind" fn broadcast(c: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn cnd_broadcast(usize) -> i32)(c) };
    }
    of(cond::broadcast_here("cnd_broadcast", c, pc))
}

extern "C-unwind" fn call_once_here(flag: usize, function: extern "C-unwind" fn(), pc: usize) {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn call_once(usize, extern "C-unwind" fn()))(flag, function) };
    }
    once::once_here("call_once", flag, function, pc);
}

extern "C-unwind" fn tss_create_here(key: *mut u32, destructor: usize, _: usize) -> i32 {
    // SAFETY: calls our own with what the program gives.
    of(unsafe {
        libc::pthread_key_create(
            key,
            std::mem::transmute::<usize, Option<unsafe extern "C" fn(*mut libc::c_void)>>(destructor),
        )
    })
}

extern "C-unwind" fn tss_get_here(key: u32, _: usize) -> usize {
    // SAFETY: calls our own.
    unsafe { libc::pthread_getspecific(key) as usize }
}

extern "C-unwind" fn tss_set_here(key: u32, value: usize, _: usize) -> i32 {
    // SAFETY: calls our own.
    of(unsafe { libc::pthread_setspecific(key, value as *const libc::c_void) })
}

extern "C-unwind" fn tss_delete_here(key: u32, _: usize) {
    // SAFETY: calls our own.
    unsafe { libc::pthread_key_delete(key) };
}
