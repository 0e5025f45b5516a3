//! Work that looks at limits too seldom: one operation on decision diagrams, or a translation, may take longer than all that
//! is left.

use crate::proof::ProofError;
use crate::stack::{no_thread, with_room};
use fabius_smt::{Limits, Watch};
use fabius_trace::Reason;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often limits are looked at.
const OFTEN: Duration = Duration::from_millis(20);

/// How often the work may be late before nobody waits for it any more.
const PATIENCE: u32 = 10;

/// Does some work in a thread of its own, and hears the news of it. `None` if the limits are hit and the work does not end:
/// nobody waits for it any more; it ends when it looks at the limits.
///
/// # Errors
/// No thread can be started.
pub fn in_time<T, N>(
    limits: &Limits<'_>,
    news: &mut dyn FnMut(N),
    work: impl FnOnce(&Limits<'_>, &mut dyn FnMut(N)) -> T + Send + 'static,
) -> std::io::Result<Option<T>>
where
    T: Send + 'static,
    N: Send + 'static,
{
    enum Message<T, N> {
        News(N),
        Done(T),
    }
    let (sender, receiver) = channel();
    let (deadline, stop) = (limits.deadline, Arc::clone(limits.stop));
    let work = Arc::new(Mutex::new(Some((work, sender))));
    let worker = with_room(|builder| {
        let (work, stop) = (Arc::clone(&work), Arc::clone(&stop));
        builder.spawn(move || {
            let work = work.lock().expect("nobody has panicked with it").take();
            let (work, sender) = work.expect("it is started once");
            // If nobody listens any more, nobody has to know.
            let done = work(&Limits { deadline, stop: &stop }, &mut |n| drop(sender.send(Message::News(n))));
            drop(sender.send(Message::Done(done)));
        })
    })?;
    let mut late = 0;
    loop {
        match receiver.recv_timeout(OFTEN) {
            Ok(Message::News(n)) => news(n),
            Ok(Message::Done(done)) => return Ok(Some(done)),
            Err(RecvTimeoutError::Timeout) => {
                late += u32::from(limits.are_hit());
                if late > PATIENCE {
                    return Ok(None);
                }
            }
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("it sends what it has done"),
            },
        }
    }
}

/// When to give up.
#[derive(Clone, Copy, Debug)]
pub struct Budget<'a> {
    /// After this time.
    pub time: Option<Duration>,
    /// At so many bytes of the process; without, most of what is available.
    pub memory: Option<u64>,
    /// When this is set.
    pub stop: &'a Arc<AtomicBool>,
}

/// Does some work within a budget.
///
/// # Errors
/// Its own, and [`ProofError::GaveUp`].
pub(crate) fn within<T: Send + 'static>(
    budget: Budget<'_>,
    work: impl FnOnce() -> Result<T, ProofError> + Send + 'static,
) -> Result<T, ProofError> {
    let watch = Watch::begin(budget.stop, budget.memory);
    let deadline = budget.time.and_then(|time| Instant::now().checked_add(time));
    let limits = Limits { deadline, stop: &watch.stop };
    let done = match limits.are_hit() {
        true => None,
        false => in_time(&limits, &mut |()| {}, move |_, _| work()).map_err(no_thread)?,
    };
    match done {
        Some(done) => done,
        None if watch.is_full() => Err(ProofError::GaveUp(Reason::Memory)),
        None if budget.stop.load(Ordering::Relaxed) => Err(ProofError::GaveUp(Reason::Interrupted)),
        None => Err(ProofError::GaveUp(Reason::Time)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_left_behind() {
        let stop = Arc::new(AtomicBool::new(false));
        let limits = Limits { deadline: Some(Instant::now()), stop: &stop };
        let (end, ended) = channel::<()>();
        assert_eq!(in_time(&limits, &mut |()| {}, move |_, _| ended.recv().is_ok()).unwrap(), None);
        drop(end);
    }

    #[test]
    fn what_ends_is_waited_for_and_its_news_are_heard_in_order() {
        let stop = Arc::new(AtomicBool::new(false));
        let limits = Limits { deadline: None, stop: &stop };
        let mut heard = Vec::new();
        let done = in_time(&limits, &mut |n| heard.push(n), |_, news| {
            (1..4).for_each(news);
            "done"
        });
        assert_eq!((done.unwrap(), heard), (Some("done"), vec![1, 2, 3]));
    }

    #[test]
    #[should_panic = "in the thread"]
    fn a_panic_is_handed_on() {
        let stop = Arc::new(AtomicBool::new(false));
        let limits = Limits { deadline: None, stop: &stop };
        let _ = in_time(&limits, &mut |()| {}, |_, _| -> () { panic!("in the thread") });
    }
}
