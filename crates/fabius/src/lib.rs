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
//! **The memory of C++20 and Rust without load buffering**: where an `Ordering` weaker than `SeqCst` is used, a load may find
//! a stale value, and a store may come late (see [`sync::atomic`]); a bug that needs a load to find a store that has not been
//! made yet is not found. A data race on a [`cell::UnsafeCell`] behind a missing `Release` or `Acquire` is. Locks, channels
//! and the like are never stale.
//!
//! **Virtual time**: it passes only when no thread can go on otherwise, but for threads that spin and only repeat themselves. A
//! limit of time that is up earlier than that is not explored, but for limits of zero. A loop that spins until a time has come
//! waits for nothing that passes: it ends as a livelock, unless another thread sleeps; write `sleep` in its place. Of loops that count
//! or change memory otherwise it is not seen that they only wait: while another thread sleeps, time passes only when they have used up
//! [`Config::max_steps`], and the answer says that not all was explored.
//!
//! What a loop has on its stack is compared from round to round. Where it leaves there what no code looks at, and not always the same,
//! the check begins anew, and from then on a loop is taken to repeat itself after its second round instead of its first. A loop that is not
//! the same each time even then is not followed: the answer says what was left out.
//!
//! # Steps and costs
//! A thread announces each operation and does it when it is picked: a *step* is one operation and what follows it up to the
//! next. Every operation is one: accesses of atomics, `lock` and the drop of its guard, `send` and the drop of a sender,
//! `spawn`, `join`, `yield_now`. The beginning of a thread belongs to the step that spawns it, its end to its last step,
//! unless the test asks `is_finished`; [`Condvar::wait`](sync::Condvar::wait) is a step that begins to wait and releases the
//! lock, and one that takes it again; with a limit of time there is one in between, with which the thread waits no longer.
//! To give way once more without another operation in between is no step. What destructors do while a panic unwinds a thread
//! are steps, too. `send` into a channel without capacity is one that offers the message, when no other offer is left, and one
//! that waits until it was received. The end of `call_once` and `get_or_init` is a step of its own, `OnceLock::set` of an empty
//! cell is two, and a barrier one for who arrives last and two for the others.
//!
//! A *preemption* is a switch away from a thread that could go on and has not just yielded. These are the costs of the same
//! program as a model, for `fabius check`. A stale read or a late store costs as much, and the simplest failing execution has
//! the least sum.
//!
//! # Speed in debug builds
//! Loops that wait are followed instruction by instruction, to see whether a round changes anything, and without optimization this
//! crate has a hundred times as many instructions there. Where tests spin, let it be optimized in debug builds, too, in the workspace's
//! `Cargo.toml`: three threads with a lock of turns are then verified in 0.5 s instead of 2.5 s (0.2 s in a release build).
//!
//! ```toml
//! [profile.dev.package.fabius]
//! opt-level = 3
//! [profile.dev.package.fabius-explore]
//! opt-level = 3
//! ```
//!
//! # Interrupts
//! Ctrl-C and SIGTERM end the checks that run, each of which says what it has seen, and then the process, as they would without that; a
//! second one ends it at once. So no test passes that was interrupted. There is a handler only while a check runs, on Linux, and only
//! where the program has none; `FABIUS_INTERRUPT=ignore` in the environment leaves it out.
//!
//! # Features
//! `traces` saves a failing execution below `target/fabius`, as JSON and as a web page to step through, and adds `compare`.
//! `FABIUS_TRACES` in the environment names another folder, or `none`.
//!
//! # What a test must not do
//! The closure must be deterministic but for the schedule and [`any`]: no randomness, no clock, no state that survives from
//! one execution to the next. No thread of [`std::thread::scope`] should borrow from inside of it: an execution that has failed
//! waits for nobody. Its stacks are kept as long as any memory refers to them, but no more than a thousand in a process.
//!
//! What is wrong is to be asserted inside of the closure. It is run more often than the report counts: also when the check begins
//! anew because it has learnt what the test does, and to show a failure; what it collects outside may be of executions that the
//! bound leaves out. When it has returned, threads that nobody has joined go on to their ends: one that waits for ever is a
//! deadlock, and one that gives way for ever a livelock, though a process would end there.

pub mod alloc;
mod answer;
pub mod cell;
mod channel;
mod check;
mod command;
#[cfg(feature = "traces")]
mod compare;
mod config;
mod environment;
#[doc(hidden)]
pub mod extend;
mod few_deviations;
pub mod future;
mod guarded;
pub mod hint;
mod in_turns;
mod interrupt;
mod local;
pub mod mcapi;
mod replay;
mod report;
mod rerun;
mod rt;
#[cfg(feature = "traces")]
mod save;
pub mod sync;
mod system;
pub mod thread;
pub mod time;

pub use check::{check_default as check, portfolio};
#[cfg(feature = "traces")]
pub use compare::compare;
pub use config::Config;
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
