//! Fewer steps: of a state whose other steps can be made later just as well, only those of some threads are made.
//!
//! Paper: Improving Spin's Partial-Order Reduction for Breadth-First Search (Bosnacki and Holzmann, SPIN 2005), section 4.
//!
//! The system says which threads ([`Packed::ample`]). What the others do must not be put off for ever: one of the steps made must
//! lead to a state that is looked at in a later level, or all are made. From each state some chain of such states leads to one of
//! which all steps are made, so by induction on the number of steps that a bug is away it is found. An outcome that is dropped or
//! fails leads nowhere, so whoever makes it does not put off the others.
//!
//! Deviations:
//! 1. Where there are infinitely many states such a chain need not end. So of the states of every so many levels all steps are made, and
//!    a bug is found though somebody counts for ever.
//! 2. A state that is stored already but lies in the level that is being looked at does not count, though its turn may be yet to come: otherwise
//!    what is explored would depend on the number of workers.

use super::{Search, Worker};
use crate::system::Packed;

/// Levels of which one is explored in full.
pub(super) const PERIOD: u32 = 1000;

impl<S> Search<'_, S>
where
    S: Packed + Sync,
    S::State: Send,
{
    /// Makes as many steps of a state as will do, of those of the tasks that can go on.
    pub(super) fn make_some(&self, worker: &mut Worker<'_, S>, state: u32, ready: &[usize]) {
        let mut chosen = std::mem::take(&mut worker.chosen);
        chosen.clear();
        // What others made does not count.
        self.settle(worker);
        worker.goes_deeper = false;
        if self.context.system.ample(&worker.cursor, ready, &mut chosen) {
            for (number, index) in ready.iter().enumerate().filter(|(_, index)| chosen.contains(index)) {
                self.step(worker, state, *index, number);
            }
            self.settle(worker);
            worker.sum.reduced += u64::from(worker.goes_deeper);
        }
        if !worker.goes_deeper {
            for (number, index) in ready.iter().enumerate().filter(|(_, index)| !chosen.contains(index)) {
                self.step_unless_repeated(worker, state, *index, number);
            }
        }
        worker.chosen = chosen;
    }
}
