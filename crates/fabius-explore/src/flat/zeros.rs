//! Memory that is all 0. Nobody has touched it, so that it takes no room yet.

use std::sync::atomic::{AtomicU32, AtomicU64};

/// Slots that are all 0.
pub(super) fn slots(count: usize) -> Box<[AtomicU64]> {
    let zeros: Box<[u64]> = vec![0; count].into();
    ask_for_large_pages(&zeros);
    // SAFETY: both types have the same size, alignment and bit validity, and the box is handed over.
    unsafe { Box::from_raw(Box::into_raw(zeros) as *mut [AtomicU64]) }
}

/// Units that are all 0.
pub(super) fn units(count: usize) -> Box<[AtomicU32]> {
    let zeros: Box<[u32]> = vec![0; count].into();
    ask_for_large_pages(&zeros);
    // SAFETY: as above.
    unsafe { Box::from_raw(Box::into_raw(zeros) as *mut [AtomicU32]) }
}

/// States lie anywhere, and finding a small page is slower than reading it.
#[cfg(target_os = "linux")]
fn ask_for_large_pages<T>(memory: &[T]) {
    const LARGE: usize = 1 << 21;
    let std::ops::Range { start, end } = memory.as_ptr_range();
    let (start, end) = ((start as usize).next_multiple_of(LARGE), end as usize / LARGE * LARGE);
    if start < end {
        // SAFETY: whole pages of ours, whose content stays. If there are no large ones, nothing happens.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages<T>(_: &[T]) {}
