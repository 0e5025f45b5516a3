//! Signals that threads of the program send each other, and their handlers.
//!
//! A handler is called like a function of the thread that gets the signal, not by the kernel: to the kernel all threads are
//! one, and other threads may go on before a handler has returned. So what a thread has blocked is known of the thread; the
//! kernel's mask stays as it was before `main`. A thread that waits runs a handler and goes on waiting, as with `SA_RESTART`.

use crate::control::{in_program, is_controlled};
use crate::op::{NUMBER, Pending, Sent};
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

/// Whether one of these signals is there for the thread: sent to it, or to the process (of whose threads a timer is none).
pub fn is_there(thread: usize, set: u64) -> bool {
    let rt = rt();
    let is_timer = rt.threads[thread].is_timer;
    let of_process = rt.signals.iter().filter(|pending| !is_timer && !pending.bystanders.contains(&thread));
    let sent = rt.threads[thread].signals.iter().chain(of_process.map(|pending| &pending.sent));
    sent.into_iter().any(|sent| is_in(set, sent.signal))
}

/// The current thread has these signals blocked from now on; what it had before. As the kernel does it, it looks then whether
/// there are signals for it, even if another thread was told of them and has not got to them.
pub fn block(set: u64) -> u64 {
    let rt = rt();
    looks();
    std::mem::replace(&mut rt.me().blocked, blockable(set))
}

/// The current thread looks for signals that were sent to the process.
pub fn looks() {
    let rt = rt();
    let me = rt.current;
    rt.signals.iter_mut().for_each(|pending| pending.bystanders.retain(|other| *other != me));
}

/// Whether a signal is there that the thread has not blocked.
#[inline]
pub fn is_asked(thread: usize) -> bool {
    let me = &rt().threads[thread];
    !(me.signals.is_empty() && rt().signals.is_empty()) && is_there(thread, !me.blocked)
}

/// Takes the one of the set that is there with the lowest number, of those the first, as the kernel does.
pub fn next_of(set: u64) -> Option<Sent> {
    let rt = rt();
    let current = rt.current;
    let own = &mut rt.threads[current].signals;
    let there = own.iter().enumerate().filter(|(_, sent)| is_in(set, sent.signal));
    if let Some((at, _)) = there.min_by_key(|(_, sent)| sent.signal) {
        return Some(own.remove(at));
    }
    let of_process = rt.signals.iter().enumerate().filter(|(_, pending)| !pending.bystanders.contains(&current));
    let there = of_process.filter(|(_, pending)| is_in(set, pending.sent.signal));
    let (at, _) = there.min_by_key(|(_, pending)| pending.sent.signal)?;
    Some(rt.signals.remove(at).sent)
}

/// Runs the handlers of the signals that are there.
#[inline]
pub fn take() {
    while is_asked(rt().current) {
        let Some(sent) = next_of(!rt().me().blocked) else { return };
        handle(sent);
    }
}

/// The same, of each signal once: a call that has let them in is over when the first of them is handled.
pub fn take_each() {
    let mut set = !rt().me().blocked;
    while let Some(sent) = next_of(set) {
        set &= !bit(sent.signal);
        handle(sent);
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
    unsafe { crate::kernel::syscall(libc::SYS_rt_sigaction, signal, 0usize, &raw mut action, 8) };
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
pub fn handle(sent: Sent) {
    let signal = sent.signal;
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
    let itself = if action.flags & libc::SA_NODEFER as u64 == 0 { bit(signal) } else { 0 };
    let blocked = block(rt().me().blocked | action.mask | itself);
    // SAFETY: the program has set the function up for this. It gets a description that says which signal it is.
    unsafe {
        if action.flags & libc::SA_SIGINFO as u64 != 0 {
            let mut info = description(sent);
            let mut context: libc::ucontext_t = std::mem::zeroed();
            let handler: extern "C-unwind" fn(i32, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(action.handler);
            handler(signal, &raw mut info, (&raw mut context).cast());
        } else {
            let handler: extern "C-unwind" fn(i32) = std::mem::transmute(action.handler);
            handler(signal);
        }
    }
    block(blocked);
}

/// Does something that the kernel tells by `SIGPIPE` if nobody is left to read: the thread is told as of any other signal.
pub fn tells_of_broken_pipe(call: impl FnOnce() -> isize) -> isize {
    let set = bit(libc::SIGPIPE);
    let mut before = 0u64;
    let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: what the kernel has blocked is as before in the end, and `errno` what the call has left.
    unsafe {
        crate::kernel::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &raw const set, &raw mut before, 8);
        let got = call();
        let error = *libc::__errno_location();
        let told = got < 0
            && error == libc::EPIPE
            && crate::kernel::syscall(libc::SYS_rt_sigtimedwait, &raw const set, 0usize, &raw const now, 8) > 0;
        crate::kernel::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const before, 0usize, 8);
        if told {
            send(rt().current, Sent { signal: libc::SIGPIPE, code: libc::SI_USER, value: 0 });
        }
        *libc::__errno_location() = error;
        got
    }
}

/// What the C library says of a signal that was sent.
pub fn description(sent: Sent) -> libc::siginfo_t {
    /// Where the kernel says who sent it: the process, and its user.
    const SENDER: usize = 16;
    /// And what was sent with it.
    const VALUE: usize = 24;
    // SAFETY: a description is plain data, and has room behind its first words.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        (info.si_signo, info.si_code) = (sent.signal, sent.code);
        let sender = (&raw mut info).byte_add(SENDER).cast::<[u32; 2]>();
        sender.write([NUMBER as u32, crate::kernel::syscall(libc::SYS_getuid) as u32]);
        (&raw mut info).byte_add(VALUE).cast::<usize>().write(sent.value);
        info
    }
}

/// What of a set can be blocked.
fn blockable(set: u64) -> u64 {
    set & !(bit(libc::SIGKILL) | bit(libc::SIGSTOP))
}

/// Signals whose handlers the kernel calls, because of what the thread does.
const BY_THE_KERNEL: [i32; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS, libc::SIGIO];

/// Says what is to be done about a signal from now on, and what was before; the next execution begins with that. What is
/// on its way of a signal about which nothing is done is gone.
///
/// # Safety
///
/// As for `sigaction`.
pub unsafe fn set(signal: i32, new: *const libc::sigaction, before: &mut libc::sigaction) -> i32 {
    // The kernel calls these, on the stack of the thread: it cannot where nobody has written yet.
    if in_program() && !new.is_null() && BY_THE_KERNEL.contains(&signal) {
        crate::watched::end();
    }
    // SAFETY: as the caller says.
    let result =
        unsafe { next!(fn sigaction(i32, *const libc::sigaction, *mut libc::sigaction) -> i32)(signal, new, before) };
    if result == 0 && !new.is_null() && is_controlled() {
        // Within an execution none that was ever handled is forgotten: its handler may still run.
        if is_handled(signal) || !in_program() {
            crate::interruptions::handles(bit(signal), is_handled(signal));
        }
    }
    if in_program() && result == 0 && !new.is_null() {
        let rt = rt();
        rt.handlers.push((signal, *before));
        if action(signal).is_nothing(signal) {
            rt.signals.retain(|there| there.sent.signal != signal);
            rt.threads.iter_mut().for_each(|thread| thread.signals.retain(|there| there.signal != signal));
        }
    }
    result
}

/// Sends a signal to the process: any thread that has not blocked it is told, and runs the handler when it goes on, unless one
/// that looks for signals is faster; if there is none, the signal waits for one.
pub fn signal_process(sent: Sent) {
    let rt = rt();
    let mut open: Vec<usize> = (0..rt.threads.len()).collect();
    open.retain(|number| {
        let thread = &rt.threads[*number];
        !thread.finished && !is_in(thread.blocked, sent.signal) && !thread.is_timer
    });
    if !open.is_empty() && !is_handled(sent.signal) {
        return handle(sent);
    }
    if !is_queued(sent.signal) && rt.signals.iter().any(|there| there.sent.signal == sent.signal) {
        return;
    }
    let told = (!open.is_empty()).then(|| open.swap_remove(rt.choose(open.len() as u32) as usize));
    rt.signals.push(Pending { sent, told, bystanders: open });
    if told == Some(rt.current) {
        take();
    }
}

/// Sends a signal to a thread, which runs the handler when it goes on. How it was sent is what `si_code` says.
pub fn send(thread: usize, sent: Sent) {
    let signal = sent.signal;
    if action(signal).is_nothing(signal) && !is_in(rt().threads[thread].blocked, signal) {
        return;
    }
    let signals = &mut rt().threads[thread].signals;
    if is_queued(signal) || signals.iter().all(|there| there.signal != signal) {
        signals.push(sent);
    }
    if thread == rt().current {
        take();
    }
}

/// Whether it may be on its way more than once, as those that programs may use as they like.
fn is_queued(signal: i32) -> bool {
    signal >= libc::SIGRTMIN()
}
