//! Whether the rules let a task run now.

use super::Replay;
use crate::config::{Config, Task, Whereabouts};
use crate::rules::{buffer_of, may_dispatch};
use crate::run::{is_next_in_line, is_ready};
use crate::value::TaskId;
use fabius_explore::system::{BufferId, End, System};

impl Replay<'_> {
    /// Why the rules do not let the task run now.
    pub(super) fn may_not_run(&self, config: &Config, task: TaskId) -> Option<String> {
        let name = self.names.of_task(task);
        if !self.reference.ready(config, task) {
            return Some(format!("{name} waits and cannot go on"));
        }
        let (n, _) = config.task(task)?;
        if let Some(owner) = self.in_control(config)
            && owner != n
        {
            return Some(match self.last {
                Some(_) => {
                    format!("{name} is on another buffer, and {} has not given up control", self.names.of_buffer(owner))
                }
                None => format!("{name} is not on the buffer that begins"),
            });
        }
        let why = self.may_not_go(config, task)?;
        Some(format!("{why} runs before {name}"))
    }

    /// The buffer that alone may go on: the one that begins, or one that has not come to a point where control is handed
    /// over; not if it cannot go on.
    pub(super) fn in_control(&self, config: &Config) -> Option<BufferId> {
        let owner = match self.last {
            // Behind an `init`, even if nobody has seen it, any buffer may begin.
            None if self.program.init.is_some() => return None,
            None => buffer_of(0, self.program.buffers.first()?),
            Some((n, _, End::Yield | End::Interrupted | End::Finished)) => n,
            Some((_, _, End::Point | End::Wait | End::Dropped)) => return None,
        };
        self.buffer_can_go(config, owner).then_some(owner)
    }

    /// Whether one of its tasks could go on if no other buffer kept control.
    pub(super) fn buffer_can_go(&self, config: &Config, n: BufferId) -> bool {
        let tasks: Vec<TaskId> = config.tasks().filter(|(b, _)| *b == n).map(|(_, t)| t.id).collect();
        tasks.into_iter().any(|t| self.reference.ready(config, t) && self.may_not_go(config, t).is_none())
    }

    /// Who runs before, by the premises about levels and queues: of DISPATCH for a pending task, of all other rules for a running
    /// one.
    fn may_not_go(&self, config: &Config, task: TaskId) -> Option<&'static str> {
        let higher = |allowed: bool| if allowed { None } else { Some("a task of a higher level") };
        match config.find(task) {
            Some(Whereabouts::Stack(n, at)) => {
                let buffer = &config.buffers[&n];
                higher(at + 1 == buffer.stack.len() && buffer.may_go_on())
            }
            Some(Whereabouts::Pending(n, at)) => {
                let mut buffer = config.buffers[&n].clone();
                let level = buffer.pending[at].level;
                let waits =
                    |t: &Task| t.level >= level && !is_ready(self.program, &self.reference.layout, config, n, t);
                if buffer.innermost().is_some_and(waits) {
                    let waiting = buffer.stack.pop().expect("it was just seen");
                    buffer.pending.push(waiting);
                }
                let in_line = is_next_in_line(self.program, &self.reference.layout, config, (n, &buffer), at);
                higher(may_dispatch(&buffer, at)).or(if in_line { None } else { Some("a task that came earlier") })
            }
            None => Some("nobody"),
        }
    }
}
