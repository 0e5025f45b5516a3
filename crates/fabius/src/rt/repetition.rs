//! Recognizes that a thread which gives way again and again only repeats itself: it has come back to where it was, and
//! nothing has changed. Then it need not go on before something does.
//!
//! Paper: Fair Stateless Model Checking (PLDI 2008), section 2: what a yield says of a loop. There the repetition is
//! guessed from the yields alone, and executions are lost in which a thread that yields goes on before the others.
//!
//! The state of an execution is one number, a sum of one for each thread and one for each variable, and the last step that
//! may have changed memory which is not seen:
//!
//! 1. A thread's is that of what it has done: each operation is mixed in with the number of the variable that it finds.
//!    So it grows without end; but at a yield it becomes the number of what is on the thread's stack and in the registers
//!    that a call preserves: all that the code of the thread goes on with, but for the rest of memory, see 4.
//! 2. A variable's is that of its value where that is known (atomics); else each operation that may change it mixes in
//!    the number of the thread. Who finds that it changed nothing says so, and who has undone what it changed and finds it as it
//!    left it; and a lock that is given back is as before it
//!    was taken if nobody has written to what it protects.
//! 3. A thread that has given way and would go on from a state from which it went on before would do the same again, and
//!    all that can follow can follow the first time at no higher cost. It waits until another thread has made a step.
//! 4. What is on the heap, in statics, or belongs to others is not seen. So a step counts as one that changes it, unless
//!    it is known not to: when a thread gives way in a loop, a trial shows what it would do by itself until it gives way
//!    again, and whether that leaves such memory as it was (`proofs.rs`, `trial.rs`). As long as its steps are those of the
//!    trial, operation by operation, and what it reads elsewhere is still the same, they change nothing. Two states with the same
//!    number have then the same memory: all steps in between were known to leave it alone.
//!    Where the thread may find older stores, there are two trials: one in which all operations find the newest, and one in
//!    which loads find the oldest that the thread can. A round that is neither counts as one that changes something; there
//!    are few of those, because who finds a store in between cannot find older ones again. And a trial ends at a store that
//!    others could find: see 7. It ends where a thread is joined, too: who joins does so once, and has left the loop. What the other
//!    has done is part of what the join finds, and is another thing in many executions; a loop that was tried out for each of them
//!    would be given up.
//! 5. Trials are made at lines only where a thread has come back to where it was, but for such memory. When the first
//!    does, the check begins anew.
//! 6. If all threads that could go on repeat themselves, they go on in turn. What follows then can follow the first time, so
//!    that from there on no operation deviates from sequential consistency: in the end every load finds the newest store.
//! 7. Which stores can be found is not part of the state. Between two states with the same number nobody has stored anything
//!    that can be found, but for changes that left a value as it was. So all have only learnt, and who knows more can find
//!    less: what can follow the second time can follow the first time, older stores included.
//! 8. A loop that reads the clock of the machine never repeats itself, and a trial may take longer than it waits. It is taken to
//!    change nothing without one, so that a search comes to an end; the answer says that something was left out.
//! 9. A loop that does not repeat itself, as one that counts, could find an old value for ever, which is no livelock: in the end a
//!    store is seen. So after many rounds with old values the thread finds the newest once, of each atomic of which they were
//!    (`old_values.rs`); the answer says that, too.
//! 10. On the stack is also what no code looks at, which is not always the same: see `remains.rs`.

use super::here::mix;
use super::loops::Round;
use super::proofs::{Inputs, Proof};
use super::remains::Came;
use super::{Here, Object, Op, Refine, trial};
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::sync::Arc;

/// A thread whose steps are those of a trial, so far.
#[derive(Debug)]
struct Follows {
    proof: Arc<Proof>,
    inputs: Inputs,
    /// Whether another thread had borrowed a part of a stack when it began.
    stack_was_lent: bool,
    /// Operations that it has made.
    made: usize,
    /// The last step that may have changed what is not seen, when it made its last operation, and when it began.
    hidden: u64,
    since: u64,
    /// Who had borrowed memory then.
    lent: u64,
}

/// A lock that is held: by whom, its state before it was taken, and since.
#[derive(Clone, Copy, Debug)]
struct Held {
    thread: usize,
    lock: usize,
    before: u64,
    since: u64,
}

/// The state of an execution as numbers.
#[derive(Debug, Default)]
pub(super) struct States {
    threads: Vec<u64>,
    variables: Vec<u64>,
    /// What each thread has done since it last gave way.
    rounds: Vec<u64>,
    /// Places where threads gave way, in the order in which they were first come to: addresses of memory, which are
    /// part of them, differ from execution to execution.
    places: HashMap<u64, u64>,
    /// The same for addresses that variables hold or have held; and which hold which.
    addresses: HashMap<usize, u64>,
    holds_address: HashMap<usize, usize>,
    sum: u64,
    /// How many steps may have changed memory that is not seen.
    hidden: u64,
    /// From where threads went on after they had given way; and where they gave way, without the memory that is not seen.
    left: HashSet<(usize, u64)>,
    gave_way: HashSet<(usize, u64)>,
    /// By thread; more than one where it may find older stores.
    follows: Vec<Vec<Follows>>,
    /// By thread, how it has come to where it last gave way.
    came: Vec<Came>,
    /// Threads whose rounds read the clock of the machine.
    timed: Vec<usize>,
    /// Whether there was such a round: what it has changed unseen may matter to anybody.
    pub reads_clock: bool,
    held: Vec<Held>,
    /// The last change, which may turn out to be none.
    changed: (usize, u64),
}

impl States {
    pub fn clear(&mut self) {
        let States {
            threads,
            variables,
            rounds,
            places,
            addresses,
            holds_address,
            left,
            gave_way,
            follows,
            came,
            timed,
            held,
            ..
        } = self;
        threads.clear();
        variables.clear();
        rounds.clear();
        places.clear();
        addresses.clear();
        holds_address.clear();
        left.clear();
        gave_way.clear();
        follows.clear();
        came.clear();
        timed.clear();
        held.clear();
        (self.sum, self.hidden, self.changed, self.reads_clock) = (0, 0, (0, 0), false);
    }

    fn state_nearly(&self, now: std::time::Duration) -> u64 {
        mix(self.sum, now.as_nanos() as u64)
    }

    /// The state of everything, at a time.
    pub fn state(&self, now: std::time::Duration) -> u64 {
        mix(self.state_nearly(now), self.hidden)
    }

    pub fn variable(&self, variable: usize) -> u64 {
        self.variables.get(variable).copied().unwrap_or(0)
    }

    fn set_variable(&mut self, variable: usize, value: u64) {
        has_number(&mut self.variables, variable);
        let name = mix(1, variable as u64);
        let old = std::mem::replace(&mut self.variables[variable], value);
        // A variable that nobody has touched counts as nothing.
        let part = |value: u64| if value == 0 { 0 } else { mix(name, value) };
        self.sum = self.sum.wrapping_sub(part(old)).wrapping_add(part(value));
    }

    fn set_thread(&mut self, thread: usize, value: u64) {
        has_number(&mut self.threads, thread);
        let name = mix(2, thread as u64);
        let old = std::mem::replace(&mut self.threads[thread], value);
        self.sum = self.sum.wrapping_sub(mix(name, old)).wrapping_add(mix(name, value));
    }

    fn thread(&self, thread: usize) -> u64 {
        self.threads.get(thread).copied().unwrap_or(0)
    }

    /// A thread was made.
    pub fn born(&mut self, parent: usize, thread: usize) {
        let name = mix(self.thread(parent), 3);
        self.set_thread(thread, name);
        self.set_thread(parent, mix(name, 4));
        self.may_change(parent);
    }

    /// A thread was told something.
    pub fn learns(&mut self, thread: usize, what: u64) {
        self.set_thread(thread, mix(self.thread(thread), what));
        self.may_change(thread);
    }

    /// Time has passed.
    pub fn time_passes(&mut self) {
        self.hidden += 1;
    }

    /// The step that the thread makes may change what is not seen.
    fn may_change(&mut self, thread: usize) {
        if let Some(follows) = self.follows.get_mut(thread) {
            follows.clear();
        }
        self.hidden += 1;
    }

    /// A number for who else is in the middle of a round that has borrowed memory, and where; 0 if nobody is. That memory is not what
    /// it was, nor what it will be.
    fn lent(&self, thread: usize) -> u64 {
        let others = self.follows.iter().enumerate().filter(|(other, _)| *other != thread);
        let follows = others.flat_map(|(other, follows)| follows.iter().map(move |follows| (other, follows)));
        let midway = follows.filter(|(_, f)| f.proof.lent.checked_shr(f.made as u32).unwrap_or(0) & 1 == 1);
        let number = |(other, f): (usize, &Follows)| {
            let round = mix(Arc::as_ptr(&f.proof).addr() as u64, f.made as u64);
            mix(mix(11, other as u64), round) | 1
        };
        midway.map(number).fold(0, |sum, number| sum.wrapping_mul(3).wrapping_add(number))
    }

    /// The thread has made an operation: whether it still does what a trial has shown.
    fn makes(&mut self, thread: usize, number: u64, found: Option<(usize, u64)>) {
        if let Some(trial) = trial::current() {
            return trial.operation(number, found);
        }
        let hidden = self.hidden;
        // Memory that another thread has borrowed is not what it was, nor what it will be: also the stack of this one.
        let others = self.follows.iter().enumerate().filter(|(other, _)| *other != thread);
        let mut borrow = others.flat_map(|(_, follows)| follows).filter(|f| f.proof.borrows).peekable();
        let is_borrowed = borrow.peek().is_some();
        let stack_is_lent = borrow.any(|f| f.inputs.borrows_stack);
        let others = if is_borrowed { self.lent(thread) } else { 0 };
        let still = |follows: &mut Follows| {
            let Follows { proof, inputs, stack_was_lent, made, hidden: then, lent, .. } = follows;
            *made += 1;
            let is_next = proof.numbers.get(*made - 1) == Some(&number);
            // Who has changed what is not seen may have left alone what matters here; what this thread has written itself
            // cannot be asked.
            let changed = std::mem::replace(then, hidden) != hidden;
            let left_alone = !changed && !inputs.elsewhere && !is_borrowed;
            // What two have borrowed at the same time is in the middle of the one's round what the other's makes of it.
            let by_itself = !proof.borrows && !stack_is_lent && !*stack_was_lent || !changed && *lent == others;
            is_next && by_itself && (left_alone || inputs.are_there())
        };
        self.retain(thread, still);
    }

    /// A step that is none of a trial any more may change what is not seen.
    fn retain(&mut self, thread: usize, still: impl FnMut(&mut Follows) -> bool) {
        if self.is_timed(thread) {
            return;
        }
        let as_shown = self.follows.get_mut(thread).is_some_and(|follows| {
            follows.retain_mut(still);
            !follows.is_empty()
        });
        if !as_shown {
            self.may_change(thread);
        }
    }

    /// The operation that the thread has just made finds a value that is not the newest, as a number, or 0 if it is.
    pub fn finds(&mut self, thread: usize, unusual: u64) {
        if unusual != 0 {
            self.set_thread(thread, mix(self.thread(thread), unusual));
        }
        match trial::current() {
            Some(trial) => trial.finds(unusual),
            None => self.retain(thread, |follows| {
                let Follows { proof, made, .. } = follows;
                made.checked_sub(1).and_then(|last| proof.unusual.get(last)).is_some_and(|shown| *shown == unusual)
            }),
        }
    }

    /// A thread makes an operation that finds a variable, or the end of a thread.
    pub fn operation(&mut self, thread: usize, op: &Op) {
        let variable = usize::try_from(op.variable).ok().filter(|v| *v < 1 << 32);
        let found = match (op.joins, variable) {
            (Some(other), _) => self.thread(other),
            (None, Some(variable)) => self.variable(variable),
            (None, None) => 0,
        };
        let place = std::ptr::from_ref(op.at) as u64;
        let does = place ^ (op.name.as_ptr() as u64).rotate_left(32);
        let next = mix(mix(self.thread(thread), does), found);
        self.set_thread(thread, next);
        has_number(&mut self.rounds, thread);
        let round = mix(mix(self.rounds[thread], does), found);
        self.rounds[thread] = round;
        self.makes(thread, round, variable.map(|variable| (variable, found)));
        if let Some(variable) = variable.filter(|_| op.write) {
            self.changed = (variable, found);
            self.set_variable(variable, mix(found, next) | 1);
        }
    }

    /// The last operation has changed nothing.
    pub fn unchanged(&mut self) {
        let (variable, value) = self.changed;
        self.set_variable(variable, value);
    }

    /// The last operation has undone an earlier one, and what others did in between as well: the variable is as it was before.
    fn undoes(&mut self, change: &Change) {
        // Else somebody has changed it since.
        if self.changed == (change.variable, change.since) {
            self.set_variable(change.variable, change.before);
        }
    }

    /// The address that a variable holds now. Memory lies elsewhere in every execution, so addresses have the numbers in whose order
    /// they were first seen.
    pub fn address_is(&mut self, variable: usize, address: usize) {
        let new = self.addresses.len() as u64;
        let is_known = self.addresses.contains_key(&address) && self.holds_address.get(&variable) == Some(&address);
        if !is_known && trial::current().is_some() {
            trial::ends(trial::End::Other);
        }
        let number = *self.addresses.entry(address).or_insert(new);
        self.holds_address.insert(variable, address);
        let marks = (address % 16) as u64;
        self.set_variable(variable, if address == 0 { mix(0, 8) } else { mix(mix(number, marks), 9) } | 1);
    }

    /// The value that a variable has now.
    pub fn value_is(&mut self, variable: usize, value: u64) {
        self.set_variable(variable, mix(value, 5) | 1);
    }

    /// The last operation has taken a lock.
    pub fn holds(&mut self, thread: usize) {
        let (lock, before) = self.changed;
        // What it protects is as before, and the thread has it, whatever it has done until then.
        let since = mix(mix(before, thread as u64), 10) | 1;
        self.set_variable(lock, since);
        self.touches(thread, lock);
        if self.held.len() == self.held.capacity() && trial::current().is_some() {
            trial::ends(trial::End::Other);
        }
        self.held.push(Held { thread, lock, before, since });
    }

    /// The last operation has put the thread into a list, and changed nothing else: whatever the thread has done until then.
    pub fn lists(&mut self, thread: usize) {
        let (list, before) = self.changed;
        self.set_variable(list, mix(mix(before, thread as u64), 12) | 1);
    }

    /// What a lock protects may have been changed.
    pub fn touches(&mut self, thread: usize, lock: usize) {
        self.held.retain(|held| (held.thread, held.lock) != (thread, lock));
    }

    /// The last operation has given a lock back.
    pub fn gives_back(&mut self, thread: usize) {
        let (lock, value) = self.changed;
        let held = self.held.iter().position(|held| (held.thread, held.lock) == (thread, lock));
        if let Some(held) = held.map(|at| self.held.swap_remove(at)).filter(|held| held.since == value) {
            self.set_variable(lock, held.before);
        }
    }

    /// The thread has given way here; `top` is where its stack begins.
    pub fn gives_way(&mut self, thread: usize, here: Here, top: usize, refine: Refine) {
        let places = self.places.len() as u64;
        let mut follows = self.follows.get(thread).into_iter().flatten();
        // It has found what it looked at in the beginning if nothing has changed unseen since, nor time has passed.
        let followed = follows.find(|f| f.made == f.proof.numbers.len() && f.since == self.hidden);
        if thread >= self.came.len() {
            self.came.resize(thread + 1, Came::default());
        }
        let by = followed.map(|f| f.inputs.number);
        let number = match followed.filter(|_| refine.contains(Refine::REMAINS)) {
            Some(Follows { proof, inputs, .. }) => {
                let (left, times) = proof.leaves(self.came[thread].times_if(by));
                here.number_but(top, left).map(|rest| mix(mix(inputs.number, times as u64), rest))
            }
            None => here.number(top),
        };
        let place = number.map(|place| *self.places.entry(place).or_insert(places));
        self.came[thread].comes(by, place);
        let place = place.map_or_else(|| mix(self.thread(thread), 6), |place| mix(place, 7));
        self.set_thread(thread, place);
        if let Some(round) = self.rounds.get_mut(thread) {
            *round = 0;
        }
    }

    /// Whether the round of a thread reads the clock of the machine: see 8.
    fn is_timed(&self, thread: usize) -> bool {
        self.timed.contains(&thread)
    }

    /// A round begins: what is known of the ways that it can take.
    ///
    /// If it is one by which the thread has come here, says how it has come.
    pub fn begins(&mut self, thread: usize, rounds: impl Iterator<Item = Round>) -> Option<Came> {
        self.timed.retain(|timed| *timed != thread);
        if thread >= self.follows.len() {
            self.follows.resize_with(thread + 1, Vec::new);
        }
        let hidden = self.hidden;
        let lent = self.lent(thread);
        let stack_was_lent = lent != 0 && self.follows.iter().flatten().any(|f| f.inputs.borrows_stack);
        let follows = &mut self.follows[thread];
        follows.clear();
        let timed = &mut self.timed;
        follows.extend(rounds.filter_map(|round| match round {
            Round::ChangesNothing(proof, mut inputs) => {
                inputs.elsewhere |= lent != 0;
                Some(Follows { proof, inputs, stack_was_lent, made: 0, hidden, since: hidden, lent })
            }
            Round::TellsTime => {
                timed.push(thread);
                None
            }
            _ => None,
        }));
        self.reads_clock |= self.is_timed(thread);
        if self.follows[thread].is_empty() && !self.is_timed(thread) {
            self.may_change(thread);
        }
        let came = self.came[thread];
        self.follows[thread].iter().any(|follows| Some(follows.inputs.number) == came.by).then_some(came)
    }

    /// The thread goes on after it gave way.
    pub fn goes_on(&mut self, thread: usize, now: std::time::Duration) {
        self.left.insert((thread, self.state(now)));
    }

    /// Whether it went on from such a state before.
    pub fn repeats(&self, thread: usize, now: std::time::Duration) -> bool {
        self.left.contains(&(thread, self.state(now)))
    }

    /// Whether it gave way in such a state before, but for what is not seen.
    pub fn repeats_nearly(&mut self, thread: usize, now: std::time::Duration) -> bool {
        !self.gave_way.insert((thread, self.state_nearly(now)))
    }

    /// Makes room for what a trial may add, and says where all this is.
    pub fn lend(&mut self, allow: &mut impl FnMut(usize, usize)) {
        const MORE: usize = 64;
        self.threads.reserve(MORE);
        self.variables.reserve(MORE);
        self.rounds.reserve(MORE);
        self.held.reserve(MORE);
        let words = size_of::<u64>();
        allow(self.threads.as_ptr() as usize, self.threads.capacity() * words);
        allow(self.variables.as_ptr() as usize, self.variables.capacity() * words);
        allow(self.rounds.as_ptr() as usize, self.rounds.capacity() * words);
        allow(self.held.as_ptr() as usize, self.held.capacity() * size_of::<Held>());
    }
}

/// There is a number for this, 0 if it is new. A trial takes no memory.
#[inline]
fn has_number(numbers: &mut Vec<u64>, at: usize) {
    if at >= numbers.len() {
        if at >= numbers.capacity() && trial::current().is_some() {
            trial::ends(trial::End::Other);
        }
        numbers.resize(at + 1, 0);
    }
}

/// Calls `f` with the state as numbers and the current thread, where repetition is recognized.
#[inline]
fn with_states(f: impl FnOnce(&mut States, usize)) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::YIELDS) {
            trial::aside(|| f(&mut rt.states, rt.current));
        }
    });
}

/// The operation that was just done has changed nothing.
#[inline]
pub(crate) fn unchanged() {
    with_states(|states, _| states.unchanged());
}

/// What an operation has changed: which variable, and its numbers before and since.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    variable: usize,
    before: u64,
    since: u64,
}

/// What the operation that was just done has changed.
pub(crate) fn last_change() -> Change {
    let of = |part: fn(&States) -> u64| {
        let part = |rt: &mut super::Rt| match rt.settings.refine.contains(Refine::YIELDS) {
            true => trial::aside(|| part(&rt.states)),
            false => 0,
        };
        super::with(part).unwrap_or(0)
    };
    let variable = of(|states| states.changed.0 as u64) as usize;
    Change { variable, before: of(|states| states.changed.1), since: of(|states| states.variable(states.changed.0)) }
}

/// The operation that was just done has undone this change, and so has whatever was done in between.
pub(crate) fn undoes(change: &Change) {
    with_states(|states, _| states.undoes(change));
}

/// Whether the current thread is alone, in a trial of what it does next, so that nobody sees what it undoes before its end.
pub(crate) fn is_alone() -> bool {
    super::with(|rt| rt.alone && trial::current().is_some()) == Some(true)
}

/// The value that an object has now, as a number.
#[inline]
pub(crate) fn value_is(object: &Object, value: impl FnOnce() -> u64) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::YIELDS) {
            let (object, value) = (object.id_in(rt) as usize, value());
            trial::aside(|| rt.states.value_is(object, value));
        }
    });
}

/// The same for an object that holds an address.
#[inline]
pub(crate) fn address_is(object: &Object, address: impl FnOnce() -> usize) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::YIELDS) {
            let (object, address) = (object.id_in(rt) as usize, address());
            trial::aside(|| rt.states.address_is(object, address));
        }
    });
}

/// An operation is about to change the memory of a variable, which is seen by what is said of the variable.
#[inline]
pub(crate) fn changes<T>(what: &T) {
    super::with(|rt| {
        if rt.alone
            && let Some(trial) = trial::current()
        {
            trial::aside(|| trial.allow(std::ptr::from_ref(what) as usize, size_of::<T>()));
        }
    });
}

/// The operation that was just done has put the current thread into a list, and changed nothing else.
pub(crate) fn lists() {
    with_states(States::lists);
}

/// The operation that was just done has taken a lock.
#[inline]
pub(crate) fn holds() {
    with_states(States::holds);
}

/// The operation that was just done has given a lock back.
#[inline]
pub(crate) fn gives_back() {
    with_states(States::gives_back);
}

/// What a lock protects, which the current thread holds, may be changed.
#[inline]
pub(crate) fn touches(lock: &Object) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::YIELDS) {
            let lock = lock.id_in(rt) as usize;
            trial::aside(|| rt.states.touches(rt.current, lock));
        }
    });
}

/// Gives way: a point at which others may go on for free. A function that is never inlined says where it is.
///
/// Outside of an execution that of the operating system.
pub(crate) fn give_way(name: &'static str, at: &'static Location<'static>, here: Here) {
    let rt = super::current();
    if rt.is_null() {
        return std::thread::yield_now();
    }
    let op = Op::local(name, at);
    // SAFETY: as in `with`; no reference is used over `point`, nor over a trial.
    unsafe {
        (*rt).sees(Refine::YIELDS);
        if (&mut *rt).gives_way_again(&op, here) {
            return;
        }
        super::point(op);
        let mut next = (&mut *rt).gives_way(at, here);
        while let Some(start) = next {
            (*rt).tried_from = here.number((&*rt).top());
            // The trial goes on with what the caller does next, and comes back here.
            let outcome = trial::begins((&*rt).stack(), (&*rt).top(), |trial| (&mut *rt).tries_out(trial));
            let Some(outcome) = outcome else { return };
            next = (&mut *rt).has_tried_out(at, start, outcome);
        }
    }
}
