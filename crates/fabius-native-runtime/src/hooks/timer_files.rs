//! Timers that are read as files: an event of the kernel's counts how often one has run out, and is read, and waited for, as any
//! other (`files.rs`, `polls.rs`).

use super::files::fails_with;
use super::timers::{Setting, gets, length_of, makes, sets};
use crate::control::in_program;
use crate::events;
use crate::op::{Op, PROCESS};
use crate::real::next;
use crate::rt::rt;
use crate::threads::point;
use crate::timer::{Act, by_file};

super::entries! {
    timerfd_create: "rdx" => create_here;
    timerfd_settime: "r8" => settime_here;
    timerfd_gettime: "rdx" => gettime_here;
}

/// Clocks, but for those of processor time.
const CLOCKS: [i32; 5] = [
    libc::CLOCK_REALTIME,
    libc::CLOCK_MONOTONIC,
    libc::CLOCK_BOOTTIME,
    libc::CLOCK_REALTIME_ALARM,
    libc::CLOCK_BOOTTIME_ALARM,
];

extern "C-unwind" fn create_here(clock: i32, flags: i32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn timerfd_create(i32, i32) -> i32)(clock, flags) };
    }
    if !CLOCKS.contains(&clock) || flags & !(libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) != 0 {
        return fails_with(libc::EINVAL) as i32;
    }
    point(Op::new("timerfd_create", pc).on(PROCESS));
    rt().uses_files = true;
    // The flags of events are the same.
    match events::make(flags) {
        Ok((file, hidden)) => {
            makes(Act::Counts(hidden));
            file
        }
        Err(error) => fails_with(error) as i32,
    }
}

/// The timer that the program knows by this number, and its event.
fn of(file: i32) -> Result<(usize, i32), i32> {
    let rt = rt();
    by_file(&rt.timers, &mut rt.connections, file).ok_or(libc::EINVAL)
}

extern "C-unwind" fn settime_here(file: i32, flags: i32, new: *const Setting, old: *mut Setting, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn timerfd_settime(i32, i32, *const Setting, *mut Setting) -> i32)(file, flags, new, old)
        };
    }
    if flags & !(libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET) != 0 {
        return fails_with(libc::EINVAL) as i32;
    }
    let (number, event) = match of(file) {
        Ok(found) => found,
        Err(error) => return fails_with(error) as i32,
    };
    let result = sets("timerfd_settime", number, length_of(flags), new, old, pc);
    if result == 0 {
        // What it has counted before is forgotten.
        events::shows(event, 0);
        rt().moved += 1;
    }
    result
}

extern "C-unwind" fn gettime_here(file: i32, to: *mut Setting, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn timerfd_gettime(i32, *mut Setting) -> i32)(file, to) };
    }
    match of(file) {
        Ok((number, _)) => gets("timerfd_gettime", number, to, pc),
        Err(error) => fails_with(error) as i32,
    }
}
