//! The steps of an execution so far, kept small: most make no choices and come after no delay.

use fabius_trace::{Schedule, Turn};

/// What was done.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// Who made each step, by its number of creation, or [`Turn::START`].
    tasks: Vec<u32>,
    /// The outcomes of choices, each with the step in which it was made.
    choices: Vec<(u32, u32)>,
    /// The steps that come after delays, and how many.
    delays: Vec<(u32, u32)>,
}

impl Taken {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.tasks.clear();
        self.choices.clear();
        self.delays.clear();
    }

    /// The first steps of another execution, in which no choices were made, and which come after no delays.
    pub(crate) fn begin_like(&mut self, other: &Taken, steps: usize) {
        self.clear();
        self.tasks.extend_from_slice(&other.tasks[..steps]);
    }

    /// A step.
    #[inline]
    pub(crate) fn step(&mut self, task: u32, choices: impl Iterator<Item = u32>, delays: u32) {
        let number = self.tasks.len() as u32;
        self.choices.extend(choices.map(|choice| (number, choice)));
        if delays > 0 {
            self.delays.push((number, delays));
        }
        self.tasks.push(task);
    }

    /// How many there have been.
    pub(crate) fn steps(&self) -> u32 {
        self.tasks.len() as u32
    }

    /// The same as a schedule.
    pub fn schedule(&self) -> Schedule {
        let mut schedule: Schedule = self.tasks.iter().map(|&task| Turn { task, choices: Vec::new() }).collect();
        self.choices.iter().for_each(|(step, choice)| schedule[*step as usize].choices.push(*choice));
        schedule
    }

    /// The delays before each step.
    pub(crate) fn delays(&self) -> Vec<u32> {
        let mut delays = vec![0; self.tasks.len()];
        self.delays.iter().for_each(|(step, number)| delays[*step as usize] = *number);
        delays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_and_delays_stand_at_the_steps_that_they_belong_to() {
        let mut taken = Taken::default();
        taken.step(Turn::START, [3].into_iter(), 0);
        taken.step(0, std::iter::empty(), 0);
        taken.step(1, [2, 0].into_iter(), 2);
        taken.step(0, std::iter::empty(), 1);
        let turn = |task, choices: &[u32]| Turn { task, choices: choices.to_vec() };
        assert_eq!(taken.schedule(), [turn(Turn::START, &[3]), turn(0, &[]), turn(1, &[2, 0]), turn(0, &[])]);
        assert_eq!(taken.delays(), [0, 0, 2, 1]);
        taken.clear();
        assert!(taken.schedule().is_empty() && taken.delays().is_empty());
    }
}
