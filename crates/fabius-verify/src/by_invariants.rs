//! Invariants of any number of threads whose data is not finite, or whose procedures are recursive.

use crate::in_time::in_time;
use crate::proof::ProofError;
use crate::stack::no_thread;
use crate::work::Work;
use fabius_sequential::invariants::{Found, Invariants, invariants};
use fabius_sequential::summaries::Template;
use fabius_translate::linear_interface::Parameterized;

/// What is known of all numbers of threads and of rounds, with so much effort at most.
pub fn holds_always(source: &Parameterized, most: u64, work: &mut Work<'_>) -> Result<Found, ProofError> {
    let (program, declared, any) = source.template();
    let done = in_time(work.limits, &mut |()| {}, move |limits, _| {
        invariants(&Template { program: &program, declared: &declared, any: &any }, most, limits)
    });
    let Some(done) = done.map_err(no_thread)? else { return Ok(Found::Stopped) };
    let Invariants { found, questions, cells, sums, .. } =
        done.map_err(|_| ProofError::Internal("the translation is not sequential".into()))?;
    work.statistics.queries += questions;
    work.figures = vec![("questions", questions), ("cells", cells as u64), ("sums", sums as u64)];
    Ok(found)
}
