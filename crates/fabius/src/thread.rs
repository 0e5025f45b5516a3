//! [`std::thread`] under the scheduler.

#[doc(hidden)]
pub mod drive;
mod packet;

pub use crate::local::{AccessError, LocalKey};
use crate::rt::{self, Beginning, Did, Job, Op, Refine, Rt};
use fabius_explore::system::{TaskId, end_of};
use fabius_trace::BugKind;
use packet::Packet;
use std::cell::UnsafeCell;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::num::NonZero;
use std::panic::Location;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
pub use std::thread::{Result, panicking};
use std::time::Duration;

/// [`std::thread::ThreadId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(usize);

impl ThreadId {
    /// A number for a thread that is not part of an execution: downwards from the largest.
    fn outside(thread: &std::thread::Thread) -> ThreadId {
        static KNOWN: Mutex<Vec<std::thread::ThreadId>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let number = known.iter().position(|id| *id == thread.id()).unwrap_or_else(|| {
            known.push(thread.id());
            known.len() - 1
        });
        ThreadId(usize::MAX - number)
    }
}

impl From<ThreadId> for usize {
    /// The number of the thread: 0 for the first, then in the order of spawning.
    fn from(id: ThreadId) -> usize {
        id.0
    }
}

/// [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread {
    id: ThreadId,
    name: Option<Arc<str>>,
    of: Of,
}

/// What a thread is part of.
#[derive(Clone, Debug)]
enum Of {
    /// The execution of that number.
    Execution(u64),
    /// None: it is one of the operating system.
    Outside(std::thread::Thread),
}

impl Of {
    /// # Panics
    /// If it is not the current execution.
    #[track_caller]
    fn check(&self) {
        let epoch = rt::with(|rt| rt.epoch);
        let is_this = matches!((self, epoch), (Of::Execution(of), Some(epoch)) if *of == epoch);
        assert!(is_this, "a thread is used outside of the execution that it belongs to");
    }
}

/// [`std::thread::JoinHandle`].
pub struct JoinHandle<T> {
    thread: Thread,
    /// Until it is joined.
    packet: Option<Packet<T>>,
}

/// [`std::thread::Builder`].
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack: Option<usize>,
}

/// Runs the body of a thread and leaves the result in the packet.
#[inline(always)]
fn run<T>(f: impl FnOnce() -> T, packet: Packet<T>) {
    if let Some(result) = rt::catch(f) {
        leaves(&result);
        if let Err(payload) = &result {
            rt::note_panic(payload.as_ref());
        }
        // SAFETY: it is the thread itself. There is nothing to drop: it has left nothing there before.
        std::mem::forget(unsafe { packet.exchange(Some(result)) });
    }
    // The result is dropped here if nobody can ask for it any more.
    if let Some(Err(payload)) = rt::catch(|| drop(packet)) {
        let panic = rt::note_panic(payload.as_ref());
        let message =
            format!("the result of a thread panicked when it was dropped, which ends a process: {}", panic.message);
        rt::with(|rt| rt.fail_at(BugKind::Panic, message, panic.at));
    }
    rt::finish();
}

/// Whether somebody may see who drops the result.
fn tells<T>(result: &Result<T>) -> bool {
    match result {
        Ok(_) => std::mem::needs_drop::<T>(),
        Err(payload) => crate::extend::tells(payload.as_ref()),
    }
}

/// The running thread has a result. From then on who drops its handle drops that.
fn leaves<T>(result: &Result<T>) {
    if result.is_err() && tells(result) {
        rt::observe(Refine::RESULTS);
    }
    let looks = |rt: &mut Rt| (rt.settings.refine.contains(Refine::RESULTS) && !rt.abandoned).then_some(rt.current);
    if let Some(me) = rt::with(looks).flatten().filter(|_| tells(result)) {
        let at = rt::must(|rt| rt.threads[me].spawned_at);
        rt::point(Op::write("leave a result", token_of(me), at));
    }
}

#[inline(always)]
fn start<'a, F, T>(
    f: F,
    builder: Builder,
    unhandled: Option<Arc<AtomicBool>>,
    at: &'static Location<'static>,
) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'a,
    T: 'a,
{
    let of = Of::Execution(rt::must_at(at, |rt| rt.epoch));
    rt::point(Op::local("spawn", at));
    let (packet, ours) = Packet::pair(unhandled);
    let name: Option<Arc<str>> = builder.name.map(Into::into);
    let stack = builder.stack.unwrap_or_else(rt::usual_stack);
    let mut left = Some((f, packet));
    let mut body = || {
        if let Some((f, packet)) = left.take() {
            run(f, packet);
        }
    };
    // SAFETY: `spawn` asks for 'static; `scope` joins before what is borrowed ends.
    let job = unsafe { Job::of(&mut body) };
    let id = rt::spawn(Beginning { job, name: name.clone(), stack, at });
    JoinHandle { thread: Thread { id: ThreadId(id), name, of }, packet: Some(ours) }
}

/// As in std: a scheduling point. The thread runs at once up to its first operation on shared state.
#[track_caller]
#[inline(always)]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    start(f, Builder::new(), None, Location::caller())
}

/// As [`spawn`] for what is not `Send`: all threads of an execution run on one operating system thread.
///
/// # Panics
/// If the name contains a null byte.
#[track_caller]
pub fn spawn_here<F, T>(f: F, name: Option<String>) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    start(f, Builder { name, stack: None }.checked(), None, Location::caller())
}

impl Builder {
    /// As in std.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// As in std.
    pub fn name(self, name: String) -> Builder {
        Builder { name: Some(name), ..self }
    }

    /// As in std. Without it a thread has what `RUST_MIN_STACK` says, or two mebibytes.
    pub fn stack_size(self, bytes: usize) -> Builder {
        Builder { stack: Some(bytes), ..self }
    }

    /// # Panics
    /// If std would not take the name.
    #[track_caller]
    fn checked(self) -> Builder {
        let has_null = self.name.as_ref().is_some_and(|name| name.contains('\0'));
        assert!(!has_null, "thread name may not contain interior null bytes: {:?}", self.name.unwrap_or_default());
        self
    }

    /// As in std; never fails.
    ///
    /// # Errors
    /// None.
    ///
    /// # Panics
    /// If the name contains a null byte, as in std.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Ok(start(f, self.checked(), None, Location::caller()))
    }

    /// As in std; never fails.
    ///
    /// # Errors
    /// None.
    ///
    /// # Panics
    /// If the name contains a null byte, as in std.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Ok(scope.start(f, self.checked(), Location::caller()))
    }
}

unsafe fn has_returned(id: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `ThreadId`.
    rt.threads[unsafe { (*id.cast::<ThreadId>()).0 }].has_returned()
}

unsafe fn has_finished(id: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `ThreadId`.
    rt.threads[unsafe { (*id.cast::<ThreadId>()).0 }].finished
}

impl ThreadId {
    fn end(self, name: &'static str, at: &'static Location<'static>) -> Op {
        Op { variable: end_of(self.0 as TaskId), ..Op::local(name, at) }
    }

    #[inline(always)]
    fn join(self, at: &'static Location<'static>) {
        let op = Op { joins: Some(self.0), ..self.end("join", at) };
        rt::point(op.when(&self, has_finished));
        self.is_joined();
    }

    fn is_joined(self) {
        rt::with(|rt| {
            rt.threads[self.0].joined_by = Some(rt.current);
            rt.orders.as_mut().map(|orders| orders.joined(rt.current, self.0))
        });
        rt::note(|| format!("thread {}", self.0));
    }

    /// The end of a scope waits until the thread's function has returned, and not for its thread-local values.
    fn ends_its_scope(self, at: &'static Location<'static>) {
        if rt::with(|rt| rt.settings.refine.contains(Refine::ENDS)) == Some(true) {
            rt::point(Op::read("join", token_of(self.0), at).when(&self, has_returned));
            self.is_joined();
        } else {
            self.join(at);
        }
        if rt::with(|rt| rt.threads[self.0].returned) == Some(true) {
            rt::observe(Refine::ENDS);
        }
    }

    fn is_joined_by_current(self) -> bool {
        // While a stack is unwound, who joins does not always wait.
        let is_joined = |rt: &Rt, thread: &rt::Thread| thread.finished && thread.joined_by == Some(rt.current);
        rt::with(|rt| is_joined(rt, &rt.threads[self.0])) == Some(true)
    }
}

impl<T> JoinHandle<T> {
    /// As in std: a scheduling point; waits for the end of the thread.
    ///
    /// # Errors
    /// The panic of the thread.
    #[track_caller]
    #[inline(always)]
    pub fn join(mut self) -> Result<T> {
        self.thread.of.check();
        self.thread.id.join(Location::caller());
        // SAFETY: it was checked that this is the execution of the thread.
        let result = self.packet.take().and_then(|packet| unsafe { packet.exchange(None) });
        match result {
            Some(result) => result,
            None => Err(Box::new("the thread was abandoned")),
        }
    }

    /// As in std.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.thread.of.check();
        rt::observe(Refine::ENDS);
        // Std promises no edge, and makes none.
        rt::point(Op::read("is_finished", token_of(self.thread.id.0), Location::caller()).ordered());
        rt::with(|rt| rt.threads[self.thread.id.0].has_returned()).unwrap_or(true)
    }
}

impl<T> Drop for JoinHandle<T> {
    /// Drops the result of the thread, if it has ended and the result can tell: then a scheduling point.
    fn drop(&mut self) {
        if self.packet.is_none() {
            return;
        }
        let epoch = rt::with(|rt| (!rt.abandoned).then_some(rt.epoch)).flatten();
        let is_here = matches!((&self.thread.of, epoch), (Of::Execution(of), Some(epoch)) if *of == epoch);
        let may_tell =
            std::mem::needs_drop::<T>() || rt::with(|rt| rt.settings.refine.contains(Refine::RESULTS)) == Some(true);
        if may_tell && is_here {
            rt::observe(Refine::RESULTS);
            let at = rt::must(|rt| rt.threads[self.thread.id.0].spawned_at);
            rt::point(Op::write("drop a handle", token_of(self.thread.id.0), at));
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id).field("name", &self.name).finish()
    }
}

unsafe fn has_token(_: *const (), rt: &Rt, thread: usize) -> bool {
    rt.threads[thread].token
}

fn token_of(id: usize) -> u32 {
    rt::must(|rt| rt.token_of(id))
}

impl Thread {
    /// As in std.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// As in std.
    pub fn name(&self) -> Option<&str> {
        match &self.of {
            Of::Outside(thread) => thread.name(),
            Of::Execution(_) if self.id.0 == 0 => Some("main"),
            Of::Execution(_) => self.name.as_deref(),
        }
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn unpark(&self) {
        if let Of::Outside(thread) = &self.of {
            return thread.unpark();
        }
        self.of.check();
        let (token, at) = (token_of(self.id.0), Location::caller());
        rt::point(Op::write("unpark", token, at).ordered());
        rt::edges_of(token, Did::Release, at);
        rt::note(|| format!("thread {}", self.id.0));
        rt::must(|rt| rt.threads[self.id.0].token = true);
    }
}

/// As in std.
pub fn current() -> Thread {
    rt::with(Rt::asks_who);
    let inside = rt::with(|rt| Thread {
        id: ThreadId(rt.current),
        name: rt.threads[rt.current].name.clone(),
        of: Of::Execution(rt.epoch),
    });
    inside.unwrap_or_else(|| {
        let thread = std::thread::current();
        Thread { id: ThreadId::outside(&thread), name: None, of: Of::Outside(thread) }
    })
}

fn park_until(deadline: Option<Duration>, at: &'static Location<'static>) {
    let me = rt::must(|rt| rt.current);
    let token = token_of(me);
    if rt::point(Op::write("park", token, at).when(&(), has_token).until(deadline).ordered()) {
        rt::unchanged();
    }
    rt::edges_of(token, Did::Change(Ordering::Acquire), at);
    rt::must(|rt| rt.threads[me].token = false);
}

/// As in std: a scheduling point; waits for `unpark`.
#[track_caller]
pub fn park() {
    if rt::current().is_null() {
        return std::thread::park();
    }
    park_until(None, Location::caller());
}

/// As in std, in virtual time: time is up only when no thread can go on otherwise.
#[track_caller]
pub fn park_timeout(limit: Duration) {
    if rt::current().is_null() {
        return std::thread::park_timeout(limit);
    }
    park_until(rt::with(|rt| rt.now.saturating_add(limit)), Location::caller());
}

/// As in std, in virtual time: other threads go on until none can, and then time passes. To sleep for no time is to yield.
#[track_caller]
#[inline(never)]
pub fn sleep(time: Duration) {
    if rt::current().is_null() {
        return std::thread::sleep(time);
    }
    if time.is_zero() {
        return rt::give_way("sleep", Location::caller(), rt::Here::new());
    }
    let deadline = rt::with(|rt| rt.now.saturating_add(time));
    rt::point(Op::local("sleep", Location::caller()).until(deadline));
}

/// As in std: a scheduling point. The thread gives way: others may go on, and that is no preemption; it may go on itself.
/// A thread that comes back to where it gave way, while nothing has changed, waits until another has made a step.
#[track_caller]
#[inline(never)]
pub fn yield_now() {
    rt::give_way("yield_now", Location::caller(), rt::Here::new());
}

/// As in std: always 2, so that tests do not depend on the machine.
///
/// # Errors
/// None.
pub fn available_parallelism() -> io::Result<NonZero<usize>> {
    Ok(const { NonZero::new(2).unwrap() })
}

/// [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    /// Only used in this execution, while the scope is open.
    threads: Rc<Started>,
    unhandled: Arc<AtomicBool>,
    of: Of,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: nothing of it is used but by the threads of one execution, which are fibers of one operating system thread:
// `Scope::start` checks that.
unsafe impl Sync for Scope<'_, '_> {}

/// [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T> {
    handle: JoinHandle<T>,
    scope: PhantomData<&'scope ()>,
}

/// The threads of a scope.
type Started = UnsafeCell<Vec<ThreadId>>;

impl<'scope> Scope<'scope, '_> {
    /// As in std.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.start(f, Builder::new(), Location::caller())
    }

    fn start<F, T>(&'scope self, f: F, builder: Builder, at: &'static Location<'static>) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.of.check();
        let handle = start(f, builder, Some(self.unhandled.clone()), at);
        // SAFETY: no reference is held over a point.
        unsafe { (*self.threads.get()).push(handle.thread.id) };
        ScopedJoinHandle { handle, scope: PhantomData }
    }
}

/// As in std. At its end the threads that the caller has not joined itself are joined, each in a step; as in std, their
/// thread-local values may be dropped later.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let at = Location::caller();
    let threads: Rc<Started> = Rc::default();
    let of = Of::Execution(rt::must_at(at, |rt| rt.epoch));
    let unhandled = Arc::new(AtomicBool::new(false));
    let (ours, theirs) = (threads.clone(), unhandled.clone());
    let scope = Scope { threads: ours, unhandled: theirs, of, scope: PhantomData, env: PhantomData };
    let result = rt::catch_all(|| f(&scope));
    let mut next = 0;
    // SAFETY: no reference is held over a point; threads may spawn others in the meantime.
    while let Some(id) = unsafe { (&*threads.get()).get(next).copied() } {
        next += 1;
        // Who has joined it need not do so again, which would be a step more.
        if !id.is_joined_by_current() {
            rt::wait_for(id.0, || id.ends_its_scope(at));
        }
    }
    match result {
        Err(payload) => std::panic::resume_unwind(payload),
        Ok(_) if unhandled.load(Ordering::Relaxed) => panic!("a scoped thread panicked"),
        Ok(value) => value,
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// As in std: a scheduling point; waits for the end of the thread.
    ///
    /// # Errors
    /// The panic of the thread.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.handle.join()
    }

    /// As in std.
    pub fn thread(&self) -> &Thread {
        self.handle.thread()
    }

    /// As in std: a scheduling point.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}
