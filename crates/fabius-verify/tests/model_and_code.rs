//! The same program as a model and as Rust code: the same verdict, the same least cost, the same number of
//! happens-before classes at each bound.

use fabius::sync::Mutex;
use fabius::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use fabius::{Config, Verdict, thread};
use fabius_explore::search::{Monitor, Options};
use fabius_explore::stateless;
use fabius_machine::Machine;
use fabius_trace::Points;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex as StdMutex};

/// Classes of the model's complete executions with at most so many preemptions, and the least cost of a bug.
fn model(source: &str, most: u32) -> (Vec<u64>, Option<u32>) {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let classes = StdMutex::new(BTreeMap::new());
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let machine = Machine::new(&program, Points::Sync);
    let outcome = stateless::search(&machine, &Options::default(), &monitor, &|complete| {
        let mut classes = classes.lock().expect("no worker has panicked");
        let least: &mut u32 = classes.entry(complete.signature).or_insert(complete.cost);
        *least = complete.cost.min(*least);
    });
    let classes = classes.into_inner().expect("no worker has panicked");
    let up_to = |k: u32| classes.values().filter(|cost| **cost <= k).count() as u64;
    ((0..=most).map(up_to).collect(), outcome.bug.map(|b| b.cost))
}

fn code(most: u32, test: impl Fn() + Sync) -> (Vec<u64>, Option<u32>) {
    let classes = |k| Config::new().preemptions(k).explore(&test).levels.last().map_or(0, |l| l.states);
    let bug = Config::new().iterative_preemptions().explore(&test);
    ((0..=most).map(classes).collect(), bug.trace().map(|t| t.cost))
}

fn reads_and_writes(threads: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let all: Vec<_> = (0..threads)
        .map(|_| {
            let x = x.clone();
            thread::spawn(move || {
                x.load(SeqCst);
                x.store(1, SeqCst);
            })
        })
        .collect();
    all.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn threads_that_read_and_then_write() {
    let known: [(usize, &[u64]); 3] = [(2, &[2, 4]), (3, &[6, 24, 36]), (4, &[24, 168, 432, 576])];
    for (threads, expected) in known {
        let most = expected.len() as u32 - 1;
        let bodies = (0..threads).map(|t| format!("process p{t}[1] {{ let r = x; x = 1; }}\n"));
        let source = "sync var x: int;\n".to_string() + &bodies.collect::<String>();
        assert_eq!(model(&source, most), (expected.to_vec(), None), "{threads} threads, model");
        assert_eq!(code(most, || reads_and_writes(threads)), (expected.to_vec(), None), "{threads} threads, code");
        let all = Config::new().exhaustive().explore(|| reads_and_writes(threads));
        assert_eq!((all.executions, all.verdict), (expected[expected.len() - 1], Verdict::Verified));
    }
}

#[test]
fn locks_in_the_wrong_order() {
    let (classes, cost) = model(
        "var a: lock;\nvar b: lock;\n\
         process p[1] { a.acquire(); b.acquire(); b.release(); a.release(); }\n\
         process q[1] { b.acquire(); a.acquire(); a.release(); b.release(); }\n",
        0,
    );
    let test = || {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let (p, q) = (locks.clone(), locks);
        let p = thread::spawn(move || {
            let _a = p.0.lock().unwrap();
            let _b = p.1.lock().unwrap();
        });
        let q = thread::spawn(move || {
            let _b = q.1.lock().unwrap();
            let _a = q.0.lock().unwrap();
        });
        p.join().unwrap();
        q.join().unwrap();
    };
    assert_eq!(cost, Some(1));
    assert_eq!(code(0, test), (classes, cost));
}

#[test]
fn an_update_that_is_lost() {
    let (_, cost) = model(
        "sync var x: int;\nproc add() { let t = x; x = t + 1; }\n\
         init { let a = spawn add(); let b = spawn add(); join a; join b; assert x == 2; }\n",
        0,
    );
    let test = || {
        let x = Arc::new(AtomicUsize::new(0));
        let all = [x.clone(), x.clone()].map(|x| thread::spawn(move || x.store(x.load(SeqCst) + 1, SeqCst)));
        all.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(x.load(SeqCst), 2);
    };
    assert_eq!((cost, code(0, test).1), (Some(1), Some(1)));
}
