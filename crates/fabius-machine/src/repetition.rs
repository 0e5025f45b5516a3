//! Outcomes of choices inside of a step that come to where others have been.
//!
//! `choose { a } or { b }` ten times in a step has a thousand outcomes, and mostly few places that they lead to; `while * { }` may
//! go round any number of times, and each number is an outcome. In front of each choice but the first of a step the search is told
//! where the step is. All that can follow can also follow from the first time, so whoever comes there again is dropped, if the
//! search says so. A loop without choices is left alone: it has no end, which is a limit that is reported.

use crate::exec::Exec;
use fabius_explore::race::events;
use fabius_explore::system::Access;

impl Exec<'_> {
    /// Whether the step of this task, which is in front of a choice, need not go on from here. Between statements no temporary
    /// matters, nor does a dead local.
    pub(crate) fn comes_back(&mut self, index: usize, here: usize) -> bool {
        self.state.tasks[index].pc = here as u32;
        self.state.forget(index, self.program);
        let (state, log) = (&*self.state, &*self.log);
        // In whatever order: but for what stands behind the last synchronization, which orders what stands before it.
        let (before, behind) = events(&log.accesses);
        let accesses = [before, behind].map(|part| {
            let mut accesses: Vec<&Access> = part.iter().collect();
            accesses.sort_by_key(|a| (a.variable, a.write, a.sync, a.span.start, a.span.end));
            accesses.dedup();
            accesses
        });
        let describe = &mut |out: &mut Vec<i64>| {
            let pair = |high: u32, low: u32| i64::from(high) << 32 | i64::from(low);
            out.push(index as i64);
            let parts = [state.words.len(), state.tasks.len(), state.own.len(), state.heap.len(), state.finished.len()];
            out.extend(parts.iter().chain(&[log.born.len(), log.finished.len()]).map(|n| *n as i64));
            out.push(i64::from(state.started) << 1 | i64::from(log.progress));
            out.extend_from_slice(&state.words);
            for task in &state.tasks {
                out.push(pair(task.id, task.buffer));
                out.push(i64::from(task.level) << 33 | i64::from(task.on_stack) << 32 | i64::from(task.pc));
                out.push(pair(task.start, task.end));
                out.push(pair(task.frame, task.depth));
            }
            for (buffer, words) in &state.own {
                out.push(i64::from(*buffer));
                out.extend_from_slice(words);
            }
            for object in &state.heap {
                out.push(pair(object.number, object.record));
                out.push(object.words.len() as i64);
                out.extend_from_slice(&object.words);
            }
            out.extend(state.finished.iter().map(|task| i64::from(*task)));
            out.extend(log.born.iter().map(|born| i64::from(born.task)));
            out.push(accesses[0].len() as i64);
            for access in accesses.iter().flatten() {
                out.push(access.variable as i64);
                out.push(i64::from(access.write) << 1 | i64::from(access.sync));
                out.push(pair(access.span.start, access.span.end));
            }
        };
        self.choose.comes_back(describe)
    }
}
