//! Where a thread ends because another one has asked for that: in calls that wait, and in `pthread_testcancel`; if it wants to be
//! asynchronous, at each of its scheduling points. Linux may end it between any two instructions then, so what it has done so far
//! is looked at where threads are switched, and that is said in the answer, unless every access is a point.

use crate::op::Op;
use crate::real::next;
use crate::rt::rt;
use fabius_trace::Points;

const ANYWHERE: &str = "a thread that may be cancelled anywhere was cancelled only where threads are switched";

/// Ends the thread if somebody has asked for that.
pub fn is_cancelled_here() {
    let me = rt().me();
    if me.cancelled && me.cancellable {
        me.cancellable = false;
        // Nor does it wait for others any more.
        me.waits_for = 0;
        me.result = usize::MAX;
        // SAFETY: as `pthread_exit(PTHREAD_CANCELED)`.
        unsafe { next!(fn pthread_exit(usize))(usize::MAX) }
    }
}

/// Ends the thread if it is asked to end, or not: that may have been in time for the call, or not.
pub fn may_be_cancelled_here() {
    let me = rt().me();
    if me.cancelled && me.cancellable && rt().choose(2) == 1 {
        is_cancelled_here();
    }
}

/// The same, before an operation, of one who may end anywhere. What waits as a call that may be cancelled looks by itself.
#[inline(always)]
pub fn is_cancelled_before(op: &Op) {
    if !op.cancels || op.wait.is_in_loop() {
        acts_at_once();
    }
}

/// The same, of one who may end anywhere.
#[inline(always)]
pub fn acts_at_once() {
    if rt().me().asynchronous {
        is_cancelled_here();
    }
}

/// Another thread has been asked to end, or the current one.
pub fn asks(thread: usize) {
    let rt = rt();
    let other = &rt.threads[thread];
    if thread == rt.current {
        acts_at_once();
    } else if other.asynchronous && other.cancellable && !other.finished && rt.settings.points == Points::Sync {
        rt.limits.insert(ANYWHERE.into());
    }
}
