//! Which words of a frame are dead where a task may stand.

use super::Compiler;
use crate::code::Code;
use fabius_lang::live::Live;
use fabius_lang::program::{LocalId, Proc, ProcId, Program};
use std::collections::HashMap;

/// The liveness of the procedure that is being compiled, and how far that has come.
pub(super) struct Dead {
    live: Live,
    /// Number of the next statement.
    next: usize,
    /// Offset and number of words of each local, by procedure.
    words: Vec<Vec<(u32, u32)>>,
    /// Numbers of the sets so far.
    known: HashMap<Vec<(u32, u32)>, u32>,
}

impl Dead {
    pub(super) fn of(program: &Program) -> Dead {
        let words = program.procs.iter().map(|proc| {
            let mut next = 0;
            let words = proc.locals.iter().map(|local| {
                let count = crate::layout::words_of(program, &local.ty) as u32;
                next += count;
                (next - count, count)
            });
            words.collect()
        });
        Dead { live: Live::default(), next: 0, words: words.collect(), known: HashMap::from([(Vec::new(), 0)]) }
    }

    /// A procedure begins.
    pub(super) fn begin(&mut self, proc: &Proc) {
        self.live = Live::of(proc);
        self.next = 0;
    }

    /// The next statement of the text begins.
    pub(super) fn next_statement(&mut self) {
        self.next += 1;
    }
}

impl Compiler<'_> {
    /// Here a task may stand in front of the statement that has just begun.
    pub(super) fn stands(&mut self) {
        let current = self.dead.next - 1;
        let set = self.dead_words(|live, local| live.before(Some(current), local));
        self.mark(set);
    }

    /// Here a task may stand at the end of a procedure.
    pub(super) fn stands_at_end(&mut self) {
        let set = self.dead_words(|live, local| live.before(None, local));
        self.mark(set);
    }

    /// What is dead while the call that has just begun is under way.
    pub(super) fn dead_during_call(&mut self) -> u32 {
        let current = self.dead.next - 1;
        self.dead_words(|live, local| live.during(current, local))
    }

    fn mark(&mut self, set: u32) {
        let here = self.code.instrs.len();
        // Statements that have no code stand in one place; what one of them needs is kept.
        match self.code.dead_at.get(here).copied() {
            None => {
                self.code.dead_at.resize(here, 0);
                self.code.dead_at.push(set);
            }
            Some(other) if other != set => self.code.dead_at[here] = self.common(other, set),
            Some(_) => {}
        }
    }

    /// Where both are dead.
    fn common(&mut self, a: u32, b: u32) -> u32 {
        let covers =
            |set: u32, word: u32| self.code.dead[set as usize].iter().any(|(from, to)| (*from..*to).contains(&word));
        let words: Vec<u32> = self.code.dead[a as usize].iter().flat_map(|(from, to)| *from..*to).collect();
        let words = words.into_iter().filter(|word| covers(b, *word)).map(|word| (word, word + 1)).collect();
        self.intern(words)
    }

    fn dead_words(&mut self, is_live: impl Fn(&Live, LocalId) -> bool) -> u32 {
        let dead = &self.dead;
        let words = dead.words[self.proc].iter().enumerate();
        let words = words.filter(|(local, _)| !is_live(&dead.live, *local)).map(|(_, (at, count))| (*at, at + count));
        let words = words.collect();
        self.intern(words)
    }

    fn intern(&mut self, ranges: Vec<(u32, u32)>) -> u32 {
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (from, to) in ranges {
            match joined.last_mut() {
                Some(last) if last.1 == from => last.1 = to,
                _ if from == to => {}
                _ => joined.push((from, to)),
            }
        }
        let sets = &mut self.code.dead;
        let known = self.dead.known.entry(joined.clone()).or_insert_with(|| {
            sets.push(joined);
            sets.len() as u32 - 1
        });
        *known
    }
}

impl Code {
    /// Lets these words of the frame of a procedure be dead only where all of them are.
    pub(super) fn forget_together(&mut self, proc: ProcId, words: &[u32]) {
        for pc in 0..self.dead_at.len() {
            let dead = &self.dead[self.dead_at[pc] as usize];
            let is_dead = |word: &u32| dead.iter().any(|(from, to)| (*from..*to).contains(word));
            if self.proc_of[pc] as usize != proc || words.iter().all(is_dead) || !words.iter().any(is_dead) {
                continue;
            }
            let all = dead.iter().flat_map(|(from, to)| *from..*to);
            let kept = all.filter(|word| !words.contains(word)).map(|word| (word, word + 1)).collect();
            self.dead.push(kept);
            self.dead_at[pc] = self.dead.len() as u32 - 1;
        }
    }
}
