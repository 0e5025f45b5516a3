//! Priority levels over a base scheduler or a queue: a task runs only while none of a higher level is pending on its buffer.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), section 2 (rules DISPATCH and RESUME).
//!
//! Deviations:
//! 1. The level of the *remaining* tasks in the side condition of DISPATCH is compared with the level of the task that is
//!    dispatched, not of the one that is interrupted: as printed, the last pending task above level 0 never runs.
//! 2. An interrupted task that stands in front of a false `await` counts as if it had yielded.

use super::{Given, Queue, View};
use crate::codec;
use crate::system::TaskId;

/// The tasks of one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// A level without tasks.
    empty: Queue,
    /// Lowest first; the highest is not empty.
    levels: Vec<Level>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Level {
    queue: Queue,
    /// It was running, and is above all pending ones of its level.
    interrupted: Option<TaskId>,
}

impl Levels {
    /// Nothing is pending; levels begin as this empty queue.
    pub fn new(empty: Queue) -> Levels {
        Levels { empty, levels: Vec::new() }
    }

    /// A task is posted, or has yielded.
    pub fn give(&mut self, task: TaskId, level: u8, given: Given, view: &impl View) {
        self.level(level).queue.give(task, given, view);
    }

    /// A task is interrupted: by one of a higher level, or because another buffer may go on.
    pub fn interrupt(&mut self, task: TaskId, level: u8) {
        let slot = &mut self.level(level).interrupted;
        debug_assert!(slot.is_none(), "at most one task of a level is interrupted");
        *slot = Some(task);
    }

    /// The tasks that [`Levels::take`] may take.
    pub fn options(&self, view: &impl View, out: &mut Vec<TaskId>) {
        let Some(level) = self.levels.last() else { return };
        match level.interrupted {
            Some(task) if view.ready(task) => out.push(task),
            Some(task) => level.with_yielded(task, view).options(view, out),
            None => level.queue.options(view, out),
        }
    }

    /// Takes one of the options; returns its level.
    pub fn take(&mut self, task: TaskId, view: &impl View) -> u8 {
        let level = self.levels.last_mut().expect("there is an option");
        match level.interrupted {
            Some(t) if t == task => level.interrupted = None,
            Some(t) => {
                level.queue = level.with_yielded(t, view);
                level.interrupted = None;
                level.queue.take(task, view);
            }
            None => level.queue.take(task, view),
        }
        let number = self.levels.len() - 1;
        self.trim();
        number as u8
    }

    /// Puts back a task that was just taken, behind the others of its level.
    pub fn delay(&mut self, task: TaskId, level: u8) {
        self.level(level).queue.delay(task);
    }

    /// Whether delaying the next task would let another one run.
    pub fn can_delay(&self, view: &impl View) -> bool {
        self.levels.last().is_some_and(|l| match l.interrupted {
            Some(t) => !view.ready(t) && l.with_yielded(t, view).can_delay(),
            None => l.queue.can_delay(),
        })
    }

    /// Whether some task can go on.
    pub fn any_ready(&self, view: &impl View) -> bool {
        let ready = |l: &Level| l.interrupted.is_some_and(|t| view.ready(t)) || l.queue.any_ready(view);
        self.levels.last().is_some_and(ready)
    }

    /// Whether nothing is pending or interrupted.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// Appends all tasks, in an order that depends on the value alone.
    pub fn tasks(&self, out: &mut Vec<TaskId>) {
        for level in &self.levels {
            out.extend(level.interrupted);
            level.queue.pending(out);
        }
    }

    pub(crate) fn sort(&mut self, view: &impl View) {
        self.levels.iter_mut().for_each(|l| l.queue.sort(view));
    }

    pub(crate) fn rename(&mut self, rename: &mut impl FnMut(&mut TaskId)) {
        for level in &mut self.levels {
            level.interrupted.iter_mut().for_each(&mut *rename);
            level.queue.rename(&mut *rename);
        }
    }

    /// Makes values equal that behave alike. Only the queue that is taken from next: to the others, and to this one if
    /// an interrupted task goes on first, something may be given before.
    pub(crate) fn settle(&mut self) {
        if let Some(level) = self.levels.last_mut().filter(|l| l.interrupted.is_none()) {
            level.queue.settle();
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        codec::put(self.levels.len() as u64, out);
        for level in &self.levels {
            codec::put(level.interrupted.map_or(0, |t| u64::from(t.rotate_left(1)) + 1), out);
            level.queue.encode(out);
        }
    }

    pub(crate) fn decode(&mut self, bytes: &mut &[u8]) {
        let count = codec::get(bytes) as usize;
        self.levels.resize_with(count, || Level { queue: self.empty.clone(), interrupted: None });
        for level in &mut self.levels {
            level.interrupted = codec::get(bytes).checked_sub(1).map(|t| (t as TaskId).rotate_right(1));
            level.queue.decode(bytes);
        }
    }

    fn level(&mut self, level: u8) -> &mut Level {
        while self.levels.len() <= usize::from(level) {
            self.levels.push(Level { queue: self.empty.clone(), interrupted: None });
        }
        &mut self.levels[usize::from(level)]
    }

    /// Drops empty levels at the top, so that the highest has tasks.
    fn trim(&mut self) {
        while self.levels.last().is_some_and(|l| l.interrupted.is_none() && l.queue.is_empty()) {
            self.levels.pop();
        }
    }
}

impl Level {
    fn with_yielded(&self, task: TaskId, view: &impl View) -> Queue {
        let mut queue = self.queue.clone();
        queue.give(task, Given::Yielded, view);
        queue
    }
}
