//! What is done to channels, one operation after the other.
//!
//! `select!` looks at several channels in one step, and what a step accesses must be known before it is made. So all
//! operations on channels are operations on one object, that of all channels of the execution: each depends on each other.

use fabius::extend::{Resource, State, is_inside};
use fabius::time::Instant;
use std::panic::Location;

/// Where an operation stands in the source.
pub(crate) type At = &'static Location<'static>;

/// A resource without a state.
#[derive(Default)]
pub(crate) struct Nothing;

impl State for Nothing {}

thread_local! {
    static ALL: &'static Resource<Nothing> = Box::leak(Box::new(Resource::unordered(Nothing)));
}

fn all(at: At) -> &'static Resource<Nothing> {
    assert!(is_inside(), "channels of `fabius-crossbeam-channel` work only inside of `fabius::check`: used at {at}");
    ALL.with(|all| *all)
}

/// A scheduling point: waits until this holds, or until then; whether it held.
pub(crate) fn wait(name: &'static str, at: At, ready: impl Fn() -> bool, until: Option<Instant>) -> bool {
    all(at).when(name, at, |_| ready(), until, |_| ()).is_some()
}

/// A scheduling point.
pub(crate) fn point(name: &'static str, at: At) {
    wait(name, at, || true, None);
}

/// A scheduling point in front of what is done also if the stack is unwound, and outside of executions.
pub(crate) fn finally(name: &'static str, at: At, change: impl FnOnce()) {
    if is_inside() {
        all(at).change(name, at, |_| change());
    } else {
        change();
    }
}
