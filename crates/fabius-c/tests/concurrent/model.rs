//! What such programs may do, by docs/c.md alone: all orders of their steps, with the least switches that lead to each kind of bug,
//! and, where threads are switched at synchronization, who knows what by vector clocks.
//!
//! Length: one branch for each operation, in one language that shares nothing with the engines.

use crate::program::*;
use std::collections::{BTreeMap, HashSet};

/// What a thread does next. The first ones touch nothing shared, those up to `Free` data; all others synchronize.
#[derive(Clone, Copy, Debug)]
enum Act {
    Set(usize, Value),
    Jump(usize),
    Unless(usize, i32, usize),
    IfNull(usize),
    Assert(usize, i32),
    Allocate,
    Load(usize, Where),
    Store(Where, Value),
    Node(usize),
    Write(Value),
    Mark,
    Free,
    AtomicLoad(usize, usize, Order),
    AtomicStore(usize, Value, Order),
    Add(usize, usize, i32, Order),
    Exchange(usize, usize, Value, Order),
    Compare(usize, usize, Value, i32, Order, Order),
    Lock(usize),
    Unlock(usize),
    TryLock(usize, usize),
    LockAs(usize),
    UnlockAs(usize),
    Wait,
    Relock,
    Signal,
    Broadcast,
    Read,
    WriteLock,
    Unread,
    TryRead(usize),
    TryWrite(usize),
    Post,
    Take,
    TryTake(usize),
    Barrier,
    Pass,
    Once(usize),
    OnceDone,
    Yield,
    Swap,
    Head,
    Create(usize),
    Join(usize),
}

/// The pointer `o` and the counters of loops are locals, too.
const NODE: usize = E;
const SCRATCH: usize = 5;

fn compile(body: &[Stmt], out: &mut Vec<Act>, leaves: &mut Vec<usize>) {
    for s in body {
        let guarded = |out: &mut Vec<Act>,
                       jump: &dyn Fn(usize) -> Act,
                       body: &[Stmt],
                       last: Option<Act>,
                       leaves: &mut Vec<usize>| {
            let at = out.len();
            out.push(Act::Jump(0));
            compile(body, out, leaves);
            out.extend(last);
            out[at] = jump(out.len());
        };
        match s.clone() {
            Stmt::Set(l, v) => out.push(Act::Set(l, v)),
            Stmt::Increase(l) => out.push(Act::Set(l, Value::Local(l + 100))),
            Stmt::Point(i) => out.push(Act::Set(Z, Value::Number(i as i32))),
            Stmt::Load(l, w) => out.push(Act::Load(l, w)),
            Stmt::Store(w, v) => out.push(Act::Store(w, v)),
            Stmt::Increment(w) => out.extend([
                Act::Load(SCRATCH, w),
                Act::Set(SCRATCH, Value::Local(SCRATCH + 100)),
                Act::Store(w, Value::Local(SCRATCH)),
            ]),
            Stmt::AtomicLoad(l, i, o) => out.push(Act::AtomicLoad(l, i, o)),
            Stmt::AtomicStore(i, v, o) => out.push(Act::AtomicStore(i, v, o)),
            Stmt::Add(l, i, n, o) => out.push(Act::Add(l, i, n, o)),
            Stmt::Exchange(l, i, v, o) => out.push(Act::Exchange(l, i, v, o)),
            Stmt::Compare(l, i, v, n, o, f) => out.push(Act::Compare(l, i, v, n, o, f)),
            Stmt::Lock(i) => out.push(Act::Lock(i)),
            Stmt::Unlock(i) => out.push(Act::Unlock(i)),
            Stmt::TryLock(i, b) => guarded(out, &|t| Act::TryLock(i, t), &b, Some(Act::Unlock(i)), leaves),
            Stmt::LockAs(l) => out.push(Act::LockAs(l)),
            Stmt::UnlockAs(l) => out.push(Act::UnlockAs(l)),
            Stmt::Wait => out.extend([Act::Wait, Act::Relock]),
            Stmt::Signal => out.push(Act::Signal),
            Stmt::Broadcast => out.push(Act::Broadcast),
            Stmt::Read => out.push(Act::Read),
            Stmt::Write => out.push(Act::WriteLock),
            Stmt::Unread => out.push(Act::Unread),
            Stmt::TryRead(b) => guarded(out, &Act::TryRead, &b, Some(Act::Unread), leaves),
            Stmt::TryWrite(b) => guarded(out, &Act::TryWrite, &b, Some(Act::Unread), leaves),
            Stmt::Post => out.push(Act::Post),
            Stmt::Take => out.push(Act::Take),
            Stmt::TryTake(l) => out.push(Act::TryTake(l)),
            Stmt::Barrier => out.extend([Act::Barrier, Act::Pass]),
            Stmt::Once => {
                let end = out.len() + 4;
                out.extend([
                    Act::Once(end),
                    Act::Store(Where::At(0), Value::Number(5)),
                    Act::Add(SCRATCH, 0, 1, Order::Seq),
                    Act::OnceDone,
                ]);
            }
            Stmt::Yield => out.push(Act::Yield),
            Stmt::Allocate(v) => out.extend([Act::Allocate, Act::Write(v)]),
            Stmt::Swap => out.push(Act::Swap),
            Stmt::Head => out.push(Act::Head),
            Stmt::Node(l) => out.push(Act::Node(l)),
            Stmt::Mark => out.push(Act::Mark),
            Stmt::Free => out.push(Act::Free),
            Stmt::If(l, n, yes, no) => {
                let at = out.len();
                out.push(Act::Jump(0));
                compile(&yes, out, leaves);
                let over = out.len();
                out.push(Act::Jump(0));
                out[at] = Act::Unless(l, n, out.len());
                compile(&no, out, leaves);
                out[over] = Act::Jump(out.len());
            }
            Stmt::IfNode(b) => guarded(out, &Act::IfNull, &b, None, leaves),
            Stmt::Twice(b) => (0..2).for_each(|_| compile(&b, out, leaves)),
            Stmt::Leave(l, n) => {
                out.push(Act::Unless(l, n, out.len() + 2));
                leaves.push(out.len());
                out.push(Act::Jump(0));
            }
            Stmt::Assert(l, n) => out.push(Act::Assert(l, n)),
        }
    }
}

type Clock = [u8; 4];

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Known {
    writers: Clock,
    all: Clock,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Last {
    write: Option<(u8, u8)>,
    reads: BTreeMap<u8, u8>,
}

/// What synchronizes, by number: atomics, locks, and so on.
const ATOMIC: usize = 0;
const HEAD: usize = 2;
const LOCK: usize = 3;
const CONDITION: usize = 7;
const RWLOCK: usize = 8;
const SEMAPHORE: usize = 9;
const BARRIER: usize = 10;
const ONCE: usize = 11;
/// The readers of the read-write lock.
const READERS: usize = 12;
const OBJECTS: usize = 13;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    at: Vec<usize>,
    born: Vec<bool>,
    locals: Vec<[i32; LOCALS]>,
    plain: [i32; 4],
    atomics: [i32; 2],
    head: i32,
    owner: [Option<u8>; 4],
    depth: [u8; 4],
    sleeping: Vec<u8>,
    woken: Vec<u8>,
    readers: Vec<u8>,
    writer: Option<u8>,
    permits: i32,
    arrived: Vec<u8>,
    passing: Vec<u8>,
    once: u8,
    runner: u8,
    /// Of each thread its nodes: the value, and whether it is there.
    nodes: Vec<Vec<(i32, bool)>>,
    // Who knows what.
    clocks: Vec<Clock>,
    known: Vec<Known>,
    last: BTreeMap<i32, Last>,
}

/// Where a thread may be switched, and what counts.
#[derive(Clone, Copy, PartialEq)]
pub enum Points {
    /// Everywhere; preemptions count.
    All,
    /// Everywhere; all switches count.
    Switches,
    /// At synchronization, and data races are bugs; preemptions count.
    Sync,
}

/// Kinds of bugs, with the least that they cost.
pub type Bugs = BTreeMap<&'static str, u32>;

struct Model {
    acts: Vec<Vec<Act>>,
    points: Points,
}

/// How a step goes on.
enum Step {
    To(Vec<State>),
    Bug(Vec<&'static str>),
    /// The documentation does not say.
    Unsaid,
}

const STATES: usize = 120_000;

/// All bugs; nothing if that is too much, or something is not said in the documentation.
pub fn bugs(program: &Program, points: Points) -> Option<Bugs> {
    let count = program.threads.len();
    let mut acts = Vec::new();
    for (i, body) in program.threads.iter().enumerate() {
        let (mut out, mut leaves) = (Vec::new(), Vec::new());
        if i + 1 == count {
            out.extend((0..i).map(Act::Create));
        }
        compile(body, &mut out, &mut leaves);
        let end = out.len();
        leaves.into_iter().for_each(|at| out[at] = Act::Jump(end));
        if i + 1 == count {
            out.extend((0..i).map(Act::Join));
            compile(&program.after, &mut out, &mut Vec::new());
        }
        acts.push(out);
    }
    let model = Model { acts, points };
    let mut first = State {
        at: vec![0; count],
        born: vec![false; count],
        locals: vec![[0; LOCALS]; count],
        permits: program.permits,
        nodes: vec![Vec::new(); count],
        clocks: vec![[0; 4]; count],
        known: vec![Known::default(); OBJECTS],
        ..State::default()
    };
    first.born[count - 1] = true;
    (0..count).for_each(|t| first.clocks[t][t] = 1);
    model.explore(first, count - 1)
}

impl Model {
    fn act(&self, s: &State, t: usize) -> Option<Act> {
        self.acts[t].get(s.at[t]).copied().filter(|_| s.born[t])
    }

    fn explore(&self, first: State, main: usize) -> Option<Bugs> {
        let mut bugs = Bugs::new();
        let mut seen = HashSet::new();
        let mut levels = vec![vec![(first, main)]];
        let mut cost = 0;
        while cost < levels.len() {
            while let Some((state, last)) = levels[cost].pop() {
                if !seen.insert((state.clone(), last)) {
                    continue;
                }
                if seen.len() > STATES {
                    return None;
                }
                let ready: Vec<bool> = (0..state.at.len()).map(|t| self.ready(&state, t)).collect();
                if !ready.contains(&true) {
                    if self.act(&state, main).is_some() {
                        bugs.entry("Deadlock").or_insert(cost as u32);
                    }
                    continue;
                }
                let gives_way = matches!(self.act(&state, last), Some(Act::Yield));
                for t in (0..ready.len()).filter(|t| ready[*t]) {
                    let pays = t != last && (self.points == Points::Switches || ready[last] && !gives_way);
                    let then = cost + usize::from(pays);
                    match self.step(&state, t) {
                        Step::Unsaid => return None,
                        Step::Bug(kinds) => {
                            for kind in kinds {
                                let least = bugs.entry(kind).or_insert(u32::MAX);
                                *least = (*least).min(then as u32);
                            }
                        }
                        Step::To(states) => {
                            if levels.len() <= then {
                                levels.resize(then + 1, Vec::new());
                            }
                            levels[then].extend(states.into_iter().map(|s| (s, t)));
                        }
                    }
                }
            }
            cost += 1;
        }
        Some(bugs)
    }

    fn ready(&self, s: &State, t: usize) -> bool {
        let me = t as u8;
        let Some(act) = self.act(s, t) else { return false };
        match act {
            Act::Lock(2) => s.owner[2].is_none_or(|o| o == me),
            Act::Lock(i) => s.owner[i].is_none(),
            Act::LockAs(_) => s.owner[3].is_none_or(|o| o == me),
            Act::Relock => s.woken.contains(&me) && s.owner[0].is_none(),
            Act::Read => s.writer.is_none(),
            Act::WriteLock => s.writer.is_none() && s.readers.is_empty(),
            Act::Take => s.permits > 0,
            Act::Pass => s.passing.contains(&me),
            Act::Once(_) => s.once != 1,
            Act::Join(other) => self.act(s, other).is_none(),
            _ => true,
        }
    }

    /// A step, and what follows it that is no point.
    fn step(&self, state: &State, t: usize) -> Step {
        let mut todo = match self.one(state.clone(), t) {
            Step::To(states) => states,
            other => return other,
        };
        let mut done = Vec::new();
        while let Some(s) = todo.pop() {
            let goes_on = match self.act(&s, t) {
                Some(
                    Act::Set(..) | Act::Jump(_) | Act::Unless(..) | Act::IfNull(_) | Act::Assert(..) | Act::Allocate,
                ) => true,
                Some(Act::Load(..) | Act::Store(..) | Act::Node(_) | Act::Write(_) | Act::Mark | Act::Free) => {
                    self.points == Points::Sync
                }
                _ => false,
            };
            if !goes_on {
                done.push(s);
                continue;
            }
            match self.one(s, t) {
                Step::To(states) => todo.extend(states),
                other => return other,
            }
        }
        Step::To(done)
    }

    /// A synchronizing access: to whom it gives, and from whom it takes.
    fn sync(&self, s: &mut State, t: usize, object: usize, writes: bool) {
        if self.points != Points::Sync {
            return;
        }
        let from = if writes { s.known[object].all } else { s.known[object].writers };
        join(&mut s.clocks[t], &from);
        let mine = s.clocks[t];
        join(&mut s.known[object].all, &mine);
        if writes {
            join(&mut s.known[object].writers, &mine);
        }
        s.clocks[t][t] += 1;
    }

    /// Who takes something knows what those knew who gave it back.
    fn takes(&self, s: &mut State, t: usize, object: usize) {
        let from = s.known[object].writers;
        join(&mut s.clocks[t], &from);
    }

    fn gives(&self, s: &mut State, t: usize, object: usize) {
        let mine = s.clocks[t];
        join(&mut s.known[object].writers, &mine);
        s.clocks[t][t] += 1;
    }

    /// One of an atomic variable, which reads, writes, or both.
    fn atomic(&self, s: &mut State, t: usize, object: usize, (reads, writes): (bool, bool), order: Order) {
        if reads && order.acquires() {
            let from = s.known[object].writers;
            join(&mut s.clocks[t], &from);
        }
        if writes {
            if !reads {
                s.known[object].writers = [0; 4];
            }
            if order.releases() {
                let mine = s.clocks[t];
                join(&mut s.known[object].writers, &mine);
            }
        }
        s.clocks[t][t] += 1;
    }

    /// A data access; whether nothing orders it with another one.
    fn data(&self, s: &mut State, t: usize, variable: i32, writes: bool) -> bool {
        if self.points != Points::Sync {
            return false;
        }
        let (clock, me) = (s.clocks[t], t as u8);
        let last = s.last.entry(variable).or_default();
        let unordered = |(by, when): (u8, u8)| by != me && clock[by as usize] < when;
        if last.write.is_some_and(unordered) || writes && last.reads.iter().any(|(by, when)| unordered((*by, *when))) {
            return true;
        }
        if writes {
            *last = Last { write: Some((me, clock[t])), reads: BTreeMap::new() };
        } else {
            last.reads.insert(me, clock[t]);
        }
        false
    }

    fn one(&self, mut s: State, t: usize) -> Step {
        let me = t as u8;
        let act = self.act(&s, t).expect("it is ready");
        s.at[t] += 1;
        let value = |s: &State, v: Value| match v {
            Value::Number(n) => n,
            Value::Local(l) if l >= 100 => s.locals[t][l - 100] + 1,
            Value::Local(l) => s.locals[t][l],
        };
        let place = |s: &State, w: Where| match w {
            Where::At(i) => i,
            Where::Z => s.locals[t][Z] as usize,
        };
        let race = || Step::Bug(vec!["DataRace"]);
        // A node of `o`, if it may be looked at.
        let node = |s: &mut State, writes: bool, field: i32| -> Result<(usize, usize), Step> {
            let id = s.locals[t][NODE];
            if id == 0 {
                return Err(Step::Bug(vec!["NullDereference"]));
            }
            let (of, n) = (id as usize / 16 - 1, id as usize % 16);
            let races = self.data(s, t, id * 4 + field, writes) | self.data(s, t, id * 4 + 2, false);
            match (s.nodes[of][n].1, races) {
                (true, false) => Ok((of, n)),
                (true, true) => Err(Step::Bug(vec!["DataRace"])),
                (false, false) => Err(Step::Bug(vec!["Memory"])),
                (false, true) => Err(Step::Bug(vec!["Memory", "DataRace"])),
            }
        };
        match act {
            Act::Set(l, v) => s.locals[t][l] = value(&s, v),
            Act::Jump(to) => s.at[t] = to,
            Act::Unless(l, n, to) if s.locals[t][l] != n => s.at[t] = to,
            Act::Unless(..) => {}
            Act::IfNull(to) if s.locals[t][NODE] == 0 => s.at[t] = to,
            Act::IfNull(_) => {}
            Act::Assert(l, n) if s.locals[t][l] == n => return Step::Bug(vec!["Assertion"]),
            Act::Assert(..) => {}
            Act::Allocate if s.nodes[t].len() >= 8 => return Step::Unsaid,
            Act::Allocate => {
                s.locals[t][NODE] = ((t + 1) * 16 + s.nodes[t].len()) as i32;
                s.nodes[t].push((0, true));
            }
            Act::Load(l, w) => {
                let i = place(&s, w);
                if self.data(&mut s, t, i as i32, false) {
                    return race();
                }
                s.locals[t][l] = s.plain[i];
            }
            Act::Store(w, v) => {
                let i = place(&s, w);
                if self.data(&mut s, t, i as i32, true) {
                    return race();
                }
                s.plain[i] = value(&s, v);
            }
            Act::Node(l) => match node(&mut s, false, 0) {
                Ok((of, n)) => s.locals[t][l] = s.nodes[of][n].0,
                Err(bug) => return bug,
            },
            Act::Write(v) => match node(&mut s, true, 0) {
                Ok((of, n)) => s.nodes[of][n].0 = value(&s, v),
                Err(bug) => return bug,
            },
            Act::Mark => {
                if let Err(bug) = node(&mut s, true, 1) {
                    return bug;
                }
            }
            Act::Free if s.locals[t][NODE] == 0 => {}
            Act::Free => {
                let id = s.locals[t][NODE];
                let (of, n) = (id as usize / 16 - 1, id as usize % 16);
                let races = (0..3).any(|field| self.data(&mut s, t, id * 4 + field, true));
                match (s.nodes[of][n].1, races) {
                    (true, false) => s.nodes[of][n].1 = false,
                    (true, true) => return race(),
                    (false, false) => return Step::Bug(vec!["Memory"]),
                    (false, true) => return Step::Bug(vec!["Memory", "DataRace"]),
                }
            }
            Act::AtomicLoad(l, i, o) => {
                self.atomic(&mut s, t, ATOMIC + i, (true, false), o);
                s.locals[t][l] = s.atomics[i];
            }
            Act::AtomicStore(i, v, o) => {
                self.atomic(&mut s, t, ATOMIC + i, (false, true), o);
                s.atomics[i] = value(&s, v);
            }
            Act::Add(l, i, n, o) => {
                self.atomic(&mut s, t, ATOMIC + i, (true, true), o);
                s.locals[t][l] = s.atomics[i];
                s.atomics[i] += n;
            }
            Act::Exchange(l, i, v, o) => {
                self.atomic(&mut s, t, ATOMIC + i, (true, true), o);
                let new = value(&s, v);
                s.locals[t][l] = s.atomics[i];
                s.atomics[i] = new;
            }
            Act::Compare(l, i, v, n, o, f) => {
                let old = s.atomics[i];
                if old == value(&s, v) {
                    self.atomic(&mut s, t, ATOMIC + i, (true, true), o);
                    s.atomics[i] = n;
                    s.locals[t][l] += 1;
                } else {
                    self.atomic(&mut s, t, ATOMIC + i, (true, false), f);
                    s.locals[t][l] = old;
                }
            }
            Act::Swap => {
                self.atomic(&mut s, t, HEAD, (true, true), Order::Seq);
                std::mem::swap(&mut s.head, &mut s.locals[t][NODE]);
            }
            Act::Head => {
                self.atomic(&mut s, t, HEAD, (true, false), Order::Seq);
                s.locals[t][NODE] = s.head;
            }
            Act::Lock(i) => {
                self.sync(&mut s, t, LOCK + i, true);
                s.owner[i] = Some(me);
                s.depth[i] += 1;
            }
            Act::LockAs(l) if s.owner[3] == Some(me) => {
                self.sync(&mut s, t, LOCK + 3, false);
                s.locals[t][l] = 1;
            }
            Act::LockAs(l) => {
                self.sync(&mut s, t, LOCK + 3, true);
                s.locals[t][l] = 0;
                s.owner[3] = Some(me);
            }
            Act::UnlockAs(l) => {
                let mine = s.owner[3] == Some(me);
                s.locals[t][l] = i32::from(!mine);
                if mine {
                    self.sync(&mut s, t, LOCK + 3, true);
                    s.owner[3] = None;
                }
            }
            Act::Unlock(i) if s.owner[i] != Some(me) => return Step::Bug(vec!["SyncMisuse"]),
            Act::Unlock(i) => {
                self.sync(&mut s, t, LOCK + i, true);
                s.depth[i] -= 1;
                if s.depth[i] == 0 {
                    s.owner[i] = None;
                }
            }
            Act::TryLock(i, otherwise) => {
                if s.owner[i].is_none() {
                    self.sync(&mut s, t, LOCK + i, true);
                    s.owner[i] = Some(me);
                    s.depth[i] += 1;
                } else {
                    s.at[t] = otherwise;
                }
            }
            Act::Wait if s.owner[0] != Some(me) => return Step::Bug(vec!["SyncMisuse"]),
            Act::Wait => {
                self.sync(&mut s, t, CONDITION, true);
                self.sync(&mut s, t, LOCK, true);
                s.owner[0] = None;
                s.depth[0] = 0;
                s.sleeping.push(me);
                s.sleeping.sort_unstable();
            }
            Act::Relock => {
                self.sync(&mut s, t, CONDITION, true);
                self.sync(&mut s, t, LOCK, true);
                s.woken.retain(|w| *w != me);
                s.owner[0] = Some(me);
                s.depth[0] = 1;
            }
            Act::Signal if s.sleeping.is_empty() => {}
            Act::Signal => {
                let wakes = |who: &u8| {
                    let mut next = s.clone();
                    next.sleeping.retain(|w| w != who);
                    next.woken.push(*who);
                    next.woken.sort_unstable();
                    next
                };
                return Step::To(s.sleeping.iter().map(wakes).collect());
            }
            Act::Broadcast => {
                let all = std::mem::take(&mut s.sleeping);
                s.woken.extend(all);
                s.woken.sort_unstable();
            }
            Act::Read | Act::TryRead(_) if s.writer == Some(me) => return Step::Unsaid,
            Act::WriteLock | Act::TryWrite(_) if s.writer == Some(me) || s.readers.contains(&me) => {
                return Step::Unsaid;
            }
            Act::Read => {
                self.takes(&mut s, t, RWLOCK);
                s.readers.push(me);
                s.readers.sort_unstable();
            }
            Act::WriteLock => {
                self.takes(&mut s, t, RWLOCK);
                self.takes(&mut s, t, READERS);
                s.writer = Some(me);
            }
            Act::TryRead(otherwise) => match s.writer.is_none() {
                true => {
                    self.takes(&mut s, t, RWLOCK);
                    s.readers.push(me);
                    s.readers.sort_unstable();
                }
                false => s.at[t] = otherwise,
            },
            Act::TryWrite(otherwise) => {
                let free = s.writer.is_none() && s.readers.is_empty();
                if free {
                    self.takes(&mut s, t, RWLOCK);
                    self.takes(&mut s, t, READERS);
                    s.writer = Some(me);
                } else {
                    s.at[t] = otherwise;
                }
            }
            Act::Unread => {
                let part = if s.writer == Some(me) { RWLOCK } else { READERS };
                self.gives(&mut s, t, part);
                if s.writer == Some(me) {
                    s.writer = None;
                } else if let Some(i) = s.readers.iter().position(|r| *r == me) {
                    s.readers.remove(i);
                } else {
                    return Step::Bug(vec!["SyncMisuse"]);
                }
            }
            Act::Post => {
                self.gives(&mut s, t, SEMAPHORE);
                s.permits += 1;
            }
            Act::Take => {
                self.takes(&mut s, t, SEMAPHORE);
                s.permits -= 1;
            }
            Act::TryTake(l) => {
                let some = s.permits > 0;
                if some {
                    self.takes(&mut s, t, SEMAPHORE);
                }
                s.permits -= i32::from(some);
                s.locals[t][l] = i32::from(some);
            }
            Act::Barrier => {
                self.sync(&mut s, t, BARRIER, true);
                if s.arrived.is_empty() {
                    s.arrived.push(me);
                } else {
                    s.passing.append(&mut s.arrived);
                    s.passing.sort_unstable();
                    s.at[t] += 1;
                }
            }
            Act::Pass => {
                self.sync(&mut s, t, BARRIER, true);
                s.passing.retain(|p| *p != me);
            }
            Act::Once(end) => match s.once {
                0 => {
                    self.sync(&mut s, t, ONCE, true);
                    (s.once, s.runner) = (1, me);
                }
                _ => {
                    self.sync(&mut s, t, ONCE, false);
                    s.at[t] = end;
                }
            },
            Act::OnceDone => {
                self.sync(&mut s, t, ONCE, true);
                s.once = 2;
            }
            Act::Yield => {}
            Act::Create(other) => {
                s.born[other] = true;
                let mine = s.clocks[t];
                join(&mut s.clocks[other], &mine);
                s.clocks[t][t] += 1;
            }
            Act::Join(other) => {
                let theirs = s.clocks[other];
                join(&mut s.clocks[t], &theirs);
            }
        }
        Step::To(vec![s])
    }
}

fn join(to: &mut Clock, from: &Clock) {
    for (a, b) in to.iter_mut().zip(from) {
        *a = (*a).max(*b);
    }
}
