//! Büchi automata over which conditions hold: what must not be, in the general case.
//!
//! An automaton reads the states of an execution, one after the other, and accepts it if some run passes accepting states again
//! and again. A `never` claim of SPIN is one.

use crate::Span;
use std::collections::BTreeSet;

/// A condition on states, by its number among those of the program.
pub type ConditionId = usize;

/// An automaton. It begins in its first state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Automaton {
    /// The states.
    pub states: Vec<AutomatonState>,
    /// Where it, or the formula that it is the negation of, is written.
    pub span: Span,
}

/// A state of an automaton.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AutomatonState {
    /// Whether to be here again and again is to accept.
    pub accepts: bool,
    /// What leads from here.
    pub moves: Vec<AutomatonMove>,
}

/// What leads from one state of an automaton to another: one state of the execution is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AutomatonMove {
    /// The conditions that have to hold in it, and those that must not.
    pub when: Vec<(ConditionId, bool)>,
    /// The state behind it.
    pub to: usize,
}

impl Automaton {
    /// Where it may be when it has read a state of the execution in which these conditions hold.
    pub fn next<'a>(&'a self, from: usize, holds: &'a [bool]) -> impl Iterator<Item = usize> + 'a {
        let fits = |m: &&AutomatonMove| m.when.iter().all(|(c, wanted)| holds[*c] == *wanted);
        self.states[from].moves.iter().filter(fits).map(|m| m.to)
    }

    /// Whether it accepts an execution that goes on for ever in the same way. `states` says for each of its states which conditions
    /// hold; behind the last one it is that at `repeats` again.
    pub fn accepts(&self, states: &[Vec<bool>], repeats: usize) -> bool {
        let (before, again) = states.split_at(repeats);
        let read = |from: BTreeSet<(usize, bool)>, word: &[Vec<bool>]| {
            word.iter().fold(from, |at, holds| {
                let next = at.iter().flat_map(|(q, passed)| self.next(*q, holds).map(move |to| (to, *passed)));
                next.map(|(to, passed)| (to, passed || self.states[to].accepts)).collect()
            })
        };
        let starts = read(BTreeSet::from([(0, false)]), before);
        // Where it may be each time that the execution is at the beginning of what repeats, from such a state on.
        let round = |from: usize| read(BTreeSet::from([(from, false)]), again);
        let reached = |from: BTreeSet<(usize, bool)>| {
            let (mut seen, mut open) = (from.clone(), Vec::from_iter(from));
            while let Some((q, passed)) = open.pop() {
                for (to, now) in round(q) {
                    if seen.insert((to, passed || now)) {
                        open.push((to, passed || now));
                    }
                }
            }
            seen
        };
        let all: BTreeSet<usize> = reached(starts).into_iter().map(|(q, _)| q).collect();
        all.into_iter().any(|q| reached(round(q)).contains(&(q, true)))
    }
}
