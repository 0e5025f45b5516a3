//! Signals that threads of the program send each other, and their handlers.
//!
//! A handler is called like a function of the thread that gets the signal, not by the kernel: to the kernel all threads are
//! one, and other threads may go on before a handler has returned.

use super::entries;
use crate::control::in_program;
use crate::real::next;
use crate::rt::rt;
use std::ffi::c_void;

/// What the process is called in every execution, whichever process runs it. No process has so large a number, so nothing
/// that is sent to it reaches another one.
pub const NUMBER: i32 = 5_000_000;

entries! {
    kill: "rdx" => kill_here;
    raise: "rsi" => raise_here;
    sigaction: "rcx" => sigaction_here;
    signal: "rdx" => signal_here;
}

/// What is done about a signal, as the kernel writes it.
#[repr(C)]
#[derive(Default)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// Runs the handlers of signals that the thread was sent. One that it handles already waits until that is done.
pub fn take() {
    loop {
        let me = rt().me();
        let Some(at) = me.signals.iter().position(|signal| !me.handles.contains(signal)) else { return };
        let signal = me.signals.remove(at);
        handle(signal);
    }
}

fn handle(signal: i32) {
    let (mut action, mut blocked) = (Action::default(), 0u64);
    // SAFETY: asks the kernel what is done, and what is blocked.
    unsafe {
        libc::syscall(libc::SYS_rt_sigaction, signal, 0usize, &raw mut action, 8);
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, 0usize, &raw mut blocked, 8);
    }
    let is_blocked = blocked & 1 << (signal - 1) != 0;
    if action.handler == libc::SIG_DFL || is_blocked || crate::image::is_own(action.handler) {
        // SAFETY: the kernel does what is to be done, or keeps the signal; or the process has failed.
        unsafe { next!(fn raise(i32) -> i32)(signal) };
        return;
    }
    if action.handler == libc::SIG_IGN {
        return;
    }
    rt().me().handles.push(signal);
    // SAFETY: the program has set the function up for this. It gets a description that says which signal it is.
    unsafe {
        if action.flags & libc::SA_SIGINFO as u64 != 0 {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            (info.si_signo, info.si_code) = (signal, libc::SI_TKILL);
            let mut context: libc::ucontext_t = std::mem::zeroed();
            let handler: extern "C-unwind" fn(i32, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(action.handler);
            handler(signal, &raw mut info, (&raw mut context).cast());
        } else {
            let handler: extern "C-unwind" fn(i32) = std::mem::transmute(action.handler);
            handler(signal);
        }
    }
    rt().me().handles.retain(|handled| *handled != signal);
}

extern "C-unwind" fn kill_here(process: i32, signal: i32, pc: usize) -> i32 {
    if in_program() && process == NUMBER {
        return raise_here(signal, pc);
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn kill(i32, i32) -> i32)(process, signal) }
}

extern "C-unwind" fn raise_here(signal: i32, _: usize) -> i32 {
    if !in_program() || !(1..=64).contains(&signal) {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn raise(i32) -> i32)(signal) };
    }
    rt().me().signals.push(signal);
    take();
    0
}

extern "C-unwind" fn sigaction_here(
    signal: i32,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
    _: usize,
) -> i32 {
    // SAFETY: as the program calls it.
    unsafe {
        let mut before = std::mem::zeroed();
        let real = next!(fn sigaction(i32, *const libc::sigaction, *mut libc::sigaction) -> i32);
        let result = real(signal, new, &mut before);
        if in_program() && result == 0 && !new.is_null() {
            rt().handlers.push((signal, before));
        }
        if !old.is_null() && result == 0 {
            *old = before;
        }
        result
    }
}

extern "C-unwind" fn signal_here(signal: i32, handler: usize, pc: usize) -> usize {
    // SAFETY: an action is plain data.
    let (mut new, mut old): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    new.sa_sigaction = handler;
    new.sa_flags = libc::SA_RESTART;
    if sigaction_here(signal, &new, &mut old, pc) == 0 { old.sa_sigaction } else { usize::MAX }
}
