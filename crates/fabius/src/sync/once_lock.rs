//! Values that are made once: `OnceLock`, `LazyLock`. Statics of these types are fresh in every execution.
//!
//! A reference to a value may live as long as the cell: to one in a static, for ever. Nobody can know who has kept one, in a
//! thread-local of std for instance, so no value is dropped before its cell. For a static that means that every execution
//! leaves one value behind; a cell that is made inside of the execution is dropped there, with its value.

use super::once::Raw;
use crate::rt::{self, Inside, Renew};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;
use std::ptr::NonNull;

/// [`std::sync::OnceLock`] under the scheduler. Outside of a check it is one of std's, and what is set there is set in every
/// execution. A value that an execution sets in a static is never dropped.
pub struct OnceLock<T> {
    call: Raw,
    inside: Inside<Values<T>>,
    outside: std::sync::OnceLock<T>,
}

/// The values of all executions; each lives as long as the cell.
struct Values<T> {
    all: Vec<NonNull<T>>,
    /// Whether the last is that of the current execution.
    is_set: bool,
    owned: PhantomData<T>,
}

// SAFETY: it owns the values.
unsafe impl<T: Send> Send for Values<T> {}

impl<T> Renew for Values<T> {
    fn renew(&mut self) {
        self.is_set = false;
    }
}

impl<T> Values<T> {
    const fn new() -> Values<T> {
        Values { all: Vec::new(), is_set: false, owned: PhantomData }
    }

    fn push(&mut self, value: Box<T>) {
        self.all.push(NonNull::from(Box::leak(value)));
        self.is_set = true;
    }

    fn last(&self) -> Option<NonNull<T>> {
        if self.is_set { self.all.last().copied() } else { None }
    }

    fn take(&mut self) -> Option<T> {
        let last = if std::mem::take(&mut self.is_set) { self.all.pop() } else { None };
        // SAFETY: it came from a box, and whoever has `&mut self` knows that there are no references to values.
        last.map(|last| unsafe { *Box::from_raw(last.as_ptr()) })
    }
}

impl<T> Drop for Values<T> {
    fn drop(&mut self) {
        for value in self.all.drain(..) {
            // SAFETY: it came from a box, and references to it have ended with the cell.
            drop(unsafe { Box::from_raw(value.as_ptr()) });
        }
    }
}

// SAFETY: as in std; `call` and `inside` see to it that one execution at a time sets values, and no value moves.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}

impl<T: std::panic::UnwindSafe> std::panic::UnwindSafe for OnceLock<T> {}
impl<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe> std::panic::RefUnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// As in std.
    #[track_caller]
    pub const fn new() -> OnceLock<T> {
        OnceLock { call: Raw::new(), inside: Inside::new(Values::new()), outside: std::sync::OnceLock::new() }
    }

    /// The value of the current execution.
    fn inside(&self) -> Option<&T> {
        let value = self.inside.with(|values| values.last()).flatten()?;
        // SAFETY: it lives as long as the cell, in its own memory, and there is no unique reference before that.
        Some(unsafe { value.as_ref() })
    }

    fn set_inside(&self, value: T) {
        let value = Box::new(value);
        self.inside.with(|values| values.push(value));
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        if rt::current().is_null() {
            self.call.outside();
            return self.outside.get();
        }
        if let Some(value) = self.outside.get() {
            return Some(value);
        }
        if self.call.is_completed(Location::caller()) { self.inside() } else { None }
    }

    /// As in std: a scheduling point; waits for an initialization that is under way.
    #[track_caller]
    pub fn get_or_init<F: FnOnce() -> T>(&self, f: F) -> &T {
        if rt::current().is_null() {
            self.call.outside();
            return self.outside.get_or_init(f);
        }
        if let Some(value) = self.outside.get() {
            return value;
        }
        self.init(true, Location::caller(), f)
    }

    /// As in std: a scheduling point; waits until somebody else has set it.
    ///
    /// # Panics
    /// If nobody has and a destructor asks while a panic unwinds the stack, which cannot wait.
    #[track_caller]
    pub fn wait(&self) -> &T {
        if rt::current().is_null() {
            self.call.outside();
            return self.outside.wait();
        }
        if let Some(value) = self.outside.get() {
            return value;
        }
        self.call.wait_force(Location::caller());
        self.inside().expect("a destructor that runs while a panic unwinds the stack cannot wait for a value")
    }

    /// The value, which is made if there is none; inside of an execution. It is made again after a panic if it is forced.
    #[track_caller]
    fn init<F: FnOnce() -> T>(&self, force: bool, at: &'static Location<'static>, f: F) -> &T {
        self.call.call(force, at, |_| self.set_inside(f()));
        self.inside().expect("the call has set it")
    }

    /// As in std: a scheduling point.
    ///
    /// # Errors
    /// The value, if there is one already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        if rt::current().is_null() {
            self.call.outside();
            return self.outside.set(value);
        }
        if self.outside.get().is_some() {
            return Err(value);
        }
        let mut value = Some(value);
        self.call.call(true, Location::caller(), |_| value.take().into_iter().for_each(|v| self.set_inside(v)));
        value.map_or(Ok(()), Err)
    }

    /// As in std.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        if self.outside.get().is_some() {
            return self.outside.get_mut();
        }
        self.renew();
        // SAFETY: it lives as long as the cell, to which there is no other reference.
        self.inside.get_mut().last().map(|mut value| unsafe { value.as_mut() })
    }

    /// As in std.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }

    /// As in std.
    pub fn take(&mut self) -> Option<T> {
        self.renew();
        self.call = Raw::new();
        self.outside.take().or_else(|| self.inside.get_mut().take())
    }

    /// Inside of an execution, forgets that an earlier one has set it.
    fn renew(&self) {
        self.inside.with(|_| ());
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    /// As in std: a scheduling point, which looks whether there is a value.
    #[track_caller]
    fn clone(&self) -> OnceLock<T> {
        self.get().cloned().map_or_else(OnceLock::new, OnceLock::from)
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> OnceLock<T> {
        let lock = OnceLock::new();
        let _ = lock.outside.set(value);
        lock
    }
}

impl<T> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceLock").finish_non_exhaustive()
    }
}

/// [`std::sync::LazyLock`] under the scheduler. The initializer of a static may run in every execution, and what it makes
/// there is never dropped.
pub struct LazyLock<T, F = fn() -> T> {
    cell: OnceLock<T>,
    init: F,
}

impl<T, F: Fn() -> T> LazyLock<T, F> {
    /// As in std, but the initializer can be called again.
    #[track_caller]
    pub const fn new(init: F) -> LazyLock<T, F> {
        LazyLock { cell: OnceLock::new(), init }
    }

    /// As in std.
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        let is_outside = rt::current().is_null() || this.cell.outside.get().is_some();
        if is_outside {
            this.cell.get_or_init(|| (this.init)())
        } else {
            this.cell.init(false, Location::caller(), || (this.init)())
        }
    }
}

impl<T, F: Fn() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyLock").finish_non_exhaustive()
    }
}
