//! What crates need that offer the interface of another library on top of this one: a resource that threads of an execution
//! use, with state that begins anew in every execution.
//!
//! Not for tests, and not stable: it changes whenever they need it to.

pub use crate::guarded::{Guard, Guarded};
use crate::rt::{self, Edges, Holder, Inside, Op, Refine, Renew, Rt};
pub use crate::rt::{Change, Left};
use crate::sync::Finally;
use crate::time::Instant;
use std::panic::Location;

/// What goes through a channel.
pub mod channel {
    pub use crate::channel::{Channel, Operation, Place, Slot, Taken, Token};
}

/// Who has something, and where it was taken.
pub type Holding = (usize, &'static Location<'static>);

/// The state of a resource.
pub trait State: Default + Send + 'static {
    /// Whom a thread waits for that cannot have it, for people.
    fn holders(&self) -> Vec<Holding> {
        Vec::new()
    }
}

#[derive(Default)]
struct Renewed<S>(S);

impl<S: State> Renew for Renewed<S> {
    fn renew(&mut self) {
        *self = Renewed::default();
    }
}

/// A resource. What is done to it is a scheduling point, and orders what is done to it before and after. If it is made by
/// [`Resource::unordered`], who changes it says what that orders.
pub struct Resource<S: State>(Inside<Renewed<S>>, Edges);

/// What a thread waits for: this of the state.
struct Wanted<'a, S: State, F> {
    resource: &'a Resource<S>,
    ready: F,
}

unsafe fn is_ready<S: State, F: Fn(&S) -> bool>(wanted: *const (), rt: &Rt, _: usize) -> bool {
    // SAFETY: it is only used with a `Wanted` of these types, on the stack of the thread that waits.
    let wanted = unsafe { &*wanted.cast::<Wanted<'_, S, F>>() };
    wanted.resource.0.peek(rt, |state| (wanted.ready)(&state.0)).unwrap_or(false)
}

unsafe fn holders<S: State, F>(wanted: *const (), rt: &Rt) -> Vec<Holder> {
    // SAFETY: as above.
    let wanted = unsafe { &*wanted.cast::<Wanted<'_, S, F>>() };
    wanted.resource.0.peek(rt, |state| state.0.holders()).unwrap_or_default()
}

/// Whether the caller is part of an execution.
#[inline]
pub fn is_inside() -> bool {
    !rt::current().is_null()
}

/// Whether the execution only runs to its end so that what it owns is dropped, because what follows is explored elsewhere or costs
/// more than the bound allows: what is collected here is not what the search has come to.
pub fn is_cut() -> bool {
    rt::with(|rt| rt.hurries) == Some(true)
}

/// The number of the thread, inside of an execution.
#[inline]
pub fn me() -> usize {
    rt::must(|rt| rt.current)
}

/// Runs the body of a task, and catches its panic. What unwinds the stack because the execution is given up goes on.
///
/// # Errors
/// The panic, which counts as that of a thread.
pub fn catch<T>(body: impl FnOnce() -> T) -> std::thread::Result<T> {
    rt::catch_all(body).map_err(|payload| {
        if rt::is_abandoned(payload.as_ref()) {
            std::panic::resume_unwind(payload);
        }
        rt::note_panic(payload.as_ref());
        payload
    })
}

/// The running task leaves something, and somebody may see who drops it. From then on to drop its handle is an operation.
pub fn leaves_a_result() {
    rt::observe(Refine::RESULTS);
}

/// Whether there are such.
pub fn results_matter() -> bool {
    rt::with(|rt| rt.settings.refine.contains(Refine::RESULTS)) == Some(true)
}

/// Whether somebody may see who drops the payload of a panic: a message does not tell.
pub fn tells(payload: &(dyn std::any::Any + Send)) -> bool {
    !payload.is::<&'static str>() && !payload.is::<String>()
}

/// Who of so many at a barrier is told apart, by when it has come; the last one, unless the test looks at that.
pub fn who_leads(count: usize) -> usize {
    rt::who_leads(count)
}

/// The test looks at who is told apart.
pub fn asks_who_leads() {
    rt::observe(Refine::LEADERS);
}

/// One of so many alternatives, decided by the search.
pub fn choose(alternatives: usize) -> usize {
    rt::choose(u32::try_from(alternatives).unwrap_or(u32::MAX)) as usize
}

/// The thread has taken something that others wait for.
pub fn holds() {
    rt::holds();
}

/// It has given that back.
pub fn gives_back() {
    rt::gives_back();
}

/// The operation that was just done has changed nothing.
pub fn unchanged() {
    rt::unchanged();
}

/// The operation that was just done has put the current thread into a list, and changed nothing else.
pub fn lists() {
    rt::lists();
}

/// What the operation that was just done has changed.
pub fn last_change() -> Change {
    rt::last_change()
}

/// The operation that was just done has undone this change, and so has whatever was done in between.
pub fn undoes(change: &Change) {
    rt::undoes(change);
}

impl<S: State> Resource<S> {
    /// A resource whose state outside of executions is this.
    #[track_caller]
    pub const fn new(state: S) -> Resource<S> {
        Resource(Inside::new(Renewed(state)), Edges::All)
    }

    /// One whose operations order nothing by themselves.
    #[track_caller]
    pub const fn unordered(state: S) -> Resource<S> {
        Resource(Inside::new(Renewed(state)), Edges::Itself)
    }

    /// The operation that was just done, on another resource, comes between those on this one.
    pub fn orders(&self) {
        rt::comes_between(self.0.id());
    }

    /// The operation that was just done comes after those that come before others on this one, and before none.
    pub fn comes_after(&self) {
        rt::comes_after(self.0.id());
    }

    /// The operation that was just done comes after those as well, and before the next that comes between all.
    pub fn reads(&self) {
        rt::reads(self.0.id());
    }

    /// It comes before those on this one that come after others, and after none.
    pub fn comes_before(&self) {
        rt::comes_before(self.0.id());
    }

    /// The operation that was just done leaves something here, which one that comes gets.
    pub fn leaves(&self) -> Left {
        rt::leaves(&self.0.object)
    }

    /// It gets that, and comes after who has left it.
    pub fn takes(&self, left: Left) {
        rt::takes(&self.0.object, left);
    }

    fn is_changed(&self) {
        if self.1 == Edges::All {
            self.orders();
        }
    }

    fn write(&self, name: &'static str, at: &'static Location<'static>) -> Op {
        Op { edges: self.1, ..Op::write(name, self.0.id(), at) }
    }

    /// Something is done outside of an execution.
    ///
    /// # Panics
    /// If a check on another operating system thread has it.
    pub fn outside(&self) {
        self.0.object.outside();
    }

    /// Waits until this holds of the state, and changes it; `None` if time is up. Inside of an execution. The search asks
    /// `ready`, at no time and as no thread: only what was read before may depend on those.
    pub fn when<R>(
        &self,
        name: &'static str,
        at: &'static Location<'static>,
        ready: impl Fn(&S) -> bool,
        until: Option<Instant>,
        change: impl FnOnce(&mut S) -> R,
    ) -> Option<R> {
        let wanted = Wanted { resource: self, ready };
        // Who gives up waiting comes after nobody.
        let op = Op::write(name, self.0.id(), at).ordered().until(until.map(Instant::since_the_beginning));
        if rt::point(ready_of(op, &wanted)) {
            rt::unchanged();
            return None;
        }
        self.is_changed();
        self.0.with(|state| change(&mut state.0))
    }

    /// Changes the state, whatever it is, also if the stack is unwound. Inside of an execution.
    pub fn change<R>(
        &self,
        name: &'static str,
        at: &'static Location<'static>,
        change: impl FnOnce(&mut S) -> R,
    ) -> Option<R> {
        let (mut change, mut result) = (Some(change), None);
        {
            let _changed = Finally(|| {
                result = change.take().and_then(|change| self.0.with(|state| change(&mut state.0)));
            });
            rt::point(self.write(name, at));
        }
        result
    }

    /// Tries to change the state; `None`, which orders nothing, if it does not. Inside of an execution.
    pub fn attempt<R>(
        &self,
        name: &'static str,
        at: &'static Location<'static>,
        change: impl FnOnce(&mut S) -> Option<R>,
    ) -> Option<R> {
        rt::point(Op::write(name, self.0.id(), at).ordered());
        let result = self.0.with(|state| change(&mut state.0)).flatten();
        rt::note(|| if result.is_some() { "taken" } else { "not to be had" }.into());
        match result {
            Some(_) => self.is_changed(),
            None => rt::unchanged(),
        }
        result
    }

    /// Tries to change the state, and says what it finds if it does not; that orders nothing. Inside of an execution.
    ///
    /// # Errors
    /// What `change` finds.
    pub fn tries<R, E>(
        &self,
        name: &'static str,
        at: &'static Location<'static>,
        change: impl FnOnce(&mut S) -> Result<R, E>,
    ) -> Option<Result<R, E>> {
        rt::point(Op::write(name, self.0.id(), at).ordered());
        let result = self.0.with(|state| change(&mut state.0));
        match result {
            Some(Ok(_)) => self.is_changed(),
            _ => rt::unchanged(),
        }
        result
    }

    /// Asks whether something has come to pass, which comes after that if it has, and else orders nothing. Inside of an
    /// execution.
    pub fn asks(
        &self,
        name: &'static str,
        at: &'static Location<'static>,
        ask: impl FnOnce(&S) -> bool,
    ) -> Option<bool> {
        let has_come = self.look(name, at, ask);
        if has_come == Some(true) {
            self.comes_after();
        }
        has_come
    }

    /// Looks at the state, which orders nothing. Inside of an execution.
    pub fn look<R>(&self, name: &'static str, at: &'static Location<'static>, look: impl FnOnce(&S) -> R) -> Option<R> {
        rt::point(Op::read(name, self.0.id(), at).ordered());
        self.0.with(|state| look(&state.0))
    }

    /// The state without a scheduling point, for what nobody can tell.
    pub fn peek<R>(&self, look: impl FnOnce(&S) -> R) -> Option<R> {
        self.0.with(|state| look(&state.0))
    }
}

fn ready_of<S: State, F: Fn(&S) -> bool>(op: Op, wanted: &Wanted<'_, S, F>) -> Op {
    op.when(wanted, is_ready::<S, F>).held_by(holders::<S, F>)
}
