//! Programs and their facts, as they are written in the files beside this one.
//!
//! A thread is a list of operations: `R r x ord`, `W x v ord`, `ADD r x v ord`, `XCHG r x v ord`,
//! `CAS r x expected new ord ord`, `CASW r ok x expected new ord ord`, `F ord`, `Rna r x`, `Wna x v`, `IF r v n` (skips n
//! operations unless r = v), `AWAIT r x v ord`, `SPAWN k`, `JOIN k`, `LOCK m`, `UNLOCK m`. A thread that some `SPAWN` names
//! begins there, the others at once. A fact is followed by its front: all pairs of deviations and preemptions of which none
//! is worse in both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

#[derive(Clone, Debug)]
pub enum Value {
    Number(i64),
    Register(String),
}

#[derive(Clone, Debug)]
pub enum Op {
    Read(String, usize, Ordering),
    Write(usize, Value, Ordering),
    Add(String, usize, Value, Ordering),
    Exchange(String, usize, Value, Ordering),
    Compare {
        register: String,
        variable: usize,
        expected: Value,
        new: Value,
        success: Ordering,
        failure: Ordering,
    },
    CompareWeak {
        registers: [String; 2],
        variable: usize,
        expected: Value,
        new: Value,
        success: Ordering,
        failure: Ordering,
    },
    Fence(Ordering),
    ReadCell(String, usize),
    WriteCell(usize, Value),
    If(String, Value, usize),
    Await(String, usize, Value, Ordering),
    Spawn(usize),
    Join(usize),
    Lock(usize),
    Unlock(usize),
}

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub name: String,
    pub threads: Vec<Vec<Op>>,
    /// Variables by their names, in alphabetical order: what they are at first, and whether they are cells.
    pub variables: Vec<(String, i64, bool)>,
    pub mutexes: Vec<String>,
    /// Threads that others spawn.
    pub spawned: BTreeSet<usize>,
}

pub type Front = Vec<(u32, u32)>;

#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub outcomes: BTreeMap<String, Front>,
    pub race: Front,
    pub blocked: Front,
}

fn order(text: &str) -> Ordering {
    match text {
        "rlx" => Relaxed,
        "acq" => Acquire,
        "rel" => Release,
        "ar" => AcqRel,
        "sc" => SeqCst,
        _ => panic!("{text} is no ordering"),
    }
}

fn value(text: &str) -> Value {
    text.parse().map_or_else(|_| Value::Register(text.into()), Value::Number)
}

fn front(text: &str) -> Front {
    let pair = |pair: &str| {
        let (deviations, preemptions) = pair.split_once(',').expect("a pair");
        (deviations.parse().expect("a number"), preemptions.parse().expect("a number"))
    };
    text.split_whitespace().map(pair).collect()
}

fn words_of(thread: &str) -> Vec<Vec<&str>> {
    thread.split(';').map(|op| op.split_whitespace().collect()).collect()
}

/// The variable that an operation accesses, and whether that makes it a cell.
fn variable_of<'a>(words: &[&'a str]) -> Option<(&'a str, bool)> {
    match words[0] {
        "R" | "ADD" | "XCHG" | "CAS" | "AWAIT" => Some((words[2], false)),
        "W" => Some((words[1], false)),
        "CASW" => Some((words[3], false)),
        "Rna" => Some((words[2], true)),
        "Wna" => Some((words[1], true)),
        _ => None,
    }
}

impl Program {
    pub fn new(name: &str, threads: &[&str], init: &str) -> Program {
        let texts: Vec<Vec<Vec<&str>>> = threads.iter().map(|thread| words_of(thread)).collect();
        let mut variables: BTreeMap<&str, (i64, bool)> = BTreeMap::new();
        let mut mutexes = BTreeSet::new();
        let mut spawned = BTreeSet::new();
        for words in texts.iter().flatten() {
            if let Some((name, is_cell)) = variable_of(words) {
                variables.entry(name).or_default().1 |= is_cell;
            }
            match words[0] {
                "LOCK" => drop(mutexes.insert(words[1].to_string())),
                "SPAWN" => drop(spawned.insert(words[1].parse().expect("a thread"))),
                _ => {}
            }
        }
        for (name, value) in init.split_whitespace().filter_map(|i| i.split_once('=')) {
            variables.entry(name).or_default().0 = value.parse().expect("a number");
        }
        let variables: Vec<_> = variables.into_iter().map(|(n, (v, cell))| (n.to_string(), v, cell)).collect();
        let mut program = Program {
            name: name.into(),
            threads: Vec::new(),
            variables,
            mutexes: mutexes.into_iter().collect(),
            spawned,
        };
        program.threads = texts.iter().map(|ops| ops.iter().map(|words| program.op(words)).collect()).collect();
        program
    }

    fn op(&self, words: &[&str]) -> Op {
        let variable = || {
            let name = variable_of(words).expect("a variable").0;
            self.variables.iter().position(|(n, ..)| n == name).expect("it is known")
        };
        let mutex = || self.mutexes.iter().position(|m| m == words[1]).expect("it is known");
        let number = |at: usize| words[at].parse().expect("a number");
        let register = |at: usize| words[at].to_string();
        match words[0] {
            "R" => Op::Read(register(1), variable(), order(words[3])),
            "W" => Op::Write(variable(), value(words[2]), order(words[3])),
            "ADD" => Op::Add(register(1), variable(), value(words[3]), order(words[4])),
            "XCHG" => Op::Exchange(register(1), variable(), value(words[3]), order(words[4])),
            "CAS" => Op::Compare {
                register: register(1),
                variable: variable(),
                expected: value(words[3]),
                new: value(words[4]),
                success: order(words[5]),
                failure: order(words[6]),
            },
            "CASW" => Op::CompareWeak {
                registers: [register(1), register(2)],
                variable: variable(),
                expected: value(words[4]),
                new: value(words[5]),
                success: order(words[6]),
                failure: order(words[7]),
            },
            "F" => Op::Fence(order(words[1])),
            "Rna" => Op::ReadCell(register(1), variable()),
            "Wna" => Op::WriteCell(variable(), value(words[2])),
            "IF" => Op::If(register(1), value(words[2]), number(3)),
            "AWAIT" => Op::Await(register(1), variable(), value(words[3]), order(words[4])),
            "SPAWN" => Op::Spawn(number(1)),
            "JOIN" => Op::Join(number(1)),
            "LOCK" => Op::Lock(mutex()),
            "UNLOCK" => Op::Unlock(mutex()),
            other => panic!("{other} is no operation"),
        }
    }
}

/// The programs of a file.
pub fn read(text: &str) -> impl Iterator<Item = (Program, Facts)> {
    text.split("\n\n").map(|block| {
        let mut lines = block.lines().map(str::trim);
        let name = lines.next().expect("a name");
        let (mut threads, mut init, mut facts) = (Vec::new(), "", Facts::default());
        for line in lines {
            if let Some((outcome, costs)) = line.split_once(" @ ").or_else(|| Some(("", line.strip_prefix("@ ")?))) {
                facts.outcomes.insert(outcome.into(), front(costs));
                continue;
            }
            match line.split_once(": ").expect("what it is") {
                ("thread", ops) => threads.push(ops),
                ("init", values) => init = values,
                ("race", costs) => facts.race = front(costs),
                ("blocked", costs) => facts.blocked = front(costs),
                other => panic!("{other:?}"),
            }
        }
        (Program::new(name, &threads, init), facts)
    })
}
