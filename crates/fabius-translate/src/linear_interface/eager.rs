//! Any number of threads, one after the other, each through all rounds.
//!
//! Paper: Sequentializing Parameterized Programs (2011/12), section 4.
//!
//! `x[i]` is the shared state in which round i goes on, `start_x[i]` the guess of how it begins. The program runs threads
//! until it chooses to stop, and then confirms the guesses.
//!
//! Deviations:
//! 1. States that no execution reaches are explored, too: so what can fail sets a flag, and whether that counts is asked at
//!    the end, when the guesses are confirmed.
//! 2. Deadlocks: see `stuck.rs`. All threads that there are run to their end, or are stuck in the last state, which is guessed.

use super::{Parameterized, run};
use crate::build::*;
use crate::stuck::{Stuck, stuck};
use crate::vectors::{Moved, Vectors, pass, vectors};
use crate::{Nesting, Translated};
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::BTreeSet;

/// Threads that run through all rounds, as procedures: what a linear interface is computed from.
#[derive(Clone, Debug)]
pub struct Threads {
    /// The program. Its `init` is that of the source.
    pub program: Program,
    /// Runs each thread of a declared number, in their order.
    pub declared: Vec<ProcId>,
    /// Runs one thread of any number.
    pub any: ProcId,
    /// The shared variables: vectors with an element for each round.
    pub shared: Vec<GlobalId>,
    /// Global: an assertion has failed.
    pub failed: GlobalId,
    /// What was left out, in sentences.
    pub limits: Vec<String>,
    /// Global: the round in which a thread runs.
    pub round: GlobalId,
    /// Where threads wait, and it is asked whether for ever.
    pub waits: Option<Waits>,
    stop: Place,
    copies: Vectors,
    stuck: Option<Stuck>,
}

/// The globals that say who waits for ever.
#[derive(Clone, Debug)]
pub struct Waits {
    /// Some thread does.
    pub stuck: GlobalId,
    /// Some thread could go on, and does not: then nothing is said.
    pub dropped: GlobalId,
    /// Vectors that are waited for, and what each is guessed to be in the end.
    pub last: Vec<(GlobalId, GlobalId)>,
}

/// Each thread as a procedure that runs through at most `rounds` rounds.
pub fn threads(source: &Parameterized, rounds: u32) -> Threads {
    let explicit = &source.explicit;
    let mut program = explicit.program.clone();
    let stop = global(&program, explicit.stop);
    let mut shared: BTreeSet<GlobalId> = crate::explicit::shared(explicit).into_iter().collect();
    shared.remove(&explicit.stop);
    let stuck = stuck(&mut program, &shared.iter().copied().collect::<Vec<_>>());
    let copies = vectors(&mut program, &shared, rounds);
    let last = i64::from(rounds) - 1;
    let round = new_global(&mut program, "round", Type::Range(0, last));
    let here = read(&round);
    let moved = Moved { variables: &shared, index: &here, or_if: None };
    let stops = set(&stop, boolean(true));
    let drop: Block = [stops.clone()].into_iter().chain(stuck.as_ref().map(Stuck::drop)).collect();
    for id in 0..program.procs.len() {
        let mut locals = std::mem::take(&mut program.procs[id].locals);
        let body = replace(std::mem::take(&mut program.procs[id].body), &mut |s| match (s.kind, &stuck) {
            (StmtKind::Await(e), Some(stuck)) => stuck.wait(&program, e, stops.clone(), &mut locals),
            (kind, _) => vec![Stmt { kind, ..s }],
        });
        let body = moved.block(body, &program);
        program.procs[id].body = replace(body, &mut |s| match s.kind {
            StmtKind::Zield => pass(&round, last, &mut locals, &drop),
            _ => vec![s],
        });
        program.procs[id].locals = locals;
    }
    let mut one = |name: &str, locals: Vec<Local>, call: Block| {
        let mut body = vec![set(&stop, boolean(false)), set(&round, number(0))];
        body.extend(source.fresh());
        body.extend(call);
        let (name, results) = (name.into(), Vec::new());
        program.procs.push(Proc { name, locals, params: 0, results, body, span: Span::default() });
        program.procs.len() - 1
    };
    let declared = explicit.starts.iter().map(|start| one("declared_thread", Vec::new(), vec![run(start)])).collect();
    let mut locals = Vec::new();
    let call = source.run_any(&mut locals);
    let any = one("any_thread", locals, call);
    crate::explicit::make_sequential(&mut program);
    // Nobody runs beside `init`: it hands nothing over.
    let main = program.init.expect("an explicit program begins with `init`");
    let went_on = not(read(&stop));
    let failed = global(&program, explicit.failed);
    let mut body = Vec::new();
    if let Some(stuck) = &stuck {
        stuck.guess(&program, &mut body);
    }
    body.push(stmt(StmtKind::Call(Vec::new(), main, Vec::new())));
    if let Some(stuck) = &stuck {
        // Who waits alone waits for ever.
        let first = |g: GlobalId| element(global(&program, g), number(0));
        body.push(when(stuck.is_deadlock(&first), vec![set(&failed, boolean(true))]));
    }
    body.push(assume(or(read(&failed), and(went_on, eq(read(&round), number(0))))));
    let (locals, results) = (Vec::new(), Vec::new());
    program.procs.push(Proc { name: "init_alone".into(), locals, params: 0, results, body, span: Span::default() });
    program.init = Some(program.procs.len() - 1);
    let (failed, limits) = (explicit.failed, explicit.limits.clone());
    let waits = stuck.as_ref().map(|s| Waits {
        stuck: id_of(&s.stuck),
        dropped: id_of(&s.dropped),
        last: s.last.iter().map(|(g, last)| (*g, id_of(last))).collect(),
    });
    Threads {
        program,
        declared,
        any,
        shared: shared.into_iter().collect(),
        failed,
        limits,
        stop,
        round: id_of(&round),
        waits,
        copies,
        stuck,
    }
}

/// The executions of at most `rounds` rounds of any number of threads.
pub fn eager(source: &Parameterized, rounds: u32) -> Translated {
    let Threads { mut program, declared, any, failed, limits, stop, copies, stuck, .. } = threads(source, rounds);
    let main = program.init.expect("an explicit program begins with `init`");
    let call = |p: ProcId| stmt(StmtKind::Call(Vec::new(), p, Vec::new()));
    let mut locals = Vec::new();
    let mut body = copies.guesses;
    body.push(call(main));
    let more = new_local(&mut locals, "more", Type::Bool);
    let choose = any_between(&more, boolean(false), boolean(true));
    let mut all: Block = declared.into_iter().map(call).collect();
    all.push(choose.clone());
    all.push(stmt(StmtKind::While(Guard::Expr(read(&more)), vec![call(any), choose])));
    // A failure of `init` is the end.
    body.push(when(not(read(&stop)), all));
    body.extend(copies.confirmed);
    let last = number(i64::from(rounds) - 1);
    body.push(match stuck {
        None => crate::explicit::verdict(&program, failed),
        Some(stuck) => stuck.verdict(&program, failed, &|g| element(global(&program, g), last.clone())),
    });
    let results = Vec::new();
    program.procs.push(Proc { name: "all_threads".into(), locals, params: 0, results, body, span: Span::default() });
    program.init = Some(program.procs.len() - 1);
    Translated { program, nesting: Nesting::Queue, limits, sliced: source.explicit.sliced }
}
