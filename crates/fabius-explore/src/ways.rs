//! All ways through a piece of a step, one after the other: whoever asks whether any of them leads to its end runs the piece again
//! and again, until one does or there is no other way.

use crate::system::Choose;
use std::collections::HashSet;

/// Points after which nobody goes on looking.
const MOST: usize = 1 << 16;

/// The choices of one way, and where the ways before it have been.
#[derive(Debug, Default)]
pub struct Ways {
    /// What is chosen, and of how many.
    taken: Vec<(u32, u32)>,
    /// How many choices this way has made.
    at: usize,
    /// How many of them are given: the same as on the last way, but for the last of them.
    given: usize,
    passed: HashSet<Vec<i64>>,
    came_back: bool,
}

impl Ways {
    /// Goes on to the next way, if there is one.
    pub fn advance(&mut self) -> bool {
        self.taken.truncate(self.at);
        while let Some((chosen, of)) = self.taken.pop() {
            if chosen + 1 < of {
                self.taken.push((chosen + 1, of));
                break;
            }
        }
        (self.at, self.given, self.came_back) = (0, self.taken.len(), false);
        self.given > 0
    }

    /// Whether this way came to where another one has been, or it itself.
    pub fn came_back(&self) -> bool {
        self.came_back
    }
}

impl Choose for Ways {
    fn choose(&mut self, alternatives: u32) -> u32 {
        if self.at == self.taken.len() {
            self.taken.push((0, alternatives));
        }
        self.at += 1;
        self.taken[self.at - 1].0
    }

    fn comes_back(&mut self, describe: &mut dyn FnMut(&mut Vec<i64>)) -> bool {
        // What is given has been here before.
        if self.at < self.given {
            return false;
        }
        let mut point = Vec::new();
        describe(&mut point);
        self.came_back = !self.passed.insert(point);
        self.came_back
    }

    fn is_full(&self) -> bool {
        self.passed.len() > MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_comes_once() {
        let mut ways = Ways::default();
        let mut seen = Vec::new();
        loop {
            let first = ways.choose(2);
            let more = if first == 1 { vec![ways.choose(3)] } else { vec![ways.choose(1), ways.choose(2)] };
            seen.push((first, more));
            if !ways.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, vec![0, 0]), (0, vec![0, 1]), (1, vec![0]), (1, vec![1]), (1, vec![2])]);
    }

    #[test]
    fn a_loop_of_choices_has_an_end() {
        // A counter modulo 3 that may be stepped any number of times.
        let mut ways = Ways::default();
        let mut ends = Vec::new();
        loop {
            let mut n = 0;
            let end = loop {
                if ways.comes_back(&mut |out| out.push(n)) {
                    break None;
                }
                if ways.choose(2) == 1 {
                    break Some(n);
                }
                n = (n + 1) % 3;
            };
            assert_eq!(ways.came_back(), end.is_none());
            ends.extend(end);
            if !ways.advance() {
                break;
            }
        }
        ends.sort_unstable();
        assert_eq!(ends, [0, 1, 2]);
    }
}
