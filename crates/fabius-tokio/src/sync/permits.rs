//! Permits, and those that wait for some, first come first served: the state behind `Semaphore`, `Mutex`, `RwLock`, and the
//! places of a bounded channel.

use std::collections::VecDeque;
use std::task::Waker;

/// Permits. Nothing here waits.
pub(crate) struct Permits {
    available: usize,
    closed: bool,
    queue: VecDeque<Waiting>,
    /// Who was in the queue when it was closed and has not gone away, and how many permits it did not get.
    dismissed: Vec<(Ticket, usize)>,
    next: u64,
}

/// The place of somebody in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

struct Waiting {
    ticket: Ticket,
    /// How many permits it is still to get.
    missing: usize,
    waker: Waker,
}

/// What came of asking for permits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Got,
    Closed,
    Waits(Ticket),
}

/// The semaphore is closed, or has too few permits now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Closed,
    NoPermits,
}

impl Permits {
    pub const fn new(available: usize) -> Permits {
        Permits { available, closed: false, queue: VecDeque::new(), dismissed: Vec::new(), next: 0 }
    }

    pub fn available(&self) -> usize {
        self.available
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Takes so many at once.
    pub fn try_take(&mut self, count: usize) -> Result<(), Refused> {
        match () {
            () if self.closed => Err(Refused::Closed),
            () if self.available < count => Err(Refused::NoPermits),
            () => {
                self.available -= count;
                Ok(())
            }
        }
    }

    /// Takes so many, or those that there are, and waits for the others behind who waits already.
    pub fn ask(&mut self, count: usize, waker: Waker) -> Asked {
        match self.try_take(count) {
            Ok(()) => Asked::Got,
            Err(Refused::Closed) => Asked::Closed,
            Err(Refused::NoPermits) => {
                let ticket = Ticket(self.next);
                self.next += 1;
                let missing = count - std::mem::take(&mut self.available);
                self.queue.push_back(Waiting { ticket, missing, waker });
                Asked::Waits(ticket)
            }
        }
    }

    /// Asks again; who is not in the queue any more has got all. Returns the waker that is replaced, too.
    pub fn ask_again(&mut self, ticket: Ticket, waker: Waker) -> (Asked, Option<Waker>) {
        if self.closed {
            return (Asked::Closed, Some(waker));
        }
        match self.queue.iter_mut().find(|waiting| waiting.ticket == ticket) {
            None => (Asked::Got, Some(waker)),
            Some(waiting) => (Asked::Waits(ticket), Some(std::mem::replace(&mut waiting.waker, waker))),
        }
    }

    /// Gives back so many: to those that wait, in their order. Returns whom to wake.
    pub fn give(&mut self, mut count: usize) -> Vec<Waker> {
        let mut wake = Vec::new();
        while let Some(first) = self.queue.front_mut() {
            let given = count.min(first.missing);
            count -= given;
            first.missing -= given;
            if first.missing > 0 {
                return wake;
            }
            wake.extend(self.queue.pop_front().map(|waiting| waiting.waker));
        }
        self.available += count;
        wake
    }

    /// Somebody who asked for so many goes away; what it has got goes on to others. Returns its waker as well as whom to wake.
    pub fn leave(&mut self, ticket: Ticket, count: usize) -> (Option<Waker>, Vec<Waker>) {
        let position = self.queue.iter().position(|waiting| waiting.ticket == ticket);
        let left = position.and_then(|position| self.queue.remove(position));
        let dismissed = self.dismissed.iter().position(|(other, _)| *other == ticket);
        let dismissed = dismissed.map(|position| self.dismissed.swap_remove(position).1);
        let missing = left.as_ref().map(|waiting| waiting.missing).or(dismissed).unwrap_or(0);
        (left.map(|waiting| waiting.waker), self.give(count - missing))
    }

    /// Takes up to so many away for ever.
    pub fn forget(&mut self, count: usize) -> usize {
        let forgotten = count.min(self.available);
        self.available -= forgotten;
        forgotten
    }

    /// Nobody gets any more. Returns whom to wake.
    pub fn close(&mut self) -> Vec<Waker> {
        self.closed = true;
        self.dismissed.extend(self.queue.iter().map(|waiting| (waiting.ticket, waiting.missing)));
        self.queue.drain(..).map(|waiting| waiting.waker).collect()
    }

    /// The same permits in an execution that has not begun to wait for them.
    pub fn renew(&mut self, available: usize) {
        *self = Permits::new(available);
    }
}
