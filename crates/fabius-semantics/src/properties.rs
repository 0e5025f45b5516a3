//! Which of the conditions hold in a configuration that properties are about.
//!
//! A property speaks of the configurations between steps: the first one, and that behind each step. An execution is
//! infinite, or it ends in a configuration in which nobody can go on, which then counts as repeated for ever.
//!
//! * `eventually e`: `e` holds in some configuration.
//! * `always eventually e`: in infinitely many.
//! * `eventually always e`: in all from some on.
//! * `e leads to f`: in each in which `e` holds, `f` holds, too, or in a later one.
//!
//! It is asked of the executions that are fair: weakly, if each thread that can go on in all configurations from some on
//! makes infinitely many steps; strongly, if each thread that can go on in infinitely many does; without fairness, of all.
//! A thread is a buffer here. A property may ask for fairness to some threads alone, or for another one to them than to the rest:
//! a thread is meant by what it began as ([`origin`]).

use crate::config::{Config, Frame};
use crate::control::Control;
use crate::eval::Scope;
use crate::layout::Layout;
use fabius_explore::system::{BufferId, Fault};
use fabius_lang::program::{ProcId, Program};

/// The conditions of the program, in their order. They read neither locals nor per-thread variables.
///
/// # Errors
/// The first of them without a value: a division by zero, an index out of bounds ..
pub(crate) fn conditions(program: &Program, layout: &Layout, config: &Config) -> Result<Vec<bool>, Fault> {
    let frame = Frame { proc: 0, control: Control::start(), locals: Vec::new() };
    let mut scope = Scope { program, layout, config, buffer: 0, task: 0, frame: &frame, accesses: Vec::new() };
    program.conditions.iter().map(|e| Ok(scope.eval(e)?.is_true())).collect()
}

/// The procedure that the thread of a buffer began as, if it has not come to its end.
pub(crate) fn origin(config: &Config, n: BufferId) -> Option<ProcId> {
    let (_, thread) = config.task(n)?;
    thread.frames.first().map(|frame| frame.proc)
}
