//! The crate `lazy_static`, with values that are made anew in every execution. They are never dropped: a reference to one may
//! be kept for ever.

use crate::sync::Once;
use fabius::thread::drive;
use std::fmt;

pub use crate::lazy_static;
#[doc(hidden)]
pub use std::ops::Deref as __Deref;

/// A value that is made when it is first used in an execution.
pub struct Lazy<T: Sync> {
    once: Once,
    init: fn() -> T,
}

impl<T: Sync> Lazy<T> {
    /// A value that `init` makes.
    pub const fn new(init: fn() -> T) -> Lazy<T> {
        Lazy { once: Once::new(), init }
    }

    /// The value.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        let key = std::ptr::from_ref(self) as usize;
        let made = || drive::execution_local::<&'static T>(key).map(|value| *value);
        if let Some(value) = made() {
            return value;
        }
        self.once.call_once(|| {
            let value: &'static T = Box::leak(Box::new((self.init)()));
            drive::set_execution_local(key, value);
        });
        made().expect("it has just been made")
    }
}

impl<T: Sync> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}

/// What every lazy static can do.
pub trait LazyStatic {
    #[doc(hidden)]
    fn initialize(lazy: &Self);
}

/// Makes the value now, if it has not been made.
pub fn initialize<T: LazyStatic>(lazy: &T) {
    LazyStatic::initialize(lazy);
}

/// Statics that are made when they are first used, in every execution anew.
#[macro_export]
macro_rules! lazy_static {
    () => {};
    ($(#[$attr:meta])* $vis:vis static ref $name:ident : $t:ty = $init:expr; $($rest:tt)*) => {
        #[allow(missing_copy_implementations, non_camel_case_types, dead_code)]
        $(#[$attr])*
        $vis struct $name {
            __private: (),
        }
        #[doc(hidden)]
        $vis static $name: $name = $name { __private: () };
        impl $crate::lazy_static::__Deref for $name {
            type Target = $t;

            fn deref(&self) -> &$t {
                fn init() -> $t {
                    $init
                }
                static LAZY: $crate::lazy_static::Lazy<$t> = $crate::lazy_static::Lazy::new(init);
                LAZY.get()
            }
        }
        impl $crate::lazy_static::LazyStatic for $name {
            fn initialize(lazy: &Self) {
                let _ = &**lazy;
            }
        }
        $crate::lazy_static!($($rest)*);
    };
}
