//! Things that happen once: `Once`, `OnceLock`, `LazyLock`. Statics of these types are fresh in every execution.

use crate::rt::{self, Object, Op, Refine, Rt};
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ops::Deref;
use std::panic::Location;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Running,
    Done,
    Poisoned,
}

/// [`std::sync::Once`] under the scheduler.
pub struct Once {
    object: Object,
    state: Cell<State>,
}

// SAFETY: all threads of an execution are fibers of one operating system thread.
unsafe impl Sync for Once {}
// SAFETY: as above.
unsafe impl Send for Once {}

impl std::panic::UnwindSafe for Once {}
impl std::panic::RefUnwindSafe for Once {}

/// [`std::sync::OnceState`], which std does not let others make.
#[derive(Debug)]
pub struct OnceState(bool);

impl OnceState {
    /// Whether an earlier call panicked.
    pub fn is_poisoned(&self) -> bool {
        self.0
    }
}

unsafe fn is_not_running(once: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Once`.
    unsafe { (*once.cast::<Once>()).state.get() != State::Running }
}

/// Marks the end of the call, also if it panics.
struct Finish<'a> {
    once: &'a Once,
    state: State,
    at: &'static Location<'static>,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        rt::with(|rt| rt.threads[rt.current].in_once -= 1);
        rt::point(Op::write("done", self.once.object.id(), self.at));
        self.once.state.set(self.state);
    }
}

impl Once {
    /// As in std.
    #[track_caller]
    pub const fn new() -> Once {
        Once { object: Object::new(), state: Cell::new(State::New) }
    }

    fn renew(&self) -> bool {
        let stale = self.object.is_stale();
        if stale {
            self.state.set(State::New);
        }
        stale
    }

    /// As in std: a scheduling point; waits for a call that is under way.
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        self.call(false, Location::caller(), |_| f());
    }

    /// As in std.
    #[track_caller]
    pub fn call_once_force<F: FnOnce(&OnceState)>(&self, f: F) {
        self.call(true, Location::caller(), f);
    }

    fn call<F: FnOnce(&OnceState)>(&self, force: bool, at: &'static Location<'static>, f: F) {
        self.renew();
        let id = self.object.id();
        let op = if self.state.get() == State::Done { Op::read("once", id, at) } else { Op::write("once", id, at) };
        rt::point(op.when(self, is_not_running));
        let state = self.state.get();
        match state {
            State::Done => return,
            State::Poisoned if !force => panic!("Once instance has previously been poisoned"),
            _ => self.state.set(State::Running),
        }
        rt::with(|rt| rt.threads[rt.current].in_once += 1);
        let mut finish = Finish { once: self, state: State::Poisoned, at };
        f(&OnceState(state == State::Poisoned));
        finish.state = State::Done;
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        rt::observe(Refine::RELEASES);
        self.renew();
        rt::point(Op::read("is_completed", self.object.id(), Location::caller()));
        self.state.get() == State::Done
    }
}

impl Default for Once {
    #[track_caller]
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

/// [`std::sync::OnceLock`] under the scheduler.
pub struct OnceLock<T> {
    once: Once,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: as in std; all threads of an execution are fibers of one operating system thread.
unsafe impl<T: Sync + Send> Sync for OnceLock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// As in std.
    #[track_caller]
    pub const fn new() -> OnceLock<T> {
        OnceLock { once: Once::new(), value: UnsafeCell::new(None) }
    }

    fn renew(&self) {
        if self.once.renew() {
            // SAFETY: references to the value of an earlier execution are gone with it.
            unsafe { *self.value.get() = None };
        }
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        self.renew();
        // SAFETY: a value that is set stays.
        if self.once.is_completed() { unsafe { (*self.value.get()).as_ref() } } else { None }
    }

    /// As in std: a scheduling point; waits for an initialization that is under way.
    #[track_caller]
    pub fn get_or_init<F: FnOnce() -> T>(&self, f: F) -> &T {
        self.renew();
        self.once.call(true, Location::caller(), |_| {
            let value = f();
            // SAFETY: nobody has a reference before the call is done.
            unsafe { *self.value.get() = Some(value) };
        });
        // SAFETY: a value that is set stays.
        unsafe { (*self.value.get()).as_ref() }.expect("the call has set it")
    }

    /// As in std: a scheduling point.
    ///
    /// # Errors
    /// The value, if there is one already.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.renew();
        self.once.call(true, Location::caller(), |_| {
            // SAFETY: nobody has a reference before the call is done.
            unsafe { *self.value.get() = value.take() };
        });
        value.map_or(Ok(()), Err)
    }

    /// As in std.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.renew();
        self.value.get_mut().as_mut()
    }

    /// As in std.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// As in std.
    pub fn take(&mut self) -> Option<T> {
        self.once = Once::new();
        self.value.get_mut().take()
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
        OnceLock {
            once: Once { object: Object::new(), state: Cell::new(State::Done) },
            value: UnsafeCell::new(Some(value)),
        }
    }
}

impl<T> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceLock").finish_non_exhaustive()
    }
}

/// [`std::sync::LazyLock`] under the scheduler. The initializer of a static may run in every execution.
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
        this.cell.get_or_init(|| (this.init)())
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
