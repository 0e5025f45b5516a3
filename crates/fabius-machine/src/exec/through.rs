//! Atomic blocks that wait elsewhere than at their beginning: whether some way through comes to no wait that is not open. The ways
//! are made on copies of the state. So are those from where a step goes round by its choices.

use super::{Exec, Until, limit};
use crate::state::State;
use fabius_explore::system::{Choose, End, Fault, Limit, StepLog, TaskId};
use fabius_explore::ways::Ways;

impl Exec<'_> {
    /// Whether the task, which stands at such a block, can go through it. A way that ends in an error can be gone.
    ///
    /// # Errors
    /// There are too many ways to know.
    pub(super) fn can_go_through(&self, index: usize, here: usize) -> Result<bool, Fault> {
        let id = self.state.tasks[index].id;
        let mut ways = Ways::default();
        loop {
            let mut state = self.state.clone();
            let task = &mut state.tasks[index];
            (task.on_stack, task.pc) = (true, here as u32 + 1);
            let (end, blocked) = self.way(&mut state, id, Until::Through, &mut ways);
            if ways.is_full() {
                return limit(Limit::Memory, self.program.code.infos[here].at);
            }
            if end != Ok(End::Dropped) || !(blocked || ways.came_back()) {
                return Ok(true);
            }
            if !ways.advance() {
                return Ok(false);
            }
        }
    }

    /// The step has come back to where it has been: the same outcomes follow as at the first time, so it is none, if there is one
    /// among them. Whether any way leads to an end, on copies of the state.
    pub(super) fn follow_round(&self, id: TaskId, until: Until, here: usize) -> Result<End, Fault> {
        let at = self.program.code.infos[here].at;
        let mut ways = Ways::default();
        loop {
            match self.way(&mut self.state.clone(), id, until, &mut ways).0 {
                Ok(End::Dropped) => {}
                // A bug is an end that others come to, too.
                Ok(_) | Err(Fault::Bug(..)) => return Ok(End::Dropped),
                Err(limit) => return Err(limit),
            }
            self.look(at)?;
            if ways.is_full() {
                return limit(Limit::Memory, at);
            }
            if !ways.advance() {
                return limit(Limit::EndlessStep, at);
            }
        }
    }

    /// Goes one way from a state: how it ends, and whether it has come to a wait that is not open.
    fn way(&self, state: &mut State, id: TaskId, until: Until, ways: &mut Ways) -> (Result<End, Fault>, bool) {
        let mut way = Exec {
            limits: self.limits,
            source: self.source,
            program: self.program,
            state,
            choose: ways,
            log: &mut StepLog::default(),
            temps: vec![0; self.temps.len()],
            blocked: false,
        };
        let end = way.run(id, until);
        (end, way.blocked)
    }
}
