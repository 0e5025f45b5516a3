//! What shared variables may be at the beginning of each round, and in which rounds control may be where, in executions
//! that fail: guesses need not be wider.
//!
//! Paper: Thread-Modular Verification for Shared-Memory Programs (ESOP 2002), section 3: each thread is followed with all that
//! others may do to the shared variables, and their private states are forgotten. Here it is done turn by turn, so that
//! what takes many turns is known to take them, and then backward from failures.
//!
//! Time is the number of turns: turn `r n + k` is that of thread k of n in round r, and it may be empty. A *view* of a
//! thread is its private state with the shared variables between two turns. Forward: a view has the first turn that may
//! begin with it. From the views of thread k that are there, its turn leads to other views of its own, and has *effects*: with
//! which shared values it begins, and with which it ends. Each view of another thread there with the same shared values
//! becomes one with those at the end. Backward: a view has the last turn that may begin with it such that something has
//! failed in the end, which is one of the shared values. In its own turn there must be a path to a view from which that
//! is so; in the turn of another thread an effect, on such a path of that thread, that leads to one.
//!
//! Why nothing is lost: take an execution of so many rounds as a sequence of turns. By induction on them, what each thread
//! sees at the beginning of a turn is a view that is there: what the thread whose turn it is does depends on its view alone,
//! and is what others see as an effect; and what is there stays, because turns may be empty. In the end of an execution that fails,
//! something has failed in the views of all. By induction backward, each view leads to that: the path of the turn is there
//! in this round, leads to the next view of its thread, and is the effect that leads to the next view of any other. So
//! what is said holds in all executions that fail, and no bug is lost: the shared values at the beginning of a round are in
//! views of all threads that are there and lead to a failure, and where control passes in a round it is on a path that is
//! there and leads to one. It is told as an interval for each number. Where something is not followed (handles, threads
//! that are spawned, tasks that `init` posts, queues, choices among many values), or it takes too long, nothing is said.
//!
//! Deviations:
//! 1. Tasks of a buffer are no threads of their own: all of them are one private state, because they share its turns.
//! 2. If deadlocks are asked about, too, nothing is said backward: who waits for ever has not failed.

mod code;
mod layout;
mod passages;
mod search;
mod turn;
mod values;

use crate::Explicit;
use crate::build::{first, id_of, without};
use crate::explicit::{per_thread, shared};
use code::{Code, Known};
use fabius_lang::program::*;
use layout::Layout;
use passages::When;
use search::{Goal, Search, Thread};
use std::cell::Cell;
use std::collections::BTreeMap;
use turn::Turns;

/// For each round but the first, and each variable, the least and the greatest value of each of its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginnings {
    rounds: Vec<BTreeMap<GlobalId, Vec<(i64, i64)>>>,
    passages: Vec<When>,
}

impl Beginnings {
    /// Of a variable at the beginning of a round.
    pub fn of(&self, round: i64, global: GlobalId) -> Option<&[(i64, i64)]> {
        let round = usize::try_from(round).ok()?.checked_sub(1)?;
        self.rounds.get(round)?.get(&global).map(Vec::as_slice)
    }

    /// Says in the program where control may be in which round.
    pub fn tell(&self, program: &mut Program, round: &Place, stop: &Place) {
        passages::tell(program, &self.passages, round, stop);
    }
}

/// Of so many rounds over the buffers or threads that are declared, in their order. `None` if nothing is known.
pub fn beginnings(source: &Explicit, rounds: u32) -> Option<Beginnings> {
    let program = &source.program;
    let is_beyond = |s: &StmtKind| {
        matches!(s, StmtKind::Spawn(..) | StmtKind::Join(_) | StmtKind::New(..) | StmtKind::Post(Some(_), ..))
    };
    // In one round nothing is guessed. Who has stopped still lets those behind it in a queue go on.
    if rounds < 2 || source.queue.is_some() || first(program, is_beyond).is_some() {
        return None;
    }
    // Buffers and threads begin when `init` is done, and not when the tasks are done that it has posted.
    let posts_nothing = without(program, |s| matches!(s, StmtKind::Post(..)));
    if program.init.is_some_and(|main| !posts_nothing[main]) {
        return None;
    }
    let clock =
        program.globals.iter().position(|g| matches!(g.ty, Type::Record(r) if program.records[r].name == CLOCK));
    let quiet = without(program, |s| matches!(s, StmtKind::Zield | StmtKind::Post(..)));
    let known = Known { failed: source.failed, clock, quiet };
    let mut passages = Vec::new();
    let globals = Layout::of(program, program.globals.iter().map(|g| &g.ty));
    let mut initial = Vec::new();
    program.globals.iter().for_each(|g| layout::flatten(&g.init, &mut initial));
    let is_value = |g: &GlobalId| Some(*g) != clock && *g != source.stop && *g != source.failed;
    let others: Vec<GlobalId> = shared(source).into_iter().filter(is_value).collect();
    let own = source.private.iter().copied().chain(per_thread(program).into_iter().map(|(p, _)| id_of(&p)));
    let own: Vec<GlobalId> = own.filter(is_value).collect();
    let numbers = |all: &[GlobalId]| all.iter().flat_map(|g| globals.of_one(*g)).collect::<Vec<usize>>();
    let failed = globals.offsets[source.failed];
    let shared = numbers(&others).into_iter().chain([failed]).collect();
    // Who is stuck has not failed.
    let goal = match first(program, |s| matches!(s, StmtKind::Await(_))) {
        Some(_) => Goal::Anything,
        None => Goal::Failures,
    };
    let mut turns = Turns {
        program,
        codes: (0..program.procs.len()).map(|p| Code::of(program, p, &known, &mut passages)).collect(),
        failed,
        shared,
        own: numbers(&own),
        globals,
        initial,
        left: Cell::default(),
        passages,
        passed: Vec::new(),
    };
    let main = program.init.map(|main| turns.begin(main, &[]));
    let starts = source.starts.iter().map(|s| turns.begin(s.proc, &s.args));
    let threads: Vec<Thread> =
        main.into_iter().chain(starts).map(|p| p.ok().map(Thread::new)).collect::<Option<_>>()?;
    let (all, passed) = Search::new(threads, rounds, goal).run(&mut turns).ok()?;
    let by_variable = |all: &Vec<(i64, i64)>| {
        let mut all = all.iter().copied();
        others.iter().map(|g| (*g, turns.globals.of_one(*g).map_while(|_| all.next()).collect())).collect()
    };
    let passages = passages::passages(&turns.passages, &passed, rounds);
    Some(Beginnings { rounds: all.iter().map(by_variable).collect(), passages })
}
