//! Steps that do not end. An execution can only be given up at a scheduling point, and a step that computes for ever, or
//! blocks in a lock of std, never comes to one.
//!
//! A thread of its own, the *watchdog*, looks ten times a second how many steps have been made; steps pay two stores for
//! it. A step that takes long is looked into (`look.rs`): a signal stops the operating system thread that makes it, and
//! says where.
//!
//! 1. If it takes [`LONG`] and the time of the check is over, or a signal has ended it, it is ended: its thread stands still for ever, and the
//!    answer of the check is unknown, with the line. The same if it waits in a lock of std: it waits for another thread of
//!    the check, which cannot go on, or for one of the operating system, which no check may start.
//! 2. If there is no limit of time, its line is said once it takes [`VERY_LONG`].
//! 3. A thread cannot stand still for ever in the middle of a function that may hold what all need, such as the lock of an
//!    allocator. It is looked at again and again; if it is never elsewhere, the process ends, with the line and the status
//!    101, as that of a test that fails.
//!
//! A test that ends the process in a step (`exit`) ends it with that status, too, and with a message.
//!
//! On other systems than Linux nobody can look, so the last operation is named instead of the line, and a step that must
//! be ended ends the process.

#[cfg(target_os = "linux")]
use super::look::{self, Look};
#[cfg(target_os = "linux")]
use super::overflow::{self, HandlerStack};
#[cfg(target_os = "linux")]
use std::cell::Cell;
#[cfg(target_os = "linux")]
use std::io::Write;
use std::panic::Location;
#[cfg(target_os = "linux")]
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, fence};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Set when checks shall end, whatever their time is.
pub(crate) static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// How often the watchdog looks.
const TICK: Duration = Duration::from_millis(100);

/// A step that takes so long is ended if the time of the check is over.
const LONG: Duration = Duration::from_secs(2);

/// A step that takes so long is told of.
const VERY_LONG: Duration = Duration::from_secs(10);

/// What the watchdog knows of an operating system thread that runs executions. Never freed, but used again.
#[derive(Default)]
pub(super) struct Watched {
    /// Beginnings and ends of steps so far: odd within a step.
    steps: AtomicU64,
    /// When the check ends, in nanoseconds since [`zero`].
    deadline: AtomicU64,
    /// The operation that the step began with.
    began_at: AtomicPtr<Location<'static>>,
    /// Whether it belongs to a thread.
    taken: AtomicBool,
    #[cfg(target_os = "linux")]
    look: Look,
}

static ALL: Mutex<Vec<&'static Watched>> = Mutex::new(Vec::new());

/// The threads that are watched. While this is held none of them ends.
fn all() -> MutexGuard<'static, Vec<&'static Watched>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The current thread as one that is watched; until it ends.
struct Mine {
    watched: &'static Watched,
    #[cfg(target_os = "linux")]
    _handlers: Option<HandlerStack>,
}

impl Drop for Mine {
    fn drop(&mut self) {
        let _all = all();
        #[cfg(target_os = "linux")]
        look::forget(&self.watched.look);
        self.watched.taken.store(false, Ordering::Relaxed);
    }
}

thread_local! {
    static MINE: Mine = Mine::new();
    /// The same, with nothing to drop.
    #[cfg(target_os = "linux")]
    static LAST: Cell<Option<&'static Watched>> = const { Cell::new(None) };
}

impl Mine {
    fn new() -> Mine {
        let mut all = all();
        let idle = all.iter().copied().find(|watched| !watched.taken.load(Ordering::Relaxed));
        let watched = idle.unwrap_or_else(|| {
            let new: &'static Watched = Box::leak(Box::default());
            all.push(new);
            new
        });
        watched.taken.store(true, Ordering::Relaxed);
        #[cfg(target_os = "linux")]
        {
            overflow::recognize();
            end_is_noticed();
            look::remember(&watched.look);
            LAST.set(Some(watched));
            Mine { watched, _handlers: HandlerStack::needed() }
        }
        #[cfg(not(target_os = "linux"))]
        Mine { watched }
    }
}

fn zero() -> Instant {
    static ZERO: OnceLock<Instant> = OnceLock::new();
    *ZERO.get_or_init(Instant::now)
}

impl Watched {
    /// That of the current thread, which begins an execution of a check that must end then.
    pub fn mine(deadline: Option<Instant>) -> &'static Watched {
        static NOBODY: OnceLock<Watched> = OnceLock::new();
        let Ok(watched) = MINE.try_with(|mine| mine.watched) else { return NOBODY.get_or_init(Watched::default) };
        let deadline = deadline.map_or(u64::MAX, |d| d.saturating_duration_since(zero()).as_nanos() as u64);
        watched.deadline.store(deadline, Ordering::Relaxed);
        watchdog_is_awake();
        watched
    }

    /// A step begins with an operation.
    #[inline]
    pub fn begins(&self, at: Option<&'static Location<'static>>) {
        let at = at.map_or(std::ptr::null_mut(), |at| std::ptr::from_ref(at).cast_mut());
        self.began_at.store(at, Ordering::Relaxed);
        self.steps.store(self.steps.load(Ordering::Relaxed).wrapping_add(1) | 1, Ordering::Relaxed);
    }

    /// It ends.
    #[inline]
    pub fn ends(&self) {
        self.steps.store(self.steps.load(Ordering::Relaxed).wrapping_add(1) & !1, Ordering::Relaxed);
    }

    fn is_overdue(&self) -> bool {
        IS_INTERRUPTED.load(Ordering::Relaxed)
            || zero().elapsed().as_nanos() as u64 >= self.deadline.load(Ordering::Relaxed)
    }

    /// Where the step began, in words.
    fn beginning(&self) -> String {
        // SAFETY: it is null or that of an operation, which lives for ever.
        match unsafe { self.began_at.load(Ordering::Relaxed).as_ref() } {
            Some(at) => format!("after the operation at {}:{}", at.file(), at.line()),
            None => "before the first operation".into(),
        }
    }
}

/// Set while the watchdog sleeps because nobody makes steps.
static ASLEEP: AtomicBool = AtomicBool::new(false);

fn watchdog_is_awake() {
    static WATCHDOG: OnceLock<Option<JoinHandle<()>>> = OnceLock::new();
    let start = || std::thread::Builder::new().name("fabius watchdog".into()).spawn(watch).ok();
    let Some(watchdog) = WATCHDOG.get_or_init(start) else { return };
    fence(Ordering::SeqCst);
    if ASLEEP.load(Ordering::Relaxed) {
        watchdog.thread().unpark();
    }
}

/// What the watchdog has seen of a thread.
#[derive(Clone, Copy)]
struct Seen {
    steps: u64,
    since: Instant,
    /// When a step without a limit of time is looked into.
    next: Duration,
}

fn watch() {
    let mut seen: Vec<Seen> = Vec::new();
    let mut idle = 0;
    loop {
        std::thread::sleep(TICK);
        let now = Instant::now();
        let watched = all().clone();
        seen.resize(watched.len(), Seen { steps: 0, since: now, next: VERY_LONG });
        idle += 1;
        for (watched, seen) in watched.iter().zip(&mut seen) {
            let steps = watched.steps.load(Ordering::Relaxed);
            if steps != seen.steps {
                *seen = Seen { steps, since: now, next: VERY_LONG };
                idle = 0;
            } else if steps % 2 == 1 {
                idle = 0;
                let taken = now - seen.since;
                let overdue = watched.is_overdue();
                if taken >= LONG && overdue || taken >= seen.next {
                    let step = Step { watched, number: steps, taken, is_new: seen.next == VERY_LONG };
                    seen.next = taken + VERY_LONG;
                    if overdue { step.end() } else { step.tell() }
                }
            }
        }
        if idle > 20 {
            ASLEEP.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            let same = |(w, s): (&&Watched, &Seen)| w.steps.load(Ordering::Relaxed) == s.steps;
            if watched.iter().zip(&seen).all(same) {
                std::thread::park();
            }
            ASLEEP.store(false, Ordering::Relaxed);
            idle = 0;
        }
    }
}

/// A step that takes long.
struct Step<'a> {
    watched: &'a Watched,
    number: u64,
    taken: Duration,
    /// Whether nothing has been said of it.
    is_new: bool,
}

impl Step<'_> {
    fn is_over(&self) -> bool {
        self.watched.steps.load(Ordering::Relaxed) != self.number
    }

    fn has_run(&self, who: &str, place: &str) -> String {
        let seconds = self.taken.as_secs_f64();
        format!("{who} has run for {seconds:.0} s without an operation on what threads share{place}")
    }
}

/// What to do about a thread that never comes to an operation.
const ADVICE: &str = "a loop that waits for another thread must read what that writes with a type of `fabius::sync`";

/// From now on a test that ends the process in a step of a check is no success: the check is not over.
#[cfg(target_os = "linux")]
fn end_is_noticed() {
    extern "C" fn at_exit() {
        // The thread that ends the process may be another one, and has dropped its thread-local values.
        let Some(who) = super::with(|rt| rt.name_of(rt.current)) else { return };
        let place = LAST.get().map_or_else(String::new, Watched::beginning);
        let text = format!("\nfabius: {who} ends the process, {place}, and with it the check, which is not over\n");
        // Not by a macro: the test runner keeps what those print until the test is over.
        let _ = std::io::stderr().write_all(text.as_bytes());
        // SAFETY: a plain call; what is to be done at the end was registered before this, or has been done.
        unsafe { libc::_exit(FAILED) }
    }
    static ONCE: Once = Once::new();
    // SAFETY: the function is there until the process ends.
    ONCE.call_once(|| unsafe {
        libc::atexit(at_exit);
    });
}

/// Why a step is ended.
fn why() -> &'static str {
    if IS_INTERRUPTED.load(Ordering::Relaxed) { "a signal" } else { "the time limit" }
}

/// The status of a process that ends because of a test.
const FAILED: i32 = 101;

/// Ends the process, because a step cannot be ended.
fn end_process(message: &str) -> ! {
    eprintln!("\nfabius: {message}. The thread is where it cannot be left: the process ends");
    std::process::exit(FAILED)
}

#[cfg(not(target_os = "linux"))]
impl Step<'_> {
    fn message(&self) -> String {
        format!("{}; {ADVICE}", self.has_run("a thread of the check", &format!(", {}", self.watched.beginning())))
    }

    fn end(&self) {
        if !self.is_over() {
            end_process(&format!("{}: {}", why(), self.message()));
        }
    }

    fn tell(&self) {
        if self.is_new {
            eprintln!("\nfabius: {}", self.message());
        }
    }
}

/// How often a thread is looked at before the process is ended.
#[cfg(target_os = "linux")]
const LOOKS: u32 = 200;

/// Looks in a row at which a thread must wait in a lock of std.
#[cfg(target_os = "linux")]
const WAITS: u32 = 5;

#[cfg(target_os = "linux")]
impl Step<'_> {
    /// Ends it, or the process.
    fn end(&self) {
        let mut waits = 0;
        let mut last = None;
        for _ in 0..LOOKS {
            let Some(sight) = look::at(&self.watched.look, all()) else { break };
            if self.is_over() {
                return sight.goes_on();
            }
            waits = if sight.waits_in().is_some() { waits + 1 } else { 0 };
            let message = self.message(&sight);
            if if sight.waits_in().is_some() { waits >= WAITS } else { true } && sight.can_be_left() {
                let ended = if waits > 0 { message } else { format!("{}: {message}", why()) };
                return sight.stands_still(ended);
            }
            last = Some(message);
            sight.goes_on();
            std::thread::sleep(TICK / 5);
        }
        // Others are to say what they have seen before the process ends: a second signal does that.
        if !self.is_over() && !IS_INTERRUPTED.load(Ordering::Relaxed) {
            let unseen = || self.has_run("a thread of the check", &format!(", {}; {ADVICE}", self.watched.beginning()));
            end_process(&last.unwrap_or_else(unseen));
        }
    }

    /// Says where it is; ends it if it waits in a lock of std.
    fn tell(&self) {
        let mut waits = 0;
        while let Some(sight) = look::at(&self.watched.look, all()) {
            if self.is_over() {
                return sight.goes_on();
            }
            let message = self.message(&sight);
            if sight.waits_in().is_none() {
                sight.goes_on();
                if self.is_new {
                    eprintln!("\nfabius: {message}. `Config::time` gives it a limit");
                }
                return;
            }
            waits += 1;
            if waits < WAITS {
                sight.goes_on();
                std::thread::sleep(TICK / 5);
            } else if sight.can_be_left() {
                return sight.stands_still(message);
            } else {
                sight.goes_on();
                return self.end();
            }
        }
    }

    fn message(&self, sight: &look::Sight<'_>) -> String {
        let place = sight.place().map_or_else(|| format!(", {}", self.watched.beginning()), |at| format!(", at {at}"));
        let who = sight.who();
        match sight.waits_in() {
            None => format!("{}; {ADVICE}", self.has_run(&who, &place)),
            Some(what) => format!(
                "{who} blocks the operating system thread that runs all threads of the check{place}: it waits in {}. {}",
                what.std, what.instead
            ),
        }
    }
}
