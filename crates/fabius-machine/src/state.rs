//! The state: words in a row, and a head for each task that says where its words are.

use crate::compile::Compiled;
use fabius_explore::system::{ANONYMOUS, BufferId, TaskId};
use std::hash::{Hash, Hasher};

/// Words in front of the locals of a frame: its procedure, the call site that made it (-1: none), and how many words
/// before this frame's locals those of the caller begin.
pub(crate) const HEADER: usize = 3;

/// A state of a program.
#[derive(Debug, Default)]
pub struct State {
    /// Shared globals, then the frames of the tasks, in the order of `tasks`.
    pub(crate) words: Vec<i64>,
    /// Unfinished tasks by increasing id.
    pub(crate) tasks: Vec<Task>,
    /// Per-thread variables by buffer; empty if the program has none.
    pub(crate) own: Vec<(BufferId, Vec<i64>)>,
    /// Heap objects by increasing number.
    pub(crate) heap: Vec<Object>,
    /// Finished tasks of which handles are left.
    pub(crate) finished: Vec<TaskId>,
    /// Whether buffers and processes have started.
    pub(crate) started: bool,
    /// Temporaries of the interpreter, kept only to be used again.
    pub(crate) scratch: Vec<i64>,
}

/// A task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) id: TaskId,
    pub(crate) buffer: BufferId,
    pub(crate) level: u8,
    /// Running or interrupted; otherwise pending.
    pub(crate) on_stack: bool,
    pub(crate) pc: u32,
    /// Its words, and where the locals of the running procedure begin.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) frame: u32,
    /// Active procedures.
    pub(crate) depth: u32,
}

/// A heap object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) number: u32,
    pub(crate) record: u32,
    pub(crate) words: Vec<i64>,
}

impl Clone for State {
    fn clone(&self) -> State {
        State {
            words: self.words.clone(),
            tasks: self.tasks.clone(),
            own: self.own.clone(),
            heap: self.heap.clone(),
            finished: self.finished.clone(),
            started: self.started,
            scratch: Vec::new(),
        }
    }

    fn clone_from(&mut self, from: &State) {
        self.words.clone_from(&from.words);
        self.tasks.clone_from(&from.tasks);
        self.own.clone_from(&from.own);
        self.heap.clone_from(&from.heap);
        self.finished.clone_from(&from.finished);
        self.started = from.started;
    }
}

impl State {
    /// Whether it is the same state.
    pub(crate) fn is_same(&self, other: &State) -> bool {
        let parts = |s: &State| (s.started, s.words.len(), s.tasks.len());
        parts(self) == parts(other)
            && self.words == other.words
            && self.tasks == other.tasks
            && self.own == other.own
            && self.heap == other.heap
            && self.finished == other.finished
    }

    /// States that are not the same have other numbers, as good as always.
    pub(crate) fn hash_into(&self, hasher: &mut impl Hasher) {
        (&self.words, &self.own, &self.finished, self.started).hash(hasher);
        self.tasks.iter().for_each(|task| (task.id, task.pc, task.frame, task.on_stack).hash(hasher));
        self.heap.iter().for_each(|object| (object.number, object.record, &object.words).hash(hasher));
    }

    /// Index of an unfinished task.
    pub(crate) fn index(&self, id: TaskId) -> Option<usize> {
        match self.tasks.get(id as usize) {
            Some(t) if t.id == id => Some(id as usize),
            _ => self.tasks.binary_search_by_key(&id, |t| t.id).ok(),
        }
    }

    /// The object with this number.
    pub(crate) fn object(&self, number: i64) -> Option<usize> {
        self.heap.binary_search_by_key(&number, |o| i64::from(o.number)).ok()
    }

    pub(crate) fn own_of(&self, buffer: BufferId) -> &[i64] {
        match self.own.binary_search_by_key(&buffer, |(b, _)| *b) {
            Ok(i) => &self.own[i].1,
            Err(_) => &[],
        }
    }

    /// The running task of a buffer, or the innermost interrupted one.
    pub(crate) fn innermost(&self, buffer: BufferId) -> Option<usize> {
        let of_buffer = self.tasks.iter().enumerate().filter(|(_, t)| t.buffer == buffer && t.on_stack);
        of_buffer.max_by_key(|(_, t)| t.level).map(|(i, _)| i)
    }

    /// The highest level of a pending task of the buffer, at least 0.
    pub(crate) fn top(&self, buffer: BufferId) -> u8 {
        self.tasks.iter().filter(|t| t.buffer == buffer && !t.on_stack).map(|t| t.level).max().unwrap_or(0)
    }

    /// The least id that names no task and no buffer.
    pub(crate) fn free_id(&self) -> TaskId {
        // Each task takes two at most, so one of these is free.
        let mut used = vec![false; 2 * self.tasks.len() + self.finished.len() + 1];
        let ids = self.tasks.iter().flat_map(|t| [t.id, t.buffer]).chain(self.finished.iter().copied());
        for id in ids {
            if let Some(used) = used.get_mut(id as usize) {
                *used = true;
            }
        }
        used.iter().position(|used| !used).expect("there are fewer tasks than numbers") as TaskId
    }

    /// The least id of an anonymous task that is higher than all in use.
    pub(crate) fn next_anonymous(&self) -> TaskId {
        self.tasks.last().filter(|t| t.id & ANONYMOUS != 0).map_or(ANONYMOUS, |t| t.id + 1)
    }

    /// Makes room for a task with so many words; returns its index. The words are 0.
    pub(crate) fn insert_task(&mut self, mut task: Task, words: usize) -> usize {
        let at = self.tasks.partition_point(|t| t.id < task.id);
        let start = match self.tasks.get(at) {
            Some(next) => next.start as usize,
            None => self.words.len(),
        };
        task.start = start as u32;
        task.end = task.start;
        self.tasks.insert(at, task);
        self.grow(at, words);
        at
    }

    /// Adds words, all 0, at the end of those of a task.
    pub(crate) fn grow(&mut self, task: usize, words: usize) {
        let end = self.tasks[task].end as usize;
        if end == self.words.len() {
            self.words.resize(end + words, 0);
        } else {
            self.words.splice(end..end, std::iter::repeat_n(0, words));
        }
        self.tasks[task].end += words as u32;
        for later in &mut self.tasks[task + 1..] {
            later.start += words as u32;
            later.end += words as u32;
            later.frame += words as u32;
        }
    }

    /// Takes away words at the end of those of a task.
    pub(crate) fn shrink(&mut self, task: usize, words: usize) {
        let end = self.tasks[task].end as usize;
        self.words.drain(end - words..end);
        self.tasks[task].end -= words as u32;
        for later in &mut self.tasks[task + 1..] {
            later.start -= words as u32;
            later.end -= words as u32;
            later.frame -= words as u32;
        }
    }

    /// Removes a task with its words.
    pub(crate) fn remove_task(&mut self, index: usize) -> Task {
        let words = (self.tasks[index].end - self.tasks[index].start) as usize;
        self.shrink(index, words);
        self.tasks.remove(index)
    }

    /// The frames of a task, innermost first: procedure, call site, and where the locals begin.
    pub(crate) fn frames(&self, task: &Task) -> Frames<'_> {
        Frames { words: &self.words, next: Some(task.frame as usize) }
    }

    /// Gives the locals of a task that are dead where it stands their first values.
    pub(crate) fn forget(&mut self, index: usize, program: &Compiled) {
        let task = self.tasks[index];
        let mut dead = program.code.dead_at[task.pc as usize];
        let mut next = Some(task.frame as usize);
        while let Some(base) = next {
            let [proc, site, distance] = [1, 2, 3].map(|i| self.words[base - HEADER + i - 1]);
            let initial = &program.locals[proc as usize].initial;
            for (from, to) in &program.code.dead[dead as usize] {
                let (from, to) = (*from as usize, *to as usize);
                self.words[base + from..base + to].copy_from_slice(&initial[from..to]);
            }
            let Ok(site) = usize::try_from(site) else { return };
            dead = program.code.sites[site].dead;
            next = Some(base - distance as usize);
        }
    }

    /// Drops heap objects and finished tasks to which nothing refers any more.
    pub(crate) fn collect(&mut self, program: &Compiled) {
        if self.heap.is_empty() && self.finished.is_empty() {
            return;
        }
        let mut objects: Vec<i64> = Vec::new();
        let mut handles: Vec<i64> = Vec::new();
        let mut look = |layout: &crate::layout::Layout, words: &[i64], objects: &mut Vec<i64>| {
            objects.extend(layout.refs.iter().map(|r| words[*r as usize]));
            handles.extend(layout.handles.iter().map(|h| words[*h as usize]));
            for set in &layout.sets {
                let mut members = words[*set as usize] as u64;
                while members != 0 {
                    handles.push(i64::from(members.trailing_zeros()) + 1);
                    members &= members - 1;
                }
            }
        };
        look(&program.globals, &self.words, &mut objects);
        for (_, own) in &self.own {
            look(&program.own, own, &mut objects);
        }
        for task in &self.tasks {
            for (proc, _, base) in self.frames(task) {
                look(&program.locals[proc], &self.words[base..], &mut objects);
            }
        }
        let mut reached = vec![false; self.heap.len()];
        while let Some(number) = objects.pop() {
            if number != 0
                && let Some(i) = self.object(number)
                && !std::mem::replace(&mut reached[i], true)
            {
                let object = &self.heap[i];
                look(&program.records[object.record as usize].0, &object.words, &mut objects);
            }
        }
        let mut reached = reached.into_iter();
        self.heap.retain(|_| reached.next() == Some(true));
        let (maps, words) = (&program.globals.maps, &self.words);
        let is_known = |t: &TaskId| handles.contains(&(i64::from(*t) + 1)) || maps.iter().any(|map| map.has(words, *t));
        self.finished.retain(is_known);
    }
}

/// See [`State::frames`].
pub(crate) struct Frames<'a> {
    words: &'a [i64],
    next: Option<usize>,
}

impl Iterator for Frames<'_> {
    type Item = (usize, Option<usize>, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let base = self.next?;
        let header = &self.words[base - HEADER..base];
        let site = usize::try_from(header[1]).ok();
        self.next = site.map(|_| base - header[2] as usize);
        Some((header[0] as usize, site, base))
    }
}
