//! `Notify`.

use super::acquire::wake_all;
use crate::monitor::{At, Monitor, State, must_be_inside};
use fabius::extend::Left;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Which of those that wait gets the notification.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Take {
    First,
    Last,
}

/// How a notification reached somebody.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// For one: it is not to be lost.
    ToOne(Take),
    ToAll,
}

/// Who is notified comes after who has notified it; a notification comes after nothing.
#[derive(Default)]
struct Notifications {
    /// What `notify_one` has left when nobody waited: one permit, by all that have called it since.
    permit: Vec<Left>,
    /// Calls of `notify_waiters`, for those that have not begun to wait.
    broadcasts: Vec<Left>,
    waiting: VecDeque<(u64, Option<Waker>)>,
    /// Those that a notification has reached and that have not noticed.
    reached: Vec<(u64, Sent, Left)>,
    next: u64,
}

impl State for Notifications {
    fn renew(&mut self) {
        *self = Notifications::default();
    }
}

impl Notifications {
    const fn new() -> Notifications {
        Notifications {
            permit: Vec::new(),
            broadcasts: Vec::new(),
            waiting: VecDeque::new(),
            reached: Vec::new(),
            next: 0,
        }
    }

    /// Returns whom to wake.
    fn notify(&mut self, take: Take, left: Left) -> Option<Waker> {
        let taken = match take {
            Take::First => self.waiting.pop_front(),
            Take::Last => self.waiting.pop_back(),
        };
        match taken {
            None => {
                self.permit.push(left);
                None
            }
            Some((id, waker)) => {
                self.reached.push((id, Sent::ToOne(take), left));
                waker
            }
        }
    }

    /// Whether somebody was reached, who then has noticed.
    fn notices(&mut self, id: u64) -> Option<(Sent, Left)> {
        let position = self.reached.iter().position(|(other, ..)| *other == id)?;
        let (_, sent, left) = self.reached.swap_remove(position);
        Some((sent, left))
    }
}

/// As in tokio.
pub struct Notify(Monitor<Notifications>);

/// As in tokio. Dropping it passes on what `notify_one` gave it.
pub struct Notified<'a> {
    notify: &'a Notify,
    wait: Wait,
}

/// As in tokio.
pub struct OwnedNotified {
    notify: Arc<Notify>,
    wait: Wait,
}

/// How far a wait is.
struct Wait {
    stage: Stage,
    /// How many calls of `notify_waiters` there were before it was made.
    broadcasts: usize,
    at: At,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Made,
    Waits(u64),
    Done,
}

impl Notify {
    /// As in tokio.
    #[track_caller]
    pub const fn new() -> Notify {
        Notify(Monitor::new(Notifications::new()))
    }

    /// As in tokio.
    #[track_caller]
    pub const fn const_new() -> Notify {
        Notify::new()
    }

    fn wait(&self, at: At) -> Wait {
        must_be_inside();
        let broadcasts = self.0.look("notified", at, |state| state.broadcasts.len());
        Wait { stage: Stage::Made, broadcasts, at }
    }

    /// As in tokio: a scheduling point. From here on `notify_waiters` reaches it, and `notify_one` once it was polled or
    /// enabled.
    #[track_caller]
    pub fn notified(&self) -> Notified<'_> {
        Notified { notify: self, wait: self.wait(Location::caller()) }
    }

    /// As in tokio.
    #[track_caller]
    pub fn notified_owned(self: Arc<Self>) -> OwnedNotified {
        let wait = self.wait(Location::caller());
        OwnedNotified { notify: self, wait }
    }

    /// As in tokio: a scheduling point. Wakes who has waited longest, or leaves one permit.
    #[track_caller]
    pub fn notify_one(&self) {
        must_be_inside();
        wake_all(
            self.0.step("notify_one", Location::caller(), |state, order| state.notify(Take::First, order.leaves())),
        );
    }

    /// As in tokio: a scheduling point. Wakes who has begun to wait last, or leaves one permit.
    #[track_caller]
    pub fn notify_last(&self) {
        must_be_inside();
        wake_all(
            self.0.step("notify_last", Location::caller(), |state, order| state.notify(Take::Last, order.leaves())),
        );
    }

    /// As in tokio: a scheduling point. Leaves no permit.
    #[track_caller]
    pub fn notify_waiters(&self) {
        must_be_inside();
        let wake = self.0.step("notify_waiters", Location::caller(), |state, order| {
            let left = order.leaves();
            state.broadcasts.push(left);
            state.reached.extend(state.waiting.iter().map(|(id, _)| (*id, Sent::ToAll, left)));
            state.waiting.drain(..).collect::<Vec<_>>()
        });
        wake_all(wake.into_iter().filter_map(|(_, waker)| waker));
    }
}

impl Wait {
    fn poll(&mut self, notify: &Notify, waker: Option<&Waker>) -> Poll<()> {
        let (stage, broadcasts, waker) = (self.stage, self.broadcasts, waker.cloned());
        let (stage, _before) = match stage {
            Stage::Done => return Poll::Ready(()),
            Stage::Made => notify.0.step("wait for a notification", self.at, |state, order| {
                // The first call since then notified it.
                if let Some(left) = state.broadcasts.get(broadcasts) {
                    order.takes(*left);
                    return (Stage::Done, waker);
                }
                if !state.permit.is_empty() {
                    state.permit.drain(..).for_each(|left| order.takes(left));
                    return (Stage::Done, waker);
                }
                let id = state.next;
                state.next += 1;
                state.waiting.push_back((id, waker));
                (Stage::Waits(id), None)
            }),
            Stage::Waits(id) => notify.0.step("wait for a notification", self.at, |state, order| {
                if let Some((_, left)) = state.notices(id) {
                    order.takes(left);
                    return (Stage::Done, waker);
                }
                let mine = state.waiting.iter_mut().find(|(other, _)| *other == id);
                (stage, mine.zip(waker).and_then(|((_, mine), waker)| mine.replace(waker)))
            }),
        };
        self.stage = stage;
        if stage == Stage::Done { Poll::Ready(()) } else { Poll::Pending }
    }

    fn leave(&self, notify: &Notify) {
        let Stage::Waits(id) = self.stage else { return };
        let (_mine, wake) = notify.0.step("give up waiting", self.at, |state, _| match state.notices(id) {
            Some((Sent::ToOne(take), left)) => (None, state.notify(take, left)),
            Some((Sent::ToAll, _)) => (None, None),
            None => {
                let position = state.waiting.iter().position(|(other, _)| *other == id);
                (position.and_then(|position| state.waiting.remove(position)), None)
            }
        });
        wake_all(wake);
    }
}

impl Notified<'_> {
    /// As in tokio: begins to wait, so that `notify_one` reaches it. Whether it was notified already.
    pub fn enable(mut self: Pin<&mut Self>) -> bool {
        let this = &mut *self;
        this.wait.poll(this.notify, None).is_ready()
    }
}

impl OwnedNotified {
    /// As in tokio.
    pub fn enable(mut self: Pin<&mut Self>) -> bool {
        let this = &mut *self;
        this.wait.poll(&this.notify, None).is_ready()
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.wait.poll(this.notify, Some(cx.waker()))
    }
}

impl Future for OwnedNotified {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.wait.poll(&this.notify, Some(cx.waker()))
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        self.wait.leave(self.notify);
    }
}

impl Drop for OwnedNotified {
    fn drop(&mut self) {
        self.wait.leave(&self.notify);
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Notify {
        Notify::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify").finish_non_exhaustive()
    }
}

impl fmt::Debug for Notified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notified").finish_non_exhaustive()
    }
}

impl fmt::Debug for OwnedNotified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedNotified").finish_non_exhaustive()
    }
}
