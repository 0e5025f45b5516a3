//! Words to the user where nothing else works any more.

use fabius_native_protocol::FD;

/// A copy of the standard error that the process began with.
pub const STDERR: i32 = FD + 1;

/// Says what makes it impossible to go on, and ends the process with status 125.
pub fn fatal(parts: &[&[u8]]) -> ! {
    write(b"fabius: ");
    for part in parts {
        write(part);
    }
    write(b"\n");
    // SAFETY: ends the process.
    unsafe { crate::kernel::syscall(libc::SYS_exit_group, 125) };
    unreachable!("the process has ended")
}

fn write(part: &[u8]) {
    // SAFETY: writes a slice; straight to the kernel, because `write` is interposed. The second descriptor may be closed.
    unsafe {
        if crate::kernel::syscall(libc::SYS_write, STDERR, part.as_ptr(), part.len()) < 0 {
            crate::kernel::syscall(libc::SYS_write, 2, part.as_ptr(), part.len());
        }
    }
}
