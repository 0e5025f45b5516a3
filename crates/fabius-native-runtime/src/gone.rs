//! Storage of threads that have ended: their stacks and their thread-local variables, which nobody may use any more.
//!
//! Who uses it while the thread is there has to be ordered with its end. If he is not, the end is a scheduling point from then on,
//! and so are the accesses to these bytes: in another order he comes too late. What the first thread leaves is there as
//! long as the process.

use crate::op::Op;
use crate::rooms;
use crate::rt::rt;
use crate::threads::{fail, point};
use fabius_trace::BugKind;

/// The running thread is about to use this.
#[inline(always)]
pub fn check(address: usize, write: bool, pc: usize) {
    if let Some(owner) = rooms::fiber_of(address)
        && owner != 0
        && owner != rt().current
    {
        of_another(owner, address, write, pc);
    }
}

#[inline(never)]
fn of_another(owner: usize, address: usize, write: bool, pc: usize) {
    let rt = rt();
    let (me, is_stack) = (rt.current, rooms::stack_number(owner).contains(&address));
    let now = rt.clocks.now(me);
    let Some(thread) = rt.threads.get_mut(owner) else { return };
    if !thread.finished {
        thread.guests.insert((me, address & !7), now);
        return;
    }
    if rt.record {
        rt.uses_what_is_gone(owner);
    }
    let what = if is_stack { "the stack" } else { "a thread-local variable" };
    let how = if write { "written" } else { "read" };
    fail(BugKind::Memory, format!("{what} of a thread that has ended is {how}"), pc);
}

/// The running thread ends: the points at which what others do with its storage comes before or after that.
pub fn ends() {
    let me = rt().current;
    let mut visited: Vec<u64> = rt().races.marked.clone();
    visited.retain(|address| rooms::fiber_of(*address as usize) == Some(me));
    visited.sort_unstable();
    for address in visited {
        point(Op { write: true, ..Op::new("end", 0).of(address as usize, 8) });
    }
    let rt = rt();
    for ((guest, address), time) in std::mem::take(&mut rt.threads[me].guests) {
        if !rt.points_are_fixed && !rt.clocks.knows(me, guest, time) && rt.mark(address) {
            rt.search_again();
        }
    }
}
