//! A plain model of what tokio documents: all interleavings of a program, state by state. It shares nothing with what is
//! tested.

use super::program::{Log, Op, Program, Seen};
use std::collections::{BTreeSet, HashSet, VecDeque};

/// What a task waits for, or has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Thing {
    Permits(usize),
    Lock,
    Read,
    Write,
}

/// How far a task is with its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Begins,
    /// `notified()` was called when `notify_waiters` had been called so often.
    Made(u64),
    Waits {
        until: u64,
        time_is_up: bool,
    },
    /// It gives up, and drops what it waited with.
    Leaves,
    Ends,
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Task {
    next: usize,
    phase: Phase,
    has: VecDeque<Thing>,
    log: Log,
}

/// A queue of tasks, the first of which is served first.
type Queue<T> = VecDeque<(usize, T)>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    now: u64,
    tasks: Vec<Task>,
    permits: usize,
    /// With how many permits it still misses.
    permits_wanted: Queue<usize>,
    locked: bool,
    lock_wanted: Queue<()>,
    readers: usize,
    writer: bool,
    rw_wanted: Queue<Thing>,
    messages: VecDeque<usize>,
    places: usize,
    places_wanted: Queue<()>,
    senders: usize,
    closed: bool,
    notify_permit: bool,
    broadcasts: u64,
    notify_wanted: Queue<()>,
    /// Who was told, and whether by `notify_one`.
    notified: Vec<(usize, bool)>,
    /// Who has been given what it waited for and has not noticed.
    given: BTreeSet<usize>,
}

/// The outcomes of a program.
pub fn outcomes(program: &Program) -> BTreeSet<Vec<Log>> {
    let task = Task { next: 0, phase: Phase::Begins, has: VecDeque::new(), log: Vec::new() };
    let first = State {
        now: 0,
        tasks: vec![task; program.tasks.len()],
        permits: program.permits,
        permits_wanted: Queue::new(),
        locked: false,
        lock_wanted: Queue::new(),
        readers: 0,
        writer: false,
        rw_wanted: Queue::new(),
        messages: VecDeque::new(),
        places: program.capacity,
        places_wanted: Queue::new(),
        senders: program.tasks.len() - 1,
        closed: false,
        notify_permit: false,
        broadcasts: 0,
        notify_wanted: Queue::new(),
        notified: Vec::new(),
        given: BTreeSet::new(),
    };
    let (mut seen, mut work, mut outcomes) = (HashSet::from([first.clone()]), vec![first], BTreeSet::new());
    while let Some(state) = work.pop() {
        let able: Vec<usize> = (0..state.tasks.len()).filter(|task| state.is_able(program, *task)).collect();
        let mut follow: Vec<State> = able.iter().map(|task| state.clone().step(program, *task)).collect();
        if able.is_empty() {
            match state.clone().time_passes() {
                Some(later) => follow.push(later),
                None => {
                    assert!(state.tasks.iter().all(|task| task.phase == Phase::Over), "every wait has a limit");
                    outcomes.insert(state.tasks.iter().map(|task| task.log.clone()).collect());
                }
            }
        }
        for state in follow {
            if seen.insert(state.clone()) {
                work.push(state);
            }
        }
    }
    outcomes
}

impl State {
    fn is_able(&self, program: &Program, task: usize) -> bool {
        match self.tasks[task].phase {
            Phase::Over => false,
            Phase::Waits { time_is_up, .. } => time_is_up || self.is_answered(program, task),
            _ => true,
        }
    }

    /// Whether what the task waits for has come.
    fn is_answered(&self, program: &Program, task: usize) -> bool {
        match program.tasks[task][self.tasks[task].next] {
            Op::Receive(_) => !self.messages.is_empty() || self.is_over(program),
            Op::Send(_) => self.closed || self.given.contains(&task),
            Op::Notified(_) => self.notified.iter().any(|(of, _)| *of == task),
            Op::Sleep(_) => false,
            _ => self.given.contains(&task),
        }
    }

    fn is_over(&self, program: &Program) -> bool {
        self.messages.is_empty() && (self.senders == 0 || self.closed && self.places == program.capacity)
    }

    fn time_passes(mut self) -> Option<State> {
        let waits = |task: &Task| match task.phase {
            Phase::Waits { until, time_is_up: false } => Some(until),
            _ => None,
        };
        self.now = self.tasks.iter().filter_map(waits).min()?;
        for task in &mut self.tasks {
            if let Some(until) = waits(task).filter(|until| *until <= self.now) {
                task.phase = Phase::Waits { until, time_is_up: true };
            }
        }
        Some(self)
    }

    /// Serves those that wait, in their order.
    fn serve(&mut self) {
        while let Some((task, missing)) = self.permits_wanted.front_mut() {
            let given = self.permits.min(*missing);
            self.permits -= given;
            *missing -= given;
            if *missing > 0 {
                break;
            }
            self.given.insert(*task);
            self.permits_wanted.pop_front();
        }
        if !self.locked
            && let Some((task, ())) = self.lock_wanted.pop_front()
        {
            self.locked = true;
            self.given.insert(task);
        }
        while let Some((task, thing)) = self.rw_wanted.front() {
            let fits = !self.writer && (*thing == Thing::Read || self.readers == 0);
            if !fits {
                break;
            }
            self.readers += usize::from(*thing == Thing::Read);
            self.writer |= *thing == Thing::Write;
            self.given.insert(*task);
            self.rw_wanted.pop_front();
        }
        while !self.closed
            && self.places > 0
            && let Some((task, ())) = self.places_wanted.pop_front()
        {
            self.places -= 1;
            self.given.insert(task);
        }
    }

    fn give_back(&mut self, thing: Thing) {
        match thing {
            Thing::Permits(count) => self.permits += count,
            Thing::Lock => self.locked = false,
            Thing::Read => self.readers -= 1,
            Thing::Write => self.writer = false,
        }
        self.serve();
    }

    /// The operation is over.
    fn ends(&mut self, program: &Program, task: usize, seen: Option<Seen>) {
        let this = &mut self.tasks[task];
        this.log.extend(seen);
        this.next += 1;
        this.phase = if this.next == program.tasks[task].len() { Phase::Ends } else { Phase::Begins };
    }

    fn takes(&mut self, program: &Program, task: usize, thing: Thing) {
        self.tasks[task].has.push_back(thing);
        self.ends(program, task, Some(Seen::Done));
    }

    fn step(mut self, program: &Program, task: usize) -> State {
        match self.tasks[task].phase {
            Phase::Over => unreachable!("it is over"),
            Phase::Begins if program.tasks[task].is_empty() => self.tasks[task].phase = Phase::Ends,
            Phase::Begins | Phase::Made(_) => self.begins(program, task),
            Phase::Waits { .. } => self.goes_on(program, task),
            Phase::Leaves => self.leaves(program, task),
            // What it has is dropped in order, and its sender last; the first task drops the receiver.
            Phase::Ends => match self.tasks[task].has.pop_front() {
                Some(thing) => self.give_back(thing),
                None => {
                    if task == 0 {
                        self.closed = true;
                        self.places += self.messages.len();
                        self.messages.clear();
                    } else {
                        self.senders -= 1;
                    }
                    self.tasks[task].phase = Phase::Over;
                }
            },
        }
        self
    }

    fn waits(&mut self, task: usize, limit: Option<u64>) {
        let until = self.now + limit.expect("every wait has a limit");
        self.tasks[task].phase = Phase::Waits { until, time_is_up: false };
    }

    fn begins(&mut self, program: &Program, task: usize) {
        let done = Some(Seen::Done);
        let op = program.tasks[task][self.tasks[task].next];
        // Who finds nobody waiting and enough takes it; who does not stands behind those who wait.
        let wanted = match op {
            Op::Acquire(count, limit) => Some((Thing::Permits(count), limit)),
            Op::Lock(limit) => Some((Thing::Lock, limit)),
            Op::Read(limit) => Some((Thing::Read, limit)),
            Op::Write(limit) => Some((Thing::Write, limit)),
            _ => None,
        };
        if let Some((thing, limit)) = wanted {
            match thing {
                Thing::Permits(count) => self.permits_wanted.push_back((task, count)),
                Thing::Lock => self.lock_wanted.push_back((task, ())),
                Thing::Read | Thing::Write => self.rw_wanted.push_back((task, thing)),
            }
            self.serve();
            return match self.given.remove(&task) {
                true => self.takes(program, task, thing),
                false => self.waits(task, limit),
            };
        }
        match (op, self.tasks[task].phase) {
            (Op::TryAcquire, _) if self.permits > 0 => {
                self.permits -= 1;
                self.takes(program, task, Thing::Permits(1));
            }
            (Op::TryLock, _) if !self.locked => {
                self.locked = true;
                self.takes(program, task, Thing::Lock);
            }
            (Op::TryAcquire | Op::TryLock, _) => self.ends(program, task, Some(Seen::Refused)),
            (Op::AddPermit, _) => {
                self.permits += 1;
                self.serve();
                self.ends(program, task, None);
            }
            (Op::Release, _) => {
                if let Some(thing) = self.tasks[task].has.pop_front() {
                    self.give_back(thing);
                }
                self.ends(program, task, None);
            }
            (Op::Send(_) | Op::TrySend, _) if self.closed => self.ends(program, task, Some(Seen::Closed)),
            (Op::Send(_) | Op::TrySend, _) if self.places > 0 => {
                self.places -= 1;
                self.messages.push_back(task);
                self.ends(program, task, done);
            }
            (Op::TrySend, _) => self.ends(program, task, Some(Seen::Refused)),
            (Op::Send(limit), _) => {
                self.places_wanted.push_back((task, ()));
                self.waits(task, limit);
            }
            (Op::Receive(_) | Op::TryReceive, _) if !self.messages.is_empty() => self.receives(program, task),
            (Op::Receive(_) | Op::TryReceive, _) if self.is_over(program) => {
                self.ends(program, task, Some(Seen::Closed));
            }
            (Op::TryReceive, _) => self.ends(program, task, Some(Seen::Refused)),
            (Op::Close, _) => {
                self.closed = true;
                self.ends(program, task, None);
            }
            (Op::Notified(_), Phase::Begins) => self.tasks[task].phase = Phase::Made(self.broadcasts),
            (Op::Notified(_), Phase::Made(broadcasts)) if broadcasts != self.broadcasts => {
                self.ends(program, task, done)
            }
            (Op::Notified(_), _) if std::mem::take(&mut self.notify_permit) => self.ends(program, task, done),
            (Op::Notified(limit), _) => {
                self.notify_wanted.push_back((task, ()));
                self.waits(task, limit);
            }
            (Op::NotifyOne, _) => {
                self.tell_one();
                self.ends(program, task, None);
            }
            (Op::NotifyWaiters, _) => {
                self.broadcasts += 1;
                let told: Vec<_> = self.notify_wanted.drain(..).map(|(task, ())| (task, false)).collect();
                self.notified.extend(told);
                self.ends(program, task, None);
            }
            (Op::Receive(limit), _) => self.waits(task, limit),
            (Op::Sleep(time), _) => self.waits(task, Some(time)),
            (Op::Yield, _) => self.ends(program, task, None),
            _ => unreachable!("{op:?} was looked at"),
        }
    }

    fn tell_one(&mut self) {
        match self.notify_wanted.pop_front() {
            Some((task, ())) => self.notified.push((task, true)),
            None => self.notify_permit = true,
        }
    }

    fn receives(&mut self, program: &Program, task: usize) {
        let from = self.messages.pop_front().expect("there is one");
        self.places += 1;
        self.serve();
        self.ends(program, task, Some(Seen::Message(from)));
    }

    /// What it waited for has come, or time is up.
    fn goes_on(&mut self, program: &Program, task: usize) {
        let op = program.tasks[task][self.tasks[task].next];
        if !self.is_answered(program, task) {
            return match op {
                Op::Sleep(_) => self.ends(program, task, None),
                // A receiver that gives up leaves nothing.
                Op::Receive(_) => self.ends(program, task, Some(Seen::TimeUp)),
                _ => self.tasks[task].phase = Phase::Leaves,
            };
        }
        match op {
            Op::Acquire(count, _) => self.takes(program, task, Thing::Permits(count)),
            Op::Lock(_) => self.takes(program, task, Thing::Lock),
            Op::Read(_) => self.takes(program, task, Thing::Read),
            Op::Write(_) => self.takes(program, task, Thing::Write),
            Op::Receive(_) if self.messages.is_empty() => self.ends(program, task, Some(Seen::Closed)),
            Op::Receive(_) => self.receives(program, task),
            Op::Send(_) if self.closed => {
                // The place that it may have been given is free again; nobody can tell but the receiver.
                self.tasks[task].log.push(Seen::Closed);
                self.tasks[task].phase = Phase::Leaves;
                return;
            }
            Op::Send(_) => {
                self.messages.push_back(task);
                self.ends(program, task, Some(Seen::Done));
            }
            Op::Notified(_) => {
                self.notified.retain(|(of, _)| *of != task);
                self.ends(program, task, Some(Seen::Done));
            }
            _ => unreachable!("{op:?} does not wait"),
        }
        self.given.remove(&task);
    }

    /// It gives up: what it was given in the meantime goes to others.
    fn leaves(&mut self, program: &Program, task: usize) {
        let was_given = self.given.remove(&task);
        match program.tasks[task][self.tasks[task].next] {
            Op::Acquire(count, _) => {
                let position = self.permits_wanted.iter().position(|(other, _)| *other == task);
                let missing = position.and_then(|position| self.permits_wanted.remove(position)).map_or(0, |(_, m)| m);
                self.give_back(Thing::Permits(count - missing));
            }
            Op::Lock(_) => {
                self.lock_wanted.retain(|(other, ())| *other != task);
                if was_given {
                    self.give_back(Thing::Lock);
                }
            }
            Op::Read(_) if was_given => self.give_back(Thing::Read),
            Op::Write(_) if was_given => self.give_back(Thing::Write),
            Op::Read(_) | Op::Write(_) => {
                self.rw_wanted.retain(|(other, _)| *other != task);
                self.serve();
            }
            Op::Send(_) => {
                self.places_wanted.retain(|(other, ())| *other != task);
                self.places += usize::from(was_given);
                self.serve();
            }
            Op::Notified(_) => {
                self.notify_wanted.retain(|(other, ())| *other != task);
                let told = self.notified.iter().position(|(of, _)| *of == task).map(|at| self.notified.remove(at));
                if let Some((_, true)) = told {
                    self.tell_one();
                }
            }
            _ => unreachable!("it has nothing to leave"),
        }
        // Who found the channel closed has said so.
        let said = self.tasks[task].log.len() > self.logged(program, task);
        self.ends(program, task, (!said).then_some(Seen::TimeUp));
    }

    /// How many entries its earlier operations have made.
    fn logged(&self, program: &Program, task: usize) -> usize {
        let silent = |op: &&Op| {
            !matches!(
                op,
                Op::AddPermit | Op::Release | Op::Close | Op::NotifyOne | Op::NotifyWaiters | Op::Sleep(_) | Op::Yield
            )
        };
        program.tasks[task][..self.tasks[task].next].iter().filter(silent).count()
    }
}
