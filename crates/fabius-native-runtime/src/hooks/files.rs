//! Reads and writes that may wait for another thread of the program: they do so at a scheduling point.

use super::entries;
use crate::control::in_program;
use crate::op::{Op, Wait};
use crate::threads::point;

entries! {
    read: "rcx" => read_here;
    write: "rcx" => write_here;
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
        crate::rt::rt().unannounced = true;
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
