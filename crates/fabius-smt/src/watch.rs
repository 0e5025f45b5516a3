//! Memory: somebody looks every now and then at how much the process has, and stops the work before there is none left.
//!
//! Where the system does not say (it is asked by Linux's `/proc`), there is no limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

/// The share of what is available that is used if nobody says how much.
const SHARE: (u64, u64) = (4, 5);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Somebody who looks, until it is dropped.
pub struct Watch {
    /// Set when the work must end: by the user, or for lack of memory.
    pub stop: Arc<AtomicBool>,
    is_full: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    looks: Option<Thread>,
}

impl Watch {
    /// Begins to look: at the user's wish to stop, and whether so many bytes are in use.
    pub fn begin(user: &Arc<AtomicBool>, memory: Option<u64>) -> Watch {
        let [stop, is_full, is_over] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
        let limits = Room::new(memory);
        is_full.store(limits.is_used_up(), Ordering::Relaxed);
        stop.store(user.load(Ordering::Relaxed) || is_full.load(Ordering::Relaxed), Ordering::Relaxed);
        let (user, sets, full, over) = (user.clone(), stop.clone(), is_full.clone(), is_over.clone());
        let look = move || {
            while !over.load(Ordering::Relaxed) {
                if limits.is_used_up() {
                    full.store(true, Ordering::Relaxed);
                }
                if full.load(Ordering::Relaxed) || user.load(Ordering::Relaxed) {
                    sets.store(true, Ordering::Relaxed);
                }
                thread::park_timeout(PAUSE);
            }
        };
        // Without a thread to look there is no limit, and the user's wish is not noticed.
        let looks = thread::Builder::new().stack_size(64 << 10).spawn(look).ok().map(|t| t.thread().clone());
        Watch { stop, is_full, is_over, looks }
    }

    /// Whether the memory was used up.
    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(looks) = &self.looks {
            looks.unpark();
        }
    }
}

/// How many bytes there may be in memory, and of addresses.
struct Room {
    resident: Option<u64>,
    addresses: Option<u64>,
}

impl Room {
    fn new(wanted: Option<u64>) -> Room {
        let share = |bytes: u64| bytes / SHARE.1 * SHARE.0;
        let available = bytes_in("/proc/meminfo", "MemAvailable:").zip(bytes_in("/proc/self/status", "VmRSS:"));
        let addresses = std::fs::read_to_string("/proc/self/limits").ok().and_then(|text| {
            let line = text.lines().find_map(|l| l.strip_prefix("Max address space"))?;
            line.split_whitespace().next()?.parse().ok()
        });
        let resident = wanted.or(available.map(|(free, mine)| mine + share(free)));
        Room { resident, addresses: addresses.map(share) }
    }

    fn is_used_up(&self) -> bool {
        let beyond = |limit: Option<u64>, key: &str| {
            limit.is_some_and(|limit| bytes_in("/proc/self/status", key).is_some_and(|bytes| bytes > limit))
        };
        beyond(self.resident, "VmRSS:") || beyond(self.addresses, "VmSize:")
    }
}

/// A number of kilobytes in a file of `/proc`.
fn bytes_in(file: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|n| n * 1024)
}
