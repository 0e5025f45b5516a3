//! Executions without an end: a livelock that is proven, and one that is given up after so many steps.
//!
//! Paper: Fair Stateless Model Checking (PLDI 2008), section 2: an infinite execution that is fair is a bug.
//!
//! Where all threads that can go on only repeat themselves (`repetition.rs`, 6), they go on in turn, and operations find the newest
//! stores. When everything is as it was when that began, and whoever could go on in between has made a step, all that can be done is
//! done again and again: a fair execution that does not end.
//!
//! Deviations:
//! 1. There the execution ends, after as many steps as are needed to show it.
//! 2. Loops that read the clock of the machine are only taken to repeat themselves. They, and loops that cannot be seen through, go
//!    on until an execution may have no more steps.
//! 3. Who sleeps, or waits with a limit of time, wakes in every fair execution, and until then nobody can say that there is no end. So
//!    where others have used up all steps but do not only repeat themselves, time passes, and the execution may have as many again.

use super::{LeftOut, RECENT, Refine, Rt};
use fabius_trace::BugKind;
use std::collections::BTreeSet;
use std::panic::Location;

/// Steps in which all only repeat themselves, so far.
#[derive(Debug, Default)]
pub(super) struct Circle {
    /// The state that it begins with.
    state: u64,
    /// How often it has come round without all who could go on.
    times: usize,
    /// Who could go on in it, and who has made a step.
    could: BTreeSet<usize>,
    went: BTreeSet<usize>,
    places: Places,
}

/// How many steps an execution may have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    /// So many at all.
    pub most: u32,
    /// And so many before time passes for those who sleep.
    pub sleeps: u32,
}

/// Time passes again after such a part of all steps; in other executions also for the first time, where a loop has gone on for
/// as long as one may last.
const PARTS: u32 = 16;

/// The same in an execution that need not go on, and is only brought to its end.
const HURRIES: u32 = 100;

/// Who did something where.
pub(super) type Places = BTreeSet<(usize, &'static str, u32, u32)>;

impl Rt {
    /// A thread goes on though it only repeats itself, as all do who can go on. If they have come round, they go round for ever.
    pub(super) fn begins_or_ends_circle(&mut self, id: usize) {
        let state = self.states.state(self.now);
        match self.circle.take().filter(|circle| circle.state == state) {
            _ if self.states.reads_clock => {}
            Some(circle) if circle.could.is_subset(&circle.went) => {
                let places = named(&circle.places);
                let message = format!("livelock: for ever the same under a fair scheduler: {places}");
                self.fails_without_end(message, &circle.places);
            }
            Some(mut circle) => {
                circle.times += 1;
                // All who repeat themselves have had their turn by then. Somebody else could go on in between, as where a lock is free
                // for a moment, and was left behind.
                if circle.times > 2 * self.threads.len() {
                    self.fair.yields(id);
                }
                self.circle = Some(circle);
            }
            None => self.circle = Some(Circle { state, ..Circle::default() }),
        }
    }

    /// A thread makes a step of a circle.
    #[cold]
    pub(super) fn goes_along_circle(&mut self, id: usize) {
        let Some(mut circle) = self.circle.take() else { return };
        circle.could.extend((0..self.threads.len()).filter(|other| self.can_go_on(*other)));
        circle.went.insert(id);
        circle.places.extend(self.place_of(id));
        self.circle = Some(circle);
    }

    /// How many steps the execution that begins may have.
    pub(super) fn has_patience(&mut self) {
        let most = self.settings.max_steps;
        let sleeps = if self.hurries {
            self.steps.saturating_add(HURRIES)
        } else if self.loops.outlasts_sleep() {
            most / PARTS
        } else {
            most
        };
        self.patience = Patience { most, sleeps };
    }

    /// The execution has many steps: so many that it may have no more, or that time passes.
    #[cold]
    pub(super) fn seems_endless(&mut self, id: usize) {
        if self.steps + RECENT > self.patience.most {
            self.recent.extend(self.place_of(id));
        }
        if self.steps >= self.patience.sleeps {
            self.lets_time_pass();
        }
        if self.steps < self.patience.most {
            return;
        }
        let places = std::mem::take(&mut self.recent);
        let (most, said) = (self.patience.most, named(&places));
        let message = if self.settings.refine.contains(Refine::YIELDS) {
            format!("livelock: more than {most} steps under a fair scheduler; in the last {RECENT}: {said}")
        } else {
            format!(
                "no end after {most} steps; in the last {RECENT}: {said}. If a loop waits for another thread, call \
                 `hint::spin_loop` or `thread::yield_now` of this library in it, so that the scheduler is fair; if the test \
                 is only long, raise the limit (`max_steps` of `Config`, `max_branches` of loom's `Builder`)"
            )
        };
        self.fails_without_end(message, &places);
    }

    /// Somebody who sleeps wakes while others go on: see 3.
    fn lets_time_pass(&mut self) {
        let most = self.settings.max_steps;
        let next = if self.hurries { HURRIES } else { most / PARTS + 1 };
        self.patience.sleeps = self.steps.saturating_add(next);
        let Some(deadline) = self.next_deadline().filter(|_| self.settings.refine.contains(Refine::YIELDS)) else {
            return;
        };
        self.time_is(deadline);
        self.recent.clear();
        self.patience.most = most.saturating_mul(2);
        self.left_out.set(self.threads[self.current].op().map(|op| LeftOut::Time(op.at)));
        // From then on it need not take as long.
        if !self.settings.record && !self.hurries && self.loops.has_outlasted_sleep() {
            self.begins_anew();
        }
    }

    fn fails_without_end(&mut self, message: String, places: &Places) {
        let place = places.iter().find(|(thread, ..)| *thread == self.current);
        let place = place.map(|(_, file, line, column)| (file.to_string(), *line, *column));
        self.fail_at(BugKind::Livelock, message, place);
    }

    fn place_of(&self, id: usize) -> Option<(usize, &'static str, u32, u32)> {
        let at: &'static Location<'static> = self.threads[id].op()?.at;
        Some((id, at.file(), at.line(), at.column()))
    }
}

fn named(places: &Places) -> String {
    let place = |(thread, file, line, _): &(usize, &str, u32, u32)| format!("thread {thread} at {file}:{line}");
    let mut all: Vec<String> = places.iter().map(place).collect();
    // Several operations of one line.
    all.dedup();
    all.join(", ")
}
