//! Where a thread ends because another one has asked for that.

use crate::real::next;
use crate::rt::rt;

/// Ends the thread if somebody has asked for that.
pub fn is_cancelled_here() {
    let me = rt().me();
    if me.cancelled && me.cancellable {
        me.cancellable = false;
        me.result = usize::MAX;
        // SAFETY: as `pthread_exit(PTHREAD_CANCELED)`.
        unsafe { next!(fn pthread_exit(usize))(usize::MAX) }
    }
}
