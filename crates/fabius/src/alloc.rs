//! Tracked ownership: what is not given back at the end of an execution is a leak, if
//! [`crate::Config::find_leaks`] is on; a tracked allocation that is used after it was freed is found always.

use crate::rt;
pub use std::alloc::{Layout, LayoutError, handle_alloc_error};
use std::panic::Location;

/// Notes that something is owned; returns its number, 0 outside of an execution.
pub(crate) fn own(what: &'static str, at: &'static Location<'static>) -> u64 {
    rt::with(|rt| {
        // What a lazy static owns lives as long as the program.
        if !rt.settings.leaks || rt.threads[rt.current].in_once > 0 {
            return 0;
        }
        rt.next_owned += 1;
        rt.owned.insert(rt.next_owned, (what, at));
        rt.next_owned
    })
    .unwrap_or(0)
}

pub(crate) fn disown(number: u64) {
    if number != 0 {
        rt::with(|rt| rt.owned.remove(&number));
    }
}

/// Allocates memory that counts as owned until it is given to [`dealloc`].
///
/// # Safety
/// As for [`std::alloc::alloc`].
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's.
    let memory = unsafe { std::alloc::alloc(layout) };
    remember(memory, Location::caller());
    memory
}

/// As [`alloc`], filled with zeros.
///
/// # Safety
/// As for [`std::alloc::alloc_zeroed`].
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's.
    let memory = unsafe { std::alloc::alloc_zeroed(layout) };
    remember(memory, Location::caller());
    memory
}

fn remember(memory: *mut u8, at: &'static Location<'static>) {
    rt::with(|rt| rt.owned.insert(memory as u64, ("memory", at)));
}

/// Frees memory.
///
/// # Panics
/// If the memory is not owned: it was freed before, or comes from elsewhere.
///
/// # Safety
/// As for [`std::alloc::dealloc`].
#[track_caller]
pub unsafe fn dealloc(memory: *mut u8, layout: Layout) {
    let known = rt::with(|rt| rt.abandoned || rt.owned.remove(&(memory as u64)).is_some());
    assert!(known != Some(false), "memory is freed that is not owned: it was freed before, or comes from elsewhere");
    // SAFETY: the caller's.
    unsafe { std::alloc::dealloc(memory, layout) };
}

/// Whether this is the beginning of memory from [`alloc`] that was not freed: so that code that follows pointers can assert
/// that it does not use what was freed. Always true outside of an execution.
pub fn is_owned(memory: *const u8) -> bool {
    rt::with(|rt| rt.abandoned || rt.owned.contains_key(&(memory as u64))).unwrap_or(true)
}

/// A value whose owner is responsible for dropping it; if it is forgotten, that is a leak.
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    owned: u64,
}

impl<T> Track<T> {
    /// Tracks the value.
    #[track_caller]
    pub fn new(value: T) -> Track<T> {
        Track { value, owned: own("Track", Location::caller()) }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The value, no longer tracked.
    pub fn into_inner(self) -> T {
        disown(self.owned);
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped.
        unsafe { std::ptr::read(&this.value) }
    }
}

impl<T> Drop for Track<T> {
    fn drop(&mut self) {
        disown(self.owned);
    }
}
