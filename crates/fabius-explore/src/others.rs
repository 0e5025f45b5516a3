//! Prefixes of executions that differ in the outcomes of choices in their last step.

use crate::node::Chosen;

/// A task, and how often it runs in a row; or what else the second number says that the first one is.
pub(crate) type Entry = (u32, u32);

/// The first number is the outcome of a choice.
pub(crate) const CHOICE: u32 = 0;

/// It is a thread or a buffer, which is delayed.
pub(crate) const DELAYED_BUFFER: u32 = u32::MAX;

/// It is a task, which is delayed.
pub(crate) const DELAYED_TASK: u32 = u32::MAX - 1;

/// So often in a row a task may run in one entry.
pub(crate) const MOST_TIMES: u32 = u32::MAX - 2;

/// The other outcomes of the choices in a step, the last choice first. Each becomes an item when it is its turn: there may be
/// billions, and a step of many choices would otherwise be copied for each of them.
pub(crate) struct Others {
    /// The path to the step and what was chosen in it, up to the choice whose outcomes are next.
    path: Vec<Entry>,
    /// How many outcomes the choices at the end of the path have that may be changed.
    of: Vec<u32>,
    /// The next outcome of the last one.
    outcome: u32,
}

impl Others {
    /// `taken` are what was chosen; the first `fixed` are given. Deviations cost something else, and do not belong here.
    pub(crate) fn new(here: &[Entry], taken: &[Chosen], fixed: usize) -> Option<Others> {
        if !taken.iter().skip(fixed).any(|t| t.chosen + 1 < t.alternatives()) {
            return None;
        }
        let path = here.iter().copied().chain(taken.iter().map(|t| (t.chosen, CHOICE))).collect();
        let of = taken.iter().skip(fixed).map(|t| t.alternatives()).collect();
        let mut others = Others { path, of, outcome: 0 };
        others.outcome = others.of.last().map_or(0, |of| of.saturating_sub(1));
        others.settle().then_some(others)
    }

    /// Goes back to the last choice that has an outcome left, if there is one.
    fn settle(&mut self) -> bool {
        while !self.of.is_empty() {
            if self.path.last().is_some_and(|(chosen, _)| self.outcome > *chosen) {
                return true;
            }
            self.path.pop();
            self.of.pop();
            self.outcome = self.of.last().map_or(0, |of| of.saturating_sub(1));
        }
        false
    }

    /// The next prefix, and whether there is another one behind it.
    pub(crate) fn next(&mut self) -> (Box<[Entry]>, bool) {
        let before = self.path.len() - 1;
        let path = self.path[..before].iter().copied().chain([(self.outcome, CHOICE)]).collect();
        self.outcome -= 1;
        (path, self.settle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Of;
    use std::collections::HashSet;

    fn one(chosen: u32, of: u32) -> Chosen {
        Chosen { chosen, of: Of::Many(of) }
    }

    /// All paths, the first one included, in the order in which they are run.
    fn all(here: &[Entry], of: &[u32], fixed: usize) -> Vec<Vec<u32>> {
        let first: Vec<Chosen> = of.iter().map(|of| one(0, *of)).collect();
        let mut paths = vec![first.iter().map(|t| t.chosen).collect::<Vec<u32>>()];
        let mut open: Vec<Others> = Others::new(here, &first, fixed).into_iter().collect();
        while let Some(others) = open.last_mut() {
            let (path, goes_on) = others.next();
            if !goes_on {
                open.pop();
            }
            // What follows the outcome that was given chooses the first one each time.
            let given = path.len() - here.len();
            let mut taken: Vec<Chosen> =
                path[here.len()..].iter().map(|(chosen, _)| one(*chosen, chosen + 1)).collect();
            taken.extend(of[given..].iter().map(|of| one(0, *of)));
            paths.push(taken.iter().map(|t| t.chosen).collect());
            open.extend(Others::new(here, &taken, given));
        }
        paths
    }

    #[test]
    fn every_outcome_of_the_choices_in_a_step_is_taken_once() {
        let here = [(7, 3), (1, 1)];
        let paths = all(&here, &[2, 1, 3, 2], 0);
        let distinct: HashSet<&Vec<u32>> = paths.iter().collect();
        assert_eq!((paths.len(), distinct.len()), (12, 12), "{paths:?}");
        assert_eq!(paths[..3], [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 2, 0]]);
        assert_eq!(all(&here, &[4, 3], 1), [[0, 0], [0, 2], [0, 1]]);
        assert_eq!(all(&here, &[1, 1], 0), [[0, 0]]);
    }

    #[test]
    fn deviations_are_no_other_outcomes_but_are_kept_in_front_of_them() {
        let deviates = Chosen { chosen: 0, of: Of::Deviations(0b101) };
        assert!(Others::new(&[], &[deviates, deviates], 0).is_none());
        let mut others = Others::new(&[], &[deviates, one(0, 2), deviates], 0).expect("there is one");
        let (path, goes_on) = others.next();
        assert_eq!((&path[..], goes_on), (&[(0, CHOICE), (1, CHOICE)][..], false));
        assert_eq!(deviates.other_ways().collect::<Vec<u32>>(), [2]);
        assert_eq!(one(0, 3).other_ways().count(), 0);
    }

    #[test]
    fn other_outcomes_take_the_room_of_one_path() {
        let taken = vec![one(0, 2); 100_000];
        let others = Others::new(&[], &taken, 0).expect("there are others");
        assert!(others.path.capacity() <= 2 * taken.len() && others.of.capacity() <= 2 * taken.len());
    }
}
