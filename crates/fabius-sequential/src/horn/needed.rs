//! Arguments that say nothing are left out of predicates.
//!
//! Paper: Redundant Argument Filtering of Logic Programs (LOPSTR 1996), section 3: an argument is redundant if, wherever
//! the predicate is in a body, it is a variable that occurs nowhere else but in redundant arguments.
//!
//! Deviations:
//! 1. The arguments that are needed are computed, as a least fixed point, and not those that are redundant.
//! 2. A variable that is twice in a body is needed, wherever it stands.

use super::Clauses;
use fabius_smt::{Kind, Term, Terms};
use hashbrown::{HashMap, HashSet};

/// Leaves out what is not needed.
pub fn keep_needed(system: &mut Clauses) {
    let needed = needed(system);
    for (predicate, needed) in system.predicates.iter_mut().zip(&needed) {
        retain(&mut predicate.arguments, needed);
    }
    for clause in &mut system.clauses {
        for atom in clause.body.iter_mut().chain(&mut clause.head) {
            retain(&mut atom.arguments, &needed[atom.predicate]);
        }
    }
}

fn retain<T>(list: &mut Vec<T>, keep: &[bool]) {
    let mut keep = keep.iter();
    list.retain(|_| keep.next().copied().unwrap_or(false));
}

/// For each predicate, which of its arguments are needed.
fn needed(system: &Clauses) -> Vec<Vec<bool>> {
    let terms = &system.terms;
    let mut needed: Vec<Vec<bool>> = system.predicates.iter().map(|p| vec![false; p.arguments.len()]).collect();
    // Of each clause: the terms that matter.
    let mut matter: Vec<HashSet<Term>> = Vec::new();
    for clause in &system.clauses {
        let mut seen = HashSet::new();
        reach(terms, clause.guard, &mut seen);
        let mut times: HashMap<Term, u32> = HashMap::new();
        for t in clause.body.iter().flat_map(|a| &a.arguments) {
            *times.entry(*t).or_default() += 1;
        }
        for t in clause.body.iter().flat_map(|a| &a.arguments) {
            if !matches!(terms.kind(*t), Kind::Var(_)) || times[t] > 1 {
                reach(terms, *t, &mut seen);
            }
        }
        matter.push(seen);
    }
    loop {
        let mut grown = false;
        for (clause, seen) in system.clauses.iter().zip(&mut matter) {
            if let Some(head) = &clause.head {
                for (t, needed) in head.arguments.iter().zip(&needed[head.predicate]) {
                    if *needed {
                        reach(terms, *t, seen);
                    }
                }
            }
            for atom in &clause.body {
                for (t, needed) in atom.arguments.iter().zip(&mut needed[atom.predicate]) {
                    grown |= !*needed && seen.contains(t);
                    *needed |= seen.contains(t);
                }
            }
        }
        if !grown {
            return needed;
        }
    }
}

/// Adds a term and all that it is made of.
fn reach(terms: &Terms, t: Term, seen: &mut HashSet<Term>) {
    let mut stack = vec![t];
    while let Some(t) = stack.pop() {
        if seen.insert(t) {
            stack.extend(terms.operands(t));
        }
    }
}
