//! Atomics: those of [`fabius`], but that one is made is seen, as by loom. Who uses one must come after that.

pub use fabius::sync::atomic::{Ordering, compiler_fence, fence, spin_loop_hint};
use std::fmt;
use std::ops::{Deref, DerefMut};

macro_rules! atomic {
    ($name:ident $(<$generic:ident>)?, $ty:ty) => {
            #[doc = concat!("loom's `", stringify!($name), "`: all methods of `std`'s, of which each that takes `&self` is a scheduling point.")]
            pub struct $name $(<$generic>)? (fabius::sync::atomic::$name $(<$generic>)?);

            impl $(<$generic>)? $name $(<$generic>)? {
                /// Makes an atomic, which is an access that writes.
                #[track_caller]
                pub fn new(value: $ty) -> Self {
                    Self(fabius::sync::atomic::$name::new_here(value))
                }

                /// The value.
                pub fn into_inner(self) -> $ty {
                    self.0.into_inner()
                }
            }

            impl $(<$generic>)? Deref for $name $(<$generic>)? {
                type Target = fabius::sync::atomic::$name $(<$generic>)?;

                fn deref(&self) -> &Self::Target {
                    &self.0
                }
            }

            impl $(<$generic>)? DerefMut for $name $(<$generic>)? {
                fn deref_mut(&mut self) -> &mut Self::Target {
                    &mut self.0
                }
            }

            impl $(<$generic>)? From<$ty> for $name $(<$generic>)? {
                #[track_caller]
                fn from(value: $ty) -> Self {
                    Self::new(value)
                }
            }

            impl $(<$generic>)? Default for $name $(<$generic>)? {
                #[track_caller]
                fn default() -> Self {
                    Self::new(fabius::sync::atomic::$name $(::<$generic>)?::default().into_inner())
                }
            }

            impl $(<$generic>)? fmt::Debug for $name $(<$generic>)? {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.0.fmt(f)
                }
            }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicU8, u8);
atomic!(AtomicU16, u16);
atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
atomic!(AtomicUsize, usize);
atomic!(AtomicI8, i8);
atomic!(AtomicI16, i16);
atomic!(AtomicI32, i32);
atomic!(AtomicI64, i64);
atomic!(AtomicIsize, isize);
atomic!(AtomicPtr<T>, *mut T);
