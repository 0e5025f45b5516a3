//! Reference counting.
//!
//! Counts go up and down without a scheduling point: nobody can tell. Where a test reads the counts, or the last owner
//! does shared operations in the destructor of the value, every drop becomes a point. Their numbers are then the state of the variable,
//! so that a loop that has an `Arc` for the time of a round is known to come back to where it was.

use crate::rt::{self, Did, Object, Op, Refine, Rt};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc as Std, LazyLock, Mutex, PoisonError};

/// [`std::sync::Arc`] under the scheduler.
///
/// An `Arc` of an unsized type is made with [`Arc::from_std`], because only std's own can be coerced.
pub struct Arc<T: ?Sized> {
    // Dropped by hand, in `drop`.
    value: std::mem::ManuallyDrop<Std<T>>,
    shared: Std<Shared>,
}

/// [`std::sync::Weak`] under the scheduler.
pub struct Weak<T: ?Sized> {
    value: std::sync::Weak<T>,
    shared: Option<Std<Shared>>,
}

struct Shared {
    object: Object,
    /// Who finds that there is no weak reference comes after who has dropped one.
    weak: Object,
    /// Number among the values that are owned in this execution; 0 outside of one.
    owned: u64,
    /// Whether it is in [`RAW`].
    raw: AtomicBool,
}

impl Shared {
    #[track_caller]
    fn new(what: &'static str) -> Shared {
        let owned = crate::alloc::own(what, Location::caller());
        Shared { object: Object::new(), weak: Object::new(), owned, raw: AtomicBool::new(false) }
    }

    /// The value has a pointer that may come back.
    fn points_to(self: &Std<Shared>, address: usize) {
        if !self.raw.load(Ordering::Relaxed) {
            // One that is there was left behind by a value that is gone.
            with_raw(|all| all.insert(address, self.clone()));
            self.raw.store(true, Ordering::Relaxed);
        }
    }

    /// The last owner is gone, or has taken the value.
    fn ends(&self, address: usize) {
        if self.raw.load(Ordering::Relaxed) {
            with_raw(|all| all.remove(&address));
        }
        crate::alloc::disown(self.owned);
    }

    /// A look at the counts. What it orders, std says: a count that is only told orders nothing, and who finds that others
    /// own the value, or that nobody does any more, comes after none of them.
    fn look(&self, name: &'static str, write: bool, at: &'static Location<'static>) {
        rt::observe(Refine::COUNTS);
        rt::point(Op { write, ..Op::read(name, self.object.id(), at) }.ordered());
    }

    /// The counts after an operation that has changed them.
    fn counts_are(&self, strong: usize, weak: usize) {
        if rt::with(|rt| rt.abandoned) == Some(false) {
            rt::value_is(&self.object, || (strong as u64) << 32 | weak as u64);
        }
    }

    /// There is one weak reference more, or fewer. Says whether anybody asks how many there are.
    fn changes_weak_count(&self, name: &'static str) -> bool {
        let matters = rt::with(|rt| rt.settings.refine.contains(Refine::WEAK_COUNTS)) == Some(true);
        if matters {
            rt::point(Op::write(name, self.object.id(), self.object.made).ordered());
        }
        matters
    }

    /// A weak reference is dropped. Says whether anybody asks how many there are.
    fn one_weak_less(&self) -> bool {
        let matters = self.changes_weak_count("drop a weak reference");
        if matters {
            rt::comes_before(self.weak.id());
        }
        matters
    }

    /// A drop orders others where it is a step: otherwise it does not matter who was last, or it would become one.
    fn orders_drops(&self, did: Did) {
        if rt::with(|rt| rt.settings.refine.contains(Refine::COUNTS)) == Some(true) {
            rt::edges(&self.object, did, self.object.made);
        }
    }

    /// The operation comes after all drops.
    fn comes_after_drops(&self, at: &'static Location<'static>) {
        rt::edges(&self.object, Did::Load(Ordering::Acquire), at);
    }
}

/// What belongs to the values that somebody has a raw pointer to, by address, as long as they are alive: a pointer may come
/// back any number of times, because [`Arc::from_raw`] in a `ManuallyDrop` is a way to borrow. Two values that are alive never
/// have the same address, because the counts of each come before it.
type Raw = HashMap<usize, Std<Shared>>;

static RAW: LazyLock<Mutex<Raw>> = LazyLock::new(Mutex::default);

fn with_raw<R>(f: impl FnOnce(&mut Raw) -> R) -> R {
    f(&mut RAW.lock().unwrap_or_else(PoisonError::into_inner))
}

impl<T> Arc<T> {
    /// As in std.
    #[track_caller]
    pub fn new(value: T) -> Arc<T> {
        Arc::from_std(Std::new(value))
    }

    /// As in std.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Arc<T>> {
        // SAFETY: the value is behind a reference count and never moves.
        unsafe { Pin::new_unchecked(Arc::new(value)) }
    }

    /// As in std.
    #[track_caller]
    pub fn new_cyclic<F: FnOnce(&Weak<T>) -> T>(f: F) -> Arc<T> {
        let shared = Std::new(Shared::new("Arc"));
        let value = Std::new_cyclic(|weak| f(&Weak { value: weak.clone(), shared: Some(shared.clone()) }));
        Arc { value: std::mem::ManuallyDrop::new(value), shared }
    }

    /// As in std: a scheduling point.
    ///
    /// # Errors
    /// The pointer, if there are others.
    #[track_caller]
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        let at = Location::caller();
        this.shared.look("try_unwrap", true, at);
        let address = Std::as_ptr(&this.value).addr();
        let (value, shared) = this.into_parts();
        match Std::try_unwrap(value) {
            Ok(value) => {
                shared.comes_after_drops(at);
                shared.ends(address);
                Ok(value)
            }
            Err(value) => {
                rt::unchanged();
                Err(Arc { value: std::mem::ManuallyDrop::new(value), shared })
            }
        }
    }

    /// As in std: a scheduling point. Of several threads that do this at the same time, one gets the value.
    #[track_caller]
    pub fn into_inner(this: Arc<T>) -> Option<T> {
        // Dropping what `try_unwrap` gives back would be another step, and nobody would get the value.
        let at = Location::caller();
        this.shared.look("into_inner", true, at);
        let address = Std::as_ptr(&this.value).addr();
        let (value, shared) = this.into_parts();
        rt::edges(&shared.object, Did::Change(Ordering::Release), at);
        let value = Std::into_inner(value)?;
        shared.comes_after_drops(at);
        shared.ends(address);
        Some(value)
    }

    /// As in std.
    #[track_caller]
    pub fn unwrap_or_clone(this: Arc<T>) -> T
    where
        T: Clone,
    {
        Arc::try_unwrap(this).unwrap_or_else(|this| (*this).clone())
    }
}

impl<T: ?Sized> Arc<T> {
    /// The last operation has changed the counts; of the owners so many will be gone when it is over.
    fn counts_are(&self, gone: usize) {
        self.shared.counts_are(Std::strong_count(&self.value) - gone, Std::weak_count(&self.value));
    }

    fn into_parts(self) -> (Std<T>, Std<Shared>) {
        let mut this = std::mem::ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, and its parts are taken once each.
        unsafe { (std::mem::ManuallyDrop::take(&mut this.value), std::ptr::read(&this.shared)) }
    }

    /// As in std. Whoever does not give it back to [`Arc::from_raw`] leaks it.
    pub fn into_raw(this: Arc<T>) -> *const T {
        let (value, shared) = this.into_parts();
        let raw = Std::into_raw(value);
        shared.points_to(raw.addr());
        raw
    }

    /// As in std.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::from_raw`].
    #[track_caller]
    pub unsafe fn from_raw(raw: *const T) -> Arc<T> {
        let shared = with_raw(|all| all.get(&raw.addr()).cloned());
        // A pointer that was made from a reference to the value.
        let shared = shared.unwrap_or_else(|| Std::new(Shared::new("Arc")));
        // SAFETY: the caller's.
        Arc { value: std::mem::ManuallyDrop::new(unsafe { Std::from_raw(raw) }), shared }
    }

    /// As in std.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::increment_strong_count`].
    #[track_caller]
    pub unsafe fn increment_strong_count(raw: *const T) {
        // SAFETY: the caller's: the pointer stands for a count, so what is made of it is not dropped.
        let this = std::mem::ManuallyDrop::new(unsafe { Arc::from_raw(raw) });
        Arc::into_raw((*this).clone());
    }

    /// As in std.
    ///
    /// # Safety
    /// As for [`std::sync::Arc::decrement_strong_count`].
    #[track_caller]
    pub unsafe fn decrement_strong_count(raw: *const T) {
        // SAFETY: the caller's.
        drop(unsafe { Arc::from_raw(raw) });
    }

    /// From std's: `Arc::from_std(std::sync::Arc::new(x) as std::sync::Arc<dyn Trait>)`.
    #[track_caller]
    pub fn from_std(value: Std<T>) -> Arc<T> {
        Arc { value: std::mem::ManuallyDrop::new(value), shared: Std::new(Shared::new("Arc")) }
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn strong_count(this: &Arc<T>) -> usize {
        this.shared.look("strong_count", false, Location::caller());
        let count = Std::strong_count(&this.value);
        rt::note(|| count.to_string());
        count
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn weak_count(this: &Arc<T>) -> usize {
        rt::observe(Refine::WEAK_COUNTS);
        this.shared.look("weak_count", false, Location::caller());
        Std::weak_count(&this.value)
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        let at = Location::caller();
        rt::observe(Refine::WEAK_COUNTS);
        this.shared.look("get_mut", true, at);
        let value = Std::get_mut(&mut this.value)?;
        if !rt::current().is_null() {
            this.shared.comes_after_drops(at);
            rt::comes_after(this.shared.weak.id());
        }
        Some(value)
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn make_mut(this: &mut Arc<T>) -> &mut T
    where
        T: Clone + Sized,
    {
        let at = Location::caller();
        // Where there are weak ones the value moves.
        rt::observe(Refine::WEAK_COUNTS);
        this.shared.look("make_mut", true, at);
        if Std::strong_count(&this.value) > 1 {
            *this = Arc::new((**this).clone());
        } else {
            this.shared.comes_after_drops(at);
        }
        Std::make_mut(&mut this.value)
    }

    /// As in std.
    pub fn downgrade(this: &Arc<T>) -> Weak<T> {
        let matters = this.shared.changes_weak_count("downgrade");
        let value = rt::counting(|| Std::downgrade(&this.value));
        if matters {
            this.counts_are(0);
        }
        Weak { value, shared: Some(this.shared.clone()) }
    }

    /// As in std.
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        Std::ptr_eq(&this.value, &other.value)
    }

    /// As in std.
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        let raw = Std::as_ptr(&this.value);
        this.shared.points_to(raw.addr());
        raw
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    fn drop(&mut self) {
        if !rt::current().is_null() {
            let made = self.shared.object.made;
            rt::part(Op::write("drop", self.shared.object.id(), made).ordered(), Refine::COUNTS);
            self.shared.orders_drops(Did::Change(Ordering::Release));
            self.counts_are(1);
        }
        // Only now: at the point, others may have dropped theirs.
        let last = Std::strong_count(&self.value) == 1;
        if last {
            self.shared.orders_drops(Did::Load(Ordering::Acquire));
            self.shared.ends(Std::as_ptr(&self.value).addr());
            rt::with(Rt::begins_last_drop);
        }
        // SAFETY: it is dropped once, here.
        unsafe { std::mem::ManuallyDrop::drop(&mut self.value) };
        if last {
            rt::with(|rt| rt.last_drops -= 1);
        }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    fn clone(&self) -> Arc<T> {
        if !rt::current().is_null() {
            let op = Op::write("clone", self.shared.object.id(), self.shared.object.made);
            rt::part(op.ordered(), Refine::COUNTS);
        }
        let this = Arc { value: self.value.clone(), shared: self.shared.clone() };
        this.counts_are(0);
        this
    }
}

impl<T> Weak<T> {
    /// As in std.
    pub const fn new() -> Weak<T> {
        Weak { value: std::sync::Weak::new(), shared: None }
    }
}

impl<T: ?Sized> Weak<T> {
    /// As in std: a scheduling point.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let shared = self.shared.as_ref()?;
        let at = Location::caller();
        shared.look("upgrade", true, at);
        let value = rt::counting(|| self.value.upgrade());
        if value.is_some() {
            shared.comes_after_drops(at);
        } else {
            rt::unchanged();
        }
        rt::note(|| if value.is_some() { "alive" } else { "gone" }.into());
        let this = Arc { value: std::mem::ManuallyDrop::new(value?), shared: shared.clone() };
        this.counts_are(0);
        Some(this)
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        if let Some(shared) = &self.shared {
            shared.look("strong_count", false, Location::caller());
        }
        self.value.strong_count()
    }

    /// As in std.
    pub fn ptr_eq(&self, other: &Weak<T>) -> bool {
        self.value.ptr_eq(&other.value)
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Weak<T> {
        let shared = self.shared.as_ref();
        let matters = shared.is_some_and(|shared| shared.changes_weak_count("clone a weak reference"));
        let this = Weak { value: self.value.clone(), shared: self.shared.clone() };
        if let Some(shared) = shared.filter(|_| matters) {
            shared.counts_are(this.value.strong_count(), this.value.weak_count());
        }
        this
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    fn drop(&mut self) {
        let Some(shared) = &self.shared else { return };
        if shared.one_weak_less() {
            shared.counts_are(self.value.strong_count(), self.value.weak_count().saturating_sub(1));
        }
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Weak<T> {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> AsRef<T> for Arc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Borrow<T> for Arc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: ?Sized> Unpin for Arc<T> {}

impl<T: Default> Default for Arc<T> {
    #[track_caller]
    fn default() -> Arc<T> {
        Arc::new(T::default())
    }
}

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Arc<T> {
        Arc::new(value)
    }
}

impl From<&str> for Arc<str> {
    #[track_caller]
    fn from(value: &str) -> Arc<str> {
        Arc::from_std(value.into())
    }
}

impl From<String> for Arc<str> {
    #[track_caller]
    fn from(value: String) -> Arc<str> {
        Arc::from_std(value.into())
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Arc<[T]> {
        Arc::from_std(values.into_iter().collect())
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    #[track_caller]
    fn from(value: Vec<T>) -> Arc<[T]> {
        Arc::from_std(value.into())
    }
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    #[track_caller]
    fn from(value: Box<T>) -> Arc<T> {
        Arc::from_std(value.into())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> fmt::Pointer for Arc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&Std::as_ptr(&self.value), f)
    }
}

impl<T: ?Sized + PartialEq> PartialEq for Arc<T> {
    fn eq(&self, other: &Arc<T>) -> bool {
        **self == **other
    }
}

impl<T: ?Sized + Eq> Eq for Arc<T> {}

impl<T: ?Sized + PartialOrd> PartialOrd for Arc<T> {
    fn partial_cmp(&self, other: &Arc<T>) -> Option<std::cmp::Ordering> {
        (**self).partial_cmp(&**other)
    }
}

impl<T: ?Sized + Ord> Ord for Arc<T> {
    fn cmp(&self, other: &Arc<T>) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl<T: ?Sized + Hash> Hash for Arc<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
