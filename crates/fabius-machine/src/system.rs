//! The machine as a [`System`], and states as bytes.

use crate::ample::Ample;
use crate::circles::{Circles, is_at_yield};
use crate::code::{Guard, Instr, Stands};
use crate::compile::{Compiled, Joins, compile};
use crate::exec::waiting::all_have_finished;
use crate::exec::{Exec, operand, peek};
use crate::layout::{Layout, Pack};
use crate::limits::StepLimits;
use crate::packed::packing::Packing;
use crate::sorts::{Sorts, sorts};
use crate::state::{HEADER, Object, State, Task};
use crate::symmetry;
use fabius_explore::codec::{get, put};
use fabius_explore::system::{
    ANONYMOUS, Access, BufferId, Choose, End, Fault, Orders, Snapshot, StepLog, System, TaskId,
};
use fabius_lang::program::Program;
use fabius_trace::Points;
use std::cmp::Ordering;
use std::sync::OnceLock;

/// A compiled program.
#[derive(Debug)]
pub struct Machine<'a> {
    limits: StepLimits<'a>,
    pub(crate) source: Program,
    pub(crate) program: Compiled,
    /// Values that are alike.
    sorts: Option<Sorts>,
    /// Whether it does not matter which of several threads is which.
    pub(crate) renames_threads: bool,
    has_buffers: bool,
    pub(crate) packing: Packing,
    ample: OnceLock<Option<Ample>>,
    /// Where threads give way in circles of their own steps, if they do.
    circles: Option<Circles>,
}

/// What may be alike, so that it does not matter which is which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alike {
    /// Threads that do the same.
    Threads,
    /// Values that are only chosen, copied and compared for equality.
    Values,
}

/// Chooses what comes first.
pub(crate) struct First;

impl Choose for First {
    fn choose(&mut self, _: u32) -> u32 {
        0
    }
}

impl<'a> Machine<'a> {
    /// Compiles a program with these scheduling points.
    pub fn new(program: &Program, points: Points) -> Machine<'a> {
        Machine::with(program, compile(program, points, Joins::Apart))
    }

    /// The same program where whoever joins threads in a row, of whose handles nobody has another use, waits for all of them at
    /// once, so that it does not matter which is which; `None` if there is nothing of the kind.
    ///
    /// The bugs are the same, and those that they cost least are, too, where nothing or preemptions are counted; how schedules are
    /// to be read is said by [`fabius_explore::together`].
    pub fn joining_together(program: &Program, points: Points) -> Option<Machine<'a>> {
        let compiled = compile(program, points, Joins::Together);
        (!compiled.groups.is_empty()).then(|| Machine::with(program, compiled))
    }

    fn with(source: &Program, program: Compiled) -> Machine<'a> {
        Machine {
            limits: StepLimits::default(),
            sorts: sorts(&program, source),
            circles: source.circles_give_way.then(|| Circles::of(&program.code)),
            renames_threads: true,
            program,
            has_buffers: source.has_buffers(),
            source: source.clone(),
            packing: Packing::default(),
            ample: OnceLock::new(),
        }
    }

    /// The same where it matters which of several of these is which.
    pub fn telling_apart(self, alike: Alike) -> Machine<'a> {
        match alike {
            Alike::Threads => Machine { renames_threads: false, ..self },
            Alike::Values => Machine { sorts: None, ..self },
        }
    }

    /// Whether there are some that are alike.
    pub fn has_alike(&self, alike: Alike) -> bool {
        match alike {
            Alike::Threads => self.renames_threads && self.program.has_alike_threads,
            Alike::Values => self.sorts.is_some(),
        }
    }

    /// The same with limits that hold within each step.
    pub fn within(self, limits: StepLimits<'a>) -> Machine<'a> {
        Machine { limits, ..self }
    }

    /// The words of the shared globals, records and arrays taken apart.
    pub fn globals<'b>(&self, state: &'b State) -> &'b [i64] {
        &state.words[..self.program.globals.words as usize]
    }

    /// Whether an assumption failed before the first step, so that this initial state is none.
    pub fn is_dropped(&self, state: &State) -> bool {
        state.tasks.is_empty() && !state.started
    }

    /// What says whose steps alone need be made, if the program is not too large.
    pub(crate) fn ample(&self) -> Option<&Ample> {
        let processes = self.source.processes.iter().map(|process| process.proc);
        let ample = || self.ample.get_or_init(|| Ample::of(&self.program, self.packed_code(), processes)).as_ref();
        // Who waits until nobody else can go on depends on every step.
        self.program.idle.map_or_else(ample, |_| None)
    }

    fn exec<'b>(&'b self, state: &'b mut State, choose: &'b mut dyn Choose, log: &'b mut StepLog) -> Exec<'b> {
        let mut temps = std::mem::take(&mut state.scratch);
        temps.resize(self.program.code.temps as usize, 0);
        Exec {
            limits: self.limits,
            source: &self.source,
            program: &self.program,
            state,
            choose,
            log,
            temps,
            blocked: false,
        }
    }

    /// Whether a task can go on, if none goes on only because nobody else can.
    fn goes_on(&self, state: &State, task: TaskId) -> bool {
        let Some(index) = state.index(task) else { return false };
        let t = &state.tasks[index];
        if self.has_buffers && t.on_stack && state.innermost(t.buffer) != Some(index) {
            return false;
        }
        let code = &self.program.code;
        let Instr::Await { guard } = code.instrs[t.pc as usize] else { return true };
        if let Some((cmp, a, b)) = code.guards[guard as usize].quick {
            return cmp.holds(operand(code, state, &[], t, a), operand(code, state, &[], t, b));
        }
        let Guard { entry, join, group, stands, .. } = code.guards[guard as usize];
        let peeked = if stands == Stands::AnyWay { None } else { peek(code, state, t, entry) };
        match peeked {
            Some(value) if !join => return value != 0,
            Some(handle) if handle != 0 => {
                return state.index((handle - 1) as TaskId).is_none()
                    && group.is_none_or(|group| all_have_finished(&self.program, state, index, group));
            }
            // A fault, or something that takes more: the interpreter knows.
            _ => {}
        }
        let mut copy = state.clone();
        let mut log = StepLog::default();
        self.exec(&mut copy, &mut First, &mut log).may_pass(index, guard, t.pc as usize)
    }
}

impl System for Machine<'_> {
    type State = State;

    fn orders(&self) -> Orders {
        self.source.orders.clone()
    }

    /// If an assumption fails at once, the state has no tasks at all.
    fn initial(&self, choose: &mut dyn Choose, log: &mut StepLog) -> Result<State, Fault> {
        let mut state = State::default();
        if self.exec(&mut state, choose, log).initial()? {
            log.born.retain(|b| state.index(b.task).is_some());
            (0..state.tasks.len()).for_each(|index| state.forget(index, &self.program));
            state.collect(&self.program);
            return Ok(state);
        }
        log.born.clear();
        choose.drops();
        Ok(State { words: self.program.globals.initial.clone(), ..State::default() })
    }

    fn has_init(&self) -> bool {
        self.source.init.is_some()
    }

    fn has_buffers(&self) -> bool {
        self.has_buffers
    }

    fn ready(&self, state: &State, task: TaskId) -> bool {
        if self.goes_on(state, task) {
            return true;
        }
        let Some(idle) = self.program.idle else { return false };
        if state.tasks.iter().any(|t| self.goes_on(state, t.id)) {
            return false;
        }
        let mut state = state.clone();
        state.words[idle] = 1;
        self.goes_on(&state, task)
    }

    fn may_rest(&self, state: &State, task: TaskId) -> bool {
        let code = &self.program.code;
        let at = state.index(task).map(|index| code.instrs[state.tasks[index].pc as usize]);
        matches!(at, Some(Instr::Await { guard }) if code.guards[guard as usize].rests)
    }

    fn gave_way(&self, state: &State, task: TaskId) -> bool {
        let code = &self.program.code;
        is_at_yield(code, state, task) || self.circles.as_ref().is_some_and(|known| known.has(self, code, state, task))
    }

    fn next_access(&self, state: &State, task: TaskId) -> Option<Access> {
        let mut log = StepLog { want_accesses: true, ..StepLog::default() };
        let _ = self.step(&mut state.clone(), task, &mut First, &mut log);
        log.accesses.first().copied()
    }

    fn step(&self, state: &mut State, task: TaskId, choose: &mut dyn Choose, log: &mut StepLog) -> Result<End, Fault> {
        let idle = self.program.idle.filter(|_| !self.goes_on(state, task));
        idle.into_iter().for_each(|word| state.words[word] = 1);
        let mut exec = self.exec(state, choose, log);
        let end = exec.step(task);
        if end == Ok(End::Dropped) {
            exec.choose.drops();
        }
        let scratch = std::mem::take(&mut exec.temps);
        state.scratch = scratch;
        idle.into_iter().for_each(|word| state.words[word] = 0);
        let end = end?;
        if !log.born.is_empty() {
            log.made.extend(log.born.iter().map(|b| b.task));
            log.born.retain(|b| state.index(b.task).is_some());
        }
        // Who is dropped stands nowhere.
        let stand = log.born.iter().map(|b| b.task).chain([task]).filter(|_| end != End::Dropped);
        for index in stand.filter_map(|task| state.index(task)).collect::<Vec<_>>() {
            state.forget(index, &self.program);
        }
        state.collect(&self.program);
        Ok(end)
    }
}

impl Snapshot for Machine<'_> {
    fn encode(&self, state: &State, out: &mut Vec<u8>) {
        let p = &self.program;
        pack(&p.globals, &state.words, out);
        put(state.tasks.len() as u64, out);
        let mut next = 0;
        for task in &state.tasks {
            // The commonest task: a thread with the next id and one active procedure.
            let simple = !self.has_buffers && task.id == next && task.depth == 1;
            put(u64::from(task.pc) << 1 | u64::from(!simple), out);
            if simple {
                let proc = state.words[task.frame as usize - HEADER] as usize;
                pack(&p.locals[proc], &state.words[task.frame as usize..], out);
                next += 1;
                continue;
            }
            put(u64::from(task.id.wrapping_sub(next).rotate_left(1)), out);
            next = task.id.wrapping_add(1);
            if self.has_buffers {
                put(u64::from(task.buffer), out);
                out.push(task.level << 1 | u8::from(task.on_stack));
            }
            for (proc, site, base) in state.frames(task) {
                pack(&p.locals[proc], &state.words[base..], out);
                put(site.map_or(0, |s| s as u64 + 1), out);
            }
        }
        for (buffer, own) in &state.own {
            put(u64::from(*buffer) + 1, out);
            pack(&p.own, own, out);
        }
        if p.own.words > 0 {
            put(0, out);
        }
        for object in &state.heap {
            put(u64::from(object.number), out);
            put(u64::from(object.record), out);
            pack(&p.records[object.record as usize].0, &object.words, out);
        }
        if !p.records.is_empty() {
            put(0, out);
        }
        put((state.finished.len() as u64) << 1 | u64::from(state.started), out);
        state.finished.iter().for_each(|t| put(u64::from(*t), out));
    }

    fn decode(&self, mut bytes: &[u8], state: &mut State) {
        let p = &self.program;
        let b = &mut bytes;
        state.words.clear();
        unpack(&p.globals, b, &mut state.words);
        state.tasks.clear();
        let mut next = 0;
        for _ in 0..get(b) {
            let head = get(b);
            let pc = (head >> 1) as u32;
            let start = state.words.len() as u32;
            if head & 1 == 0 {
                let proc = p.code.proc_of[pc as usize] as usize;
                state.words.extend([proc as i64, -1, 0]);
                unpack(&p.locals[proc], b, &mut state.words);
                let (id, end) = (next, state.words.len() as u32);
                next += 1;
                let (frame, depth) = (start + HEADER as u32, 1);
                state.tasks.push(Task { id, buffer: id, level: 0, on_stack: true, pc, start, end, frame, depth });
                continue;
            }
            let id = (get(b) as u32).rotate_right(1).wrapping_add(next);
            next = id.wrapping_add(1);
            let (buffer, flags) = if self.has_buffers {
                let buffer = get(b) as u32;
                (buffer, take_byte(b))
            } else {
                (id, 1)
            };
            let (frame, depth) = self.decode_frames(pc, b, &mut state.words);
            let end = state.words.len() as u32;
            let (level, on_stack) = (flags >> 1, flags & 1 != 0);
            state.tasks.push(Task { id, buffer, level, on_stack, pc, start, end, frame, depth });
        }
        state.own.clear();
        if p.own.words > 0 {
            while let Some(buffer) = get(b).checked_sub(1) {
                let mut own = Vec::new();
                unpack(&p.own, b, &mut own);
                state.own.push((buffer as u32, own));
            }
        }
        state.heap.clear();
        loop {
            let number = if p.records.is_empty() { 0 } else { get(b) as u32 };
            if number == 0 {
                break;
            }
            let record = get(b) as u32;
            let mut words = Vec::new();
            unpack(&p.records[record as usize].0, b, &mut words);
            state.heap.push(Object { number, record, words });
        }
        let last = get(b);
        state.started = last & 1 != 0;
        state.finished.clear();
        state.finished.extend((0..last >> 1).map(|_| get(b) as u32));
    }

    fn anonymous_tasks(&self, state: &State) -> Vec<TaskId> {
        if !self.has_buffers {
            return Vec::new();
        }
        let first = state.tasks.partition_point(|t| t.id & ANONYMOUS == 0);
        state.tasks[first..].iter().map(|t| t.id).collect()
    }

    fn compare_anonymous(&self, state: &State, a: TaskId, b: TaskId) -> Ordering {
        let key = |id: TaskId| {
            let t = &state.tasks[state.index(id).expect("the task is unfinished")];
            (t.buffer, t.level, t.on_stack, t.pc, &state.words[t.start as usize..t.end as usize])
        };
        key(a).cmp(&key(b))
    }

    fn has_alike_threads(&self) -> bool {
        self.has_alike(Alike::Threads) || self.has_alike(Alike::Values)
    }

    fn canonical_names(&self, state: &State, names: &mut Vec<(TaskId, TaskId)>) -> bool {
        if self.renames_threads {
            symmetry::canonical_names(&self.program, self.sorts.as_ref(), state, names)
        } else {
            symmetry::same_names(self.sorts.as_ref(), state, names)
        }
    }

    fn repeats(&self, state: &State, task: TaskId) -> bool {
        self.renames_threads && state.index(task).is_some_and(|index| symmetry::repeats(&self.program, state, index))
    }

    fn known_threads(&self, state: &State) -> Vec<TaskId> {
        symmetry::known(state)
    }

    fn rename(&self, state: &mut State, names: &[(TaskId, TaskId)]) {
        symmetry::rename(&self.program, self.sorts.as_ref(), state, names);
    }

    fn is_alone(&self, state: &State, task: TaskId) -> bool {
        self.goes_alone(state, task)
    }

    fn conditions(&self, state: &State) -> Result<Vec<bool>, Fault> {
        let (mut copy, mut first, mut log) = (state.clone(), First, StepLog::default());
        if copy.tasks.is_empty() {
            // Code runs for some task, whose variables it does not look at here.
            copy.tasks.push(Task::default());
        }
        let mut exec = self.exec(&mut copy, &mut first, &mut log);
        self.program.conditions.iter().map(|guard| exec.holds(*guard)).collect()
    }

    fn origin(&self, state: &State, n: BufferId) -> Option<fabius_trace::Origin> {
        let task = &state.tasks[state.index(n)?];
        state.frames(task).last().map(|(proc, _, _)| proc)
    }

    fn reorder_anonymous(&self, state: &mut State, order: &[TaskId]) {
        let named = state.tasks.partition_point(|t| t.id & ANONYMOUS == 0);
        let old: Vec<Task> = state.tasks.drain(named..).collect();
        let first = old.first().map_or(state.words.len(), |t| t.start as usize);
        let words = state.words.split_off(first);
        for (new_id, id) in (ANONYMOUS..).zip(order) {
            let at = old.binary_search_by_key(id, |t| t.id).expect("the task is unfinished");
            let t = old[at];
            let start = state.words.len() as u32;
            state.words.extend_from_slice(&words[t.start as usize - first..t.end as usize - first]);
            let end = state.words.len() as u32;
            state.tasks.push(Task { id: new_id, start, end, frame: t.frame - t.start + start, ..t });
        }
        if order.len() < old.len() {
            let tasks = &state.tasks;
            state.own.retain(|(b, _)| tasks.iter().any(|t| t.buffer == *b));
            state.collect(&self.program);
        }
    }
}

impl Machine<'_> {
    /// Frames are written innermost first, and lie in memory outermost first.
    fn decode_frames(&self, pc: u32, b: &mut &[u8], words: &mut Vec<i64>) -> (u32, u32) {
        let p = &self.program;
        let start = words.len();
        let proc = p.code.proc_of[pc as usize] as usize;
        words.extend([proc as i64, -1, 0]);
        unpack(&p.locals[proc], b, words);
        let Some(mut site) = get(b).checked_sub(1) else { return ((start + HEADER) as u32, 1) };
        // Several frames: collect them, then lay them out.
        let mut frames = vec![(proc, Some(site), words.split_off(start + HEADER))];
        words.truncate(start);
        loop {
            let caller = p.code.sites[site as usize].caller;
            let mut locals = Vec::new();
            unpack(&p.locals[caller], b, &mut locals);
            let next = get(b).checked_sub(1);
            frames.push((caller, next, locals));
            match next {
                Some(s) => site = s,
                None => break,
            }
        }
        let mut frame = 0;
        let depth = frames.len() as u32;
        for (proc, site, locals) in frames.into_iter().rev() {
            let base = words.len() + HEADER;
            let distance = if site.is_some() { base - frame } else { 0 };
            words.extend([proc as i64, site.map_or(-1, |s| s as i64), distance as i64]);
            words.extend(locals);
            frame = base;
        }
        (frame as u32, depth)
    }
}

/// Appends words: small ranges in a byte each, other numbers in as many as they need.
fn pack(layout: &Layout, words: &[i64], out: &mut Vec<u8>) {
    let mut at = 0;
    for run in &layout.runs {
        let these = &words[at..at + run.count as usize];
        at += run.count as usize;
        match run.pack {
            Pack::Byte { lo } => out.extend(these.iter().map(|w| (w - lo) as u8)),
            Pack::Number => these.iter().for_each(|w| put(((w << 1) ^ (w >> 63)) as u64, out)),
        }
    }
}

fn unpack(layout: &Layout, b: &mut &[u8], words: &mut Vec<i64>) {
    for run in &layout.runs {
        match run.pack {
            Pack::Byte { lo } => {
                let (these, rest) = b.split_at(run.count as usize);
                words.extend(these.iter().map(|byte| i64::from(*byte) + lo));
                *b = rest;
            }
            Pack::Number => (0..run.count).for_each(|_| {
                let n = get(b);
                words.push((n >> 1) as i64 ^ -((n & 1) as i64));
            }),
        }
    }
}

fn take_byte(b: &mut &[u8]) -> u8 {
    let (first, rest) = b.split_first().expect("an encoding is complete");
    *b = rest;
    *first
}
