//! Events of the kernel's that stand for what is held here: to wait for one by `poll`, to close it and to have it under several
//! numbers is as with any other file.

/// Numbers of descriptors that the program does not know begin here.
const HIDDEN: i32 = 512;

/// Makes one: the number that the program knows, and one that it does not. Both go with the execution.
pub fn make(flags: i32) -> Result<(i32, i32), i32> {
    // SAFETY: makes an event; straight to the kernel.
    let event = unsafe { crate::kernel::syscall(libc::SYS_eventfd2, 0, flags) } as i32;
    let hidden = if event < 0 { Err(libc::EMFILE) } else { number_from(event, HIDDEN) };
    Ok((event, hidden?))
}

/// Another number of an event, as low as can be.
pub fn again(event: i32) -> Result<i32, i32> {
    number_from(event, 0)
}

fn number_from(event: i32, least: i32) -> Result<i32, i32> {
    // SAFETY: a descriptor of ours; straight to the kernel.
    let file = unsafe { crate::kernel::syscall(libc::SYS_fcntl, event, libc::F_DUPFD_CLOEXEC, least) } as i32;
    if file < 0 { Err(libc::EMFILE) } else { Ok(file) }
}

/// It counts just that from now on.
pub fn shows(event: i32, count: u64) {
    let mut poll = libc::pollfd { fd: event, events: libc::POLLIN, revents: 0 };
    let mut before = 0u64;
    // SAFETY: looks at an event, and reads and writes its number; straight to the kernel.
    unsafe {
        if crate::kernel::syscall(libc::SYS_poll, &raw mut poll, 1, 0) > 0 {
            crate::kernel::syscall(libc::SYS_read, event, &raw mut before, size_of::<u64>());
        }
    }
    if count > 0 {
        adds(event, count);
    }
}

/// It counts so many more.
pub fn adds(event: i32, count: u64) {
    // SAFETY: writes the number of an event that has room for it; straight to the kernel.
    unsafe { crate::kernel::syscall(libc::SYS_write, event, &raw const count, size_of::<u64>()) };
}
