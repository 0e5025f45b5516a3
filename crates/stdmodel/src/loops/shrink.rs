//! Smaller programs with loops that still show the same.

use super::program::{Op, Place, Program, Stmt};

/// Removes threads and statements, and makes counters plain, as long as `fails` holds.
pub fn shrink(program: &Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    while let Some(smaller) = smaller(&smallest).into_iter().find(|p| fails(p)) {
        smallest = smaller;
    }
    smallest
}

fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for (thread, stmts) in program.threads.iter().enumerate() {
        for less in blocks(stmts) {
            let mut smaller = program.clone();
            smaller.threads[thread] = less;
            smaller.complete();
            all.push(smaller);
        }
    }
    for (c, counter) in program.counters.iter().enumerate() {
        if counter.owner.is_some() && counter.place != Place::Local {
            let mut smaller = program.clone();
            smaller.counters[c].place = Place::Local;
            all.push(smaller);
        }
    }
    all.retain(|less| weight(less) < weight(program));
    all.sort_by_key(weight);
    all
}

/// The same with one statement less, or one that is smaller.
fn blocks(stmts: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut all = Vec::new();
    for (at, stmt) in stmts.iter().enumerate() {
        let mut with = |instead: Vec<Stmt>| {
            let mut less = stmts.to_vec();
            less.splice(at..=at, instead);
            all.push(less);
        };
        with(Vec::new());
        match stmt {
            Stmt::If(cond, yes, no) => {
                with(yes.clone());
                with(no.clone());
                blocks(yes).into_iter().for_each(|yes| with(vec![Stmt::If(*cond, yes, no.clone())]));
                blocks(no).into_iter().for_each(|no| with(vec![Stmt::If(*cond, yes.clone(), no)]));
            }
            Stmt::Loop(body) => blocks(body).into_iter().for_each(|body| with(vec![Stmt::Loop(body)])),
            Stmt::Do(Op::Spin | Op::Sleep(_) | Op::ParkTimeout(_)) => with(vec![Stmt::Do(Op::Yield)]),
            Stmt::Do(Op::CasWeak(a, e, n)) => with(vec![Stmt::Do(Op::Cas(*a, *e, *n))]),
            _ => {}
        }
    }
    all
}

/// Shrinking makes this smaller, so it ends.
fn weight(program: &Program) -> (usize, usize) {
    let places = program.counters.iter().filter(|c| c.owner.is_some() && c.place != Place::Local).count();
    (program.threads.iter().map(|t| size(t)).sum(), places)
}

fn size(stmts: &[Stmt]) -> usize {
    let of = |stmt: &Stmt| match stmt {
        Stmt::If(_, yes, no) => 2 + size(yes) + size(no),
        Stmt::Loop(body) => 2 + size(body),
        Stmt::Do(Op::Spin | Op::Sleep(_) | Op::ParkTimeout(_) | Op::CasWeak(..)) => 2,
        _ => 1,
    };
    stmts.iter().map(of).sum()
}
