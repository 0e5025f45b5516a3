//! Channels on which time sends, and nobody.

use crate::receiver::{Receiver, Source};
use crate::timer::Timer;
use fabius::time::Instant;
use std::sync::Arc;
use std::time::Duration;

fn timer(next: Option<Instant>, interval: Option<Duration>) -> Receiver<Instant> {
    Receiver(Source::Time(Arc::new(Timer::new(next, interval)), |due| due))
}

/// As in crossbeam-channel, in virtual time.
pub fn after(duration: Duration) -> Receiver<Instant> {
    timer(Instant::now().checked_add(duration), None)
}

/// As in crossbeam-channel, in virtual time.
pub fn at(when: Instant) -> Receiver<Instant> {
    timer(Some(when), None)
}

/// As in crossbeam-channel, in virtual time.
pub fn tick(duration: Duration) -> Receiver<Instant> {
    timer(Instant::now().checked_add(duration), Some(duration))
}

/// As in crossbeam-channel.
pub fn never<T>() -> Receiver<T> {
    Receiver(Source::Never)
}
