//! The lock below [`crate::RwLock`].
//!
//! As in parking_lot, who wants to write first becomes the writer, which keeps new readers out, and then waits for those that
//! are there. So a thread that reads twice can wait for ever, and the check says so.

use crate::GuardMarker;
use fabius::extend::{self, Holding, Left, Resource, State};
use fabius::time::Instant;
use lock_api::{RawRwLock as _, RawRwLockUpgrade as _};
use std::panic::Location;
use std::time::Duration;

/// As in parking_lot.
pub struct RawRwLock {
    inside: Resource<Held>,
    outside: parking_lot::RawRwLock,
}

/// Who has it inside of an execution.
#[derive(Default)]
struct Held {
    readers: Vec<Holding>,
    upgradable: Option<Holding>,
    /// Keeps others out, but for the readers that are there, for which it waits.
    writer: Option<Holding>,
    /// By the last one that was upgradable.
    left: Option<Left>,
}

impl State for Held {
    fn holders(&self) -> Vec<Holding> {
        self.writer.iter().chain(&self.upgradable).chain(&self.readers).copied().collect()
    }
}

impl Held {
    /// A reader, an upgradable one and a writer exclude one another like this.
    fn admits(&self, what: Kind) -> bool {
        match what {
            Kind::Reader => self.writer.is_none(),
            Kind::ReaderAgain => self.writer.is_none() || !self.readers.is_empty() || self.upgradable.is_some(),
            Kind::Upgradable | Kind::Writer => self.writer.is_none() && self.upgradable.is_none(),
        }
    }

    fn add(&mut self, what: Kind, holding: Holding) {
        match what {
            Kind::Reader | Kind::ReaderAgain => self.readers.push(holding),
            Kind::Upgradable => self.upgradable = Some(holding),
            Kind::Writer => self.writer = Some(holding),
        }
    }
}

/// What a thread wants to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reader,
    /// A reader that may be one already.
    ReaderAgain,
    Upgradable,
    Writer,
}

type At = &'static Location<'static>;

impl RawRwLock {
    /// Whether those outside of executions leave room for it.
    fn outside_admits(&self, what: Kind) -> bool {
        match what {
            Kind::Reader | Kind::ReaderAgain => !self.outside.is_locked_exclusive(),
            Kind::Upgradable | Kind::Writer => !self.outside.is_locked(),
        }
    }

    /// Waits to be that; whether it was before time was up.
    fn become_until(&self, name: &'static str, what: Kind, until: Option<Instant>, at: At) -> bool {
        let holding = (extend::me(), at);
        let ready = |held: &Held| held.admits(what) && self.outside_admits(what);
        let add = |held: &mut Held| {
            held.add(what, holding);
            let is_there = what != Kind::Writer || held.readers.is_empty();
            if is_there {
                self.begins(what, held);
            }
            is_there
        };
        let Some(is_there) = self.inside.when(name, at, ready, until, add) else { return false };
        if !is_there && !self.readers_leave(until, at) {
            self.inside.change("time is up", at, |held| held.writer = None);
            return false;
        }
        extend::holds();
        true
    }

    /// Who reads comes after who has written, who writes after all, and who may become the writer after who might before him.
    fn begins(&self, what: Kind, held: &Held) {
        match what {
            Kind::Writer => self.inside.orders(),
            Kind::Reader | Kind::ReaderAgain => self.inside.reads(),
            Kind::Upgradable => {
                self.inside.reads();
                held.left.into_iter().for_each(|left| self.inside.takes(left));
            }
        }
    }

    /// Who reads, and perhaps is upgradable, reads no more, or is not upgradable any more.
    fn ends(&self, what: Kind, held: &mut Held) {
        self.inside.reads();
        if what == Kind::Upgradable {
            held.left = Some(self.inside.leaves());
        }
    }

    /// The writer waits for the readers that are there.
    fn readers_leave(&self, until: Option<Instant>, at: At) -> bool {
        self.inside.when("readers leave", at, |held| held.readers.is_empty(), until, |_| self.inside.orders()).is_some()
    }

    fn try_become(&self, name: &'static str, what: Kind, at: At) -> bool {
        let holding = (extend::me(), at);
        let taken = self.inside.attempt(name, at, |held| {
            let is_free = held.admits(what) && (what != Kind::Writer || held.readers.is_empty());
            (is_free && self.outside_admits(what)).then(|| {
                held.add(what, holding);
                self.begins(what, held);
            })
        });
        if taken.is_some() {
            extend::holds();
        }
        taken.is_some()
    }

    /// Something of a guard that was taken inside; `None` if it was taken outside.
    fn of_inside(&self, find: impl FnOnce(&Held) -> Option<Holding>) -> Option<Holding> {
        if extend::is_inside() { self.inside.peek(find).flatten() } else { None }
    }

    fn give_back(&self, name: &'static str, at: At, change: impl FnOnce(&mut Held)) {
        self.inside.change(name, at, change);
        extend::gives_back();
    }

    /// The guard of a reader that the thread gives back: its own, or one that it was sent.
    fn reader(&self) -> Option<Holding> {
        self.of_inside(|held| {
            let me = extend::me();
            let own = held.readers.iter().rfind(|(thread, _)| *thread == me);
            own.or_else(|| held.readers.last().filter(|_| !self.outside.is_locked())).copied()
        })
    }
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

fn end_of(limit: Duration) -> Option<Instant> {
    Instant::now().checked_add(limit)
}

/// Takes the lock inside of an execution or outside.
macro_rules! either {
    ($self:ident, $inside:expr, $outside:expr) => {
        if extend::is_inside() {
            $inside
        } else {
            $self.inside.outside();
            $outside
        }
    };
}

// SAFETY: inside of an execution `Held` admits readers or one writer, where those outside leave room; outside it is
// parking_lot's. `Resource` keeps threads of the operating system away from what an execution uses.
unsafe impl lock_api::RawRwLock for RawRwLock {
    #[allow(clippy::declare_interior_mutable_const, reason = "lock_api's way to make one")]
    const INIT: RawRwLock = RawRwLock {
        inside: Resource::unordered(Held { readers: Vec::new(), upgradable: None, writer: None, left: None }),
        outside: <parking_lot::RawRwLock as lock_api::RawRwLock>::INIT,
    };

    type GuardMarker = GuardMarker;

    #[track_caller]
    fn lock_shared(&self) {
        let at = Location::caller();
        either!(
            self,
            {
                let _taken = self.become_until("read", Kind::Reader, None, at);
            },
            self.outside.lock_shared()
        );
    }

    #[track_caller]
    fn try_lock_shared(&self) -> bool {
        either!(self, self.try_become("try_read", Kind::Reader, Location::caller()), self.outside.try_lock_shared())
    }

    unsafe fn unlock_shared(&self) {
        let Some(reader) = self.reader() else {
            // SAFETY: the caller has the lock, and did not take it inside.
            return unsafe { self.outside.unlock_shared() };
        };
        self.give_back("unlock_read", reader.1, |held| {
            held.readers.iter().position(|r| *r == reader).map(|r| held.readers.remove(r));
            self.ends(Kind::Reader, held);
        });
    }

    #[track_caller]
    fn lock_exclusive(&self) {
        let at = Location::caller();
        either!(
            self,
            {
                let _taken = self.become_until("write", Kind::Writer, None, at);
            },
            self.outside.lock_exclusive()
        );
    }

    #[track_caller]
    fn try_lock_exclusive(&self) -> bool {
        either!(self, self.try_become("try_write", Kind::Writer, Location::caller()), self.outside.try_lock_exclusive())
    }

    unsafe fn unlock_exclusive(&self) {
        match self.of_inside(|held| held.writer) {
            Some((_, at)) => self.give_back("unlock_write", at, |held| {
                self.inside.orders();
                held.writer = None;
            }),
            // SAFETY: as above.
            None => unsafe { self.outside.unlock_exclusive() },
        }
    }

    #[track_caller]
    fn is_locked(&self) -> bool {
        let held = |held: &Held| !held.holders().is_empty();
        extend::is_inside() && self.inside.look("is_locked", Location::caller(), held) == Some(true)
            || self.outside.is_locked()
    }

    #[track_caller]
    fn is_locked_exclusive(&self) -> bool {
        let held = |held: &Held| held.writer.is_some();
        extend::is_inside() && self.inside.look("is_locked_exclusive", Location::caller(), held) == Some(true)
            || self.outside.is_locked_exclusive()
    }
}

// SAFETY: it is released as by the functions that are not fair; who is next is for the search to say.
unsafe impl lock_api::RawRwLockFair for RawRwLock {
    unsafe fn unlock_shared_fair(&self) {
        // SAFETY: the caller's.
        unsafe { self.unlock_shared() }
    }

    unsafe fn unlock_exclusive_fair(&self) {
        // SAFETY: the caller's.
        unsafe { self.unlock_exclusive() }
    }
}

// SAFETY: the writer becomes a reader in one step.
unsafe impl lock_api::RawRwLockDowngrade for RawRwLock {
    unsafe fn downgrade(&self) {
        match self.of_inside(|held| held.writer) {
            Some(writer) => self.give_back("downgrade", writer.1, |held| {
                self.inside.orders();
                held.writer = None;
                held.readers.push(writer);
            }),
            // SAFETY: the caller has the lock, and did not take it inside.
            None => unsafe { self.outside.downgrade() },
        }
    }
}

// SAFETY: `true` is returned only where the lock was taken.
unsafe impl lock_api::RawRwLockTimed for RawRwLock {
    type Duration = Duration;
    type Instant = Instant;

    #[track_caller]
    fn try_lock_shared_for(&self, limit: Duration) -> bool {
        let at = Location::caller();
        either!(
            self,
            self.become_until("try_read_for", Kind::Reader, end_of(limit), at),
            self.outside.try_lock_shared_for(limit)
        )
    }

    #[track_caller]
    fn try_lock_shared_until(&self, until: Instant) -> bool {
        self.try_lock_shared_for(left(until))
    }

    #[track_caller]
    fn try_lock_exclusive_for(&self, limit: Duration) -> bool {
        let at = Location::caller();
        either!(
            self,
            self.become_until("try_write_for", Kind::Writer, end_of(limit), at),
            self.outside.try_lock_exclusive_for(limit)
        )
    }

    #[track_caller]
    fn try_lock_exclusive_until(&self, until: Instant) -> bool {
        self.try_lock_exclusive_for(left(until))
    }
}

// SAFETY: a reader is added only where there is no writer, or where readers keep it waiting.
unsafe impl lock_api::RawRwLockRecursive for RawRwLock {
    #[track_caller]
    fn lock_shared_recursive(&self) {
        let at = Location::caller();
        either!(
            self,
            {
                let _taken = self.become_until("read_recursive", Kind::ReaderAgain, None, at);
            },
            lock_api::RawRwLockRecursive::lock_shared_recursive(&self.outside)
        );
    }

    #[track_caller]
    fn try_lock_shared_recursive(&self) -> bool {
        let at = Location::caller();
        either!(
            self,
            self.try_become("try_read_recursive", Kind::ReaderAgain, at),
            lock_api::RawRwLockRecursive::try_lock_shared_recursive(&self.outside)
        )
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockRecursiveTimed for RawRwLock {
    #[track_caller]
    fn try_lock_shared_recursive_for(&self, limit: Duration) -> bool {
        let at = Location::caller();
        either!(
            self,
            self.become_until("try_read_recursive_for", Kind::ReaderAgain, end_of(limit), at),
            lock_api::RawRwLockRecursiveTimed::try_lock_shared_recursive_for(&self.outside, limit)
        )
    }

    #[track_caller]
    fn try_lock_shared_recursive_until(&self, until: Instant) -> bool {
        self.try_lock_shared_recursive_for(left(until))
    }
}

// SAFETY: an upgradable reader excludes others of its kind and writers; it becomes a writer in one step, and then waits for the
// readers.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLock {
    #[track_caller]
    fn lock_upgradable(&self) {
        let at = Location::caller();
        either!(
            self,
            {
                let _taken = self.become_until("upgradable_read", Kind::Upgradable, None, at);
            },
            self.outside.lock_upgradable()
        );
    }

    #[track_caller]
    fn try_lock_upgradable(&self) -> bool {
        let at = Location::caller();
        either!(self, self.try_become("try_upgradable_read", Kind::Upgradable, at), self.outside.try_lock_upgradable())
    }

    unsafe fn unlock_upgradable(&self) {
        match self.of_inside(|held| held.upgradable) {
            Some((_, at)) => self.give_back("unlock_upgradable", at, |held| {
                self.ends(Kind::Upgradable, held);
                held.upgradable = None;
            }),
            // SAFETY: the caller has the lock, and did not take it inside.
            None => unsafe { self.outside.unlock_upgradable() },
        }
    }

    #[track_caller]
    unsafe fn upgrade(&self) {
        if self.of_inside(|held| held.upgradable).is_some() {
            self.upgrade_until(None, Location::caller());
        } else {
            // SAFETY: as above.
            unsafe { self.outside.upgrade() };
        }
    }

    #[track_caller]
    unsafe fn try_upgrade(&self) -> bool {
        if self.of_inside(|held| held.upgradable).is_none() {
            // SAFETY: as above.
            return unsafe { self.outside.try_upgrade() };
        }
        let upgraded = self.inside.attempt("try_upgrade", Location::caller(), |held| {
            held.readers.is_empty().then(|| {
                self.inside.orders();
                held.writer = held.upgradable.take();
            })
        });
        upgraded.is_some()
    }
}

impl RawRwLock {
    /// The upgradable reader becomes the writer; it stays what it is if time is up.
    fn upgrade_until(&self, until: Option<Instant>, at: At) -> bool {
        let upgrade = |held: &mut Held| {
            held.writer = held.upgradable.take();
            let is_there = held.readers.is_empty();
            if is_there {
                self.inside.orders();
            }
            is_there
        };
        let is_there = self.inside.change("upgrade", at, upgrade) == Some(true);
        if is_there || self.readers_leave(until, at) {
            return true;
        }
        self.inside.change("time is up", at, |held| held.upgradable = held.writer.take());
        false
    }
}

// SAFETY: as above.
unsafe impl lock_api::RawRwLockUpgradeFair for RawRwLock {
    unsafe fn unlock_upgradable_fair(&self) {
        // SAFETY: the caller's.
        unsafe { self.unlock_upgradable() }
    }
}

// SAFETY: each becomes the other in one step.
unsafe impl lock_api::RawRwLockUpgradeDowngrade for RawRwLock {
    unsafe fn downgrade_upgradable(&self) {
        match self.of_inside(|held| held.upgradable) {
            Some((_, at)) => self.give_back("downgrade", at, |held| {
                self.ends(Kind::Upgradable, held);
                held.readers.extend(held.upgradable.take());
            }),
            // SAFETY: the caller has the lock, and did not take it inside.
            None => unsafe { lock_api::RawRwLockUpgradeDowngrade::downgrade_upgradable(&self.outside) },
        }
    }

    unsafe fn downgrade_to_upgradable(&self) {
        match self.of_inside(|held| held.writer) {
            Some((_, at)) => self.give_back("downgrade", at, |held| {
                self.inside.orders();
                held.upgradable = held.writer.take();
            }),
            // SAFETY: as above.
            None => unsafe { lock_api::RawRwLockUpgradeDowngrade::downgrade_to_upgradable(&self.outside) },
        }
    }
}

// SAFETY: `true` is returned only where the lock was taken.
unsafe impl lock_api::RawRwLockUpgradeTimed for RawRwLock {
    #[track_caller]
    fn try_lock_upgradable_for(&self, limit: Duration) -> bool {
        let at = Location::caller();
        either!(
            self,
            self.become_until("try_upgradable_read_for", Kind::Upgradable, end_of(limit), at),
            self.outside.try_lock_upgradable_for(limit)
        )
    }

    #[track_caller]
    fn try_lock_upgradable_until(&self, until: Instant) -> bool {
        self.try_lock_upgradable_for(left(until))
    }

    #[track_caller]
    unsafe fn try_upgrade_for(&self, limit: Duration) -> bool {
        if self.of_inside(|held| held.upgradable).is_some() {
            self.upgrade_until(end_of(limit), Location::caller())
        } else {
            // SAFETY: the caller has the lock, and did not take it inside.
            unsafe { self.outside.try_upgrade_for(limit) }
        }
    }

    #[track_caller]
    unsafe fn try_upgrade_until(&self, until: Instant) -> bool {
        // SAFETY: the caller's.
        unsafe { self.try_upgrade_for(left(until)) }
    }
}
