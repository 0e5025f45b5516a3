//! Whether the process is under control, and who runs: the program or the explorer.

use fabius_native_protocol::{FD, LINK};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

const NOT_KNOWN: u8 = 0;
const FREE: u8 = 1;
const CONTROLLED: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(NOT_KNOWN);

static IN_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Whether the process was started by `fabius run`. Otherwise the program runs as if it had not been linked with us.
pub fn is_controlled() -> bool {
    match MODE.load(Relaxed) {
        NOT_KNOWN => {
            let mut text = [0u8; 64];
            let path = format_fd();
            // SAFETY: reads a link into a buffer; this is called before anything else works, so straight from the kernel.
            let length =
                unsafe { crate::kernel::syscall(libc::SYS_readlink, path.as_ptr(), text.as_mut_ptr(), text.len()) };
            let is = length > 0 && &text[..length as usize] == LINK.as_bytes();
            MODE.store(if is { CONTROLLED } else { FREE }, Relaxed);
            is
        }
        mode => mode == CONTROLLED,
    }
}

const fn format_fd() -> [u8; 17] {
    const { assert!(FD == 60) };
    *b"/proc/self/fd/60\0"
}

static CALLS: AtomicU64 = AtomicU64::new(0);

/// Whether code of the program runs on a fiber of ours: only then calls are handled; all others go to where they would. Counts
/// the call.
#[inline(always)]
pub fn in_program() -> bool {
    let is = IN_PROGRAM.load(Relaxed);
    CALLS.store(CALLS.load(Relaxed) + u64::from(is), Relaxed);
    is
}

/// Counts a call.
#[inline(always)]
pub fn count_call() {
    // There is one thread: no need to do both at once.
    CALLS.store(CALLS.load(Relaxed) + 1, Relaxed);
}

/// Whether code of the program runs on a fiber of ours, where the call changes nothing, or is counted otherwise.
#[inline(always)]
pub fn is_in_program() -> bool {
    IN_PROGRAM.load(Relaxed)
}

/// How many calls there were.
pub fn calls() -> u64 {
    CALLS.load(Relaxed)
}

/// The program goes on, or the explorer.
#[inline(always)]
pub fn set_in_program(is: bool) {
    IN_PROGRAM.store(is, Relaxed);
}

static RUNNING: AtomicBool = AtomicBool::new(false);

/// Whether the explorer has begun.
pub fn is_running() -> bool {
    RUNNING.load(Relaxed)
}

/// The explorer begins.
pub fn set_running() {
    RUNNING.store(true, Relaxed);
}
