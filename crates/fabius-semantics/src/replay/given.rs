//! Choices that are given.

use fabius_explore::system::Choose;
use fabius_trace::{WIDE_PARTS, wide_of_parts};

/// Decides as a turn says.
pub(super) struct Given<'a> {
    choices: &'a [u32],
    next: usize,
    wrong: Option<String>,
}

impl<'a> Given<'a> {
    pub(super) fn new(choices: &'a [u32]) -> Self {
        Given { choices, next: 0, wrong: None }
    }

    /// Why these were not the choices of the step that has been made.
    pub(super) fn departure(self) -> Option<String> {
        let left = self.choices.len().saturating_sub(self.next);
        self.wrong.or_else(|| (left > 0).then(|| format!("{left} choices are left over")))
    }
}

impl Choose for Given<'_> {
    fn choose(&mut self, alternatives: u32) -> u32 {
        let chosen = self.choices.get(self.next).copied();
        self.next += 1;
        match chosen {
            Some(c) if c < alternatives => c,
            Some(c) => {
                self.wrong.get_or_insert(format!("choice {c} is not one of {alternatives} alternatives"));
                0
            }
            None => {
                self.wrong.get_or_insert(format!("a choice of {alternatives} alternatives is not in the schedule"));
                0
            }
        }
    }

    fn choose_wide(&mut self, most: u64) -> Option<u64> {
        let parts = self.choices.get(self.next..self.next + WIDE_PARTS);
        self.next += WIDE_PARTS;
        let chosen = parts.map(wide_of_parts).filter(|choice| *choice <= most);
        if chosen.is_none() {
            self.wrong.get_or_insert(format!("a choice of {most} and one alternatives is not in the schedule"));
        }
        Some(chosen.unwrap_or(0))
    }
}
