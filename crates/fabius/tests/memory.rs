//! Memory, in a process of its own.

use fabius::sync::Arc;
use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::{Config, thread};

#[test]
fn memory_does_not_grow_with_the_number_of_executions() {
    let resident = || -> usize {
        let Ok(statm) = std::fs::read_to_string("/proc/self/statm") else { return 0 };
        statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0)
    };
    let run = |executions| {
        Config::new().random(executions).explore(|| {
            let x = Arc::new(AtomicUsize::new(0));
            let all = [x.clone(), x.clone(), x].map(|x| thread::spawn(move || x.fetch_add(1, SeqCst)));
            all.into_iter().for_each(|t| drop(t.join()));
        })
    };
    run(2_000);
    let before = resident();
    run(50_000);
    let grown = resident().saturating_sub(before);
    assert!(grown < 1000, "{grown} pages more");
}
