//! A schedule that shows a bug of so many contexts: with stacks whose height is bounded, by more and more.
//!
//! The stacks are whole here, so that there are finitely many states if the data is finite. Somewhere the height is enough, because
//! [`super::contexts`] has found an execution.

use super::steps::{Control, Move, Next, Phase, Steps, Symbol};
use fabius_explore::system::{Fault, TaskId};
use fabius_smt::Limits;
use fabius_trace::{Schedule, Turn};
use std::collections::HashSet;
use std::rc::Rc;

/// States that are looked at.
const MOST: usize = 1_000_000;

/// The control state, the stack of each thread (its top last), and who runs in this context.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Whole {
    control: Control,
    stacks: Vec<Vec<Symbol>>,
    runs: Option<TaskId>,
}

/// How a state was come to.
struct Come {
    whole: Rc<Whole>,
    from: usize,
    /// Whose turn begins here.
    begins: Option<TaskId>,
    choices: Vec<u32>,
}

/// A schedule of so many contexts that ends in a bug, if there is one within the limits.
pub fn shown(steps: &mut Steps<'_>, contexts: u32, deadlock: bool, limits: &Limits<'_>) -> Option<Schedule> {
    let mut height = 2;
    let mut left = MOST;
    loop {
        let mut search = Search { come: Vec::new(), known: HashSet::new(), height, is_cut: false };
        if let Some(schedule) = search.run(steps, contexts, deadlock, limits, &mut left)? {
            return Some(schedule);
        }
        if !search.is_cut {
            return None;
        }
        height *= 2;
    }
}

struct Search {
    come: Vec<Come>,
    known: HashSet<Rc<Whole>>,
    height: usize,
    /// Whether some stack is higher.
    is_cut: bool,
}

impl Search {
    /// `None` if a limit is hit.
    fn run(
        &mut self,
        steps: &mut Steps<'_>,
        contexts: u32,
        deadlock: bool,
        limits: &Limits<'_>,
        left: &mut usize,
    ) -> Option<Option<Schedule>> {
        let (control, born) = steps.first();
        let mut stacks = Vec::new();
        begin(&mut stacks, &born);
        self.add(Whole { control, stacks, runs: None }, 0, None, Vec::new());
        let (mut at, mut later) = (0, Vec::new());
        for context in 0..=contexts {
            for (new, from, thread) in std::mem::take(&mut later) {
                self.add(new, from, Some(thread), Vec::new());
            }
            while let Some(whole) = self.come.get(at).map(|come| Rc::clone(&come.whole)) {
                *left = left.checked_sub(1)?;
                if steps.is_full() {
                    return None;
                }
                if left.is_multiple_of(1024) && limits.are_hit() {
                    return None;
                }
                let last = match steps.phase(whole.control) {
                    Phase::Step(thread, _) | Phase::Prefix(thread) => self.go(steps, &whole, thread, at),
                    Phase::Rest => {
                        let ready = ready(steps, &whole);
                        for thread in &ready {
                            let control = steps.begun(whole.control, *thread);
                            let new = Whole { control, runs: Some(*thread), ..(*whole).clone() };
                            if Some(*thread) == whole.runs {
                                self.add(new, at, Some(*thread), Vec::new());
                            } else if context < contexts {
                                later.push((new, at, *thread));
                            }
                        }
                        let is_over = steps.alive(whole.control).next().is_none();
                        (deadlock && ready.is_empty() && !is_over).then(Vec::new)
                    }
                };
                if let Some(last) = last {
                    return Some(Some(self.schedule(steps, at, last)));
                }
                at += 1;
            }
        }
        Some(None)
    }

    /// Adds what the running thread does; the choices of a bug, if there is one.
    fn go(&mut self, steps: &mut Steps<'_>, whole: &Whole, thread: TaskId, from: usize) -> Option<Vec<u32>> {
        let stack = &whole.stacks[thread as usize];
        let (top, beneath) = stack.split_last().expect("it has not finished");
        let (all, kept) = match steps.step(whole.control, *top) {
            Move::Goes(all) => (all, beneath),
            Move::Returns => {
                let caller = beneath.last().copied();
                (steps.back(whole.control, *top, caller), &beneath[..beneath.len().saturating_sub(1)])
            }
        };
        for next in all.iter() {
            match next {
                Next::Fault(Fault::Limit(..), _) => {}
                Next::Fault(Fault::Bug(..), choices) => return Some(choices.clone()),
                Next::Goes { control, frames, born, choices } => {
                    let mut stacks = whole.stacks.clone();
                    stacks[thread as usize] = kept.iter().chain(frames).copied().collect();
                    if stacks[thread as usize].len() > self.height {
                        self.is_cut = true;
                        continue;
                    }
                    begin(&mut stacks, born);
                    self.add(Whole { control: *control, stacks, runs: whole.runs }, from, None, choices.clone());
                }
            }
        }
        None
    }

    fn add(&mut self, whole: Whole, from: usize, begins: Option<TaskId>, choices: Vec<u32>) {
        let whole = Rc::new(whole);
        if self.known.insert(Rc::clone(&whole)) {
            self.come.push(Come { whole, from, begins, choices });
        }
    }

    /// The turns that lead to a state, and the choices of the last one behind it.
    fn schedule(&self, steps: &Steps<'_>, mut at: usize, last: Vec<u32>) -> Schedule {
        let mut way = Vec::new();
        // Threads have numbers in the order of their creation, but for those that have finished in the same step.
        let mut numbered: Vec<TaskId> = Vec::new();
        while at != 0 {
            way.push(&self.come[at]);
            at = self.come[at].from;
        }
        let mut turns = vec![Turn { task: Turn::START, choices: Vec::new() }];
        for come in way.into_iter().rev() {
            if let Some(thread) = come.begins {
                let task = numbered.iter().position(|n| *n == thread).expect("it was there at rest") as u32;
                turns.push(Turn { task, choices: Vec::new() });
            }
            turns.last_mut().expect("there is one").choices.extend(&come.choices);
            if steps.phase(come.whole.control) == Phase::Rest {
                let new = steps.alive(come.whole.control).filter(|thread| !numbered.contains(thread));
                numbered.extend(new.collect::<Vec<_>>());
            }
        }
        turns.last_mut().expect("there is one").choices.extend(last);
        turns.retain(|turn| turn.task != Turn::START || !turn.choices.is_empty());
        turns
    }
}

/// The threads that may go on.
fn ready(steps: &mut Steps<'_>, whole: &Whole) -> Vec<TaskId> {
    let top = |thread: TaskId| *whole.stacks[thread as usize].last().expect("it has not finished");
    steps.alive(whole.control).filter(|thread| steps.is_ready(whole.control, *thread, top(*thread))).collect()
}

/// New threads, each with its only frame.
fn begin(stacks: &mut Vec<Vec<Symbol>>, born: &[(TaskId, Symbol)]) {
    for (thread, top) in born {
        stacks.resize(stacks.len().max(*thread as usize + 1), Vec::new());
        stacks[*thread as usize] = vec![*top];
    }
}
