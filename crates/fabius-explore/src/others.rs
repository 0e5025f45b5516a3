//! Prefixes of executions that differ in the outcomes of choices in their last step.

/// A decision, and how often it is made in a row; or the outcome of a choice, and [`CHOICE`].
pub(crate) type Entry = (u32, u32);

/// Marks the outcome of a choice in a path: no decision is made so often.
pub(crate) const CHOICE: u32 = 0;

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
    /// `taken` are what was chosen, of how many; the first `fixed` are given.
    pub(crate) fn new(here: &[Entry], taken: &[(u32, u32)], fixed: usize) -> Option<Others> {
        if !taken.iter().skip(fixed).any(|(chosen, of)| chosen + 1 < *of) {
            return None;
        }
        let path = here.iter().copied().chain(taken.iter().map(|(chosen, _)| (*chosen, CHOICE))).collect();
        let of = taken.iter().skip(fixed).map(|(_, of)| *of).collect();
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
    use std::collections::HashSet;

    /// All paths, the first one included, in the order in which they are run.
    fn all(here: &[Entry], of: &[u32], fixed: usize) -> Vec<Vec<u32>> {
        let first: Vec<(u32, u32)> = of.iter().map(|of| (0, *of)).collect();
        let mut paths = vec![first.iter().map(|(chosen, _)| *chosen).collect::<Vec<u32>>()];
        let mut open: Vec<Others> = Others::new(here, &first, fixed).into_iter().collect();
        while let Some(others) = open.last_mut() {
            let (path, goes_on) = others.next();
            if !goes_on {
                open.pop();
            }
            // What follows the outcome that was given chooses the first one each time.
            let given = path.len() - here.len();
            let mut taken: Vec<(u32, u32)> =
                path[here.len()..].iter().map(|(chosen, _)| (*chosen, chosen + 1)).collect();
            taken.extend(of[given..].iter().map(|of| (0, *of)));
            paths.push(taken.iter().map(|(chosen, _)| *chosen).collect());
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
    fn other_outcomes_take_the_room_of_one_path() {
        let taken = vec![(0, 2); 100_000];
        let others = Others::new(&[], &taken, 0).expect("there are others");
        assert!(others.path.capacity() <= 2 * taken.len() && others.of.capacity() <= 2 * taken.len());
    }
}
