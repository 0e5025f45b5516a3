//! The interpreter: runs instructions from one scheduling point to the next.
//!
//! References are coded as the number of the object and handles as the id of the task, both plus 1, so that 0 is null.
//!
//! Length: one interpreter; its instructions share the state, the log and the operands.

use crate::code::{Area, Arg, Code, Copy, Fix, Info, Instr, Loc, Op, Shape};
use crate::compile::Compiled;
use crate::limits::{OFTEN, StepLimits};
use crate::state::{HEADER, Object, State, Task};
use fabius_explore::system::{
    ANONYMOUS, Access, Born, BufferId, Choose, DECLARED_BUFFER, End, Fault, Limit, StepLog, TaskId, end_of,
};
use fabius_lang::program::Program;
use fabius_trace::{BugKind, Span};

const MAX_FRAMES: u32 = 4096;
const MAX_OBJECTS: usize = 65_535;
const MAX_TASKS: usize = 65_535;
const MAX_STATEMENTS: u32 = 1_000_000;
/// Highest id of a thread that a set of threads can hold.
const MAX_IN_SET: i64 = 64;

/// Number of the first variable of a heap object.
fn variable_of_object(number: i64) -> u64 {
    1 << 62 | (number as u64) << 30
}

/// What a run needs besides the state.
pub(crate) struct Exec<'a> {
    pub(crate) limits: StepLimits<'a>,
    pub(crate) source: &'a Program,
    pub(crate) program: &'a Compiled,
    pub(crate) state: &'a mut State,
    pub(crate) choose: &'a mut dyn Choose,
    pub(crate) log: &'a mut StepLog,
    pub(crate) temps: Vec<i64>,
}

/// How far a task runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// Its next scheduling point.
    Point,
    /// Its first statement that others may observe.
    Visible,
}

/// Reads an operand of a task.
#[inline(always)]
pub(crate) fn operand(code: &Code, state: &State, temps: &[i64], task: &Task, arg: Arg) -> i64 {
    match arg.area() {
        Area::Local => state.words[task.frame as usize + arg.index()],
        Area::Global => state.words[arg.index()],
        Area::Const => code.consts[arg.index()],
        Area::Temp => temps[arg.index()],
        Area::Own => state.own_of(task.buffer)[arg.index()],
    }
}

/// The value of a guard, if it consists of the commonest instructions alone; changes nothing.
pub(crate) fn peek(code: &Code, state: &State, task: &Task, entry: u32) -> Option<i64> {
    let mut temps = [0; 32];
    if code.temps as usize > temps.len() {
        return None;
    }
    let mut pc = entry as usize;
    loop {
        let at = |temps: &[i64], arg| operand(code, state, temps, task, arg);
        let instr = code.instrs[pc];
        pc += 1;
        let (dst, value) = match instr {
            Instr::Value { a } => return Some(at(&temps, a)),
            Instr::Jump { to } => {
                pc = to as usize;
                continue;
            }
            Instr::Unless { cmp, a, b, to } => {
                if !cmp.holds(at(&temps, a), at(&temps, b)) {
                    pc = to as usize;
                }
                continue;
            }
            Instr::Move { dst, a } => (dst, at(&temps, a)),
            Instr::Add { dst, a, b } => (dst, at(&temps, a).checked_add(at(&temps, b))?),
            Instr::Sub { dst, a, b } => (dst, at(&temps, a).checked_sub(at(&temps, b))?),
            Instr::Compare { cmp, dst, a, b } => (dst, i64::from(cmp.holds(at(&temps, a), at(&temps, b)))),
            Instr::LoadElement { dst, base, index, shape } => {
                let offset = offset(code.shapes[shape as usize], at(&temps, index), Span::default()).ok()?;
                (dst, at(&temps, base.plus(offset as u32)))
            }
            _ => return None,
        };
        temps[dst.index()] = value;
    }
}

fn bug<T>(kind: BugKind, span: Span) -> Result<T, Fault> {
    Err(Fault::Bug(kind, span))
}

fn limit<T>(limit: Limit, span: Span) -> Result<T, Fault> {
    Err(Fault::Limit(limit, span))
}

impl Exec<'_> {
    /// The initial state, but for the prefixes that make a failed assumption `false`.
    pub(crate) fn initial(&mut self) -> Result<bool, Fault> {
        self.state.words.clone_from(&self.program.globals.initial);
        match self.source.init {
            Some(init) => {
                self.birth_of_thread(init);
            }
            None => self.start(),
        }
        self.prefixes(0)
    }

    /// Runs a ready task to its next scheduling point.
    pub(crate) fn step(&mut self, id: TaskId) -> Result<End, Fault> {
        let index = self.state.index(id).expect("only unfinished tasks are run");
        self.make_running(index);
        self.run(id, Until::Point)
    }

    /// DISPATCH, if the task is pending. One of its level that waits on the stack makes way.
    fn make_running(&mut self, index: usize) {
        let Task { on_stack, buffer, level, .. } = self.state.tasks[index];
        if on_stack {
            return;
        }
        if let Some(inner) = self.state.innermost(buffer)
            && self.state.tasks[inner].level >= level
        {
            self.state.tasks[inner].on_stack = false;
        }
        self.state.tasks[index].on_stack = true;
    }

    /// The threads born since do what comes before their first visible statement.
    fn prefixes(&mut self, first: usize) -> Result<bool, Fault> {
        let mut i = first;
        let last = self.log.born.len();
        while i < last {
            let born = self.log.born[i];
            i += 1;
            if born.task == born.buffer
                && self.state.index(born.task).is_some()
                && self.run(born.task, Until::Visible)? == End::Dropped
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn run(&mut self, id: TaskId, until: Until) -> Result<End, Fault> {
        let program = self.program;
        let code = &program.code;
        let mut fuel = MAX_STATEMENTS;
        let mut index = self.state.index(id).expect("the task is unfinished");
        let mut pc = self.state.tasks[index].pc as usize;
        // Whether there was a choice since the last jump back.
        let mut chose = false;
        macro_rules! rest {
            ($pc:expr, $end:expr) => {{
                self.state.tasks[index].pc = code.settled[$pc];
                return Ok($end);
            }};
        }
        loop {
            let instr = code.instrs[pc];
            let here = pc;
            pc += 1;
            match instr {
                Instr::Point => {
                    self.state.tasks[index].pc = code.behind[pc];
                    return Ok(End::Point);
                }
                Instr::Mark => {
                    if until == Until::Visible {
                        rest!(here, End::Point)
                    }
                }
                Instr::Jump { to } => pc = to as usize,
                Instr::Loop { to, fuel: burnt } => {
                    pc = to as usize;
                    fuel = fuel.saturating_sub(burnt);
                    if fuel == 0 {
                        return limit(Limit::EndlessStep, code.infos[here].at);
                    }
                    if fuel / OFTEN != (fuel + burnt) / OFTEN || chose {
                        self.look(code.infos[here].at)?;
                    }
                    if std::mem::take(&mut chose) && self.comes_back(index, here) {
                        // The other way makes the same accesses, and goes on.
                        self.log.accesses.clear();
                        return Ok(End::Dropped);
                    }
                }
                Instr::Unless { cmp, a, b, to } => {
                    let holds = cmp.holds(self.read(index, a, here, 0), self.read(index, b, here, 1));
                    if !holds {
                        pc = to as usize;
                    }
                }
                Instr::Move { dst, a } => {
                    let v = self.read(index, a, here, 0);
                    self.write(index, dst, v, here);
                }
                Instr::Add { dst, a, b } => {
                    let (x, y) = (self.read(index, a, here, 0), self.read(index, b, here, 1));
                    match x.checked_add(y) {
                        Some(v) => self.write(index, dst, v, here),
                        None => return limit(Limit::Integer, code.infos[here].at),
                    }
                }
                Instr::Sub { dst, a, b } => {
                    let (x, y) = (self.read(index, a, here, 0), self.read(index, b, here, 1));
                    match x.checked_sub(y) {
                        Some(v) => self.write(index, dst, v, here),
                        None => return limit(Limit::Integer, code.infos[here].at),
                    }
                }
                Instr::Compare { cmp, dst, a, b } => {
                    let v = cmp.holds(self.read(index, a, here, 0), self.read(index, b, here, 1));
                    self.write(index, dst, i64::from(v), here);
                }
                Instr::Check { a, range } => {
                    let v = self.read_quietly(index, a);
                    let (lo, hi) = code.ranges[range as usize];
                    if v < lo || v > hi {
                        return bug(BugKind::RangeOverflow, code.infos[here].at);
                    }
                }
                Instr::LoadElement { dst, base, index: at, shape } => {
                    let from = self.element(index, base, at, shape, here)?;
                    let v = self.read(index, from, here, 1);
                    self.write(index, dst, v, here);
                }
                Instr::StoreElement { base, index: at, src, shape } => {
                    let v = self.read(index, src, here, 1);
                    let to = self.element(index, base, at, shape, here)?;
                    self.write(index, to, v, here);
                }
                Instr::Star { to } => {
                    chose = true;
                    if self.choose.choose(2) == 1 {
                        pc = to as usize;
                    }
                }
                Instr::Choose { dst, a, b } => {
                    chose = true;
                    let (lo, hi) = (self.read(index, a, here, 0), self.read(index, b, here, 1));
                    if lo > hi {
                        return Ok(End::Dropped);
                    }
                    let most = hi.wrapping_sub(lo) as u64;
                    let chosen = match u32::try_from(most).ok().and_then(|most| most.checked_add(1)) {
                        Some(1) => 0,
                        Some(alternatives) => u64::from(self.choose.choose(alternatives)),
                        None => match self.choose.choose_wide(most) {
                            Some(chosen) => chosen,
                            None => return limit(Limit::Choice, code.infos[here].at),
                        },
                    };
                    self.write(index, dst, lo.wrapping_add(chosen as i64), here);
                }
                Instr::Assume { cmp, a, b } => {
                    if !cmp.holds(self.read(index, a, here, 0), self.read(index, b, here, 1)) {
                        return Ok(End::Dropped);
                    }
                }
                Instr::Assert { cmp, a, b, misuse } => {
                    if !cmp.holds(self.read(index, a, here, 0), self.read(index, b, here, 1)) {
                        let kind = if misuse { BugKind::SyncMisuse } else { BugKind::Assertion };
                        return bug(kind, code.infos[here].at);
                    }
                }
                Instr::Await { guard } => {
                    let told = self.log.accesses.len();
                    if !self.passes(index, guard, here)? {
                        // Only what lets the task pass is an access.
                        self.log.accesses.truncate(told);
                        debug_assert!(until == Until::Point, "a prefix ends in front of what may wait");
                        let task = &mut self.state.tasks[index];
                        task.pc = here as u32;
                        if task.id == task.buffer {
                            return Ok(End::Point);
                        }
                        task.on_stack = false;
                        return Ok(End::Wait);
                    }
                }
                Instr::Yield => {
                    self.state.tasks[index].on_stack = false;
                    rest!(pc, End::Yield)
                }
                Instr::Zield => rest!(pc, End::Point),
                Instr::Interruptible => {
                    let task = &self.state.tasks[index];
                    if task.level < self.state.top(task.buffer) {
                        rest!(pc, End::Interrupted)
                    }
                }
                Instr::Call { site } => {
                    fuel = fuel.saturating_sub(1);
                    if fuel == 0 {
                        return limit(Limit::EndlessStep, code.infos[here].at);
                    }
                    if fuel.is_multiple_of(OFTEN) {
                        self.look(code.infos[here].at)?;
                    }
                    pc = self.call(index, site, code.infos[here].at)?;
                }
                Instr::Return { values, words } => match self.give_back(index, values, words) {
                    Some(back) => pc = back,
                    None => {
                        let birth = self.log.born.len();
                        self.finish(index);
                        return Ok(if self.prefixes(birth)? { End::Finished } else { End::Dropped });
                    }
                },
                Instr::Fork { fork } => {
                    let birth = self.log.born.len();
                    if birth % 16 == 15 {
                        self.look(code.infos[here].at)?;
                    }
                    self.fork(index, fork, code.infos[here].at)?;
                    // What the threads that are born do before their first visible statement is followed by what is here.
                    index = self.state.index(id).expect("it is still running");
                    self.state.tasks[index].pc = pc as u32;
                    if !self.prefixes(birth)? {
                        return Ok(End::Dropped);
                    }
                    index = self.state.index(id).expect("it is still running");
                }
                Instr::Progress => self.log.progress = true,
                other => self.seldom(index, other, here)?,
            }
        }
    }

    /// Gives up if a limit of the search is hit.
    #[cold]
    fn look(&self, span: Span) -> Result<(), Fault> {
        match self.limits.hit(self.state) {
            Some(hit) => limit(hit, span),
            None if self.choose.is_full() => limit(Limit::Memory, span),
            None => Ok(()),
        }
    }

    /// Instructions that are less frequent, and go on with the next.
    fn seldom(&mut self, index: usize, instr: Instr, here: usize) -> Result<(), Fault> {
        let code = &self.program.code;
        let info = code.infos[here];
        match instr {
            Instr::Arith { op, fix, dst, a, b } => {
                let (x, y) = (self.read(index, a, here, 0), self.read(index, b, here, 1));
                let v = fixed(fix, arith(op, x, y, info.at)?, info.at)?;
                self.write(index, dst, v, here);
            }
            Instr::Convert { fix, dst, a } => {
                let x = self.read(index, a, here, 0);
                let v = fixed(fix, x, info.at)?;
                self.write(index, dst, v, here);
            }
            Instr::Index { dst, prev, index: at, shape } => {
                let i = self.read(index, at, here, 0);
                let sum = self.read_quietly(index, prev) + offset(code.shapes[shape as usize], i, info.at)?;
                self.write(index, dst, sum, here);
            }
            Instr::Load { dst, base, off } => {
                let from = base.plus(self.read_quietly(index, off) as u32);
                let v = self.read(index, from, here, 1);
                self.write(index, dst, v, here);
            }
            Instr::Store { base, off, src } => {
                let v = self.read(index, src, here, 1);
                let to = base.plus(self.read_quietly(index, off) as u32);
                self.write(index, to, v, here);
            }
            Instr::LoadHeap { dst, obj, off } => {
                let v = self.heap_word(index, obj, off, 0, info)?;
                self.write(index, dst, v, here);
            }
            Instr::StoreHeap { obj, off, src } => {
                let v = self.read(index, src, here, 1);
                self.set_heap_word(index, obj, off, 0, v, info)?;
            }
            Instr::Copy { copy } => {
                let Copy { dst, src, n } = code.copies[copy as usize];
                let words: Result<Vec<i64>, Fault> = (0..n).map(|i| self.word_at(index, src, i, here)).collect();
                for (i, v) in (0..n).zip(words?) {
                    self.set_word_at(index, dst, i, v, here)?;
                }
            }
            Instr::EqWords { dst, a, b, n } => {
                let mut same = true;
                for i in 0..n {
                    same &= self.read(index, a.plus(i), here, 0) == self.read(index, b.plus(i), here, 1);
                }
                self.write(index, dst, i64::from(same), here);
            }
            Instr::NotNull { a } => {
                if self.read_quietly(index, a) == 0 {
                    return bug(BugKind::NullDereference, info.at);
                }
            }
            Instr::Pick { dst, a } => {
                let set = self.read_quietly(index, a) as u64;
                let members = set.count_ones();
                let chosen = if members < 2 { 0 } else { self.choose.choose(members) };
                let mut left = set;
                (0..chosen).for_each(|_| left &= left - 1);
                let picked = left & left.wrapping_neg();
                self.write(index, dst, (set & !picked) as i64, here);
            }
            Instr::New { dst, record, fields } => {
                if self.state.heap.len() >= MAX_OBJECTS {
                    self.state.collect(self.program);
                }
                if self.state.heap.len() >= MAX_OBJECTS {
                    return limit(Limit::Heap, info.at);
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
                self.write(index, dst, i64::from(number), here);
            }
            Instr::Touch { a } => {
                self.read(index, a, here, 0);
            }
            Instr::SelfHandle { dst } => {
                let id = i64::from(self.state.tasks[index].id) + 1;
                self.write(index, dst, id, here);
            }
            other => unreachable!("{other:?} is run elsewhere"),
        }
        Ok(())
    }

    // Operands.

    #[inline(always)]
    fn read_quietly(&self, index: usize, arg: Arg) -> i64 {
        operand(&self.program.code, self.state, &self.temps, &self.state.tasks[index], arg)
    }

    /// Reads the first (0) or second (1) operand of the instruction at `here`.
    #[inline(always)]
    fn read(&mut self, index: usize, arg: Arg, here: usize, which: u8) -> i64 {
        if self.log.want_accesses && arg.area() == Area::Global {
            let info = &self.program.code.infos[here];
            let span = if which == 0 { info.a } else { info.b };
            // A span that ends before it begins marks a read that is told with the write after it.
            if span.start <= span.end {
                self.access(arg, false, span);
            }
        }
        self.read_quietly(index, arg)
    }

    #[inline(always)]
    fn write(&mut self, index: usize, arg: Arg, value: i64, here: usize) {
        match arg.area() {
            Area::Local => {
                let frame = self.state.tasks[index].frame as usize;
                self.state.words[frame + arg.index()] = value;
            }
            Area::Global => {
                if self.log.want_accesses {
                    let span = self.program.code.infos[here].place;
                    self.access(arg, true, span);
                }
                self.state.words[arg.index()] = value;
            }
            Area::Temp => self.temps[arg.index()] = value,
            Area::Own => {
                let buffer = self.state.tasks[index].buffer;
                let at = self.state.own.binary_search_by_key(&buffer, |(b, _)| *b);
                let at = at.expect("a running task's buffer has its own variables");
                self.state.own[at].1[arg.index()] = value;
            }
            Area::Const => unreachable!("constants are not written"),
        }
    }

    #[cold]
    fn access(&mut self, arg: Arg, write: bool, span: Span) {
        let (variable, sync) = self.program.variables[arg.index()];
        self.log.accesses.push(Access { variable, write, sync, span });
    }

    fn element(&mut self, index: usize, base: Arg, at: Arg, shape: u32, here: usize) -> Result<Arg, Fault> {
        let i = self.read_quietly(index, at);
        let code = &self.program.code;
        // The index is told as a read of its own only where it is shared, which is inside `atomic`.
        if self.log.want_accesses && at.area() == Area::Global {
            self.access(at, false, code.infos[here].at);
        }
        Ok(base.plus(offset(code.shapes[shape as usize], i, code.infos[here].at)? as u32))
    }

    fn heap_word(&mut self, index: usize, obj: Arg, off: Arg, plus: u32, info: Info) -> Result<i64, Fault> {
        let (object, word) = self.heap_place(index, obj, off, plus, false, info)?;
        Ok(self.state.heap[object].words[word])
    }

    fn set_heap_word(
        &mut self,
        index: usize,
        obj: Arg,
        off: Arg,
        plus: u32,
        value: i64,
        info: Info,
    ) -> Result<(), Fault> {
        let (object, word) = self.heap_place(index, obj, off, plus, true, info)?;
        self.state.heap[object].words[word] = value;
        Ok(())
    }

    fn heap_place(
        &mut self,
        index: usize,
        obj: Arg,
        off: Arg,
        plus: u32,
        write: bool,
        info: Info,
    ) -> Result<(usize, usize), Fault> {
        let number = self.read_quietly(index, obj);
        let word = self.read_quietly(index, off) as usize + plus as usize;
        let Some(object) = self.state.object(number) else { return bug(BugKind::NullDereference, info.at) };
        if self.log.want_accesses && (write || info.a.start <= info.a.end) {
            let record = self.state.heap[object].record as usize;
            let sync = self.program.records[record].1[word];
            let variable = variable_of_object(number - 1) + word as u64;
            let span = if write { info.place } else { info.at };
            self.log.accesses.push(Access { variable, write, sync, span });
        }
        Ok((object, word))
    }

    fn word_at(&mut self, index: usize, loc: Loc, i: u32, here: usize) -> Result<i64, Fault> {
        match loc {
            Loc::Fixed(arg) => Ok(self.read(index, arg.plus(i), here, 0)),
            Loc::At { base, off } => {
                let from = base.plus(self.read_quietly(index, off) as u32 + i);
                Ok(self.read(index, from, here, 0))
            }
            Loc::Element { base, index: at, shape } => {
                let from = self.element(index, base, at, shape, here)?.plus(i);
                Ok(self.read(index, from, here, 0))
            }
            Loc::Heap { obj, off } => self.heap_word(index, obj, off, i, self.program.code.infos[here]),
        }
    }

    fn set_word_at(&mut self, index: usize, loc: Loc, i: u32, v: i64, here: usize) -> Result<(), Fault> {
        match loc {
            Loc::Fixed(arg) => self.write(index, arg.plus(i), v, here),
            Loc::At { base, off } => {
                let to = base.plus(self.read_quietly(index, off) as u32 + i);
                self.write(index, to, v, here);
            }
            Loc::Element { base, index: at, shape } => {
                let to = self.element(index, base, at, shape, here)?.plus(i);
                self.write(index, to, v, here);
            }
            Loc::Heap { obj, off } => self.set_heap_word(index, obj, off, i, v, self.program.code.infos[here])?,
        }
        Ok(())
    }

    // Waiting.

    /// Whether an `await` or `join` lets the task pass; its reads are told.
    fn passes(&mut self, index: usize, guard: u32, here: usize) -> Result<bool, Fault> {
        let guard = self.program.code.guards[guard as usize];
        let code = &self.program.code;
        let mut pc = guard.entry as usize;
        let value = loop {
            let at = pc;
            pc += 1;
            match code.instrs[at] {
                Instr::Value { a } => break self.read(index, a, at, 0),
                Instr::Jump { to } => pc = to as usize,
                Instr::Unless { cmp, a, b, to } => {
                    if !cmp.holds(self.read(index, a, at, 0), self.read(index, b, at, 1)) {
                        pc = to as usize;
                    }
                }
                other => self.pure(index, other, at)?,
            }
        };
        if !guard.join {
            return Ok(value != 0);
        }
        let span = code.infos[here].a;
        if value == 0 {
            return bug(BugKind::NullDereference, span);
        }
        let task = (value - 1) as TaskId;
        if self.state.index(task).is_some() {
            return Ok(false);
        }
        if self.log.want_accesses {
            self.log.accesses.push(Access { variable: end_of(task), write: false, sync: true, span });
        }
        Ok(true)
    }

    /// Instructions that occur in guards and go on with the next.
    fn pure(&mut self, index: usize, instr: Instr, here: usize) -> Result<(), Fault> {
        match instr {
            Instr::Move { dst, a } => {
                let v = self.read(index, a, here, 0);
                self.write(index, dst, v, here);
            }
            Instr::Add { dst, a, b } | Instr::Sub { dst, a, b } => {
                let (x, y) = (self.read(index, a, here, 0), self.read(index, b, here, 1));
                let sum = if matches!(instr, Instr::Add { .. }) { x.checked_add(y) } else { x.checked_sub(y) };
                match sum {
                    Some(v) => self.write(index, dst, v, here),
                    None => return limit(Limit::Integer, self.program.code.infos[here].at),
                }
            }
            Instr::Compare { cmp, dst, a, b } => {
                let v = cmp.holds(self.read(index, a, here, 0), self.read(index, b, here, 1));
                self.write(index, dst, i64::from(v), here);
            }
            Instr::Check { a, range } => {
                let (lo, hi) = self.program.code.ranges[range as usize];
                let v = self.read_quietly(index, a);
                if v < lo || v > hi {
                    return bug(BugKind::RangeOverflow, self.program.code.infos[here].at);
                }
            }
            Instr::LoadElement { dst, base, index: at, shape } => {
                let from = self.element(index, base, at, shape, here)?;
                let v = self.read(index, from, here, 1);
                self.write(index, dst, v, here);
            }
            other => self.seldom(index, other, here)?,
        }
        Ok(())
    }

    /// Whether the task, which stands at an `await` or `join`, may pass. An error lets it go on, into the error.
    pub(crate) fn may_pass(&mut self, index: usize, guard: u32, here: usize) -> bool {
        self.passes(index, guard, here).unwrap_or(true)
    }

    // Calls, births, ends.

    fn call(&mut self, index: usize, site: u32, span: Span) -> Result<usize, Fault> {
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
    fn give_back(&mut self, index: usize, values: Arg, words: u32) -> Option<usize> {
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

    fn finish(&mut self, index: usize) {
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

    fn fork(&mut self, index: usize, fork: u32, span: Span) -> Result<(), Fault> {
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
    fn start(&mut self) {
        self.state.started = true;
        let source = self.source;
        for (i, entry) in source.buffers.iter().enumerate() {
            let buffer = DECLARED_BUFFER | i as BufferId;
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

    fn birth_of_thread(&mut self, proc: usize) -> TaskId {
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
}

/// The offset of an element.
fn offset(shape: Shape, index: i64, span: Span) -> Result<i64, Fault> {
    let i = index.wrapping_sub(shape.lo);
    if index < shape.lo || i >= i64::from(shape.len) || i < 0 {
        return bug(BugKind::IndexOutOfBounds, span);
    }
    Ok(i * i64::from(shape.stride))
}

fn arith(op: Op, a: i64, b: i64, span: Span) -> Result<i64, Fault> {
    let exact = |v: Option<i64>| v.ok_or(Fault::Limit(Limit::Integer, span));
    let divides = matches!(op, Op::DivInt | Op::RemInt | Op::DivWrap | Op::RemWrap | Op::DivU64 | Op::RemU64);
    if divides && b == 0 {
        return bug(BugKind::DivisionByZero, span);
    }
    Ok(match op {
        Op::MulInt => exact(a.checked_mul(b))?,
        Op::DivInt => exact(a.checked_div(b))?,
        Op::RemInt | Op::RemWrap => a.wrapping_rem(b),
        Op::AddWrap => a.wrapping_add(b),
        Op::SubWrap => a.wrapping_sub(b),
        Op::MulWrap => a.wrapping_mul(b),
        Op::DivWrap => a.wrapping_div(b),
        Op::DivU64 => (a as u64 / b as u64) as i64,
        Op::RemU64 => (a as u64 % b as u64) as i64,
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Shl => a.wrapping_shl(b as u32),
        Op::Shr => a.wrapping_shr(b as u32),
        Op::ShrU64 => (a as u64).wrapping_shr(b as u32) as i64,
        Op::SetHas => i64::from(b != 0 && b <= MAX_IN_SET && a as u64 >> (b - 1) & 1 != 0),
        Op::SetWith if b > MAX_IN_SET => return limit(Limit::Tasks, span),
        Op::SetWith => a | 1 << (b - 1),
        Op::SetWithout if b == 0 || b > MAX_IN_SET => a,
        Op::SetWithout => a & !(1 << (b - 1)),
    })
}

fn fixed(fix: Fix, n: i64, span: Span) -> Result<i64, Fault> {
    Ok(match fix {
        Fix::No => n,
        Fix::Signed(8) => i64::from(n as i8),
        Fix::Signed(16) => i64::from(n as i16),
        Fix::Signed(_) => i64::from(n as i32),
        Fix::Unsigned(8) => i64::from(n as u8),
        Fix::Unsigned(16) => i64::from(n as u16),
        Fix::Unsigned(_) => i64::from(n as u32),
        Fix::Exact if n < 0 => return limit(Limit::Integer, span),
        Fix::Exact => n,
    })
}
