//! Invariants of any number of threads whose data is not finite, or whose procedures are recursive.
//!
//! Paper: Hoenicke, Majumdar, Podelski: Thread modularity at many levels (POPL 2017), section 4: for views of two threads, the clauses
//! that an invariant has to satisfy; Farzan, Kincaid, Podelski: Proofs that count (POPL 2014) for why numbers of threads are needed beside
//! views.
//!
//! What is looked for at once: a set of views (`views.rs`) that holds those of the beginning and is closed under the steps of one of the
//! two threads and of a third one that fits to both; and sums of shared variables and numbers of threads that no step changes (`sums.rs`),
//! which the views may take for granted. Both begin with what is too good to be true, and give way wherever a step shows that. When no
//! step does any more, both hold of every reachable state, by induction on how it was reached: so if no view lets an assertion fail, none
//! fails, whatever the number of threads and of rounds.
//!
//! Deviations:
//! 1. Threads of a declared number are threads like the others. That there are so many of each is known from the sums.
//! 2. Frames of recursive procedures are threads of their own (`flow.rs`).
//! 3. The questions are decided by the embedded solver, for integers of any size.

mod flow;
mod search;
mod steps;
mod sums;
mod views;
mod words;

pub use search::{Found, Invariants, invariants};
