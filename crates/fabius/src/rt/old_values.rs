//! Rounds of loops in which a thread finds old values: after many in a row it finds the newest (`repetition.rs`, 9).
//!
//! It must do so once for each atomic of which these rounds have found old ones. Who has seen a store does not find older ones, so that
//! is enough, and nothing else is kept from it: neither other atomics, nor what comes behind the loop.

use std::panic::Location;

/// So many rounds in a row. Loops that end by themselves hardly have so many.
const OLD_ROUNDS: u32 = 64;

/// What is known of the thread of that number.
#[derive(Debug, Default)]
struct Thread {
    /// Whether it has found an old value since it gave way, and in how many rounds in a row before.
    finds: bool,
    rounds: u32,
    /// Of which atomics in those rounds.
    found: Vec<usize>,
    /// Of which it finds the newest value next, and where the loop gives way.
    newest: Vec<(usize, &'static Location<'static>)>,
}

/// Those that have found old values, where any can be found; others have no entry.
#[derive(Debug, Default)]
pub(super) struct OldValues(Vec<Thread>);

impl OldValues {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A thread has found an old value of an atomic, or has put an own one behind a newer one.
    pub fn finds(&mut self, thread: usize, atomic: usize) {
        if thread >= self.0.len() {
            self.0.resize_with(thread + 1, Thread::default);
        }
        let this = &mut self.0[thread];
        this.finds = true;
        if !this.found.contains(&atomic) {
            this.found.push(atomic);
        }
    }

    /// A thread gives way.
    pub fn gives_way(&mut self, thread: usize, at: &'static Location<'static>) {
        let Some(this) = self.0.get_mut(thread) else { return };
        if !std::mem::take(&mut this.finds) {
            this.rounds = 0;
            this.found.clear();
            return;
        }
        this.rounds += 1;
        if this.rounds == OLD_ROUNDS {
            this.rounds = 0;
            let is_new = |atomic: &usize| !this.newest.iter().any(|(known, _)| known == atomic);
            let new: Vec<usize> = this.found.drain(..).filter(is_new).collect();
            this.newest.extend(new.into_iter().map(|atomic| (atomic, at)));
        }
    }

    /// A thread does something to an atomic: if it must find the newest value, the loop for which that is so.
    pub fn must_find_newest(&mut self, thread: usize, atomic: usize) -> Option<&'static Location<'static>> {
        let newest = &mut self.0.get_mut(thread)?.newest;
        let position = newest.iter().position(|(of, _)| *of == atomic)?;
        Some(newest.swap_remove(position).1)
    }
}
