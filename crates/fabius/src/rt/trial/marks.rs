//! What a thread calls that may be part of a trial: the places that the handler knows.

use super::{End, Start, current};
use std::ffi::c_void;
use std::mem::{self, ManuallyDrop};

// Saves the registers and the stack up to its top, and returns 0 with traps on. The handler makes it return a second time,
// with 1.
std::arch::global_asm!(
    ".globl fabius_trial_begins",
    ".hidden fabius_trial_begins",
    ".type fabius_trial_begins, @function",
    "fabius_trial_begins:",
    "mov [rdi], rbx",
    "mov [rdi + 8], rbp",
    "mov [rdi + 16], r12",
    "mov [rdi + 24], r13",
    "mov [rdi + 32], r14",
    "mov [rdi + 40], r15",
    "mov [rdi + 48], rsp",
    "mov rcx, rdx",
    "sub rcx, rsp",
    "shr rcx, 3",
    "mov [rdi + 56], rcx",
    "mov rdi, rsi",
    "mov rsi, rsp",
    "cld",
    "rep movsq",
    "pushfq",
    "or qword ptr [rsp], 0x100",
    "popfq",
    "xor eax, eax",
    "ret",
    ".size fabius_trial_begins, . - fabius_trial_begins",
    // Calls a function with an argument, which is not looked at: the handler turns traps off where a thread comes here. What a call preserves
    // is behind it as it was, however the compiler has built what is called; only this is relied on.
    ".globl fabius_trial_aside",
    ".hidden fabius_trial_aside",
    ".type fabius_trial_aside, @function",
    "fabius_trial_aside:",
    ".cfi_startproc",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "jmp fabius_trial_goes_on",
    ".cfi_endproc",
    ".size fabius_trial_aside, . - fabius_trial_aside",
    // Traps are on again.
    ".globl fabius_trial_goes_on",
    ".hidden fabius_trial_goes_on",
    ".type fabius_trial_goes_on, @function",
    "fabius_trial_goes_on:",
    "pushfq",
    "or qword ptr [rsp], 0x100",
    "popfq",
    "ret",
    ".size fabius_trial_goes_on, . - fabius_trial_goes_on",
);

unsafe extern "C" {
    pub(super) fn fabius_trial_begins(start: *mut Start, copy: *mut u64, top: usize) -> u64;
    fn fabius_trial_goes_on();
}

unsafe extern "C-unwind" {
    pub(super) fn fabius_trial_aside(
        what: unsafe extern "C-unwind" fn(*mut c_void) -> u64,
        argument: *mut c_void,
    ) -> u64;
}

/// The handler sees that a thread has come here, and ends the trial.
#[inline(never)]
pub(super) extern "C" fn comes_to_an_end(end: u64) {
    std::hint::black_box(end);
}

/// The handler sees that a thread has come here with the place of a local value.
#[inline(never)]
pub(super) extern "C" fn comes_to_a_local(address: usize) -> usize {
    std::hint::black_box(address)
}

/// The round goes on with the place of a local value, which [`super::Trial::finds_local`] has been told.
pub(in crate::rt) fn goes_on_with_local(address: usize) -> usize {
    if current().is_none_or(|trial| trial.is_aside) { address } else { comes_to_a_local(address) }
}

/// Does something for an operation that may be part of a trial, and then is not looked at. It writes to nothing but what
/// was allowed, takes no memory and gives none back; what it returns fits into a register.
pub(crate) fn aside<R, F: FnOnce() -> R>(what: F) -> R {
    const { assert!(size_of::<R>() <= size_of::<u64>() && align_of::<R>() <= align_of::<u64>()) };
    if current().is_none_or(|trial| trial.is_aside) {
        return what();
    }
    let mut what = ManuallyDrop::new(what);
    // SAFETY: it is called once, and not used any more. What it returns is the first bytes of the word, which no memory is looked at for.
    unsafe { mem::transmute_copy(&fabius_trial_aside(is_not_looked_at::<R, F>, (&raw mut what).cast())) }
}

/// # Safety
/// The function is there, and nobody else calls it.
unsafe extern "C-unwind" fn is_not_looked_at<R, F: FnOnce() -> R>(what: *mut c_void) -> u64 {
    let mut word = 0u64;
    // SAFETY: as the caller says; what it returns is no larger than the word.
    unsafe { (&raw mut word).cast::<R>().write(what.cast::<F>().read()()) };
    if let Some(trial) = current() {
        trial.is_aside = false;
    }
    word
}

/// Changes a count of references, which may be part of a trial. Whatever is exchanged there is no lock.
pub(crate) fn counting<R>(what: impl FnOnce() -> R) -> R {
    let set = |counts| {
        if let Some(trial) = current() {
            trial.counts = counts;
        }
    };
    set(true);
    let result = what();
    set(false);
    result
}

/// Ends the trial that the caller is part of; does not return.
pub(in crate::rt) fn ends(end: End) -> ! {
    if let Some(trial) = current().filter(|trial| trial.is_aside) {
        trial.is_aside = false;
        // SAFETY: the trial is under way, so that its handler is installed.
        unsafe { fabius_trial_goes_on() };
    }
    comes_to_an_end(u64::from(end == End::Round));
    eprintln!("fabius: no trap came while a loop was tried out; the process ends");
    std::process::abort();
}
