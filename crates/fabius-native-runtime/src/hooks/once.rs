//! Initializers that run once: `pthread_once`, and local statics of C++.

use super::entries;
use crate::control::in_program;
use crate::op::{Op, Wait};
use crate::real::next;
use crate::rt::rt;
use crate::threads::point;

/// The values of a `pthread_once_t`; done is as in the C library.
const RUNS: i32 = 1;
const DONE: i32 = 2;

fn once_at(once: usize) -> &'static mut i32 {
    // SAFETY: the program gives the address.
    unsafe { &mut *(once as *mut i32) }
}

/// The bytes of a guard: done, under way.
fn guard_at(guard: usize) -> &'static mut [u8; 2] {
    // SAFETY: the compiler gives the address.
    unsafe { &mut *(guard as *mut [u8; 2]) }
}

/// Whether nobody runs the initializer.
pub fn is_free(once: usize) -> bool {
    *once_at(once) != RUNS
}

/// The same for a local static.
pub fn guard_is_free(guard: usize) -> bool {
    guard_at(guard)[1] == 0
}

entries! {
    pthread_once: "rdx" => pthread_once_here;
    __cxa_guard_acquire: "rsi" => guard_acquire;
    __cxa_guard_release: "rsi" => guard_release;
    __cxa_guard_abort: "rsi" => guard_abort;
}

/// Makes an initializer that is left by an exception one that has not run.
struct Unfinished(usize);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if *once_at(self.0) == RUNS {
            *once_at(self.0) = 0;
            let rt = rt();
            // There is no scheduling point on the way out of an exception, so nothing announces this.
            rt.unannounced = true;
            // Who tries next knows what was done, as C++ has it.
            rt.clocks.release(rt.current, self.0);
        }
    }
}

extern "C-unwind" fn pthread_once_here(once: usize, function: extern "C-unwind" fn(), pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_once(usize, extern "C-unwind" fn()) -> i32)(once, function) };
    }
    once_here("pthread_once", once, function, pc);
    0
}

/// Runs an initializer once, under control.
pub fn once_here(name: &'static str, once: usize, function: extern "C-unwind" fn(), pc: usize) {
    point(Op::new(name, pc).on(once).when(Wait::Once));
    if *once_at(once) != DONE {
        *once_at(once) = RUNS;
        rt().clocks.acquire(rt().current, once);
        let unfinished = Unfinished(once);
        function();
        std::mem::forget(unfinished);
        point(Op::new("the initializer ends", pc).on(once));
        *once_at(once) = DONE;
        rt().clocks.release(rt().current, once);
    }
    rt().clocks.acquire(rt().current, once);
}

extern "C-unwind" fn guard_acquire(guard: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the compiler calls it.
        return unsafe { next!(fn __cxa_guard_acquire(usize) -> i32)(guard) };
    }
    point(Op::new("local static", pc).on(guard & !7).when(Wait::Guard));
    let bytes = guard_at(guard);
    rt().clocks.acquire(rt().current, guard);
    if bytes[0] != 0 {
        return 0;
    }
    bytes[1] = 1;
    1
}

extern "C-unwind" fn guard_release(guard: usize, pc: usize) {
    if !in_program() {
        // SAFETY: as the compiler calls it.
        return unsafe { next!(fn __cxa_guard_release(usize))(guard) };
    }
    point(Op::new("local static is made", pc).on(guard & !7));
    *guard_at(guard) = [1, 0];
    rt().clocks.release(rt().current, guard);
}

extern "C-unwind" fn guard_abort(guard: usize, pc: usize) {
    if !in_program() {
        // SAFETY: as the compiler calls it.
        return unsafe { next!(fn __cxa_guard_abort(usize))(guard) };
    }
    point(Op::new("local static is given up", pc).on(guard & !7));
    guard_at(guard)[1] = 0;
    rt().clocks.release(rt().current, guard);
}
