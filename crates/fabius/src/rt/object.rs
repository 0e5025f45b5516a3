//! Identities of the objects of an execution.

use super::Rt;
use std::cell::Cell;
use std::panic::Location;

/// Part of every synchronization object and tracked cell: its number in the current execution, given on first use.
pub(crate) struct Object {
    /// The execution in the upper half, the number in the lower.
    number: Cell<u64>,
    /// Where the object was made.
    pub made: &'static Location<'static>,
}

// SAFETY: all threads of an execution are fibers of one operating system thread. An object that is shared by executions
// on several threads is a static; what may be torn is its number, which is then given anew.
unsafe impl Sync for Object {}
// SAFETY: as above.
unsafe impl Send for Object {}

impl Object {
    #[track_caller]
    pub const fn new() -> Object {
        Object { number: Cell::new(0), made: Location::caller() }
    }

    /// Its number; 0 outside of an execution.
    #[inline]
    pub fn id(&self) -> u32 {
        super::with(|rt| self.id_in(rt)).unwrap_or(0)
    }

    #[inline]
    pub fn id_in(&self, rt: &mut Rt) -> u32 {
        let number = self.number.get();
        if (number >> 32) as u32 == rt.epoch {
            return number as u32;
        }
        rt.objects += 1;
        self.number.set(u64::from(rt.epoch) << 32 | u64::from(rt.objects));
        rt.objects
    }

    /// Whether it was used in another execution than the current one.
    pub fn is_stale(&self) -> bool {
        let number = self.number.get();
        number != 0 && super::with(|rt| (number >> 32) as u32 != rt.epoch).unwrap_or(false)
    }
}
