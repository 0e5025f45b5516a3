//! Time is virtual: it stands still but for sleeps and waits that run out. Numbers at random are the same in every execution.

use super::entries;
use crate::control::{in_program, is_running};
use crate::real::next;
use crate::rt::rt;
use crate::threads::give_way;

/// When every execution begins: 1 January 2026.
pub const EPOCH: u64 = 1_767_225_600_000_000_000;

entries! {
    sleep: "rsi" => sleep_here;
    usleep: "rsi" => usleep_here;
    nanosleep: "rdx" => nanosleep_here;
    clock_nanosleep: "r8" => clock_nanosleep_here;
    clock_gettime: "rdx" => clock_gettime_here;
    gettimeofday: "rdx" => gettimeofday_here;
    time: "rsi" => time_here;
    clock: "rdi" => clock_here;
    timespec_get: "rdx" => timespec_get_here;
    getrandom: "rcx" => getrandom_here;
    getentropy: "rdx" => getentropy_here;
    arc4random: "rdi" => arc4random_here;
}

/// A time as nanoseconds.
pub fn nanoseconds(time: *const libc::timespec) -> u64 {
    // SAFETY: the program gives a valid time.
    let time = unsafe { *time };
    (time.tv_sec.max(0) as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec.max(0) as u64)
}

/// Whether it is no time at all.
pub fn is_invalid(time: *const libc::timespec) -> bool {
    // SAFETY: the program gives the address of a time.
    unsafe { !(0..1_000_000_000).contains(&(*time).tv_nsec) }
}

/// Whether it is no length of time.
pub fn is_no_length(time: *const libc::timespec) -> bool {
    // SAFETY: as above.
    is_invalid(time) || unsafe { (*time).tv_sec < 0 }
}

/// A point in time as nanoseconds since the execution began.
pub fn deadline(time: *const libc::timespec) -> u64 {
    nanoseconds(time).saturating_sub(EPOCH)
}

/// The time now. Who looks at it sees the order of others' sleeps.
fn now() -> u64 {
    let rt = rt();
    (rt.unannounced, rt.clock_read) = (true, true);
    EPOCH + rt.now
}

fn slept(name: &'static str, nanoseconds: u64, pc: usize) {
    super::cancel::is_cancelled_here();
    give_way(name, nanoseconds, pc);
    super::cancel::may_be_cancelled_here();
}

extern "C-unwind" fn sleep_here(seconds: u32, pc: usize) -> u32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn sleep(u32) -> u32)(seconds) };
    }
    slept("sleep", u64::from(seconds) * 1_000_000_000, pc);
    0
}

extern "C-unwind" fn usleep_here(microseconds: u32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn usleep(u32) -> i32)(microseconds) };
    }
    slept("usleep", u64::from(microseconds) * 1000, pc);
    0
}

/// A time as the C library writes it.
pub type Time = *const libc::timespec;

extern "C-unwind" fn nanosleep_here(time: Time, rest: *mut libc::timespec, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn nanosleep(Time, *mut libc::timespec) -> i32)(time, rest) };
    }
    if is_no_length(time) {
        return super::files::fails_with(libc::EINVAL) as i32;
    }
    slept("nanosleep", nanoseconds(time), pc);
    0
}

extern "C-unwind" fn clock_nanosleep_here(
    clock: i32,
    flags: i32,
    time: Time,
    rest: *mut libc::timespec,
    pc: usize,
) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn clock_nanosleep(i32, i32, Time, *mut libc::timespec) -> i32)(clock, flags, time, rest)
        };
    }
    if is_no_length(time) {
        return libc::EINVAL;
    }
    let length =
        if flags & libc::TIMER_ABSTIME != 0 { deadline(time).saturating_sub(rt().now) } else { nanoseconds(time) };
    slept("clock_nanosleep", length, pc);
    0
}

fn write(time: *mut libc::timespec, now: u64) {
    // SAFETY: the program wants the time there.
    unsafe { *time = libc::timespec { tv_sec: (now / 1_000_000_000) as i64, tv_nsec: (now % 1_000_000_000) as i64 } };
}

extern "C-unwind" fn clock_gettime_here(clock: i32, time: *mut libc::timespec, _: usize) -> i32 {
    if !in_program() && is_running() {
        // SAFETY: as it is called; the C library asks without a system call.
        return unsafe { next!(fn clock_gettime(i32, *mut libc::timespec) -> i32)(clock, time) };
    }
    if !in_program() {
        // SAFETY: the kernel's; the C library's own would be found by looking it up, which needs a clock early on.
        return unsafe { crate::kernel::syscall(libc::SYS_clock_gettime, clock, time) as i32 };
    }
    write(time, now());
    0
}

extern "C-unwind" fn gettimeofday_here(time: *mut libc::timeval, zone: usize, _: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn gettimeofday(*mut libc::timeval, usize) -> i32)(time, zone) };
    }
    let now = now();
    // SAFETY: the program wants the time there.
    unsafe {
        *time = libc::timeval { tv_sec: (now / 1_000_000_000) as i64, tv_usec: (now % 1_000_000_000 / 1000) as i64 };
    }
    0
}

extern "C-unwind" fn time_here(time: *mut i64, _: usize) -> i64 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn time(*mut i64) -> i64)(time) };
    }
    let seconds = (now() / 1_000_000_000) as i64;
    if !time.is_null() {
        // SAFETY: the program wants the time there.
        unsafe { *time = seconds };
    }
    seconds
}

extern "C-unwind" fn clock_here(_: usize) -> i64 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn clock() -> i64)() };
    }
    (now() - EPOCH) as i64 / 1000
}

extern "C-unwind" fn timespec_get_here(time: *mut libc::timespec, base: i32, _: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn timespec_get(*mut libc::timespec, i32) -> i32)(time, base) };
    }
    write(time, now());
    base
}

/// A number that looks random.
fn random() -> u64 {
    let rt = rt();
    rt.unannounced = true;
    rt.random = rt.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (rt.random ^ rt.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 31
}

extern "C-unwind" fn getrandom_here(buffer: *mut u8, size: usize, flags: u32, _: usize) -> isize {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { crate::kernel::syscall(libc::SYS_getrandom, buffer, size, flags) as isize };
    }
    for at in 0..size {
        // SAFETY: the program wants so many bytes there.
        unsafe { *buffer.add(at) = random() as u8 };
    }
    size as isize
}

extern "C-unwind" fn getentropy_here(buffer: *mut u8, size: usize, pc: usize) -> i32 {
    getrandom_here(buffer, size, 0, pc);
    0
}

extern "C-unwind" fn arc4random_here(_: usize) -> u32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn arc4random() -> u32)() };
    }
    random() as u32
}
