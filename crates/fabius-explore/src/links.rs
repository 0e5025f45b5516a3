//! Which steps of one execution belong together: who was made by whom, who waited for whom, and around a race what
//! synchronizes with what.
//!
//! Fed with the steps of a schedule that is run once more, of a model or of a Rust test.

use crate::race::{Race, Runner};
use crate::system::{BufferId, StepLog, TaskId, end_of};
use fabius_trace::{Link, LinkKind};
use std::collections::HashMap;

/// Collects the links of an execution, step by step.
#[derive(Debug, Default)]
pub struct Links {
    /// Between tasks.
    tasks: Vec<Link>,
    /// Between synchronization accesses of different threads, with the variable.
    order: Vec<(Link, u64)>,
    /// Made, but without a step yet.
    born: HashMap<TaskId, (u32, LinkKind)>,
    /// The last step of each task.
    last: HashMap<TaskId, u32>,
    /// The last steps that accessed a variable, one for each thread or buffer.
    accesses: HashMap<u64, Vec<Seen>>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    by: BufferId,
    step: u32,
    write: bool,
}

impl Links {
    /// Takes note of step number `step`, which `runner` made; `log` has its accesses.
    pub fn step(&mut self, step: u32, runner: Runner, log: &StepLog) {
        let Runner { task, buffer } = runner;
        if let Some((from, kind)) = self.born.remove(&task) {
            self.tasks.push(link(kind, from, step));
        }
        for access in log.accesses.iter().filter(|a| a.sync && !a.write && a.variable & end_of(0) != 0) {
            let joined = (access.variable & !end_of(0)) as TaskId;
            if let Some(from) = self.last.get(&joined) {
                self.tasks.push(link(LinkKind::Join, *from, step));
            }
        }
        for access in &log.accesses {
            let seen = self.accesses.entry(access.variable).or_default();
            if access.sync && access.variable & end_of(0) == 0 {
                let others = seen.iter().filter(|s| s.by != buffer && (access.write || s.write));
                if let Some(before) = others.max_by_key(|s| s.step) {
                    self.order.push((link(LinkKind::HappensBefore, before.step, step), access.variable));
                }
            }
            match seen.iter_mut().find(|s| s.by == buffer) {
                // One entry for several accesses: what counts is whether any of them since then writes.
                Some(s) => *s = Seen { step, write: access.write || s.step == step && s.write, ..*s },
                None => seen.push(Seen { by: buffer, step, write: access.write }),
            }
        }
        for born in &log.born {
            let kind = if born.buffer == born.task { LinkKind::Spawn } else { LinkKind::Post };
            self.born.insert(born.task, (step, kind));
        }
        self.last.insert(task, step);
    }

    /// The links in order; around a race also those that order accesses, and the race itself. `name` says what people
    /// call a variable.
    pub fn finish(self, race: Option<&Race>, name: impl Fn(u64) -> Option<String>) -> Vec<Link> {
        let mut links = self.tasks;
        if let Some(race) = race {
            links.extend(self.order.into_iter().map(|(link, variable)| Link { label: name(variable), ..link }));
            let seen = self.accesses.get(&race.variable).map(Vec::as_slice).unwrap_or_default();
            let of = |thread: BufferId| seen.iter().find(|s| s.by == thread).map(|s| s.step);
            if let (Some(from), Some(to)) = (race.first.and_then(|p| of(p.thread)), of(race.second.thread)) {
                links.push(Link { label: name(race.variable), ..link(LinkKind::Race, from, to) });
            }
        }
        links.sort_by_key(|l| (l.to, l.from));
        links.dedup();
        links
    }
}

fn link(kind: LinkKind, from: u32, to: u32) -> Link {
    Link { kind, from, to, label: None }
}
