//! Random programs with loops.

use super::program::{After, Cond, Counter, NONE, Op, Orderings, Place, Program, Stmt};
use fastrand::Rng;

/// A random program of at most so many threads beside main, whose counters are in such places.
pub fn program(rng: &mut Rng, threads: u8, places: &[Place]) -> Program {
    let orderings = if rng.u8(..4) == 0 { Orderings::Weak } else { Orderings::Strong };
    let program = Program { atomics: rng.u8(1..=2), mutexes: 1, orderings, ..Program::default() };
    let mut made = Made { rng, program, places, thread: 0, receiver: None, child: None, awaited: Vec::new() };
    let count = made.rng.u8(1..=threads);
    made.program.threads = vec![Vec::new(); usize::from(count) + 1];
    if made.rng.u8(..3) == 0 {
        let place = made.one(&Place::COMMON);
        let after = made.one(&[After::Wraps, After::Stays]);
        let last = made.rng.u8(1..=3);
        made.program.counters.push(Counter { owner: None, place, last, after });
    }
    for thread in 0..=count {
        made.thread = thread;
        let segments = if thread == 0 { made.rng.u8(0..=2) } else { made.rng.u8(1..=2) };
        let mut stmts = Vec::new();
        for _ in 0..segments {
            let is_loop = made.rng.u8(..10) < if thread == 0 { 4 } else { 7 };
            stmts.extend(if is_loop { made.looped(1) } else { made.plain() });
        }
        made.program.threads[usize::from(thread)].extend(stmts);
    }
    // Most of what is waited for comes, if only at the end of another thread.
    for (thread, a, v) in std::mem::take(&mut made.awaited) {
        let other = made.rng.u8(..=count);
        if other != thread && made.rng.u8(..10) < 7 {
            made.program.threads[usize::from(other)].push(Stmt::Do(Op::Store(a, v)));
        }
    }
    let mut program = made.program;
    program.complete();
    program
}

struct Made<'a> {
    rng: &'a mut Rng,
    program: Program,
    places: &'a [Place],
    thread: u8,
    /// Who receives.
    receiver: Option<u8>,
    /// The thread that others spawn in their rounds, and who does.
    child: Option<(u8, u8)>,
    /// Who waits for which value of which atomic.
    awaited: Vec<(u8, u8, u8)>,
}

impl Made<'_> {
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.rng.usize(..of.len())]
    }

    fn atomic(&mut self) -> u8 {
        self.rng.u8(..self.program.atomics)
    }

    fn value(&mut self) -> u8 {
        self.rng.u8(..3)
    }

    /// The counter of all threads, if there is one.
    fn common(&self) -> Option<u8> {
        self.program.counters.first().filter(|c| c.owner.is_none()).map(|_| 0)
    }

    /// A new counter of the thread.
    fn counter(&mut self, last: u8, after: After) -> u8 {
        let place = self.one(self.places);
        self.program.counters.push(Counter { owner: Some(self.thread), place, last, after });
        self.program.counters.len() as u8 - 1
    }

    fn plain(&mut self) -> Vec<Stmt> {
        let (a, b, v, w) = (self.atomic(), self.atomic(), self.value(), self.value());
        match self.rng.u8(..15) {
            0..=2 => vec![Stmt::Do(Op::Store(a, v))],
            3 => vec![Stmt::Do(Op::Store(a, v)), Stmt::Do(Op::Store(b, w))],
            4 => vec![Stmt::Do(Op::Load(a)), Stmt::LogFound],
            5 => vec![Stmt::Do(Op::Toggle(a))],
            6 => vec![Stmt::Do(Op::Cas(a, v, w)), Stmt::LogFound],
            7 => vec![Stmt::Do(Op::Add(a, 1)), Stmt::LogFound],
            8 => vec![Stmt::Do(Op::Lock(0)), Stmt::Do(Op::Store(a, v)), Stmt::Do(Op::Unlock(0))],
            9 => vec![Stmt::Do(Op::Lock(0)), Stmt::Do(Op::Load(a)), Stmt::LogFound, Stmt::Do(Op::Unlock(0))],
            10 => vec![Stmt::Do(Op::Send(v))],
            11 => vec![self.gives_way(), Stmt::Do(Op::Store(a, v))],
            12 => vec![Stmt::Do(Op::Unpark(self.rng.u8(..self.program.threads.len() as u8)))],
            13 => vec![Stmt::Do(self.one(&[Op::NotifyAll, Op::NotifyOne]))],
            _ => match self.common() {
                Some(c) => vec![Stmt::Do(Op::Store(a, v)), Stmt::Bump(c)],
                None => vec![Stmt::Do(Op::Lock(0)), Stmt::Do(Op::Wait(0)), Stmt::Do(Op::Unlock(0))],
            },
        }
    }

    fn gives_way(&mut self) -> Stmt {
        Stmt::Do(match self.rng.u8(..20) {
            0..=9 => Op::Yield,
            10..=15 => Op::Spin,
            16 => Op::Sleep(0),
            17 => Op::Sleep(1),
            18 => Op::Sleep(2),
            _ => Op::ParkTimeout(1),
        })
    }

    /// Ends the loop after so many rounds that have found something, or where two counts meet.
    fn counts(&mut self) -> Vec<Stmt> {
        let (a, v) = (self.atomic(), self.value());
        let end = |cond| Stmt::If(cond, vec![Stmt::Break], Vec::new());
        if self.rng.bool() {
            let rounds = self.rng.u8(1..=3);
            let c = self.counter(rounds, After::Stays);
            let counts = vec![Stmt::Bump(c), end(Cond::Is(c, rounds))];
            vec![Stmt::Do(Op::Load(a)), Stmt::If(Cond::Found(v), counts, Vec::new())]
        } else {
            let (c, d) = (self.counter(1, After::Wraps), self.counter(2, After::Wraps));
            let both = vec![end(Cond::Is(d, self.rng.u8(..3)))];
            vec![Stmt::Bump(c), Stmt::Bump(d), Stmt::If(Cond::Is(c, self.rng.u8(..2)), both, Vec::new())]
        }
    }

    /// What may end a loop.
    fn probe(&mut self) -> Vec<Stmt> {
        let (a, v, w) = (self.atomic(), self.value(), self.value());
        let end = |cond, then: Vec<Stmt>| Stmt::If(cond, [then, vec![Stmt::Break]].concat(), Vec::new());
        match self.rng.u8(..24) {
            20..=22 => self.counts(),
            23 => match self.child {
                Some((by, child)) if by == self.thread => {
                    vec![Stmt::Do(Op::Spawn(child)), Stmt::Do(Op::IsFinished(child)), end(Cond::Found(1), Vec::new())]
                }
                _ if self.thread == 0 => vec![Stmt::Do(Op::IsFinished(1)), end(Cond::Found(1), Vec::new())],
                _ => self.counts(),
            },
            0..=7 => {
                self.awaited.push((self.thread, a, v));
                vec![Stmt::Do(Op::Load(a)), end(Cond::Found(v), Vec::new())]
            }
            8..=10 => {
                self.awaited.push((self.thread, a, v));
                let cas = if self.rng.bool() { Op::Cas(a, v, w) } else { Op::CasWeak(a, v, w) };
                vec![Stmt::Do(cas), end(Cond::Found(1), Vec::new())]
            }
            11..=12 => {
                let inside = vec![Stmt::Do(Op::Store(a, v)), Stmt::Do(Op::Unlock(0))];
                vec![Stmt::Do(Op::TryLock(0)), end(Cond::Found(1), inside)]
            }
            13 => vec![Stmt::Do(Op::Swap(a, v)), end(Cond::Found(w), Vec::new())],
            14 => vec![Stmt::Do(Op::Keep(a)), end(Cond::Found(v), Vec::new())],
            15 if *self.receiver.get_or_insert(self.thread) == self.thread => {
                vec![Stmt::Do(Op::TryRecv), Stmt::If(Cond::Found(NONE), Vec::new(), vec![Stmt::LogFound, Stmt::Break])]
            }
            16 => {
                // Waits for what it does not know: a value that it has found before.
                let c = self.counter(3, After::Wraps);
                vec![Stmt::Do(Op::Load(a)), end(Cond::FoundIn(c), Vec::new()), Stmt::Take(c)]
            }
            17..=18 if let Some(c) = self.common() => {
                let is = end(Cond::Is(c, self.rng.u8(..=self.program.counters[usize::from(c)].last)), Vec::new());
                if self.rng.bool() { vec![Stmt::Do(Op::Load(a)), is] } else { vec![is] }
            }
            _ => vec![
                Stmt::Do(Op::Lock(0)),
                Stmt::Do(Op::Load(a)),
                Stmt::Do(Op::Unlock(0)),
                end(Cond::Found(v), Vec::new()),
            ],
        }
    }

    /// What a round does beside.
    fn effect(&mut self) -> Vec<Stmt> {
        let (a, v) = (self.atomic(), self.value());
        match self.rng.u8(..16) {
            0 => vec![Stmt::Do(Op::Toggle(a))],
            1 => vec![Stmt::Do(Op::Store(a, v))],
            2 => vec![Stmt::Do(Op::Add(a, 1)), Stmt::Do(Op::Sub(a, 1))],
            3 => vec![Stmt::Do(Op::Load(a)), Stmt::Next(3), Stmt::Do(Op::StoreFound(a))],
            4 => vec![Stmt::Do(Op::Keep(a))],
            5 => vec![Stmt::Do(Op::Lock(0)), Stmt::Do(Op::Unlock(0))],
            6 => vec![Stmt::Do(self.one(&[Op::NotifyAll, Op::NotifyOne]))],
            7 => vec![Stmt::Do(Op::Unpark(self.rng.u8(..self.program.threads.len() as u8)))],
            8 if self.child.is_none_or(|(by, _)| by == self.thread) => {
                let (_, child) = *self.child.get_or_insert_with(|| {
                    let child = self.program.threads.len() as u8;
                    (self.thread, child)
                });
                if usize::from(child) == self.program.threads.len() {
                    let op = self.one(&[Op::Load(a), Op::Store(a, v), Op::Toggle(a), Op::Yield, Op::Keep(a)]);
                    self.program.threads.push(vec![Stmt::Do(op)]);
                }
                vec![Stmt::Do(Op::Spawn(child)), Stmt::Do(Op::Join(child))]
            }
            9 if let Some(c) = self.common() => vec![Stmt::Bump(c)],
            10 if let Some(c) = self.common() => vec![Stmt::Do(Op::Load(a)), Stmt::Take(c)],
            11 => {
                let last = self.rng.u8(1..=2);
                let c = self.counter(last, After::Wraps);
                vec![Stmt::Bump(c)]
            }
            12 => {
                let last = self.rng.u8(1..=3);
                let c = self.counter(last, After::Stays);
                vec![Stmt::Bump(c)]
            }
            13 => vec![Stmt::Do(Op::Swap(a, v))],
            _ => vec![Stmt::Do(Op::Load(a))],
        }
    }

    /// A loop, and what it says when it is over.
    fn looped(&mut self, depth: u8) -> Vec<Stmt> {
        let mut items: Vec<Vec<Stmt>> = Vec::new();
        let mut after = Vec::new();
        let gives_up = self.rng.u8(..10) < 4;
        if gives_up {
            let rounds = self.rng.u8(1..=4);
            let c = self.counter(rounds, After::Stays);
            let mut end = vec![Stmt::Break];
            if self.rng.bool() {
                let (a, v) = (self.atomic(), self.value());
                end.insert(0, Stmt::Do(Op::Store(a, v)));
            }
            items.push(vec![Stmt::Bump(c), Stmt::If(Cond::Is(c, rounds), end, Vec::new())]);
            after.push(Stmt::Log(c));
            if depth > 1 {
                after.push(Stmt::Clear(c));
            }
        }
        let (first, second) = (self.probe(), self.probe());
        let (effect, other) = (self.effect(), self.effect());
        match self.rng.u8(..10) {
            0..=5 => items.push(first),
            6 => items.extend([first, second]),
            7 => {
                let last = self.rng.u8(1..=2);
                let c = self.counter(last, After::Wraps);
                items.push(vec![Stmt::Bump(c), Stmt::If(Cond::Odd(c), first, second)]);
            }
            8 if depth < 2 => {
                let mut inner = self.looped(depth + 1);
                inner.retain(|s| !matches!(s, Stmt::Log(_) | Stmt::LogFound));
                items.extend([first, inner]);
            }
            _ if gives_up => items.push(effect.clone()),
            _ => items.push(first),
        }
        match self.rng.u8(..10) {
            0..=4 => {}
            5..=7 => items.push(effect),
            8 => items.extend([effect, other]),
            _ => {
                let last = self.rng.u8(1..=2);
                let c = self.counter(last, After::Wraps);
                items.push(vec![Stmt::Bump(c), Stmt::If(Cond::Odd(c), effect, other)]);
            }
        }
        if self.rng.u8(..3) == 0 {
            self.rng.shuffle(&mut items);
        }
        let mut body = items.concat();
        if !gives_up || self.rng.u8(..8) != 0 {
            body.push(self.gives_way());
        }
        if self.rng.u8(..12) == 0 {
            body.push(self.gives_way());
        }
        if self.rng.u8(..12) == 0 {
            let way = self.gives_way();
            body.insert(self.rng.usize(..body.len()), way);
        }
        if self.rng.bool() {
            after.push(Stmt::LogFound);
        }
        let mut all = vec![Stmt::Loop(body)];
        all.extend(after);
        all
    }
}
