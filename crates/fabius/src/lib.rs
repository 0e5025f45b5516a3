//! Tests concurrent Rust code under every schedule within a bound.
//!
//! ```
//! use fabius::sync::atomic::{AtomicUsize, Ordering};
//! use fabius::thread;
//! use std::sync::Arc;
//!
//! let report = fabius::Config::new().explore(|| {
//!     let counter = Arc::new(AtomicUsize::new(0));
//!     let theirs = counter.clone();
//!     let other = thread::spawn(move || {
//!         let value = theirs.load(Ordering::SeqCst);
//!         theirs.store(value + 1, Ordering::SeqCst);
//!     });
//!     let value = counter.load(Ordering::SeqCst);
//!     counter.store(value + 1, Ordering::SeqCst);
//!     other.join().unwrap();
//!     assert_eq!(counter.load(Ordering::SeqCst), 2, "an increment is lost");
//! });
//! assert!(report.is_bug());
//! assert_eq!(report.trace().unwrap().cost, 1);
//! ```
//!
//! In a test, write [`check`], which panics with the simplest failing execution. The closure is run once for every
//! execution; inside of it, use this crate's [`thread`], [`sync`], [`cell`] and [`time`] in place of std's.
//!
//! # What is assumed
//! **Sequential consistency**: every atomic operation takes effect at once for all threads, whatever its `Ordering`. A bug
//! that needs a weaker ordering is not found.
//!
//! The closure must be deterministic but for the schedule and [`any`]: no randomness, no clock, no state that survives from
//! one execution to the next.

pub mod alloc;
pub mod cell;
mod check;
mod command;
mod compare;
mod config;
pub mod future;
pub mod hint;
mod local;
pub mod mcapi;
mod replay;
mod report;
mod rt;
pub mod sync;
mod system;
pub mod thread;
pub mod time;

pub use check::check_default as check;
pub use compare::compare;
pub use config::{Config, portfolio};
pub use fabius_trace::{Bound, BugKind, ErrorTrace, Grown, LevelStats, Verdict};
pub use replay::replay;
pub use report::Report;

/// One of `0..alternatives`: the check tries them all, random strategies one.
///
/// # Panics
/// If there are no alternatives.
#[track_caller]
pub fn any(alternatives: u32) -> u32 {
    assert!(alternatives > 0, "there must be something to choose from");
    rt::choose_freely(alternatives, std::panic::Location::caller())
}

/// `false` or `true`: the check tries both.
#[track_caller]
pub fn any_bool() -> bool {
    any(2) == 1
}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/testing-a-lock-free-queue.md")]
struct Guide;
