//! `interval`.

use super::sleep::{Alarm, far_future};
use fabius::time::{Duration, Instant};
use std::future::poll_fn;
use std::task::{Context, Poll};

/// As in tokio: when the next tick is if one was missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissedTickBehavior {
    /// At once, until all are made up for.
    #[default]
    Burst,
    /// A period after the late one.
    Delay,
    /// The next one on time.
    Skip,
}

/// As in tokio.
#[derive(Debug)]
pub struct Interval {
    alarm: Alarm,
    period: Duration,
    missed: MissedTickBehavior,
}

/// As in tokio: the first tick is at once.
///
/// # Panics
/// If the period is zero.
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// As in tokio.
///
/// # Panics
/// If the period is zero.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(period > Duration::ZERO, "`period` must be non-zero.");
    Interval { alarm: Alarm::new(start), period, missed: MissedTickBehavior::Burst }
}

impl MissedTickBehavior {
    fn next(self, due: Instant, now: Instant, period: Duration) -> Instant {
        let next = match self {
            MissedTickBehavior::Burst => due.checked_add(period),
            MissedTickBehavior::Delay => now.checked_add(period),
            MissedTickBehavior::Skip => {
                let late = (now - due).as_nanos() % period.as_nanos();
                let late = Duration::new((late / 1_000_000_000) as u64, (late % 1_000_000_000) as u32);
                now.checked_add(period).and_then(|next| next.checked_sub(late))
            }
        };
        next.unwrap_or_else(far_future)
    }
}

impl Interval {
    /// As in tokio. It may be cancelled, and no tick is lost.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// As in tokio.
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        if !self.alarm.is_due(cx) {
            return Poll::Pending;
        }
        let (due, now) = (self.alarm.deadline, Instant::now());
        // Tokio takes a tick for missed that is more than five milliseconds late.
        let is_late = now > due + Duration::from_millis(5);
        let next = match is_late {
            true => self.missed.next(due, now, self.period),
            false => due.checked_add(self.period).unwrap_or_else(far_future),
        };
        self.alarm.reset(next);
        Poll::Ready(due)
    }

    /// As in tokio: the next tick is a period from now.
    pub fn reset(&mut self) {
        self.reset_after(self.period);
    }

    /// As in tokio: the next tick is now.
    pub fn reset_immediately(&mut self) {
        self.reset_at(Instant::now());
    }

    /// As in tokio.
    pub fn reset_after(&mut self, after: Duration) {
        self.reset_at(Instant::now().checked_add(after).unwrap_or_else(far_future));
    }

    /// As in tokio.
    pub fn reset_at(&mut self, deadline: Instant) {
        self.alarm.reset(deadline);
    }

    /// As in tokio.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// As in tokio.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }

    /// As in tokio.
    pub fn period(&self) -> Duration {
        self.period
    }
}
