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

/// How often work may be late before nobody waits for it any more.
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
    let mut late = 0;
    let mut is_too_late = || {
        late += u32::from(limits.are_hit());
        late > PATIENCE
    };
    waited_for(limits, &mut is_too_late, news, work)
}

/// The same for work whose memory is watched: what there is none left for is not waited for.
///
/// # Errors
/// No thread can be started.
pub fn in_time_and_memory<T, N>(
    limits: &Limits<'_>,
    watch: &Watch,
    news: &mut dyn FnMut(N),
    work: impl FnOnce(&Limits<'_>, &mut dyn FnMut(N)) -> T + Send + 'static,
) -> std::io::Result<Option<T>>
where
    T: Send + 'static,
    N: Send + 'static,
{
    let mut late = 0;
    let mut is_too_late = || {
        late += u32::from(limits.are_hit());
        // What does not look at limits takes memory until it ends.
        watch.is_full() || late > PATIENCE
    };
    waited_for(limits, &mut is_too_late, news, work)
}

/// The same until `is_too_late`, which is asked every now and then.
fn waited_for<T, N>(
    limits: &Limits<'_>,
    is_too_late: &mut dyn FnMut() -> bool,
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
    loop {
        match receiver.recv_timeout(OFTEN) {
            Ok(Message::News(n)) => news(n),
            Ok(Message::Done(done)) => return Ok(Some(done)),
            Err(RecvTimeoutError::Timeout) if is_too_late() => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
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

impl Budget<'_> {
    /// What there was not enough of.
    fn short_of(&self, watch: &Watch) -> ProofError {
        ProofError::GaveUp(match self.stop.load(Ordering::Relaxed) {
            _ if watch.is_full() => Reason::Memory,
            true => Reason::Interrupted,
            false => Reason::Time,
        })
    }
}

/// Does some work that looks at no limits within a budget. If that is not enough, the work is left behind, but what takes a
/// moment is always done.
///
/// # Errors
/// [`ProofError::GaveUp`], or no thread can be started.
pub fn within<T: Send + 'static>(
    budget: Budget<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ProofError> {
    let watch = Watch::begin(budget.stop, budget.memory);
    let deadline = budget.time.and_then(|time| Instant::now().checked_add(time));
    let limits = Limits { deadline, stop: &watch.stop };
    let done = in_time_and_memory(&limits, &watch, &mut |()| {}, move |_, _| work()).map_err(no_thread)?;
    done.ok_or_else(|| budget.short_of(&watch))
}

/// The same, but nothing is begun if nothing is left.
///
/// # Errors
/// As [`within`].
pub(crate) fn within_what_is_left<T: Send + 'static>(
    budget: Budget<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ProofError> {
    let watch = Watch::begin(budget.stop, budget.memory);
    if budget.time.is_some_and(|time| time.is_zero()) || watch.stop.load(Ordering::Relaxed) {
        return Err(budget.short_of(&watch));
    }
    within(budget, work)
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
