//! What a thread is about to do at a scheduling point.

use super::Rt;
use fabius_explore::system::with_history;
use std::panic::Location;
use std::time::Duration;

/// Whether an operation can be done now: of the object that it is done to, and the thread.
pub(crate) type Ready = unsafe fn(*const (), &Rt, usize) -> bool;

/// Whether an operation that may change its object would not do so now.
pub(crate) type Fails = unsafe fn(*const (), &Rt) -> bool;

/// A thread that holds a lock, or [`super::ELSEWHERE`], and where it took it.
pub(crate) type Holder = (usize, &'static Location<'static>);

/// Who holds a lock.
pub(crate) type Holders = unsafe fn(*const (), &Rt) -> Vec<Holder>;

/// What an operation orders, besides the steps of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edges {
    /// All that touches the same variable.
    All,
    /// What is said when it is done.
    Itself,
    /// The same; which store of an atomic it finds is said, too.
    Found,
}

/// An operation that a thread has announced. It is done when the scheduler picks the thread.
///
/// In this order, because the two variables are read soon after they were written, and a processor waits if it finds them in one read
/// that were two writes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Op {
    /// The variable that it accesses; [`Op::NOTHING`] if none.
    pub variable: u64,
    /// When it can be done; `None`: always. The object outlives the operation, because the thread borrows it.
    pub ready: Option<(Ready, *const ())>,
    /// A second variable that it changes; [`Op::NOTHING`] if none.
    pub other: u64,
    /// When it would not, as a compare-and-exchange that finds another value; `None`: it always does. What is looked at
    /// outlives the operation, because the thread borrows it.
    pub fails: Option<(Fails, *const ())>,
    /// The operation's name for people, for instance `lock`.
    pub name: &'static str,
    /// Where in the source.
    pub at: &'static Location<'static>,
    /// For a lock: who has it.
    pub holders: Option<Holders>,
    /// The thread whose end it waits for, and for nothing else.
    pub joins: Option<usize>,
    /// When it gives up waiting, in virtual time.
    pub deadline: Option<Duration>,
    /// Whether it may change the variable.
    pub write: bool,
    /// Whether what others do to something that neither it nor the step before accesses decides if it can be done.
    pub waits_for_more: bool,
    /// Whether it orders what touches the same variable, or says itself what it orders.
    pub edges: Edges,
}

impl Op {
    /// Stands for no variable.
    pub const NOTHING: u64 = u64::MAX;

    /// Reads an object.
    #[inline(always)]
    pub fn read(name: &'static str, object: u32, at: &'static Location<'static>) -> Op {
        Op { variable: object.into(), ..Op::local(name, at) }
    }

    /// Changes an object.
    #[inline(always)]
    pub fn write(name: &'static str, object: u32, at: &'static Location<'static>) -> Op {
        Op { write: true, ..Op::read(name, object, at) }
    }

    /// Touches nothing that others see.
    #[inline(always)]
    pub fn local(name: &'static str, at: &'static Location<'static>) -> Op {
        let (variable, other, write) = (Op::NOTHING, Op::NOTHING, false);
        let edges = Edges::All;
        let (fails, ready, holders, joins, deadline) = (None, None, None, None, None);
        let waits_for_more = false;
        Op { name, variable, other, write, fails, ready, waits_for_more, holders, joins, deadline, edges, at }
    }

    /// Whether it accesses one variable, whenever that may be, and it is known whether it changes that.
    #[inline(always)]
    pub fn is_plain_access(&self) -> bool {
        let is_free = self.ready.is_none() && self.joins.is_none() && self.deadline.is_none();
        is_free && self.fails.is_none() && self.variable != Op::NOTHING
    }

    /// The same, which changes a second object as well.
    #[inline(always)]
    pub fn and(self, object: u32) -> Op {
        Op { other: object.into(), ..self }
    }

    /// The same, which says itself what it orders.
    #[inline(always)]
    pub fn ordered(self) -> Op {
        Op { edges: Edges::Itself, ..self }
    }

    /// The same, of an atomic.
    #[inline(always)]
    pub fn of_atomic(self) -> Op {
        Op { edges: Edges::Found, ..self }
    }

    /// The variable, as the explorer knows it.
    #[inline(always)]
    pub fn accesses(&self, rt: &Rt) -> u64 {
        if self.edges == Edges::Found && rt.settings.has_histories() {
            with_history(self.variable)
        } else {
            self.variable
        }
    }

    /// The same, but only when this holds of the object.
    #[inline(always)]
    pub fn when<T>(self, object: &T, ready: Ready) -> Op {
        Op { ready: Some((ready, std::ptr::from_ref(object).cast())), ..self }
    }

    /// The same, but more than what is accessed decides whether it can be done.
    #[inline(always)]
    pub fn waits_for_more(self) -> Op {
        Op { waits_for_more: true, ..self }
    }

    /// The same, but it changes nothing while this holds of `what`.
    #[inline(always)]
    pub fn unless<T>(self, what: &T, fails: Fails) -> Op {
        Op { fails: Some((fails, std::ptr::from_ref(what).cast())), ..self }
    }

    /// Whether it would change the variable now: what fails is a read.
    #[inline]
    pub fn changes(&self, rt: &Rt) -> bool {
        // SAFETY: what is looked at outlives the operation, and is of the type that the function was made for.
        // Whether it writes cannot be foretold, so that nothing is done instead.
        self.fails.map_or(self.write, |(fails, what)| self.write && !unsafe { fails(what, rt) })
    }

    /// The same, where the object is a lock.
    #[inline(always)]
    pub fn held_by(self, holders: Holders) -> Op {
        Op { holders: Some(holders), ..self }
    }

    /// The same, but no longer than until then.
    #[inline(always)]
    pub fn until(self, deadline: Option<Duration>) -> Op {
        Op { deadline, ..self }
    }
}
