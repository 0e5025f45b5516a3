//! Signals that mean that the program has failed, and the one by which the other process says that it stands still.

use crate::control::{in_program, is_running};
use crate::rt::rt;
use crate::threads::{fail, give_up};
use fabius_trace::BugKind;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The signal of the other process.
const STANDS_STILL: i32 = fabius_native_protocol::STANDS_STILL;

const STACK: usize = 256 << 10;

/// Sets handlers up.
pub fn set_up() {
    let Some(stack) = crate::fiber::signal_stack(STACK) else { crate::say::fatal(&[b"no memory for signals"]) };
    STACK_AT.store(stack, Relaxed);
    // Found out before it is asked for where a signal has come.
    crate::image::is_own(0);
    use_stack();
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, STANDS_STILL] {
        // SAFETY: an action is plain data; the program has not begun.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

static STACK_AT: AtomicUsize = AtomicUsize::new(0);

/// Signals are handled on our stack.
pub fn use_stack() {
    let stack = libc::stack_t { ss_sp: STACK_AT.load(Relaxed) as *mut c_void, ss_flags: 0, ss_size: STACK };
    // SAFETY: the stack is ours for good.
    unsafe { crate::kernel::syscall(libc::SYS_sigaltstack, &raw const stack, 0usize) };
}

static ENDED: AtomicUsize = AtomicUsize::new(0);

/// From now on this is called when a process that comes from this one ends.
pub fn tell_of_children(ended: fn()) {
    extern "C" fn child(_: i32) {
        // SAFETY: written below.
        unsafe { std::mem::transmute::<usize, fn()>(ENDED.load(Relaxed))() };
    }
    ENDED.store(ended as usize, Relaxed);
    // SAFETY: an action is plain data.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = child as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigaction(libc::SIGCHLD, &action, std::ptr::null_mut());
    }
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives valid descriptions.
    let (address, pc, code) = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        let at = context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        ((*info).si_addr() as usize, at, (*info).si_code)
    };
    if signal == libc::SIGSEGV && code > 0 && crate::watched::is_first_write(address) {
        return;
    }
    if !is_running() || !in_program() {
        if signal == STANDS_STILL {
            return;
        }
        crate::say::fatal(&[b"the explorer itself has failed, or the program before `main`"]);
    }
    let is_ours = crate::image::is_own(pc);
    if signal == STANDS_STILL {
        if !is_ours {
            give_up(
                "no scheduling point was reached for seconds: a loop, or a call that waits, which nothing in the program's own code ends",
            );
        }
        return;
    }
    // What fails in a function of ours fails where that was called.
    let pc = if is_ours { crate::place::called_from() } else { pc + 1 };
    let me = rt().current;
    let sent = code <= 0;
    let (kind, message) = match signal {
        libc::SIGFPE if !sent => (BugKind::DivisionByZero, "an integer is divided by zero".into()),
        libc::SIGSEGV | libc::SIGBUS if !sent && rt().fibers[me].is_below(address) => {
            (BugKind::Crash, "the stack of the thread is used up".into())
        }
        libc::SIGSEGV if !sent && address < 4096 => (BugKind::NullDereference, "a null pointer is followed".into()),
        libc::SIGSEGV | libc::SIGBUS => (BugKind::Crash, format!("address {address:#x} cannot be accessed")),
        libc::SIGILL => (BugKind::Crash, "an instruction that the processor does not know".into()),
        _ => (BugKind::Crash, format!("signal {signal}")),
    };
    fail(kind, message, pc)
}
