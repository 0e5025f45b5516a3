//! Statics that are made on first use, anew in every execution. Their values are never dropped: a reference to one may be kept
//! for ever.

use fabius::sync::OnceLock;

pub use fabius::thread::AccessError;

/// What [`crate::lazy_static!`] makes.
#[derive(Debug)]
pub struct Lazy<T> {
    #[doc(hidden)]
    pub cell: OnceLock<T>,
    #[doc(hidden)]
    pub init: fn() -> T,
}

impl<T> Lazy<T> {
    /// The value, made if it was not.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        self.cell.get_or_init(self.init)
    }
}

/// As the macro of the `lazy_static` crate, anew in every execution.
#[macro_export]
macro_rules! lazy_static {
    () => {};
    ($(#[$attr:meta])* $vis:vis static ref $name:ident: $t:ty = $init:expr; $($rest:tt)*) => {
        #[allow(non_camel_case_types)]
        $(#[$attr])*
        $vis struct $name { __private: () }

        #[doc(hidden)]
        $vis static $name: $name = $name { __private: () };

        impl ::std::ops::Deref for $name {
            type Target = $t;

            fn deref(&self) -> &$t {
                static LAZY: $crate::lazy_static::Lazy<$t> = $crate::lazy_static::Lazy {
                    cell: $crate::__fabius::sync::OnceLock::new(),
                    init: || $init,
                };
                LAZY.get()
            }
        }

        $crate::lazy_static! { $($rest)* }
    };
}
