//! [`std::time`] on virtual time, which passes only when no thread can go on otherwise.

use crate::rt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::sync::LazyLock;
pub use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// [`std::time::Instant`] in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Duration);

/// Virtual time since the execution began; outside of one, real time since this was first asked.
pub(crate) fn elapsed() -> Duration {
    static BEGAN: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    rt::with(|rt| rt.now).unwrap_or_else(|| BEGAN.elapsed())
}

/// How long there have been instants: a year, so that one can subtract.
const BEFORE: Duration = Duration::from_secs(365 * 24 * 3600);

impl Instant {
    /// As in std.
    pub fn now() -> Instant {
        Instant(elapsed() + BEFORE)
    }

    /// The virtual time of it.
    pub(crate) fn since_the_beginning(self) -> Duration {
        self.0.saturating_sub(BEFORE)
    }

    /// As in std.
    pub fn elapsed(&self) -> Duration {
        Instant::now().duration_since(*self)
    }

    /// As in std.
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// As in std.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// As in std.
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.0.checked_sub(earlier.0)
    }

    /// As in std.
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_add(duration).map(Instant)
    }

    /// As in std.
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_sub(duration).map(Instant)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        Instant(self.0 + duration)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, duration: Duration) -> Instant {
        Instant(self.0 - duration)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        self.0 -= duration;
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}
