//! Signals that threads of the program send each other, and their handlers.
//!
//! A handler is called like a function of the thread that gets the signal, not by the kernel: to the kernel all threads are
//! one, and other threads may go on before a handler has returned. So what a thread has blocked is known of the thread; the
//! kernel's mask stays as it was before `main`. A thread that waits runs a handler and goes on waiting, as with `SA_RESTART`.

use crate::control::in_program;
use crate::real::next;
use crate::rt::rt;
use std::ffi::c_void;

/// What is done about a signal, as the kernel writes it.
#[repr(C)]
#[derive(Default)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// The set of this signal.
pub const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Whether it is in the set.
pub fn is_in(set: u64, signal: i32) -> bool {
    set & bit(signal) != 0
}

/// Whether one of these signals is there for the thread: sent to it, or to the process.
pub fn is_there(thread: usize, set: u64) -> bool {
    let rt = rt();
    rt.threads[thread].signals.iter().chain(&rt.signals).any(|signal| is_in(set, *signal))
}

/// Whether a signal is there that the thread has not blocked.
#[inline]
pub fn is_asked(thread: usize) -> bool {
    let me = &rt().threads[thread];
    !(me.signals.is_empty() && rt().signals.is_empty()) && is_there(thread, !me.blocked)
}

/// Takes the first one of the set that is there.
pub fn next_of(set: u64) -> Option<i32> {
    let rt = rt();
    let current = rt.current;
    let first = |list: &mut Vec<i32>| {
        let at = list.iter().position(|signal| is_in(set, *signal))?;
        Some(list.remove(at))
    };
    first(&mut rt.threads[current].signals).or_else(|| first(&mut rt.signals))
}

/// Runs the handlers of the signals that are there.
#[inline]
pub fn take() {
    while is_asked(rt().current) {
        let Some(signal) = next_of(!rt().me().blocked) else { return };
        handle(signal);
    }
}

/// Whether a function of the program's handles a signal.
pub fn is_handled(signal: i32) -> bool {
    action(signal).is_function()
}

/// What is to be done about a signal.
fn action(signal: i32) -> Action {
    let mut action = Action::default();
    // SAFETY: asks the kernel.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, 0usize, &raw mut action, 8) };
    action
}

impl Action {
    /// Whether that is a function of the program's.
    fn is_function(&self) -> bool {
        !matches!(self.handler, libc::SIG_DFL | libc::SIG_IGN) && !crate::image::is_own(self.handler)
    }

    /// Whether nothing is done about this signal.
    fn is_nothing(&self, signal: i32) -> bool {
        let by_itself = matches!(signal, libc::SIGCHLD | libc::SIGCONT | libc::SIGURG | libc::SIGWINCH);
        self.handler == libc::SIG_IGN || !self.is_function() && by_itself
    }
}

/// The current thread does what is to be done about a signal.
pub fn handle(signal: i32) {
    let action = action(signal);
    if action.is_nothing(signal) {
        return;
    }
    if !action.is_function() {
        // SAFETY: the kernel does what is to be done, or the process has failed.
        unsafe { next!(fn raise(i32) -> i32)(signal) };
        return;
    }
    if action.flags & u64::from(libc::SA_RESETHAND as u32) != 0 {
        // SAFETY: an action is plain data; this one is that of the system.
        unsafe { set(signal, &std::mem::zeroed(), &mut std::mem::zeroed()) };
    }
    let blocked = rt().me().blocked;
    rt().me().blocked |= action.mask | if action.flags & libc::SA_NODEFER as u64 == 0 { bit(signal) } else { 0 };
    // SAFETY: the program has set the function up for this. It gets a description that says which signal it is.
    unsafe {
        if action.flags & libc::SA_SIGINFO as u64 != 0 {
            let mut info = description(signal);
            let mut context: libc::ucontext_t = std::mem::zeroed();
            let handler: extern "C-unwind" fn(i32, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(action.handler);
            handler(signal, &raw mut info, (&raw mut context).cast());
        } else {
            let handler: extern "C-unwind" fn(i32) = std::mem::transmute(action.handler);
            handler(signal);
        }
    }
    rt().me().blocked = blocked;
}

/// What the C library says of a signal that was sent.
pub fn description(signal: i32) -> libc::siginfo_t {
    // SAFETY: a description is plain data.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    (info.si_signo, info.si_code) = (signal, libc::SI_TKILL);
    info
}

/// Says what is to be done about a signal from now on, and what was before; the next execution begins with that. What is
/// on its way of a signal about which nothing is done is gone.
///
/// # Safety
///
/// As for `sigaction`.
pub unsafe fn set(signal: i32, new: *const libc::sigaction, before: &mut libc::sigaction) -> i32 {
    // SAFETY: as the caller says.
    let result =
        unsafe { next!(fn sigaction(i32, *const libc::sigaction, *mut libc::sigaction) -> i32)(signal, new, before) };
    if in_program() && result == 0 && !new.is_null() {
        let rt = rt();
        rt.handlers.push((signal, *before));
        if action(signal).is_nothing(signal) {
            rt.signals.retain(|there| *there != signal);
            rt.threads.iter_mut().for_each(|thread| thread.signals.retain(|there| *there != signal));
        }
    }
    result
}

/// Sends a signal to a thread, which runs the handler when it goes on.
pub fn send(thread: usize, signal: i32) {
    if action(signal).is_nothing(signal) && !is_in(rt().threads[thread].blocked, signal) {
        return;
    }
    add(&mut rt().threads[thread].signals, signal);
    if thread == rt().current {
        take();
    }
}

/// One more signal is on its way. Only those that programs may use as they like are there more than once.
pub fn add(signals: &mut Vec<i32>, signal: i32) {
    if signal >= libc::SIGRTMIN() || !signals.contains(&signal) {
        signals.push(signal);
    }
}
