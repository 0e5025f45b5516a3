//! What is known of the states of a stateful search: their bytes, how they were reached, which moves were made.

use crate::dispatcher::Last;
use crate::intern::Interner;
use crate::system::{BufferId, number_of_declared};
use fabius_trace::Bound;
use std::collections::HashSet;

/// The bit in a mask that all threads and buffers share which do not have one of their own.
pub(crate) const WIDE_BIT: u64 = 1 << 63;

/// The bit in a mask of a thread or buffer.
pub(crate) fn bit_of(unit: BufferId) -> u64 {
    match number_of_declared(unit) {
        Some(i) if i < 31 => 1 << (32 + i),
        None if unit < 32 => 1 << unit,
        _ => WIDE_BIT,
    }
}

/// The bit in a mask of the thread or buffer at a position in the order of creation.
pub(crate) fn bit_at(position: u32) -> u64 {
    if position < 63 { 1 << position } else { WIDE_BIT }
}

/// One visit of a state that led to moves. The number of a visit, like that of a state, has its shard in the low bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Index in the shard.
    pub(crate) state: u32,
    /// The arrival that it was reached from.
    pub(crate) parent: u32,
    pub(crate) last: Last,
}

/// Which moves of a state have been made or are about to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimed {
    pub(crate) moves: u64,
    pub(crate) cost: u32,
}

#[derive(Default)]
pub(crate) struct Shard {
    pub(crate) states: Interner,
    pub(crate) arrivals: Vec<Arrival>,
    /// By state; only if the cost depends on who ran last.
    pub(crate) claimed: Vec<Claimed>,
    /// The same for threads that have no bit.
    pub(crate) wide: HashSet<(u32, BufferId)>,
    /// The states of the program, where the stored ones have a scheduler or a race detector in them that matters.
    pub(crate) plain: Interner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moves {
    /// Those with a bit in the mask.
    Masked(u64),
    /// Those of a thread without a bit.
    Of(BufferId),
    /// Those of threads without a bit that are late enough in the order of creation to be free.
    Late,
    /// All that nobody has claimed before the cost rises.
    Rest,
}

impl Shard {
    /// Claims the free moves of a state as far as nobody has; returns which these are.
    pub(crate) fn claim(&mut self, state: u32, free: Moves, remember: bool) -> Moves {
        if !remember {
            return free;
        }
        let number = self.states.number(state);
        let claimed = &mut self.claimed[number];
        match free {
            Moves::Masked(mask) => {
                let new = mask & !claimed.moves;
                claimed.moves |= mask;
                Moves::Masked(new)
            }
            Moves::Of(unit) if claimed.moves & WIDE_BIT == 0 && self.wide.insert((state, unit)) => free,
            // Which these are is seen when they are made.
            Moves::Late if claimed.moves & WIDE_BIT == 0 => free,
            Moves::Of(_) | Moves::Late | Moves::Rest => Moves::Masked(0),
        }
    }

    /// Claims the move of a thread without a bit, unless somebody has.
    pub(crate) fn claim_wide(&mut self, state: u32, unit: BufferId) -> bool {
        let number = self.states.number(state);
        self.claimed[number].moves & WIDE_BIT == 0 && self.wide.insert((state, unit))
    }
}

/// The moves that cost nothing if this one ran last.
pub(crate) fn free_moves(bound: Bound, last: Last) -> Moves {
    match (bound, last) {
        (Bound::None, _) => Moves::Masked(u64::MAX),
        (Bound::Depth, _) => Moves::Masked(0),
        (Bound::Delays, _) => Moves::Masked(1),
        (Bound::Contexts | Bound::Preemptions | Bound::Rounds, Last::Free) => Moves::Masked(u64::MAX),
        (_, Last::At(at)) if at > WIDE_BIT.trailing_zeros() => Moves::Late,
        (_, Last::At(at)) => Moves::Masked(!(bit_at(at) - 1)),
        (Bound::Contexts | Bound::Preemptions, Last::Ran(unit)) => match bit_of(unit) {
            WIDE_BIT => Moves::Of(unit),
            bit => Moves::Masked(bit),
        },
        (Bound::Contexts | Bound::Preemptions, Last::Gone) => Moves::Masked(0),
        (Bound::Rounds, Last::Gone | Last::Ran(_)) => Moves::Masked(u64::MAX),
    }
}
