//! Memory: somebody looks every now and then at how much the process has, and stops the work before there is none left.
//!
//! Where the system does not say (it is asked by Linux's `/proc`), there is no limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The share of what is available that is used if nobody says how much.
const SHARE: (u64, u64) = (4, 5);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// The same when half of the memory is in use: who writes as fast as memory takes it fills a tenth of a gigabyte in `PAUSE`.
const SHORT_PAUSE: Duration = Duration::from_millis(2);

/// Bytes that a search may take beside its states.
const NEEDED_ANYWAY: u64 = 32 << 20;

/// Somebody who looks, until it is dropped.
pub struct Watch {
    /// Set when the work must end: by the user, or for lack of memory.
    pub stop: Arc<AtomicBool>,
    is_full: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    looks: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to look: at the user's wish to stop, and whether so many bytes are in use.
    pub fn begin(user: &Arc<AtomicBool>, memory: Option<u64>) -> Watch {
        let [stop, is_full, is_over] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
        let mut limits = Room::new(memory);
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
                thread::park_timeout(limits.pause());
            }
        };
        // Without a thread to look there is no limit, and the user's wish is not noticed.
        let looks = thread::Builder::new().stack_size(64 << 10).spawn(look).ok();
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
        if let Some(looks) = self.looks.take() {
            looks.thread().unpark();
            // To let go of a thread while it ends may crash (glibc before 2.37, bug 19951). A panic of it has been shown.
            let _ = looks.join();
        }
    }
}

/// How many bytes the process may have if nobody says how many: most of what is available, where the system tells.
pub fn most_of_available() -> Option<u64> {
    let available = bytes_in("/proc/meminfo", "MemAvailable:").zip(bytes_in("/proc/self/status", "VmRSS:"));
    available.map(|(free, mine)| mine + share(free))
}

fn share(bytes: u64) -> u64 {
    bytes / SHARE.1 * SHARE.0
}

/// How many bytes there may be in memory, and of addresses.
pub struct Room {
    resident: Option<u64>,
    addresses: Option<u64>,
    /// What was in use when somebody looked last, and when that was.
    seen: Option<(u64, Instant)>,
}

impl Room {
    /// For states of so many bytes: the process may be as large, but for what it needs anyway.
    pub fn for_states(bytes: u64) -> Room {
        let mine = bytes_in("/proc/self/status", "VmRSS:").unwrap_or_default();
        Room { resident: Some(bytes.max(mine + NEEDED_ANYWAY)), addresses: None, seen: None }
    }

    fn new(wanted: Option<u64>) -> Room {
        let addresses = std::fs::read_to_string("/proc/self/limits").ok().and_then(|text| {
            let line = text.lines().find_map(|l| l.strip_prefix("Max address space"))?;
            line.split_whitespace().next()?.parse().ok()
        });
        let resident = wanted.or_else(most_of_available);
        Room { resident, addresses: addresses.map(share), seen: None }
    }

    /// Whether the memory is used up, or will be at the next look if it fills as fast as since the last one.
    pub fn is_used_up(&mut self) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let now = kilobytes(&status, "VmRSS:");
        let soon = now.map(|now| now + self.next_growth(now));
        self.seen = now.map(|now| (now, Instant::now()));
        let beyond =
            |bytes: Option<u64>, limit: Option<u64>| bytes.zip(limit).is_some_and(|(bytes, limit)| bytes > limit);
        beyond(soon, self.resident) || beyond(kilobytes(&status, "VmSize:"), self.addresses)
    }

    /// How much is used more at the next look, if it fills as fast as since the last one: where others take the processors, who looks
    /// comes late, and will again.
    fn next_growth(&self, now: u64) -> u64 {
        let Some((before, at)) = self.seen else { return 0 };
        let elapsed = at.elapsed().max(SHORT_PAUSE);
        let next = elapsed.saturating_sub(self.pause()) + SHORT_PAUSE;
        (now.saturating_sub(before) as f64 * (next.as_secs_f64() / elapsed.as_secs_f64()).min(1.0)) as u64
    }

    /// How long nobody has to look.
    pub fn pause(&self) -> Duration {
        let is_half_used = self.seen.zip(self.resident).is_some_and(|((seen, _), limit)| seen > limit / 2);
        if is_half_used { SHORT_PAUSE } else { PAUSE }
    }
}

/// What a file of `/proc` says.
fn bytes_in(file: &str, key: &str) -> Option<u64> {
    kilobytes(&std::fs::read_to_string(file).ok()?, key)
}

/// A number of kilobytes in the text of such a file.
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|n| n * 1024)
}
