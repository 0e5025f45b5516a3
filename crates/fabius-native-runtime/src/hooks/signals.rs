//! Calls by which threads send signals, block them and wait for them (`delivery.rs`).

use super::entries;
use super::files::fails_with;
use crate::control::in_program;
use crate::delivery::{bit, block, description, looks, next_of, send, set, signal_process, take};
use crate::op::{NUMBER, Op, PROCESS, Sent, Wait, asked_of};
use crate::real::next;
use crate::rt::rt;
use crate::threads::{Waited, point};

/// Signals as the kernel writes a set of them.
type Set = *const u64;

entries! {
    kill: "rdx" => kill_here;
    raise: "rsi" => raise_here;
    sigqueue: "rcx" => sigqueue_here;
    pthread_sigqueue: "rcx" => pthread_sigqueue_here;
    sigaction: "rcx" => sigaction_here;
    signal: "rdx" => signal_here;
    bsd_signal: "rdx" => signal_here;
    ssignal: "rdx" => signal_here;
    sysv_signal: "rdx" => sysv_signal_here;
    __sysv_signal: "rdx" => sysv_signal_here;
    pthread_sigmask: "rcx" => sigmask_here;
    sigprocmask: "rcx" => sigprocmask_here;
    sigpending: "rsi" => sigpending_here;
    sigwait: "rdx" => sigwait_here;
    sigwaitinfo: "rdx" => sigwaitinfo_here;
    sigtimedwait: "rcx" => sigtimedwait_here;
    pause: "rdi" => pause_here;
    sigsuspend: "rsi" => sigsuspend_here;
    sigaltstack: "rdx" => sigaltstack_here;
}

extern "C-unwind" fn kill_here(process: i32, signal: i32, pc: usize) -> i32 {
    if !in_program() || rt().children.contains(&process) {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn kill(i32, i32) -> i32)(process, signal) };
    }
    // The process is a group of its own: no other one is reached.
    if ![NUMBER, -NUMBER, 0].contains(&process) {
        if process == -1 {
            crate::threads::not_supported("kill of all processes");
        }
        return fails_with(libc::ESRCH) as i32;
    }
    sends("kill", Sent { signal, code: libc::SI_USER, value: 0 }, pc)
}

/// Sends a signal to the process.
fn sends(name: &'static str, sent: Sent, pc: usize) -> i32 {
    if !(0..=64).contains(&sent.signal) {
        return fails_with(libc::EINVAL) as i32;
    }
    if sent.signal == 0 {
        return 0;
    }
    point(Op::new(name, pc).on(PROCESS));
    rt().unannounced = true;
    signal_process(sent);
    0
}

extern "C-unwind" fn sigqueue_here(process: i32, signal: i32, value: usize, pc: usize) -> i32 {
    if !in_program() || rt().children.contains(&process) {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn sigqueue(i32, i32, usize) -> i32)(process, signal, value) };
    }
    if process != NUMBER {
        return fails_with(libc::ESRCH) as i32;
    }
    sends("sigqueue", Sent { signal, code: libc::SI_QUEUE, value }, pc)
}

extern "C-unwind" fn pthread_sigqueue_here(thread: usize, signal: i32, value: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_sigqueue(usize, i32, usize) -> i32)(thread, signal, value) };
    }
    super::thread::sends("pthread_sigqueue", thread, Sent { signal, code: libc::SI_QUEUE, value }, pc)
}

extern "C-unwind" fn raise_here(signal: i32, pc: usize) -> i32 {
    if !in_program() || !(1..=64).contains(&signal) {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn raise(i32) -> i32)(signal) };
    }
    // What is to be done about it others may say before.
    if rt().has_others() {
        point(Op::new("raise", pc).reads(PROCESS));
    }
    send(rt().current, Sent { signal, code: libc::SI_TKILL, value: 0 });
    0
}

fn mask_here(name: &'static str, how: i32, set: Set, old: *mut u64, pc: usize) -> i32 {
    if !set.is_null() && ![libc::SIG_BLOCK, libc::SIG_UNBLOCK, libc::SIG_SETMASK].contains(&how) {
        return libc::EINVAL;
    }
    if !set.is_null() && rt().has_others() {
        point(Op::new(name, pc).on(asked_of(rt().current)));
    }
    let before = rt().me().blocked;
    if !old.is_null() {
        // SAFETY: the program wants the signals there that were blocked.
        unsafe { *old = before };
    }
    if !set.is_null() {
        // SAFETY: the program gives a set.
        let set = unsafe { *set };
        block(match how {
            libc::SIG_BLOCK => before | set,
            libc::SIG_UNBLOCK => before & !set,
            _ => set,
        });
        take();
    }
    0
}

extern "C-unwind" fn sigmask_here(how: i32, set: Set, old: *mut u64, pc: usize) -> i32 {
    if in_program() {
        return mask_here("pthread_sigmask", how, set, old, pc);
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn pthread_sigmask(i32, Set, *mut u64) -> i32)(how, set, old) }
}

extern "C-unwind" fn sigprocmask_here(how: i32, set: Set, old: *mut u64, pc: usize) -> i32 {
    if in_program() {
        return match mask_here("sigprocmask", how, set, old, pc) {
            0 => 0,
            error => fails_with(error) as i32,
        };
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn sigprocmask(i32, Set, *mut u64) -> i32)(how, set, old) }
}

extern "C-unwind" fn sigpending_here(set: *mut u64, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn sigpending(*mut u64) -> i32)(set) };
    }
    asks("sigpending", pc, Wait::Not, None);
    let (rt, me) = (rt(), rt().current);
    let sent = rt.threads[me].signals.iter().chain(rt.signals.iter().map(|pending| &pending.sent));
    let there = sent.fold(0, |set, sent| set | bit(sent.signal));
    // SAFETY: the program wants a set there.
    unsafe { *set = there };
    0
}

/// The point before a thread looks at its signals, or waits for one.
fn asks(name: &'static str, pc: usize, wait: Wait, deadline: Option<u64>) -> Waited {
    rt().unannounced = true;
    let op = Op::new(name, pc).on(asked_of(rt().current)).when(wait).until(deadline);
    if !matches!(wait, Wait::Signal(_)) {
        return point(op);
    }
    super::cancelled_waits::waits(op)
}

/// Waits for a signal of the set, which runs no handler.
fn wait_for(name: &'static str, set: Set, deadline: Option<u64>, pc: usize) -> Option<Sent> {
    // SAFETY: the program gives a set.
    let set = unsafe { *set };
    looks();
    asks(name, pc, Wait::Signal(set), deadline);
    next_of(set)
}

extern "C-unwind" fn sigwait_here(set: Set, signal: *mut i32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn sigwait(Set, *mut i32) -> i32)(set, signal) };
    }
    // SAFETY: the program wants the signal there.
    unsafe { *signal = wait_for("sigwait", set, None, pc).map_or(0, |sent| sent.signal) };
    0
}

extern "C-unwind" fn sigwaitinfo_here(set: Set, info: *mut libc::siginfo_t, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn sigwaitinfo(Set, *mut libc::siginfo_t) -> i32)(set, info) };
    }
    told_of(wait_for("sigwaitinfo", set, None, pc), info)
}

extern "C-unwind" fn sigtimedwait_here(
    set: Set,
    info: *mut libc::siginfo_t,
    time: *const libc::timespec,
    pc: usize,
) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn sigtimedwait(Set, *mut libc::siginfo_t, *const libc::timespec) -> i32)(set, info, time)
        };
    }
    if !time.is_null() && super::time::is_no_length(time) {
        return fails_with(libc::EINVAL) as i32;
    }
    let deadline = (!time.is_null()).then(|| rt().now + super::time::nanoseconds(time));
    told_of(wait_for("sigtimedwait", set, deadline, pc), info)
}

fn told_of(sent: Option<Sent>, info: *mut libc::siginfo_t) -> i32 {
    let Some(sent) = sent else { return fails_with(libc::EAGAIN) as i32 };
    if !info.is_null() {
        // SAFETY: the program wants the description there.
        unsafe { *info = description(sent) };
    }
    sent.signal
}

/// Waits for a signal whose handler runs. Those that come before that are handled, and not waited for.
extern "C-unwind" fn pause_here(pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pause() -> i32)() };
    }
    asks("pause", pc, Wait::Not, None);
    asks("pause", pc, Wait::Signal(!rt().me().blocked), None);
    fails_with(libc::EINTR) as i32
}

extern "C-unwind" fn sigsuspend_here(set: Set, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn sigsuspend(Set) -> i32)(set) };
    }
    asks("sigsuspend", pc, Wait::Not, None);
    // SAFETY: the program gives a set.
    let blocked = block(unsafe { *set });
    asks("sigsuspend", pc, Wait::Signal(!rt().me().blocked), None);
    block(blocked);
    take();
    fails_with(libc::EINTR) as i32
}

/// The stack on which faults are handled is ours until the program has one: it is told that it has none.
extern "C-unwind" fn sigaltstack_here(new: *const libc::stack_t, old: *mut libc::stack_t, _: usize) -> i32 {
    // SAFETY: as the program calls it, straight to the kernel.
    let call = |new: *const libc::stack_t, old: *mut libc::stack_t| unsafe {
        crate::kernel::syscall(libc::SYS_sigaltstack, new, old) as i32
    };
    if !in_program() || new.is_null() && old.is_null() {
        return call(new, old);
    }
    let rt = rt();
    if !new.is_null() {
        crate::watched::end();
        rt.has_signal_stack = true;
    } else if !rt.has_signal_stack {
        // SAFETY: the program wants to know of its stack, and has none.
        unsafe { *old = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 } };
        return 0;
    }
    call(new, old)
}

extern "C-unwind" fn sigaction_here(
    signal: i32,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
    pc: usize,
) -> i32 {
    // What is to be done about a signal concerns all threads, and who has sent one.
    if in_program() && !new.is_null() && rt().has_others() {
        point(Op::new("sigaction", pc).on(PROCESS));
    }
    // SAFETY: as the program calls it; an action is plain data.
    unsafe {
        let mut before = std::mem::zeroed();
        let result = set(signal, new, &mut before);
        if !old.is_null() && result == 0 {
            *old = before;
        }
        result
    }
}

extern "C-unwind" fn signal_here(signal: i32, handler: usize, pc: usize) -> usize {
    signal_as(signal, handler, libc::SA_RESTART, pc)
}

/// What `signal` is in C without extensions: the handler is called once, and its signal not blocked meanwhile.
extern "C-unwind" fn sysv_signal_here(signal: i32, handler: usize, pc: usize) -> usize {
    signal_as(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER, pc)
}

fn signal_as(signal: i32, handler: usize, flags: i32, pc: usize) -> usize {
    // SAFETY: an action is plain data.
    let (mut new, mut old): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    new.sa_sigaction = handler;
    new.sa_flags = flags;
    if sigaction_here(signal, &new, &mut old, pc) == 0 { old.sa_sigaction } else { usize::MAX }
}
