//! Thread-local and lazy static values, one for each thread or execution of a test.

use crate::rt;
use std::fmt;

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

impl<T: 'static> LocalKey<T> {
    fn get(&'static self) -> Result<&'static T, AccessError> {
        let key = std::ptr::from_ref(self) as usize;
        let find = || {
            rt::must(|rt| {
                let locals = &rt.threads[rt.current].locals;
                locals.iter().find(|(k, _)| *k == key).map(|(_, value)| {
                    // SAFETY: the box stays until the thread ends; `with` does not let the reference out.
                    value.downcast_ref::<T>().map(|v| unsafe { &*std::ptr::from_ref(v) }).ok_or(AccessError)
                })
            })
        };
        if let Some(found) = find() {
            return found;
        }
        if rt::must(|rt| rt.threads[rt.current].finished || rt.threads[rt.current].ending.contains(&key)) {
            return Err(AccessError);
        }
        let value = (self.init)();
        rt::must(|rt| {
            let me = rt.current;
            rt.threads[me].locals.push((key, Box::new(value)));
        });
        find().unwrap_or(Err(AccessError))
    }

    /// As in std.
    ///
    /// # Panics
    /// If the value has been destroyed.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        f(self.get().expect("cannot access a thread-local value during or after its destruction"))
    }

    /// As in std.
    ///
    /// # Errors
    /// If the value has been destroyed.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        self.get().map(f)
    }
}

impl<T: 'static> LocalKey<std::cell::Cell<T>> {
    /// As in std.
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// As in std.
    pub fn get_copy(&'static self) -> T
    where
        T: Copy,
    {
        self.with(std::cell::Cell::get)
    }

    /// As in std.
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<std::cell::RefCell<T>> {
    /// As in std.
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }

    /// As in std.
    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
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
