//! What an atomic operation orders, as its program says.

/// The order of an atomic operation on one variable: which of acquiring and releasing it does (C11 7.17.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryOrder {
    /// What it reads, it acquires.
    pub acquires: bool,
    /// What it writes, it releases.
    pub releases: bool,
    /// The same as `acquires` of one that fails to write, a failed compare-and-exchange.
    pub acquires_in_vain: bool,
}

impl MemoryOrder {
    /// Both, always: sequentially consistent, or acquiring and releasing.
    pub const BOTH: MemoryOrder = MemoryOrder { acquires: true, releases: true, acquires_in_vain: true };
}
