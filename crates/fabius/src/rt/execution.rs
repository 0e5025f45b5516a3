//! An execution from its beginning to its end, step by step.

use super::again::Decision;
use super::fiber::Outside;
use super::memory::FENCES;
use super::panics::forget_panics;
use super::watch::Watched;
use super::{
    Beginning, Job, Loops, RECENT, Refine, Rt, SPARE, Settings, abandoned, count, inside, object, resume_from, run,
    spawn, takes_back, usual_stack,
};
use fabius_explore::system::Choose;
use std::panic::Location;

/// An execution that owns its memory, and by whom its steps are watched.
pub(crate) struct Execution(*mut Rt, &'static Watched);

impl Execution {
    /// The state before the first step of `body`.
    pub fn begin(
        settings: Settings,
        loops: &Loops,
        want_accesses: bool,
        choose: &mut dyn Choose,
        body: Job<'_>,
    ) -> Execution {
        let mut rt = SPARE.with(|spare| spare.borrow_mut().pop()).unwrap_or_default();
        rt.epoch = object::next_epoch();
        object::begins();
        count::look_for();
        forget_panics();
        rt.settings = settings;
        rt.clocks.deviates = settings.refine.contains(Refine::WEAK);
        if rt.clocks.deviates {
            rt.objects = FENCES;
        }
        rt.clocks.explains = settings.record;
        if !rt.loops.is(loops) {
            rt.loops.clone_from(loops);
        }
        rt.decisions = rt.loops.search();
        rt.has_patience();
        rt.want_accesses = want_accesses;
        let rt = Box::into_raw(rt);
        let watched = Watched::mine(settings.deadline);
        inside(rt, choose, || {
            watched.begins(None);
            spawn(Beginning { job: body, name: None, stack: usual_stack(), at: Location::caller() });
            watched.ends();
        });
        let mut this = Execution(rt, watched);
        this.get_mut().pass_time();
        this
    }

    #[inline]
    pub fn get(&self) -> &Rt {
        // SAFETY: no thread of the execution runs.
        unsafe { &*self.0 }
    }

    #[inline]
    pub fn get_mut(&mut self) -> &mut Rt {
        // SAFETY: no thread of the execution runs.
        unsafe { &mut *self.0 }
    }

    /// A step of the thread, which is ready.
    pub fn step(&mut self, id: usize, choose: &mut dyn Choose, want_accesses: bool) {
        let rt = self.get_mut();
        rt.want_accesses = want_accesses;
        if want_accesses {
            rt.ahead.steps = 0;
        }
        rt.accesses.clear();
        rt.born.clear();
        rt.current = id;
        rt.has_tried = false;
        rt.steps += 1;
        rt.decides(Decision::Runs(id));
        let thread = &rt.threads[id];
        let at = thread.op().map(|op| op.at);
        if thread.gave_way {
            rt.goes_on(id);
        }
        if rt.circle.is_some() {
            rt.goes_along_circle(id);
        }
        if rt.steps + RECENT > rt.patience.sleeps.min(rt.patience.most) {
            rt.seems_endless(id);
        }
        if rt.fair.is_watching() {
            let mut fair = std::mem::take(&mut rt.fair);
            fair.before(rt, id);
            rt.fair = fair;
        }
        let (rt, watched) = (self.0, self.1);
        // SAFETY: no reference is held.
        inside(rt, choose, || unsafe {
            watched.begins(at);
            let here = Outside::here();
            let mut runs = id;
            loop {
                resume_from(rt, runs, &here);
                // Who has left the next step to another one has not finished.
                if !(&mut *rt).hands_on() {
                    takes_back(rt, runs);
                    if !(&mut *rt).goes_on_behind_an_end() {
                        break;
                    }
                }
                runs = (*rt).current;
            }
            watched.ends();
        });
        let rt = self.get_mut();
        if rt.fair.is_watching() {
            let mut fair = std::mem::take(&mut rt.fair);
            fair.after(rt, id);
            rt.fair = fair;
        }
        rt.pass_time();
    }
}

/// Steps that an execution may have after it was given up.
const LAST_STEPS: u32 = 10_000;

impl Execution {
    /// An execution that need not go on runs to its end without a preemption, so that what it owns is dropped as in any
    /// other.
    fn run_out(&mut self) {
        let rt = self.get_mut();
        rt.settings.record = false;
        // Nobody asks any more what it could have found, or what races, nor looks at what it sees then.
        rt.settings.refine = rt.settings.refine.without(Refine::WEAK.with(Refine::RACES));
        rt.settings.deviations = 0;
        rt.settings.max_steps = u32::MAX;
        rt.hurries = true;
        rt.has_patience();
        for _ in 0..LAST_STEPS {
            let rt = self.get();
            let threads = rt.threads.len();
            let next = (0..threads).map(|i| (rt.current + i) % threads).find(|id| rt.ready(*id));
            let Some(next) = next.filter(|_| !rt.is_given_up()) else { return };
            self.step(next, &mut First, false);
        }
    }

    /// Unwinds what has not finished.
    fn unwind(&mut self) {
        let rt = self.0;
        self.get_mut().abandoned = true;
        inside(rt, &mut First, || {
            // SAFETY: no reference is held while a thread runs.
            unsafe {
                for id in 0..(&*rt).threads.len() {
                    if !(&*rt).threads[id].finished {
                        (*rt).current = id;
                        run(rt, id);
                    }
                }
            }
        });
    }
}

impl Drop for Execution {
    /// Ends the execution, and keeps the memory for the next one. Threads that cannot end, because the execution has
    /// failed or waits for ever, are not unwound: their destructors might fail as well, which would end the process.
    /// Their stacks are kept as long as anything refers to them; what is owned from there is leaked. But locks that others use after it, which would
    /// be held for ever, are given back by unwinding.
    fn drop(&mut self) {
        let rt = self.get();
        match (rt.is_over(), rt.is_given_up()) {
            (true, _) => {}
            (false, true) if rt.must_give_back() => self.unwind(),
            (false, true) => {}
            (false, false) if rt.settings.unwinds => self.unwind(),
            (false, false) => {
                self.run_out();
                if self.get().must_give_back() && !self.get().is_over() {
                    self.unwind();
                }
            }
        }
        self.get_mut().statics.clear();
        // SAFETY: it was made from a box, and nobody refers to it.
        let mut rt = unsafe { Box::from_raw(self.0) };
        object::is_over();
        let mut given_up = Vec::new();
        for thread in &mut rt.threads {
            std::mem::forget(std::mem::take(&mut thread.locals));
            let lowest = if thread.op.is_null() { 0 } else { thread.lowest };
            given_up.extend(thread.fiber.take().map(|fiber| (fiber, lowest)));
        }
        if !given_up.is_empty() {
            abandoned::keep(given_up);
        }
        rt.reset();
        SPARE.with(|spare| spare.borrow_mut().push(rt));
    }
}

/// Always takes the first alternative.
struct First;

impl Choose for First {
    fn choose(&mut self, _: u32) -> u32 {
        0
    }
}
