//! In which rounds control may be behind a statement, depending on a local.

use super::code::Passage;
use super::search::Passed;
use crate::build::*;
use fabius_lang::program::*;
use std::collections::BTreeMap;

/// So many values of a local are told apart.
const MOST: usize = 64;

/// The first and the last round for each value.
type Cases = BTreeMap<i64, (i64, i64)>;

/// What is known behind a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct When {
    proc: ProcId,
    statement: usize,
    /// The local, and when it has which value: it has no others.
    by_local: Option<(LocalId, Cases)>,
    /// For all of them.
    all: (i64, i64),
}

/// What is worth saying, of so many rounds.
pub fn passages(passages: &[Passage], passed: &[Passed], rounds: u32) -> Vec<When> {
    let mut by_passage: Vec<Vec<&Passed>> = passages.iter().map(|_| Vec::new()).collect();
    passed.iter().for_each(|p| by_passage[p.passage].push(p));
    let one = |(passage, passed): (&Passage, Vec<&Passed>)| {
        let wider = |(lo, hi): (i64, i64), p: &Passed| (lo.min(p.rounds.0.into()), hi.max(p.rounds.1.into()));
        // Nothing at all is an interval without a round.
        let nothing = (i64::from(rounds), -1);
        let all = passed.iter().fold(nothing, |all, p| wider(all, p));
        let by = |i: usize| {
            let mut cases = Cases::new();
            for p in &passed {
                let case = cases.entry(p.values[i]).or_insert(nothing);
                *case = wider(*case, p);
            }
            cases
        };
        let width = |(lo, hi): &(i64, i64)| hi - lo + 1;
        let choices = passage.locals.iter().enumerate().map(|(i, l)| (*l, by(i)));
        // The one with which least is left open, on average.
        let best = choices
            .filter(|(_, cases)| (2..=MOST).contains(&cases.len()))
            .min_by_key(|(_, cases)| 1000 * cases.values().map(width).sum::<i64>() / cases.len() as i64);
        let by_local = best.filter(|(_, cases)| cases.values().any(|case| width(case) < width(&all)));
        let says = by_local.is_some() || width(&all) < i64::from(rounds);
        says.then_some(When { proc: passage.proc, statement: passage.statement, by_local, all })
    };
    passages.iter().zip(by_passage).filter_map(one).collect()
}

/// Says so behind the statements, for those who have not stopped.
pub fn tell(program: &mut Program, known: &[When], round: &Place, stop: &Place) {
    for id in 0..program.procs.len() {
        let here: BTreeMap<usize, &When> = known.iter().filter(|w| w.proc == id).map(|w| (w.statement, w)).collect();
        if here.is_empty() {
            continue;
        }
        let locals = program.procs[id].locals.clone();
        let fact = |n: usize| {
            let when = here.get(&n)?;
            let (lo, hi) = match &when.by_local {
                None => (number(when.all.0), number(when.all.1)),
                Some((l, cases)) => {
                    let v = read(&local(*l, locals[*l].ty.clone()));
                    let by = |of: fn(&(i64, i64)) -> i64, otherwise: i64| {
                        cases.iter().rev().fold(number(otherwise), |rest, (value, case)| {
                            let here = eq(v.clone(), constant(*value, v.ty.clone()));
                            expr(ExprKind::IfElse(here.into(), number(of(case)).into(), rest.into()), Type::Int)
                        })
                    };
                    (by(|c| c.0, 1), by(|c| c.1, 0))
                }
            };
            let in_time = and(le(lo, read(round)), le(read(round), hi));
            Some(assume(or(read(stop), in_time)))
        };
        let body = std::mem::take(&mut program.procs[id].body);
        let body = behind(body, &mut 0, &fact);
        program.procs[id].body = body;
    }
}

/// Puts statements behind those with these numbers.
fn behind(block: Block, next: &mut usize, what: &dyn Fn(usize) -> Option<Stmt>) -> Block {
    let mut out = Vec::new();
    for mut s in block {
        let n = *next;
        *next += 1;
        s.kind = match s.kind {
            StmtKind::If(g, a, b) => {
                let a = behind(a, next, what);
                StmtKind::If(g, a, behind(b, next, what))
            }
            StmtKind::While(g, b) => StmtKind::While(g, behind(b, next, what)),
            StmtKind::Atomic(b) => StmtKind::Atomic(behind(b, next, what)),
            other => other,
        };
        out.push(s);
        out.extend(what(n));
    }
    out
}
