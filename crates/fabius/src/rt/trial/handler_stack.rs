//! The stack on which the handler of traps runs.

use std::cell::RefCell;
use std::mem::zeroed;
use std::ptr;

/// The stack of the handler, which needs more than std gives it. Returns the one before.
pub(super) unsafe fn install() -> libc::stack_t {
    const SIZE: usize = 128 << 10;
    thread_local! {
        static STACK: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let memory = STACK.with(|stack| {
        let mut stack = stack.borrow_mut();
        stack.resize(SIZE, 0);
        stack.as_mut_ptr()
    });
    // SAFETY: the memory lives until the thread ends, and the signal reaches it again.
    unsafe {
        let mut before: libc::stack_t = zeroed();
        let new = libc::stack_t { ss_sp: memory.cast(), ss_flags: 0, ss_size: SIZE };
        libc::sigaltstack(&new, &mut before);
        let mut traps: libc::sigset_t = zeroed();
        libc::sigemptyset(&mut traps);
        libc::sigaddset(&mut traps, libc::SIGTRAP);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &traps, ptr::null_mut());
        before
    }
}
