//! Descriptors: what an execution leaves open is closed behind it.
//!
//! To close what may be open takes longer than a short execution, so the kernel is asked first how many are open. Kernels
//! before 6.2 do not say it. A program that was not seen to use files has closed none either, so whatever it has opened
//! unseen has the first number that was free.

use crate::say::STDERR;

/// Lists the descriptors of this process.
const LISTING: i32 = STDERR + 1;

/// Whether a descriptor is ours: what is shared with the other process, where words to the user go, and the list.
pub fn is_ours(file: i32) -> bool {
    (fabius_native_protocol::FD..=LISTING).contains(&file)
}

/// This process lists its own descriptors from now on.
pub fn list() {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: opens a folder under a number of ours; straight to the kernel.
    unsafe {
        let got = crate::kernel::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/proc/self/fd".as_ptr(), flags) as i32;
        if got >= 0 && got != LISTING {
            crate::kernel::syscall(libc::SYS_dup3, got, LISTING, libc::O_CLOEXEC);
            crate::kernel::syscall(libc::SYS_close, got);
        }
    }
}

/// The descriptors that are open, in order.
pub fn open() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let mut open: Vec<u32> = entries.filter_map(|e| e.file_name().to_str().and_then(|n| n.parse().ok())).collect();
    // The one by which they were listed is not open any more.
    // SAFETY: asks the kernel about a descriptor.
    open.retain(|fd| unsafe { crate::kernel::syscall(libc::SYS_fcntl, *fd, libc::F_GETFD) } >= 0);
    open.sort_unstable();
    open
}

/// Closes all but these. None of them was closed: what the program closes of them is closed for it only.
pub fn close_others(open: &[u32]) {
    // SAFETY: asks the kernel about a descriptor of ours.
    let count = unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        let known = crate::kernel::syscall(libc::SYS_fstat, LISTING, &raw mut about) == 0;
        known.then_some(about.st_size)
    };
    if count != Some(open.len() as i64) {
        close_between(open, 0, u32::MAX);
    }
}

/// Whether the first number that was free besides these still is.
pub fn first_is_free(open: &[u32]) -> bool {
    let first = (0..).zip(open).find(|(number, open)| number != *open).map_or(open.len() as u32, |(number, _)| number);
    // SAFETY: asks the kernel about a descriptor.
    unsafe { crate::kernel::syscall(libc::SYS_fcntl, first, libc::F_GETFD) < 0 }
}

/// Closes all from the first to the last but these.
pub fn close_between(open: &[u32], first: u32, last: u32) {
    let mut from = first;
    for open in open.iter().copied().filter(|open| (first..=last).contains(open)) {
        if open > from {
            // SAFETY: closes what is not ours.
            unsafe { crate::kernel::syscall(libc::SYS_close_range, from, open - 1, 0) };
        }
        from = open + 1;
    }
    if from <= last {
        // SAFETY: as above.
        unsafe { crate::kernel::syscall(libc::SYS_close_range, from, last, 0) };
    }
}
