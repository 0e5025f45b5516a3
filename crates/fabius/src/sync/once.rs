//! What happens once: `Once`, and what `OnceLock` and `LazyLock` are made of.

use crate::rt::{self, Did, Holder, Inside, Op, Refine, Renew, Rt};
use std::fmt;
use std::panic::Location;
use std::sync::atomic::Ordering;

/// What has become of a call. Fresh in every execution.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    New,
    Running(Holder),
    Done,
    Poisoned,
}

impl Renew for State {
    fn renew(&mut self) {
        *self = State::New;
    }
}

/// A call inside of executions.
pub(super) struct Raw(Inside<State>);

unsafe fn is_not_running(raw: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Raw`.
    unsafe { runner(raw, rt) }.is_empty()
}

unsafe fn is_done(raw: *const (), rt: &Rt) -> bool {
    // SAFETY: it is only used with a `Raw`.
    let raw = unsafe { &*raw.cast::<Raw>() };
    raw.0.peek(rt, |state| *state == State::Done) == Some(true)
}

unsafe fn is_over(raw: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Raw`.
    let raw = unsafe { &*raw.cast::<Raw>() };
    raw.0.peek(rt, |state| matches!(state, State::Done | State::Poisoned)) == Some(true)
}

unsafe fn has_succeeded(raw: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Raw`.
    unsafe { is_done(raw, rt) }
}

unsafe fn runner(raw: *const (), rt: &Rt) -> Vec<Holder> {
    // SAFETY: it is only used with a `Raw`.
    let raw = unsafe { &*raw.cast::<Raw>() };
    let runner = raw.0.peek(rt, |state| if let State::Running(holder) = state { Some(*holder) } else { None });
    runner.flatten().into_iter().collect()
}

const POISONED: &str = "Once instance has previously been poisoned";

/// Marks the end of the call, also if it panics.
struct Finish<'a> {
    raw: &'a Raw,
    state: State,
    at: &'static Location<'static>,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        rt::with(|rt| rt.threads[rt.current].in_once -= 1);
        let state = self.state;
        let _done = super::Finally(|| {
            self.raw.0.with(|s| *s = state);
        });
        rt::point(Op::write("done", self.raw.0.id(), self.at).ordered());
        rt::edges(&self.raw.0.object, Did::Change(Ordering::Release), self.at);
    }
}

impl Raw {
    #[track_caller]
    pub const fn new() -> Raw {
        Raw(Inside::new(State::New))
    }

    /// Something is done outside of an execution.
    pub fn outside(&self) {
        self.0.object.outside();
    }

    /// The state; `None` outside of an execution.
    pub fn state(&self) -> Option<State> {
        self.0.with(|state| *state)
    }

    /// A scheduling point; waits for a call that is under way. Calls `f` if nobody has, and says whether an earlier call
    /// panicked; inside of an execution.
    #[track_caller]
    pub fn call(&self, force: bool, at: &'static Location<'static>, f: impl FnOnce(bool)) {
        let op = Op::write("once", self.0.id(), at).unless(self, is_done);
        rt::point(op.when(self, is_not_running).held_by(runner).ordered());
        self.comes_after_calls(at);
        let before = self.state();
        match before {
            Some(State::Done) => return,
            Some(State::Poisoned) if !force => panic!("{POISONED}"),
            _ => {}
        }
        let me = rt::must(|rt| {
            rt.threads[rt.current].in_once += 1;
            rt.current
        });
        self.0.with(|state| *state = State::Running((me, at)));
        let mut finish = Finish { raw: self, state: State::Poisoned, at };
        f(before == Some(State::Poisoned));
        finish.state = State::Done;
    }

    /// A scheduling point; waits until a call has succeeded, or has panicked, which panics here; inside of an execution.
    #[track_caller]
    pub fn wait(&self, at: &'static Location<'static>) {
        rt::point(Op::read("wait", self.0.id(), at).when(self, is_over).held_by(runner).ordered());
        self.comes_after_calls(at);
        assert!(self.state() != Some(State::Poisoned), "{POISONED}");
    }

    /// A scheduling point; waits until a call has succeeded; inside of an execution.
    pub fn wait_force(&self, at: &'static Location<'static>) {
        rt::point(Op::read("wait_force", self.0.id(), at).when(self, has_succeeded).held_by(runner).ordered());
        self.comes_after_calls(at);
    }

    /// A scheduling point: whether the call was made; inside of an execution.
    pub fn is_completed(&self, at: &'static Location<'static>) -> bool {
        rt::observe(Refine::RELEASES);
        rt::point(Op::read("is_completed", self.0.id(), at).ordered());
        let is_completed = self.state() == Some(State::Done);
        if is_completed {
            self.comes_after_calls(at);
        }
        is_completed
    }

    /// Of calls that are over; their beginnings order nothing.
    fn comes_after_calls(&self, at: &'static Location<'static>) {
        rt::edges(&self.0.object, Did::Load(Ordering::Acquire), at);
    }
}

/// [`std::sync::Once`] under the scheduler. Outside of a check it is one of std's, and what has happened there has happened
/// in every execution.
pub struct Once {
    inside: Raw,
    outside: std::sync::Once,
}

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

impl Once {
    /// As in std.
    #[track_caller]
    pub const fn new() -> Once {
        Once { inside: Raw::new(), outside: std::sync::Once::new() }
    }

    /// As in std: a scheduling point; waits for a call that is under way.
    #[track_caller]
    pub fn call_once<F: FnOnce()>(&self, f: F) {
        if rt::current().is_null() {
            self.inside.outside();
            self.outside.call_once(f);
        } else if !self.outside.is_completed() {
            self.inside.call(false, Location::caller(), |_| f());
        }
    }

    /// As in std.
    #[track_caller]
    pub fn call_once_force<F: FnOnce(&OnceState)>(&self, f: F) {
        if rt::current().is_null() {
            self.inside.outside();
            self.outside.call_once_force(|state| f(&OnceState(state.is_poisoned())));
        } else if !self.outside.is_completed() {
            self.inside.call(true, Location::caller(), |is_poisoned| f(&OnceState(is_poisoned)));
        }
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        if rt::current().is_null() {
            self.inside.outside();
        }
        self.outside.is_completed() || !rt::current().is_null() && self.inside.is_completed(Location::caller())
    }

    /// As in std: a scheduling point; waits until somebody else's call has succeeded.
    ///
    /// # Panics
    /// If that has panicked.
    #[track_caller]
    pub fn wait(&self) {
        if rt::current().is_null() {
            self.inside.outside();
            self.outside.wait();
        } else if !self.outside.is_completed() {
            self.inside.wait(Location::caller());
        }
    }

    /// As in std: a scheduling point; waits until somebody else's call has succeeded, however many have panicked.
    #[track_caller]
    pub fn wait_force(&self) {
        if rt::current().is_null() {
            self.inside.outside();
            self.outside.wait_force();
        } else if !self.outside.is_completed() {
            self.inside.wait_force(Location::caller());
        }
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
