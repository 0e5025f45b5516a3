//! Timers that send signals or call functions, on virtual time: they may run out at any time, as waits with a limit may.
//!
//! Each run of a timer is a thread of its own that waits for the end of it. One whose signal nobody handles or waits for would end
//! the process: it is there to end a test that hangs, which is found out anyway, so it never runs out.

use super::files::fails_with;
use super::time::{Time, deadline, is_no_length, nanoseconds};
use crate::control::in_program;
use crate::delivery::{is_handled, is_in, signal_process};
use crate::op::{Op, PROCESS, Sent, Wait};
use crate::real::next;
use crate::rt::rt;
use crate::threads::{point, spawn};
use crate::timer::{Act, Timer};

/// How a timer is set, as the C library writes it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Setting {
    interval: libc::timespec,
    value: libc::timespec,
}

/// What a timer is to do, as the C library writes it.
#[repr(C)]
struct Event {
    value: usize,
    signal: i32,
    how: i32,
    /// A thread, or a function.
    whom: usize,
}

super::entries! {
    alarm: "rsi" => alarm_here;
    setitimer: "rcx" => setitimer_here;
    getitimer: "rdx" => getitimer_here;
    timer_create: "rcx" => create_here;
    timer_settime: "r8" => settime_here;
    timer_gettime: "rdx" => gettime_here;
    timer_getoverrun: "rsi" => getoverrun_here;
    timer_delete: "rsi" => delete_here;
}

/// The signal that says how a timer was sent.
const SI_TIMER: i32 = -2;

/// The timer that `alarm` and `setitimer` set is the first one.
const REAL: usize = 0;

fn timer(number: usize) -> Option<&'static mut Timer> {
    let timers = &mut rt().timers;
    if timers.is_empty() {
        let sent = Sent { signal: libc::SIGALRM, code: libc::SI_KERNEL, value: 0 };
        timers.push(Timer { act: Act::Signal(sent), interval: 0, ends: None, set: 0, is_gone: false });
    }
    timers.get_mut(number).filter(|timer| !timer.is_gone)
}

/// What a timer was set to.
fn setting(timer: &Timer) -> (u64, u64) {
    (timer.interval, timer.ends.map_or(0, |ends| ends.saturating_sub(rt().now).max(1)))
}

fn time(nanoseconds: u64) -> libc::timespec {
    let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    libc::timespec { tv_sec: seconds as i64, tv_nsec: rest as i64 }
}

/// Whether anybody would notice.
fn does_something(act: Act) -> bool {
    match act {
        Act::Nothing => false,
        Act::Call(..) | Act::Counts(_) => true,
        Act::Signal(Sent { signal, .. }) | Act::SignalThread(Sent { signal, .. }, _) => {
            is_handled(signal) || rt().threads.iter().any(|thread| !thread.finished && is_in(thread.blocked, signal))
        }
    }
}

/// Sets a timer; 0: it does not run any more. What it was set to.
fn set(name: &'static str, number: usize, interval: u64, value: u64, pc: usize) -> Option<(u64, u64)> {
    timer(number)?;
    point(Op::new(name, pc).on(PROCESS));
    rt().unannounced = true;
    let now = rt().now;
    let timer = timer(number)?;
    let before = setting(timer);
    timer.set += 1;
    timer.interval = interval;
    timer.ends = (value > 0).then_some(now + value);
    let (act, run) = (timer.act, timer.set);
    if value > 0 && does_something(act) {
        match spawn(runs as *const () as usize, number << 32 | run, true) {
            Some(thread) => rt().threads[thread].is_timer = true,
            None => crate::threads::give_up("more threads than can be explored"),
        }
    }
    Some(before)
}

/// The thread of one run.
extern "C-unwind" fn runs(argument: usize) -> usize {
    let (number, run) = (argument >> 32, argument & 0xffff_ffff);
    let now = || timer(number).filter(|timer| timer.set == run).and_then(|timer| Some((timer.ends?, timer.act)));
    while let Some((ends, act)) = now() {
        point(Op::new("timer", 0).on(PROCESS).when(Wait::Woken).until(Some(ends)));
        let Some(timer) = timer(number).filter(|timer| timer.set == run) else { break };
        timer.ends = (timer.interval > 0).then_some(rt().now + timer.interval);
        match act {
            _ if !does_something(act) => {}
            Act::Nothing => {}
            Act::Signal(sent) => signal_process(sent),
            Act::SignalThread(sent, thread) => crate::delivery::send(thread, sent),
            Act::Counts(event) => counts(event),
            // SAFETY: the program gave the function for this.
            Act::Call(function, value) => unsafe {
                std::mem::transmute::<usize, extern "C-unwind" fn(usize)>(function)(value);
            },
        }
    }
    0
}

/// A timer has run out that is read as a file: who reads that comes after whoever has set it.
fn counts(event: i32) {
    crate::events::adds(event, 1);
    let rt = rt();
    rt.moved += 1;
    if let Some(key) = rt.connections.of(event) {
        rt.clocks.release(rt.current, key);
    }
}

extern "C-unwind" fn alarm_here(seconds: u32, pc: usize) -> u32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn alarm(u32) -> u32)(seconds) };
    }
    let before = set("alarm", REAL, 0, u64::from(seconds) * 1_000_000_000, pc);
    before.map_or(0, |(_, left)| left.div_ceil(1_000_000_000) as u32)
}

extern "C-unwind" fn setitimer_here(
    which: i32,
    new: *const libc::itimerval,
    old: *mut libc::itimerval,
    pc: usize,
) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn setitimer(i32, *const libc::itimerval, *mut libc::itimerval) -> i32)(which, new, old)
        };
    }
    let of = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    if which != libc::ITIMER_REAL {
        crate::threads::not_supported("setitimer of processor time");
    }
    // SAFETY: the program gives a setting, or none.
    let (interval, value) = unsafe { new.as_ref() }.map_or((0, 0), |new| (of(new.it_interval), of(new.it_value)));
    let before = set("setitimer", REAL, interval, value, pc).unwrap_or_default();
    tell(old, before);
    0
}

fn tell(to: *mut libc::itimerval, (interval, value): (u64, u64)) {
    let of = |nanoseconds: u64| libc::timeval {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_usec: (nanoseconds % 1_000_000_000 / 1000) as i64,
    };
    if !to.is_null() {
        // SAFETY: the program wants the setting there.
        unsafe { *to = libc::itimerval { it_interval: of(interval), it_value: of(value) } };
    }
}

extern "C-unwind" fn getitimer_here(which: i32, to: *mut libc::itimerval, pc: usize) -> i32 {
    if !in_program() || which != libc::ITIMER_REAL {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn getitimer(i32, *mut libc::itimerval) -> i32)(which, to) };
    }
    looks("getitimer", pc);
    tell(to, timer(REAL).map_or((0, 0), |timer| setting(timer)));
    0
}

extern "C-unwind" fn create_here(clock: i32, event: *const Event, result: *mut usize, pc: usize) -> i32 {
    const SIGNAL: i32 = libc::SIGEV_SIGNAL;
    const NONE: i32 = libc::SIGEV_NONE;
    const THREAD: i32 = libc::SIGEV_THREAD;
    const THREAD_ID: i32 = libc::SIGEV_THREAD_ID;
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn timer_create(i32, *const Event, *mut usize) -> i32)(clock, event, result) };
    }
    timer(REAL);
    let number = rt().timers.len();
    // SAFETY: the program gives a description, or none.
    let act = match unsafe { event.as_ref() } {
        None => Act::Signal(Sent { signal: libc::SIGALRM, code: SI_TIMER, value: number }),
        Some(Event { value, signal, how, whom }) => {
            let sent = Sent { signal: *signal, code: SI_TIMER, value: *value };
            let thread = (*whom as i32).wrapping_sub(crate::op::NUMBER) as usize;
            match *how {
                SIGNAL | THREAD_ID if !(1..=64).contains(signal) => return fails_with(libc::EINVAL) as i32,
                SIGNAL => Act::Signal(sent),
                THREAD_ID if thread < rt().threads.len() => Act::SignalThread(sent, thread),
                NONE => Act::Nothing,
                THREAD => Act::Call(*whom, *value),
                _ => return fails_with(libc::EINVAL) as i32,
            }
        }
    };
    point(Op::new("timer_create", pc).on(PROCESS));
    let number = makes(act);
    // SAFETY: the program wants the timer there.
    unsafe { *result = number };
    0
}

/// Makes a timer that does this; its number.
pub(super) fn makes(act: Act) -> usize {
    timer(REAL);
    let timers = &mut rt().timers;
    timers.push(Timer { act, interval: 0, ends: None, set: 0, is_gone: false });
    timers.len() - 1
}

extern "C-unwind" fn settime_here(number: usize, flags: i32, new: *const Setting, old: *mut Setting, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn timer_settime(usize, i32, *const Setting, *mut Setting) -> i32)(number, flags, new, old)
        };
    }
    sets("timer_settime", number, length_of(flags), new, old, pc)
}

/// What a time stands for: a length, or with this flag a point in time, which is over at once if it has been already.
pub(super) fn length_of(flags: i32) -> fn(Time) -> u64 {
    let left = |time: Time| match nanoseconds(time) {
        0 => 0,
        _ => deadline(time).saturating_sub(rt().now).max(1),
    };
    if flags & libc::TIMER_ABSTIME != 0 { left } else { nanoseconds }
}

/// Sets a timer as the program says.
pub(super) fn sets(
    name: &'static str,
    number: usize,
    length: fn(Time) -> u64,
    new: *const Setting,
    old: *mut Setting,
    pc: usize,
) -> i32 {
    // SAFETY: the program gives a setting.
    let Setting { interval, value } = unsafe { *new };
    if is_no_length(&raw const value) || is_no_length(&raw const interval) {
        return fails_with(libc::EINVAL) as i32;
    }
    let (interval, value) = (nanoseconds(&raw const interval), length(&raw const value));
    let Some((interval, value)) = set(name, number, interval, value, pc) else {
        return fails_with(libc::EINVAL) as i32;
    };
    if !old.is_null() {
        // SAFETY: the program wants to know what it was set to.
        unsafe { *old = Setting { interval: time(interval), value: time(value) } };
    }
    0
}

extern "C-unwind" fn gettime_here(number: usize, to: *mut Setting, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn timer_gettime(usize, *mut Setting) -> i32)(number, to) };
    }
    gets("timer_gettime", number, to, pc)
}

/// Somebody is about to look at a timer, which may run out before.
fn looks(name: &'static str, pc: usize) {
    rt().clock_read = true;
    point(Op::new(name, pc).reads(PROCESS));
}

/// What a timer is set to.
pub(super) fn gets(name: &'static str, number: usize, to: *mut Setting, pc: usize) -> i32 {
    looks(name, pc);
    let Some(timer) = timer(number) else { return fails_with(libc::EINVAL) as i32 };
    let (interval, value) = setting(timer);
    // SAFETY: the program wants the setting there.
    unsafe { *to = Setting { interval: time(interval), value: time(value) } };
    0
}

extern "C-unwind" fn getoverrun_here(number: usize, _: usize) -> i32 {
    if in_program() {
        return timer(number).map_or_else(|| fails_with(libc::EINVAL) as i32, |_| 0);
    }
    // SAFETY: as the program calls it.
    unsafe { next!(fn timer_getoverrun(usize) -> i32)(number) }
}

extern "C-unwind" fn delete_here(number: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn timer_delete(usize) -> i32)(number) };
    }
    if set("timer_delete", number, 0, 0, pc).is_none() || number == REAL {
        return fails_with(libc::EINVAL) as i32;
    }
    rt().timers[number].is_gone = true;
    0
}
