//! To wait for one of several files: `poll`, `select`, `epoll`. The kernel is asked what is ready, and never waits.

use super::files::fails_with;
use crate::control::in_program;
use crate::delivery::{block, is_asked, take, take_each};
use crate::op::{Files, Op, Sets, Wait, asked_of, connection};
use crate::real::next;
use crate::rt::rt;
use crate::threads::{Waited, point};

super::entries! {
    poll: "rcx" => poll_here;
    ppoll: "r8" => ppoll_here;
    select: "r9" => select_here;
    epoll_wait: "r8" => epoll_wait_here;
    epoll_pwait: "r9" => epoll_pwait_here;
    epoll_ctl: "r8" => epoll_ctl_here;
}

// Six arguments: the place of the call is the first one on the stack.
super::entry! { pselect: [] => pselect_here }

const NOW: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

/// Asks the kernel what is ready now.
fn ask(files: Files) -> i64 {
    // SAFETY: the program gives valid descriptions; straight to the kernel, which does not wait.
    unsafe {
        match files {
            Files::List(list, count) => crate::kernel::syscall(libc::SYS_poll, list, count, 0),
            Files::Sets(most, [read, write, news]) => {
                let now = NOW;
                crate::kernel::syscall(libc::SYS_pselect6, most, read, write, news, &raw const now, 0usize)
            }
        }
    }
}

/// Whether one of the files is ready. What the program has said about them stays as it is.
pub fn is_ready(files: *const Files) -> bool {
    // SAFETY: on the stack of the thread that waits.
    match unsafe { *files } {
        Files::List(list, count) if !list.is_null() => {
            // SAFETY: the program gives so many descriptions.
            let mut copy = unsafe { std::slice::from_raw_parts(list, count) }.to_vec();
            ask(Files::List(copy.as_mut_ptr(), count)) != 0
        }
        Files::List(..) => false,
        Files::Sets(most, sets) => {
            // SAFETY: the program gives valid sets.
            let mut copies = sets.map(|set| (!set.is_null()).then(|| unsafe { *set }));
            let copies = copies.each_mut().map(|copy| copy.as_mut().map_or(std::ptr::null_mut(), |set| &raw mut *set));
            ask(Files::Sets(most, copies)) != 0
        }
    }
}

/// How long a thread waits.
enum Patience {
    /// It does not.
    None,
    /// Until something is ready.
    Endless,
    /// So many nanoseconds of virtual time.
    Until(u64),
}

impl Patience {
    fn milliseconds(time: i32) -> Patience {
        match time {
            0 => Patience::None,
            ..0 => Patience::Endless,
            _ => Patience::Until(time as u64 * 1_000_000),
        }
    }

    fn time(time: *const libc::timespec) -> Patience {
        if time.is_null() {
            return Patience::Endless;
        }
        match super::time::nanoseconds(time) {
            0 => Patience::None,
            time => Patience::Until(time),
        }
    }
}

/// The point before: whether a file is ready, the time is over, or a signal has come.
fn waits(name: &'static str, wait: Wait, patience: &Patience, mask: Option<u64>, pc: usize) -> Waited {
    // Which files are asked is not announced.
    rt().unannounced = true;
    let op = Op::new(name, pc).on(connection(0));
    let op = match patience {
        Patience::None => op,
        Patience::Endless => op.when(wait),
        Patience::Until(time) => op.when(wait).until(Some(rt().now + time)),
    };
    let Some(mask) = mask else { return super::cancelled_waits::waits(op) };
    super::cancel::is_cancelled_here();
    // What this unblocks comes in the call or not at all; what it blocks may come before.
    if mask & !rt().me().blocked != 0 && rt().has_others() {
        point(Op::new(name, pc).on(asked_of(rt().current)));
    }
    let before = block(mask);
    let mut waited = point(op.or_interrupted().or_cancelled());
    // Who does not wait is told of a signal, too, if nothing is ready.
    let me = rt().current;
    if matches!(patience, Patience::None) && is_asked(me) && !rt().is_so(me, &op.when(wait)) {
        waited = Waited::Interrupted;
    }
    if waited == Waited::Interrupted {
        take_each();
    }
    block(before);
    take();
    match waited {
        Waited::Cancelled => super::cancel::is_cancelled_here(),
        _ => super::cancel::may_be_cancelled_here(),
    }
    waited
}

/// Signals that are blocked during a call only.
fn mask_of(mask: *const u64) -> Option<u64> {
    // SAFETY: the program gives a set, or none.
    unsafe { mask.as_ref() }.copied()
}

/// Who learns that a file is ready comes after whoever made it so.
fn learns(file: i32) {
    let rt = rt();
    if let Some(key) = rt.connections.of(file) {
        rt.clocks.acquire(rt.current, key);
    }
}

fn polls(
    name: &'static str,
    list: *mut libc::pollfd,
    count: usize,
    patience: &Patience,
    mask: Option<u64>,
    pc: usize,
) -> i32 {
    let files = Files::List(list, count);
    let waited = waits(name, Wait::Files(&raw const files), patience, mask, pc);
    if waited == Waited::Interrupted {
        return fails_with(libc::EINTR) as i32;
    }
    if waited != Waited::Done {
        for at in 0..count {
            // SAFETY: the program gives so many descriptions.
            unsafe { (*list.add(at)).revents = 0 };
        }
        return 0;
    }
    let ready = ask(files) as i32;
    for at in 0..if ready > 0 { count } else { 0 } {
        // SAFETY: as above.
        let one = unsafe { *list.add(at) };
        if one.revents != 0 {
            learns(one.fd);
        }
    }
    ready
}

pub(super) extern "C-unwind" fn poll_here(list: *mut libc::pollfd, count: usize, time: i32, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn poll(*mut libc::pollfd, usize, i32) -> i32)(list, count, time) };
    }
    polls("poll", list, count, &Patience::milliseconds(time), None, pc)
}

extern "C-unwind" fn ppoll_here(
    list: *mut libc::pollfd,
    count: usize,
    time: *const libc::timespec,
    mask: *const u64,
    pc: usize,
) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn ppoll(*mut libc::pollfd, usize, *const libc::timespec, *const u64) -> i32)(list, count, time, mask)
        };
    }
    polls("ppoll", list, count, &Patience::time(time), mask_of(mask), pc)
}

fn selects(name: &'static str, most: i32, sets: Sets, patience: &Patience, mask: Option<u64>, pc: usize) -> i32 {
    let files = Files::Sets(most, sets);
    let waited = waits(name, Wait::Files(&raw const files), patience, mask, pc);
    if waited == Waited::Interrupted {
        return fails_with(libc::EINTR) as i32;
    }
    if waited != Waited::Done {
        for set in sets.into_iter().filter(|set| !set.is_null()) {
            // SAFETY: the program gives valid sets.
            unsafe { libc::FD_ZERO(set) };
        }
        return 0;
    }
    let ready = ask(files) as i32;
    for set in sets.into_iter().filter(|set| ready > 0 && !set.is_null()) {
        // SAFETY: as above.
        (0..most).filter(|file| unsafe { libc::FD_ISSET(*file, set) }).for_each(learns);
    }
    ready
}

extern "C-unwind" fn select_here(
    most: i32,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    news: *mut libc::fd_set,
    time: *mut libc::timeval,
    pc: usize,
) -> i32 {
    if !in_program() {
        type Set = *mut libc::fd_set;
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn select(i32, Set, Set, Set, *mut libc::timeval) -> i32)(most, read, write, news, time)
        };
    }
    let patience = if time.is_null() {
        Patience::Endless
    } else {
        // SAFETY: the program gives a valid time.
        let (seconds, micros) = unsafe { ((*time).tv_sec, (*time).tv_usec) };
        if seconds < 0 || micros < 0 {
            return fails_with(libc::EINVAL) as i32;
        }
        Patience::time(&libc::timespec { tv_sec: seconds, tv_nsec: micros * 1000 })
    };
    selects("select", most, [read, write, news], &patience, None, pc)
}

extern "C-unwind" fn pselect_here(
    most: i32,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    news: *mut libc::fd_set,
    time: *const libc::timespec,
    mask: *const u64,
) -> i32 {
    if !in_program() {
        type Set = *mut libc::fd_set;
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn pselect(i32, Set, Set, Set, *const libc::timespec, *const u64) -> i32)(
                most, read, write, news, time, mask,
            )
        };
    }
    let place = crate::place::called_from();
    selects("pselect", most, [read, write, news], &Patience::time(time), mask_of(mask), place)
}

extern "C-unwind" fn epoll_wait_here(
    files: i32,
    events: *mut libc::epoll_event,
    most: i32,
    time: i32,
    pc: usize,
) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe {
            next!(fn epoll_wait(i32, *mut libc::epoll_event, i32, i32) -> i32)(files, events, most, time)
        };
    }
    epolls(files, events, most, time, None, pc)
}

fn epolls(files: i32, events: *mut libc::epoll_event, most: i32, time: i32, mask: Option<u64>, pc: usize) -> i32 {
    match waits("epoll_wait", Wait::File(files, libc::POLLIN), &Patience::milliseconds(time), mask, pc) {
        Waited::Done => {}
        Waited::Interrupted => return fails_with(libc::EINTR) as i32,
        _ => return 0,
    }
    // SAFETY: as the program calls it, but without waiting.
    let ready = unsafe { crate::kernel::syscall(libc::SYS_epoll_wait, files, events, most, 0) } as i32;
    for at in 0..ready.max(0) as usize {
        // SAFETY: the kernel has written so many.
        let data = unsafe { (*events.add(at)).u64 };
        rt().connections.watched(files, data).into_iter().for_each(learns);
    }
    // What is told of once only is not told of again.
    rt().moved += u64::from(ready > 0);
    ready
}

extern "C-unwind" fn epoll_pwait_here(
    files: i32,
    events: *mut libc::epoll_event,
    most: i32,
    time: i32,
    mask: *const u64,
    pc: usize,
) -> i32 {
    if in_program() {
        return epolls(files, events, most, time, mask_of(mask), pc);
    }
    // SAFETY: as the program calls it.
    unsafe {
        next!(fn epoll_pwait(i32, *mut libc::epoll_event, i32, i32, *const u64) -> i32)(files, events, most, time, mask)
    }
}

/// What is waited for changes.
extern "C-unwind" fn epoll_ctl_here(files: i32, what: i32, file: i32, event: *mut libc::epoll_event, pc: usize) -> i32 {
    if in_program() {
        rt().unannounced = true;
        point(Op::new("epoll_ctl", pc).on(connection(0)));
        // SAFETY: the program gives a valid description, if any.
        let data = unsafe { event.as_ref() }.map(|event| event.u64);
        rt().connections.watch(files, file, data.filter(|_| what != libc::EPOLL_CTL_DEL));
    }
    // SAFETY: as the program calls it; it never waits.
    unsafe { crate::kernel::syscall(libc::SYS_epoll_ctl, files, what, file, event) as i32 }
}
