//! What is known of the memory orders of a program. `library/orders.rs` finds it out.

use fabius_trace::{MemoryOrder, Span};
use std::collections::{BTreeMap, BTreeSet};

/// What is found out about the orders of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orders {
    /// What operations at these places order.
    pub asked: BTreeMap<Span, MemoryOrder>,
    /// Their places, by where they are in the preprocessed text: several in a line that a macro has made have one each.
    pub places: BTreeMap<usize, Span>,
    /// Where other operations synchronize.
    pub others: BTreeSet<Span>,
    /// Where who may be refused a lock looks at it. That alone orders nothing, whatever orders there are.
    pub tests: BTreeSet<Span>,
    /// Where `_Atomic` variables are used without an order.
    pub plain: BTreeSet<Span>,
    /// Whether an operation tells what another variable is, and orders nothing: a lock that is not taken, the value of a semaphore.
    pub looks: bool,
    /// Whether one is weaker than sequentially consistent.
    pub weak: bool,
    /// Whether what is ordered is not known: by operations of several orders at one place, or by an order that is no
    /// constant.
    pub unknown: bool,
}

/// What a program's atomic operations may do that is not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weaker {
    /// They order less than they are taken to, which may hide data races.
    pub hides_races: bool,
    /// They are weaker than sequentially consistent, and of several variables.
    pub shows_more: bool,
}
