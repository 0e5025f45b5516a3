//! What is known of an execution at points from which others go on: a depth-first search repeats the beginning of the execution
//! before, and what is known of that need not be found out again.

use crate::others::{CHOICE, Entry};
use crate::race::Classes;
use std::collections::VecDeque;

/// So many points are remembered, the last ones.
const MOST: usize = 32;

/// What is remembered of a point should cost less than to find it out again.
const LARGE: usize = 64;

/// A point of the last execution.
#[derive(Default)]
struct Mark {
    /// Steps before it.
    steps: u32,
    classes: Classes,
    numbers: Vec<u32>,
    born: u32,
}

/// The points of the last execution that are remembered, in order.
#[derive(Default)]
pub(crate) struct Marks {
    marks: VecDeque<Mark>,
    /// Memory for others.
    spare: Vec<Mark>,
    /// After how many steps of the next execution it has come to what is new, where points are remembered.
    wanted: Option<u32>,
    /// Whether points are remembered.
    pub is_on: bool,
    /// Whether everything is told, because it was not enough once that steps that are repeated were not.
    pub are_told: bool,
}

impl Marks {
    /// Nothing is remembered.
    pub fn off(&mut self) {
        self.is_on = false;
        self.wanted = None;
        self.marks.clear();
    }

    /// The next execution begins with this path. `last` is that of the one before.
    pub fn begin(&mut self, path: &[Entry], last: &[Entry]) {
        self.is_on = true;
        let (common, at) = common(path, last);
        while self.marks.back().is_some_and(|mark| mark.steps > common) {
            self.spare.extend(self.marks.pop_back());
        }
        let rest = steps(&path[at.0..]).map(|rest| at.1 + rest);
        self.wanted = rest.and_then(|steps| steps.checked_sub(1)).filter(|wanted| (1..=common).contains(wanted));
    }

    /// Remembers a point; without a class, if none is found out.
    pub fn add(&mut self, steps: u32, classes: Option<&Classes>, numbers: &[u32], born: u32) {
        if !self.is_on
            || classes.is_some_and(|classes| classes.size() > LARGE)
            || self.marks.back().is_some_and(|last| last.steps >= steps)
        {
            return;
        }
        let oldest = if self.marks.len() == MOST { self.marks.pop_front() } else { None };
        let mut mark = oldest.or_else(|| self.spare.pop()).unwrap_or_default();
        (mark.steps, mark.born) = (steps, born);
        if let Some(classes) = classes {
            mark.classes.clone_from(classes);
        }
        mark.numbers.clear();
        mark.numbers.extend_from_slice(numbers);
        self.marks.push_back(mark);
    }

    /// How many steps are repeated, where points are remembered.
    pub fn wanted(&self) -> Option<u32> {
        self.wanted
    }

    /// Whether nothing need be told of so many steps, because all is remembered of the point that they come to.
    pub fn knows(&self, steps: u32) -> bool {
        !self.are_told && self.marks.back().is_some_and(|mark| mark.steps == steps)
    }

    /// Puts there what is remembered of the point after so many steps of the last execution, which the next one has in common with
    /// it. Says whether it was.
    pub fn put_back(&self, steps: u32, classes: Option<&mut Classes>, numbers: &mut Vec<u32>, born: &mut u32) -> bool {
        let Some(mark) = self.marks.back().filter(|mark| mark.steps == steps) else { return false };
        if let Some(classes) = classes {
            classes.clone_from(&mark.classes);
        }
        numbers.clear();
        numbers.extend_from_slice(&mark.numbers);
        *born = mark.born;
        true
    }
}

/// How many steps a path has; `None` if choices are made in it.
fn steps(path: &[Entry]) -> Option<u32> {
    path.iter().try_fold(0u32, |sum, (_, times)| if *times == CHOICE { None } else { sum.checked_add(*times) })
}

/// How many steps two paths have in common, before the first in which choices are made; how many entries before which there is no
/// difference and no choice, and how many steps these are.
fn common(one: &[Entry], other: &[Entry]) -> (u32, (usize, u32)) {
    let (mut at, mut sum) = (0, 0);
    while let (Some(a), Some(b)) = (one.get(at), other.get(at))
        && a == b
        && a.1 != CHOICE
    {
        (at, sum) = (at + 1, sum + a.1);
    }
    let chooses = |path: &[Entry], at: usize| path.get(at).is_some_and(|next| next.1 == CHOICE);
    let any_chooses = |at: usize| chooses(one, at) || chooses(other, at);
    let more = match (one.get(at), other.get(at)) {
        // The last step is one in which choices are made.
        _ if any_chooses(at) => return (sum.saturating_sub(1), (at, sum)),
        (Some(a), Some(b)) if a.0 == b.0 => a.1.min(b.1) - u32::from(any_chooses(at + 1)),
        _ => 0,
    };
    (sum + more, (at, sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_in_common_what_comes_before_a_difference_or_a_choice() {
        let common = |one: &[Entry], other: &[Entry]| super::common(one, other).0;
        assert_eq!(common(&[(0, 3), (1, 2)], &[(0, 3), (1, 1), (2, 1)]), 4);
        assert_eq!(common(&[(0, 3), (1, 2)], &[(0, 2), (1, 2)]), 2);
        assert_eq!(common(&[(1, 3)], &[(0, 3)]), 0);
        assert_eq!(common(&[(0, 3), (1, CHOICE), (0, 1)], &[(0, 3), (1, CHOICE), (0, 1)]), 2);
        assert_eq!(common(&[(0, 3)], &[(0, 2), (0, CHOICE), (1, 1)]), 1);
        assert_eq!(steps(&[(0, 3), (1, 2)]), Some(5));
        assert_eq!(steps(&[(0, 3), (1, CHOICE)]), None);
    }

    #[test]
    fn a_point_is_known_as_long_as_executions_come_to_it() {
        let (mut marks, mut classes, mut numbers, mut born) = (Marks::default(), Classes::default(), vec![0], 1);
        marks.begin(&[], &[]);
        classes.born(None, 0, 0);
        classes.announced(0, None, None);
        let there = classes.number();
        marks.add(1, Some(&classes), &numbers, born);
        classes.announced(0, None, None);
        marks.add(2, Some(&classes), &numbers, born);
        marks.begin(&[(0, 1), (1, 1)], &[(0, 2)]);
        assert!(marks.wanted() == Some(1) && !marks.put_back(2, Some(&mut classes), &mut numbers, &mut born));
        assert!(marks.put_back(1, Some(&mut classes), &mut numbers, &mut born));
        assert_eq!(classes.number(), there);
        marks.begin(&[(1, 2)], &[(0, 1), (1, 1)]);
        assert!(!marks.put_back(1, Some(&mut classes), &mut numbers, &mut born));
    }
}
