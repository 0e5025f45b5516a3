//! What is said when memory, time or stacks do not suffice. What might end or hang the process runs in a child process.

use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::sync::{Arc, Mutex};
use fabius::{BugKind, Config, Report, Verdict, thread};

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
    for _ in 0..100 {
        assert_eq!(kind(deadlock()), BugKind::Deadlock);
    }
    let grown = address_space().saturating_sub(before);
    // Each execution that fails has two stacks of two mebibytes; other tests have some meanwhile.
    assert!(grown < 200 << 20, "{grown} bytes more");
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
