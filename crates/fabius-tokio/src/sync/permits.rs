//! Permits, and those that wait for some, first come first served: the state behind `Semaphore`, `Mutex`, `RwLock`, and the
//! places of a bounded channel.

use crate::monitor::Order;
use fabius::extend::Left;
use std::collections::VecDeque;
use std::task::Waker;

/// So many permits, and what who gave them back has left with them: who gets them comes after that, and after nobody else.
type Pile = (usize, Option<Left>);

/// Permits. Nothing here waits. Those that were given back first are given away first, behind those that nobody has had.
pub(crate) struct Permits {
    unused: usize,
    free: VecDeque<Pile>,
    closed: bool,
    queue: VecDeque<Waiting>,
    /// Who has got all that was asked for and has not noticed, and who was in the queue when it was closed and has not gone away.
    settled: Vec<(Ticket, Vec<Pile>)>,
    next: u64,
}

/// The place of somebody in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket(u64);

struct Waiting {
    ticket: Ticket,
    /// How many permits it is still to get, and what it has got.
    missing: usize,
    got: Vec<Pile>,
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
        Permits {
            unused: available,
            free: VecDeque::new(),
            closed: false,
            queue: VecDeque::new(),
            settled: Vec::new(),
            next: 0,
        }
    }

    pub fn available(&self) -> usize {
        self.unused + self.free.iter().map(|(count, _)| count).sum::<usize>()
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Asks that as an operation of its own.
    pub fn finds_closed(&self, order: &Order) -> bool {
        if self.closed {
            order.comes_after();
        }
        self.closed
    }

    /// Who finds that all of them are back comes after who has given them back.
    pub fn are_back(&self, order: &Order) {
        self.free.iter().filter_map(|(_, left)| *left).for_each(|left| order.takes(left));
    }

    /// Takes up to so many away.
    fn take(&mut self, mut count: usize) -> Vec<Pile> {
        let mut taken = Vec::new();
        if self.unused > 0 && count > 0 {
            let some = count.min(self.unused);
            (self.unused, count) = (self.unused - some, count - some);
            taken.push((some, None));
        }
        while let Some(first) = self.free.front_mut().filter(|_| count > 0) {
            let some = count.min(first.0);
            (first.0, count) = (first.0 - some, count - some);
            taken.push((some, first.1));
            if first.0 == 0 {
                self.free.pop_front();
            }
        }
        taken
    }

    /// Takes so many at once.
    pub fn try_take(&mut self, count: usize, order: &Order) -> Result<(), Refused> {
        if self.finds_closed(order) {
            return Err(Refused::Closed);
        }
        if self.available() < count {
            return Err(Refused::NoPermits);
        }
        gets(&self.take(count), order);
        Ok(())
    }

    /// Takes so many, or those that there are, and waits for the others behind who waits already.
    pub fn ask(&mut self, count: usize, waker: Waker, order: &Order) -> Asked {
        match self.try_take(count, order) {
            Ok(()) => Asked::Got,
            Err(Refused::Closed) => Asked::Closed,
            Err(Refused::NoPermits) => {
                let ticket = Ticket(self.next);
                self.next += 1;
                let missing = count - self.available();
                let got = self.take(count);
                self.queue.push_back(Waiting { ticket, missing, got, waker });
                Asked::Waits(ticket)
            }
        }
    }

    /// Asks again; who is not in the queue any more has got all. Returns the waker that is replaced, too.
    pub fn ask_again(&mut self, ticket: Ticket, waker: Waker, order: &Order) -> (Asked, Option<Waker>) {
        if self.finds_closed(order) {
            return (Asked::Closed, Some(waker));
        }
        match self.queue.iter_mut().find(|waiting| waiting.ticket == ticket) {
            None => {
                gets(&self.settled(ticket), order);
                (Asked::Got, Some(waker))
            }
            Some(waiting) => (Asked::Waits(ticket), Some(std::mem::replace(&mut waiting.waker, waker))),
        }
    }

    fn settled(&mut self, ticket: Ticket) -> Vec<Pile> {
        let at = self.settled.iter().position(|(other, _)| *other == ticket);
        at.map_or_else(Vec::new, |at| self.settled.swap_remove(at).1)
    }

    /// Gives back so many. Returns whom to wake.
    pub fn give(&mut self, count: usize, order: &Order) -> Vec<Waker> {
        self.hand_out(vec![(count, Some(order.leaves()))])
    }

    /// To those that wait, in their order.
    fn hand_out(&mut self, piles: Vec<Pile>) -> Vec<Waker> {
        let mut wake = Vec::new();
        for (mut count, left) in piles {
            while let Some(first) = self.queue.front_mut().filter(|_| count > 0) {
                let given = count.min(first.missing);
                (first.missing, count) = (first.missing - given, count - given);
                first.got.push((given, left));
                if first.missing == 0 {
                    let Waiting { ticket, got, waker, .. } = self.queue.pop_front().expect("there is a first one");
                    self.settled.push((ticket, got));
                    wake.push(waker);
                }
            }
            if count > 0 {
                self.free.push_back((count, left));
            }
        }
        wake
    }

    /// Somebody who asked for some goes away; what it has got goes on to others. Returns its waker as well as whom to wake.
    pub fn leave(&mut self, ticket: Ticket) -> (Option<Waker>, Vec<Waker>) {
        let position = self.queue.iter().position(|waiting| waiting.ticket == ticket);
        let (waker, got) = match position.and_then(|position| self.queue.remove(position)) {
            Some(waiting) => (Some(waiting.waker), waiting.got),
            None => (None, self.settled(ticket)),
        };
        (waker, self.hand_out(got))
    }

    /// Takes up to so many away for ever.
    pub fn forget(&mut self, count: usize) -> usize {
        self.take(count).iter().map(|(count, _)| count).sum()
    }

    /// Nobody gets any more, and who finds that comes after who has done this first. Returns whom to wake.
    pub fn close(&mut self, order: &Order) -> Vec<Waker> {
        if !std::mem::replace(&mut self.closed, true) {
            order.comes_before();
        }
        let mut wake = Vec::new();
        for Waiting { ticket, got, waker, .. } in self.queue.drain(..) {
            self.settled.push((ticket, got));
            wake.push(waker);
        }
        wake
    }

    /// The same permits in an execution that has not begun to wait for them.
    pub fn renew(&mut self, available: usize) {
        *self = Permits::new(available);
    }
}

fn gets(piles: &[Pile], order: &Order) {
    piles.iter().filter_map(|(_, left)| *left).for_each(|left| order.takes(left));
}
