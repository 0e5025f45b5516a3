//! One execution of a test: its threads, which are fibers of one operating system thread, and the scheduling points at
//! which they give control back.
//!
//! A thread *announces* each operation on shared state ([`point`]) and does it when the scheduler picks the thread. So a
//! step of the execution is an announced operation and all that follows it up to the next announcement. What cannot be
//! told apart from being done earlier is not announced: the beginning of a thread up to its first operation is run by
//! its `spawn`, its end belongs to its last step, and reference counts belong to the step before, unless some operation
//! of the test observes them ([`Refine`]). Releases are operations like others: a thread that is preempted in front of
//! one makes others wait, and it costs nothing to switch away from who waits.

mod abandoned;
mod again;
mod ahead;
mod clock;
mod clocks;
mod count;
mod edges;
mod ending;
mod execution;
mod failure;
mod fair;
mod fiber;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
mod flow;
mod here;
mod history;
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
mod instruction;
mod lasting;
mod limit;
mod livelock;
mod locals;
#[cfg(target_os = "linux")]
mod look;
mod loops;
mod memory;
mod moved;
mod object;
mod old_values;
mod op;
mod orders;
#[cfg(target_os = "linux")]
mod overflow;
mod panics;
#[cfg(target_os = "linux")]
mod places;
mod point;
mod proofs;
#[cfg(test)]
mod pruned;
mod record;
mod remains;
mod repetition;
mod sc_order;
mod settings;
mod state;
mod time_passes;
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64", not(miri))), path = "no_trial.rs")]
mod trial;
mod unwinding;
mod used;
mod watch;
#[cfg_attr(not(all(target_os = "linux", target_pointer_width = "64", not(miri))), path = "no_words.rs")]
mod words;

pub(crate) use clock::Did;
pub(crate) use clocks::{Moment, Race, Touched};
pub use edges::Left;
pub(crate) use edges::{comes_after, comes_before, comes_between, leaves, reads, takes};
pub(crate) use ending::{finish, wait_for};
pub(crate) use execution::Execution;
pub(crate) use failure::{Failure, LeftOut, SHARED};
pub(crate) use fiber::{Job, usual_stack};
pub(crate) use here::Here;
pub(crate) use lasting::{begins_lasting, ends_lasting, has_lasted};
pub(crate) use limit::Limit;
pub(crate) use locals::{Locals, local};
pub(crate) use loops::Loops;
pub(crate) use memory::{Found, Kind, Watched, Ways, does, edges, edges_of, fence, find, forgotten, made, watched};
pub(crate) use object::{Inside, Object, Renew, begins as check_begins, is_over as check_is_over};
pub(crate) use op::{Edges, Holder, Op};
pub(crate) use orders::{Order, Orders};
pub(crate) use panics::{Panic, capture_panics, note_panic, text_of};
pub(crate) use point::point;
pub(crate) use record::Recorder;
pub use repetition::Change;
pub(crate) use repetition::{
    address_is, changes, give_way, gives_back, holds, is_alone, last_change, lists, touches, unchanged, undoes,
    value_is,
};
pub(crate) use settings::{LeavesOut, Refine, Settings};
pub(crate) use trial::{aside, counting};
pub(crate) use unwinding::{ELSEWHERE, catch, catch_all, halt, is_abandoned};
pub(crate) use watch::IS_INTERRUPTED;

use again::Decision;
use ahead::Waiting;
use clocks::Clocks;
use fabius_explore::ahead::Ahead;
use fabius_explore::system::{Access, Born, Choose, FoundStore, TaskId, end_of};
use fair::Fair;
use fiber::{Exit, Fiber, Idle, Outside};
use history::Word;
use loops::Round;
use old_values::OldValues;
use repetition::States;
use smallvec::SmallVec;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::panic::Location;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Unwinds the threads of an execution that is not continued.
struct Abandoned;

pub(crate) struct Thread {
    fiber: Option<Box<Fiber>>,
    exit: Exit,
    /// What it does next: on the stack of the fiber, which waits; null before that and after the end.
    op: *const Op,
    /// While it waits: an address on its stack below all frames of the test.
    lowest: usize,
    pub finished: bool,
    /// Its function has returned, and destructors of thread-local values may still run.
    pub returned: bool,
    /// Its operation gave up waiting.
    pub timed_out: bool,
    /// It has given way, and has made no step since.
    pub gave_way: bool,
    /// How often it has given way, where a search leaves something out because of that.
    times_gave_way: u32,
    /// Where its stack begins.
    top: usize,
    /// How often it has given way without having made a step.
    idle: u32,
    /// The step with which it last went on after it had given way.
    went_on: u32,
    /// How often it has given way and gone on, since it last repeated itself.
    rounds: u32,
    /// How many rounds it has begun at each line.
    rounds_at: SmallVec<[(&'static Location<'static>, u32); 1]>,
    /// What `unpark` leaves for `park`.
    pub token: bool,
    /// Chosen by the `notify` of a condition variable.
    pub notified: bool,
    /// Initializers of `Once` and the like that it runs.
    pub in_once: u32,
    /// How many operations it has done that no destructor did, since the execution was given up.
    pub catches: u32,
    pub name: Option<Arc<str>>,
    pub locals: Locals,
    /// The keys of those that have been destroyed.
    pub ending: Vec<usize>,
    pub spawned_at: &'static Location<'static>,
    /// Who has joined it.
    pub joined_by: Option<usize>,
    /// An object that stands for the thread itself: its park token.
    pub object: Object,
}

impl Thread {
    /// What it does next; `None` if it has finished.
    #[inline]
    pub fn op(&self) -> Option<&Op> {
        // SAFETY: the operation is on the stack of a fiber that waits in `point`.
        unsafe { self.op.as_ref() }
    }

    /// Whether its function has returned.
    pub fn has_returned(&self) -> bool {
        self.finished || self.returned
    }
}

/// One execution.
pub(crate) struct Rt {
    pub threads: Vec<Thread>,
    /// For threads to come, also of later executions.
    idle: Idle,
    pub current: usize,
    waiting: Waiting,
    /// Whether the step did anything that the explorer must know, but for its announced operation and the threads that it made.
    dirty: bool,
    /// What may be done without asking.
    pub ahead: Ahead,
    /// Whether the current thread makes the next step, which another one has left to it.
    hands_over: bool,
    /// Who makes the next step, whoever else can go on.
    straight_on: Option<usize>,
    /// Whether the last step has tried something out, which takes long.
    pub has_tried: bool,
    /// Whether nothing is tried out any more: the execution is only brought to its end.
    pub hurries: bool,
    /// Tells executions apart; objects belong to one.
    pub epoch: u64,
    pub objects: u32,
    /// Virtual time since the beginning.
    pub now: Duration,
    /// What the scheduler has decided so far, as a number.
    decisions: u64,
    /// Steps so far, and the last of them, once it looks as if there were no end.
    steps: u32,
    recent: livelock::Places,
    patience: livelock::Patience,
    /// What all only repeat, if they do.
    circle: Option<livelock::Circle>,
    /// Whether some operation may give up waiting.
    pub has_deadlines: bool,
    /// How many beginnings of threads are being run inside one another.
    beginnings: u32,
    pub abandoned: bool,
    pub settings: Settings,
    want_accesses: bool,
    accesses: Vec<Access>,
    born: Vec<Born>,
    choose: Option<*mut dyn Choose>,
    /// What the test looked at.
    pub observed: Refine,
    pub panics: Vec<Panic>,
    pub failure: Option<Failure>,
    /// Why the execution cannot go on though the test has not failed.
    pub limit: Option<Limit>,
    pub recorder: Recorder,
    /// What a record of messages must know.
    pub orders: Option<Box<Orders>>,
    /// Values that live as long as the execution.
    pub statics: HashMap<usize, Rc<dyn Any>>,
    clocks: Clocks,
    /// How often operations on atomics have deviated, and whether they would have more often.
    pub deviations: u32,
    pub kept_from_deviating: bool,
    /// What the last operation on an atomic has found.
    pub found: FoundStore,
    /// Whether an operation had an ordering weaker than `SeqCst`; noticed where somebody looks at operations.
    pub is_weaker: bool,
    /// Whether a thread has gone on from where it was before: what can follow has been seen from there.
    has_been_here: bool,
    /// In a trial: the oldest stores that the thread can find, if that is tried out; and what is known of the round if it
    /// finds the newest.
    oldest: Vec<(usize, Word)>,
    usual_round: Option<Round>,
    /// A number for where the thread gave way that is tried out.
    tried_from: Option<u64>,
    /// Who finds old values in loops.
    old_values: OldValues,
    /// Whether an atomic has more stores than are kept.
    pub forgets_stores: bool,
    pub race: Option<Race>,
    /// Accesses to cells that have begun and not ended: who, to which, in which step. On the thread's stack the number of a step
    /// would make every state another one.
    lasting: Vec<(u32, u32, u32)>,
    states: States,
    pub loops: Loops,
    /// It is being tried out what the running thread does next.
    alone: bool,
    /// What was to be done otherwise.
    before_trial: Settings,
    /// The execution has learnt something of the test's loops with which the check must begin anew.
    pub astray: bool,
    fair: Fair,
    /// What has not been explored.
    pub left_out: Cell<Option<LeftOut>>,
    /// The numbers of objects that were there before the execution, as far as is known: statics, and what earlier ones used.
    outlive: Vec<u32>,
    /// How many guards there are of such.
    held_on: u32,
    /// Values owned by [`crate::sync::Arc`] and tracked allocations that are alive.
    pub owned: BTreeMap<u64, (&'static str, &'static Location<'static>)>,
    pub next_owned: u64,
    /// Destructors of last owners that are running.
    pub last_drops: u32,
}

thread_local! {
    static RT: Cell<*mut Rt> = const { Cell::new(ptr::null_mut()) };
    #[allow(clippy::vec_box, reason = "an execution under way must not move")]
    static SPARE: RefCell<Vec<Box<Rt>>> = const { RefCell::new(Vec::new()) };
}

/// Steps that are remembered of an execution without end.
const RECENT: u32 = 200;

/// The execution that the caller is part of.
#[inline]
pub(crate) fn current() -> *mut Rt {
    RT.get()
}

/// Calls `f` with the execution that the caller is part of. `f` must not reach a scheduling point.
#[inline]
pub(crate) fn with<R>(f: impl FnOnce(&mut Rt) -> R) -> Option<R> {
    let rt = RT.get();
    // SAFETY: the pointer is valid while it is set, and no other reference is alive: none is held over a point.
    (!rt.is_null()).then(|| f(unsafe { &mut *rt }))
}

/// Calls `f` with the execution, with a clear message if there is none.
#[track_caller]
pub(crate) fn must<R>(f: impl FnOnce(&mut Rt) -> R) -> R {
    must_at(Location::caller(), f)
}

/// The same for what is used there.
pub(crate) fn must_at<R>(at: &Location<'_>, f: impl FnOnce(&mut Rt) -> R) -> R {
    match with(f) {
        Some(result) => result,
        None => panic!("what is used at {at} works only inside of a check (`fabius::check`, `loom::model`, ..)"),
    }
}

/// A part of an operation that is a point of its own only if the test looks at such.
#[inline]
pub(crate) fn part(op: Op, seen_by: Refine) {
    if with(|rt| rt.settings.refine.contains(seen_by)) == Some(true) {
        point(op);
    } else {
        if let Refine::RELEASES | Refine::RECEIVERS = seen_by {
            with(|rt| rt.put_in_order(&op));
        }
        also(op);
    }
}

/// A part of the operation that is being done.
#[inline]
pub(crate) fn also(op: Op) {
    with(|rt| {
        if rt.abandoned {
            return;
        }
        let me = rt.current;
        if rt.want_accesses && !rt.alone {
            rt.log(op.variable, op.changes(rt), true);
        }
        rt.does(me, &op);
        if rt.settings.record {
            rt.recorder.operation(me, &op);
        }
    });
}

/// Notes that the test looks at something: the check begins anew if it has not reckoned with that.
#[inline]
pub(crate) fn observe(what: Refine) {
    with(|rt| rt.sees(what));
}

/// Writes down the value of the operation that was just done, if operations are written down.
#[inline]
pub(crate) fn note(text: impl FnOnce() -> String) {
    with(|rt| {
        if rt.settings.record {
            let text = text();
            rt.recorder.note(rt.current, text);
        }
    });
}

/// One of so many alternatives, decided by the search.
pub(crate) fn choose(alternatives: u32) -> u32 {
    with(|rt| match rt.choose {
        Some(choose) if alternatives > 1 && !rt.abandoned => {
            rt.leaves_the_loop();
            rt.ahead.steps = 0;
            // SAFETY: the pointer is valid during the step, and a choice is made only in one.
            let chosen = unsafe { (*choose).choose(alternatives) };
            rt.decides(Decision::Chooses(chosen));
            if rt.settings.refine.contains(Refine::YIELDS) {
                rt.states.learns(rt.current, u64::from(chosen));
            }
            chosen
        }
        _ => 0,
    })
    .unwrap_or(0)
}

/// Who of so many at a barrier is told apart: the last to arrive, as std has it today, and the others where the test looks at that.
pub(crate) fn who_leads(count: usize) -> usize {
    let matters = with(|rt| rt.settings.refine.contains(Refine::LEADERS)) == Some(true);
    count - if matters { choose(count as u32) as usize } else { 0 }
}

/// The same for what the test leaves open, and not the order of messages.
pub(crate) fn choose_freely(alternatives: u32, at: &'static Location<'static>) -> u32 {
    with(|rt| rt.orders.as_mut().filter(|_| alternatives > 1).map(|orders| orders.chosen(at)));
    choose(alternatives)
}

/// An access to tracked memory, which is not a scheduling point.
#[inline]
pub(crate) fn data(object: &Object, write: bool, moment: Moment, at: &'static Location<'static>) {
    let rt = RT.get();
    if rt.is_null() {
        return;
    }
    // SAFETY: as in `with`.
    let this = unsafe { &mut *rt };
    if this.last_drops > 0 {
        this.sees(Refine::COUNTS);
    }
    if !this.settings.refine.contains(Refine::RACES) && !this.alone {
        this.sees(Refine::RACES);
        return;
    }
    if this.abandoned {
        return;
    }
    let variable = object.id_in(this);
    let (name, me) = (if write { "write" } else { "read" }, this.current);
    if this.settings.refine.contains(Refine::YIELDS) {
        // What is in the cell is memory, which is looked at as such.
        trial::aside(|| this.states.operation(me, &Op::local(name, at)));
    }
    if this.alone {
        return;
    }
    if let Some(orders) = &mut this.orders {
        orders.touch(me, variable.into(), write, name, at);
    }
    if this.want_accesses {
        this.log(variable.into(), write, false);
    }
    if let Err(race) = this.clocks.data((this.current, variable as usize), write, moment, at) {
        this.has_raced(race, "data race: two accesses to a cell that nothing orders", at);
    }
}

/// What is known of a thread before it begins.
pub(crate) struct Beginning<'a> {
    pub job: Job<'a>,
    pub name: Option<Arc<str>>,
    /// Bytes of its stack.
    pub stack: usize,
    pub at: &'static Location<'static>,
}

/// Makes a thread and runs its beginning. Returns its number. Only inside of an execution.
#[inline(always)]
pub(crate) fn spawn(beginning: Beginning<'_>) -> usize {
    let rt = RT.get();
    let Beginning { job, name, stack, at } = beginning;
    let (id, parent) = match make_thread(rt, job, name, stack, at) {
        Ok(made) => made,
        Err(error) => return limit::no_memory(stack, &error),
    };
    // SAFETY: as in `with`: no reference is held while the thread runs.
    unsafe {
        run(rt, id);
        let this = &mut *rt;
        this.beginnings -= 1;
        this.current = parent;
    }
    id
}

/// Makes a thread that is about to begin: its number, and that of the one that runs. Or why there is no memory for its stack.
#[inline(never)]
fn make_thread(
    rt: *mut Rt,
    job: Job<'_>,
    name: Option<Arc<str>>,
    stack: usize,
    at: &'static Location<'static>,
) -> Result<(usize, usize), std::io::Error> {
    // SAFETY: it is resumed at once, by `spawn`.
    let (fiber, exit) = unsafe { Fiber::start(job, stack, &mut (*rt).idle, abandoned::give_back) }?;
    let top = fiber.top();
    // SAFETY: as in `with`: no reference is held while the thread runs.
    unsafe {
        let this = &mut *rt;
        this.leaves_the_loop();
        let id = this.threads.len();
        if this.settings.refine.contains(Refine::YIELDS) {
            this.states.born(this.current, id);
        }
        if this.settings.refine.contains(Refine::RACES) && id > 0 {
            this.clocks.born(this.current, id);
        }
        this.threads.reserve(1);
        // Where it stays: to copy it there takes longer than to make it.
        this.threads.spare_capacity_mut()[0].write(Thread {
            fiber: Some(fiber),
            exit,
            op: ptr::null(),
            lowest: 0,
            finished: false,
            returned: false,
            timed_out: false,
            gave_way: false,
            times_gave_way: 0,
            top,
            idle: 0,
            went_on: 0,
            rounds: 0,
            rounds_at: SmallVec::new(),
            token: false,
            notified: false,
            in_once: 0,
            catches: 0,
            name,
            locals: Vec::new(),
            ending: Vec::new(),
            spawned_at: at,
            joined_by: None,
            object: Object::new(),
        });
        // SAFETY: there are so many.
        this.threads.set_len(id + 1);
        if this.want_accesses && id > 0 {
            this.log(end_of(id as TaskId), true, true);
        }
        this.born.push(Born { task: id as TaskId, buffer: id as TaskId, level: 0 });
        let parent = std::mem::replace(&mut this.current, id);
        if let Some(orders) = &mut this.orders {
            orders.spawned(parent, id);
        }
        this.beginnings += 1;
        this.ahead.not_quickly();
        Ok((id, parent))
    }
}

/// Lets a thread run to its next point or its end.
///
/// # Safety
/// `rt` is the current execution, and nobody holds a reference into it.
#[inline(always)]
unsafe fn run(rt: *mut Rt, id: usize) {
    // SAFETY: by the contract.
    unsafe {
        resume_from(rt, id, &Outside::here());
        takes_back(rt, id);
    }
}

/// The same, from here; if it has finished, its stack must be taken back.
///
/// # Safety
/// As for `run`.
#[inline(always)]
unsafe fn resume_from(rt: *mut Rt, id: usize, here: &Outside) {
    // SAFETY: no reference is held while the thread runs.
    unsafe {
        let fiber = (&mut *rt).threads[id].fiber.as_mut().expect("a thread that has not finished has a fiber");
        let fiber: *mut Fiber = &mut **fiber;
        (*fiber).resume(here);
    }
}

/// Takes back the stack of a thread that has run, if it has finished.
///
/// # Safety
/// As for `run`.
#[inline(always)]
unsafe fn takes_back(rt: *mut Rt, id: usize) {
    // SAFETY: by the contract.
    let this = unsafe { &mut *rt };
    let thread = &mut this.threads[id];
    if thread.finished
        && let Some(fiber) = thread.fiber.take()
    {
        this.idle.add(fiber);
    }
}

/// Panics inside of an execution: one has no room for another.
#[track_caller]
pub(crate) fn must_be_outside(what: &str) {
    assert!(RT.get().is_null(), "`{what}` must not be called inside of `fabius::check`");
}

/// Runs `f` as part of an execution.
fn inside(rt: *mut Rt, choose: &mut dyn Choose, f: impl FnOnce()) {
    must_be_outside("fabius::check");
    let choose: *mut (dyn Choose + '_) = choose;
    // SAFETY: `rt` is valid and not referred to; of `choose` only the lifetime changes, and it is forgotten before that
    // ends.
    unsafe {
        (*rt).choose = Some(std::mem::transmute::<*mut (dyn Choose + '_), *mut (dyn Choose + 'static)>(choose));
        RT.set(rt);
        f();
        RT.set(ptr::null_mut());
        (*rt).choose = None;
    }
}
