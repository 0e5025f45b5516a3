//! Threads that only wait, in loops: by its own steps alone one comes back to where it was. To switch away from it is no
//! preemption anywhere on that circle ([`Program::circles_give_way`](fabius_lang::program::Program::circles_give_way)).
//!
//! Whether a state is on such a circle is found out by making the thread's next steps on a copy. They go further than the longest
//! circle that counts, so that the states they pass are known, too: whoever goes on in a loop asks once in so many steps.

use crate::code::{Code, Instr};
use crate::state::State;
use fabius_explore::system::{Choose, End, StepLog, System, TaskId};
use fabius_lang::program::CIRCLE;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

/// So many states are known at once.
const MOST_KNOWN: usize = 1 << 16;

/// Where circles may be, and what is known of states.
#[derive(Debug)]
pub(crate) struct Circles {
    /// By program counter, whether it is in a loop.
    in_loop: Vec<bool>,
    /// By a number of the state and the thread, whether the state is on a circle of the thread.
    known: Mutex<HashMap<u64, bool>>,
}

/// Sees whether something is chosen.
#[derive(Default)]
struct Once {
    chose: bool,
}

impl Choose for Once {
    fn choose(&mut self, _: u32) -> u32 {
        self.chose = true;
        0
    }
}

impl Circles {
    pub(crate) fn of(code: &Code) -> Circles {
        let mut in_loop = vec![false; code.instrs.len()];
        for (pc, instr) in code.instrs.iter().enumerate() {
            if let Instr::Jump { to } | Instr::Loop { to, .. } = instr
                && *to as usize <= pc
            {
                in_loop[*to as usize..=pc].fill(true);
            }
        }
        Circles { in_loop, known: Mutex::default() }
    }

    /// Whether the thread comes back to this state by its own steps.
    pub(crate) fn has(&self, system: &impl System<State = State>, code: &Code, state: &State, task: TaskId) -> bool {
        if !self.may_have(code, state, task) {
            return false;
        }
        let number = number(state, task);
        if let Some(known) = self.known.lock().unwrap_or_else(|e| e.into_inner()).get(&number) {
            return *known;
        }
        let (states, circle) = ahead(system, code, state, task);
        // Behind these it is not known what comes.
        let settled = if circle.is_some() || states.len() <= 2 * CIRCLE { states.len() } else { states.len() - CIRCLE };
        let is_on = |at: usize| circle.is_some_and(|from| at >= from && states.len() - from <= CIRCLE);
        let mut known = self.known.lock().unwrap_or_else(|e| e.into_inner());
        if known.len() + settled > MOST_KNOWN {
            known.clear();
        }
        known.extend(states[..settled].iter().enumerate().map(|(at, state)| (self::number(state, task), is_on(at))));
        is_on(0)
    }

    /// Whether the thread stands in a loop, in one of its procedures.
    fn may_have(&self, code: &Code, state: &State, task: TaskId) -> bool {
        let Some(index) = state.index(task) else { return false };
        let task = &state.tasks[index];
        let calls = state.frames(task).filter_map(|(_, site, _)| code.sites.get(site?).map(|site| site.back as usize));
        std::iter::once(task.pc as usize).chain(calls).any(|pc| self.in_loop[pc])
    }
}

/// The states that the thread passes by itself, this one first, until it gives way, chooses, has to wait or comes to one of them
/// again: to which.
fn ahead(system: &impl System<State = State>, code: &Code, state: &State, task: TaskId) -> (Vec<State>, Option<usize>) {
    let mut states = vec![state.clone()];
    let mut log = StepLog::default();
    while states.len() <= 2 * CIRCLE {
        let mut next = states[states.len() - 1].clone();
        if !system.ready(&next, task) {
            break;
        }
        let mut once = Once::default();
        log.clear();
        let end = system.step(&mut next, task, &mut once, &mut log);
        if once.chose || end != Ok(End::Point) || is_at_yield(code, &next, task) {
            break;
        }
        if let Some(at) = states.iter().position(|known| known.is_same(&next)) {
            return (states, Some(at));
        }
        states.push(next);
    }
    (states, None)
}

/// Whether the thread gives way where it is.
pub(crate) fn is_at_yield(code: &Code, state: &State, task: TaskId) -> bool {
    let at = state.index(task).map(|index| state.tasks[index].pc as usize);
    at.is_some_and(|pc| matches!(code.instrs[pc], Instr::Zield))
}

fn number(state: &State, task: TaskId) -> u64 {
    let mut hasher = DefaultHasher::new();
    task.hash(&mut hasher);
    state.hash_into(&mut hasher);
    hasher.finish()
}
