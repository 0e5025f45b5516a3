//! Searches in turns where stale reads and late stores cost nothing: one of all executions within the bound, of which one level may
//! have very many; in the order of preemptions and deviations together, twice; and depth first within the bound. What one
//! preemption and one stale read bring about is so found behind few executions, and not behind all that have no preemption and any
//! number of stale reads; and what goes wrong near the end, whatever was before, is found as fast as by who is depth first.
//!
//! Paper: Iterative Context Bounding for Systematic Testing of Multithreaded Programs (PLDI 2007), Algorithm 1.
//!
//! Deviations:
//! 1. The second and the third have the same bound on what preemptions and deviations cost together, and the last on preemptions.
//!    These three leave out what loom does ([`LeavesOut::NoNews`]): a thread that has given way leaves it to others that can go on to
//!    make a step, and does not find an old value again that it made or found before; what may store does not deviate; and
//!    sequentially consistent fences are in order: who has made one finds nothing older than what was known ahead of those that came
//!    before. In all but one, who has given way goes on only when nobody can who has not, or has done so less often. So their
//!    executions are some of those of the first: a thread that they may pick can be picked there, too, and they are asked the same
//!    choices, with fewer outcomes. A bug that one of them finds is the answer.
//! 2. They begin when the first has not ended after some executions, are by one thread each, and make as many as the first at first:
//!    most bugs that they find are not far. Then they make as many together, so that a test that does not fail takes twice as
//!    long as with the first alone, and not four times.
//! 3. That they find nothing says nothing of what they leave out. Where that is enough ([`Until::SeenAsByLoom`]), the end of the last
//!    one ends all once the first has made many executions, and the answer says what has not been explored. From then on that one
//!    makes nearly all of the executions. A loop that gives way and loads two atomics has some five
//!    hundred times as many ways with what is left out.
//! 4. Without a bound there is nothing to be counted together, and only the last one of the three.

use crate::config::Until;
use crate::rt::{Execution, LeavesOut};
use crate::system::Test;
use fabius_explore::search::{Cut, Monitor, Options, Outcome};
use fabius_explore::stateless::{self, Listener, Search};
use fabius_trace::Bound;

/// Executions before the others begin.
const ALONE: u64 = 128;

/// Executions of each before the others make fewer than the first.
const EQUALLY: u64 = 1024;

/// Executions that the first makes at least, before the end of the last one is enough.
const MANY: u64 = 8_192;

/// So many times its share the last one then makes, so that its end comes sooner.
const SOONER: u64 = 64;

/// How many more executions each of so many others makes, when the first has made so many and goes on to make more.
fn share(before: u64, after: u64, others: u64) -> u64 {
    let equally = after.min(EQUALLY).saturating_sub(before);
    equally + (after - before - equally).div_ceil(others.max(1))
}

/// Searches with at most so many executions in all.
pub(crate) fn search(
    system: &Test<'_>,
    (options, until_seen): (&Options, Until),
    monitor: &Monitor<'_>,
    note: Listener<'_, Execution>,
) -> Outcome {
    let most = options.executions.unwrap_or(u64::MAX);
    let few = Options { price_of_deviation: 1, jobs: 1, ..options.clone() };
    let deep = Options { first_level: options.max.unwrap_or(u32::MAX), jobs: 1, ..options.clone() };
    let (news, turns) = (system.that_leaves_out(LeavesOut::NoNews), system.that_leaves_out(LeavesOut::NoNewsAndTurns));
    let mut all = stateless::begin(system, options, monitor, note);
    let mut others: Vec<(&Test<'_>, &Options)> = vec![(&turns, &few), (&news, &few), (&turns, &deep)];
    if options.bound == Bound::None {
        others.drain(..2);
    }
    let begin = |(system, options)| stateless::begin(system, options, monitor, &|_| {});
    let mut others: Vec<Search<'_, Test<'_>>> = others.into_iter().map(begin).collect();
    let (mut before, mut until) = (0, ALONE);
    let tell = |all, others| {
        [&news, &turns].into_iter().for_each(|other| system.takes_over(other));
        together(all, others)
    };
    while all.go_on_to(Some(until.min(most.saturating_sub(others.iter().map(Search::executions).sum())))) {
        let mut made = all.executions() + others.iter().map(Search::executions).sum::<u64>();
        let going = others.iter().filter(|other| !other.has_ended()).count() as u64;
        let last = others.len() - 1;
        for (number, other) in others.iter_mut().enumerate().filter(|(_, other)| !other.has_ended()) {
            let so_far = other.executions();
            let is_awaited = until_seen == Until::SeenAsByLoom && before >= MANY && number == last;
            let times = if is_awaited { SOONER } else { 1 };
            let more = (times * share(before, until, going)).min(most - made.min(most));
            if more > 0 && !other.go_on_to(Some(so_far + more)) && other.has_an_answer() {
                return tell(all, others);
            }
            made += other.executions() - so_far;
        }
        if made >= most {
            break;
        }
        if until_seen == Until::SeenAsByLoom && until >= MANY && others.last().is_some_and(Search::has_seen_everything)
        {
            system.ends_as_loom(&turns);
            return tell(all, others);
        }
        before = until;
        until += (until / 8).max(ALONE);
    }
    tell(all, others)
}

/// What the first has found, or else one of the others, and the executions of all.
fn together(all: Search<'_, Test<'_>>, others: Vec<Search<'_, Test<'_>>>) -> Outcome {
    let mut all = all.outcome();
    for other in others.into_iter().map(Search::outcome) {
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
    use crate::config::Config;
    use crate::rt::{self, Loops, Refine};
    use crate::sync::Arc;
    use crate::sync::atomic::Ordering::{Relaxed, SeqCst};
    use crate::sync::atomic::{AtomicUsize, fence};
    use crate::{answer, extend, thread};
    use fabius_explore::search::{Progress, Reduction};
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    /// What all executions within so many preemptions come to; without a bound, if there are none.
    fn outcomes<T: Ord + Send>(
        leaves_out: LeavesOut,
        max: Option<u32>,
        reduction: Reduction,
        body: impl Fn() -> T + Sync,
    ) -> BTreeSet<T> {
        let seen = Mutex::new(BTreeSet::new());
        let body = || {
            let outcome = body();
            if !extend::is_cut() {
                seen.lock().unwrap().insert(outcome);
            }
        };
        let settings = answer::settings(&Config::new().free_stale_reads());
        let stop = AtomicBool::new(false);
        let refine = Refine::YIELDS.with(Refine::WEAK).with(Refine::RACES);
        let test = Test::new(&body, rt::Settings { refine, ..settings }, Loops::default(), &stop);
        let test = test.that_leaves_out(leaves_out);
        let bound = if max.is_none() { Bound::None } else { Bound::Preemptions };
        let options =
            Options { bound, max, price_of_deviation: 0, reduction, max_steps: u32::MAX, ..Options::default() };
        let look = |_: &Progress| {};
        let found = stateless::search(&test, &options, &Monitor { stop: &stop, progress: &look }, &|_| {});
        assert!(found.bug.is_none() && found.cut.is_none() && (found.exhausted || found.completed >= max));
        std::mem::take(&mut *seen.lock().unwrap())
    }

    /// What each of several threads finds in an atomic and, when it has given way, makes of it.
    fn give_way(threads: usize) -> Vec<[usize; 2]> {
        let word = Arc::new(AtomicUsize::new(0));
        let goes = |own: usize| {
            let word = word.clone();
            thread::spawn(move || {
                let first = word.load(Relaxed);
                thread::yield_now();
                [first, word.swap(own, Relaxed)]
            })
        };
        let all: Vec<_> = (1..=threads).map(goes).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    }

    #[test]
    fn what_is_left_out_of_turns_does_not_depend_on_what_is_explored() {
        for threads in 2..=3 {
            for max in [None, Some(1), Some(10)] {
                let [all, reduced] = [Reduction::None, Reduction::Classes]
                    .map(|reduction| outcomes(LeavesOut::NoNewsAndTurns, max, reduction, || give_way(threads)));
                assert_eq!(all, reduced, "{threads} threads, {max:?}");
            }
        }
    }

    /// What threads find that do some of what there is to do with two atomics, and make fences.
    fn make_fences(seed: u64) -> Vec<Vec<usize>> {
        let words = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let goes = |own: usize| {
            let (words, mut dice) = (words.clone(), fastrand::Rng::with_seed(seed * 8 + own as u64));
            thread::spawn(move || {
                let mut found = Vec::new();
                for _ in 0..dice.usize(2..=4) {
                    let word = &words[dice.usize(..2)];
                    match dice.u8(..8) {
                        0..2 => word.store(own, Relaxed),
                        2..4 => found.push(word.load(Relaxed)),
                        4 => thread::yield_now(),
                        _ => fence(SeqCst),
                    }
                }
                found
            })
        };
        let all: Vec<_> = (1..=3).map(goes).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    }

    #[test]
    fn what_is_left_out_of_fences_does_not_depend_on_what_is_explored() {
        // Among these are such where an outcome is lost if the order of fences is not part of the class, which few are.
        let mut left_out = 0;
        for seed in (0..6).chain([666, 998, 1541, 1815, 2042, 2136, 3559, 3853, 3985, 4077]) {
            for max in [None, Some(0), Some(1)] {
                let of = |leaves_out, reduction| outcomes(leaves_out, max, reduction, || make_fences(seed));
                let ordered = of(LeavesOut::NoNewsAndTurns, Reduction::None);
                assert_eq!(ordered, of(LeavesOut::NoNewsAndTurns, Reduction::Classes), "seed {seed}, {max:?}");
                let all = of(LeavesOut::Nothing, Reduction::Classes);
                assert!(ordered.is_subset(&all), "seed {seed}, {max:?}");
                left_out += all.len() - ordered.len();
            }
        }
        assert!(left_out > 0);
    }

    #[test]
    fn the_others_make_as_many_each_at_first_and_then_as_many_together() {
        assert_eq!(share(0, ALONE, 3), ALONE);
        assert_eq!(share(EQUALLY, EQUALLY + 300, 3), 100);
        assert_eq!(share(EQUALLY - 10, EQUALLY + 300, 3), 110);
        assert_eq!(share(EQUALLY, EQUALLY + 300, 1), 300);
    }
}
