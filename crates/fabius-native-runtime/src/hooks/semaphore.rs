//! Semaphores. The value is where the C library has it.

use super::entries;
use crate::control::in_program;
use crate::looks;
use crate::op::{Op, Wait};
use crate::real::next;
use crate::rt::rt;
use crate::threads::{Waited, point};

fn value(semaphore: usize) -> &'static mut u32 {
    // SAFETY: the program gives the address of a semaphore.
    unsafe { &mut *(semaphore as *mut u32) }
}

/// Whether it is above zero.
pub fn is_up(semaphore: usize) -> bool {
    *value(semaphore) > 0
}

/// Bytes of a `sem_t`.
const SIZE: usize = 32;

entries! {
    sem_init: "rcx" => init;
    sem_wait: "rsi" => wait;
    sem_trywait: "rsi" => trywait;
    sem_timedwait: "rdx" => timedwait;
    sem_clockwait: "rcx" => clockwait;
    sem_post: "rsi" => post;
    sem_getvalue: "rdx" => getvalue;
}

fn error(number: i32) -> i32 {
    // SAFETY: the thread's own `errno`.
    unsafe { *libc::__errno_location() = number };
    -1
}

extern "C-unwind" fn init(semaphore: usize, shared: i32, value: u32, pc: usize) -> i32 {
    if in_program() {
        // Others may use it already: what they have posted is lost.
        point(Op::new("sem_init", pc).on(semaphore));
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn sem_init(usize, i32, u32) -> i32)(semaphore, shared, value) }
}

fn take(name: &'static str, semaphore: usize, deadline: Option<u64>, pc: usize) -> i32 {
    super::tsan::check_memory(semaphore, SIZE, true, pc);
    let op = Op::new(name, pc).on(semaphore).when(Wait::Semaphore).until(deadline);
    if super::cancelled_waits::waits(op) == Waited::TimedOut {
        return error(libc::ETIMEDOUT);
    }
    super::tsan::check_memory(semaphore, SIZE, true, pc);
    taken(semaphore);
    0
}

fn taken(semaphore: usize) {
    *value(semaphore) -= 1;
    rt().clocks.acquire(rt().current, semaphore);
}

extern "C-unwind" fn wait(semaphore: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn sem_wait(usize) -> i32)(semaphore) };
    }
    take("sem_wait", semaphore, None, pc)
}

extern "C-unwind" fn trywait(semaphore: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn sem_trywait(usize) -> i32)(semaphore) };
    }
    let wait = looks::waits(semaphore, [0, 0], pc, |_| Wait::Raised);
    point(Op::new("sem_trywait", pc).on(semaphore).when(wait));
    super::tsan::check_memory(semaphore, SIZE, true, pc);
    if !is_up(semaphore) {
        rt().cannot_have(semaphore);
        let refused = error(libc::EAGAIN);
        looks::found(0);
        return refused;
    }
    taken(semaphore);
    0
}

type Until = *const libc::timespec;

extern "C-unwind" fn timedwait(semaphore: usize, until: Until, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn sem_timedwait(usize, Until) -> i32)(semaphore, until) };
    }
    if super::time::is_invalid(until) {
        return error(libc::EINVAL);
    }
    take("sem_timedwait", semaphore, Some(super::time::deadline(until)), pc)
}

extern "C-unwind" fn clockwait(semaphore: usize, clock: i32, until: Until, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn sem_clockwait(usize, i32, Until) -> i32)(semaphore, clock, until) };
    }
    if super::time::is_invalid(until) {
        return error(libc::EINVAL);
    }
    take("sem_clockwait", semaphore, Some(super::time::deadline(until)), pc)
}

extern "C-unwind" fn post(semaphore: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn sem_post(usize) -> i32)(semaphore) };
    }
    point(Op::new("sem_post", pc).on(semaphore));
    super::tsan::check_memory(semaphore, SIZE, true, pc);
    if *value(semaphore) == i32::MAX as u32 {
        return error(libc::EOVERFLOW);
    }
    *value(semaphore) += 1;
    rt().is_given_back(semaphore);
    rt().clocks.release(rt().current, semaphore);
    0
}

extern "C-unwind" fn getvalue(semaphore: usize, result: *mut i32, pc: usize) -> i32 {
    if in_program() {
        point(Op::new("sem_getvalue", pc).reads(semaphore));
    }
    // SAFETY: the program wants the value there.
    unsafe { *result = *value(semaphore) as i32 };
    0
}
