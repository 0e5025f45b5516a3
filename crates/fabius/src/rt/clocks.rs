//! What happens before what, as the orderings say that the test gives, and the data races that follow.
//!
//! Paper: FastTrack: Efficient and Precise Dynamic Race Detection (PLDI 2009), with the release sequences and fences of
//! C++20 [intro.races], [atomics.fences].
//!
//! Deviations:
//! 1. What a store, and the release sequence that it is part of, has released is one clock; a load acquires that of the
//!    store that it finds: see [`super::history`].
//! 2. All reads of a cell since its last write are kept, not only one: executions are short.
//! 3. A load that finds what was stored without an edge is remembered, so that the report of a race can say which
//!    ordering would have made one.
//!
//! Operations of locks and the like order everything that touches the same object: what reads it comes after what changed it,
//! and what changes it after all before. Their orders are those that std documents, or stronger; who only makes others go on
//! (`unpark`, a message where there is always room, the beginning of a call of `Once`) comes after nothing. Who receives a message
//! comes after who has sent that one ([`super::edges`]).

use super::clock::{Clock, Did, Event, NOTHING, Place, acquires, releases};
use super::history::{History, Store, Word};
use super::sc_order::{Access, ScOrder};
use super::used::Used;
use std::sync::atomic::Ordering::{self, SeqCst};

#[derive(Debug, Default)]
struct Thread {
    clock: Clock,
    /// What an acquire fence would acquire: of loads that did not.
    found: Clock,
    /// What a release fence has released.
    fenced: Clock,
    /// Loads that found what made no edge, where that is kept ([`Clocks::explains`]).
    missed: Vec<Missed>,
    /// What was done before the last sequentially consistent fence of its own, of the thread that made it, or of one that it has joined,
    /// or before any that came before that.
    by_fences: Clock,
    /// Its clock when it last gave way.
    gave_way: u32,
    /// Its clock in its last operation; 0 where it has since accessed a cell, or learnt of another thread's end.
    done: u32,
    /// What its last event accessed, and its clock ahead of the accesses to that in a row.
    last: Option<usize>,
    entry: Clock,
}

impl Thread {
    fn clear(&mut self) {
        let Thread { clock, found, fenced, missed, by_fences, gave_way, done, last, entry } = self;
        [clock, found, fenced, by_fences, entry].into_iter().for_each(Clock::clear);
        missed.clear();
        (*gave_way, *done, *last) = (0, 0, None);
    }
}

#[derive(Debug, Default)]
struct Object {
    /// What comes before its next reader, and before its next writer.
    written: Clock,
    touched: Clock,
    /// Of an atomic: the last store, or, with deviations, all that can be found.
    history: History,
    /// Of what is handed on piece by piece, for each piece what comes before who gets it.
    left: Vec<Clock>,
}

impl Object {
    fn clear(&mut self) {
        let Object { written, touched, history, left } = self;
        [written, touched].into_iter().for_each(Clock::clear);
        history.clear();
        left.clear();
    }
}

/// A load that found a store and made no edge with it.
#[derive(Debug)]
struct Missed {
    before: Clock,
    stored: (Place, Ordering),
    loaded: (Place, Ordering),
}

/// When a thread has accessed a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Now,
    /// In its last operation: what that releases comes after the access. If it has done anything since, also to a cell, now.
    LastOperation,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Touched {
    pub thread: usize,
    pub place: Place,
    clock: u32,
}

#[derive(Debug, Default)]
struct Data {
    write: Option<Touched>,
    reads: Vec<Touched>,
}

/// Two accesses to a cell that nothing orders.
#[derive(Clone, Debug)]
pub(crate) struct Race {
    pub cell: usize,
    pub first: Touched,
    pub second: Touched,
    /// What would have ordered them.
    pub remedy: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Clocks {
    threads: Vec<Thread>,
    objects: Used<Object>,
    /// Which of these have stores, where operations may deviate.
    atomics: Vec<usize>,
    data: Vec<Data>,
    order: ScOrder,
    /// What was done before any sequentially consistent fence so far.
    by_fences: Clock,
    /// Whether operations on atomics may deviate.
    pub deviates: bool,
    /// Whether it is kept what made no edge, for the report of a race.
    pub explains: bool,
}

/// An operation on an atomic: how it came out, at which store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    pub thread: usize,
    pub atomic: usize,
    pub did: Did,
    /// The store that it found, or behind which it stored.
    pub position: usize,
    pub place: Place,
}

fn entry<T: Default>(list: &mut Vec<T>, number: usize) -> &mut T {
    if number >= list.len() {
        list.resize_with(number + 1, T::default);
    }
    &mut list[number]
}

impl Clocks {
    /// Nothing has happened; the memory of so many objects is kept.
    pub fn clear(&mut self, objects: usize) {
        self.objects.clear(objects, Object::clear);
        self.data.truncate(objects);
        self.threads.iter_mut().for_each(Thread::clear);
        for Data { write, reads } in &mut self.data {
            *write = None;
            reads.clear();
        }
        self.atomics.clear();
        self.order.clear();
        self.by_fences.clear();
    }

    #[inline]
    fn thread(&mut self, thread: usize) -> &mut Thread {
        if self.threads.get(thread).is_none_or(|this| this.clock.at(thread) == 0) {
            self.begins(thread);
        }
        &mut self.threads[thread]
    }

    #[cold]
    fn begins(&mut self, thread: usize) {
        Event { thread, index: 1 }.put_in(&mut entry(&mut self.threads, thread).clock);
    }

    fn clock(&mut self, thread: usize) -> Clock {
        self.thread(thread).clock.clone()
    }

    /// What the thread does from now on is not part of what it has released.
    fn tick(&mut self, thread: usize) {
        let this = self.thread(thread);
        let index = this.clock.at_mut(thread);
        this.done = *index;
        *index += 1;
    }

    /// The thread does something to a variable, or to none.
    fn goes_to(&mut self, thread: usize, variable: Option<usize>) {
        if !self.deviates {
            return;
        }
        let is_needed = !self.order.is_empty();
        let this = self.thread(thread);
        if variable.is_none() || this.last != variable {
            this.last = variable;
            if is_needed {
                this.entry.set(&this.clock);
            } else {
                this.entry.clear();
            }
        }
        let index = this.clock.at(thread);
        self.order.goes_to(Event { thread, index }, variable);
    }

    pub fn born(&mut self, parent: usize, child: usize) {
        self.goes_to(parent, None);
        let before = self.clock(parent);
        let by_fences = self.threads[parent].by_fences.clone();
        let this = self.thread(child);
        this.clock.join(&before);
        this.by_fences.join(&by_fences);
        self.tick(parent);
    }

    /// A thread waited for the end of another.
    pub fn joined(&mut self, thread: usize, ended: usize) {
        self.goes_to(ended, None);
        self.goes_to(thread, None);
        let before = self.clock(ended);
        let by_fences = self.threads[ended].by_fences.clone();
        let this = self.thread(thread);
        this.clock.join(&before);
        this.by_fences.join(&by_fences);
        this.done = 0;
    }

    /// An operation on a lock, a channel or the like.
    pub fn touches(&mut self, thread: usize, object: usize, write: bool) {
        self.goes_to(thread, Some(object));
        self.thread(thread);
        let clock = &mut self.threads[thread].clock;
        let object = self.objects.at(object);
        if write {
            clock.join(&object.touched);
            object.written.set(clock);
            object.touched.set(clock);
        } else {
            clock.join(&object.written);
            object.touched.join(clock);
        }
        self.tick(thread);
    }

    /// An operation that others may come after, and that comes after none of them.
    pub fn releases(&mut self, thread: usize, object: usize) {
        self.goes_to(thread, Some(object));
        let clock = self.clock(thread);
        let object = self.objects.at(object);
        object.written.join(&clock);
        object.touched.join(&clock);
        self.tick(thread);
    }

    /// An operation that comes after those that others come after, and before none of them.
    pub fn acquires(&mut self, thread: usize, object: usize) {
        self.goes_to(thread, Some(object));
        let released = self.objects.get(object).map(|object| object.written.clone()).unwrap_or_default();
        self.thread(thread).clock.join(&released);
        self.tick(thread);
    }

    /// An operation that leaves something in an object, which one that comes gets. Returns its number.
    pub fn leaves(&mut self, thread: usize, object: usize) -> usize {
        self.goes_to(thread, Some(object));
        let clock = self.clock(thread);
        let left = &mut self.objects.at(object).left;
        left.push(clock);
        let number = left.len() - 1;
        self.tick(thread);
        number
    }

    /// An operation that gets what was left under that number.
    pub fn takes(&mut self, thread: usize, object: usize, number: usize) {
        self.goes_to(thread, Some(object));
        let left = self.objects.get(object).and_then(|object| object.left.get(number)).cloned().unwrap_or_default();
        self.thread(thread).clock.join(&left);
        self.tick(thread);
    }

    /// The stores of an atomic; if it holds another value than the newest, somebody who owns it has changed it.
    pub fn history(&mut self, atomic: usize, is_newest: impl Fn(&Word) -> bool, value: Word) -> &mut History {
        let history = &mut self.objects.at(atomic).history;
        let newest = history.stores.last();
        if !newest.is_some_and(|newest| is_newest(&newest.value)) {
            if newest.is_none() {
                self.atomics.push(atomic);
            }
            history.begins(value);
        }
        history
    }

    /// The value of the store at a position.
    pub fn value(&self, atomic: usize, position: usize) -> &Word {
        &self.objects[atomic].history.stores[position].value
    }

    /// The position of the store than which so many are newer.
    pub fn position(&mut self, atomic: usize, newer: u32) -> usize {
        let stores = self.objects.at(atomic).history.stores.len();
        stores.saturating_sub(1 + newer as usize)
    }

    /// Whether an operation that comes out so can have its place behind the store.
    pub fn has_room(&self, done: Done, did: Did) -> bool {
        !did.stores() || self.objects[done.atomic].history.has_room_behind(done.position)
    }

    /// The step of the store at a position.
    pub fn step_of(&self, atomic: usize, position: usize) -> usize {
        self.objects[atomic].history.stores[position].step
    }

    /// The position of the oldest store that an operation of the thread may find.
    pub fn floor(&mut self, thread: usize, atomic: usize) -> usize {
        self.thread(thread);
        self.objects[atomic].history.floor(&self.threads[thread].clock)
    }

    /// Whether an operation of the thread may find another store than the newest.
    pub fn finds_older(&self, thread: usize, atomic: usize) -> bool {
        let Some(Object { history, .. }) = self.objects.get(atomic).filter(|o| o.history.stores.len() > 1) else {
            return false;
        };
        let clock = self.threads.get(thread).map_or(&NOTHING, |thread| &thread.clock);
        history.floor(clock) + 1 < history.stores.len()
    }

    /// The thread gives way.
    pub fn gives_way(&mut self, thread: usize) {
        let this = self.thread(thread);
        this.gave_way = this.clock.at(thread);
    }

    /// The position of the oldest store that the thread may find, that it did not know when it last gave way, and that is not older than
    /// what was known ahead of a fence that came before one that the thread knows of in this way, where both are sequentially consistent.
    pub fn floor_of_news(&mut self, thread: usize, atomic: usize) -> usize {
        self.thread(thread);
        let Thread { clock, by_fences, gave_way, .. } = &self.threads[thread];
        self.objects[atomic].history.floor_of_news([clock, by_fences], Event { thread, index: *gave_way })
    }

    /// The oldest stores that the thread can find, of all atomics where that is not the newest, in no order.
    pub fn oldest(&mut self, thread: usize) -> impl Iterator<Item = (usize, Word)> {
        self.thread(thread);
        let clock = &self.threads[thread].clock;
        self.atomics.iter().filter_map(|&atomic| {
            let history = &self.objects[atomic].history;
            let floor = if history.stores.len() > 1 { history.floor(clock) } else { return None };
            (floor + 1 < history.stores.len()).then(|| (atomic, history.stores[floor].value))
        })
    }

    /// Whether the order of sequentially consistent operations lets an operation come out so.
    pub fn allows(&self, done: Done) -> bool {
        if self.order.is_empty() {
            return true;
        }
        let this = &self.threads[done.thread];
        let history = &self.objects[done.atomic].history;
        let mut clock = this.clock.clone();
        if done.did.loads() && acquires(done.did.order()) {
            clock.join(&history.stores[done.position].released);
        }
        let index = this.clock.at(done.thread);
        let is_first = this.last != Some(done.atomic);
        self.order.allows(&Access {
            event: Event { thread: done.thread, index },
            variable: done.atomic,
            clock: &clock,
            ahead: &this.clock,
            entry: if is_first { &this.clock } else { &this.entry },
            is_strong: done.did.order() == SeqCst,
            stores: done.did.stores(),
            history,
            position: done.position,
        })
    }

    /// An operation on an atomic, with what it stored, if it did.
    pub fn atomic(&mut self, done: Done, value: Word, step: usize) {
        let Done { thread, atomic, did, position, place } = done;
        let order = did.order();
        self.goes_to(thread, Some(atomic));
        self.thread(thread);
        let this = &mut self.threads[thread];
        let history = &mut self.objects.at(atomic).history;
        let event = Event { thread, index: this.clock.at(thread) };
        let acquires = did.loads() && acquires(order);
        let ahead = (acquires && !self.order.is_empty()).then(|| this.clock.clone());
        let source = history.stores.get(position);
        if let Some(source) = source.filter(|_| did.loads()) {
            let what = if acquires { &mut this.clock } else { &mut this.found };
            what.join(&source.released);
            if let (Some(before), Some(stored)) = (&source.before, source.place)
                && !before.is_in(&this.clock)
            {
                let (before, stored) = (Clock::clone(before), (stored, source.order));
                this.missed.push(Missed { before, stored, loaded: (place, order) });
            }
        }
        if self.deviates && (order == SeqCst || !self.order.is_empty()) {
            let (is_strong, stores) = (order == SeqCst, did.stores());
            let (clock, entry, history) = (&this.clock, &this.entry, &*history);
            let ahead = ahead.as_ref().unwrap_or(clock);
            let access = Access { event, variable: atomic, clock, ahead, entry, is_strong, stores, history, position };
            self.order.access(&access);
        }
        if did.stores() {
            let mut released = if releases(order) { this.clock.clone() } else { this.fenced.clone() };
            let mut before = self.explains.then(|| Box::new(this.clock.clone()));
            if let Some(source) = source.filter(|_| did.goes_on()) {
                released.join(&source.released);
                if let (Some(before), Some(others)) = (&mut before, &source.before) {
                    before.join(others);
                }
            }
            let fences = self.order.fences_in(&this.clock);
            let store = Store {
                writer: Some(event),
                value,
                released,
                before,
                fences,
                place: Some(place),
                order,
                changes: did.goes_on(),
                reads: history.unused.pop().unwrap_or_default(),
                step,
            };
            if self.deviates {
                history.stores.insert(position + 1, store);
            } else {
                history.stores.clear();
                history.stores.push(store);
            }
        } else if self.deviates {
            history.found(position, event, order == SeqCst, self.order.fences_in(&this.clock));
        }
        self.tick(thread);
    }

    /// Whether an atomic has so many stores that it is worth looking for those that nobody can find.
    pub fn has_many_stores(&self, atomic: usize) -> bool {
        self.objects[atomic].history.is_long()
    }

    /// Drops the stores of an atomic that no thread with one of these clocks can find. Says whether a limit made it forget
    /// others.
    pub fn prune(&mut self, atomic: usize, clocks: &[Clock]) -> bool {
        self.objects.at(atomic).history.prune(clocks)
    }

    /// The clock of a thread that goes on when others have ended, at least.
    pub fn clock_after(&self, thread: usize, waits_for: impl Iterator<Item = usize>) -> Clock {
        let of = |thread: usize| self.threads.get(thread).map_or(&NOTHING, |t| &t.clock);
        let mut clock = of(thread).clone();
        waits_for.for_each(|ended| clock.join(of(ended)));
        clock
    }

    pub fn fence(&mut self, thread: usize, order: Ordering) {
        self.goes_to(thread, None);
        let this = self.thread(thread);
        if acquires(order) {
            this.clock.join(&this.found);
            this.found.clear();
        }
        if releases(order) {
            this.fenced.set(&this.clock);
        }
        if self.deviates && order == SeqCst {
            let this = &mut self.threads[thread];
            self.by_fences.join(&this.clock);
            this.by_fences.set(&self.by_fences);
            let event = Event { thread, index: this.clock.at(thread) };
            let histories = self.atomics.iter().map(|atomic| &self.objects[*atomic].history);
            self.order.fence(event, &this.clock, histories);
        }
        self.tick(thread);
    }

    /// An operation on an atomic, before what it orders: whether it comes after the atomic was made, if that is known.
    pub fn uses(&mut self, thread: usize, atomic: usize, place: Place) -> Result<(), Race> {
        let Some(first) = self.data.get(atomic).and_then(|data| data.write) else { return Ok(()) };
        let clock = &self.thread(thread).clock;
        if first.clock <= clock.at(first.thread) {
            return Ok(());
        }
        let second = Touched { thread, place, clock: clock.at(thread) };
        Err(Race { cell: atomic, first, second, remedy: self.remedy(thread, first) })
    }

    /// An access to a cell.
    pub fn data(
        &mut self,
        (thread, cell): (usize, usize),
        write: bool,
        moment: Moment,
        place: Place,
    ) -> Result<(), Race> {
        self.goes_to(thread, Some(cell));
        let done = std::mem::take(&mut self.thread(thread).done);
        let (clock, data) = (&self.threads[thread].clock, entry(&mut self.data, cell));
        let own = data.write.iter().chain(&data.reads).filter(|t| t.thread == thread).map(|t| t.clock).max();
        let now = match moment {
            Moment::LastOperation if done > 0 => done.max(own.unwrap_or(0)),
            Moment::Now | Moment::LastOperation => clock.at(thread),
        };
        let second = Touched { thread, place, clock: now };
        let before = data.write.iter().chain(data.reads.iter().filter(|_| write));
        if let Some(first) = before.copied().find(|t| t.clock > clock.at(t.thread)) {
            let remedy = self.remedy(thread, first);
            return Err(Race { cell, first, second, remedy });
        }
        if write {
            data.write = Some(second);
            data.reads.clear();
        } else {
            data.reads.retain(|t| t.thread != thread);
            data.reads.push(second);
        }
        if self.deviates {
            *self.thread(thread).clock.at_mut(thread) += 1;
        }
        Ok(())
    }

    /// Which orderings would have put an earlier access before what the thread does now.
    fn remedy(&self, thread: usize, first: Touched) -> Option<String> {
        let missed = &self.threads.get(thread)?.missed;
        let found = missed.iter().find(|m| m.before.at(first.thread) >= first.clock)?;
        let ((stored, releasing), (loaded, acquiring)) = (found.stored, found.loaded);
        let at = |place: Place| format!("{}:{}", place.file(), place.line());
        let release = format!("`Release` at {}", at(stored));
        let acquire = format!("`Acquire` at {}", at(loaded));
        let would = match (releases(releasing), acquires(acquiring)) {
            (false, false) => format!("{release} and {acquire} would order them"),
            (false, true) => format!("{release} would order them"),
            (true, false) => format!("{acquire} would order them"),
            (true, true) => return None,
        };
        let stored = format!("the load at {} finds what is stored at {}", at(loaded), at(stored));
        Some(format!("{stored}, and makes no edge: {would}"))
    }
}
