//! A reference-counted pointer.
//!
//! Run it: `cargo run -p fabius --example arc`

use fabius::alloc::{Layout, alloc, dealloc};
use fabius::cell::UnsafeCell;
use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::thread;
use std::ptr::NonNull;

/// What may be wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Nothing.
    None,
    /// The count goes down by a load and a store.
    CountedInTwoSteps,
    /// `get_mut` does not look at the count.
    GetMutWithoutLooking,
}

struct Inner {
    count: AtomicUsize,
    value: UnsafeCell<u32>,
    bug: Bug,
}

/// The pointer.
pub struct Shared(NonNull<Inner>);

// SAFETY: the value is written only through the only pointer to it.
unsafe impl Send for Shared {}

impl Shared {
    /// The only pointer to a new value.
    pub fn new(value: u32, bug: Bug) -> Shared {
        // SAFETY: the layout is not empty; what is written is the whole of it.
        unsafe {
            let inner = alloc(Layout::new::<Inner>()).cast::<Inner>();
            inner.write(Inner { count: AtomicUsize::new(1), value: UnsafeCell::new(value), bug });
            Shared(NonNull::new_unchecked(inner))
        }
    }

    fn inner(&self) -> &Inner {
        // SAFETY: it is freed by the last pointer.
        unsafe { self.0.as_ref() }
    }

    /// The value.
    pub fn get(&self) -> u32 {
        // SAFETY: nobody writes while there is another pointer.
        self.inner().value.with(|value| unsafe { *value })
    }

    /// Changes the value, if this is the only pointer.
    pub fn set(&mut self, new: u32) -> bool {
        let alone = self.inner().bug == Bug::GetMutWithoutLooking || self.inner().count.load(SeqCst) == 1;
        if alone {
            // SAFETY: this is the only pointer.
            self.inner().value.with_mut(|value| unsafe { *value = new });
        }
        alone
    }
}

impl Clone for Shared {
    fn clone(&self) -> Shared {
        self.inner().count.fetch_add(1, SeqCst);
        Shared(self.0)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let before = if self.inner().bug == Bug::CountedInTwoSteps {
            let count = self.inner().count.load(SeqCst);
            self.inner().count.store(count - 1, SeqCst);
            count
        } else {
            self.inner().count.fetch_sub(1, SeqCst)
        };
        if before == 1 {
            // SAFETY: nobody else has a pointer.
            unsafe { dealloc(self.0.as_ptr().cast(), Layout::new::<Inner>()) };
        }
    }
}

/// Two threads read and drop; the first one writes if it is alone. What is left at the end is a leak.
pub fn scenario(bug: Bug) {
    let mut mine = Shared::new(1, bug);
    let theirs = mine.clone();
    let other = thread::spawn(move || theirs.get());
    mine.set(2);
    drop(mine);
    assert_eq!(other.join().unwrap(), 1);
}

/// How it is checked.
pub fn config() -> fabius::Config {
    fabius::Config::new().find_leaks()
}

fn main() {
    println!("{}", config().explore(|| scenario(Bug::None)));
    let report = config().explore(|| scenario(Bug::CountedInTwoSteps));
    println!("{}", report.failure().unwrap_or_default());
}
