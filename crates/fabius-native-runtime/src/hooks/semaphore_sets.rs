//! Sets of semaphores of System V (`semaphores.rs`).
//!
//! Who lowers a semaphore comes after all who have raised or set it, and who waits until it is zero after all who have lowered or
//! set it. (To ask for a value orders nothing, as with `sem_getvalue`.) What is to be undone at the end of the process is seen by nobody in it.

use super::files::fails_with;
use super::library::is_alone;
use super::memory::reads;
use super::time::{EPOCH, Time, is_no_length, nanoseconds};
use super::tsan::gives;
use crate::control::in_program;
use crate::op::{NUMBER, Op, Operations, Wait, of_library, of_semaphores};
use crate::real::next;
use crate::rt::rt;
use crate::semaphores::{LARGEST, Outcome, Set};
use crate::threads::{not_supported, point};

super::entries! {
    semget: "rcx" => get_here;
    semop: "rcx" => op_here;
    semtimedop: "r8" => timedop_here;
    semctl: "r8" => ctl_here;
}

/// The keys of sets, as an object of operations.
const KEYS: usize = of_library(8);

/// The most semaphores of a set, and operations at once, as Linux has it.
const MOST: i32 = 32_000;
const AT_ONCE: usize = 500;

/// What is asked of `semctl` that is not the same for all of System V.
const GETPID: i32 = 11;
const GETVAL: i32 = 12;
const GETALL: i32 = 13;
const SETVAL: i32 = 16;
const SETALL: i32 = 17;

/// What a semaphore tells those who lower it, and those who wait until it is zero.
fn raised(set: usize, semaphore: usize) -> usize {
    of_semaphores(set, 2 * semaphore + 1)
}

fn lowered(set: usize, semaphore: usize) -> usize {
    of_semaphores(set, 2 * semaphore + 2)
}

extern "C-unwind" fn get_here(key: i32, count: i32, flags: i32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn semget(i32, i32, i32) -> i32)(key, count, flags) };
    }
    super::process::refuses_children("semaphores of System V beside `fork`");
    if !is_alone() {
        point(Op::new("semget", pc).on(KEYS));
    }
    let rt = rt();
    let is_private = key == libc::IPC_PRIVATE;
    let known = rt.semaphores.sets.iter().position(|set| !is_private && set.key == Some(key));
    if let Some(known) = known {
        let is_refused = flags & libc::IPC_CREAT != 0 && flags & libc::IPC_EXCL != 0;
        let is_too_small = count < 0 || count as usize > rt.semaphores.sets[known].values.len();
        return match () {
            () if is_refused => fails_with(libc::EEXIST) as i32,
            () if is_too_small => fails_with(libc::EINVAL) as i32,
            () => known as i32,
        };
    }
    if !is_private && flags & libc::IPC_CREAT == 0 {
        return fails_with(libc::ENOENT) as i32;
    }
    if !(1..=MOST).contains(&count) {
        return fails_with(libc::EINVAL) as i32;
    }
    rt.semaphores.sets.push(Set {
        key: (!is_private).then_some(key),
        mode: flags as u32 & 0o777,
        values: vec![0; count as usize],
        is_gone: false,
        times: (rt.now, None),
    });
    rt.semaphores.sets.len() as i32 - 1
}

extern "C-unwind" fn op_here(set: i32, first: *const libc::sembuf, count: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn semop(i32, *const libc::sembuf, usize) -> i32)(set, first, count) };
    }
    does("semop", set, first, count, None, pc).map_or_else(|error| fails_with(error) as i32, |()| 0)
}

extern "C-unwind" fn timedop_here(set: i32, first: *const libc::sembuf, count: usize, time: Time, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn semtimedop(i32, *const libc::sembuf, usize, Time) -> i32)(set, first, count, time) };
    }
    let until = match time {
        _ if time.is_null() => None,
        _ if is_no_length(time) => return fails_with(libc::EINVAL) as i32,
        _ => Some(rt().now.saturating_add(nanoseconds(time))),
    };
    does("semtimedop", set, first, count, until, pc).map_or_else(|error| fails_with(error) as i32, |()| 0)
}

/// Does operations, all of them or none.
fn does(
    name: &'static str,
    set: i32,
    first: *const libc::sembuf,
    count: usize,
    until: Option<u64>,
    pc: usize,
) -> Result<(), i32> {
    match count {
        0 => return Err(libc::EINVAL),
        _ if count > AT_ONCE => return Err(libc::E2BIG),
        _ => {}
    }
    reads(first as usize, count * size_of::<libc::sembuf>(), pc);
    let many = rt().semaphores.get(set).ok_or(libc::EINVAL)?.values.len();
    let all = Operations { set: set as usize, first, count };
    if all.operations().iter().any(|one| usize::from(one.sem_num) >= many) {
        return Err(libc::EFBIG);
    }
    point(Op::new(name, pc).on(of_semaphores(all.set, 0)).when(Wait::Operations(&raw const all)).until(until));
    let rt = rt();
    match rt.semaphores.outcome(&all) {
        Outcome::Done => {}
        Outcome::Wait => return Err(libc::EAGAIN),
        Outcome::Fail(error) => {
            if error == libc::EIDRM {
                rt.clocks.acquire(rt.current, of_semaphores(all.set, 0));
            }
            return Err(error);
        }
    }
    for one in all.operations() {
        let (semaphore, by) = (usize::from(one.sem_num), i32::from(one.sem_op));
        rt.semaphores.sets[all.set].values[semaphore] += by;
        let (raised, lowered) = (raised(all.set, semaphore), lowered(all.set, semaphore));
        match by {
            1.. => rt.clocks.release(rt.current, raised),
            0 => rt.clocks.acquire(rt.current, lowered),
            ..0 => {
                rt.clocks.acquire(rt.current, raised);
                rt.clocks.release(rt.current, lowered);
            }
        }
    }
    rt.semaphores.sets[all.set].times.1 = Some(rt.now);
    Ok(())
}

/// A value is set: for those who wait for any.
fn sets(set: usize, semaphore: usize, value: i32) {
    let rt = rt();
    rt.semaphores.sets[set].values[semaphore] = value;
    rt.semaphores.sets[set].times.0 = rt.now;
    rt.clocks.release(rt.current, raised(set, semaphore));
    rt.clocks.release(rt.current, lowered(set, semaphore));
}

extern "C-unwind" fn ctl_here(set: i32, semaphore: i32, what: i32, argument: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn semctl(i32, i32, i32, usize) -> i32)(set, semaphore, what, argument) };
    }
    controls(set, semaphore, what, argument, pc).unwrap_or_else(|error| fails_with(error) as i32)
}

fn controls(set: i32, semaphore: i32, what: i32, argument: usize, pc: usize) -> Result<i32, i32> {
    let values = rt().semaphores.get(set).ok_or(libc::EINVAL)?.values.len();
    let (id, bytes) = (set as usize, 2 * values);
    let number = usize::try_from(semaphore).ok().filter(|number| *number < values);
    if what == SETALL {
        reads(argument, bytes, pc);
    }
    let changes = matches!(what, SETVAL | SETALL | libc::IPC_RMID);
    let op = Op::new("semctl", pc);
    point(if changes { op.on(of_semaphores(id, 0)) } else { op.reads(of_semaphores(id, 0)) });
    let there = rt().semaphores.get(set).ok_or(libc::EIDRM)?;
    match what {
        GETVAL => Ok(there.values[number.ok_or(libc::EINVAL)?]),
        GETPID => number.map(|_| NUMBER).ok_or(libc::EINVAL),
        SETVAL => {
            let value = argument as i32;
            if !(0..=LARGEST).contains(&value) {
                return Err(libc::ERANGE);
            }
            sets(id, number.ok_or(libc::EINVAL)?, value);
            Ok(0)
        }
        GETALL => {
            for (at, value) in there.values.iter().enumerate() {
                // SAFETY: the program has room for all values there.
                unsafe { *(argument as *mut u16).add(at) = *value as u16 };
            }
            gives("semctl", argument, bytes, pc);
            Ok(0)
        }
        SETALL => {
            // SAFETY: the program gives so many values.
            let value = |at: usize| unsafe { i32::from(*(argument as *const u16).add(at)) };
            if (0..values).any(|at| value(at) > LARGEST) {
                return Err(libc::ERANGE);
            }
            (0..values).for_each(|at| sets(id, at, value(at)));
            Ok(0)
        }
        libc::IPC_RMID => {
            (there.is_gone, there.key) = (true, None);
            rt().clocks.release(rt().current, of_semaphores(id, 0));
            Ok(0)
        }
        libc::IPC_STAT => {
            let seconds = |time: u64| ((EPOCH + time) / 1_000_000_000) as libc::time_t;
            // SAFETY: a description is plain data.
            let mut about: libc::semid_ds = unsafe { std::mem::zeroed() };
            (about.sem_perm.__key, about.sem_perm.mode) = (there.key.unwrap_or(0), there.mode as _);
            (about.sem_ctime, about.sem_otime) = (seconds(there.times.0), there.times.1.map_or(0, seconds));
            about.sem_nsems = values as _;
            rt().clock_read = true;
            gives("semctl", argument, size_of::<libc::semid_ds>(), pc);
            // SAFETY: the program wants it there.
            unsafe { *(argument as *mut libc::semid_ds) = about };
            Ok(0)
        }
        _ => not_supported("semctl of this kind"),
    }
}
