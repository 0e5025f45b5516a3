//! Operations of destructors that run while a stack is unwound that is not switched: by a panic that fails the test, unless
//! it is caught, or because the execution is given up. A lock that is held is not granted: who holds it goes first. What is found
//! in an atomic is the newest: the step in which this happens is another operation's, and so are its choices.

use super::{Abandoned, LeftOut, Op, RT, Rt, SHARED, Thread, count, panics, run};
use fabius_trace::BugKind;
use std::any::Any;
use std::io::Write;

/// What is said of a lock that is held by no thread of the execution: by a guard outside of it, or one that was leaked in an
/// earlier one.
pub(crate) const ELSEWHERE: usize = usize::MAX;

/// How many operations a thread of an execution that is given up may do before it is unwound once more.
const CATCHES: u32 = 1000;

/// Operations that an execution may have while stacks are unwound, even if it may have fewer otherwise.
const LAST_STEPS: u32 = 10_000_000;

/// Does an operation at once. Says whether it gave up waiting.
///
/// # Safety
/// `rt` is the current execution, nobody holds a reference into it, and stacks are being unwound.
#[cold]
pub(super) unsafe fn at_once(rt: *mut Rt, op: &Op) -> bool {
    // SAFETY: references are not held while another thread runs.
    unsafe {
        let me = (*rt).current;
        (*rt).steps = (*rt).steps.saturating_add(1);
        (*rt).ahead.steps = 0;
        if (*rt).steps > (*rt).settings.max_steps.max(LAST_STEPS) {
            cannot_go_on(&format!("`{}` at {}:{} is done again and again", op.name, op.at.file(), op.at.line()));
        }
        if (*rt).abandoned && !std::thread::panicking() {
            return outside_of_unwinding(rt, me, op);
        }
        let goes_on = |(id, thread): (usize, &Thread)| id != me && !thread.finished;
        let leaves_out = (&*rt).threads.iter().enumerate().any(goes_on) || (&*rt).may_deviate_in(me, op);
        if !(*rt).abandoned && leaves_out {
            (*rt).left_out.set(Some(LeftOut::Unwinding(op.at)));
        }
        if (*rt).abandoned || is_ready(rt, op) {
            if !is_granted(rt, op) {
                wait(rt, op);
            }
            if !(*rt).abandoned {
                (&mut *rt).did(op);
            }
            return false;
        }
        if op.deadline.is_none() {
            let message = format!("`{}` has to wait while a panic unwinds the stack{}", op.name, panics::said_by(me));
            (&mut *rt).fail(BugKind::Deadlock, message, Some(op.at));
        }
        if !is_granted(rt, op) {
            wait(rt, op);
        }
        (&mut *rt).did(op);
        true
    }
}

unsafe fn is_ready(rt: *mut Rt, op: &Op) -> bool {
    // SAFETY: the object outlives the operation.
    op.ready.is_none_or(|(ready, object)| unsafe { ready(object, &*rt, (*rt).current) })
}

/// Whether the operation takes no lock, or one that is free.
unsafe fn is_granted(rt: *mut Rt, op: &Op) -> bool {
    // SAFETY: the object outlives the operation.
    unsafe {
        is_ready(rt, op) || op.holders.zip(op.ready).is_none_or(|(holders, (_, lock))| holders(lock, &*rt).is_empty())
    }
}

/// Lets other threads go on or be unwound until a lock is free. They do so on top of the current one: its stack waits.
unsafe fn wait(rt: *mut Rt, op: &Op) {
    // SAFETY: no reference is held while a thread runs.
    unsafe {
        let mut next = 0;
        while next < (&*rt).threads.len() {
            if go_on(rt, next) {
                if is_granted(rt, op) {
                    return;
                }
                // What it has done may let others go on.
                next = 0;
            } else {
                next += 1;
            }
        }
    }
    // SAFETY: as above. The execution has failed, so it is not resumed, and it takes the panic with it.
    unsafe {
        if !(*rt).abandoned && (*rt).failure.is_some() && count::is_known() {
            loop {
                let exit = (&(*rt).threads)[(*rt).current].exit;
                (*exit).suspend(());
            }
        }
    }
    cannot_go_on(&format!(
        "`{}` at {}:{} waits for a lock that is not given back",
        op.name,
        op.at.file(),
        op.at.line()
    ));
}

/// Lets a thread that waits go on to its next point or its end, on top of the current one; whether it could.
///
/// # Safety
/// As for [`at_once`].
pub(super) unsafe fn go_on(rt: *mut Rt, id: usize) -> bool {
    // SAFETY: no reference is held while the thread runs.
    unsafe {
        let this = &*rt;
        // A thread without an operation is below this one: it cannot go on before this one does.
        if this.threads[id].op.is_null() || !(this.abandoned || this.can_go_on(id)) {
            return false;
        }
        let me = std::mem::replace(&mut (*rt).current, id);
        run(rt, id);
        (*rt).current = me;
        true
    }
}

/// A thread of an execution that is given up does something outside of a destructor that unwinding runs: in one of a
/// thread-local, or because code of the test has caught what unwinds it.
unsafe fn outside_of_unwinding(rt: *mut Rt, me: usize, op: &Op) -> bool {
    // SAFETY: no reference is held while others run.
    unsafe {
        let thread = &mut (&mut *rt).threads[me];
        thread.catches += 1;
        let (catches, exit) = (thread.catches, thread.exit);
        if catches < CATCHES && is_granted(rt, op) {
            return false;
        }
        if catches > 2 * CATCHES {
            // It does so for ever: it goes on no more, and its stack is leaked.
            (*exit).suspend(());
        }
    }
    std::panic::resume_unwind(Box::new(Abandoned))
}

/// There is nothing left that would be right.
pub(super) fn cannot_go_on(why: &str) -> ! {
    let text = format!(
        "fabius: while a destructor runs because its thread is unwound: {why}. No thread can go on that could change that, so \
         the process ends here.\n"
    );
    let _ = std::io::stderr().write_all(text.as_bytes());
    std::process::abort()
}

/// The current thread goes no further, because its execution has failed.
pub(crate) fn halt() -> ! {
    let rt = RT.get();
    if std::thread::panicking() {
        cannot_go_on(SHARED);
    }
    if !rt.is_null() {
        // SAFETY: as in `with`; the reference is not held over `suspend`. What has failed is not resumed.
        unsafe {
            let exit = (&(*rt).threads)[(*rt).current].exit;
            (*exit).suspend(());
        }
    }
    std::panic::resume_unwind(Box::new(Abandoned))
}

/// Runs the body of a thread and catches its panic; a body that is abandoned has no result.
#[inline(always)]
pub(crate) fn catch<T>(body: impl FnOnce() -> T) -> Option<std::thread::Result<T>> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(value) => Some(Ok(value)),
        Err(payload) if payload.is::<Abandoned>() => None,
        Err(payload) => Some(Err(payload)),
    }
}

/// The same, but an abandoned body gives the payload that must go on unwinding.
pub(crate) fn catch_all<T>(body: impl FnOnce() -> T) -> std::thread::Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(body))
}

/// Whether a payload unwinds an execution that is given up.
pub(crate) fn is_abandoned(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Abandoned>()
}
