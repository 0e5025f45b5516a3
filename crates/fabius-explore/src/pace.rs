//! How often somebody looks at the clock who does something short again and again.

use std::time::{Duration, Instant};

/// It is looked at after so many times at most, and after each where those since the last look took this long.
const MOST: u32 = 16;
const LONG: Duration = Duration::from_millis(1);

/// A rhythm: what is done a million times a second need not read the clock each time, which would take a hundredth of it.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// How many times are between two looks, and how many are left.
    every: u32,
    left: u32,
    last: Option<Instant>,
}

impl Pace {
    /// It is about to be done once more: what time it is, if that is to be asked now.
    #[inline]
    pub fn look(&mut self) -> Option<Instant> {
        match self.left {
            0 => Some(self.look_now()),
            _ => {
                self.left -= 1;
                None
            }
        }
    }

    fn look_now(&mut self) -> Instant {
        let now = Instant::now();
        let is_short = self.last.is_some_and(|last| now.saturating_duration_since(last) < LONG);
        self.every = if is_short { (2 * self.every + 1).min(MOST - 1) } else { 0 };
        (self.left, self.last) = (self.every, Some(now));
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_is_looked_at_seldom_and_what_is_long_each_time() {
        let mut pace = Pace::default();
        let long_ago = Instant::now().checked_sub(2 * LONG);
        for _ in 0..4 {
            assert!(pace.look().is_some(), "what takes long is looked at each time");
            pace.last = long_ago;
        }
        // As if no time had passed.
        let soon = Instant::now() + Duration::from_secs(3600);
        pace.last = Some(soon);
        let mut between = Vec::new();
        for _ in 0..6 {
            assert!(pace.look().is_some());
            pace.last = Some(soon);
            let seldom = std::iter::from_fn(|| (pace.left > 0).then(|| pace.look())).count();
            between.push(seldom);
        }
        assert_eq!(between, [1, 3, 7, 15, 15, 15]);
        pace.last = long_ago;
        assert!(pace.look().is_some() && pace.look().is_some());
    }
}
