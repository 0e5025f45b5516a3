//! The beginnings and ends of threads, as the first function of every fiber calls them (`fiber.rs`).

use crate::hooks::keys::run_destructors;
use crate::hooks::process::exit_here;
use crate::op::{ENDS, Op, Wait, asked_of, ended};
use crate::real::next;
use crate::rt::rt;
use crate::threads::point;

/// What the first function of a fiber is to call: a function and three arguments.
#[repr(C)]
pub struct Call([usize; 4]);

/// The arguments of `main`, and `main`.
pub static mut MAIN: (usize, usize, usize, usize) = (0, 0, 0, 0);

/// A fiber runs for the first time.
#[unsafe(no_mangle)]
extern "C-unwind" fn fabius_thread_begin(call: &mut Call) {
    // SAFETY: sets up tables of the C library for this thread.
    unsafe { next!(fn __ctype_init())() };
    let rt = rt();
    let me = rt.current;
    let thread = &rt.threads[me];
    // SAFETY: written before the program runs.
    let main = unsafe { MAIN };
    *call =
        if me == 0 { Call([main.0, main.1, main.2, main.3]) } else { Call([thread.function, thread.argument, 0, 0]) };
}

/// The function of a fiber has returned.
#[unsafe(no_mangle)]
extern "C-unwind" fn fabius_thread_returned(result: usize) {
    let rt = rt();
    if rt.current == 0 {
        exit_here(result as i32, 0);
    }
    rt.me().result = result;
}

/// A thread ends, whether its function has returned or not.
#[unsafe(no_mangle)]
extern "C-unwind" fn fabius_thread_end() {
    // It ends anyway.
    rt().me().cancellable = false;
    // SAFETY: runs destructors of thread-local variables of C++.
    unsafe { next!(fn __call_tls_dtors())() };
    run_destructors();
    crate::hooks::mutex::owner_ends();
    let me = rt().current;
    if me == 0 {
        // `pthread_exit` in the first thread: the process ends with the last one.
        rt().me().detached = true;
        point(Op::new("pthread_exit", 0).when(Wait::Others));
        exit_here(0, 0);
    }
    if rt().may_be_interrupted() {
        point(Op::new("end", 0).on(asked_of(me)));
    }
    // Who waits for the end of a thread does not see when it comes; who only asks for it does.
    if rt().races.is_racy(ENDS) {
        point(Op::new("end", 0).on(ended(me)));
    }
    crate::gone::ends();
    rt().ends_behind_handlers();
    rt().finishes(me);
    rt().fibers[me].leave();
    crate::say::fatal(&[b"a thread that has ended was run"]);
}
