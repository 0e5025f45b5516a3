//! Ctrl-C and SIGTERM while checks run: each says what it has seen, and then the process ends as the signal would have ended it.
//!
//! A library has no business with signals that a program handles itself: there is a handler only while a check runs, only where the
//! signal would have ended the process, and not where `FABIUS_INTERRUPT` is `ignore`. A check that was interrupted does not return,
//! so that no test passes of which a part was looked at. A second signal ends the process at once.

use crate::report::Report;

#[cfg(target_os = "linux")]
pub(crate) use signals::{Running, flag};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{Running, flag};

#[cfg(target_os = "linux")]
mod signals {
    use super::{Report, text};
    use crate::rt::IS_INTERRUPTED;
    use std::io::Write;
    use std::mem::zeroed;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::time::Duration;

    /// The first signal, which is written down.
    static SIGNAL: AtomicI32 = AtomicI32::new(0);
    /// When it came, in milliseconds.
    static CAME: AtomicI64 = AtomicI64::new(0);

    const SIGNALS: [libc::c_int; 2] = [libc::SIGINT, libc::SIGTERM];

    /// Signals that come as close together as this are one: `timeout` sends its signal to the process, and once more to its group.
    const ONE: i64 = 300;

    /// How many checks run, and for which of the signals there is a handler.
    struct Checks {
        running: usize,
        handled: [bool; 2],
    }

    static CHECKS: Mutex<Checks> = Mutex::new(Checks { running: 0, handled: [false; 2] });

    fn checks() -> MutexGuard<'static, Checks> {
        CHECKS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now() -> i64 {
        // SAFETY: a plain call, also for a signal handler.
        unsafe {
            let mut time: libc::timespec = zeroed();
            libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time);
            time.tv_sec * 1000 + time.tv_nsec / 1_000_000
        }
    }

    /// What the signal does without a handler.
    ///
    /// # Safety
    /// Nothing that is left behind is needed any more.
    unsafe fn ends_the_process(signal: libc::c_int) -> ! {
        // SAFETY: plain calls, also for a signal handler.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            let mut these: libc::sigset_t = zeroed();
            libc::sigemptyset(&mut these);
            libc::sigaddset(&mut these, signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &these, ptr::null_mut());
            libc::raise(signal);
            // It was ignored, as by the first process of a container.
            libc::_exit(128 + signal);
        }
    }

    extern "C" fn on_signal(signal: libc::c_int) {
        if SIGNAL.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            CAME.store(now(), Ordering::SeqCst);
            IS_INTERRUPTED.store(true, Ordering::SeqCst);
        } else if IS_INTERRUPTED.load(Ordering::SeqCst) && now() - CAME.load(Ordering::SeqCst) > ONE {
            // SAFETY: it ends.
            unsafe { ends_the_process(signal) };
        }
    }

    fn handler() -> libc::sighandler_t {
        on_signal as *const () as libc::sighandler_t
    }

    /// What is done with a signal; and that from now on, if that is given.
    fn action(signal: libc::c_int, new: Option<libc::sighandler_t>) -> libc::sighandler_t {
        // SAFETY: the handler does only what a handler may.
        unsafe {
            let mut old: libc::sigaction = zeroed();
            match new {
                None => libc::sigaction(signal, ptr::null(), &mut old),
                Some(new) => {
                    let mut action: libc::sigaction = zeroed();
                    action.sa_sigaction = new;
                    action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
                    libc::sigaction(signal, &action, &mut old)
                }
            };
            old.sa_sigaction
        }
    }

    /// Set when a check shall end and say what it has seen.
    pub(crate) fn flag() -> &'static AtomicBool {
        &IS_INTERRUPTED
    }

    /// A check that runs; dropping it is its end.
    pub(crate) struct Running(());

    impl Running {
        /// One begins.
        pub fn begins() -> Running {
            let mut checks = checks();
            if checks.running == 0 && std::env::var_os("FABIUS_INTERRUPT").is_none_or(|how| how != "ignore") {
                for (signal, handled) in SIGNALS.into_iter().zip(&mut checks.handled) {
                    *handled = action(signal, None) == libc::SIG_DFL;
                    if *handled {
                        action(signal, Some(handler()));
                    }
                }
            }
            checks.running += 1;
            Running(())
        }

        /// It is over. If it was interrupted, it says what it has seen, and does not return.
        pub fn ends(self, report: &Report) {
            if IS_INTERRUPTED.load(Ordering::SeqCst) {
                // Not by a macro: the test runner keeps what those print until the test is over.
                let _ = std::io::stderr().write_all(text(report).as_bytes());
                drop(self);
                // Others are to say what they have seen.
                loop {
                    std::thread::sleep(Duration::from_secs(1));
                }
            }
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            let mut checks = checks();
            checks.running -= 1;
            if checks.running > 0 {
                return;
            }
            let signal = SIGNAL.load(Ordering::SeqCst);
            if signal != 0 {
                // SAFETY: all have said what they have seen.
                unsafe { ends_the_process(signal) };
            }
            for (signal, handled) in SIGNALS.into_iter().zip(&mut checks.handled) {
                if std::mem::take(handled) && action(signal, None) == handler() {
                    action(signal, Some(libc::SIG_DFL));
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{Report, text};
    use crate::rt::IS_INTERRUPTED;
    use std::sync::atomic::AtomicBool;

    pub(crate) fn flag() -> &'static AtomicBool {
        &IS_INTERRUPTED
    }

    pub(crate) struct Running(());

    impl Running {
        pub fn begins() -> Running {
            Running(())
        }

        pub fn ends(self, report: &Report) {
            let _ = text(report);
        }
    }
}

/// What is said of a check that was interrupted.
fn text(report: &Report) -> String {
    let who = crate::command::this();
    let found = report.failure().unwrap_or_else(|| report.to_string());
    format!("\nfabius: interrupted, `{who}`:\n{found}\n")
}
