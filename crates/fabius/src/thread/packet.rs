//! What a thread leaves behind for whoever has its handle.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Result;

/// One of the two who have a packet: the thread, and its handle. Whoever has it last drops it.
///
/// An [`Arc`] that is made, cloned and dropped twice takes four locked instructions, which is as long as a dozen steps; this takes one.
pub(super) struct Packet<T>(NonNull<Inner<T>>);

struct Inner<T> {
    /// Only used by the threads of the execution, which are fibers of one operating system thread, or by who has it alone.
    result: UnsafeCell<Option<Result<T>>>,
    /// Of a scope: whether there was a panic that nobody has asked for.
    unhandled: Option<Arc<AtomicBool>>,
    /// Whether one of the two has let it go.
    has_one: AtomicBool,
}

// SAFETY: the result is not used by several operating system threads at a time (`exchange`), and goes to the last one that has it,
// which takes it after the other has let it go.
unsafe impl<T: Send> Send for Packet<T> {}
// SAFETY: as above; nothing else can be done with a reference.
unsafe impl<T: Send> Sync for Packet<T> {}

impl<T> Packet<T> {
    /// A packet with nothing in it, for the thread and for its handle.
    pub fn pair(unhandled: Option<Arc<AtomicBool>>) -> (Packet<T>, Packet<T>) {
        let inner = Inner { result: UnsafeCell::new(None), unhandled, has_one: AtomicBool::new(false) };
        let inner = NonNull::from(Box::leak(Box::new(inner)));
        (Packet(inner), Packet(inner))
    }

    /// What the thread has left behind is put there, or taken.
    ///
    /// # Safety
    /// The caller is part of the execution of the thread.
    #[inline]
    pub unsafe fn exchange(&self, result: Option<Result<T>>) -> Option<Result<T>> {
        // SAFETY: it lives as long as one of the two has it, and nobody else refers to the result: no reference is held longer than
        // this, and nothing runs meanwhile.
        unsafe { std::mem::replace(&mut *self.0.as_ref().result.get(), result) }
    }
}

impl<T> Drop for Packet<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it lives as long as one of the two has it.
        let has_one = unsafe { &self.0.as_ref().has_one };
        // Who sees that the other is gone need not say so itself.
        if has_one.load(Ordering::Acquire) || has_one.swap(true, Ordering::AcqRel) {
            // SAFETY: the other one has let it go before, and it was made from a box.
            let inner = unsafe { Box::from_raw(self.0.as_ptr()) };
            if let (Some(unhandled), Some(Err(_))) = (&inner.unhandled, unsafe { &*inner.result.get() }) {
                unhandled.store(true, Ordering::Relaxed);
            }
        }
    }
}
