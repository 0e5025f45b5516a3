//! Looks at an operating system thread that makes a step: stops it by a signal, reads the addresses on its stack, and has
//! it go on or stand still.
//!
//! The handler runs on the stack of the fiber. It writes down the addresses, which needs no memory, and waits until the
//! watchdog has decided. To stand still, it gives control back to the scheduler, as an operation does; the fiber is never
//! resumed. So for all others its thread looks like one that the operating system does not run any more: it keeps the
//! locks that it has, and breaks nothing. But it shares what belongs to the operating system thread, which goes on: so it
//! must not stand still in the middle of a function of an allocator, of std or of this crate ([`Sight::can_be_left`]).
//! Values of `std::thread_local!` that code of the test was just changing are as that left them.

use super::places::{self, Frame, Owner};
use super::{Limit, RT, Rt, fiber, overflow};
use libc::{c_int, c_void, siginfo_t};
use std::cell::{Cell, OnceCell, UnsafeCell};
use std::mem::zeroed;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What the watchdog and the handler of one thread tell each other.
#[derive(Default)]
pub(super) struct Look {
    stage: AtomicU32,
    thread: Cell<Option<libc::pthread_t>>,
    rt: AtomicPtr<Rt>,
    /// The address that was interrupted.
    at: AtomicUsize,
    stack: UnsafeCell<Vec<usize>>,
    message: UnsafeCell<String>,
}

// SAFETY: `thread` is used only while no watched thread begins or ends; `stack` and `message` belong to the handler between ASKED and
// ANSWERED, and when it has been told to stand still; otherwise to the watchdog.
unsafe impl Sync for Look {}

/// Nobody looks.
const NONE: u32 = 0;
const ASKED: u32 = 1;
const ANSWERING: u32 = 2;
const ANSWERED: u32 = 3;
const GOES_ON: u32 = 4;
const STANDS_STILL: u32 = 5;

/// Addresses that are read.
const DEPTH: usize = 256;

/// How long the watchdog waits for the handler.
const PATIENCE: Duration = Duration::from_secs(2);

/// Milliseconds that the handler waits for the watchdog: reading the names of a large program takes long.
const WAITS: u32 = 20_000;

thread_local! {
    static MINE: Cell<*const Look> = const { Cell::new(ptr::null()) };
}

/// The current thread can be looked at.
pub(super) fn remember(look: &'static Look) {
    // SAFETY: a plain call.
    look.thread.set(Some(unsafe { libc::pthread_self() }));
    MINE.set(look);
}

/// It cannot any more.
pub(super) fn forget(look: &Look) {
    MINE.set(ptr::null());
    look.thread.set(None);
}

/// A signal that nobody else is likely to use.
fn signal() -> c_int {
    libc::SIGRTMIN() + 7
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler does only what a handler may; see there.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NODEFER;
            libc::sigaction(signal(), &action, ptr::null_mut());
        }
    });
}

unsafe extern "C" fn on_signal(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: what is used lives for ever (`Look`) or as long as the execution whose step was interrupted.
    unsafe {
        let Some(look) = MINE.get().as_ref() else { return };
        if look.stage.compare_exchange(ASKED, ANSWERING, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return;
        }
        let errno = *libc::__errno_location();
        look.rt.store(RT.get(), Ordering::Relaxed);
        look.at.store(overflow::interrupted(context), Ordering::Relaxed);
        let stack = &mut *look.stack.get();
        stack.clear();
        // The stack of the fiber ends where that begins from which it was resumed.
        let bounds = fiber::running();
        backtrace::trace_unsynchronized(|frame| {
            if bounds.is_none_or(|bounds| !bounds.contains(frame.sp() as usize)) {
                return false;
            }
            // There is room: nothing is allocated.
            stack.push(frame.ip() as usize);
            stack.len() < DEPTH
        });
        look.stage.store(ANSWERED, Ordering::SeqCst);
        let mut waited = 0;
        let told = loop {
            match look.stage.load(Ordering::SeqCst) {
                ANSWERED if waited < WAITS => {
                    waited += 1;
                    let pause = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
                    libc::nanosleep(&pause, ptr::null_mut());
                }
                stage => {
                    if look.stage.compare_exchange(stage, NONE, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                        break stage;
                    }
                }
            }
        };
        if told == STANDS_STILL {
            let rt = RT.get();
            (&mut *rt).has_news_for_the_explorer();
            let message = std::mem::take(&mut *look.message.get());
            if (*rt).limit.is_none() {
                (*rt).limit = Some(Limit::EndlessStep(message));
            } else {
                std::mem::forget(message);
            }
            let exit = (&(*rt).threads)[(*rt).current].exit;
            loop {
                (*exit).suspend(());
            }
        }
        *libc::__errno_location() = errno;
    }
}

/// A lock of std or the like, and what to use in its place.
pub(super) struct Blocking {
    /// Part of the name of a function that only waiting for it calls.
    function: &'static str,
    pub std: &'static str,
    pub instead: &'static str,
    /// Whether a thread can stand still there: others do not refer to its stack.
    can_be_left: bool,
}

/// What blocks. If several stand on a stack, the first of this list is what the test has called.
const BLOCKING: [Blocking; 10] = [
    Blocking {
        function: "parking_lot",
        std: "a lock of `parking_lot`",
        instead: "Inside of a check write `fabius::sync::Mutex`, `RwLock`, `Condvar`",
        can_be_left: false,
    },
    Blocking {
        function: "std::sync::mpmc::",
        std: "`std::sync::mpsc`",
        instead: "Inside of a check write `fabius::sync::mpsc`",
        can_be_left: false,
    },
    Blocking {
        function: "std::thread::scoped::",
        std: "`std::thread::scope`",
        instead: "Inside of a check write `fabius::thread::scope`: threads of the operating system are not scheduled",
        can_be_left: false,
    },
    Blocking {
        function: "std::sync::barrier::",
        std: "`std::sync::Barrier::wait`",
        instead: "Inside of a check write `fabius::sync::Barrier`",
        can_be_left: true,
    },
    Blocking {
        function: "std::sys::sync::condvar::",
        std: "`std::sync::Condvar::wait`",
        instead: "Inside of a check write `fabius::sync::Condvar`, which lets the threads of the check go on",
        can_be_left: true,
    },
    Blocking {
        function: "std::sys::sync::once::",
        std: "`std::sync::Once`, `OnceLock` or `LazyLock`",
        instead: "Another thread of the check is at an operation in the initializer; write `fabius::sync::OnceLock`",
        can_be_left: true,
    },
    Blocking {
        function: "std::sys::sync::rwlock::",
        std: "`std::sync::RwLock`",
        instead: "Another thread of the check holds it over an operation; inside of a check write `fabius::sync::RwLock`",
        can_be_left: true,
    },
    Blocking {
        function: "std::sys::sync::mutex::",
        std: "`std::sync::Mutex::lock`",
        instead: "Another thread of the check holds it over an operation; inside of a check write `fabius::sync::Mutex`",
        can_be_left: true,
    },
    Blocking {
        function: "Thread::join",
        std: "`std::thread::JoinHandle::join`",
        instead: "Inside of a check write `fabius::thread::spawn`: threads of the operating system are not scheduled",
        can_be_left: true,
    },
    Blocking {
        function: "std::thread::park",
        std: "`std::thread::park`",
        instead: "Inside of a check write `fabius::thread::park`",
        can_be_left: true,
    },
];

/// A thread that is stopped until it is told to go on or to stand still.
pub(super) struct Sight<'a> {
    look: &'a Look,
    /// The functions from what was interrupted to where the thread begins; none if no thread of a check runs.
    frames: Vec<Frame>,
    waits_in: OnceCell<Option<&'static Blocking>>,
}

/// Stops a thread, which cannot end as long as something is held. `None` if it does not answer.
pub(super) fn at<T>(look: &Look, held: T) -> Option<Sight<'_>> {
    install();
    {
        let _held = held;
        let thread = look.thread.get()?;
        // SAFETY: the handler does not use them before it is asked.
        unsafe {
            (*look.stack.get()).clear();
            (*look.stack.get()).reserve(DEPTH);
        }
        look.stage.store(ASKED, Ordering::SeqCst);
        // SAFETY: the thread has not ended.
        if unsafe { libc::pthread_kill(thread, signal()) } != 0 {
            look.stage.store(NONE, Ordering::SeqCst);
            return None;
        }
    }
    let asked = Instant::now();
    while look.stage.load(Ordering::SeqCst) != ANSWERED {
        let is_late = asked.elapsed() > PATIENCE;
        if is_late && look.stage.compare_exchange(ASKED, NONE, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: the handler waits.
    let stack = unsafe { (*look.stack.get()).clone() };
    let at = look.at.load(Ordering::Relaxed);
    let begin = stack.iter().position(|address| *address == at).unwrap_or(stack.len());
    let mut frames = Vec::new();
    for (number, address) in stack[begin..].iter().enumerate() {
        // What was interrupted has not been run; of the others that is known which comes after the call.
        frames.append(&mut places::frames_at(address + usize::from(number == 0)));
    }
    Some(Sight { look, frames, waits_in: OnceCell::new() })
}

impl Sight<'_> {
    /// The functions of libraries that the test has called last.
    fn called(&self) -> &[Frame] {
        let end = self.frames.iter().position(|f| f.owner() == Owner::Test).unwrap_or(self.frames.len());
        &self.frames[..end]
    }

    /// What it waits in, if it blocks the operating system thread.
    pub fn waits_in(&self) -> Option<&'static Blocking> {
        *self.waits_in.get_or_init(|| {
            // Waiting ends in a call of C's library or of the kernel.
            let in_kernel = self.frames.first().is_none_or(|f| f.owner() == Owner::Library);
            let names: Vec<_> = self.called().iter().map(|f| f.name.replace(['<', '>'], "")).collect();
            // A layer for another library has that library's name in its own.
            let names: Vec<_> = names.into_iter().filter(|name: &String| !name.starts_with("fabius_")).collect();
            let is_called = |what: &&Blocking| names.iter().any(|name| name.contains(what.function));
            if in_kernel { BLOCKING.iter().find(is_called) } else { None }
        })
    }

    /// Where the test is.
    pub fn place(&self) -> Option<String> {
        places::place_of(&self.frames).map(|(file, line, _)| format!("{file}:{line}"))
    }

    /// Who it is.
    pub fn who(&self) -> String {
        let rt = self.look.rt.load(Ordering::Relaxed);
        if self.frames.is_empty() || self.called().iter().any(|f| f.name.contains("fabius::")) {
            return "a thread of the check".into();
        }
        // SAFETY: the thread that uses it is stopped, and not in a function of this crate.
        unsafe { (&*rt).name_of((*rt).current) }
    }

    /// Whether nothing breaks if the thread never goes on.
    pub fn can_be_left(&self) -> bool {
        let is_tests = self.called().iter().all(|f| f.owner() == Owner::Core);
        // Threads of a scope of std refer to the stack.
        let lends = self.frames.iter().any(|f| f.name.contains("std::thread::scoped::"));
        let left = self.waits_in().map_or(is_tests, |what| what.can_be_left);
        !self.frames.is_empty() && left && !lends
    }

    /// The thread goes on.
    pub fn goes_on(self) {
        self.tell(GOES_ON);
    }

    /// It stands still, and the execution is given up for this reason.
    pub fn stands_still(self, message: String) {
        // SAFETY: the handler waits, and takes it only when it is told to.
        unsafe { *self.look.message.get() = message };
        self.tell(STANDS_STILL);
    }

    fn tell(self, stage: u32) {
        let asked = Instant::now();
        // If it fails the handler has lost its patience and gone on.
        if self.look.stage.compare_exchange(ANSWERED, stage, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            while self.look.stage.load(Ordering::SeqCst) == stage && asked.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
