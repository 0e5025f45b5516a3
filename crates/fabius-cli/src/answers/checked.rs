//! What was asked and what came out, as all forms of answers need it.

use crate::failure::{BAD_INPUT, Failure};
use crate::program::Loaded;
use fabius_trace::{Bound, Points, SchedulerKind};
use fabius_verify::{Plan, Report, Strategy};
use std::time::Duration;

/// What was asked for, as far as an answer names it.
#[derive(Clone, Copy)]
pub struct Question {
    pub bound: Bound,
    pub scheduler: SchedulerKind,
    pub points: Points,
    /// Whether a bug that is found is one of least cost.
    pub least: bool,
}

impl From<&Plan> for Question {
    fn from(plan: &Plan) -> Question {
        let least = plan.strategy == Strategy::Iterative && plan.bound != Bound::None;
        Question { bound: plan.bound, scheduler: plan.scheduler, points: plan.points, least }
    }
}

/// What became of one file.
pub struct Checked {
    /// As the user gave it.
    pub file: String,
    /// The answer, or why there is none.
    pub outcome: Result<(Loaded, Report), Failure>,
    /// How long it took.
    pub elapsed: Duration,
}

impl Checked {
    /// The exit code, were it the only file.
    pub fn exit_code(&self) -> u8 {
        self.outcome.as_ref().map_or(BAD_INPUT, |(_, report)| report.verdict.exit_code())
    }
}

/// The worst of some exit codes: bad input, then bugs, then what is unknown.
pub fn worst(codes: impl Iterator<Item = u8>) -> u8 {
    let badness = |code: &u8| match code {
        0 => 0,
        3 => 1,
        1 => 2,
        _ => 3,
    };
    codes.max_by_key(badness).unwrap_or(0)
}
