//! Straight-line threads: the smallest programs on which all that is said about preemptions, happens-before and races
//! can be checked. Every instruction accesses exactly one shared variable; locks alone block.
//!
//! The programs, and what is expected of those in `corpus/oracle/threads.json`, come from an enumeration that shares no
//! code with the explorer.
#![allow(dead_code)] // Each test file uses a part of it.

use fabius_explore::system::{Access, Born, Choose, End, Fault, Snapshot, StepLog, System, TaskId};
use fabius_trace::{Points, Span};
use std::cmp::Ordering;

/// Index of a shared variable.
pub type Var = usize;

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum Ins {
    /// Accesses the private synchronization variable of the thread.
    Start,
    /// Takes a lock: blocks while it is held.
    Acquire(Var),
    /// Gives it back.
    Release(Var),
    /// The register becomes the variable.
    Read(Var),
    /// The variable becomes a value.
    Write(Var, Value),
    /// If the variable is the first number it becomes the second; the register tells whether.
    Cas(Var, i64, i64),
    /// If the register is the number, the instruction; otherwise an access to the same variable without effect.
    If(i64, Box<Ins>),
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// This.
    Constant(i64),
    /// Twice the old value and this, modulo 7.
    FromOld(i64),
    /// Twice the register and this, modulo 7.
    FromRegister(i64),
}

/// Threads over variables.
#[derive(Clone, Debug)]
pub struct Program {
    pub threads: Vec<Vec<Ins>>,
    /// Initial values; a lock that nobody holds is -1.
    pub init: Vec<i64>,
    /// Which variables synchronize.
    pub sync: Vec<bool>,
}

/// A program with scheduling points.
#[derive(Clone, Debug)]
pub struct Toy {
    pub program: Program,
    pub points: Points,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State {
    pub pc: Vec<usize>,
    pub register: Vec<i64>,
    pub memory: Vec<i64>,
}

impl Ins {
    fn var(&self) -> Option<Var> {
        match self {
            Ins::Start => None,
            Ins::Acquire(x) | Ins::Release(x) | Ins::Read(x) | Ins::Write(x, _) | Ins::Cas(x, ..) => Some(*x),
            Ins::If(_, ins) => ins.var(),
        }
    }

    fn writes(&self, register: i64) -> bool {
        match self {
            Ins::Read(_) => false,
            Ins::If(r, ins) => *r == register && ins.writes(register),
            _ => true,
        }
    }
}

impl Program {
    fn next(&self, state: &State, thread: usize) -> Option<&Ins> {
        self.threads[thread].get(state.pc[thread])
    }

    fn enabled(&self, state: &State, thread: usize) -> bool {
        match self.next(state, thread) {
            None => false,
            Some(Ins::Acquire(m)) => state.memory[*m] == -1,
            Some(_) => true,
        }
    }

    /// The access of the thread's next instruction. Its span is the instruction's number.
    fn access(&self, state: &State, thread: usize) -> Option<Access> {
        let ins = self.next(state, thread)?;
        let variable = ins.var().map_or(100 + thread as u64, |x| x as u64);
        let sync = ins.var().is_none_or(|x| self.sync[x]);
        let span = Span::new(state.pc[thread], state.pc[thread] + 1);
        Some(Access { variable, write: ins.writes(state.register[thread]), sync, span })
    }

    fn execute(&self, state: &mut State, thread: usize) {
        let mut ins = self.next(state, thread).expect("an enabled thread has an instruction");
        state.pc[thread] += 1;
        let register = state.register[thread];
        while let Ins::If(r, then) = ins {
            if *r != register {
                return;
            }
            ins = then;
        }
        match *ins {
            Ins::Start | Ins::If(..) => {}
            Ins::Acquire(m) => state.memory[m] = thread as i64,
            Ins::Release(m) => state.memory[m] = -1,
            Ins::Read(x) => state.register[thread] = state.memory[x],
            Ins::Write(x, Value::Constant(v)) => state.memory[x] = v,
            Ins::Write(x, Value::FromOld(v)) => state.memory[x] = (state.memory[x] * 2 + v) % 7,
            Ins::Write(x, Value::FromRegister(v)) => state.memory[x] = (register * 2 + v) % 7,
            Ins::Cas(x, old, new) => {
                let equal = state.memory[x] == old;
                state.register[thread] = i64::from(equal);
                if equal {
                    state.memory[x] = new;
                }
            }
        }
    }

    /// The longest thread's length, and one more than the largest number of locks that a thread takes.
    pub fn steps_and_blocks(&self) -> (u64, u64) {
        let locks = |t: &Vec<Ins>| t.iter().filter(|i| matches!(i, Ins::Acquire(_))).count();
        let steps = self.threads.iter().map(Vec::len).max().unwrap_or(0);
        let blocks = 1 + self.threads.iter().map(locks).max().unwrap_or(0);
        (steps as u64, blocks as u64)
    }
}

impl System for Toy {
    type State = State;

    fn initial(&self, _: &mut dyn Choose, log: &mut StepLog) -> Result<State, Fault> {
        let n = self.program.threads.len();
        log.born.extend((0..n as TaskId).map(|t| Born { task: t, buffer: t, level: 0 }));
        Ok(State { pc: vec![0; n], register: vec![0; n], memory: self.program.init.clone() })
    }

    fn has_buffers(&self) -> bool {
        false
    }

    fn ready(&self, state: &State, task: TaskId) -> bool {
        self.program.enabled(state, task as usize)
    }

    fn next_access(&self, state: &State, task: TaskId) -> Option<Access> {
        self.program.access(state, task as usize)
    }

    fn step(&self, state: &mut State, task: TaskId, _: &mut dyn Choose, log: &mut StepLog) -> Result<End, Fault> {
        let thread = task as usize;
        loop {
            if log.want_accesses {
                log.accesses.extend(self.program.access(state, thread));
            }
            self.program.execute(state, thread);
            match self.program.access(state, thread) {
                None => return Ok(End::Finished),
                Some(next) if next.sync || self.points == Points::All => return Ok(End::Point),
                Some(_) => {}
            }
        }
    }
}

impl Snapshot for Toy {
    fn encode(&self, state: &State, out: &mut Vec<u8>) {
        out.extend(state.pc.iter().map(|n| *n as u8));
        out.extend(state.register.iter().chain(&state.memory).map(|n| (*n + 1) as u8));
    }

    fn decode(&self, bytes: &[u8], state: &mut State) {
        let n = self.program.threads.len();
        let value = |b: &u8| i64::from(*b) - 1;
        state.pc = bytes[..n].iter().map(|b| usize::from(*b)).collect();
        state.register = bytes[n..2 * n].iter().map(value).collect();
        state.memory = bytes[2 * n..].iter().map(value).collect();
    }

    fn anonymous_tasks(&self, _: &State) -> u32 {
        0
    }

    fn compare_anonymous(&self, _: &State, a: TaskId, b: TaskId) -> Ordering {
        a.cmp(&b)
    }

    fn reorder_anonymous(&self, _: &mut State, _: &[TaskId]) {}
}

/// A synchronization variable, two data variables and a lock.
pub const X: Var = 0;
pub const D: Var = 1;
pub const D2: Var = 2;
pub const M: Var = 3;

/// A program over [`X`], [`D`], [`D2`], [`M`].
pub fn program(threads: Vec<Vec<Ins>>) -> Program {
    Program { threads, init: vec![0, 0, 0, -1], sync: vec![true, false, false, true] }
}

/// Whether [`random`] programs have accesses to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Unprotected as well as protected by chance.
    Any,
    /// Only while the lock is held.
    Locked,
}

/// A random program of two or three threads with one to four instructions after the start, and perhaps a release.
pub fn random(rng: &mut fastrand::Rng, data: Data) -> Program {
    let threads = [2, 2, 3][rng.usize(..3)];
    let longest = if threads == 3 { 3 } else { 4 };
    program((0..threads).map(|_| random_thread(rng, longest, data)).collect())
}

fn random_thread(rng: &mut fastrand::Rng, longest: usize, data: Data) -> Vec<Ins> {
    let mut body = vec![Ins::Start];
    let length = rng.usize(1..=longest);
    let mut held = false;
    while body.len() < length + 1 {
        let k = rng.u32(..100);
        body.push(if k < 30 && !held {
            held = true;
            Ins::Acquire(M)
        } else if k < 45 && held && (data == Data::Any || body.last() != Some(&Ins::Acquire(M))) {
            held = false;
            Ins::Release(M)
        } else if k < 60 && (data == Data::Any || held) {
            match rng.u32(..4) {
                0 => Ins::Read(D),
                1 => Ins::Write(D, Value::FromOld(rng.i64(..4))),
                2 => Ins::Write(D, Value::Constant(rng.i64(..4))),
                _ => Ins::Write(D2, Value::FromRegister(1)),
            }
        } else {
            match rng.u32(..4) {
                0 => Ins::Read(X),
                1 => Ins::Write(X, Value::FromOld(rng.i64(..3))),
                2 => Ins::Cas(X, 0, 1),
                _ => Ins::If(1, Box::new(Ins::Write(X, Value::Constant(3)))),
            }
        });
    }
    if held {
        body.push(Ins::Release(M));
    }
    body
}

/// A program of the corpus and what is expected of it.
pub struct Expected {
    pub program: Program,
    /// Terminating executions with exactly 0, 1, .. preemptions.
    pub executions: Vec<u64>,
    /// Those of them whose preemptions are all at synchronization accesses.
    pub observable: Vec<u64>,
    /// States reached with at most 0, 1, .. preemptions.
    pub states: Vec<u64>,
    /// Terminating executions without a race, up to equivalence.
    pub classes: u64,
    /// Least number of preemptions before a race.
    pub race: Option<u32>,
    /// The same among observable executions.
    pub observable_race: Option<u32>,
}

/// The programs of `corpus/oracle/threads.json`.
pub fn corpus() -> Vec<Expected> {
    let text = include_str!("../../../../corpus/oracle/threads.json");
    let json: serde_json::Value = serde_json::from_str(text).expect("the corpus is JSON");
    array(&json).iter().map(expected).collect()
}

type Json = serde_json::Value;

fn array(json: &Json) -> &[Json] {
    json.as_array().expect("an array")
}

fn integer(json: &Json) -> i64 {
    json.as_i64().expect("a number")
}

fn expected(entry: &Json) -> Expected {
    let counts = |name: &str| array(&entry[name]).iter().map(|n| integer(n) as u64).collect();
    let least = |name: &str| match &entry[name] {
        Json::Null => None,
        n => Some(integer(n) as u32),
    };
    let threads = array(&entry["threads"]).iter().map(|t| array(t).iter().map(instruction).collect()).collect();
    assert_eq!(entry["init"], serde_json::json!({"x": 0, "d": 0, "d2": 0, "m": -1}));
    assert_eq!(entry["sync"], serde_json::json!(["x"]), "and locks synchronize anyway");
    Expected {
        program: program(threads),
        executions: counts("executions_by_preemptions"),
        observable: counts("observable_by_preemptions"),
        states: counts("states_cumulative"),
        classes: integer(&entry["happens_before_classes_of_racefree_terminating"]) as u64,
        race: least("min_np_race"),
        observable_race: least("min_np_observable_race"),
    }
}

fn instruction(json: &Json) -> Ins {
    let part = |i: usize| integer(&json[i]);
    let var = || match json[1].as_str().expect("a variable") {
        "x" => X,
        "d" => D,
        "d2" => D2,
        "m" => M,
        other => panic!("unknown variable {other}"),
    };
    match json[0].as_str().expect("an instruction") {
        "start" => Ins::Start,
        "acq" => Ins::Acquire(var()),
        "rel" => Ins::Release(var()),
        "rd" => Ins::Read(var()),
        "wr" => {
            let value = integer(&json[2][1]);
            let how = match json[2][0].as_str().expect("how to write") {
                "=" => Value::Constant,
                "*" => Value::FromOld,
                "r" => Value::FromRegister,
                other => panic!("unknown way to write {other}"),
            };
            Ins::Write(var(), how(value))
        }
        "cas" => Ins::Cas(var(), part(2), part(3)),
        "if" => Ins::If(part(1), Box::new(instruction(&json[2]))),
        other => panic!("unknown instruction {other}"),
    }
}
