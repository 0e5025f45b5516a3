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
    /// It is a fence (C11 7.17.4): what its thread has read before, it acquires; what its thread writes later, it releases.
    pub is_fence: bool,
}

impl MemoryOrder {
    /// Both, always: sequentially consistent, or acquiring and releasing.
    pub const BOTH: MemoryOrder =
        MemoryOrder { acquires: true, releases: true, acquires_in_vain: true, is_fence: false };
    /// Neither: relaxed.
    pub const NEITHER: MemoryOrder =
        MemoryOrder { acquires: false, releases: false, acquires_in_vain: false, is_fence: false };
    /// Nothing at all, not even together with fences: a fence of no order.
    pub const NOTHING: MemoryOrder = MemoryOrder { is_fence: true, ..MemoryOrder::NEITHER };
}
