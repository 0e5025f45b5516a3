//! Outcomes of choices inside of a step that come to where others have been.
//!
//! `choose { a } or { b }` ten times in a step has a thousand outcomes, and mostly few places that they lead to; `while * { }` may
//! go round any number of times, and each number is an outcome. In front of each choice but the first of a step the search is told
//! where the step is. All that can follow can also follow from the first time, so whoever comes there again is dropped, if the
//! search says so. A loop without choices is left alone: it has no end, which is a limit that is reported.

use crate::exec::Exec;
use fabius_explore::system::Access;

impl Exec<'_> {
    /// Whether the step of this task, which is in front of a choice, need not go on from here. Between statements no temporary
    /// matters, nor does a dead local.
    pub(crate) fn comes_back(&mut self, index: usize, here: usize) -> bool {
        self.state.tasks[index].pc = here as u32;
        self.state.forget(index, self.program);
        let (state, log) = (&*self.state, &*self.log);
        let mut accesses: Vec<&Access> = log.accesses.iter().collect();
        accesses.sort_by_key(|a| (a.variable, a.write, a.sync, a.span.start, a.span.end));
        accesses.dedup();
        let describe = &mut |out: &mut Vec<u8>| {
            let mut put = |number: i64| out.extend(number.to_le_bytes());
            put(index as i64);
            let parts = [state.words.len(), state.tasks.len(), state.own.len(), state.heap.len(), state.finished.len()];
            parts.iter().chain(&[log.born.len(), log.finished.len()]).for_each(|n| put(*n as i64));
            put(i64::from(state.started) << 1 | i64::from(log.progress));
            state.words.iter().for_each(|word| put(*word));
            for task in &state.tasks {
                put(i64::from(task.id) << 32 | i64::from(task.buffer));
                put(i64::from(task.level) << 33 | i64::from(task.on_stack) << 32 | i64::from(task.pc));
                put(i64::from(task.start) << 32 | i64::from(task.end));
                put(i64::from(task.frame) << 32 | i64::from(task.depth));
            }
            for (buffer, words) in &state.own {
                put(i64::from(*buffer));
                words.iter().for_each(|word| put(*word));
            }
            for object in &state.heap {
                put(i64::from(object.number) << 32 | i64::from(object.record));
                put(object.words.len() as i64);
                object.words.iter().for_each(|word| put(*word));
            }
            state.finished.iter().for_each(|task| put(i64::from(*task)));
            log.born.iter().for_each(|born| put(i64::from(born.task)));
            for access in &accesses {
                put(access.variable as i64);
                put(i64::from(access.write) << 1 | i64::from(access.sync));
                put(i64::from(access.span.start) << 32 | i64::from(access.span.end));
            }
        };
        self.choose.comes_back(describe)
    }
}
