//! The handler of traps, and whether there are any.

use super::{End, Trial, UNDER_WAY, begins, comes_to_an_end};
use crate::rt::moved;
use libc::{c_int, c_void, siginfo_t};
use std::cell::UnsafeCell;
use std::mem::{MaybeUninit, zeroed};
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;

/// What was done with the signal before.
struct Before(UnsafeCell<MaybeUninit<libc::sigaction>>);

// SAFETY: it is written once, before the handler that reads it is installed.
unsafe impl Sync for Before {}

static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::uninit()));

unsafe extern "C" fn on_trap(signal: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel hands out a valid context; the trial is that of this thread, which stands still.
    unsafe {
        let trial = UNDER_WAY.get();
        if trial.is_null() {
            // Not ours: as if there were no handler.
            libc::sigaction(signal, (*BEFORE.0.get()).as_ptr(), ptr::null_mut());
            libc::raise(signal);
            return;
        }
        let machine = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext;
        let (registers, saved) = (&mut machine.gregs, machine.fpregs.cast::<u8>());
        while Trial::comes_to(trial, registers, saved) {}
    }
}

/// Whether trials work here. The caller runs on the stack, which has its top there.
pub(in crate::rt) fn work(stack: Range<usize>, top: usize) -> bool {
    static WORK: OnceLock<bool> = OnceLock::new();
    *WORK.get_or_init(|| {
        // A debugger has use for traps itself.
        let traced = std::fs::read_to_string("/proc/self/status")
            .is_ok_and(|status| status.lines().any(|l| l.starts_with("TracerPid:") && !l.ends_with("\t0")));
        // Makes the list that the handler looks at.
        moved::is_static(0);
        // SAFETY: the handler does only what a handler may; it leaves the registers that are asked for, or goes back to
        // where the trial began.
        !traced
            && unsafe {
                let mut action: libc::sigaction = zeroed();
                action.sa_sigaction = on_trap as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigaction(libc::SIGTRAP, ptr::null(), (*BEFORE.0.get()).as_mut_ptr());
                libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut());
                match begins(stack, top, |_| ()) {
                    Some(outcome) => outcome.end == End::Round,
                    None => {
                        comes_to_an_end(1);
                        UNDER_WAY.set(ptr::null_mut());
                        false
                    }
                }
            }
    })
}
