//! What task buffers are called.

/// A task buffer. Every thread is a buffer of its own; its id is then the thread's task id.
pub type BufferId = u32;

/// Set in the ids of buffers that are not threads.
pub const DECLARED_BUFFER: BufferId = 1 << 30;

/// Set in the ids of declared buffers whose tasks stand in a queue: those of a level run in the order in which they were
/// posted. Others are bags.
pub const FIFO_BUFFER: BufferId = 1 << 29;

/// The number of a declared buffer, in the order of declarations.
pub fn number_of_declared(buffer: BufferId) -> Option<u32> {
    (buffer & DECLARED_BUFFER != 0).then_some(buffer & !(DECLARED_BUFFER | FIFO_BUFFER))
}
