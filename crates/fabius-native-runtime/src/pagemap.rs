//! Which pages of a private view of a file the process has written to: the kernel has made those its own, and its page map says
//! so.

use std::ops::Range;

const PAGE: usize = 4096;

/// More pages than these are not asked about: that would take a millisecond.
const MOST: usize = 1 << 16;

/// An entry of the map says of a page that it is there, or somewhere outside of memory, and that it is a file's or shared.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const OF_FILE: u64 = 1 << 61;

/// Those of these pages that were written to; `None` if they are too many, or the kernel does not say.
pub fn written(pages: &Range<usize>) -> Option<Vec<Range<usize>>> {
    let count = pages.len() / PAGE;
    if count > MOST {
        return None;
    }
    let mut entries = vec![0u64; count];
    let (size, at) = (8 * count, pages.start / PAGE * 8);
    // SAFETY: reads into our memory; everything goes straight to the kernel, and no descriptor is left.
    let read = unsafe {
        let path = c"/proc/self/pagemap".as_ptr();
        let map = crate::kernel::syscall(libc::SYS_openat, libc::AT_FDCWD, path, libc::O_RDONLY | libc::O_CLOEXEC);
        let read = crate::kernel::syscall(libc::SYS_pread64, map, entries.as_mut_ptr(), size, at);
        crate::kernel::syscall(libc::SYS_close, map);
        read
    };
    let is_written = |entry: &u64| entry & SWAPPED != 0 || entry & (PRESENT | OF_FILE) == PRESENT;
    let page = |number: usize| pages.start + number * PAGE..pages.start + (number + 1) * PAGE;
    let written = entries.iter().enumerate().filter(|(_, entry)| is_written(entry)).map(|(number, _)| page(number));
    (read == size as i64).then(|| written.collect())
}
