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

/// Whether operations on it may wait for another thread.
fn may_wait(file: i32) -> bool {
    // SAFETY: asks the kernel about a file.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        let kind = if libc::fstat(file, &mut about) == 0 { about.st_mode & libc::S_IFMT } else { libc::S_IFREG };
        let flags = libc::fcntl(file, libc::F_GETFL);
        matches!(kind, libc::S_IFIFO | libc::S_IFSOCK) && flags & libc::O_NONBLOCK == 0
    }
}

fn wait(name: &'static str, file: i32, events: i16, pc: usize) {
    if in_program() && may_wait(file) {
        // Both ends are one object: what is written to the one is read from the other.
        rt().unannounced = true;
        point(Op::new(name, pc).when(Wait::File(file, events)));
    }
}

fn result(got: libc::c_long) -> isize {
    got as isize
}

extern "C-unwind" fn read_here(file: i32, buffer: usize, size: usize, pc: usize) -> isize {
    wait("read", file, libc::POLLIN, pc);
    // SAFETY: as the program calls it.
    result(unsafe { libc::syscall(libc::SYS_read, file, buffer, size) })
}

extern "C-unwind" fn write_here(file: i32, buffer: usize, size: usize, pc: usize) -> isize {
    wait("write", file, libc::POLLOUT, pc);
    // SAFETY: as the program calls it.
    result(unsafe { libc::syscall(libc::SYS_write, file, buffer, size) })
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
