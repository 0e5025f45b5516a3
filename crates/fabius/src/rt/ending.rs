//! How a thread ends.

use super::unwinding::{self, catch, catch_all};
use super::{Op, Panic, RT, Refine, Rt, note_panic, point, with};
use fabius_trace::BugKind;

/// Waits for the function of a thread, which borrows from the current one, by `join`; if that is abandoned, unwinds the thread
/// on the spot.
pub(crate) fn wait_for(id: usize, join: impl FnOnce()) {
    if with(|rt| rt.abandoned) == Some(false) {
        let _ = catch_all(join);
    }
    let rt = RT.get();
    // SAFETY: as in `with`; no reference is held while the thread runs.
    unsafe {
        let is_over = || (&*rt).threads[id].has_returned();
        while !is_over() {
            if !unwinding::go_on(rt, id) {
                unwinding::cannot_go_on("the end of a scope waits for its thread");
            }
        }
    }
}

/// The current thread ends.
pub(crate) fn finish() {
    let rt = RT.get();
    // SAFETY: as in `with`.
    unsafe {
        (&mut *rt).leaves_the_loop();
        if !(&*rt).threads[(*rt).current].locals.is_empty() {
            // `is_finished` sees that the function has returned.
            sees_the_end(rt, "return");
            (&mut *rt).threads[(*rt).current].returned = true;
            // In the order in which they were made, as in std. Destructors may make others.
            while !(&*rt).threads[(*rt).current].locals.is_empty() {
                let thread = &mut (&mut *rt).threads[(*rt).current];
                let (key, value) = thread.locals.remove(0);
                thread.ending.push(key);
                if let Some(Err(payload)) = catch(|| drop(value)) {
                    let Panic { message, at, .. } = note_panic(payload.as_ref());
                    let message =
                        format!("the destructor of a thread-local value panicked, which ends a process: {message}");
                    (&mut *rt).fail_at(BugKind::Panic, message, at);
                }
            }
        }
        sees_the_end(rt, "end");
        let this = &mut *rt;
        this.threads[this.current].finished = true;
        this.has_ended();
    }
}

/// A scheduling point, if somebody looks whether threads have ended.
///
/// # Safety
/// As in `with`.
unsafe fn sees_the_end(rt: *mut Rt, name: &'static str) {
    // SAFETY: as said; no reference is held over the point.
    unsafe {
        if (*rt).settings.refine.contains(Refine::ENDS) && !(*rt).abandoned {
            let me = (*rt).current;
            let at = (&*rt).threads[me].spawned_at;
            point(Op::write(name, (&mut *rt).token_of(me), at));
        }
    }
}
