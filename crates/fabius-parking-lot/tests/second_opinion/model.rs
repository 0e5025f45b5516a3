//! A plain model of what parking_lot and lock_api document, state by state. It shares nothing with what is tested.

use super::program::{Limit, Log, Op, Program, Seen};
use std::collections::{BTreeSet, HashSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Guard {
    Reader,
    Upgradable,
    Writer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Begins,
    Waits {
        until: u64,
        time_is_up: bool,
    },
    /// It keeps others out, and waits for the readers that are there.
    Pending {
        until: u64,
        time_is_up: bool,
    },
    GivesUp,
    /// It waits for the condition, and still has the mutex.
    Registered(u64),
    /// It waits for the condition.
    Sleeps {
        until: u64,
        time_is_up: bool,
    },
    /// Time was up; it may still be woken.
    Leaves,
    /// It takes the mutex again, and says that.
    Relocks(Seen),
    Ends,
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thread {
    next: usize,
    phase: Phase,
    has_mutex: bool,
    guards: Vec<Guard>,
    log: Log,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    now: u64,
    threads: Vec<Thread>,
    locked: bool,
    waiting: BTreeSet<usize>,
    woken: BTreeSet<usize>,
    readers: usize,
    upgradable: bool,
    writer: bool,
}

/// The outcomes of a program.
pub fn outcomes(program: &Program) -> BTreeSet<Vec<Log>> {
    let thread = Thread { next: 0, phase: Phase::Begins, has_mutex: false, guards: Vec::new(), log: Log::new() };
    let first = State {
        now: 0,
        threads: vec![thread; program.len()],
        locked: false,
        waiting: BTreeSet::new(),
        woken: BTreeSet::new(),
        readers: 0,
        upgradable: false,
        writer: false,
    };
    let (mut seen, mut work, mut outcomes) = (HashSet::from([first.clone()]), vec![first], BTreeSet::new());
    while let Some(state) = work.pop() {
        let mut follow: Vec<State> =
            (0..program.len()).flat_map(|me| Step { ops: &program[me], me }.from(state.clone())).collect();
        if follow.is_empty() {
            match state.clone().time_passes() {
                Some(later) => follow.push(later),
                None => {
                    assert!(state.threads.iter().all(|t| t.phase == Phase::Over), "every wait has a limit: {state:?}");
                    outcomes.insert(state.threads.into_iter().map(|thread| thread.log).collect());
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
    /// Nobody can go on: the next instant at which somebody can.
    fn time_passes(mut self) -> Option<State> {
        let limits = self.threads.iter_mut().filter_map(|thread| match &mut thread.phase {
            Phase::Waits { until, time_is_up }
            | Phase::Pending { until, time_is_up }
            | Phase::Sleeps { until, time_is_up } => Some((*until, time_is_up)),
            _ => None,
        });
        let limits: Vec<_> = limits.collect();
        let now = limits.iter().filter(|(_, is_up)| !**is_up).map(|(until, _)| *until).min()?;
        for (until, is_up) in limits {
            *is_up = until <= now;
        }
        self.now = now;
        Some(self)
    }

    /// Whether a guard of that kind can be had, but for readers that a writer waits for.
    fn admits(&self, op: Op) -> bool {
        match op {
            Op::Lock(_) => !self.locked,
            Op::Read(_) => !self.writer,
            Op::ReadAgain(_) => !self.writer || self.readers > 0 || self.upgradable,
            Op::Upgradable(_) | Op::Write(_) => !self.writer && !self.upgradable,
            _ => unreachable!("{op:?} takes nothing"),
        }
    }
}

/// What a thread does.
struct Step<'a> {
    ops: &'a [Op],
    me: usize,
}

impl Step<'_> {
    fn from(&self, mut state: State) -> Vec<State> {
        let me = &state.threads[self.me];
        let (phase, Some(op)) = (me.phase, self.ops.get(me.next).copied()) else {
            return self.after_all(state);
        };
        match phase {
            Phase::Begins => return self.begins(state, op),
            Phase::Waits { time_is_up, .. } => match op {
                Op::Sleep(_) if time_is_up => self.ends(&mut state, None),
                Op::Sleep(_) => return vec![],
                _ if state.admits(op) => {
                    let until = self.until(&state);
                    self.takes(&mut state, op, until);
                }
                _ if time_is_up => self.ends(&mut state, Some(Seen::Refused)),
                _ => return vec![],
            },
            Phase::Pending { time_is_up, .. } => match state.readers {
                0 => self.ends(&mut state, Some(Seen::Done)),
                _ if time_is_up => state.threads[self.me].phase = Phase::GivesUp,
                _ => return vec![],
            },
            Phase::GivesUp => {
                state.writer = false;
                let me = &mut state.threads[self.me];
                me.guards.pop();
                if let Op::Upgrade(_) = op {
                    me.guards.push(Guard::Upgradable);
                    state.upgradable = true;
                }
                self.ends(&mut state, Some(Seen::Refused));
            }
            Phase::Registered(until) => {
                state.locked = false;
                state.threads[self.me].phase = Phase::Sleeps { until, time_is_up: false };
            }
            Phase::Sleeps { time_is_up, .. } => match state.woken.remove(&self.me) {
                true => state.threads[self.me].phase = Phase::Relocks(Seen::Done),
                false if time_is_up => state.threads[self.me].phase = Phase::Leaves,
                false => return vec![],
            },
            Phase::Leaves => {
                let was_woken = state.woken.remove(&self.me);
                state.waiting.remove(&self.me);
                let seen = if was_woken { Seen::Done } else { Seen::Refused };
                state.threads[self.me].phase = Phase::Relocks(seen);
            }
            Phase::Relocks(_) if state.locked => return vec![],
            Phase::Relocks(seen) => {
                state.locked = true;
                self.ends(&mut state, Some(seen));
            }
            Phase::Ends | Phase::Over => unreachable!("it has an operation left"),
        }
        vec![state]
    }

    fn until(&self, state: &State) -> Limit {
        match state.threads[self.me].phase {
            Phase::Waits { until, .. } => Some(until),
            _ => None,
        }
    }

    /// At its end it drops the guards, the last one first, and then the mutex.
    fn after_all(&self, mut state: State) -> Vec<State> {
        let me = &mut state.threads[self.me];
        if me.phase == Phase::Over {
            return vec![];
        }
        me.phase = Phase::Ends;
        match me.guards.pop() {
            Some(guard) => give_back(&mut state, guard),
            None if std::mem::take(&mut me.has_mutex) => state.locked = false,
            None => me.phase = Phase::Over,
        }
        vec![state]
    }

    fn begins(&self, mut state: State, op: Op) -> Vec<State> {
        let me = &mut state.threads[self.me];
        let last = me.guards.last().copied();
        match op {
            Op::Sleep(time) => me.phase = Phase::Waits { until: state.now + time, time_is_up: false },
            Op::Unlock => {
                if std::mem::take(&mut me.has_mutex) {
                    state.locked = false;
                }
                self.ends(&mut state, None);
            }
            Op::Wait(limit) => match me.has_mutex {
                true => {
                    me.phase = Phase::Registered(state.now + limit);
                    state.waiting.insert(self.me);
                }
                false => self.ends(&mut state, None),
            },
            Op::NotifyOne if state.waiting.is_empty() => self.ends(&mut state, Some(Seen::Woken(0))),
            Op::NotifyOne => {
                let wake = |other: &usize| {
                    let mut state = state.clone();
                    state.waiting.remove(other);
                    state.woken.insert(*other);
                    self.ends(&mut state, Some(Seen::Woken(1)));
                    state
                };
                return state.waiting.iter().map(wake).collect();
            }
            Op::NotifyAll => {
                let count = state.waiting.len();
                let waiting = std::mem::take(&mut state.waiting);
                state.woken.extend(waiting);
                self.ends(&mut state, Some(Seen::Woken(count)));
            }
            Op::Lock(_) if me.has_mutex => self.ends(&mut state, None),
            Op::Lock(limit) | Op::Read(limit) | Op::ReadAgain(limit) | Op::Upgradable(limit) | Op::Write(limit) => {
                let until = limit.map(|limit| state.now + limit);
                let must_be_alone = matches!(op, Op::Write(_)) && limit.is_none() && state.readers > 0;
                match (state.admits(op) && !must_be_alone, until) {
                    (true, until) => self.takes(&mut state, op, until),
                    (false, None) => self.ends(&mut state, Some(Seen::Refused)),
                    (false, Some(until)) => {
                        state.threads[self.me].phase = Phase::Waits { until, time_is_up: false };
                    }
                }
            }
            Op::Upgrade(limit) if last == Some(Guard::Upgradable) => match (state.readers, limit) {
                (1.., None) => self.ends(&mut state, Some(Seen::Refused)),
                (readers, limit) => {
                    (state.upgradable, state.writer) = (false, true);
                    let me = &mut state.threads[self.me];
                    *me.guards.last_mut().expect("there is one") = Guard::Writer;
                    match limit {
                        Some(limit) if readers > 0 => {
                            me.phase = Phase::Pending { until: state.now + limit, time_is_up: false };
                        }
                        _ => self.ends(&mut state, Some(Seen::Done)),
                    }
                }
            },
            Op::Downgrade if matches!(last, Some(Guard::Writer | Guard::Upgradable)) => {
                *me.guards.last_mut().expect("there is one") = Guard::Reader;
                (state.writer, state.upgradable) = match last {
                    Some(Guard::Writer) => (false, state.upgradable),
                    _ => (state.writer, false),
                };
                state.readers += 1;
                self.ends(&mut state, None);
            }
            Op::DowngradeToUpgradable if last == Some(Guard::Writer) => {
                *me.guards.last_mut().expect("there is one") = Guard::Upgradable;
                (state.writer, state.upgradable) = (false, true);
                self.ends(&mut state, None);
            }
            Op::Upgrade(_) | Op::Downgrade | Op::DowngradeToUpgradable => self.ends(&mut state, None),
            Op::Release => {
                if let Some(guard) = me.guards.pop() {
                    give_back(&mut state, guard);
                }
                self.ends(&mut state, None);
            }
            Op::IsLocked => {
                let is = state.readers > 0 || state.upgradable || state.writer;
                self.ends(&mut state, Some(Seen::Is(is)));
            }
            Op::IsLockedExclusive => {
                let is = state.writer;
                self.ends(&mut state, Some(Seen::Is(is)));
            }
        }
        vec![state]
    }

    /// Takes what is there. A writer may have to wait for readers then.
    fn takes(&self, state: &mut State, op: Op, until: Option<u64>) {
        let time_is_up = matches!(state.threads[self.me].phase, Phase::Waits { time_is_up: true, .. });
        let me = &mut state.threads[self.me];
        match op {
            Op::Lock(_) => (state.locked, me.has_mutex) = (true, true),
            Op::Read(_) | Op::ReadAgain(_) => {
                state.readers += 1;
                me.guards.push(Guard::Reader);
            }
            Op::Upgradable(_) => {
                state.upgradable = true;
                me.guards.push(Guard::Upgradable);
            }
            Op::Write(_) => {
                state.writer = true;
                me.guards.push(Guard::Writer);
                if let Some(until) = until.filter(|_| state.readers > 0) {
                    me.phase = Phase::Pending { until, time_is_up };
                    return;
                }
            }
            _ => unreachable!("{op:?} takes nothing"),
        }
        self.ends(state, Some(Seen::Done));
    }

    fn ends(&self, state: &mut State, seen: Option<Seen>) {
        let me = &mut state.threads[self.me];
        me.log.extend(seen);
        me.next += 1;
        me.phase = Phase::Begins;
    }
}

fn give_back(state: &mut State, guard: Guard) {
    match guard {
        Guard::Reader => state.readers -= 1,
        Guard::Upgradable => state.upgradable = false,
        Guard::Writer => state.writer = false,
    }
}
