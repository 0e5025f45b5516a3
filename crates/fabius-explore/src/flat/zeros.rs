//! Memory that is all 0. Nobody has touched it, so that it takes no room yet.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Slots that are all 0; there is at least one.
pub(super) fn slots(count: usize) -> Box<[AtomicU64]> {
    // SAFETY: all bits of an atomic integer may be 0.
    unsafe { zeroed(count) }
}

/// Units that are all 0; there is at least one.
pub(super) fn units(count: usize) -> Box<[AtomicU32]> {
    // SAFETY: as above.
    unsafe { zeroed(count) }
}

/// # Safety
/// All bits of a `T` may be 0.
unsafe fn zeroed<T>(count: usize) -> Box<[T]> {
    let layout = Layout::array::<T>(count).expect("it fits into the address space");
    assert!(layout.size() > 0, "there is something to allocate");
    // SAFETY: the layout is not empty.
    let first = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if first.is_null() {
        handle_alloc_error(layout);
    }
    ask_for_large_pages(first as usize, layout.size());
    // SAFETY: it was allocated with the layout of such a slice, and is valid by the caller's word.
    unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(first, count)) }
}

/// States lie anywhere, and finding a small page is slower than reading it.
#[cfg(target_os = "linux")]
fn ask_for_large_pages(begin: usize, bytes: usize) {
    const LARGE: usize = 1 << 21;
    let (begin, end) = (begin.next_multiple_of(LARGE), (begin + bytes) / LARGE * LARGE);
    if begin < end {
        // SAFETY: whole pages of ours, whose content stays. If there are no large ones, nothing happens.
        unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_: usize, _: usize) {}
