//! Two searches in turns: in the order of preemptions, and all classes of executions without a bound. A test may have fewer
//! classes than there are executions within the first bounds, and the first bug may be many classes away, so each makes as
//! many executions as the other.
//!
//! Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007), Algorithm 1; Optimal
//! Dynamic Partial Order Reduction (POPL 2014), section 6.
//!
//! Deviations:
//! 1. When either has seen everything, that is the answer.
//! 2. The second is by one thread, and makes as many executions as each of the others does in the first.
//! 3. A bug that the second finds need not be the simplest. It ends the second search, and is the answer only if the first
//!    ends without one.
//! 4. Where the bound is given, the second begins only if the first has begun anew, because many executions came to few classes. It
//!    makes as many as the first does from then on, and a bug that it finds is nobody's: it may be outside of the bound.

use crate::rt::Execution;
use crate::system::Test;
use fabius_explore::search::{Cut, Found, Monitor, Options, Outcome};
use fabius_explore::stateless::Listener;
use fabius_explore::{optimal, shrink, stateless};
use fabius_trace::Bound;

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
    let unbounded = Options { bound: Bound::None, ..options.clone() };
    let mut in_order = stateless::begin(system, options, monitor, note);
    let mut all = optimal::begin(system, &unbounded, monitor, &|_| {});
    let mut all_goes_on = true;
    let mut until = ALONE;
    let is_bounded = options.max.is_some();
    while in_order.go_on_to(Some(until.min(most.saturating_sub(all.executions())))) {
        let left = most.saturating_sub(in_order.executions());
        if left <= all.executions() {
            break;
        }
        let since = if is_bounded { in_order.anew() } else { Some(0) };
        if let Some(since) = since.filter(|_| all_goes_on) {
            all_goes_on = all.go_on_to(Some((until.saturating_sub(since) / options.jobs as u64).min(left)));
        }
        if all.has_seen_everything() {
            break;
        }
        until += (until / 8).max(ALONE);
    }
    let (in_order, mut all) = (in_order.outcome(), all.outcome());
    if is_bounded && !all.exhausted {
        // Classes outside of the bound are not of its levels.
        all.levels.iter_mut().for_each(|level| level.states = 0);
    }
    let late = all.bug.clone().filter(|_| in_order.bug.is_none() && !is_bounded);
    let late = late.map(|found| shrink::find(system, options, &found.schedule).unwrap_or(found));
    together(in_order, all, late)
}

/// One answer of two; `late` is the bug that only the second found.
fn together(in_order: Outcome, all: Outcome, late: Option<Found>) -> Outcome {
    let mut levels = in_order.levels;
    if let (Some(last), Some(new)) = (levels.last_mut(), all.levels.last()) {
        last.executions += new.executions;
        last.transitions += new.transitions;
        // Of both, some may be the same.
        last.states = last.states.max(new.states);
    }
    let growth = if all.finals == 0 { in_order.growth } else { Vec::new() };
    let bug = in_order.bug.or(late);
    let differs = [in_order.cut, all.cut].contains(&Some(Cut::Nondeterminism));
    let exhausted = bug.is_none() && !differs && (in_order.exhausted || all.exhausted);
    let cut = match (&bug, differs) {
        (Some(_), _) => None,
        (None, true) => Some(Cut::Nondeterminism),
        (None, false) => in_order.cut.filter(|_| !exhausted),
    };
    let (completed, finals, anew) = (in_order.completed, in_order.finals + all.finals, in_order.anew);
    Outcome { levels, growth, bug, exhausted, cut, completed, finals, anew, memory: 0, reduced: 0 }
}
