//! What is said when memory, time or stacks do not suffice. What might end or hang the process runs in a child process.

use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Arc, Mutex};
use fabius::{BugKind, Config, Report, Verdict, thread};
use std::time::Duration;

fn deadlock() -> Report {
    Config::new().name("limits").explore(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let theirs = locks.clone();
        let other = thread::spawn(move || {
            let _b = theirs.1.lock();
            let _a = theirs.0.lock();
        });
        let _a = locks.0.lock();
        let _b = locks.1.lock();
        drop((_a, _b));
        other.join().unwrap();
    })
}

/// The address space of the process in bytes.
#[cfg(target_os = "linux")]
fn address_space() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
#[cfg(target_os = "linux")]
fn failing_checks_give_back_their_stacks() {
    let kind = |report: Report| report.trace().unwrap().kind;
    assert_eq!(kind(deadlock()), BugKind::Deadlock);
    let before = address_space();
    for _ in 0..1500 {
        assert_eq!(kind(deadlock()), BugKind::Deadlock);
    }
    let grown = address_space().saturating_sub(before);
    // Two executions of each fail, with two stacks of two mebibytes: some eleven gibibytes in all. What is leaked may refer to one
    // of the two (it depends on how the test is built): a thousand stay then, and as many again before it is looked who refers to them.
    assert!(grown < 5 << 30, "{grown} bytes more");
}

#[test]
fn a_stack_that_there_is_no_memory_for_is_a_limit_and_no_bug() {
    let report = Config::new().explore(|| {
        let x = AtomicUsize::new(0);
        x.store(1, SeqCst);
        let other = thread::Builder::new().name("large".into()).stack_size(1 << 60).spawn(|| ()).unwrap();
        other.join().unwrap();
    });
    let Verdict::Unknown { reason, .. } = &report.verdict else { panic!("{report}") };
    let text = format!("{reason:?}");
    assert!(text.contains("no memory or address space for the stack of thread 1"), "{text}");
}

#[test]
fn a_stack_is_as_large_as_it_is_asked_for() {
    let report = Config::new().explore(|| {
        let large = thread::Builder::new().stack_size(64 << 20);
        let other = large.spawn(|| {
            let array = [1u8; 6_000_000];
            std::hint::black_box(&array);
            AtomicUsize::new(0).load(SeqCst);
        });
        other.unwrap().join().unwrap();
    });
    assert_eq!(report.verdict, Verdict::Verified);
}

/// Runs an ignored test of this file as a process of its own: what it prints, and its exit status. A process that hangs is
/// ended after a time that is far above what is needed.
fn run_alone(name: &str) -> (String, Option<i32>) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--ignored", "--nocapture"]);
    let output = std::env::temp_dir().join(format!("fabius-{}-{name}", std::process::id()));
    let file = std::fs::File::create(&output).unwrap();
    command.stdout(file.try_clone().unwrap()).stderr(file);
    let mut child = command.spawn().unwrap();
    let began = std::time::Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if began.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("`{name}` hangs: {}", std::fs::read_to_string(&output).unwrap());
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let text = std::fs::read_to_string(&output).unwrap();
    std::fs::remove_file(&output).unwrap();
    (text, status)
}

/// Checks that a process says something, and ends with a status.
#[track_caller]
fn says(name: &str, status: i32, parts: &[&str]) {
    let (text, ended) = run_alone(name);
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    assert_eq!(ended, Some(status), "{text}");
}

/// Runs a thread beside the main one, each with its number.
fn two(f: impl Fn(usize) + Clone + Send + 'static) {
    let g = f.clone();
    let other = thread::Builder::new().name("worker".into()).spawn(move || g(1)).unwrap();
    f(0);
    other.join().unwrap();
}

fn in_a_second() -> Config {
    Config::new().time(Duration::from_secs(1)).name("limits")
}

/// The exit status of a test that fails.
const FAILED: i32 = 101;

fn endless(number: u64) -> u64 {
    let array = [number; 32];
    if number == u64::MAX { 0 } else { std::hint::black_box(endless(number + 1)) + std::hint::black_box(array[3]) }
}

#[test]
#[ignore = "run by another test"]
fn overflows() {
    let report = Config::new().name("limits").explore(|| {
        let other = thread::Builder::new().name("deep".into()).spawn(|| {
            AtomicUsize::new(0).load(SeqCst);
            endless(0);
        });
        other.unwrap().join().unwrap();
    });
    let trace = report.trace().unwrap();
    assert_eq!(trace.kind, BugKind::Panic);
    assert!(trace.message.contains("thread 1 (deep)"), "{}", trace.message);
    // The next check is as any other.
    assert_eq!(Config::new().explore(|| ()).verdict, Verdict::Verified);
    Config::new().name("limits").check(|| assert_eq!(endless(0), 1));
}

#[test]
#[cfg(target_os = "linux")]
fn a_stack_that_overflows_is_a_failure_of_its_thread() {
    says(
        "overflows",
        FAILED,
        &["stack overflow: main needs more than its", "limits.rs", "stack_size", "RUST_MIN_STACK"],
    );
}

#[test]
#[ignore = "run by another test"]
fn overflows_in_a_library() {
    struct Endless;
    impl std::fmt::Display for Endless {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            let mut text = String::new();
            std::fmt::Write::write_fmt(&mut text, format_args!("{}", Endless))?;
            f.write_str(&text)
        }
    }
    let _ = Config::new().name("limits").explore(|| drop(Endless.to_string()));
}

#[test]
#[cfg(target_os = "linux")]
fn a_stack_that_overflows_anywhere_is_named() {
    let (text, _) = run_alone("overflows_in_a_library");
    // Where exactly it does is up to the compiler.
    assert!(text.contains("overflow") && text.contains("stack_size") || text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "run by another test"]
fn spins() {
    in_a_second().check(|| {
        two(|number| {
            AtomicUsize::new(0).load(SeqCst);
            if number == 1 {
                loop {
                    std::hint::black_box(0);
                }
            }
        });
    });
}

#[test]
fn a_loop_without_operations_ends_with_the_time_and_is_named() {
    says("spins", FAILED, &["the time limit: ", "without an operation", "limits.rs:"]);
    if cfg!(target_os = "linux") {
        says("spins", FAILED, &["thread 1 (worker) has run for", "found after 1 execution", "test result: FAILED"]);
    }
}

#[test]
#[ignore = "run by another test"]
fn spins_in_an_allocator() {
    let _ = in_a_second().explore(|| {
        loop {
            std::hint::black_box(vec![0u8; 100_000]);
        }
    });
    println!("went on");
}

#[test]
fn a_loop_that_allocates_ends_too() {
    let (text, _) = run_alone("spins_in_an_allocator");
    assert!(text.contains("went on") || text.contains("the process ends"), "{text}");
}

#[test]
#[ignore = "run by another test"]
fn waits_in_std() {
    let report = in_a_second().explore(|| {
        let lock = Arc::new(std::sync::Mutex::new(0));
        two(move |_| {
            let mut guard = lock.lock().unwrap();
            AtomicUsize::new(0).load(SeqCst);
            *guard += 1;
        });
    });
    println!("{report}");
    let report = in_a_second().explore(|| {
        let shared = Arc::new((std::sync::Mutex::new(false), std::sync::Condvar::new()));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            AtomicUsize::new(0).load(SeqCst);
            *theirs.0.lock().unwrap() = true;
            theirs.1.notify_all();
        });
        let mut guard = shared.0.lock().unwrap();
        while !*guard {
            guard = shared.1.wait(guard).unwrap();
        }
        drop(guard);
        other.join().unwrap();
    });
    println!("{report}");
    let report = in_a_second().explore(|| {
        let other = std::thread::spawn(std::thread::park);
        other.join().unwrap();
    });
    println!("{report}");
}

#[test]
#[cfg(target_os = "linux")]
fn locks_of_std_that_hang_are_named_with_what_to_write_instead() {
    says(
        "waits_in_std",
        0,
        &[
            "`std::sync::Mutex::lock`",
            "write `fabius::sync::Mutex`",
            "`std::sync::Condvar::wait`",
            "write `fabius::sync::Condvar`",
            "`std::thread::JoinHandle::join`",
            "write `fabius::thread::spawn`",
        ],
    );
}

#[test]
#[ignore = "run by another test"]
fn waits_in_std_without_a_limit_of_time() {
    Config::new().name("limits").check(|| {
        let lock = Arc::new(std::sync::Mutex::new(0));
        two(move |_| {
            let mut guard = lock.lock().unwrap();
            AtomicUsize::new(0).load(SeqCst);
            *guard += 1;
        });
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_lock_of_std_that_hangs_ends_a_check_without_a_limit_of_time() {
    says("waits_in_std_without_a_limit_of_time", FAILED, &["`std::sync::Mutex::lock`", "write `fabius::sync::Mutex`"]);
}

#[test]
#[ignore = "run by another test"]
fn makes_one_long_execution() {
    let report = in_a_second().max_steps(u32::MAX).explore(|| {
        let x = AtomicUsize::new(0);
        loop {
            x.fetch_add(1, SeqCst);
        }
    });
    println!("{report}");
    let report = in_a_second().max_steps(u32::MAX).exhaustive().explore(|| {
        let x = AtomicUsize::new(0);
        loop {
            x.fetch_add(1, SeqCst);
        }
    });
    println!("{report}");
}

#[test]
fn one_long_execution_ends_with_the_time() {
    says("makes_one_long_execution", 0, &["cut short by the time limit"]);
}

#[test]
#[ignore = "run by another test"]
fn makes_a_thousand_threads() {
    let report = in_a_second().explore(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let add = |x: &Arc<AtomicUsize>| {
            let x = x.clone();
            thread::spawn(move || x.fetch_add(1, SeqCst))
        };
        let threads: Vec<_> = (0..1000).map(|_| add(&x)).collect();
        threads.into_iter().for_each(|t| assert!(t.join().unwrap() < 1000));
    });
    println!("{report}");
}

#[test]
fn a_thousand_threads_end_with_the_time() {
    says("makes_a_thousand_threads", 0, &["no failing execution"]);
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("in a destructor");
    }
}

#[test]
fn a_panic_in_the_destructor_of_a_thread_local_value_is_a_failure() {
    fabius::thread_local! {
        static LAST: std::cell::RefCell<Option<PanicsWhenDropped>> = std::cell::RefCell::new(None);
    }
    let report = Config::new().name("limits").explore(|| {
        let other = thread::spawn(|| LAST.with_borrow_mut(|last| *last = Some(PanicsWhenDropped)));
        let _ = other.join();
    });
    let trace = report.trace().unwrap_or_else(|| panic!("{report}"));
    assert_eq!(trace.kind, BugKind::Panic);
    let text = report.failure().unwrap();
    for part in ["the destructor of a thread-local value panicked", "in a destructor", "in thread 1 at", "limits.rs"] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
}

#[test]
#[ignore = "run by another test"]
fn panics_while_it_panics() {
    Config::new().name("limits").check(|| {
        let other = thread::spawn(|| {
            let _value = PanicsWhenDropped;
            AtomicUsize::new(0).load(SeqCst);
            panic!("the cause");
        });
        let _ = other.join();
    });
}

#[test]
fn a_panic_while_another_unwinds_shows_both() {
    let (text, status) = run_alone("panics_while_it_panics");
    for part in ["thread 1 panics where that cannot be caught", "the cause", "in a destructor", "limits.rs"] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    assert_ne!(status, Some(0), "{text}");
}

#[test]
#[ignore = "run by another test"]
fn panics_in_a_function_that_cannot_unwind() {
    extern "C" fn calls() {
        panic!("the only cause");
    }
    Config::new().name("limits").check(|| calls());
}

#[test]
fn a_panic_that_cannot_unwind_is_shown() {
    let (text, _) = run_alone("panics_in_a_function_that_cannot_unwind");
    assert!(text.contains("the only cause") && text.contains("main panics where"), "{text}");
}

#[test]
#[ignore = "run by another test"]
fn chooses_among_billions() {
    let report = in_a_second().executions(u64::MAX).explore(|| {
        assert_ne!(fabius::any(u32::MAX), 2_000_000_000);
    });
    assert!(matches!(report.verdict, Verdict::Unknown { .. }), "{report}");
    // The last ones are tried first, and are what they seem.
    let report = Config::new().name("limits").explore(|| {
        let x = AtomicUsize::new(0);
        x.store(fabius::any(u32::MAX) as usize, SeqCst);
        assert_ne!(x.load(SeqCst), 4_294_967_200);
    });
    assert!(report.is_bug(), "{report}");
    #[cfg(target_os = "linux")]
    assert!(address_space() < 2 << 30, "{} bytes", address_space());
}

#[test]
fn a_choice_among_billions_stays_within_time_and_memory() {
    says("chooses_among_billions", 0, &["test result: ok"]);
}

#[test]
#[ignore = "run by another test"]
fn uses_threads_of_std() {
    // The real thread uses it first, and is over when the check does.
    let first = Config::new().name("limits").explore(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let theirs = x.clone();
        std::thread::spawn(move || theirs.fetch_add(1, SeqCst)).join().unwrap();
        x.fetch_add(1, SeqCst);
    });
    println!("first: {first} {}", first.failure().unwrap_or_default());
    // The check uses it first.
    let second = Config::new().name("limits").explore(|| {
        let x = Arc::new(AtomicUsize::new(0));
        x.fetch_add(1, SeqCst);
        let theirs = x.clone();
        std::thread::spawn(move || theirs.fetch_add(1, SeqCst)).join().unwrap();
    });
    println!("second: {second} {}", second.failure().unwrap_or_default());
    // What was used outside before is as good as new.
    let x = AtomicUsize::new(0);
    x.store(0, SeqCst);
    assert_eq!(Config::new().explore(|| drop(x.load(SeqCst).to_string())).verdict, Verdict::Verified);
}

#[test]
fn threads_of_std_inside_of_a_check_are_named() {
    let (text, _) = run_alone("uses_threads_of_std");
    for part in
        ["first: fabius: fails", "thread of `std::thread`", "second: fabius: fails", "`fabius::thread`", "1 passed"]
    {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
}

#[test]
#[ignore = "run by another test"]
fn ends_the_process() {
    Config::new().name("limits").check(|| {
        two(|number| {
            AtomicUsize::new(0).load(SeqCst);
            if number == 1 {
                std::process::exit(0);
            }
        });
    });
}

#[test]
#[cfg(target_os = "linux")]
fn who_ends_the_process_has_not_passed() {
    says(
        "ends_the_process",
        FAILED,
        &["thread 1 (worker) ends the process", "limits.rs", "the check, which is not over"],
    );
}

#[test]
#[ignore = "run by another test"]
fn aborts() {
    Config::new().name("limits").check(|| {
        AtomicUsize::new(0).load(SeqCst);
        std::process::abort();
    });
}

#[test]
fn who_aborts_has_not_passed() {
    let (text, status) = run_alone("aborts");
    assert!(status.is_none() && !text.contains("test result: ok"), "{status:?} {text}");
}

#[test]
#[ignore = "run by another test"]
fn prints_much() {
    let report = Config::new().name("limits").explore(|| {
        two(|_| {
            for _ in 0..500 {
                println!("{}", "much ".repeat(200));
            }
            AtomicUsize::new(0).load(SeqCst);
        });
    });
    assert_eq!(report.verdict, Verdict::Verified);
}

#[test]
fn a_test_may_print_much() {
    let (text, status) = run_alone("prints_much");
    assert_eq!(status, Some(0));
    assert!(text.len() > 1_000_000 && text.contains("test result: ok"));
}

#[test]
#[ignore = "run by another test"]
fn panics_after_a_check() {
    let report = Config::new().name("limits").explore(|| panic!("within the check"));
    assert!(report.is_bug());
    assert!(std::panic::catch_unwind(|| panic!("after the check")).is_err());
    assert!(std::thread::spawn(|| panic!("on another thread")).join().is_err());
}

#[test]
fn panics_outside_of_a_check_are_printed_as_ever() {
    let (text, status) = run_alone("panics_after_a_check");
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("after the check") && text.contains("on another thread"), "{text}");
    assert!(!text.contains("within the check"), "{text}");
}

/// What a handler of signals is told does not depend on the check.
#[test]
#[ignore = "run by another test"]
fn follows_a_null_pointer() {
    Config::new().name("limits").check(|| {
        AtomicUsize::new(0).load(SeqCst);
        // SAFETY: none, on purpose: the process ends here.
        unsafe { std::ptr::read_volatile(std::hint::black_box(std::ptr::null::<i32>())) };
    });
}

#[test]
#[cfg(unix)]
fn a_fault_of_the_test_ends_the_process_as_ever() {
    let (text, status) = run_alone("follows_a_null_pointer");
    assert!(status.is_none() && !text.contains("overflow") && !text.contains("test result: ok"), "{status:?} {text}");
}

#[test]
fn a_bound_within_which_nothing_ends_says_so() {
    let explored = |config: Config| {
        config.explore(|| {
            let other = thread::spawn(|| AtomicUsize::new(0).load(SeqCst));
            other.join().unwrap();
        })
    };
    let text = |config| explored(config).to_string();
    assert!(
        text(Config::new().depth(0))
            .contains("within 0 steps, under sequential consistency; none comes to its end within the bound")
    );
    assert!(!text(Config::new().delays(0)).contains("comes to its end"));
}

#[test]
fn a_time_that_no_clock_reaches_is_no_limit() {
    let report = Config::new().time(Duration::MAX).explore(|| {});
    assert!(report.to_string().contains("all were explored"), "{report}");
}
