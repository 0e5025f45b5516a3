//! Exploring the same body in every execution.
#![allow(dead_code, reason = "each file of tests uses some of it")]

use fabius::{BugKind, Config, Report};
use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Mutex;

/// What a check says of the body.
#[track_caller]
pub fn explore<F: Future<Output = ()>>(body: impl Fn() -> F + Sync) -> Report {
    Config::new().explore(|| fabius_tokio::block_on(body()))
}

/// No execution fails, within the default bounds.
#[track_caller]
pub fn holds<F: Future<Output = ()>>(body: impl Fn() -> F + Sync) {
    let report = explore(body);
    assert!(report.failure().is_none(), "{}", report.failure().unwrap());
}

/// The simplest failing execution is of that kind.
#[track_caller]
pub fn fails<F: Future<Output = ()>>(kind: BugKind, body: impl Fn() -> F + Sync) {
    let report = explore(body);
    assert_eq!(report.trace().map(|trace| trace.kind), Some(kind), "{:?}", report.failure());
}

/// The outcomes of all executions.
#[track_caller]
pub fn outcomes<T: Ord + Send, F: Future<Output = T>>(body: impl Fn() -> F + Sync) -> BTreeSet<T> {
    let all = Mutex::new(BTreeSet::new());
    let report = Config::new().iterative_preemptions().explore(|| {
        let outcome = fabius_tokio::block_on(body());
        if !fabius::extend::is_cut() {
            all.lock().unwrap().insert(outcome);
        }
    });
    assert!(report.failure().is_none(), "{}", report.failure().unwrap());
    all.into_inner().unwrap()
}
