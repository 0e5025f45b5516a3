//! FORGET, at every scheduling point: a local variable that is dead where its frame stands has its type's default value.
//!
//! The papers have no such rule; their configurations remember every local of a frame. What is dead cannot be told by any
//! other rule, so that only fewer configurations differ.

use crate::config::{Config, Frame};
use crate::control::Control;
use crate::value::Value;
use fabius_lang::live::Live;
use fabius_lang::program::{Proc, Program, Type};

/// What is alive where, by procedure.
pub struct Alive(Vec<Live>);

impl Alive {
    /// Looks at a program.
    pub fn of(program: &Program) -> Alive {
        Alive(program.procs.iter().map(Live::of).collect())
    }

    /// Applies the rule to every frame.
    pub fn forget(&self, program: &Program, config: &mut Config) {
        self.each_dead(program, config, &mut |ty, value| *value = Value::default_of(program, ty));
    }

    /// Calls `f` with every dead local.
    pub fn each_dead(&self, program: &Program, config: &mut Config, f: &mut dyn FnMut(&Type, &mut Value)) {
        for buffer in config.buffers.values_mut() {
            for task in buffer.stack.iter_mut().chain(&mut buffer.pending) {
                let Some((running, callers)) = task.frames.split_last_mut() else { continue };
                self.frame(program, running, false, f);
                callers.iter_mut().for_each(|frame| self.frame(program, frame, true, f));
            }
        }
    }

    fn frame(&self, program: &Program, frame: &mut Frame, calls: bool, f: &mut dyn FnMut(&Type, &mut Value)) {
        let (proc, live) = (&program.procs[frame.proc], &self.0[frame.proc]);
        let statement = number(live, proc, &frame.control);
        for (local, value) in frame.locals.iter_mut().enumerate() {
            let is_alive = match statement {
                Some(call) if calls => live.during(call, local),
                _ => live.before(statement, local),
            };
            if !is_alive {
                f(&proc.locals[local].ty, value);
            }
        }
    }
}

/// The number of the next statement in the text of its procedure; `None` at the end.
fn number(live: &Live, proc: &Proc, control: &Control) -> Option<usize> {
    control.statement(proc)?;
    let mut first = 0;
    let mut number = 0;
    for (depth, turn) in control.0.iter().enumerate() {
        number = live.number(first, turn.index);
        first = number + 1;
        if turn.block == 1 {
            // Behind the other block.
            first = live.number(first, control.block(proc, depth, 0)?.len());
        }
    }
    Some(number)
}
