//! Recognizes that a thread which gives way again and again only repeats itself: it has come back to where it was, and
//! nothing has changed. Then it need not go on before something does.
//!
//! Paper: Fair Stateless Model Checking (PLDI 2008), section 2: what a yield says of a loop. There the repetition is
//! guessed from the yields alone, and executions are lost in which a thread that yields goes on before the others.
//!
//! The state of an execution is one number, a sum of one for each thread and one for each variable:
//!
//! 1. A thread's is that of what it has done: each operation is mixed in with the number of the variable that it finds.
//!    So it grows without end; but at a yield it becomes the number of what is on the thread's stack and in the registers
//!    that a call preserves: all that the code of the thread goes on with, but for the heap, see 4.
//! 2. A variable's is that of its value where that is known (atomics); else each operation that may change it mixes in
//!    the number of the thread. Who finds that it changed nothing says so; and a lock that is given back is as before it
//!    was taken if nobody has written to what it protects.
//! 3. A thread that has given way and would go on from a state from which it went on before would do the same again, and
//!    all that can follow can follow the first time at no higher cost. It waits until another thread has made a step.
//! 4. What a thread counts on the heap is not seen. So where a repetition is met for the first time at a line, with such
//!    operations on such values, the thread runs on by itself for [`ROUNDS`] rounds ([`Loops`]). If it leaves the loop,
//!    repetition there is never taken for one again, and the thread counts as another one after each round; and the
//!    check begins anew, because that execution has gone astray.
//! 5. If all threads that could go on repeat themselves, they go on in turn. What follows then can follow the first time, so
//!    that from there on no operation deviates from sequential consistency: in the end every load finds the newest store.

use super::{Object, Op, Refine};
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// Rounds that a thread makes by itself where a repetition is met for the first time.
pub(super) const ROUNDS: u32 = 1000;

/// Operations that it may make in these.
const OPERATIONS: u32 = 100_000;

/// Rounds of a loop that are told apart. One with more may get on by itself, for all that is known.
const DIFFERENT: usize = 100;

/// What is known of the loops of a test, by the lines at which they give way; shared by all executions of a check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loops(Arc<Mutex<HashMap<usize, Known>>>);

/// What is known of a loop.
#[derive(Debug)]
enum Known {
    /// Whoever goes round so waits.
    Waits(HashSet<u64>),
    Advances,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loop {
    /// Who repeats itself there does so until somebody else does something.
    Waits,
    /// Who seems to repeat itself there may get on by itself.
    Advances,
}

impl Loops {
    fn key(at: &'static Location<'static>) -> usize {
        std::ptr::from_ref(at) as usize
    }

    /// What is known of a round of the loop.
    pub(super) fn get(&self, at: &'static Location<'static>, round: u64) -> Option<Loop> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&Loops::key(at))? {
            Known::Advances => Some(Loop::Advances),
            Known::Waits(rounds) if rounds.contains(&round) => Some(Loop::Waits),
            Known::Waits(rounds) => (rounds.len() >= DIFFERENT).then_some(Loop::Advances),
        }
    }

    /// Whether threads may get on by themselves there.
    pub(super) fn advances(&self, at: &'static Location<'static>) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(known.get(&Loops::key(at)), Some(Known::Advances))
    }

    pub(super) fn learn(&self, at: &'static Location<'static>, round: u64, is: Loop) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(Loops::key(at)).or_insert_with(|| Known::Waits(HashSet::new()));
        match (is, known) {
            (Loop::Advances, known) => *known = Known::Advances,
            (Loop::Waits, Known::Waits(rounds)) => {
                rounds.insert(round);
            }
            (Loop::Waits, Known::Advances) => {}
        }
    }
}

/// A thread that runs on by itself in a loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub at: &'static Location<'static>,
    pub round: u64,
    state: u64,
    rounds: u32,
    operations: u32,
}

/// The state of an execution as numbers.
#[derive(Debug, Default)]
pub(super) struct States {
    threads: Vec<u64>,
    variables: Vec<u64>,
    /// Small values of variables whose value is known, for [`Loops`]: others may be addresses, which no two executions
    /// have in common.
    values: Vec<u32>,
    /// For each thread, the operations that it has done since it last gave way, and the values that they found.
    rounds: Vec<u64>,
    sum: u64,
    /// From where threads went on after they had given way.
    left: HashSet<(usize, u64)>,
    /// Locks that are held, by holder: before they were taken and since.
    held: HashMap<(usize, usize), (u64, u64)>,
    /// The last change, which may turn out to be none.
    changed: (usize, u64),
    pub trial: Option<Trial>,
}

impl States {
    pub fn clear(&mut self) {
        let States { threads, variables, values, rounds, sum, left, held, changed, trial } = self;
        threads.clear();
        variables.clear();
        values.clear();
        rounds.clear();
        left.clear();
        held.clear();
        *sum = 0;
        *changed = (0, 0);
        *trial = None;
    }

    /// The state of everything, at a time.
    pub fn state(&self, now: std::time::Duration) -> u64 {
        mix(self.sum, now.as_nanos() as u64)
    }

    fn variable(&self, variable: usize) -> u64 {
        self.variables.get(variable).copied().unwrap_or(0)
    }

    fn set_variable(&mut self, variable: usize, value: u64) {
        if variable >= self.variables.len() {
            self.variables.resize(variable + 1, 0);
        }
        let name = mix(1, variable as u64);
        let old = std::mem::replace(&mut self.variables[variable], value);
        // A variable that nobody has touched counts as nothing.
        let part = |value: u64| if value == 0 { 0 } else { mix(name, value) };
        self.sum = self.sum.wrapping_sub(part(old)).wrapping_add(part(value));
    }

    fn set_thread(&mut self, thread: usize, value: u64) {
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, 0);
        }
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
    }

    /// A thread was told something.
    pub fn learns(&mut self, thread: usize, what: u64) {
        self.set_thread(thread, mix(self.thread(thread), what));
    }

    /// An operation of a thread finds an older store.
    pub fn deviates(&mut self, thread: usize, newer: u32) {
        self.learns(thread, newer.into());
        let round = self.round(thread);
        *round = mix(*round, newer.into());
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
        let next = mix(mix(self.thread(thread), place ^ (op.name.as_ptr() as u64).rotate_left(32)), found);
        self.set_thread(thread, next);
        let value = variable.and_then(|v| self.values.get(v)).copied().unwrap_or(0);
        let round = self.round(thread);
        *round = mix(mix(*round, place), value.into());
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

    /// The value that a variable has now.
    pub fn value_is(&mut self, variable: usize, value: u64) {
        self.set_variable(variable, mix(value, 5) | 1);
        if variable >= self.values.len() {
            self.values.resize(variable + 1, 0);
        }
        self.values[variable] = u32::try_from(value).unwrap_or(0);
    }

    /// A variable whose value is known has older values that can be found.
    pub fn remains(&mut self, variable: usize, there: &[(u64, Ordering)]) {
        if there.len() > 1 {
            let value = self.variable(variable);
            let number = there.iter().fold(value, |number, (value, order)| mix(mix(number, *value), *order as u64));
            self.set_variable(variable, number | 1);
        }
    }

    /// What the thread has done since it last gave way.
    pub fn round(&mut self, thread: usize) -> &mut u64 {
        if thread >= self.rounds.len() {
            self.rounds.resize(thread + 1, 0);
        }
        &mut self.rounds[thread]
    }

    /// The last operation has taken a lock.
    pub fn holds(&mut self, thread: usize) {
        let (lock, before) = self.changed;
        self.held.insert((thread, lock), (before, self.variable(lock)));
    }

    /// What a lock protects may have been changed.
    pub fn touches(&mut self, thread: usize, lock: usize) {
        self.held.remove(&(thread, lock));
    }

    /// The last operation has given a lock back.
    pub fn gives_back(&mut self, thread: usize) {
        let (lock, value) = self.changed;
        if let Some((before, _)) = self.held.remove(&(thread, lock)).filter(|(_, since)| *since == value) {
            self.set_variable(lock, before);
        }
    }

    /// The thread has given way here; `top` is where its stack begins.
    pub fn gives_way(&mut self, thread: usize, here: Here, top: usize) {
        let place = here.number(top).map_or_else(|| mix(self.thread(thread), 6), |place| mix(place, 7));
        self.set_thread(thread, place);
    }

    /// The thread has given way where it may get on by itself, so that it is never again as it was.
    pub fn gets_on(&mut self, thread: usize) {
        self.set_thread(thread, mix(self.thread(thread), 8));
    }

    /// The thread goes on after it gave way.
    pub fn goes_on(&mut self, thread: usize, now: std::time::Duration) {
        *self.round(thread) = 0;
        let state = self.state(now);
        self.left.insert((thread, state));
    }

    /// Whether it went on from such a state before.
    pub fn repeats(&self, thread: usize, now: std::time::Duration) -> bool {
        self.left.contains(&(thread, self.state(now)))
    }

    pub fn try_out(&mut self, at: &'static Location<'static>, round: u64, now: std::time::Duration) {
        self.trial = Some(Trial { at, round, state: self.state(now), rounds: ROUNDS, operations: OPERATIONS });
    }

    /// What another operation of the thread that is tried out says of the loop.
    pub fn tried(&mut self) -> Option<Loop> {
        let trial = self.trial.as_mut()?;
        trial.operations = trial.operations.saturating_sub(1);
        (trial.operations == 0).then_some(Loop::Advances)
    }

    /// What another round says of it.
    pub fn went_round(&mut self, now: std::time::Duration) -> Option<Loop> {
        let state = self.state(now);
        let trial = self.trial.as_mut()?;
        trial.rounds -= 1;
        match () {
            () if trial.state != state => Some(Loop::Advances),
            () if trial.rounds == 0 => Some(Loop::Waits),
            () => None,
        }
    }
}

/// Calls `f` with the state as numbers and the current thread, where repetition is recognized.
#[inline]
fn with_states(f: impl FnOnce(&mut States, usize)) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::YIELDS) {
            f(&mut rt.states, rt.current);
        }
    });
}

/// The operation that was just done has changed nothing.
#[inline]
pub(crate) fn unchanged() {
    with_states(|states, _| states.unchanged());
}

/// The value that an object has now, as a number.
#[inline]
pub(crate) fn value_is(object: &Object, value: impl FnOnce() -> u64) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::YIELDS) {
            let object = object.id_in(rt) as usize;
            rt.states.value_is(object, value());
        }
    });
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
            rt.states.touches(rt.current, lock);
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
    // SAFETY: as in `with`; the reference is not used over `point`.
    unsafe {
        (*rt).sees(Refine::YIELDS);
        let again = (&mut *rt).gives_way_again(at, here);
        if !again {
            super::point(Op::local(name, at));
            (&mut *rt).gives_way(at, here);
        }
    }
}

/// Two numbers in order as one.
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd1b5_4a32_d192_ed03);
    let folded = (product >> 64) as u64 ^ product as u64;
    folded.wrapping_add(a.rotate_left(17)) ^ b.rotate_left(41)
}

/// A place in the code of a thread: what a function was called with that is never inlined and looks here first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here {
    /// The registers that a call preserves; `None` where nobody has written down which these are.
    registers: Option<[u64; 6]>,
    /// An address in the frame of the function, below what it has saved.
    frame: usize,
}

impl Here {
    /// The place of the function that calls this.
    #[inline(always)]
    pub fn new() -> Here {
        let anchor = 0u64;
        let frame = std::ptr::from_ref(std::hint::black_box(&anchor)) as usize;
        Here { registers: registers(), frame }
    }

    /// A number for what the code goes on with: the registers, and its stack below `top`.
    fn number(self, top: usize) -> Option<u64> {
        let mut number = self.registers?.into_iter().fold(0, mix);
        let mut at = (self.frame + 8) & !7;
        while at + 8 <= top {
            // SAFETY: from a frame to the top is the stack that the caller runs on; what is there is only read.
            number = mix(number, unsafe { std::ptr::read_volatile(at as *const u64) });
            at += 8;
        }
        Some(number)
    }
}

#[cfg(all(target_arch = "x86_64", unix, not(miri)))]
#[inline(always)]
fn registers() -> Option<[u64; 6]> {
    let (rbx, rbp, r12, r13, r14, r15): (u64, u64, u64, u64, u64, u64);
    // SAFETY: registers are only read.
    unsafe {
        std::arch::asm!("mov {}, rbx", "mov {}, rbp", out(reg) rbx, out(reg) rbp, options(nomem, nostack));
        std::arch::asm!("mov {}, r12", "mov {}, r13", out(reg) r12, out(reg) r13, options(nomem, nostack));
        std::arch::asm!("mov {}, r14", "mov {}, r15", out(reg) r14, out(reg) r15, options(nomem, nostack));
    }
    Some([rbx, rbp, r12, r13, r14, r15])
}

#[cfg(not(all(target_arch = "x86_64", unix, not(miri))))]
#[inline(always)]
fn registers() -> Option<[u64; 6]> {
    None
}
