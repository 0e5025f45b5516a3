//! Searches in turns where stale reads and late stores cost nothing: within the bound on preemptions, where one level may have
//! very many executions; in the order of preemptions and deviations together, twice; and depth first within the bound. What one
//! preemption and one stale read bring about is so found behind few executions, and not behind all that have no preemption and any
//! number of stale reads; and what goes wrong near the end, whatever was before, is found as fast as by who is depth first.
//!
//! Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007), Algorithm 1.
//!
//! Deviations:
//! 1. The second and the third have the same bound on what preemptions and deviations cost together, and the last on preemptions.
//!    These three leave out what loom does ([`LeavesOut::NoNews`]): a thread that has given way leaves it to others that can go on to
//!    make a step, and does not find an old value again that it made or found before; and what may store does not deviate. One of them
//!    leaves out more: who has given way goes on only when nobody can who has not. So their executions are some of those of the first:
//!    a thread that they may pick can be picked there, too, and they are asked the same choices, with fewer outcomes. A bug that
//!    one of them finds is the answer; that it finds none says nothing.
//! 2. They begin when the first has not ended after some executions, are by one thread each, and make as many as the first at first:
//!    most bugs that they find are not far. Then they make as many together, so that a test that does not fail takes twice as
//!    long as with the first alone, and not four times.

use crate::rt::{Execution, LeavesOut};
use crate::system::Test;
use fabius_explore::search::{Cut, Monitor, Options, Outcome};
use fabius_explore::stateless::{self, Listener, Search};

/// Executions before the others begin.
const ALONE: u64 = 128;

/// Executions of each before the others make fewer than the first.
const EQUALLY: u64 = 1024;

/// How many executions each of the others makes until the first has made so many.
fn share(first: u64) -> u64 {
    first.min(EQUALLY) + first.saturating_sub(EQUALLY) / 3
}

/// Searches with at most so many executions in all.
pub(crate) fn search(
    system: &Test<'_>,
    options: &Options,
    monitor: &Monitor<'_>,
    note: Listener<'_, Execution>,
) -> Outcome {
    let most = options.executions.unwrap_or(u64::MAX);
    let few = Options { price_of_deviation: 1, jobs: 1, ..options.clone() };
    let deep = Options { first_level: options.max.unwrap_or(u32::MAX), jobs: 1, ..options.clone() };
    let (news, turns) = (system.that_leaves_out(LeavesOut::NoNews), system.that_leaves_out(LeavesOut::NoNewsAndTurns));
    let mut all = stateless::begin(system, options, monitor, note);
    let mut others = [(&turns, &few), (&news, &few), (&news, &deep)]
        .map(|(system, options)| stateless::begin(system, options, monitor, &|_| {}));
    let mut until = ALONE;
    let tell = |all, others| {
        [&news, &turns].into_iter().for_each(|other| system.takes_over(other));
        together(all, others)
    };
    while all.go_on_to(Some(until.min(most.saturating_sub(others.iter().map(Search::executions).sum())))) {
        let mut made = all.executions() + others.iter().map(Search::executions).sum::<u64>();
        for other in &mut others {
            let before = other.executions();
            if made < most && !other.go_on_to(Some(share(until).min(before + (most - made)))) && other.has_an_answer() {
                return tell(all, others);
            }
            made += other.executions() - before;
        }
        if made >= most {
            break;
        }
        until += (until / 8).max(ALONE);
    }
    tell(all, others)
}

/// What the first has found, or else one of the others, and the executions of all.
fn together(all: Search<'_, Test<'_>>, others: [Search<'_, Test<'_>>; 3]) -> Outcome {
    let mut all = all.outcome();
    for other in others.map(Search::outcome) {
        if let (Some(last), Some(more)) = (all.levels.last_mut(), other.levels.last()) {
            last.executions += more.executions;
            last.transitions += more.transitions;
        }
        if all.bug.is_some() {
            continue;
        }
        if other.bug.is_some() || other.cut == Some(Cut::Nondeterminism) {
            (all.bug, all.cut, all.exhausted) = (other.bug, other.cut, false);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_others_make_as_many_each_at_first_and_then_as_many_together() {
        assert_eq!([ALONE, EQUALLY, EQUALLY + 3].map(share), [ALONE, EQUALLY, EQUALLY + 1]);
        let more = |from: u64, to: u64| 3 * (share(to) - share(from));
        assert_eq!((more(0, EQUALLY), more(EQUALLY, 4 * EQUALLY)), (3 * EQUALLY, 3 * EQUALLY));
    }
}
