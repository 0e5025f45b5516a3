//! Threads: made, joined, ended.

use super::entries;
use super::tsan::gives;
use crate::control::in_program;
use crate::op::{ENDS, Op, Sent, Wait, asked_of, ended};
use crate::real::next;
use crate::rt::rt;
use crate::threads::{fail, give_way, point, spawn};
use fabius_explore::system::end_of;
use fabius_trace::BugKind;

entries! {
    pthread_create: "r8" => create;
    pthread_join: "rdx" => join;
    pthread_tryjoin_np: "rdx" => tryjoin;
    pthread_timedjoin_np: "rcx" => timedjoin;
    pthread_clockjoin_np: "r8" => clockjoin;
    pthread_detach: "rsi" => detach;
    pthread_exit: "rsi" => exit;
    pthread_self: "rdi" => myself;
    pthread_cancel: "rsi" => cancel;
    pthread_testcancel: "rdi" => testcancel;
    pthread_setcancelstate: "rdx" => setcancelstate;
    pthread_setcanceltype: "rdx" => setcanceltype;
    pthread_kill: "rdx" => kill;
    pthread_getattr_np: "rdx" => getattr;
    sched_yield: "rdi" => yield_here;
    pthread_yield: "rdi" => yield_here;
}

/// The number of a thread by what the program calls it.
pub fn number_of(thread: usize) -> Option<usize> {
    let rt = rt();
    rt.fibers[..rt.threads.len()].iter().position(|fiber| fiber.block == thread)
}

/// Makes a thread under control.
pub fn create_here(
    name: &'static str,
    function: usize,
    argument: usize,
    detached: bool,
    pc: usize,
) -> Result<usize, i32> {
    let number = rt().threads.len();
    point(Op { object: end_of(number as u32) as usize, write: true, ..Op::new(name, pc) });
    match spawn(function, argument, detached) {
        Some(number) => Ok(rt().fibers[number].block),
        None => Err(libc::EAGAIN),
    }
}

extern "C-unwind" fn create(
    thread: *mut usize,
    attributes: *const libc::pthread_attr_t,
    function: usize,
    argument: usize,
    pc: usize,
) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn pthread_create(*mut usize, *const libc::pthread_attr_t, usize, usize) -> i32)(
                thread, attributes, function, argument,
            )
        };
    }
    let mut state = 0;
    if !attributes.is_null() {
        // SAFETY: the program gives valid attributes.
        unsafe {
            next!(fn pthread_attr_getdetachstate(*const libc::pthread_attr_t, *mut i32) -> i32)(attributes, &mut state)
        };
    }
    match create_here("pthread_create", function, argument, state == libc::PTHREAD_CREATE_DETACHED, pc) {
        Ok(made) => {
            // The thread may look there before this is written.
            gives("pthread_create", thread as usize, 8, pc);
            // SAFETY: the program wants the identity there.
            unsafe { *thread = made };
            0
        }
        Err(error) => error,
    }
}

/// Waits for the end of a thread under control.
pub fn join_here(name: &'static str, thread: usize, deadline: Option<u64>, pc: usize) -> Result<usize, i32> {
    let Some(other) = number_of(thread) else { return Err(libc::ESRCH) };
    let me = rt().current;
    if other == me {
        return Err(libc::EDEADLK);
    }
    // The first thread, whose end is that of the process: see `lifetime.rs`.
    if other == 0 && rt().threads[other].detached {
        return Err(libc::EINVAL);
    }
    joins_once(other, pc);
    let end = match deadline {
        None => end_of(other as u32) as usize,
        Some(_) => {
            ends_are_seen();
            ended(other)
        }
    };
    let op = Op::new(name, pc).reads(end).when(Wait::End(other)).until(deadline);
    if super::cancelled_waits::waits(op) == crate::threads::Waited::TimedOut {
        return Err(libc::ETIMEDOUT);
    }
    joins_once(other, pc);
    let rt = rt();
    rt.clocks.learn(me, other);
    rt.threads[other].joined = true;
    rt.streak.steps = 0;
    Ok(rt.threads[other].result)
}

/// Somebody asks for the end of a thread and goes on if it has not come: from now on it is a point.
fn ends_are_seen() {
    let rt = rt();
    if !rt.points_are_fixed && rt.mark(ENDS) {
        rt.search_again();
    }
}

/// Ends the execution if somebody has joined or detached the thread: it may be there no more.
fn joins_once(thread: usize, pc: usize) {
    if rt().threads[thread].detached {
        fail(BugKind::SyncMisuse, "a thread is joined that is detached", pc);
    }
    if rt().threads[thread].joined {
        fail(BugKind::SyncMisuse, "a thread is joined that was joined before", pc);
    }
}

fn give_result(joined: Result<usize, i32>, result: *mut usize, pc: usize) -> i32 {
    match joined {
        Ok(value) => {
            if !result.is_null() {
                gives("pthread_join", result as usize, 8, pc);
                // SAFETY: the program wants the result there.
                unsafe { *result = value };
            }
            0
        }
        Err(error) => error,
    }
}

extern "C-unwind" fn join(thread: usize, result: *mut usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_join(usize, *mut usize) -> i32)(thread, result) };
    }
    give_result(join_here("pthread_join", thread, None, pc), result, pc)
}

extern "C-unwind" fn tryjoin(thread: usize, result: *mut usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_tryjoin_np(usize, *mut usize) -> i32)(thread, result) };
    }
    let Some(other) = number_of(thread) else { return libc::ESRCH };
    ends_are_seen();
    point(Op::new("pthread_tryjoin_np", pc).reads(ended(other)));
    if !rt().threads[other].finished {
        return libc::EBUSY;
    }
    give_result(join_here("pthread_tryjoin_np", thread, None, pc), result, pc)
}

extern "C-unwind" fn timedjoin(thread: usize, result: *mut usize, until: *const libc::timespec, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn pthread_timedjoin_np(usize, *mut usize, *const libc::timespec) -> i32)(thread, result, until)
        };
    }
    give_result(join_here("pthread_timedjoin_np", thread, Some(super::time::deadline(until)), pc), result, pc)
}

extern "C-unwind" fn clockjoin(
    thread: usize,
    result: *mut usize,
    clock: i32,
    until: *const libc::timespec,
    pc: usize,
) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn pthread_clockjoin_np(usize, *mut usize, i32, *const libc::timespec) -> i32)(
                thread, result, clock, until,
            )
        };
    }
    give_result(join_here("pthread_clockjoin_np", thread, Some(super::time::deadline(until)), pc), result, pc)
}

extern "C-unwind" fn detach(thread: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_detach(usize) -> i32)(thread) };
    }
    let Some(other) = number_of(thread) else { return libc::ESRCH };
    point(Op::new("pthread_detach", pc).on(end_of(other as u32) as usize));
    let other = &mut rt().threads[other];
    if other.joined {
        fail(BugKind::SyncMisuse, "a thread is detached that was joined", pc);
    }
    if std::mem::replace(&mut other.detached, true) { libc::EINVAL } else { 0 }
}

extern "C-unwind" fn exit(result: usize, pc: usize) {
    if in_program() {
        let me = rt().me();
        (me.result, me.cancellable, me.left_at) = (result, false, pc);
    }
    // SAFETY: unwinds to where the thread began, and runs cleanup handlers on the way.
    unsafe { next!(fn pthread_exit(usize))(result) }
}

extern "C-unwind" fn myself(_: usize) -> usize {
    if in_program() {
        return rt().fibers[rt().current].block;
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn pthread_self() -> usize)() }
}

extern "C-unwind" fn cancel(thread: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_cancel(usize) -> i32)(thread) };
    }
    let Some(other) = number_of(thread) else { return libc::ESRCH };
    point(Op::new("pthread_cancel", pc).on(asked_of(other)));
    rt().unannounced = true;
    rt().threads[other].cancelled = true;
    super::cancel::asks(other);
    0
}

extern "C-unwind" fn testcancel(_: usize) {
    if in_program() {
        point(Op::new("pthread_testcancel", 0).on(asked_of(rt().current)));
        super::cancel::is_cancelled_here();
    }
}

extern "C-unwind" fn setcancelstate(state: i32, old: *mut i32, _: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_setcancelstate(i32, *mut i32) -> i32)(state, old) };
    }
    let was = std::mem::replace(&mut rt().me().cancellable, state == 0);
    if !old.is_null() {
        // SAFETY: the program wants the old state there.
        unsafe { *old = i32::from(!was) };
    }
    super::cancel::acts_at_once();
    0
}

extern "C-unwind" fn setcanceltype(kind: i32, old: *mut i32, _: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_setcanceltype(i32, *mut i32) -> i32)(kind, old) };
    }
    if !(0..=1).contains(&kind) {
        return libc::EINVAL;
    }
    let was = std::mem::replace(&mut rt().me().asynchronous, kind == 1);
    if !old.is_null() {
        // SAFETY: the program wants the old type there.
        unsafe { *old = i32::from(was) };
    }
    super::cancel::acts_at_once();
    0
}

extern "C-unwind" fn kill(thread: usize, signal: i32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_kill(usize, i32) -> i32)(thread, signal) };
    }
    sends("pthread_kill", thread, Sent { signal, code: libc::SI_TKILL, value: 0 }, pc)
}

/// Sends a signal to a thread.
pub fn sends(name: &'static str, thread: usize, sent: Sent, pc: usize) -> i32 {
    let Some(other) = number_of(thread) else { return libc::ESRCH };
    point(Op::new(name, pc).on(asked_of(other)));
    rt().unannounced = true;
    if sent.signal == 0 {
        return 0;
    }
    if !(1..=64).contains(&sent.signal) {
        return libc::EINVAL;
    }
    crate::delivery::send(other, sent);
    0
}

extern "C-unwind" fn yield_here(pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn sched_yield() -> i32)() };
    }
    give_way("sched_yield", 0, pc);
    0
}

/// What a thread was made with: its stack is that of its fiber.
extern "C-unwind" fn getattr(thread: usize, attributes: *mut libc::pthread_attr_t, _: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn pthread_getattr_np(usize, *mut libc::pthread_attr_t) -> i32)(thread, attributes) };
    }
    let Some(number) = number_of(thread) else { return libc::ESRCH };
    let stack = rt().fibers[number].stack();
    let state =
        if rt().threads[number].detached { libc::PTHREAD_CREATE_DETACHED } else { libc::PTHREAD_CREATE_JOINABLE };
    // SAFETY: the program wants the attributes there; all three only write to them.
    unsafe {
        libc::pthread_attr_init(attributes);
        libc::pthread_attr_setdetachstate(attributes, state);
        libc::pthread_attr_setstack(attributes, stack.start as *mut libc::c_void, stack.len())
    }
}
