//! A scheduling point: a thread announces what it is about to do, and does it when it is picked.

use super::fiber::Exit;
use super::{Abandoned, Op, RT, Refine, Rt, count, unwinding};
use std::ptr;

/// Whether threads must not give control back: their stacks are being unwound.
#[inline]
pub(super) fn must_not_switch(rt: &Rt) -> bool {
    rt.abandoned || std::thread::panicking() && !can_switch_unwinding(rt)
}

/// Whether the current thread may be switched while its stack is unwound. A panic of the test itself, or any where all fail
/// it, is a failure that is known when it has unwound the stack, and others should not go on before.
#[cold]
fn can_switch_unwinding(rt: &Rt) -> bool {
    let fails = rt.current == 0 || rt.settings.panics || rt.settings.unwinds;
    !fails && count::is_known()
}

/// A scheduling point: announces the operation and returns when it is to be done. Says whether it gave up waiting.
///
/// Outside of an execution it returns at once.
#[inline(always)]
pub(crate) fn point(op: Op) -> bool {
    let rt = RT.get();
    if rt.is_null() {
        return false;
    }
    // Known where it is announced, so that nothing is asked here.
    let exit = if op.is_plain_access() {
        // SAFETY: it is one.
        unsafe { announce_access(rt, &op) }
    } else {
        announce(rt, &op)
    };
    if exit.is_null() {
        return false;
    }
    // SAFETY: as in `with`; no reference is used over `suspend`. The exit is that of the running thread.
    unsafe {
        if exit == GAVE_UP {
            return true;
        }
        // Here, and not in a function that this calls: the processor foretells where that returns to, and what it foretells
        // is wrong if the stack was switched in between.
        (*exit).suspend(());
        goes_on(rt, &op)
    }
}

/// Stands for an exit where the operation was done at once, and gave up waiting.
const GAVE_UP: Exit = ptr::without_provenance(1);

/// Announces an operation. If the running thread does not make its next step at once, says where it gives control back.
#[inline(never)]
fn announce(rt: *mut Rt, op: &Op) -> Exit {
    // SAFETY: as in `with`; the reference is not used any more.
    match unsafe { (&*rt).ahead.is_quick() } && goes_on_quickly(rt, op) {
        true => ptr::null(),
        false => announce_here(rt, op),
    }
}

/// The same of most operations: what is known of them need not be found out.
///
/// # Safety
/// It is a plain access.
#[inline(never)]
unsafe fn announce_access(rt: *mut Rt, op: &Op) -> Exit {
    // SAFETY: as said; and as in `with`, the reference is not used any more.
    unsafe { if (&*rt).ahead.is_quick() { announce_quickly(rt, op) } else { announce_slowly(rt, op) } }
}

/// # Safety
/// As for [`announce_access`].
#[inline(never)]
unsafe fn announce_quickly(rt: *mut Rt, op: &Op) -> Exit {
    // SAFETY: as said.
    unsafe {
        std::hint::assert_unchecked(op.is_plain_access());
        if goes_on_quickly(rt, op) { ptr::null() } else { announce_slowly(rt, op) }
    }
}

/// # Safety
/// As for [`announce_access`].
#[inline(never)]
unsafe fn announce_slowly(rt: *mut Rt, op: &Op) -> Exit {
    // SAFETY: as said.
    unsafe { std::hint::assert_unchecked(op.is_plain_access()) };
    announce_here(rt, op)
}

/// Where it is given that the running thread goes on if it can, and nothing is told of it: whether it does. Most steps of a depth-first search
/// repeat what is known, and all that there is to do is to count them; so this is apart from what has more to do and needs more
/// registers.
#[inline(always)]
fn goes_on_quickly(rt: *mut Rt, op: &Op) -> bool {
    // SAFETY: as in `with`.
    let this = unsafe { &mut *rt };
    let me = this.current;
    // SAFETY: the object outlives the operation.
    let can = |rt: &Rt| op.ready.is_none_or(|(ready, object)| unsafe { ready(object, rt, me) });
    if op.deadline.is_some() || std::thread::panicking() || !can(this) {
        return false;
    }
    this.ahead.makes_quickly();
    this.steps += 1;
    this.does(me, op);
    true
}

#[inline(always)]
fn announce_here(rt: *mut Rt, op: &Op) -> Exit {
    // SAFETY: as in `with`.
    let this = unsafe { &mut *rt };
    // More steps are planned only as long as there is nothing that the explorer must know: see `plans` and `has_news_for_the_explorer`.
    let is_plain = this.ahead.steps > 0 && this.beginnings | this.last_drops == 0 && op.deadline.is_none();
    if !is_plain || std::thread::panicking() {
        return announce_and_ask(rt, op);
    }
    let me = this.current;
    if this.goes_on_itself(me, op) {
        this.does(me, op);
        return ptr::null();
    }
    this.waits(me, op)
}

#[inline(never)]
fn announce_and_ask(rt: *mut Rt, op: &Op) -> Exit {
    // SAFETY: as in `with`.
    let this = unsafe { &mut *rt };
    if this.alone {
        return if this.tries(op) { GAVE_UP } else { ptr::null() };
    }
    if must_not_switch(this) {
        // SAFETY: as in `with`; the reference is not used any more.
        return if unsafe { unwinding::at_once(rt, op) } { GAVE_UP } else { ptr::null() };
    }
    if this.last_drops > 0 {
        this.sees(Refine::COUNTS);
    }
    let me = this.current;
    if let Some(deadline) = op.deadline {
        // A limit of no time is up at once.
        this.threads[me].timed_out = deadline <= this.now;
        this.has_deadlines = true;
        this.ahead.steps = 0;
    }
    if this.beginnings == 0 {
        this.ahead.steps = 0;
    }
    this.waits(me, op)
}

/// The thread makes a step that it has waited for.
///
/// # Safety
/// As in `with`.
#[inline(never)]
unsafe fn goes_on(rt: *mut Rt, op: &Op) -> bool {
    // SAFETY: as in `with`.
    let this = unsafe { &mut *rt };
    let me = this.current;
    this.threads[me].op = ptr::null();
    this.waiting.goes_on(me, op);
    if this.ahead.steps > 0 {
        // There is nothing else that anybody must know.
        this.does(me, op);
        return false;
    }
    // SAFETY: as said.
    unsafe { goes_on_asked(rt, me, op) }
}

/// The same where the explorer may have been asked.
///
/// # Safety
/// As in `with`.
#[inline(never)]
unsafe fn goes_on_asked(rt: *mut Rt, me: usize, op: &Op) -> bool {
    // SAFETY: as in `with`.
    unsafe {
        let this = &mut *rt;
        if this.abandoned {
            if std::thread::panicking() {
                return unwinding::at_once(rt, op);
            }
            std::panic::resume_unwind(Box::new(Abandoned));
        }
        if this.want_accesses && op.variable != Op::NOTHING {
            this.log(op.variable, op.changes(this), true);
        }
        // Who has not noticed that time is up may still get what it waits for.
        let timed_out = std::mem::take(&mut this.threads[me].timed_out);
        // SAFETY: the object outlives the operation.
        let is_done = timed_out && op.ready.is_some_and(|(ready, object)| ready(object, this, me));
        this.does(me, op);
        if this.settings.record {
            this.recorder.operation(me, op);
        }
        this.put_in_order(op);
        timed_out && !is_done
    }
}
