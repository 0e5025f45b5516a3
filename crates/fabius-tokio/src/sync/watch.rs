//! Channels that have one value, the newest, as `tokio::sync::watch`.

use super::acquire::wake_all;
use super::waiters::{Wait, Waiters};
use crate::monitor::{At, Monitor, Order, State, must_be_inside};
use error::{RecvError, SendError};
use fabius::extend::Left;
use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::panic::Location;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::task::Waker;

struct Versions {
    version: u64,
    senders: usize,
    receivers: usize,
    /// By who was a sender.
    senders_gone: Vec<Left>,
    /// Each time that the last receiver went, for who waited for that.
    closings: Vec<Left>,
    /// Ends that own the value, and by those that have given it up.
    owners: usize,
    given_up: Vec<Left>,
    /// How many borrow the value.
    borrowed: usize,
    /// Whether somebody changes it in place.
    changing: bool,
    waiting: Waiters,
    closing: Waiters,
}

impl State for Versions {}

impl Versions {
    fn is_free(&self) -> bool {
        self.borrowed == 0 && !self.changing
    }

    /// Who finds that there are no senders comes after all who were. That there are no receivers orders nothing: tokio only
    /// counts them.
    fn no_sender_is_there(&self, order: &Order) {
        self.senders_gone.iter().for_each(|left| order.takes(*left));
    }

    /// An end goes, when it has woken whom it wakes. Who is the last drops the value, after all who have used any end.
    fn give_up<T>(&mut self, order: &Order) {
        self.owners -= 1;
        if std::mem::needs_drop::<T>() {
            self.given_up.push(order.leaves());
            if self.owners == 0 {
                self.given_up.iter().for_each(|left| order.takes(*left));
            }
        }
    }

    /// There is another value. Returns whom to wake.
    fn changed(&mut self) -> Vec<Waker> {
        self.version += 1;
        self.waiting.take()
    }
}

struct Shared<T> {
    versions: Monitor<Versions>,
    /// Never waited for: `versions` says who may use it.
    value: RwLock<T>,
}

impl<T> Shared<T> {
    fn value(&self) -> RwLockReadGuard<'_, T> {
        self.value.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn value_mut(&self) -> RwLockWriteGuard<'_, T> {
        self.value.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Borrows the value, which has this version. As behind any such lock, who borrows comes after who has changed the value, and
    /// who changes it after all who have borrowed it.
    fn borrow(&self, at: At) -> (RwLockReadGuard<'_, T>, u64) {
        let version = self.versions.when(
            "borrow",
            at,
            |v| !v.changing,
            |versions, order| {
                order.comes_after();
                versions.borrowed += 1;
                versions.version
            },
        );
        (self.value(), version)
    }

    /// An end goes: `leave` says whom to wake. To give up the value is a step of its own if there is one in between.
    fn drop_end(&self, name: &'static str, at: At, leave: impl FnOnce(&mut Versions, &Order) -> Vec<Waker>) {
        let wake = self.versions.step(name, at, |versions, order| {
            let wake = leave(versions, order);
            if wake.is_empty() {
                versions.give_up::<T>(order);
            }
            wake
        });
        if wake.is_empty() {
            return;
        }
        wake_all(wake);
        match std::mem::needs_drop::<T>() {
            true => self.versions.step("drop the channel", at, |versions, order| versions.give_up::<T>(order)),
            // Nobody can tell.
            false => self.versions.peek(|versions| versions.owners -= 1),
        }
    }

    /// A value in place of the one that is there.
    fn replace(&self, value: T, at: At) -> (T, Vec<Waker>) {
        self.versions.when("send", at, Versions::is_free, |versions, order| {
            order.orders();
            (std::mem::replace(&mut *self.value_mut(), value), versions.changed())
        })
    }
}

/// As in tokio.
pub struct Sender<T>(Arc<Shared<T>>);

/// As in tokio.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    seen: u64,
}

/// As in tokio: who sends waits, with its thread, until it is dropped.
pub struct Ref<'a, T> {
    value: RwLockReadGuard<'a, T>,
    shared: &'a Shared<T>,
    has_changed: bool,
}

/// As in tokio.
#[track_caller]
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let versions = Versions {
        version: 0,
        senders: 1,
        receivers: 1,
        senders_gone: Vec::new(),
        closings: Vec::new(),
        owners: 2,
        given_up: Vec::new(),
        borrowed: 0,
        changing: false,
        waiting: Waiters::new(),
        closing: Waiters::new(),
    };
    let shared = Arc::new(Shared { versions: Monitor::new(versions), value: RwLock::new(init) });
    (Sender(shared.clone()), Receiver { shared, seen: 0 })
}

/// Somebody changes the value in place; dropping it without a change is also the end.
struct Changing<'a, T>(&'a Shared<T>, At);

impl<T> Changing<'_, T> {
    fn ends(self, changed: bool) {
        let (shared, at) = (self.0, self.1);
        std::mem::forget(self);
        wake_all(shared.versions.change("modified", at, |versions| {
            versions.changing = false;
            if changed { versions.changed() } else { Vec::new() }
        }));
    }
}

impl<T> Drop for Changing<'_, T> {
    fn drop(&mut self) {
        self.0.versions.change("modified", self.1, |versions| versions.changing = false);
    }
}

impl<T> Sender<T> {
    /// As in tokio.
    #[track_caller]
    pub fn new(init: T) -> Sender<T> {
        channel(init).0
    }

    /// As in tokio: a scheduling point.
    ///
    /// # Errors
    /// If nobody receives: then the value is not changed.
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let sent = self.0.versions.when(
            "send",
            Location::caller(),
            |versions| versions.receivers == 0 || versions.is_free(),
            |versions, order| {
                if versions.receivers == 0 {
                    return Err(SendError(value));
                }
                order.orders();
                Ok((std::mem::replace(&mut *self.0.value_mut(), value), versions.changed()))
            },
        );
        let (_before, wake) = sent?;
        wake_all(wake);
        Ok(())
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn send_replace(&self, value: T) -> T {
        let (before, wake) = self.0.replace(value, Location::caller());
        wake_all(wake);
        before
    }

    /// As in tokio: a scheduling point before it, and one after.
    #[track_caller]
    pub fn send_modify<F: FnOnce(&mut T)>(&self, modify: F) {
        self.send_if_modified(|value| {
            modify(value);
            true
        });
    }

    /// As in tokio: a scheduling point before it, and one after.
    #[track_caller]
    pub fn send_if_modified<F: FnOnce(&mut T) -> bool>(&self, modify: F) -> bool {
        let at = Location::caller();
        self.0.versions.when("modify", at, Versions::is_free, |versions, order| {
            order.orders();
            versions.changing = true;
        });
        let changing = Changing(&self.0, at);
        let changed = modify(&mut self.0.value_mut());
        changing.ends(changed);
        changed
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        let (value, _) = self.0.borrow(Location::caller());
        Ref { value, shared: &self.0, has_changed: false }
    }

    /// As in tokio: a scheduling point, which orders nothing. It has seen the value that is there.
    #[track_caller]
    pub fn subscribe(&self) -> Receiver<T> {
        must_be_inside();
        let seen = self.0.versions.step("subscribe", Location::caller(), |versions, _| {
            versions.receivers += 1;
            versions.owners += 1;
            versions.version
        });
        Receiver { shared: self.0.clone(), seen }
    }

    /// As in tokio: waits until nobody receives. Who finds that at once comes after nobody; who has waited, after the first who left
    /// nobody behind.
    #[track_caller]
    pub fn closed(&self) -> impl Future<Output = ()> + '_ {
        let mut wait = Wait::new(&self.0.versions, |v| &mut v.closing, "closed", Location::caller());
        let mut waits_for = None;
        poll_fn(move |cx| {
            wait.poll(cx, |versions, order| {
                let closing = waits_for.and_then(|number: usize| versions.closings.get(number));
                closing.into_iter().for_each(|left| order.takes(*left));
                waits_for = Some(versions.closings.len());
                (versions.receivers == 0).then_some(())
            })
        })
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.0.versions.look("is_closed", Location::caller(), |versions| versions.receivers == 0)
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn receiver_count(&self) -> usize {
        self.0.versions.look("receiver_count", Location::caller(), |versions| versions.receivers)
    }

    /// As in tokio.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Waits for a version that was not seen.
fn changed<'a, T>(
    shared: &'a Shared<T>,
    seen: &'a mut u64,
    at: At,
) -> impl Future<Output = Result<(), RecvError>> + use<'a, T> {
    let mut wait = Wait::new(&shared.versions, |versions| &mut versions.waiting, "changed", at);
    poll_fn(move |cx| {
        wait.poll(cx, |versions, order| {
            let is_new = versions.version != *seen;
            match versions.senders {
                _ if is_new => order.comes_after(),
                0 => versions.no_sender_is_there(order),
                _ => return None,
            }
            *seen = versions.version;
            Some(if is_new { Ok(()) } else { Err(RecvError(())) })
        })
    })
}

impl<T> Receiver<T> {
    /// As in tokio: a scheduling point. The value is not taken for seen.
    #[track_caller]
    pub fn borrow(&self) -> Ref<'_, T> {
        let (value, version) = self.shared.borrow(Location::caller());
        Ref { value, shared: &self.shared, has_changed: version != self.seen }
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let (value, version) = self.shared.borrow(Location::caller());
        let has_changed = version != std::mem::replace(&mut self.seen, version);
        Ref { value, shared: &self.shared, has_changed }
    }

    /// As in tokio: a scheduling point.
    ///
    /// # Errors
    /// If nobody sends any more.
    #[track_caller]
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        self.shared.versions.asks("has_changed", Location::caller(), |versions, order| {
            if versions.senders == 0 {
                versions.no_sender_is_there(order);
                return Err(RecvError(()));
            }
            let has_changed = versions.version != self.seen;
            if has_changed {
                order.comes_after();
            }
            Ok(has_changed)
        })
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn is_closed(&self) -> bool {
        self.shared.versions.asks("is_closed", Location::caller(), |versions, order| {
            let is_closed = versions.senders == 0;
            if is_closed {
                versions.no_sender_is_there(order);
            }
            is_closed
        })
    }

    /// As in tokio.
    pub fn mark_changed(&mut self) {
        self.seen = self.seen.wrapping_sub(1);
    }

    /// As in tokio: a scheduling point.
    #[track_caller]
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.versions.look("mark_unchanged", Location::caller(), |versions| versions.version);
    }

    /// As in tokio. It may be cancelled, and no change is lost.
    ///
    /// # Errors
    /// If nobody sends any more, and the last value was seen.
    #[track_caller]
    pub fn changed(&mut self) -> impl Future<Output = Result<(), RecvError>> + '_ {
        changed(&self.shared, &mut self.seen, Location::caller())
    }

    /// As in tokio: the value that is there is looked at first.
    ///
    /// # Errors
    /// If nobody sends any more, and the last value was not it.
    #[track_caller]
    pub fn wait_for<F>(&mut self, mut f: F) -> impl Future<Output = Result<Ref<'_, T>, RecvError>>
    where
        F: FnMut(&T) -> bool,
    {
        let (shared, seen, at) = (&*self.shared, &mut self.seen, Location::caller());
        async move {
            let mut closed = false;
            loop {
                let (value, version) = shared.borrow(at);
                let has_changed = version != std::mem::replace(seen, version);
                let found = Ref { value, shared, has_changed };
                if (!closed || has_changed) && f(&found) {
                    return Ok(found);
                }
                drop(found);
                if closed {
                    return Err(RecvError(()));
                }
                closed = changed(shared, seen, at).await.is_err();
            }
        }
    }

    /// As in tokio.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl<T> Ref<'_, T> {
    /// As in tokio: whether it was not seen before.
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Drop for Ref<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        self.shared.versions.step("drop a borrow", Location::caller(), |versions, order| {
            order.reads();
            versions.borrowed -= 1;
        });
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        // Nobody can tell, because there is a sender.
        self.0.versions.peek(|versions| {
            versions.senders += 1;
            versions.owners += 1;
        });
        Sender(self.0.clone())
    }
}

impl<T> Clone for Receiver<T> {
    #[track_caller]
    fn clone(&self) -> Receiver<T> {
        self.shared.versions.step("clone a receiver", Location::caller(), |versions, _| {
            versions.receivers += 1;
            versions.owners += 1;
        });
        Receiver { shared: self.shared.clone(), seen: self.seen }
    }
}

impl<T> Drop for Sender<T> {
    #[track_caller]
    fn drop(&mut self) {
        self.0.drop_end("drop a sender", Location::caller(), |versions, order| {
            versions.senders_gone.push(order.leaves());
            versions.senders -= 1;
            if versions.senders == 0 { versions.waiting.take() } else { Vec::new() }
        });
    }
}

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        self.shared.drop_end("drop a receiver", Location::caller(), |versions, order| {
            versions.receivers -= 1;
            if versions.receivers > 0 {
                return Vec::new();
            }
            versions.closings.push(order.leaves());
            versions.closing.take()
        });
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// What `tokio::sync::watch::error` has.
pub mod error {
    use std::fmt;

    /// As in tokio: nobody receives.
    #[derive(PartialEq, Eq, Clone, Copy)]
    pub struct SendError<T>(pub T);

    /// As in tokio: nobody sends any more.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RecvError(pub(super) ());

    impl<T> fmt::Debug for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("SendError").finish_non_exhaustive()
        }
    }

    impl<T> fmt::Display for SendError<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }

    impl<T> std::error::Error for SendError<T> {}
    impl std::error::Error for RecvError {}
}
