//! The scheduler of a whole system: what may be done at a dispatch point, and what it costs.

use crate::scheduler::{Buffers, Delayed, Given, Pick, Queue, View, is_deterministic};
use crate::system::{ANONYMOUS, Born, BufferId, DECLARED_BUFFER, End, Made, System, TaskId};
use fabius_trace::{Bound, SchedulerKind};
use std::cmp::Ordering;

/// Threads only: one base scheduler over them. Otherwise: task buffers.
#[derive(Debug, PartialEq, Eq)]
pub enum Dispatcher {
    /// Every task is a thread.
    Threads(Queue),
    /// Every thread is a buffer of its own.
    Buffers(Box<Buffers>),
}

/// What may be done at a dispatch point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// Run a task.
    Run(Pick),
    /// Put the scheduler's own pick behind the others (Delay-Bounded Scheduling, rule DELAY).
    Delay(Delayed),
}

/// Who ran last, as far as the cost of the next move depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Last {
    /// Nobody, or it does not matter: every move is free.
    Free,
    /// Somebody who cannot go on, where that costs: every move costs 1.
    Gone,
    /// This thread or buffer.
    Ran(BufferId),
    /// Where the round is, if rounds are counted: see `order.rs`.
    At(u32),
}

/// How a system compares two anonymous tasks; `None` if it cannot, and then every task differs from all others.
pub type Compare<S> = Option<fn(&S, &<S as System>::State, TaskId, TaskId) -> Ordering>;

/// A state as the schedulers see it.
pub struct Seen<'a, S: System> {
    /// The system.
    pub system: &'a S,
    /// One of its states.
    pub state: &'a S::State,
    /// How to compare anonymous tasks.
    pub compare: Compare<S>,
}

impl<S: System> View for Seen<'_, S> {
    fn ready(&self, task: TaskId) -> bool {
        self.system.ready(self.state, task)
    }

    fn gave_way(&self, task: TaskId) -> bool {
        self.system.gave_way(self.state, task)
    }

    fn same(&self, a: TaskId, b: TaskId) -> bool {
        a == b || self.compare(a, b) == Ordering::Equal
    }

    fn compare(&self, a: TaskId, b: TaskId) -> Ordering {
        match self.compare {
            Some(compare) if a & b & ANONYMOUS != 0 => compare(self.system, self.state, a, b),
            _ => a.cmp(&b),
        }
    }
}

impl Clone for Dispatcher {
    fn clone(&self) -> Dispatcher {
        match self {
            Dispatcher::Threads(q) => Dispatcher::Threads(q.clone()),
            Dispatcher::Buffers(bs) => Dispatcher::Buffers(bs.clone()),
        }
    }

    fn clone_from(&mut self, from: &Dispatcher) {
        match (self, from) {
            (Dispatcher::Threads(to), Dispatcher::Threads(from)) => to.clone_from(from),
            (to, from) => *to = from.clone(),
        }
    }
}

impl Dispatcher {
    /// Nothing is pending.
    pub fn new(kind: SchedulerKind, has_buffers: bool) -> Dispatcher {
        if has_buffers {
            Dispatcher::Buffers(Box::new(Buffers::new(kind)))
        } else {
            Dispatcher::Threads(Queue::new(kind))
        }
    }

    /// The memory, for another one of the same kind in which nothing is pending.
    pub fn cleared(mut self) -> Option<Dispatcher> {
        match &mut self {
            Dispatcher::Threads(Queue::Bag(bag)) => bag.clear(),
            _ => return None,
        }
        Some(self)
    }

    /// Tasks were born, in this order, while this buffer was running.
    pub fn born(&mut self, born: &[Born], running: Option<BufferId>, view: &impl View) {
        for b in born {
            match self {
                Dispatcher::Threads(q) => q.give(b.task, Given::Posted, view),
                Dispatcher::Buffers(bs) => {
                    bs.post(Pick { buffer: b.buffer, task: b.task }, b.level, running, view);
                }
            }
        }
    }

    /// Threads were born, and have finished, in steps that were made without asking.
    #[inline]
    pub fn went_ahead(&mut self, lives: &[Made], view: &impl View) {
        for made in lives {
            match *made {
                Made::Step { .. } | Made::Others(_) | Made::Untold(_) => {}
                Made::Born(task) => self.born(&[Born { task, buffer: task, level: 0 }], None, view),
                Made::Finished(task) => self.remove(Pick { buffer: task, task }),
            }
        }
    }

    /// Whether any thread may be next, and nothing else matters.
    #[inline]
    pub fn is_bag(&self) -> bool {
        matches!(self, Dispatcher::Threads(Queue::Bag(_)))
    }

    /// All threads, if any may be next and nothing else matters.
    #[inline]
    pub fn in_bag(&self) -> Option<&[TaskId]> {
        match self {
            Dispatcher::Threads(Queue::Bag(bag)) => Some(bag.pending()),
            _ => None,
        }
    }

    /// What starts by itself: if these are declared buffers, the first of them begins.
    pub fn start(&mut self, born: &[Born], view: &impl View) {
        self.born(born, None, view);
        if let (Dispatcher::Buffers(bs), Some(first)) = (&mut *self, born.first())
            && first.buffer >= DECLARED_BUFFER
        {
            bs.begin_with(first.buffer, view);
        }
        self.settle(view);
    }

    /// What starts by itself behind something that has run: any buffer may begin.
    pub fn start_behind(&mut self, born: &[Born], view: &impl View) {
        self.born(born, None, view);
        self.settle(view);
    }

    /// The tasks that may run next, in an order that depends on the value alone. The depth-first scheduler may pick
    /// one that is not ready; it is left out.
    pub fn runs(&self, view: &impl View, out: &mut Vec<Pick>) {
        match self {
            Dispatcher::Threads(q) => {
                let mut tasks = Vec::new();
                q.options(view, &mut tasks);
                out.extend(tasks.iter().map(|&task| Pick { buffer: task, task }));
            }
            Dispatcher::Buffers(bs) => bs.options(view, out),
        }
        out.retain(|p| view.ready(p.task));
    }

    /// What may be delayed.
    pub fn delays(&self, view: &impl View, out: &mut Vec<Delayed>) {
        match self {
            Dispatcher::Threads(q) if q.len() > 1 => {
                let mut tasks = Vec::new();
                q.options(view, &mut tasks);
                out.extend(tasks.into_iter().map(Delayed::Buffer));
            }
            Dispatcher::Threads(_) => {}
            Dispatcher::Buffers(bs) => bs.delays(view, out),
        }
    }

    /// Whether, after so many delays in a row, one more leads back to what was there before the first: all tasks that the scheduler
    /// could pick have been passed over. Only known of threads.
    pub fn has_passed_all(&self, delays: u32, view: &impl View) -> bool {
        let all = match self {
            Dispatcher::Threads(Queue::RoundRobin(q)) => q.pending().iter().filter(|t| view.ready(**t)).count(),
            Dispatcher::Threads(q) => q.len(),
            Dispatcher::Buffers(_) => return false,
        };
        delays as usize + 1 >= all
    }

    /// Takes a task; returns its level.
    pub fn take(&mut self, pick: Pick, view: &impl View) -> u8 {
        match self {
            Dispatcher::Threads(q) => {
                q.take(pick.task, view);
                0
            }
            Dispatcher::Buffers(bs) => bs.take(pick, view),
        }
    }

    /// A thread that was not taken has finished.
    pub fn remove(&mut self, pick: Pick) {
        match self {
            Dispatcher::Threads(q) => q.remove(pick.task),
            Dispatcher::Buffers(_) => {
                unreachable!("threads go on in the steps of others only where all tasks are threads")
            }
        }
    }

    /// Delays.
    pub fn delay(&mut self, delayed: Delayed, view: &impl View) {
        match (self, delayed) {
            (Dispatcher::Threads(q), Delayed::Buffer(task)) => {
                q.take(task, view);
                q.delay(task);
                q.settle();
            }
            (Dispatcher::Threads(_), Delayed::Task(_)) => unreachable!("threads are delayed as buffers"),
            (Dispatcher::Buffers(bs), delayed) => bs.delay(delayed, view),
        }
    }

    /// The task that was taken gives control back.
    pub fn give_back(&mut self, pick: Pick, level: u8, end: End, view: &impl View) {
        match self {
            Dispatcher::Threads(q) => {
                if !matches!(end, End::Finished | End::Dropped) {
                    q.give(pick.task, Given::Yielded, view);
                }
                q.settle();
            }
            Dispatcher::Buffers(bs) => bs.give_back(pick, level, end, view),
        }
    }

    /// Makes values equal that behave alike, where the next thing is a dispatch or a delay.
    pub(crate) fn settle(&mut self, view: &impl View) {
        match self {
            Dispatcher::Threads(q) => q.settle(),
            Dispatcher::Buffers(bs) => bs.settle(view),
        }
    }

    /// Whether no task is left.
    pub fn is_empty(&self) -> bool {
        match self {
            Dispatcher::Threads(q) => q.is_empty(),
            Dispatcher::Buffers(bs) => bs.is_empty(),
        }
    }

    /// Whether some task can go on, now or after delays.
    pub fn any_ready(&self, view: &impl View) -> bool {
        match self {
            Dispatcher::Threads(q) => q.any_ready(view),
            Dispatcher::Buffers(bs) => bs.any_ready(view),
        }
    }

    /// The threads or buffers that could go on if none kept control: to whom a fair scheduler gives it at last.
    pub fn ready_units(&self, view: &impl View, out: &mut Vec<BufferId>) {
        match self {
            Dispatcher::Threads(q) => {
                q.options(view, out);
                out.retain(|unit| view.ready(*unit));
            }
            Dispatcher::Buffers(bs) => bs.ready_buffers(view, out),
        }
    }

    /// Whether the thread or buffer can go on.
    pub fn unit_ready(&self, unit: BufferId, view: &impl View) -> bool {
        match self {
            Dispatcher::Threads(_) => view.ready(unit),
            Dispatcher::Buffers(bs) => bs.buffer_ready(unit, view),
        }
    }

    /// Whether the thread or buffer, one of whose tasks has just finished, has others.
    pub fn has_unit(&self, unit: BufferId) -> bool {
        match self {
            Dispatcher::Threads(_) => false,
            Dispatcher::Buffers(bs) => bs.contains(unit),
        }
    }

    /// Appends all tasks, in an order that depends on the value alone.
    pub fn tasks(&self, out: &mut Vec<TaskId>) {
        match self {
            Dispatcher::Threads(q) => q.pending(out),
            Dispatcher::Buffers(bs) => bs.tasks(out),
        }
    }

    /// Sorts what has no order of its own by what it is.
    pub(crate) fn sort(&mut self, view: &impl View) {
        match self {
            Dispatcher::Threads(q) => q.sort(view),
            Dispatcher::Buffers(bs) => bs.sort(view),
        }
    }

    /// Calls `rename` with every task, in the order of [`Dispatcher::tasks`].
    pub(crate) fn rename(&mut self, mut rename: impl FnMut(&mut TaskId)) {
        match self {
            Dispatcher::Threads(q) => q.rename(rename),
            Dispatcher::Buffers(bs) => bs.rename(&mut rename),
        }
    }

    /// Appends an encoding.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Dispatcher::Threads(q) => q.encode(out),
            Dispatcher::Buffers(bs) => bs.encode(out),
        }
    }

    /// Takes an encoding from the front.
    pub(crate) fn decode(&mut self, bytes: &mut &[u8]) {
        match self {
            Dispatcher::Threads(q) => q.decode(bytes),
            Dispatcher::Buffers(bs) => bs.decode(bytes),
        }
    }
}

/// What a move costs, but for rounds.
///
/// Papers: Iterative Context Bounding (PLDI 2007), section 2, for contexts and preemptions; Delay-Bounded Scheduling
/// (POPL 2011), section 3, for delays.
pub fn cost(bound: Bound, last: Last, mv: &Move) -> u32 {
    let unit = match mv {
        Move::Delay(_) => return 1,
        Move::Run(pick) => pick.buffer,
    };
    let costs = match (bound, last) {
        (Bound::None | Bound::Delays, _) => false,
        (Bound::Depth, _) => true,
        (Bound::Rounds, _) | (Bound::Contexts | Bound::Preemptions, Last::Free | Last::At(_)) => false,
        (Bound::Contexts | Bound::Preemptions, Last::Gone) => true,
        (Bound::Contexts | Bound::Preemptions, Last::Ran(last)) => last != unit,
    };
    u32::from(costs)
}

/// Who ran last, reduced to what the next cost depends on, but for rounds. `ran` is `None` at the very beginning.
pub fn last(bound: Bound, ran: Option<BufferId>, dispatcher: &Dispatcher, view: &impl View) -> Last {
    let Some(ran) = ran else { return Last::Free };
    match bound {
        Bound::None | Bound::Delays | Bound::Depth | Bound::Rounds => Last::Free,
        Bound::Preemptions if dispatcher.unit_ready(ran, view) && !view.gave_way(ran) => Last::Ran(ran),
        Bound::Preemptions => Last::Free,
        Bound::Contexts if dispatcher.unit_ready(ran, view) => Last::Ran(ran),
        Bound::Contexts => Last::Gone,
    }
}

/// Whether the next cost depends on who ran last.
pub fn depends_on_last(bound: Bound) -> bool {
    matches!(bound, Bound::Contexts | Bound::Preemptions | Bound::Rounds)
}

/// Appends all moves: those that run a task, then, if delays are counted, the delays.
pub fn moves(bound: Bound, kind: SchedulerKind, dispatcher: &Dispatcher, view: &impl View, out: &mut Vec<Move>) {
    if let Dispatcher::Threads(Queue::Bag(q)) = dispatcher {
        for &task in q.pending() {
            if view.ready(task) {
                out.push(Move::Run(Pick { buffer: task, task }));
            }
        }
        return;
    }
    let mut picks = Vec::new();
    dispatcher.runs(view, &mut picks);
    out.extend(picks.into_iter().map(Move::Run));
    if bound == Bound::Delays && is_deterministic(kind) {
        let mut delayed = Vec::new();
        dispatcher.delays(view, &mut delayed);
        out.extend(delayed.into_iter().map(Move::Delay));
    }
}
