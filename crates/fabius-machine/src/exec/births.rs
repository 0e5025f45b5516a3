//! Calls and returns; births and ends of tasks, births of objects.

use super::operands::variable_of_object;
use super::{Exec, limit};
use crate::code::Arg;
use crate::state::{HEADER, Object, Task};
use fabius_explore::system::{
    ANONYMOUS, Access, Born, BufferId, DECLARED_BUFFER, FIFO_BUFFER, Fault, Limit, TaskId, end_of,
};
use fabius_lang::program::BufferKind;
use fabius_trace::Span;

const MAX_FRAMES: u32 = 4096;
const MAX_OBJECTS: usize = 65_535;
const MAX_TASKS: usize = 65_535;

impl Exec<'_> {
    pub(super) fn call(&mut self, index: usize, site: u32, span: Span) -> Result<usize, Fault> {
        let program = self.program;
        let s = &program.code.sites[site as usize];
        let task = self.state.tasks[index];
        if task.depth >= MAX_FRAMES {
            return limit(Limit::Recursion, span);
        }
        let layout = &program.locals[s.callee];
        self.state.grow(index, HEADER + layout.words as usize);
        let frame = task.end as usize + HEADER;
        let words = &mut self.state.words;
        words[frame - 3] = s.callee as i64;
        words[frame - 2] = i64::from(site);
        words[frame - 1] = (frame - task.frame as usize) as i64;
        words[frame..frame + layout.words as usize].copy_from_slice(&layout.initial);
        let mut to = frame;
        for (from, n) in &s.args {
            for i in 0..*n {
                words[to] = self.temps[from.plus(i).index()];
                to += 1;
            }
        }
        let task = &mut self.state.tasks[index];
        task.frame = frame as u32;
        task.depth += 1;
        let entry = program.entries[s.callee][usize::from(s.in_atomic)];
        Ok(entry.expect("what is called has been compiled") as usize)
    }

    /// Where the caller goes on; `None` if there is none.
    pub(super) fn give_back(&mut self, index: usize, values: Arg, words: u32) -> Option<usize> {
        let task = self.state.tasks[index];
        let frame = task.frame as usize;
        let site = usize::try_from(self.state.words[frame - 2]).ok()?;
        let caller = frame - self.state.words[frame - 1] as usize;
        let from = values.index();
        self.temps.copy_within(from..from + words as usize, 0);
        let own = (task.end as usize) - frame + HEADER;
        self.state.shrink(index, own);
        let task = &mut self.state.tasks[index];
        task.frame = caller as u32;
        task.depth -= 1;
        Some(self.program.code.sites[site].back as usize)
    }

    pub(super) fn finish(&mut self, index: usize) {
        let task = self.state.remove_task(index);
        if !self.state.own.is_empty() && !self.state.tasks.iter().any(|t| t.buffer == task.buffer) {
            self.state.own.retain(|(b, _)| *b != task.buffer);
        }
        if task.id & ANONYMOUS == 0 {
            let at = self.state.finished.partition_point(|t| *t < task.id);
            self.state.finished.insert(at, task.id);
        }
        if !self.state.started && task.id == 0 {
            self.start();
        }
    }

    pub(super) fn fork(&mut self, index: usize, fork: u32, span: Span) -> Result<(), Fault> {
        let program = self.program;
        let f = &program.code.forks[fork as usize];
        // Those that have finished in this step are still known.
        if self.state.tasks.len() + self.state.finished.len() >= MAX_TASKS {
            return limit(Limit::Tasks, span);
        }
        let parent = self.state.tasks[index];
        let args: Vec<i64> =
            f.args.iter().flat_map(|(a, n)| (0..*n).map(|i| a.plus(i).index())).map(|i| self.temps[i]).collect();
        let child = if f.thread {
            let id = self.birth_of_thread(f.callee);
            if self.log.want_accesses {
                self.log.accesses.push(Access { variable: end_of(id), write: true, sync: true, span });
            }
            id
        } else {
            self.birth_of_task(parent.buffer, f.level.unwrap_or(parent.level), f.callee, f.anonymous)
        };
        let at = self.state.index(child).expect("it was just born");
        let frame = self.state.tasks[at].frame as usize;
        self.state.words[frame..frame + args.len()].copy_from_slice(&args);
        if let Some(handle) = f.handle {
            let index = self.state.index(parent.id).expect("it is still running");
            let frame = self.state.tasks[index].frame as usize;
            self.state.words[frame + handle.index()] = i64::from(child) + 1;
        }
        Ok(())
    }

    /// Everything that starts by itself.
    pub(super) fn start(&mut self) {
        self.state.started = true;
        let source = self.source;
        for (i, entry) in source.buffers.iter().enumerate() {
            let kind = if entry.kind == BufferKind::Fifo { FIFO_BUFFER } else { 0 };
            let buffer = DECLARED_BUFFER | kind | i as BufferId;
            let anonymous = !self.uses_self(entry.proc);
            self.new_own(buffer);
            self.birth_of_task(buffer, 0, entry.proc, anonymous);
        }
        for process in &source.processes {
            for _ in 0..process.count.unwrap_or(1) {
                self.birth_of_thread(process.proc);
            }
        }
    }

    fn uses_self(&self, proc: usize) -> bool {
        self.program.uses_self[proc]
    }

    fn new_own(&mut self, buffer: BufferId) {
        if self.program.own.words > 0 {
            let at = self.state.own.partition_point(|(b, _)| *b < buffer);
            self.state.own.insert(at, (buffer, self.program.own.initial.clone()));
        }
    }

    pub(super) fn birth_of_thread(&mut self, proc: usize) -> TaskId {
        let id = self.state.free_id();
        self.new_own(id);
        self.birth(id, id, 0, true, proc);
        id
    }

    fn birth_of_task(&mut self, buffer: BufferId, level: u8, proc: usize, anonymous: bool) -> TaskId {
        let id = if anonymous { self.state.next_anonymous() } else { self.state.free_id() };
        self.birth(id, buffer, level, false, proc);
        id
    }

    fn birth(&mut self, id: TaskId, buffer: BufferId, level: u8, on_stack: bool, proc: usize) {
        let entry = self.program.entries[proc][0].expect("what starts has been compiled");
        let pc = self.program.code.settled[entry as usize];
        // A thread begins in front of the points of its code, so that its prefix ends at them.
        let pc = if on_stack { entry } else { pc };
        let task = Task { id, buffer, level, on_stack, pc, start: 0, end: 0, frame: 0, depth: 1 };
        let layout = &self.program.locals[proc];
        let at = self.state.insert_task(task, HEADER + layout.words as usize);
        let frame = self.state.tasks[at].start as usize + HEADER;
        let words = &mut self.state.words;
        words[frame - 3] = proc as i64;
        words[frame - 2] = -1;
        words[frame..frame + layout.words as usize].copy_from_slice(&layout.initial);
        self.state.tasks[at].frame = frame as u32;
        self.log.born.push(Born { task: id, buffer, level });
    }

    /// Makes a heap object with the words of these fields; its number.
    pub(super) fn new_object(&mut self, index: usize, record: u32, fields: Arg, span: Span) -> Result<u32, Fault> {
        if self.state.heap.len() >= MAX_OBJECTS {
            self.state.collect(self.program);
        }
        if self.state.heap.len() >= MAX_OBJECTS {
            return limit(Limit::Heap, span);
        }
        // The least free number: objects are sorted, so up to the first gap the n-th has number n.
        let (mut low, mut high) = (0, self.state.heap.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.state.heap[middle].number as usize == middle + 1 { low = middle + 1 } else { high = middle }
        }
        let number = low as u32 + 1;
        let count = self.program.records[record as usize].0.words;
        let words = (0..count).map(|i| self.read_quietly(index, fields.plus(i))).collect();
        let at = self.state.heap.partition_point(|o| o.number < number);
        self.state.heap.insert(at, Object { number, record, words });
        if self.log.want_accesses {
            let first = i64::from(number) - 1;
            self.log.fresh.push(variable_of_object(first)..variable_of_object(first + 1));
        }
        Ok(number)
    }
}
