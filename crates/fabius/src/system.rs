//! A test as the explorer sees it: a [`System`] whose state is an execution under way.

use crate::rt::{self, Execution, Job, LeavesOut, LeftOut, Loops, Refine, Settings};
use fabius_explore::system::{Access, Choose, End, Fault, FoundStore, Limit, Plan, StepLog, System, TaskId};
use fabius_trace::{BugKind, Span};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A test and how its executions are run.
pub(crate) struct Test<'a> {
    pub body: &'a (dyn Fn() + Sync),
    pub settings: Settings,
    /// What executions looked at that was not reckoned with.
    pub observed: AtomicU16,
    /// What is known of its loops.
    pub loops: Loops,
    /// Whether the check must begin anew, because a loop was tried out.
    pub astray: AtomicBool,
    /// What has not been explored.
    pub left_out: Mutex<Option<LeftOut>>,
    /// Whether operations on atomics would have deviated more often than they may.
    pub kept_from_deviating: AtomicBool,
    /// Whether the search has ended because nothing is left but what loom leaves out, too.
    pub ended_as_loom: AtomicBool,
    /// Whether stores were forgotten that could have been found.
    pub forgets_stores: AtomicBool,
    /// Why executions cannot go on though the test has not failed.
    pub limit: OnceLock<rt::Limit>,
    /// Set when the check must begin anew, or cannot go on.
    pub stop: &'a AtomicBool,
}

impl<'a> Test<'a> {
    pub fn new(body: &'a (dyn Fn() + Sync), settings: Settings, loops: Loops, stop: &'a AtomicBool) -> Test<'a> {
        rt::check_begins();
        let (observed, astray, left_out) = (AtomicU16::new(0), AtomicBool::new(false), Mutex::new(None));
        let (kept_from_deviating, forgets_stores) = (AtomicBool::new(false), AtomicBool::new(false));
        let (ended_as_loom, limit) = (AtomicBool::new(false), OnceLock::new());
        Test {
            body,
            settings,
            observed,
            loops: loops.of_another_search(),
            astray,
            left_out,
            kept_from_deviating,
            ended_as_loom,
            forgets_stores,
            limit,
            stop,
        }
    }

    /// The same, where executions leave something out.
    pub fn that_leaves_out(&self, leaves_out: LeavesOut) -> Test<'a> {
        Test::new(self.body, Settings { leaves_out, ..self.settings }, self.loops.clone(), self.stop)
    }

    /// Takes over what was noticed in executions of the same test for which it must begin anew, or cannot go on.
    pub fn takes_over(&self, other: &Test<'_>) {
        self.observed.fetch_or(other.observed.load(Ordering::Relaxed), Ordering::Relaxed);
        self.astray.fetch_or(other.astray.load(Ordering::Relaxed), Ordering::Relaxed);
        if let Some(limit) = other.limit.get() {
            self.limit.get_or_init(|| limit.clone());
        }
    }

    /// The search has ended, because another one has seen all of what executions are that leave out what loom does.
    pub fn ends_as_loom(&self, other: &Test<'_>) {
        self.ended_as_loom.store(true, Ordering::Relaxed);
        self.kept_from_deviating.fetch_or(other.kept_from_deviating.load(Ordering::Relaxed), Ordering::Relaxed);
        self.forgets_stores.fetch_or(other.forgets_stores.load(Ordering::Relaxed), Ordering::Relaxed);
        self.leaves_out(*other.left_out.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// An execution may have left something out.
    #[inline]
    fn takes_what_is_left_out(&self, rt: &rt::Rt) {
        if rt.left_out.get().is_some() {
            self.leaves_out(rt.left_out.take());
        }
    }

    /// Something is not explored.
    #[cold]
    fn leaves_out(&self, what: Option<LeftOut>) {
        let mut all = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        *all = what.or(*all);
    }

    /// The body of the first thread.
    pub fn beginning(&self) -> impl FnMut() + use<> {
        // SAFETY: only the lifetime changes; an execution ends before what it is a test of.
        let body = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(self.body) };
        move || {
            if let Some(Err(payload)) = rt::catch(body) {
                let panic = rt::note_panic(payload.as_ref());
                rt::with(|rt| rt.fail_at(BugKind::Panic, panic.message, panic.at));
            }
            rt::finish();
        }
    }

    /// What the explorer must know of the state after a step.
    #[inline]
    fn look(&self, execution: &mut Execution, log: &mut StepLog) -> Result<(), Fault> {
        let rt = execution.get();
        if rt.has_news() || self.settings.leaks { self.look_closer(execution, log) } else { Ok(()) }
    }

    fn look_closer(&self, execution: &mut Execution, log: &mut StepLog) -> Result<(), Fault> {
        let rt = execution.get_mut();
        self.takes_what_is_left_out(rt);
        if rt.kept_from_deviating {
            self.kept_from_deviating.store(true, Ordering::Relaxed);
        }
        if rt.forgets_stores {
            self.forgets_stores.store(true, Ordering::Relaxed);
        }
        rt.is_seen();
        if rt.observed != Refine::default() && !self.settings.refine.contains(rt.observed) {
            self.observed.fetch_or(rt.observed.0, Ordering::Relaxed);
            self.stop.store(true, Ordering::Relaxed);
            return Err(Fault::Limit(Limit::EndlessStep, Span::default()));
        }
        if rt.astray {
            self.astray.store(true, Ordering::Relaxed);
            self.stop.store(true, Ordering::Relaxed);
            return Err(Fault::Limit(Limit::EndlessStep, Span::default()));
        }
        rt.take_log(&mut log.accesses, &mut log.born, &mut log.finished);
        if self.settings.leaks && rt.failure.is_none() && rt.is_over() {
            rt.find_leaks();
        }
        if let Some(limit) = &rt.limit {
            self.limit.get_or_init(|| limit.clone());
            self.stop.store(true, Ordering::Relaxed);
            return Err(Fault::Limit(Limit::EndlessStep, Span::default()));
        }
        match &rt.failure {
            Some(failure) => Err(Fault::Bug(failure.kind, Span::default())),
            None => Ok(()),
        }
    }
}

impl Drop for Test<'_> {
    fn drop(&mut self) {
        rt::check_is_over();
    }
}

impl System for Test<'_> {
    type State = Execution;

    fn initial(&self, choose: &mut dyn Choose, log: &mut StepLog) -> Result<Execution, Fault> {
        let mut body = self.beginning();
        // SAFETY: what is borrowed outlives the execution: see `beginning`.
        let body = unsafe { Job::of(&mut body) };
        let mut execution = Execution::begin(self.settings, &self.loops, log.want_accesses, choose, body);
        self.look(&mut execution, log)?;
        let StepLog { born, finished, .. } = log;
        born.retain(|b| !finished.contains(&b.task));
        Ok(execution)
    }

    fn has_buffers(&self) -> bool {
        false
    }

    #[inline]
    fn ready(&self, state: &Execution, task: TaskId) -> bool {
        let rt = state.get();
        let is_ready = rt.ready(task as usize);
        // There may be no step behind it that says so: where nobody else goes on to what is not known, the execution ends.
        if !is_ready {
            self.takes_what_is_left_out(rt);
        }
        is_ready
    }

    #[inline]
    fn next_access(&self, state: &Execution, task: TaskId) -> Option<Access> {
        let rt = state.get();
        let op = rt.threads[task as usize].op()?;
        let (variable, write) = (op.accesses(rt), op.changes(rt));
        (op.variable != rt::Op::NOTHING).then_some(Access { variable, write, sync: true, span: Span::default() })
    }

    fn found(&self, state: &Execution) -> FoundStore {
        state.get().found
    }

    fn may_deviate(&self, state: &Execution, task: TaskId) -> bool {
        state.get().may_deviate(task as usize)
    }

    fn next_may_fail(&self, state: &Execution, task: TaskId) -> bool {
        state.get().threads[task as usize].op().is_some_and(|op| op.fails.is_some())
    }

    fn next_other_access(&self, state: &Execution, task: TaskId) -> Option<Access> {
        let variable = state.get().threads[task as usize].op()?.other;
        (variable != rt::Op::NOTHING).then_some(Access { variable, write: true, sync: true, span: Span::default() })
    }

    fn waits_for_more(&self, state: &Execution, task: TaskId) -> bool {
        state.get().threads[task as usize].op().is_some_and(|op| op.waits_for_more)
    }

    fn has_deadlines(&self, state: &Execution) -> bool {
        state.get().has_deadlines
    }

    fn announces(&self) -> bool {
        true
    }

    fn was_slow(&self, state: &Execution) -> bool {
        state.get().has_tried
    }

    fn plans_ahead(&self, state: &Execution) -> bool {
        state.get().goes_ahead_at_all()
    }

    fn plan_ahead(&self, state: &mut Execution, steps: u32, plan: Plan<'_>) {
        state.get_mut().plans(steps, plan);
    }

    fn need_not_tell(&self, state: &mut Execution, steps: u32) {
        state.get_mut().ahead.tells_nothing_of(steps);
    }

    #[inline]
    fn last_of_step(&self, state: &Execution) -> Option<TaskId> {
        Some(state.get().current as TaskId)
    }

    fn possible(&self, state: &Execution, task: TaskId) -> bool {
        state.get().can_go_on(task as usize)
    }

    fn gave_way(&self, state: &Execution, task: TaskId) -> bool {
        state.get().threads[task as usize].gave_way
    }

    fn step(
        &self,
        state: &mut Execution,
        task: TaskId,
        choose: &mut dyn Choose,
        log: &mut StepLog,
    ) -> Result<End, Fault> {
        state.step(task as usize, choose, log.want_accesses);
        state.get_mut().ahead.take(log);
        self.look(state, log)?;
        let rt = state.get();
        Ok(if rt.threads[rt.current].finished { End::Finished } else { End::Point })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::sync::Arc;
    use crate::sync::atomic::{AtomicUsize, Ordering as Order, fence};
    use crate::time::Instant;
    use crate::{answer, extend, thread};
    use fabius_explore::search::{Monitor, Options, Progress, Reduction};
    use fabius_explore::stateless;
    use fabius_trace::Bound;
    use std::collections::BTreeSet;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    /// Three threads, each of which does some of what there is to do with two atomics.
    fn random(seed: u64) {
        let atomics = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let thread = |number: u64| {
            let atomics = atomics.clone();
            let mut dice = fastrand::Rng::with_seed(seed * 8 + number);
            thread::spawn(move || {
                for _ in 0..dice.usize(1..=4) {
                    let (atomic, order) = (&atomics[dice.usize(..2)], dice.bool());
                    let [load, store] = if order { [Order::Acquire, Order::Release] } else { [Order::SeqCst; 2] };
                    match dice.u8(..6) {
                        0 => _ = atomic.load(Order::Relaxed),
                        1 => _ = atomic.load(load),
                        2 => atomic.store(dice.usize(1..3), store),
                        3 => _ = atomic.compare_exchange_weak(0, 1, store, Order::Relaxed),
                        4 => fence(Order::SeqCst),
                        _ => _ = crate::any(2),
                    }
                }
            })
        };
        let threads: Vec<_> = (0..3).map(thread).collect();
        threads.into_iter().rev().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    fn what_somebody_does_alone_is_explored_as_if_it_were_asked_about_each_step() {
        for seed in 0..40 {
            let body = || random(seed);
            let config = Config::new().spurious_failures();
            let as_loom = LeavesOut::NoNewsAndTurns;
            let searches = [
                (Bound::Preemptions, Some(1), 0, LeavesOut::Nothing),
                (Bound::Preemptions, None, 1, LeavesOut::Nothing),
                (Bound::None, None, 0, LeavesOut::Nothing),
                (Bound::Preemptions, Some(2), 0, as_loom),
                (Bound::None, None, 0, as_loom),
            ];
            for (bound, max, price_of_deviation, leaves_out) in searches {
                let options = Options {
                    bound,
                    max,
                    price_of_deviation,
                    reduction: Reduction::Classes,
                    at_first_bug: true,
                    ..Options::default()
                };
                // Where it matters who gives way, it is asked about each step.
                let [at_once, step_by_step] = [Refine::default(), Refine::YIELDS].map(|refine| {
                    let refine = refine.with(Refine::WEAK).with(Refine::RACES);
                    let settings = Settings { refine, ..answer::settings(&config) };
                    let stop = AtomicBool::new(false);
                    let test = Test::new(&body, settings, Loops::default(), &stop).that_leaves_out(leaves_out);
                    let monitor = Monitor { stop: &stop, progress: &|_: &Progress| {} };
                    let found = stateless::search(&test, &options, &monitor, &|_| {});
                    assert!(found.bug.is_none() && found.cut.is_none(), "{found:?}");
                    (found.exhausted, found.levels)
                });
                assert_eq!(at_once, step_by_step, "{seed} {bound:?} {max:?}");
            }
        }
    }

    /// A thread that looks at two atomics until the second one is 2, and keeps what it has seen on its stack, in turns; and
    /// another one that stores.
    struct Keeps {
        stores: Vec<(usize, usize)>,
        does: Vec<Does>,
    }

    #[derive(Clone, Copy)]
    enum Does {
        Loads { atomic: usize, to: usize },
        Exchanges(usize, usize),
        Copies { from: usize, to: usize },
        LeavesIfOver,
    }

    const KEPT: [usize; 5] = [3, 4, 5, 6, 7];

    impl Keeps {
        fn random(seed: u64) -> Keeps {
            let mut dice = fastrand::Rng::with_seed(seed);
            let mut stores: Vec<_> = (0..dice.usize(1..=2)).map(|_| (dice.usize(..2), dice.usize(..2))).collect();
            stores.push((1, 2));
            let mut does: Vec<_> = (0..dice.usize(1..=3))
                .map(|_| match (dice.u8(..5), dice.usize(..5), dice.usize(..5)) {
                    (0, from, to) => Does::Loads { atomic: from % 2, to },
                    (1 | 2, from, to) => Does::Exchanges(from, to),
                    (_, from, to) => Does::Copies { from, to },
                })
                .collect();
            does.insert(dice.usize(..=does.len()), Does::LeavesIfOver);
            Keeps { stores, does }
        }

        /// What the thread has kept in the end.
        fn run(&self) -> [usize; 5] {
            let atomics = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let (theirs, stores) = (atomics.clone(), self.stores.clone());
            let other = thread::spawn(move || {
                stores.into_iter().for_each(|(atomic, value)| theirs[atomic].store(value, Order::SeqCst));
            });
            let mut kept = KEPT;
            'waits: loop {
                for does in &self.does {
                    let kept = std::hint::black_box(&mut kept);
                    match *does {
                        Does::Loads { atomic, to } => kept[to] = atomics[atomic].load(Order::SeqCst),
                        Does::Exchanges(a, b) => kept.swap(a, b),
                        Does::Copies { from, to } => kept[to] = kept[from],
                        Does::LeavesIfOver if atomics[1].load(Order::SeqCst) == 2 => break 'waits,
                        Does::LeavesIfOver => {}
                    }
                }
                thread::yield_now();
            }
            other.join().unwrap();
            kept
        }

        /// All that it can have kept, by a search of all states.
        fn all(&self) -> BTreeSet<[usize; 5]> {
            let (mut ends, mut seen) = (BTreeSet::new(), BTreeSet::new());
            let mut next = vec![(0, 0, [0; 2], KEPT)];
            while let Some(state) = next.pop() {
                if !seen.insert(state) {
                    continue;
                }
                let (stored, at, atomics, mut kept) = state;
                if let Some(&(atomic, value)) = self.stores.get(stored) {
                    let mut atomics = atomics;
                    atomics[atomic] = value;
                    next.push((stored + 1, at, atomics, kept));
                }
                match self.does[at] {
                    Does::Loads { atomic, to } => kept[to] = atomics[atomic],
                    Does::Exchanges(a, b) => kept.swap(a, b),
                    Does::Copies { from, to } => kept[to] = kept[from],
                    Does::LeavesIfOver if atomics[1] == 2 => {
                        ends.insert(kept);
                        continue;
                    }
                    Does::LeavesIfOver => {}
                }
                next.push((stored, (at + 1) % self.does.len(), atomics, kept));
            }
            ends
        }
    }

    /// All that a test ends with where what rounds of loops leave on the stack is ignored.
    fn ends<T: Ord + Send>(reduction: Reduction, test: impl Fn() -> T + Sync) -> BTreeSet<T> {
        let seen = Mutex::new(BTreeSet::new());
        let body = || {
            let end = test();
            if !extend::is_cut() {
                seen.lock().unwrap().insert(end);
            }
        };
        let options = Options { bound: Bound::None, reduction, at_first_bug: true, ..Options::default() };
        let (loops, mut refine) = (Loops::default(), Refine::YIELDS.with(Refine::REMAINS));
        let found = loop {
            let stop = AtomicBool::new(false);
            let settings = Settings { refine, ..answer::settings(&Config::new()) };
            let test = Test::new(&body, settings, loops.clone(), &stop);
            let monitor = Monitor { stop: &stop, progress: &|_: &Progress| {} };
            let found = stateless::search(&test, &options, &monitor, &|_| {});
            let observed = Refine(test.observed.load(Ordering::Relaxed));
            if refine.contains(observed) && !test.astray.load(Ordering::Relaxed) {
                break found;
            }
            refine = refine.with(observed);
        };
        assert!(found.exhausted && found.bug.is_none() && found.cut.is_none(), "{found:?}");
        seen.into_inner().unwrap()
    }

    #[test]
    fn a_loop_finds_all_that_it_can_where_what_rounds_leave_on_the_stack_is_ignored() {
        for seed in 0..40 {
            let mut keeps = Keeps::random(seed);
            if seed == 0 {
                // All of them move in each round, and nothing else happens meanwhile.
                keeps.stores = vec![(1, 2)];
                keeps.does = (1..KEPT.len()).map(|n| Does::Exchanges(n - 1, n)).chain([Does::LeavesIfOver]).collect();
            }
            for reduction in [Reduction::None, Reduction::Classes] {
                assert_eq!(ends(reduction, || keeps.run()), keeps.all(), "{seed} {reduction:?}");
            }
        }
    }

    #[test]
    fn a_round_in_which_time_passes_is_not_the_one_that_began() {
        let test = || {
            let over = Arc::new(AtomicUsize::new(0));
            let theirs = over.clone();
            let other = thread::spawn(move || {
                thread::sleep(Duration::from_millis(1));
                theirs.store(1, Order::SeqCst);
            });
            let start = Instant::now();
            // Longer than others make steps meanwhile, in each of which a round is another one. As numbers, which have no room in them that
            // is not written to: a thread that rotates what was there before comes back to where it was after five rounds.
            let mut last = [0; 5];
            while over.load(Order::SeqCst) == 0 {
                last.rotate_right(1);
                last[0] = (Instant::now() - start).as_millis() as u64;
                thread::yield_now();
            }
            other.join().unwrap();
            last
        };
        for reduction in [Reduction::None, Reduction::Classes] {
            let all = (0..=5).map(|late| std::array::from_fn(|n| u64::from(n < late))).collect();
            assert_eq!(ends(reduction, test), all, "{reduction:?}");
        }
    }
}
