//! [`std::sync::atomic`] under the scheduler: every operation is a scheduling point.
//!
//! Outside of a check they are std's, with [`Ordering::SeqCst`].
//!
//! What comes before what is as the orderings say, so that a data race on an [`UnsafeCell`](crate::cell::UnsafeCell) is found
//! where a `Release` or an `Acquire` is missing. As soon as a test uses an ordering weaker than `SeqCst`, a load may also find
//! an older store than the newest, and a store may take its place before others in the order in which they change the
//! variable, where the model RC11 allows that: C++20's without load buffering, which is Rust's. Each such deviation from
//! sequential consistency costs as much as a preemption, so that what needs neither is tried first;
//! [`Config::stale`](crate::Config::stale) and
//! [`Config::sequentially_consistent`](crate::Config::sequentially_consistent) limit them.
//!
//! Of std's names `from_ptr` is missing: an atomic here is its value and what is known of its stores, so that the memory of a plain value
//! is none. Where code makes an atomic of memory that it has (`AtomicU32::from_ptr(p)`),
//! let that memory be an atomic from the beginning (`*const AtomicU32` in the place of `*mut u32`), and read and write it plainly, where
//! nobody else uses it, by [`AtomicU32::get_mut`] or [`AtomicU32::as_ptr`].

use crate::rt::{self, Did, Found, Kind, Object, Op, Refine, Rt, Watched, Ways};
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::Location;
use std::sync::atomic as std_atomic;
pub use std::sync::atomic::{Ordering, compiler_fence};
use std::sync::{Mutex, PoisonError};

/// As in std.
///
/// # Panics
/// If `order` is `Relaxed`, as in std.
#[track_caller]
pub fn fence(order: Ordering) {
    assert!(order != Ordering::Relaxed, "there is no such thing as a relaxed fence");
    rt::fence(order, Location::caller());
}

/// As in std.
#[track_caller]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}

/// What std says of orderings that make no sense.
macro_rules! check_orderings {
    (load $order:expr) => {
        match $order {
            Ordering::Release => panic!("there is no such thing as a release load"),
            Ordering::AcqRel => panic!("there is no such thing as an acquire-release load"),
            _ => {}
        }
    };
    (store $order:expr) => {
        match $order {
            Ordering::Acquire => panic!("there is no such thing as an acquire store"),
            Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
            _ => {}
        }
    };
    (failure $order:expr) => {
        match $order {
            Ordering::Release => panic!("there is no such thing as a release failure ordering"),
            Ordering::AcqRel => panic!("there is no such thing as an acquire-release failure ordering"),
            _ => {}
        }
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

/// For what std has no atomic of that size: a value behind a lock.
struct Locked<T> {
    lock: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only used with the lock, but for `as_ptr`, whose caller is responsible.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T: Copy + PartialEq> Locked<T> {
    const fn new(value: T) -> Locked<T> {
        Locked { lock: Mutex::new(()), value: UnsafeCell::new(value) }
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the lock is held, and `f` does not come back here.
        f(unsafe { &mut *self.value.get() })
    }

    fn load(&self, _: Ordering) -> T {
        self.with(|value| *value)
    }

    fn store(&self, new: T, _: Ordering) {
        self.with(|value| *value = new);
    }

    fn fetch_update(&self, _: Ordering, _: Ordering, f: impl Fn(T) -> Option<T>) -> Result<T, T> {
        self.with(|value| {
            let old = *value;
            f(old).map_or(Err(old), |new| {
                *value = new;
                Ok(old)
            })
        })
    }

    fn compare_exchange(&self, current: T, new: T, _: Ordering, _: Ordering) -> Result<T, T> {
        self.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| (old == current).then_some(new))
    }

    const fn as_ptr(&self) -> *mut T {
        self.value.get()
    }

    fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// What all atomics have. The value is one of std's atomics, so that nothing races: inside of an execution, where nobody else
/// changes it, it is read and written without any order; outside, it is changed as std does.
macro_rules! atomic {
    ($name:ident, $ty:ty, $inner:ty $(, $generic:ident)?) => {
        #[doc = concat!("`std::sync::atomic::", stringify!($name), "` under the scheduler.")]
        pub struct $name$(<$generic>)? {
            object: Object,
            value: $inner,
        }

        impl$(<$generic>)? $name$(<$generic>)? {
            /// As in std.
            #[track_caller]
            pub const fn new(value: $ty) -> Self {
                Self { object: Object::new(), value: <$inner>::new(value) }
            }

            /// An atomic that is made here and now: to use it before that happens, or at the same time, is a data race. Where one
            /// is made by `new`, which is `const`, that is not known.
            #[track_caller]
            pub fn new_here(value: $ty) -> Self {
                let atomic = Self::new(value);
                rt::made(&atomic.object, Location::caller());
                atomic
            }

            #[inline]
            fn value(&self) -> $ty {
                self.value.load(Ordering::Relaxed)
            }

            /// Announces a load or a change. Says who looks at it.
            #[inline(always)]
            fn point(&self, name: &'static str, write: bool, order: Ordering, at: &'static Location<'static>) -> Watched {
                rt::point(Op { write, ..Op::read(name, self.object.id(), at) }.of_atomic());
                rt::watched([order; 2])
            }

            #[inline(always)]
            fn change(&self, name: &'static str, did: Did, at: &'static Location<'static>, f: impl Fn($ty) -> $ty) -> $ty {
                match self.point(name, true, did.order(), at) {
                    Watched::Outside => self.change_outside(f),
                    Watched::No => {
                        let old = self.value();
                        self.value.store(f(old), Ordering::Relaxed);
                        old
                    }
                    Watched::Yes => self.change_watched(did, at, f),
                }
            }

            #[inline(never)]
            fn change_watched(&self, did: Did, at: &'static Location<'static>, f: impl Fn($ty) -> $ty) -> $ty {
                let found = rt::find(&self.object, self.value(), Kind::Stores, |_| Ways::only(did));
                self.put(&found, did, f(found.value), at);
                found.value
            }

            fn tell_value(&self) {
                const HOLDS_ADDRESS: bool = [$( stringify!($generic), )? ""].len() > 1;
                if HOLDS_ADDRESS {
                    rt::address_is(&self.object, || bits(self.value()) as usize);
                } else {
                    rt::value_is(&self.object, || bits(self.value()));
                }
            }

            /// Stores a value behind what was found.
            fn put(&self, found: &Found<$ty>, did: Did, new: $ty, at: &'static Location<'static>) {
                rt::does(&self.object, found, did, Some(new), at);
                if found.newer == 0 {
                    rt::changes(&self.value);
                    self.value.store(new, Ordering::Relaxed);
                }
                self.tell_value();
                rt::note(|| match found.newer {
                    0 => format!("{:?} -> {new:?}", found.value),
                    _ => format!("{:?} -> {new:?}, late: {:?} is newer", found.value, found.newest),
                });
            }

            /// Loads what was found.
            fn get(&self, found: &Found<$ty>, did: Did, at: &'static Location<'static>) -> $ty {
                rt::does(&self.object, found, did, None, at);
                found.value
            }

            /// As in std: a scheduling point.
            #[track_caller]
            #[inline(always)]
            pub fn load(&self, order: Ordering) -> $ty {
                check_orderings!(load order);
                let at = Location::caller();
                match self.point("load", false, order, at) {
                    Watched::Outside => self.value.load(Ordering::SeqCst),
                    Watched::No => self.value(),
                    Watched::Yes => self.load_watched(order, at),
                }
            }

            #[inline(never)]
            fn load_watched(&self, order: Ordering, at: &'static Location<'static>) -> $ty {
                let did = Did::Load(order);
                let found = rt::find(&self.object, self.value(), Kind::Loads, |_| Ways::only(did));
                let value = self.get(&found, did, at);
                rt::note(|| match found.newer {
                    0 => format!("{value:?}"),
                    _ => format!("{value:?}, stale: {:?} is newer", found.newest),
                });
                value
            }

            /// As in std: a scheduling point.
            #[track_caller]
            #[inline(always)]
            pub fn store(&self, value: $ty, order: Ordering) {
                check_orderings!(store order);
                self.change("store", Did::Store(order), Location::caller(), |_| value);
            }

            /// As in std: a scheduling point.
            #[track_caller]
            #[inline(always)]
            pub fn swap(&self, value: $ty, order: Ordering) -> $ty {
                self.change("swap", Did::Change(order), Location::caller(), |_| value)
            }

            /// As in std: a scheduling point.
            ///
            /// # Errors
            /// The value, if it is another.
            #[track_caller]
            #[inline(always)]
            pub fn compare_exchange(&self, current: $ty, new: $ty, success: Ordering, failure: Ordering) -> Result<$ty, $ty> {
                check_orderings!(failure failure);
                let orders = (success, failure);
                self.exchange("compare_exchange", orders, Location::caller(), current, new, false)
            }

            #[cold]
            fn change_outside(&self, f: impl Fn($ty) -> $ty) -> $ty {
                let (Ok(old) | Err(old)) =
                    self.value.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(f(old)));
                old
            }

            #[inline(always)]
            fn exchange(
                &self,
                name: &'static str,
                (success, failure): (Ordering, Ordering),
                at: &'static Location<'static>,
                current: $ty,
                new: $ty,
                may_fail: bool,
            ) -> Result<$ty, $ty> {
                let expects = (self, current);
                let op = Op::write(name, self.object.id(), at).of_atomic();
                // That it fails for no reason is a choice, which is made later.
                rt::point(op.unless(&expects, Self::fails));
                match rt::watched([success, failure]) {
                    Watched::Outside => self.value.compare_exchange(current, new, Ordering::SeqCst, Ordering::SeqCst),
                    Watched::No if !may_fail => {
                        let old = self.value();
                        if old != current {
                            return Err(old);
                        }
                        self.value.store(new, Ordering::Relaxed);
                        Ok(old)
                    }
                    _ => self.exchange_watched((success, failure), at, current, new, may_fail),
                }
            }

            /// Whether a compare-and-exchange finds another value than it expects.
            ///
            /// # Safety
            /// It points to an atomic and what is expected.
            unsafe fn fails(expects: *const (), rt: &Rt) -> bool {
                // SAFETY: by the contract.
                let (atomic, current) = unsafe { &*expects.cast::<(&Self, $ty)>() };
                // Where older stores may be found, it is not known before. Of a class that is an execution graph it need not be: that
                // is told what was found.
                let is_usual = !rt.settings.refine.contains(Refine::WEAK) || rt.settings.has_histories();
                is_usual && atomic.value() != *current
            }

            #[inline(never)]
            fn exchange_watched(
                &self,
                (success, failure): (Ordering, Ordering),
                at: &'static Location<'static>,
                current: $ty,
                new: $ty,
                may_fail: bool,
            ) -> Result<$ty, $ty> {
                let fails = Did::Load(failure);
                let ways = |old| {
                    let succeeds = old == current;
                    let first = if succeeds { Did::Change(success) } else { fails };
                    Ways { first: Some(first), second: (succeeds && may_fail).then_some(fails) }
                };
                let found = rt::find(&self.object, self.value(), Kind::Stores, ways);
                let by_itself = found.ways.second.is_some() && (found.ways.first.is_none() || rt::choose_freely(2, at) == 1);
                let done = if by_itself { found.ways.second } else { found.ways.first };
                match done {
                    Some(did @ Did::Change(_)) => {
                        self.put(&found, did, new, at);
                        Ok(found.value)
                    }
                    _ => {
                        let old = self.get(&found, fails, at);
                        rt::unchanged();
                        rt::note(|| match (by_itself, found.newer) {
                            (true, _) => "fails for no reason".into(),
                            (false, 0) => format!("{old:?} -> {old:?}"),
                            (false, _) => format!("{old:?} -> {old:?}, stale: {:?} is newer", found.newest),
                        });
                        Err(old)
                    }
                }
            }

            /// As in std: a scheduling point. Fails for no reason only if [`crate::Config::spurious_failures`] is on.
            ///
            /// # Errors
            /// The value, if it is another, or for no reason.
            #[track_caller]
            #[inline(always)]
            pub fn compare_exchange_weak(&self, current: $ty, new: $ty, success: Ordering, failure: Ordering) -> Result<$ty, $ty> {
                check_orderings!(failure failure);
                let at = Location::caller();
                let may_fail = rt::with(|rt| rt.settings.spurious).unwrap_or(false);
                self.exchange("compare_exchange_weak", (success, failure), at, current, new, may_fail)
            }

            /// As in std: a scheduling point.
            #[track_caller]
            pub fn compare_and_swap(&self, current: $ty, new: $ty, order: Ordering) -> $ty {
                let failure = match order {
                    Ordering::Release => Ordering::Relaxed,
                    Ordering::AcqRel => Ordering::Acquire,
                    order => order,
                };
                let orders = (order, failure);
                let (Ok(old) | Err(old)) = self.exchange("compare_and_swap", orders, Location::caller(), current, new, false);
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
                self.value.as_ptr()
            }

            /// The value, without a scheduling point.
            ///
            /// # Safety
            /// No other thread changes it at the same time.
            pub unsafe fn unsync_load(&self) -> $ty {
                self.value()
            }

            /// The value, without a scheduling point.
            ///
            /// # Safety
            /// No other thread changes it at the same time.
            pub unsafe fn raw_load(&self) -> $ty {
                self.value()
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
                fmt::Debug::fmt(&self.value(), f)
            }
        }
    };
}

macro_rules! integer {
    ($($name:ident $ty:ty $(as $inner:ty)?),*) => {
        $(
            atomic!($name, $ty, integer!(@inner $name $($inner)?));

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
    (@inner $name:ident) => { std_atomic::$name };
    (@inner $name:ident $inner:ty) => { $inner };
    (@methods $ty:ty, $($method:ident |$v:ident, $x:ident| $new:expr),*) => {
        $(
            /// As in std: a scheduling point.
            #[track_caller]
            #[inline(always)]
            pub fn $method(&self, value: $ty, order: Ordering) -> $ty {
                self.change(stringify!($method), Did::Change(order), Location::caller(), |$v| {
                    let $x = value;
                    $new
                })
            }
        )*
    };
}

integer!(
    AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicU128 u128 as Locked<u128>, AtomicUsize usize,
    AtomicI8 i8, AtomicI16 i16, AtomicI32 i32, AtomicI64 i64, AtomicI128 i128 as Locked<i128>, AtomicIsize isize
);

atomic!(AtomicBool, bool, std_atomic::AtomicBool);

impl AtomicBool {
    integer!(@methods bool,
        fetch_and |v, x| v & x,
        fetch_nand |v, x| !(v & x),
        fetch_or |v, x| v | x,
        fetch_xor |v, x| v ^ x
    );

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.change("fetch_not", Did::Change(order), Location::caller(), |v| !v)
    }
}

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

atomic!(AtomicPtr, *mut T, std_atomic::AtomicPtr<T>, T);

macro_rules! pointer_arithmetic {
    ($($method:ident |$v:ident, $x:ident| $new:expr),*) => {
        impl<T> AtomicPtr<T> {
            $(
                /// As in std: a scheduling point.
                #[track_caller]
                pub fn $method(&self, value: usize, order: Ordering) -> *mut T {
                    self.change(stringify!($method), Did::Change(order), Location::caller(), |$v| {
                        let $x = value;
                        $new
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
        fmt::Pointer::fmt(&self.value(), f)
    }
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}
