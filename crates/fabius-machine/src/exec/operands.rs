//! Where instructions read and write; each access to shared variables is told.

use super::values::offset;
use super::{Exec, bug};
use crate::code::{Area, Arg, Code, Info, Instr, Loc};
use crate::state::{State, Task};
use fabius_explore::system::{Access, Fault};
use fabius_trace::{BugKind, Span};

/// Number of the first variable of a heap object.
pub(super) fn variable_of_object(number: i64) -> u64 {
    1 << 62 | (number as u64) << 30
}

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

impl Exec<'_> {
    #[inline(always)]
    pub(super) fn read_quietly(&self, index: usize, arg: Arg) -> i64 {
        operand(&self.program.code, self.state, &self.temps, &self.state.tasks[index], arg)
    }

    /// Reads the first (0) or second (1) operand of the instruction at `here`.
    #[inline(always)]
    pub(super) fn read(&mut self, index: usize, arg: Arg, here: usize, which: u8) -> i64 {
        if self.log.want_accesses && arg.area() == Area::Global {
            let info = &self.program.code.infos[here];
            let span = if which == 0 { info.a } else { info.b };
            // A span that ends before it begins marks a read that is told with the write after it.
            if span.start <= span.end && !info.hidden {
                self.access(arg, false, span);
            }
        }
        self.read_quietly(index, arg)
    }

    #[inline(always)]
    pub(super) fn write(&mut self, index: usize, arg: Arg, value: i64, here: usize) {
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

    pub(super) fn element(&mut self, index: usize, base: Arg, at: Arg, shape: u32, here: usize) -> Result<Arg, Fault> {
        let i = self.read_quietly(index, at);
        let code = &self.program.code;
        // The index is told as a read of its own only where it is shared, which is inside `atomic`.
        if self.log.want_accesses && at.area() == Area::Global && !code.infos[here].hidden {
            self.access(at, false, code.infos[here].at);
        }
        Ok(base.plus(offset(code.shapes[shape as usize], i, code.infos[here].at)? as u32))
    }

    pub(super) fn heap_word(&mut self, index: usize, obj: Arg, off: Arg, plus: u32, info: Info) -> Result<i64, Fault> {
        let (object, word) = self.heap_place(index, obj, off, plus, false, info)?;
        Ok(self.state.heap[object].words[word])
    }

    pub(super) fn set_heap_word(
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
        if self.log.want_accesses && (write || info.a.start <= info.a.end && !info.hidden) {
            let record = self.state.heap[object].record as usize;
            let sync = self.program.records[record].1[word];
            let variable = variable_of_object(number - 1) + word as u64;
            let span = if write { info.place } else { info.at };
            self.log.accesses.push(Access { variable, write, sync, span });
        }
        Ok((object, word))
    }

    pub(super) fn word_at(&mut self, index: usize, loc: Loc, i: u32, here: usize) -> Result<i64, Fault> {
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

    pub(super) fn set_word_at(&mut self, index: usize, loc: Loc, i: u32, v: i64, here: usize) -> Result<(), Fault> {
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
}
