//! Several task buffers as one.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), figure 5 (the translation by rounds over
//! the buffers).
//!
//! Every variable becomes a vector with a value for each round over the buffers; one buffer after the other runs through all
//! of its rounds.
//!
//! Deviations:
//! 1. Every buffer but the first may begin in any round; the printed rule has all begin in round 0, in order. If there is an
//!    `init`, the others begin when it has finished.
//! 2. A buffer may go to a round behind the last, and then does nothing any more, if an assertion fails in the end: so a
//!    failure in round i is seen with i rounds, although the other buffers have not finished.
//! 3. A variable that only one thread uses, or of which every buffer has its own, has no copies.

use crate::build::*;
use crate::{Explicit, Prioritized, Unsupported};
use fabius_lang::program::*;
use std::collections::BTreeSet;

/// The executions with at most `rounds` rounds over the buffers.
///
/// # Errors
/// Threads that are spawned.
pub fn buffers(source: &Explicit, rounds: u32) -> Result<Prioritized, Unsupported> {
    let mut program = source.program.clone();
    if let Some(span) = first_spawn(&program) {
        let help = "declare them as `process`es, or use `--rounds` or `--delays`";
        return Err(Unsupported::new("threads that start while task buffers run", span, help));
    }
    let mut shared: BTreeSet<GlobalId> = crate::explicit::shared(source).into_iter().collect();
    shared.insert(source.stop);
    let last = i64::from(rounds) - 1;
    let (before, mut after, starts) = copies(&mut program, &shared, rounds);
    let round = new_global(&mut program, "buffer_round", Type::Range(0, last + 1));
    let dropped = new_global(&mut program, "a_buffer_is_dropped", Type::Bool);
    let here = read(&round);
    let over = lt(number(last), here.clone());
    let moved = Moved { variables: &shared, index: &here, or_if: Some((source.stop, &over)) };
    for id in 0..program.procs.len() {
        let body = moved.block(std::mem::take(&mut program.procs[id].body), &program);
        program.procs[id].body = replace(body, &mut |s| match s.kind {
            StmtKind::Zield => vec![
                any_between(&round, here.clone(), number(last + 1)),
                when(over.clone(), vec![set(&dropped, boolean(true))]),
            ],
            StmtKind::Post(r, level, p, es) => {
                vec![Stmt { kind: StmtKind::Post(r, level.map(|l| l + 1), p, es), ..s }]
            }
            _ => vec![s],
        });
    }
    let stops = read(&element(global(&program, source.stop), number(last)));
    after.push(assume(or(not(read(&dropped)), stops)));
    let first_round = start(&mut program, source, &round, &over, &dropped);
    program.levels.insert(0, "START".into());
    let own = starts.iter().chain([&dropped, &first_round]);
    let private = source.private.iter().copied().chain(own.map(id_of)).collect();
    Ok(Prioritized { program, failed: source.failed, stop: source.stop, private, before, after, limits: source.limits.clone() })
}

fn first_spawn(program: &Program) -> Option<fabius_trace::Span> {
    let mut found = None;
    for proc in &program.procs {
        each(&proc.body, &mut |s| {
            if matches!(s.kind, StmtKind::Spawn(..)) {
                found.get_or_insert(s.span);
            }
        });
    }
    found
}

/// Makes the variables vectors. Guesses how rounds begin, and says what the guesses must have been; with the variables that
/// keep the guesses.
pub(crate) fn copies(program: &mut Program, shared: &BTreeSet<GlobalId>, rounds: u32) -> (Block, Block, Vec<Place>) {
    let (mut before, mut after, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    for g in shared {
        let variable = &mut program.globals[*g];
        variable.init = Value::Tuple(vec![variable.init.clone(); rounds as usize]);
        variable.ty = array(variable.ty.clone(), rounds);
        let (name, ty) = (format!("start_{}", variable.name), variable.ty.clone());
        let (x, start) = (global(program, *g), new_global(program, &name, ty));
        for i in 1..i64::from(rounds) {
            guess(program, &element(x.clone(), number(i)), &mut before);
            let begins = read(&element(start.clone(), number(i)));
            after.push(assume(eq(begins, read(&element(x.clone(), number(i - 1))))));
        }
        before.push(set(&start, read(&x)));
        starts.push(start);
    }
    (before, after, starts)
}

/// The new `init` posts what the old one does, and then what is declared. Returns where the round is in which the old one
/// ends.
fn start(program: &mut Program, source: &Explicit, round: &Place, over: &Expr, dropped: &Place) -> Place {
    let main = program.init.expect("an explicit program begins with `init`");
    let first_round = new_global(program, "first_round", round.ty.clone());
    program.procs[main].body.push(set(&first_round, read(round)));
    let mut body = vec![stmt(StmtKind::Post(None, Some(1), main, Vec::new()))];
    let Type::Range(_, behind_last) = round.ty else { unreachable!("rounds are counted") };
    for (n, start) in source.starts.iter().enumerate() {
        for (own, init) in crate::explicit::per_thread(program) {
            body.push(set(&own, expr(ExprKind::Const(init), own.ty.clone())));
        }
        if n == 0 && !source.has_init {
            body.push(set(round, number(0)));
        } else {
            body.push(any_between(round, read(&first_round), number(behind_last)));
            body.push(when(over.clone(), vec![set(dropped, boolean(true))]));
        }
        let span = program.procs[start.proc].span;
        body.push(Stmt { span, ..stmt(StmtKind::Post(None, Some(1), start.proc, start.args.clone())) });
    }
    let name = "all_buffers".into();
    program.procs.push(Proc { name, locals: Vec::new(), params: 0, results: Vec::new(), body, span: Default::default() });
    program.init = Some(program.procs.len() - 1);
    first_round
}
