//! Two searches in turns where stale reads and late stores cost nothing: within the bound on preemptions, where one level may have very many
//! executions, and in the order of preemptions and deviations together. What one preemption and one stale read bring about is so
//! found behind few executions, and not behind all that have no preemption and any number of stale reads.
//!
//! Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007), Algorithm 1.
//!
//! Deviations:
//! 1. The second has the same bound on what preemptions and deviations cost together, so its executions are some of those of the first.
//!    A bug that it finds is the answer; that it finds none says nothing.
//! 2. It begins when the first has not ended after some executions, is by one thread, and makes as many as the first.

use crate::rt::Execution;
use crate::system::Test;
use fabius_explore::search::{Cut, Monitor, Options, Outcome};
use fabius_explore::stateless::{self, Listener};

/// Executions before the second search begins.
const ALONE: u64 = 128;

/// Searches with at most so many executions in all.
pub(crate) fn search(
    system: &Test<'_>,
    options: &Options,
    monitor: &Monitor<'_>,
    note: Listener<'_, Execution>,
) -> Outcome {
    let most = options.executions.unwrap_or(u64::MAX);
    let priced = Options { price_of_deviation: 1, jobs: 1, ..options.clone() };
    let mut all = stateless::begin(system, options, monitor, note);
    let mut few = stateless::begin(system, &priced, monitor, &|_| {});
    let mut until = ALONE;
    while all.go_on_to(Some(until.min(most.saturating_sub(few.executions())))) {
        let left = most.saturating_sub(all.executions());
        if left <= few.executions() {
            break;
        }
        if !few.go_on_to(Some(until.min(left))) {
            return together(few.outcome(), all, most);
        }
        until += (until / 8).max(ALONE);
    }
    let few = few.outcome();
    with_executions_of(&few, all.outcome())
}

/// The second search is over. If it has found nothing, the first goes on alone.
fn together(few: Outcome, mut all: stateless::Search<'_, Test<'_>>, most: u64) -> Outcome {
    let differs = few.cut == Some(Cut::Nondeterminism);
    if few.bug.is_none() && !differs {
        let executions = few.levels.last().map_or(0, |level| level.executions);
        all.go_on_to((most < u64::MAX).then(|| most.saturating_sub(executions)));
        return with_executions_of(&few, all.outcome());
    }
    let all = with_executions_of(&few, all.outcome());
    Outcome { bug: few.bug, exhausted: false, cut: differs.then_some(Cut::Nondeterminism), ..all }
}

fn with_executions_of(few: &Outcome, mut all: Outcome) -> Outcome {
    if let (Some(last), Some(more)) = (all.levels.last_mut(), few.levels.last()) {
        last.executions += more.executions;
        last.transitions += more.transitions;
    }
    all
}
