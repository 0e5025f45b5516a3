//! Guards: whether a task that waits may go on.

use super::{Exec, bug};
use crate::code::{Instr, Stands};
use crate::compile::Compiled;
use crate::state::State;
use fabius_explore::system::{Access, End, Fault, TaskId, end_of};
use fabius_trace::BugKind;

impl Exec<'_> {
    /// Stands at an `await` or `join`: the end of the step, if the task may not pass.
    pub(super) fn waits(&mut self, index: usize, guard: u32, here: usize) -> Result<Option<End>, Fault> {
        let told = self.log.accesses.len();
        if self.passes(index, guard, here)? {
            return Ok(None);
        }
        if self.program.code.guards[guard as usize].stands == Stands::Midway {
            // A way that is not open is undone, with what it has read.
            self.log.accesses.clear();
            self.blocked = true;
            return Ok(Some(End::Dropped));
        }
        // Only what lets the task pass is an access.
        self.log.accesses.truncate(told);
        let task = &mut self.state.tasks[index];
        task.pc = here as u32;
        if task.id == task.buffer {
            return Ok(Some(End::Point));
        }
        task.on_stack = false;
        Ok(Some(End::Wait))
    }

    /// Whether an `await` or `join` lets the task pass; its reads are told.
    fn passes(&mut self, index: usize, guard: u32, here: usize) -> Result<bool, Fault> {
        let guard = self.program.code.guards[guard as usize];
        if guard.stands == Stands::AnyWay {
            return self.can_go_through(index, here);
        }
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
                other => self.plain(index, other, at)?,
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
        let joined_in_a_row = guard.group.is_none_or(|group| all_have_finished(self.program, self.state, index, group));
        if self.state.index(task).is_some() || !joined_in_a_row {
            return Ok(false);
        }
        if self.log.want_accesses {
            self.log.accesses.push(Access { variable: end_of(task), write: false, sync: true, span });
        }
        Ok(true)
    }

    /// Whether a condition of a property holds, which no task is asked for.
    pub(crate) fn holds(&mut self, guard: u32) -> Result<bool, Fault> {
        self.passes(0, guard, self.program.code.guards[guard as usize].entry as usize)
    }

    /// Whether the task, which stands at an `await` or `join`, may pass. An error lets it go on, into the error.
    pub(crate) fn may_pass(&mut self, index: usize, guard: u32, here: usize) -> bool {
        self.passes(index, guard, here).unwrap_or(true)
    }
}

/// Whether all those of a group have finished.
pub(crate) fn all_have_finished(program: &Compiled, state: &State, index: usize, group: u32) -> bool {
    let frame = state.tasks[index].frame as usize;
    let has_finished = |word: &u32| match state.words[frame + *word as usize] {
        0 => true,
        handle => state.index((handle - 1) as TaskId).is_none(),
    };
    program.groups[group as usize].1.iter().all(has_finished)
}
