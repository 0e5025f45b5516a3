//! `sleep`.

use crate::executor::Timer;
use crate::monitor::must_be_inside;
use fabius::time::{Duration, Instant};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// As in tokio, to the nanosecond.
pub struct Sleep {
    alarm: Alarm,
    /// As tokio's: it may not be moved once it is polled.
    _pinned: std::marker::PhantomPinned,
}

/// Wakes a task at some time.
pub(super) struct Alarm {
    pub deadline: Instant,
    timer: Option<Arc<Timer>>,
}

/// Later than anything.
pub(super) fn far_future() -> Instant {
    Instant::now() + Duration::from_secs(86_400 * 365 * 30)
}

/// As in tokio.
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    sleep_until(Instant::now().checked_add(duration).unwrap_or_else(far_future))
}

/// As in tokio.
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { alarm: Alarm::new(deadline), _pinned: std::marker::PhantomPinned }
}

impl Sleep {
    /// As in tokio.
    pub fn deadline(&self) -> Instant {
        self.alarm.deadline
    }

    /// As in tokio.
    pub fn is_elapsed(&self) -> bool {
        self.alarm.is_over()
    }

    /// As in tokio.
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        // SAFETY: nothing is moved.
        unsafe { self.get_unchecked_mut() }.alarm.reset(deadline);
    }
}

impl Alarm {
    #[track_caller]
    pub fn new(deadline: Instant) -> Alarm {
        must_be_inside();
        Alarm { deadline, timer: None }
    }

    fn is_over(&self) -> bool {
        self.deadline <= Instant::now()
    }

    pub fn reset(&mut self, deadline: Instant) {
        self.forget_timer();
        self.deadline = deadline;
    }

    fn forget_timer(&mut self) {
        if let Some(timer) = self.timer.take() {
            timer.set(None);
        }
    }

    /// Whether it is due; if not, the task is woken when it is.
    pub fn is_due(&mut self, cx: &Context<'_>) -> bool {
        if self.is_over() {
            self.forget_timer();
            return true;
        }
        match &self.timer {
            Some(timer) if timer.thread == fabius::extend::me() => timer.set(Some(cx.waker())),
            _ => {
                self.forget_timer();
                self.timer = Some(Timer::new(self.deadline, cx.waker()));
            }
        }
        false
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved.
        if unsafe { self.get_unchecked_mut() }.alarm.is_due(cx) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.forget_timer();
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("deadline", &self.deadline()).finish()
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alarm").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}
