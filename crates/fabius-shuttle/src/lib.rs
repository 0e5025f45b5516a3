//! The interface of shuttle 0.9 on top of [`fabius`].
//!
//! In `Cargo.toml`, a test that uses shuttle is moved by
//! `shuttle = { package = "fabius-shuttle", version = ".." }`; its source stays as it is. The README says name by name what
//! is the same and what differs.
//!
//! ```should_panic
//! use fabius_shuttle as shuttle;
//! use shuttle::sync::{Arc, Mutex};
//! use shuttle::thread;
//!
//! shuttle::check_random(
//!     || {
//!         let lock = Arc::new(Mutex::new(0u64));
//!         let lock2 = lock.clone();
//!         thread::spawn(move || *lock.lock().unwrap() = 1);
//!         assert_eq!(0, *lock2.lock().unwrap());
//!     },
//!     100,
//! );
//! ```
//!
//! The primitives are those of fabius. So the same test can be given to [`fabius::check`], which explores all schedules
//! within a bound, the simplest first, and shows a failing one in lanes.

pub mod annotations;
mod config;
pub mod current;
pub mod future;
pub mod hint;
pub mod lazy_static;
pub mod rand;
mod run;
mod runner;
pub mod scheduler;
pub mod sync;
mod task;
pub mod thread;

pub use config::{Config, ContinuationFunctionBehavior, FailurePersistence, MaxSteps, UngracefulShutdownConfig};
pub use fabius::thread_local;
pub use runner::{PortfolioRunner, Runner};

use scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, RoundRobinScheduler, Scheduler,
    UncontrolledNondeterminismCheckScheduler, UrwRandomScheduler,
};
use std::path::Path;

/// Names an environment variable of shuttle. Without effect.
pub const CAPTURE_BACKTRACE: &str = "SHUTTLE_CAPTURE_BACKTRACE";

/// The environment variable that does what [`Config::silence_warnings`] does, whatever its value.
pub const SILENCE_WARNINGS: &str = "SHUTTLE_SILENCE_WARNINGS";

/// Names an environment variable of shuttle. Without effect: annotated schedules are not written.
pub const ANNOTATION_FILE: &str = "SHUTTLE_ANNOTATION_FILE";

#[track_caller]
fn run<F: Fn() + Send + Sync + 'static>(f: F, scheduler: impl Scheduler + 'static) {
    Runner::new(scheduler, Config::default()).run(f);
}

/// Runs the test once, each task in turn.
#[track_caller]
pub fn check<F: Fn() + Send + Sync + 'static>(f: F) {
    run(f, RoundRobinScheduler::new(1));
}

/// Runs the test so many times; any task may go on at each step.
#[track_caller]
pub fn check_random<F: Fn() + Send + Sync + 'static>(f: F, iterations: usize) {
    run(f, RandomScheduler::new(iterations));
}

/// The same from a seed.
#[track_caller]
pub fn check_random_with_seed<F: Fn() + Send + Sync + 'static>(f: F, seed: u64, iterations: usize) {
    run(f, RandomScheduler::new_from_seed(seed, iterations));
}

/// Runs the test so many times; all interleavings are equally likely, roughly.
#[track_caller]
pub fn check_urw<F: Fn() + Send + Sync + 'static>(f: F, iterations: usize) {
    run(f, UrwRandomScheduler::new(iterations));
}

/// Runs the test so many times with random priorities that change at `depth - 1` points.
#[track_caller]
pub fn check_pct<F: Fn() + Send + Sync + 'static>(f: F, iterations: usize, depth: usize) {
    run(f, PctScheduler::new(depth, iterations));
}

/// Runs the test under all schedules, or at most so many.
#[track_caller]
pub fn check_dfs<F: Fn() + Send + Sync + 'static>(f: F, max_iterations: Option<usize>) {
    run(f, DfsScheduler::new(max_iterations, false));
}

/// Runs so many random schedules twice each, and panics if the test behaves differently.
#[track_caller]
pub fn check_uncontrolled_nondeterminism<F: Fn() + Send + Sync + 'static>(f: F, max_iterations: usize) {
    run(f, UncontrolledNondeterminismCheckScheduler::new(RandomScheduler::new(max_iterations)));
}

/// Runs the test under a schedule that a failure printed.
#[track_caller]
pub fn replay<F: Fn() + Send + Sync + 'static>(f: F, encoded_schedule: &str) {
    run(f, ReplayScheduler::new_from_encoded(encoded_schedule));
}

/// Runs the test under a schedule that a failure saved.
#[track_caller]
pub fn replay_from_file<F: Fn() + Send + Sync + 'static, P: AsRef<Path>>(f: F, path: P) {
    run(f, ReplayScheduler::new_from_file(path).expect("could not load schedule from file"));
}

/// As [`replay`]: annotated schedules are not written.
#[cfg(feature = "annotation")]
#[track_caller]
pub fn annotate_replay<F: Fn() + Send + Sync + 'static>(f: F, encoded_schedule: &str) {
    replay(f, encoded_schedule);
}
