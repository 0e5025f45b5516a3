//! Steps that may not end: loops and recursion without a scheduling point that are not seen to end.
//!
//! A translation knows only what comes to a point. What such a step has done before is lost in it, so nothing that depends on it
//! is seen. A loop ends if it counts ([`counted`]), or if that shows from each valuation of what decides ([`valuations`]). It may
//! go around for ever where it is left by choice: all that follows follows from there, and who goes around by choices is dropped.

mod counted;
mod recursion;
#[cfg(test)]
mod tests;
mod valuations;
mod ways;

use fabius_lang::program::{Block, Guard, ProcId, Program, Stmt, StmtKind};
use fabius_trace::Span;
use ways::{Points, Ways, each_within, is_point, leaves, says};

/// What may not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endless {
    /// The loop here.
    Loop(Span),
    /// The calls that go on with this one.
    Recursion(Span),
}

/// A step that may not end, in a program of several threads.
pub fn endless(program: &Program) -> Option<Endless> {
    let ways = Ways::of(program);
    let running = ways.running();
    let mut found = None;
    for ((proc, points), body) in &running {
        each_within(body, *points, &mut |s, points| {
            if found.is_none() && may_stay(&ways, *proc, s, points) {
                found = Some(Endless::Loop(s.span));
            }
        });
    }
    found.or_else(|| recursion::endless(&ways, &running).map(Endless::Recursion))
}

fn may_stay(ways: &Ways<'_>, proc: ProcId, s: &Stmt, points: Points) -> bool {
    let StmtKind::While(guard, body) = &s.kind else { return false };
    if is_point(s, points) || says(guard) == Some(false) {
        return false;
    }
    let ends = ways.through(body, points);
    (ends.falls || ends.continues)
        && !is_left_by_choice(ways, guard, body, points)
        && !counted::counts(ways, guard, body, points)
        && !valuations::can_be_left(ways, proc, (guard, body), points)
}

/// Whether a choice that each way around comes to leaves the loop.
fn is_left_by_choice(ways: &Ways<'_>, guard: &Guard, body: &Block, points: Points) -> bool {
    if *guard == Guard::Star {
        return true;
    }
    for (n, s) in body.iter().enumerate() {
        if matches!(s.kind, StmtKind::If(Guard::Star, ..)) && leaves(&body[n..=n], points) {
            return true;
        }
        if ways.through_one(s, points).continues {
            return false;
        }
    }
    false
}
