use crate::automaton::{Automaton, ConditionId};
use std::sync::Arc;

/// What is asked of every execution, infinite ones included.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// It holds in some state.
    Eventually(ConditionId),
    /// It holds again and again.
    AlwaysEventually(ConditionId),
    /// It holds from some state on.
    EventuallyAlways(ConditionId),
    /// Whenever the first holds, the second holds then or later.
    LeadsTo(ConditionId, ConditionId),
    /// The automaton does not accept it.
    Never(Arc<Automaton>),
}

/// How fair executions are to a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fairness {
    /// Not at all.
    None,
    /// If it can go on from some time on, it makes steps again and again.
    #[default]
    Weak,
    /// If it can go on again and again, it makes steps again and again.
    Strong,
}

impl Fairness {
    /// All of them.
    pub const ALL: [Fairness; 3] = [Fairness::None, Fairness::Weak, Fairness::Strong];

    /// How it is written behind a property.
    pub fn words(self) -> &'static str {
        match self {
            Fairness::None => "without fairness",
            Fairness::Weak => "under weak fairness",
            Fairness::Strong => "under strong fairness",
        }
    }
}

/// What threads began as, by number: processes, and procedures that are spawned.
pub type Origin = usize;

/// Of which infinite executions a property is asked: of those that are so fair to each thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FairThreads {
    /// To threads that began as this.
    pub of: Vec<(Origin, Fairness)>,
    /// To all others.
    pub others: Fairness,
}

impl From<Fairness> for FairThreads {
    fn from(others: Fairness) -> FairThreads {
        FairThreads { of: Vec::new(), others }
    }
}

impl FairThreads {
    /// How fair executions are to a thread that began as this, if that is known.
    pub fn to(&self, origin: Option<Origin>) -> Fairness {
        let known = self.of.iter().find(|(of, _)| Some(*of) == origin);
        known.map_or(self.others, |(_, fairness)| *fairness)
    }
}

impl Formula {
    /// Whether an execution violates the formula that goes on for ever in the same way. `states` says for each of its states
    /// which conditions hold; behind the last one it is that at `repeats` again. One that ends stays in its last state.
    pub fn is_violated(&self, states: &[Vec<bool>], repeats: usize) -> bool {
        let again = &states[repeats..];
        match *self {
            Formula::Eventually(c) => states.iter().all(|s| !s[c]),
            Formula::AlwaysEventually(c) => again.iter().all(|s| !s[c]),
            Formula::EventuallyAlways(c) => again.iter().any(|s| !s[c]),
            Formula::LeadsTo(from, to) => {
                let after = states.iter().rposition(|s| s[to]).map_or(0, |last| last + 1);
                after <= repeats && states[after..].iter().any(|s| s[from])
            }
            Formula::Never(ref automaton) => automaton.accepts(states, repeats),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AutomatonMove, AutomatonState};

    fn violated(formula: &Formula, states: &[(u8, u8)], repeats: usize) -> bool {
        let states: Vec<Vec<bool>> = states.iter().map(|(p, q)| vec![*p == 1, *q == 1]).collect();
        formula.is_violated(&states, repeats)
    }

    #[test]
    fn automata_read_executions_that_repeat() {
        // It accepts if the first condition holds again and again, and the second never does from some state on.
        let to = |when: &[(usize, bool)], to: usize| AutomatonMove { when: when.to_vec(), to };
        let state = |accepts: bool, moves: Vec<AutomatonMove>| AutomatonState { accepts, moves };
        let states = vec![
            state(false, vec![to(&[], 0), to(&[(1, false)], 1), to(&[(0, true), (1, false)], 2)]),
            state(false, vec![to(&[(1, false)], 1), to(&[(0, true), (1, false)], 2)]),
            state(true, vec![to(&[(1, false)], 1), to(&[(0, true), (1, false)], 2)]),
        ];
        let never = Formula::Never(Arc::new(Automaton { states, span: crate::Span::default() }));
        assert!(violated(&never, &[(0, 1), (1, 0), (0, 0)], 1) && !violated(&never, &[(0, 1), (1, 0), (0, 0)], 2));
        assert!(!violated(&never, &[(0, 0), (1, 0), (0, 1)], 0) && violated(&never, &[(1, 0)], 0));
    }

    #[test]
    fn formulas_are_judged_on_executions_that_repeat() {
        let (eventually, again) = (Formula::Eventually(0), Formula::AlwaysEventually(0));
        let (stays, leads) = (Formula::EventuallyAlways(0), Formula::LeadsTo(0, 1));
        assert!(violated(&eventually, &[(0, 0), (0, 1)], 0) && !violated(&eventually, &[(1, 0), (0, 1)], 1));
        assert!(violated(&again, &[(1, 0), (0, 0)], 1) && !violated(&again, &[(1, 0), (0, 0)], 0));
        assert!(violated(&stays, &[(1, 0), (1, 0), (0, 0)], 1) && !violated(&stays, &[(0, 0), (1, 0)], 1));
        assert!(violated(&leads, &[(1, 0), (0, 0)], 1) && !violated(&leads, &[(1, 0), (0, 0), (0, 1)], 1));
        assert!(!violated(&leads, &[(1, 1), (0, 0)], 1) && !violated(&leads, &[(0, 0), (0, 0)], 1));
        assert!(violated(&leads, &[(0, 1), (1, 0)], 1) && !violated(&leads, &[(0, 1), (1, 0)], 0));
    }
}
