//! Thread-local and lazy static values, one for each thread or execution of a test.

use crate::rt::{self, Locals};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

/// [`std::thread::LocalKey`] for the threads of a test.
pub struct LocalKey<T: 'static> {
    #[doc(hidden)]
    pub init: fn() -> T,
}

/// [`std::thread::AccessError`]: the value is being destroyed, or was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("already destroyed")
    }
}

impl std::error::Error for AccessError {}

thread_local! {
    /// The values of a thread that is not part of an execution.
    static OUTSIDE: RefCell<Locals> = RefCell::default();
}

/// One more owner of a value, if it is there.
fn find<T: 'static>(locals: &Locals, key: usize) -> Option<Rc<T>> {
    let found = rt::local::<T>(locals, key);
    // SAFETY: the value is in the list, where it has an owner.
    (!found.is_null()).then(|| unsafe {
        Rc::increment_strong_count(found);
        Rc::from_raw(found)
    })
}

fn find_or_outside<T: 'static>(key: usize, init: impl FnOnce() -> T) -> Result<Rc<T>, AccessError> {
    let found = OUTSIDE.try_with(|locals| find(&locals.borrow(), key)).map_err(|_| AccessError)?;
    if let Some(found) = found {
        return Ok(found);
    }
    let value = Rc::new(init());
    let keep = |locals: &RefCell<Locals>| {
        let mut locals = locals.borrow_mut();
        locals.push((key, value));
        find(&locals, key).ok_or(AccessError)
    };
    OUTSIDE.try_with(keep).unwrap_or(Err(AccessError))
}

/// # Panics
/// If the value has been destroyed.
#[track_caller]
fn there<T>(found: Result<Rc<T>, AccessError>) -> Rc<T> {
    found.expect("cannot access a thread-local value during or after its destruction")
}

impl<T: 'static> LocalKey<T> {
    /// The value, kept alive by whoever has asked for it; made by `init` if it is not there.
    fn find_or(&'static self, init: impl FnOnce() -> T) -> Result<Rc<T>, AccessError> {
        let key = std::ptr::from_ref(self) as usize;
        if rt::current().is_null() {
            return find_or_outside(key, init);
        }
        rt::with(rt::Rt::asks_who);
        if let Some(found) = rt::must(|rt| find(&rt.threads[rt.current].locals, key)) {
            return Ok(found);
        }
        if rt::must(|rt| rt.threads[rt.current].finished || rt.threads[rt.current].ending.contains(&key)) {
            return Err(AccessError);
        }
        let value = Rc::new(init());
        rt::must(|rt| {
            let locals = &mut rt.threads[rt.current].locals;
            locals.push((key, value));
            // The initializer may have asked for it: then there is another, which came first.
            find(locals, key).ok_or(AccessError)
        })
    }

    /// # Panics
    /// If the value has been destroyed.
    #[track_caller]
    fn must(&'static self) -> Rc<T> {
        there(self.find_or(self.init))
    }

    /// As in std. Outside of an execution, a value for the operating system thread.
    ///
    /// # Panics
    /// If the value has been destroyed.
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        f(&*self.must())
    }

    /// As in std.
    ///
    /// # Errors
    /// If the value has been destroyed.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        self.find_or(self.init).map(|value| f(&*value))
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// As in std: a value that is not there is not made by the initializer.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        let mut value = Some(value);
        let cell = there(self.find_or(|| Cell::new(value.take().expect("nobody has taken it before"))));
        value.into_iter().for_each(|value| cell.set(value));
    }

    /// As in std.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.must().get()
    }

    /// As in std.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.must().take()
    }

    /// As in std.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.must().replace(value)
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// As in std.
    #[track_caller]
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        f(&self.must().borrow())
    }

    /// As in std.
    #[track_caller]
    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.must().borrow_mut())
    }

    /// As in std: a value that is not there is not made by the initializer.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        let mut value = Some(value);
        let cell = there(self.find_or(|| RefCell::new(value.take().expect("nobody has taken it before"))));
        if let Some(value) = value {
            *cell.borrow_mut() = value;
        }
    }

    /// As in std.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.must().take()
    }

    /// As in std.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.must().replace(value)
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

/// As [`std::thread_local!`], for the threads of a test.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const { $init:expr } $(; $($rest:tt)*)?) => {
        $(#[$attr])* $vis static $name: $crate::thread::LocalKey<$t> = $crate::thread::LocalKey { init: || $init };
        $($crate::thread_local!($($rest)*);)?
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr $(; $($rest:tt)*)?) => {
        $(#[$attr])* $vis static $name: $crate::thread::LocalKey<$t> = $crate::thread::LocalKey { init: || $init };
        $($crate::thread_local!($($rest)*);)?
    };
}
