//! Accesses to cells that last until a closure ends.

use super::{Object, Rt, trial, with};

/// An access to tracked memory begins that lasts until [`ends_lasting`] of the same object.
#[inline]
pub(crate) fn begins_lasting(object: &Object) {
    with(|rt| {
        let access = (rt.current as u32, object.id_in(rt), rt.steps);
        trial::aside(|| {
            if rt.lasting.len() == rt.lasting.capacity() && trial::current().is_some() {
                trial::ends(trial::End::Other);
            }
            rt.lasting.push(access);
        });
    });
}

/// Whether others may have gone on since it began, and not ended.
#[inline]
pub(crate) fn has_lasted(object: &Object) -> bool {
    let lasts = |rt: &mut Rt| {
        let (me, object) = (rt.current as u32, object.id_in(rt));
        rt.lasting.iter().any(|(who, what, began)| (*who, *what) == (me, object) && *began != rt.steps)
    };
    with(|rt| trial::aside(|| lasts(rt))).unwrap_or(false)
}

/// It ends. Says whether others may have gone on meanwhile.
#[inline]
pub(crate) fn ends_lasting(object: &Object) -> bool {
    let ends = |rt: &mut Rt| {
        let (me, object) = (rt.current as u32, object.id_in(rt));
        let began = rt.lasting.iter().rposition(|(who, what, _)| (*who, *what) == (me, object));
        began.is_none_or(|at| rt.lasting.remove(at).2 != rt.steps)
    };
    with(|rt| trial::aside(|| ends(rt))).unwrap_or(false)
}
