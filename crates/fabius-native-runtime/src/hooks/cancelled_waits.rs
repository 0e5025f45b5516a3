//! Waits that end where somebody asks the thread to end.

use super::cancel::{is_cancelled_here, may_be_cancelled_here};
use crate::op::Op;
use crate::threads::{Waited, point};

/// The point of a call that waits, and in which the thread may be cancelled.
pub fn waits(op: Op) -> Waited {
    is_cancelled_here();
    let waited = point(op.or_cancelled());
    match waited {
        Waited::Cancelled => is_cancelled_here(),
        _ => may_be_cancelled_here(),
    }
    waited
}
