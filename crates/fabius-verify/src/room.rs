//! Searches count the bytes of their states. What they need beside these is seen from outside: by how large the process is.

use fabius_smt::Room;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, ScopedJoinHandle, park_timeout, scope};

/// Does some work that ends when it is told to: by the user, or because the process is larger than states of so many bytes
/// make it. Says which of them it was.
pub fn within_memory<T>(memory: Option<u64>, user: &AtomicBool, work: impl FnOnce(&AtomicBool) -> T) -> (T, bool) {
    let Some(memory) = memory else { return (work(user), false) };
    let stop = AtomicBool::new(user.load(Ordering::Relaxed));
    let [is_full, is_over] = [(); 2].map(|()| AtomicBool::new(false));
    let look = || {
        let mut room = Room::for_states(memory);
        while !is_over.load(Ordering::Relaxed) {
            if room.is_used_up() {
                is_full.store(true, Ordering::Relaxed);
            }
            if is_full.load(Ordering::Relaxed) || user.load(Ordering::Relaxed) {
                stop.store(true, Ordering::Relaxed);
            }
            park_timeout(room.pause());
        }
    };
    let done = scope(|scope| match Builder::new().stack_size(64 << 10).spawn_scoped(scope, look) {
        Ok(looks) => {
            // A panic ends it, too.
            let _end = End { is_over: &is_over, looks: Some(looks) };
            work(&stop)
        }
        // Nobody looks, so the user must be heard.
        Err(_) => work(user),
    });
    (done, is_full.load(Ordering::Relaxed))
}

/// Ends the look when it is dropped.
struct End<'scope, 'a> {
    is_over: &'a AtomicBool,
    looks: Option<ScopedJoinHandle<'scope, ()>>,
}

impl Drop for End<'_, '_> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(looks) = self.looks.take() {
            looks.thread().unpark();
            // To let go of a thread while it ends may crash (glibc before 2.37, bug 19951). A panic of it has been shown.
            let _ = looks.join();
        }
    }
}
