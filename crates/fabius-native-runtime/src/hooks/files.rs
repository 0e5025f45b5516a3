//! Reads and writes that may wait for another thread of the program: they do so at a scheduling point. Streams that are
//! locked over other calls. Within a call the C library's own lock of a stream is never waited for: nobody is switched there.

use super::entries;
use crate::control::in_program;
use crate::op::{Op, Wait};
use crate::real::next;
use crate::rt::rt;
use crate::threads::point;

entries! {
    read: "rcx" => read_here;
    write: "rcx" => write_here;
    close: "rsi" => close_here;
    close_range: "rcx" => close_range_here;
    closefrom: "rsi" => close_from;
    socketpair: "r8" => socketpair_here;
    flockfile: "rsi" => flockfile_here;
    ftrylockfile: "rsi" => ftrylockfile_here;
    funlockfile: "rsi" => funlockfile_here;
}

/// Whether a file is ready for this.
pub fn is_ready(file: i32, events: i16) -> bool {
    let mut poll = libc::pollfd { fd: file, events, revents: 0 };
    // SAFETY: looks at one file; straight to the kernel.
    unsafe { libc::syscall(libc::SYS_poll, &raw mut poll, 1, 0) != 0 }
}

/// What threads may speak to each other through by a file, as an object of operations.
fn connection(file: i32) -> Option<usize> {
    if in_program() { rt().connections.of(file) } else { None }
}

/// The point before a thread reads or writes there.
fn arrive(name: &'static str, file: i32, connection: usize, events: i16, pc: usize) {
    // Who closes an end announces nothing.
    rt().unannounced = true;
    // SAFETY: asks the kernel about a file.
    let waits = unsafe { libc::fcntl(file, libc::F_GETFL) } & libc::O_NONBLOCK == 0;
    let wait = if waits { Wait::File(file, events) } else { Wait::Not };
    point(Op::new(name, pc).on(connection).when(wait));
}

extern "C-unwind" fn read_here(file: i32, buffer: usize, size: usize, pc: usize) -> isize {
    let connection = connection(file);
    if let Some(key) = connection {
        arrive("read", file, key, libc::POLLIN, pc);
    }
    // SAFETY: as the program calls it.
    let got = unsafe { libc::syscall(libc::SYS_read, file, buffer, size) } as isize;
    if in_program() && got > 0 {
        rt().moved += got as u64;
        if let Some(key) = connection {
            rt().clocks.acquire(rt().current, key);
        }
    }
    got
}

extern "C-unwind" fn write_here(file: i32, buffer: usize, size: usize, pc: usize) -> isize {
    let connection = connection(file);
    if let Some(key) = connection {
        arrive("write", file, key, libc::POLLOUT, pc);
        rt().clocks.release(rt().current, key);
    }
    // SAFETY: as the program calls it.
    let got = unsafe { libc::syscall(libc::SYS_write, file, buffer, size) } as isize;
    // Nobody in the program reads what goes to its output.
    if connection.is_some() && got > 0 && !rt().open.contains(&(file as u32)) {
        rt().moved += got as u64;
    }
    got
}

/// Files that were open before `main` stay so: they are there in the next execution, too, and some are ours.
extern "C-unwind" fn close_here(file: i32, _: usize) -> i32 {
    if in_program() && rt().open.contains(&(file as u32)) {
        if rt().closed.insert(file as u32) {
            return 0;
        }
        // SAFETY: the thread's own `errno`.
        unsafe { *libc::__errno_location() = libc::EBADF };
        return -1;
    }
    // SAFETY: as the program calls it.
    unsafe { libc::syscall(libc::SYS_close, file) as i32 }
}

extern "C-unwind" fn close_range_here(first: u32, last: u32, flags: i32, _: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) as i32 };
    }
    if flags != 0 {
        crate::threads::not_supported("close_range with flags");
    }
    if first > last {
        // SAFETY: the thread's own `errno`.
        unsafe { *libc::__errno_location() = libc::EINVAL };
        return -1;
    }
    let rt = rt();
    crate::descriptors::close_between(&rt.open, first, last);
    rt.closed.extend(rt.open.iter().filter(|file| (first..=last).contains(*file)));
    0
}

extern "C-unwind" fn close_from(first: i32, pc: usize) {
    close_range_here(first.max(0) as u32, u32::MAX, 0, pc);
}

extern "C-unwind" fn socketpair_here(domain: i32, kind: i32, protocol: i32, ends: *mut [i32; 2], _: usize) -> i32 {
    // SAFETY: as the program calls it.
    let result = unsafe { libc::syscall(libc::SYS_socketpair, domain, kind, protocol, ends) } as i32;
    if in_program() && result == 0 {
        // SAFETY: the kernel has put both there.
        rt().connections.pair(unsafe { *ends });
    }
    result
}

extern "C-unwind" fn flockfile_here(stream: usize, pc: usize) {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn flockfile(usize))(stream) };
    }
    point(Op::new("flockfile", pc).on(stream).when(Wait::Stream));
    locked(stream);
}

fn locked(stream: usize) {
    let me = rt().current;
    rt().streams.entry(stream).or_insert((me, 0)).1 += 1;
    rt().clocks.acquire(me, stream);
}

extern "C-unwind" fn ftrylockfile_here(stream: usize, pc: usize) -> i32 {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn ftrylockfile(usize) -> i32)(stream) };
    }
    point(Op::new("ftrylockfile", pc).on(stream));
    if rt().streams.get(&stream).is_some_and(|(owner, _)| *owner != rt().current) {
        return 1;
    }
    locked(stream);
    0
}

extern "C-unwind" fn funlockfile_here(stream: usize, pc: usize) {
    if !in_program() {
        // SAFETY: as the program calls it.
        return unsafe { next!(fn funlockfile(usize))(stream) };
    }
    point(Op::new("funlockfile", pc).on(stream));
    let me = rt().current;
    if let Some((owner, count)) = rt().streams.get_mut(&stream)
        && *owner == me
    {
        *count -= 1;
        if *count == 0 {
            rt().streams.remove(&stream);
            rt().clocks.release(me, stream);
        }
    }
}
