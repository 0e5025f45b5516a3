//! What the macros need.

pub use crate::runtime::block_on as run;
use std::fmt::Debug;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Explores a test, as the environment says.
#[track_caller]
pub fn explore(test: impl Fn() + Sync) {
    fabius::check(test);
}

/// What a test may return.
pub trait Outcome {
    /// # Panics
    /// If it is a failure.
    fn check(self);
}

impl Outcome for () {
    fn check(self) {}
}

impl<E: Debug> Outcome for Result<(), E> {
    fn check(self) {
        if let Err(error) = self {
            panic!("Error: {error:?}");
        }
    }
}

/// Looks at what a test has returned.
pub fn returned<T: Outcome>(outcome: T) {
    outcome.check();
}

/// In which order the branches of `select!` are polled that are not disabled: beginning with each of them, or with the first.
#[track_caller]
pub fn order(disabled: &[bool], biased: bool) -> Vec<usize> {
    let mut enabled: Vec<usize> = (0..disabled.len()).filter(|n| !disabled[*n]).collect();
    if !biased && enabled.len() > 1 {
        let first = fabius::any(enabled.len() as u32) as usize;
        enabled.rotate_left(first);
    }
    enabled
}

/// A future of `join!`, or what has become of it.
pub struct Joined<F: Future> {
    future: Option<Pin<Box<F>>>,
    output: Option<F::Output>,
}

impl<F: Future> Joined<F> {
    /// Not polled yet.
    pub fn new<I: IntoFuture<IntoFuture = F>>(future: I) -> Joined<F> {
        Joined { future: Some(Box::pin(future.into_future())), output: None }
    }

    /// Whether it has ended.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some(future) = &mut self.future
            && let Poll::Ready(output) = future.as_mut().poll(cx)
        {
            self.future = None;
            self.output = Some(output);
        }
        self.future.is_none()
    }

    /// What it returned.
    pub fn output(&mut self) -> F::Output {
        self.output.take().expect("it has ended")
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Joined<F> {
    /// Its error, if it has ended with one.
    pub fn error(&mut self) -> Option<E> {
        match self.output.take()? {
            Err(error) => Some(error),
            output => {
                self.output = Some(output);
                None
            }
        }
    }

    /// Its value, if it has ended with none.
    pub fn value(&mut self) -> T {
        match self.output() {
            Ok(value) => value,
            Err(_) => unreachable!("errors are looked for first"),
        }
    }
}
