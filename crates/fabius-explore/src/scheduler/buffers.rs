//! Several task buffers: an outer scheduler over buffers, priority levels in each.
//!
//! Paper: Asynchronous Programs with Prioritized Task-Buffers (MSR-TR-2012-1), section 2 (rules ZIELD and SWITCH).
//!
//! Deviations:
//! 1. A buffer that has finished hands over to the others (rule SWITCH); as printed no other buffer ever runs then.
//! 2. So does a buffer whose tasks all wait for something.

use super::{Given, Levels, Queue, View};
use crate::codec;
use crate::system::{BufferId, End, TaskId};
use fabius_trace::SchedulerKind;

/// Task buffers, and which of them may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffers {
    kind: SchedulerKind,
    /// The buffers with tasks, but for a pinned one.
    outer: Queue,
    /// By increasing id; none is empty at a dispatch point.
    lanes: Vec<Lane>,
    /// Only this buffer may go on.
    pinned: Option<BufferId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Lane {
    id: BufferId,
    levels: Levels,
}

/// A task that may be taken, and the buffer that it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The buffer.
    pub buffer: BufferId,
    /// The task.
    pub task: TaskId,
}

/// What may be delayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delayed {
    /// The next buffer.
    Buffer(BufferId),
    /// The next task of the next buffer.
    Task(Pick),
}

/// The buffers as tasks of the outer scheduler.
struct Outer<'a, V>(&'a [Lane], &'a V);

impl<V: View> View for Outer<'_, V> {
    fn ready(&self, buffer: BufferId) -> bool {
        self.0.iter().any(|l| l.id == buffer && l.levels.any_ready(self.1))
    }
}

impl Lane {
    fn new(id: BufferId, kind: SchedulerKind) -> Lane {
        Lane { id, levels: Levels::new(Queue::of_buffer(id, kind)) }
    }
}

impl Buffers {
    /// Nothing is pending.
    pub fn new(kind: SchedulerKind) -> Buffers {
        Buffers { kind, outer: Queue::new(kind), lanes: Vec::new(), pinned: None }
    }

    /// A task is posted.
    pub fn post(&mut self, pick: Pick, level: u8, running: Option<BufferId>, view: &impl View) {
        let at = match self.lanes.binary_search_by_key(&pick.buffer, |l| l.id) {
            Ok(at) => at,
            Err(at) => {
                self.lanes.insert(at, Lane::new(pick.buffer, self.kind));
                if running != Some(pick.buffer) {
                    self.outer.give(pick.buffer, Given::Posted, &Outer(&self.lanes, view));
                }
                at
            }
        };
        self.lanes[at].levels.give(pick.task, level, Given::Posted, view);
    }

    /// Only this buffer may begin: the first active buffer of the paper.
    pub(crate) fn begin_with(&mut self, buffer: BufferId, view: &impl View) {
        if self.buffer_ready(buffer, view) {
            self.take_buffer(buffer, view);
            self.pinned = Some(buffer);
        }
    }

    /// The tasks that [`Buffers::take`] may take.
    pub fn options(&self, view: &impl View, out: &mut Vec<Pick>) {
        let mut buffers = Vec::new();
        self.next_buffers(view, &mut buffers);
        let mut tasks = Vec::new();
        for buffer in buffers {
            self.levels(buffer).options(view, &mut tasks);
            out.extend(tasks.drain(..).map(|task| Pick { buffer, task }));
        }
    }

    /// What may be delayed such that something else may run.
    pub fn delays(&self, view: &impl View, out: &mut Vec<Delayed>) {
        let mut buffers = Vec::new();
        self.next_buffers(view, &mut buffers);
        let mut tasks = Vec::new();
        for buffer in buffers {
            if self.pinned.is_none() && self.outer.len() > 1 {
                out.push(Delayed::Buffer(buffer));
            }
            if self.levels(buffer).can_delay(view) {
                self.levels(buffer).options(view, &mut tasks);
                out.extend(tasks.drain(..).map(|task| Delayed::Task(Pick { buffer, task })));
            }
        }
    }

    /// Takes one of the options; returns its level.
    pub fn take(&mut self, pick: Pick, view: &impl View) -> u8 {
        self.take_buffer(pick.buffer, view);
        self.levels_mut(pick.buffer).take(pick.task, view)
    }

    /// Puts what may be delayed behind the others.
    pub fn delay(&mut self, delayed: Delayed, view: &impl View) {
        match delayed {
            Delayed::Buffer(buffer) => {
                self.take_buffer(buffer, view);
                self.outer.delay(buffer);
            }
            Delayed::Task(pick) => {
                let levels = self.levels_mut(pick.buffer);
                let level = levels.take(pick.task, view);
                levels.delay(pick.task, level);
            }
        }
        self.settle(view);
    }

    /// The task that was taken gives control back.
    pub fn give_back(&mut self, pick: Pick, level: u8, end: End, view: &impl View) {
        let levels = self.levels_mut(pick.buffer);
        match end {
            End::Point | End::Interrupted => levels.interrupt(pick.task, level),
            End::Yield | End::Wait => levels.give(pick.task, level, Given::Yielded, view),
            End::Finished | End::Dropped => {}
        }
        let stays = matches!(end, End::Yield | End::Interrupted | End::Finished) && !levels.is_empty();
        if stays {
            self.pinned = Some(pick.buffer);
        } else if levels.is_empty() {
            self.lanes.retain(|l| l.id != pick.buffer);
        } else {
            self.outer.give(pick.buffer, Given::Yielded, &Outer(&self.lanes, view));
        }
        self.settle(view);
    }

    /// Whether some task can go on.
    pub fn any_ready(&self, view: &impl View) -> bool {
        self.lanes.iter().any(|l| l.levels.any_ready(view))
    }

    /// Whether some task of the buffer can go on.
    pub fn buffer_ready(&self, buffer: BufferId, view: &impl View) -> bool {
        Outer(&self.lanes, view).ready(buffer)
    }

    /// The buffers that could go on if none kept control.
    pub fn ready_buffers(&self, view: &impl View, out: &mut Vec<BufferId>) {
        let mut tasks = Vec::new();
        for lane in &self.lanes {
            tasks.clear();
            lane.levels.options(view, &mut tasks);
            if tasks.iter().any(|task| view.ready(*task)) {
                out.push(lane.id);
            }
        }
    }

    /// Whether the buffer has tasks.
    pub fn contains(&self, buffer: BufferId) -> bool {
        self.lanes.iter().any(|l| l.id == buffer)
    }

    /// Whether no task is left.
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Appends all tasks, in an order that depends on the value alone.
    pub fn tasks(&self, out: &mut Vec<TaskId>) {
        self.lanes.iter().for_each(|l| l.levels.tasks(out));
    }

    /// Makes values equal that behave alike; called whenever the next thing is a dispatch or a delay.
    pub(crate) fn settle(&mut self, view: &impl View) {
        if let Some(buffer) = self.pinned
            && !self.buffer_ready(buffer, view)
        {
            self.pinned = None;
            self.outer.give(buffer, Given::Yielded, &Outer(&self.lanes, view));
        }
        if self.pinned.is_none() {
            self.outer.settle();
        }
        self.lanes.iter_mut().for_each(|l| l.levels.settle());
    }

    fn next_buffers(&self, view: &impl View, out: &mut Vec<BufferId>) {
        match self.pinned {
            Some(buffer) => out.push(buffer),
            None => self.outer.options(&Outer(&self.lanes, view), out),
        }
    }

    fn take_buffer(&mut self, buffer: BufferId, view: &impl View) {
        match self.pinned.take() {
            Some(pinned) => debug_assert_eq!(pinned, buffer, "only the pinned buffer may go on"),
            None => self.outer.take(buffer, &Outer(&self.lanes, view)),
        }
    }

    fn levels(&self, buffer: BufferId) -> &Levels {
        &self.lanes.iter().find(|l| l.id == buffer).expect("a pending buffer has a lane").levels
    }

    fn levels_mut(&mut self, buffer: BufferId) -> &mut Levels {
        &mut self.lanes.iter_mut().find(|l| l.id == buffer).expect("a pending buffer has a lane").levels
    }

    pub(crate) fn sort(&mut self, view: &impl View) {
        self.lanes.iter_mut().for_each(|l| l.levels.sort(view));
    }

    pub(crate) fn rename(&mut self, rename: &mut impl FnMut(&mut TaskId)) {
        self.lanes.iter_mut().for_each(|l| l.levels.rename(rename));
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        codec::put(self.pinned.map_or(0, |b| u64::from(b) + 1), out);
        self.outer.encode(out);
        codec::put(self.lanes.len() as u64, out);
        for lane in &self.lanes {
            codec::put(u64::from(lane.id), out);
            lane.levels.encode(out);
        }
    }

    pub(crate) fn decode(&mut self, bytes: &mut &[u8]) {
        self.pinned = codec::get(bytes).checked_sub(1).map(|b| b as BufferId);
        self.outer.decode(bytes);
        let count = codec::get(bytes) as usize;
        self.lanes.resize_with(count, || Lane::new(0, self.kind));
        for lane in &mut self.lanes {
            let id = codec::get(bytes) as BufferId;
            if id != lane.id {
                *lane = Lane::new(id, self.kind);
            }
            lane.levels.decode(bytes);
        }
    }
}
