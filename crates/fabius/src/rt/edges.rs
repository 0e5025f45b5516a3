//! What operations on other things than atomics order besides what [`super::Op`] says: told when they are done.

use super::{Object, Op, Refine};
use std::panic::Location;

/// What somebody has left in an object: who gets it comes after what that thread had done until then.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    number: u32,
    /// The execution: in another one, which has kept it, it says nothing.
    epoch: u64,
}

/// The operation that was just done leaves something there.
pub(crate) fn leaves(object: &Object) -> Left {
    let left = super::with(|rt| {
        let object = rt.settings.refine.contains(Refine::RACES).then(|| object.id_in(rt))?;
        Some(Left { number: rt.clocks.leaves(rt.current, object as usize) as u32, epoch: rt.epoch })
    });
    left.flatten().unwrap_or(Left { number: 0, epoch: 0 })
}

/// It gets what was left there.
pub(crate) fn takes(object: &Object, left: Left) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::RACES) && left.epoch == rt.epoch {
            let object = object.id_in(rt) as usize;
            rt.clocks.takes(rt.current, object, left.number as usize);
        }
    });
}

/// The operation that was just done reads an object: it comes after what has changed that, and before what changes it next.
pub(crate) fn reads(object: u32) {
    also_edges(&Op::read("", object, Location::caller()));
}

/// The operation that was just done comes after what has changed an object, or comes before others, and before nothing.
pub(crate) fn comes_after(object: u32) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::RACES) {
            rt.clocks.acquires(rt.current, object as usize);
        }
    });
}

/// Who looks at an object from here on comes after what the thread has done, and it comes after nobody.
pub(crate) fn comes_before(object: u32) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::RACES) {
            rt.clocks.releases(rt.current, object as usize);
        }
    });
}

/// The operation that was just done has changed an object.
pub(crate) fn comes_between(object: u32) {
    also_edges(&Op::write("", object, Location::caller()));
}

fn also_edges(op: &Op) {
    super::with(|rt| {
        if rt.settings.refine.contains(Refine::RACES) {
            rt.clocks.touches(rt.current, op.variable as usize, op.write);
        }
    });
}
