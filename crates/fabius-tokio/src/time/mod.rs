//! Time, as `tokio::time`: it is virtual, and passes when nothing else can go on.

mod interval;
mod sleep;
mod timeout;

pub use fabius::time::{Duration, Instant};
pub use interval::{Interval, MissedTickBehavior, interval, interval_at};
pub use sleep::{Sleep, sleep, sleep_until};
pub use timeout::{Timeout, timeout, timeout_at};

/// What `tokio::time::error` has.
pub mod error {
    pub use super::timeout::Elapsed;
}

/// Changes nothing: time is always virtual.
pub fn pause() {}

/// Changes nothing: time is always virtual.
pub fn resume() {}

/// Time passes: as [`sleep`], with which others go on until none can.
#[track_caller]
pub fn advance(duration: Duration) -> Sleep {
    sleep(duration)
}
