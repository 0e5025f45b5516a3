//! Atomic blocks that wait elsewhere than at their beginning: whether some way through comes to no wait that is not open. The ways
//! are made on copies of the state.

use super::{Exec, Until, limit};
use fabius_explore::system::Choose;
use fabius_explore::system::{End, Fault, Limit, StepLog};
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
            let (task, mut log) = (&mut state.tasks[index], StepLog::default());
            (task.on_stack, task.pc) = (true, here as u32 + 1);
            let mut way = Exec {
                limits: self.limits,
                source: self.source,
                program: self.program,
                state: &mut state,
                choose: &mut ways,
                log: &mut log,
                temps: vec![0; self.temps.len()],
                blocked: false,
            };
            let end = way.run(id, Until::Through);
            let blocked = way.blocked;
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
}
