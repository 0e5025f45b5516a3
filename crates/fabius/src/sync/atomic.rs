//! [`std::sync::atomic`] under the scheduler: every operation is a scheduling point.
//!
//! Sequential consistency is assumed, whatever ordering is given: an operation takes effect at once for all threads. Bugs
//! that need a weaker ordering are not found.

use crate::rt::{self, Object, Op};
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::Location;
pub use std::sync::atomic::{Ordering, compiler_fence};

/// As in std. Without effect: all operations are sequentially consistent.
pub fn fence(order: Ordering) {
    assert!(order != Ordering::Relaxed, "there is no such thing as a relaxed fence");
}

/// As in std.
#[track_caller]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}

macro_rules! check_orderings {
    (load $order:expr) => {
        assert!(!matches!($order, Ordering::Release | Ordering::AcqRel), "there is no such thing as a release load")
    };
    (store $order:expr) => {
        assert!(!matches!($order, Ordering::Acquire | Ordering::AcqRel), "there is no such thing as an acquire store")
    };
}

/// A value as a number.
fn bits<T: Copy>(value: T) -> u64 {
    let mut bytes = [0u8; 16];
    let size = size_of::<T>().min(16);
    // SAFETY: integers, booleans and pointers have no bytes that are not set, and at most sixteen.
    unsafe { std::ptr::copy_nonoverlapping(std::ptr::from_ref(&value).cast::<u8>(), bytes.as_mut_ptr(), size) };
    let number = u128::from_le_bytes(bytes);
    number as u64 ^ ((number >> 64) as u64).rotate_left(32)
}

/// What all atomics have.
macro_rules! atomic {
    ($name:ident, $ty:ty $(, $generic:ident)?) => {
        #[doc = concat!("`std::sync::atomic::", stringify!($name), "` under the scheduler.")]
        pub struct $name$(<$generic>)? {
            object: Object,
            value: UnsafeCell<$ty>,
        }

        // SAFETY: all threads of an execution are fibers of one operating system thread.
        unsafe impl$(<$generic>)? Sync for $name$(<$generic>)? {}
        // SAFETY: as above.
        unsafe impl$(<$generic>)? Send for $name$(<$generic>)? {}

        impl$(<$generic>)? $name$(<$generic>)? {
            /// As in std.
            #[track_caller]
            pub const fn new(value: $ty) -> Self {
                Self { object: Object::new(), value: UnsafeCell::new(value) }
            }

            #[allow(clippy::mut_from_ref, reason = "only one thread runs, and the reference is used at once")]
            fn value(&self) -> &mut $ty {
                // SAFETY: the reference is used at once, and only one thread runs.
                unsafe { &mut *self.value.get() }
            }

            #[inline]
            fn change<R>(&self, name: &'static str, at: &'static Location<'static>, f: impl FnOnce(&mut $ty) -> R) -> R {
                rt::point(Op::write(name, self.object.id(), at));
                let old = *self.value();
                let result = f(self.value());
                rt::value_is(&self.object, || bits(*self.value()));
                rt::note(|| format!("{:?} -> {:?}", old, *self.value()));
                result
            }

            /// As in std: a scheduling point.
            #[track_caller]
            #[inline]
            pub fn load(&self, order: Ordering) -> $ty {
                check_orderings!(load order);
                rt::point(Op::read("load", self.object.id(), Location::caller()));
                rt::note(|| format!("{:?}", *self.value()));
                *self.value()
            }

            /// As in std: a scheduling point.
            #[track_caller]
            #[inline]
            pub fn store(&self, value: $ty, order: Ordering) {
                check_orderings!(store order);
                self.change("store", Location::caller(), |v| *v = value);
            }

            /// As in std: a scheduling point.
            #[track_caller]
            #[inline]
            pub fn swap(&self, value: $ty, _: Ordering) -> $ty {
                self.change("swap", Location::caller(), |v| std::mem::replace(v, value))
            }

            /// As in std: a scheduling point.
            ///
            /// # Errors
            /// The value, if it is another.
            #[track_caller]
            #[inline]
            pub fn compare_exchange(&self, current: $ty, new: $ty, _: Ordering, failure: Ordering) -> Result<$ty, $ty> {
                check_orderings!(load failure);
                self.exchange("compare_exchange", Location::caller(), current, new)
            }

            fn exchange(&self, name: &'static str, at: &'static Location<'static>, current: $ty, new: $ty) -> Result<$ty, $ty> {
                self.change(name, at, |v| {
                    let old = *v;
                    if old == current {
                        *v = new;
                        Ok(old)
                    } else {
                        Err(old)
                    }
                })
            }

            /// As in std: a scheduling point. Fails for no reason only if [`crate::Config::spurious_failures`] is on.
            ///
            /// # Errors
            /// The value, if it is another, or for no reason.
            #[track_caller]
            #[inline]
            pub fn compare_exchange_weak(&self, current: $ty, new: $ty, _: Ordering, failure: Ordering) -> Result<$ty, $ty> {
                check_orderings!(load failure);
                let at = Location::caller();
                rt::point(Op::write("compare_exchange_weak", self.object.id(), at));
                let old = *self.value();
                let fails = old == current && rt::with(|rt| rt.settings.spurious) == Some(true) && rt::choose(2) == 1;
                if old != current || fails {
                    rt::unchanged();
                    rt::note(|| if fails { "fails for no reason".into() } else { format!("{old:?}") });
                    return Err(old);
                }
                *self.value() = new;
                rt::value_is(&self.object, || bits(new));
                rt::note(|| format!("{old:?} -> {new:?}"));
                Ok(old)
            }

            /// As in std: a scheduling point.
            #[track_caller]
            pub fn compare_and_swap(&self, current: $ty, new: $ty, _: Ordering) -> $ty {
                let (Ok(old) | Err(old)) = self.exchange("compare_and_swap", Location::caller(), current, new);
                old
            }

            /// As in std: a load, and then compare-and-exchange until it succeeds.
            ///
            /// # Errors
            /// The value, if `f` gives none.
            #[track_caller]
            pub fn fetch_update<F>(&self, set: Ordering, fetch: Ordering, mut f: F) -> Result<$ty, $ty>
            where
                F: FnMut($ty) -> Option<$ty>,
            {
                let mut old = self.load(fetch);
                while let Some(new) = f(old) {
                    match self.compare_exchange_weak(old, new, set, fetch) {
                        Ok(old) => return Ok(old),
                        Err(now) => old = now,
                    }
                }
                Err(old)
            }

            /// As in std.
            ///
            /// # Errors
            /// The value, if `f` says `None`.
            #[track_caller]
            pub fn try_update<F>(&self, set: Ordering, fetch: Ordering, f: F) -> Result<$ty, $ty>
            where
                F: FnMut($ty) -> Option<$ty>,
            {
                self.fetch_update(set, fetch, f)
            }

            /// As in std.
            #[track_caller]
            pub fn update<F>(&self, set: Ordering, fetch: Ordering, mut f: F) -> $ty
            where
                F: FnMut($ty) -> $ty,
            {
                match self.fetch_update(set, fetch, |v| Some(f(v))) {
                    Ok(old) | Err(old) => old,
                }
            }

            /// As in std.
            pub fn get_mut(&mut self) -> &mut $ty {
                self.value.get_mut()
            }

            /// As in std.
            pub fn into_inner(self) -> $ty {
                self.value.into_inner()
            }

            /// As in std.
            pub const fn as_ptr(&self) -> *mut $ty {
                self.value.get()
            }

            /// The value, without a scheduling point.
            ///
            /// # Safety
            /// No other thread changes it at the same time.
            pub unsafe fn unsync_load(&self) -> $ty {
                *self.value()
            }

            /// The value, without a scheduling point.
            ///
            /// # Safety
            /// No other thread changes it at the same time.
            pub unsafe fn raw_load(&self) -> $ty {
                *self.value()
            }

            /// Calls `f` with exclusive access.
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $ty) -> R) -> R {
                f(self.get_mut())
            }
        }

        impl$(<$generic>)? std::panic::RefUnwindSafe for $name$(<$generic>)? {}

        impl$(<$generic>)? From<$ty> for $name$(<$generic>)? {
            #[track_caller]
            fn from(value: $ty) -> Self {
                Self::new(value)
            }
        }

        impl$(<$generic>)? fmt::Debug for $name$(<$generic>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.value(), f)
            }
        }
    };
}

macro_rules! integer {
    ($($name:ident $ty:ty),*) => {
        $(
            atomic!($name, $ty);

            impl $name {
                integer!(@methods $ty,
                    fetch_add |v, x| v.wrapping_add(x),
                    fetch_sub |v, x| v.wrapping_sub(x),
                    fetch_and |v, x| v & x,
                    fetch_nand |v, x| !(v & x),
                    fetch_or |v, x| v | x,
                    fetch_xor |v, x| v ^ x,
                    fetch_max |v, x| v.max(x),
                    fetch_min |v, x| v.min(x)
                );
            }

            impl Default for $name {
                #[track_caller]
                fn default() -> Self {
                    Self::new(0)
                }
            }
        )*
    };
    (@methods $ty:ty, $($method:ident |$v:ident, $x:ident| $new:expr),*) => {
        $(
            /// As in std: a scheduling point.
            #[track_caller]
            #[inline]
            pub fn $method(&self, value: $ty, _: Ordering) -> $ty {
                self.change(stringify!($method), Location::caller(), |place| {
                    let ($v, $x) = (*place, value);
                    *place = $new;
                    $v
                })
            }
        )*
    };
}

integer!(
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicU128 u128, AtomicUsize usize,
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicI128 i128, AtomicIsize isize
);

atomic!(AtomicBool, bool);

impl AtomicBool {
    integer!(@methods bool,
        fetch_and |v, x| v & x,
        fetch_nand |v, x| !(v & x),
        fetch_or |v, x| v | x,
        fetch_xor |v, x| v ^ x
    );

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn fetch_not(&self, _: Ordering) -> bool {
        self.change("fetch_not", Location::caller(), |v| {
            *v = !*v;
            !*v
        })
    }
}

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

atomic!(AtomicPtr, *mut T, T);

macro_rules! pointer_arithmetic {
    ($($method:ident |$v:ident, $x:ident| $new:expr),*) => {
        impl<T> AtomicPtr<T> {
            $(
                /// As in std: a scheduling point.
                #[track_caller]
                pub fn $method(&self, value: usize, _: Ordering) -> *mut T {
                    self.change(stringify!($method), Location::caller(), |place| {
                        let ($v, $x) = (*place, value);
                        *place = $new;
                        $v
                    })
                }
            )*
        }
    };
}

pointer_arithmetic! {
    fetch_ptr_add |v, x| v.wrapping_add(x),
    fetch_ptr_sub |v, x| v.wrapping_sub(x),
    fetch_byte_add |v, x| v.wrapping_byte_add(x),
    fetch_byte_sub |v, x| v.wrapping_byte_sub(x),
    fetch_or |v, x| v.map_addr(|a| a | x),
    fetch_and |v, x| v.map_addr(|a| a & x),
    fetch_xor |v, x| v.map_addr(|a| a ^ x)
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(self.value(), f)
    }
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}
