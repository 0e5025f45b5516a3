//! Runs an execution one step at a time, for crates that offer the interface of another checker on top of this one.
//!
//! Not for tests, and not stable: it changes whenever they need it to.

use crate::rt::{self, Execution, Job, Limit, Object, Op, Refine, Rt, Settings};
use fabius_explore::system::Choose;
use std::any::Any;
use std::panic::Location;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Everything that a test could look at is a scheduling point, so that no execution has to be begun anew.
const SETTINGS: Settings = Settings {
    refine: Refine(Refine::RELEASES.0 | Refine::RECEIVERS.0 | Refine::COUNTS.0 | Refine::RACES.0),
    record: false,
    deviations: 0,
    leaves_out: rt::LeavesOut::Nothing,
    spurious: false,
    leaks: false,
    panics: false,
    unwinds: true,
    max_steps: u32::MAX,
    deadline: None,
};

/// Decides the nondeterminism inside of a step.
pub type Decide<'a> = &'a mut dyn FnMut(u32) -> u32;

struct Decided<'a, 'b>(&'a mut (dyn FnMut(u32) -> u32 + 'b));

impl Choose for Decided<'_, '_> {
    fn choose(&mut self, alternatives: u32) -> u32 {
        (self.0)(alternatives)
    }
}

/// An execution under way. Dropping it unwinds the threads that have not finished.
pub struct Driven(Execution);

impl Driven {
    /// The state in front of the first scheduling point of the first thread, which runs `body`.
    pub fn begin(body: Box<dyn FnOnce()>, decide: Decide<'_>) -> Driven {
        let mut left = Some(body);
        let mut body = || {
            let _ = left.take().map(rt::catch);
            rt::finish();
        };
        // SAFETY: it borrows nothing.
        let body = unsafe { Job::of(&mut body) };
        Driven(Execution::begin(SETTINGS, &rt::Loops::default(), false, &mut Decided(decide), body))
    }

    /// How many threads there are; they are numbered from 0.
    pub fn threads(&self) -> usize {
        self.0.get().threads.len()
    }

    /// Whether the thread has finished.
    pub fn is_finished(&self, thread: usize) -> bool {
        self.0.get().threads[thread].finished
    }

    /// Whether the thread can make a step.
    pub fn is_ready(&self, thread: usize) -> bool {
        self.0.get().ready(thread)
    }

    /// A step of a thread that is ready.
    pub fn step(&mut self, thread: usize, decide: Decide<'_>) {
        self.0.step(thread, &mut Decided(decide), false);
    }

    /// Unwinds a thread that has not finished, and no other.
    pub fn unwind(&mut self, thread: usize) {
        self.0.get_mut().abandoned = true;
        self.0.step(thread, &mut Decided(&mut |_| 0), false);
        self.0.get_mut().abandoned = false;
    }

    /// Leaves the execution as it is: what is on the stacks of its threads is never dropped.
    pub fn leak(mut self) {
        self.0.get_mut().limit = Some(Limit::Unwanted);
    }

    /// Whether an atomic was used with an ordering weaker than `SeqCst`, which has meant `SeqCst` for the values.
    pub fn has_weaker_orderings(&self) -> bool {
        self.0.get().is_weaker
    }

    /// Why the execution cannot go on, other than by a panic.
    pub fn failure(&self) -> Option<String> {
        let rt = self.0.get();
        rt.failure.as_ref().map(|f| f.message.clone()).or_else(|| rt.limit.as_ref().map(Limit::message))
    }
}

impl std::fmt::Debug for Driven {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driven").finish_non_exhaustive()
    }
}

/// The number of the thread that runs, inside of an execution.
pub fn me() -> Option<usize> {
    rt::with(|rt| rt.current)
}

/// Whether the execution is being given up: its threads are unwound one after the other.
pub fn is_given_up() -> bool {
    rt::with(|rt| rt.abandoned).unwrap_or(false)
}

/// Whether a thread has finished.
pub fn has_finished(thread: usize) -> bool {
    rt::with(|rt| rt.threads[thread].finished).unwrap_or(true)
}

/// Whether a payload unwinds a thread of an execution that is being given up.
pub fn unwinds(payload: &(dyn Any + Send)) -> bool {
    rt::is_abandoned(payload)
}

/// Makes a thread of something that need not be `Send`: all threads of an execution are fibers of one operating system
/// thread. Returns its number.
#[track_caller]
pub fn spawn(body: impl FnOnce() + 'static) -> usize {
    super::spawn_here(body, None).thread.id.0
}

/// A scheduling point at which nothing happens.
#[track_caller]
pub fn switch(name: &'static str) {
    rt::point(Op::local(name, Location::caller()));
}

/// A value that lives as long as the execution, or whoever has asked for it.
pub fn execution_local<T: 'static>(key: usize) -> Option<Rc<T>> {
    rt::must(|rt| rt.statics.get(&key)?.clone().downcast().ok())
}

/// Sets such a value. Its destructor does nothing that is part of an execution.
pub fn set_execution_local<T: 'static>(key: usize, value: T) {
    let before = rt::must(|rt| rt.statics.insert(key, Rc::new(value)));
    drop(before);
}

/// Something that threads wait for and that others give.
pub struct Signal {
    object: Object,
    given: AtomicBool,
}

unsafe fn is_given(signal: *const (), _: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Signal`.
    unsafe { (*signal.cast::<Signal>()).given.load(Ordering::Acquire) }
}

impl Signal {
    /// One that has not been given.
    #[track_caller]
    pub const fn new() -> Signal {
        Signal { object: Object::new(), given: AtomicBool::new(false) }
    }

    /// A scheduling point of an operation on what the signal stands for.
    #[track_caller]
    pub fn point(&self, name: &'static str) {
        rt::point(Op::write(name, self.object.id(), Location::caller()));
    }

    /// Gives it, without a scheduling point.
    pub fn give(&self) {
        self.given.store(true, Ordering::Release);
    }

    /// A scheduling point: waits until it is given, and takes it back.
    #[track_caller]
    pub fn wait(&self, name: &'static str) {
        rt::point(Op::write(name, self.object.id(), Location::caller()).when(self, is_given).waits_for_more());
        self.given.store(false, Ordering::Relaxed);
    }
}

impl Default for Signal {
    #[track_caller]
    fn default() -> Signal {
        Signal::new()
    }
}

impl std::fmt::Debug for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signal").field("given", &self.given).finish()
    }
}
