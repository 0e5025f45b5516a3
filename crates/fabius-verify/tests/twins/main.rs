//! The same programs as Rust tests and as models: the same least costs of the same bugs, whatever is bounded.
//!
//! A model is checked by one engine (compiled, stateful, every answer replayed by the reference), a Rust test by another
//! (real code on fibers, stateless). They share the schedulers, and nothing that says what a step is.

mod native;
mod random;

use fabius::Config;
use fabius::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use fabius::sync::{Barrier, Condvar, Mutex, RwLock, mpsc};
use fabius::thread::{self, park, spawn};
use fabius_trace::{Bound, Points, SchedulerKind, Verdict};
use fabius_verify::{Plan, check, program_id};
use std::sync::Arc;
use std::sync::atomic::AtomicBool as Stop;

/// The least costs: preemptions, delays of the round-robin and of the depth-first scheduler, steps.
type Costs = [Option<u32>; 4];

/// More than any of these programs needs.
const MOST: u32 = 40;

fn of_model(source: &str) -> Costs {
    let program = fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    let least = |bound, scheduler| {
        let plan = Plan { bound, scheduler, max: Some(MOST), points: Points::Sync, ..Plan::default() };
        let id = program_id("twin.fab", source, &[], &[]);
        let report = check(&program, &id, &plan, &Stop::new(false), &|_| {}).expect("the plan is possible");
        match report.verdict {
            Verdict::Bug { trace } => Some(trace.cost),
            _ => None,
        }
    };
    [
        least(Bound::Preemptions, SchedulerKind::Bag),
        least(Bound::Delays, SchedulerKind::RoundRobin),
        least(Bound::Delays, SchedulerKind::DepthFirst),
        least(Bound::Depth, SchedulerKind::Bag),
    ]
}

fn of_test(test: &(dyn Fn() + Sync)) -> Costs {
    let least = |bounded: fn(Config, u32) -> Config| {
        let at = |k: u32| bounded(Config::new().name("twin").every_panic_fails(), k);
        let least = (0..MOST).find(|k| at(*k).explore(test).is_bug())?;
        let said = at(MOST).explore(test).trace().map(|t| t.cost);
        assert_eq!(said, Some(least), "a trace says what was asked for");
        let fewer = least.checked_sub(1).map(|k| at(k).without_reduction().explore(test));
        assert!(fewer.is_none_or(|report| !report.is_bug()), "reduction hides nothing");
        Some(least)
    };
    [least(Config::preemptions), least(Config::delays), least(Config::delays_depth_first), least(Config::depth)]
}

/// The C program of a twin.
enum InC {
    /// Its text, and when it fails, where the text leaves that open.
    Program(&'static str, &'static str),
    /// C has no such thing, or another meaning for it.
    Nothing,
}

fn are_twins(name: &str, model: &str, in_c: InC, test: impl Fn() + Sync) {
    let (model, test) = (of_model(model), of_test(&test));
    if let InC::Program(source, bug) = in_c
        && let Some(target) = native::build(name, source, bug)
    {
        let costs = native::costs(&target, MOST);
        // In C the beginning of a thread is a step of its own, so steps are not compared.
        assert_eq!(model[..3], costs, "{name}: the model, and the C program (preemptions, round-robin, depth-first)");
    }
    assert_eq!(model, test, "{name}: the model, and the test (preemptions, round-robin, depth-first, steps)");
    assert!(model.iter().all(Option::is_some), "{name}: there is a bug");
}

fn shared<T>(value: T) -> (Arc<T>, Arc<T>, Arc<T>) {
    let value = Arc::new(value);
    (value.clone(), value.clone(), value)
}

#[test]
fn lost_update() {
    are_twins(
        "lost update",
        "sync var x: int;
         proc add() { let t = x; x = t + 1; }
         init { let h = spawn add(); let k = spawn add(); join h; join k; let r = x; assert r == 2; }",
        InC::Program(include_str!("lost_update.c"), ""),
        || {
            let (a, b, x) = shared(AtomicU32::new(0));
            let add = |x: Arc<AtomicU32>| move || x.store(x.load(SeqCst) + 1, SeqCst);
            let (h, k) = (spawn(add(a)), spawn(add(b)));
            h.join().unwrap();
            k.join().unwrap();
            assert_eq!(x.load(SeqCst), 2);
        },
    );
}

#[test]
fn an_exchange_that_fails() {
    are_twins(
        "exchange",
        "sync var x: int;
         proc add() { let p = x; atomic { if x == p { x = p + 1; } } }
         init { let h = spawn add(); let k = spawn add(); join h; join k; let r = x; assert r == 2; }",
        InC::Program(include_str!("exchange.c"), ""),
        || {
            let (a, b, x) = shared(AtomicU32::new(0));
            let add = |x: Arc<AtomicU32>| {
                move || {
                    let p = x.load(SeqCst);
                    let _ = x.compare_exchange(p, p + 1, SeqCst, SeqCst);
                }
            };
            let (h, k) = (spawn(add(a)), spawn(add(b)));
            h.join().unwrap();
            k.join().unwrap();
            assert_eq!(x.load(SeqCst), 2);
        },
    );
}

#[test]
fn between_the_last_access_and_the_unlock() {
    are_twins(
        "unlock",
        "sync var x: int; var m: lock;
         proc t() { m.acquire(); x = 1; m.release(); x = 2; }
         proc u() { let p = x; m.acquire(); let q = x; m.release(); assert !(p == 1 && q == 2); }
         init { let h = spawn t(); let k = spawn u(); join h; join k; }",
        InC::Program(include_str!("unlock.c"), ""),
        || {
            let (a, b, _) = shared((Mutex::new(()), AtomicU32::new(0)));
            let h = spawn(move || {
                let guard = a.0.lock().unwrap();
                a.1.store(1, SeqCst);
                drop(guard);
                a.1.store(2, SeqCst);
            });
            let k = spawn(move || {
                let p = b.1.load(SeqCst);
                let guard = b.0.lock().unwrap();
                let q = b.1.load(SeqCst);
                drop(guard);
                assert!(!(p == 1 && q == 2));
            });
            h.join().unwrap();
            k.join().unwrap();
        },
    );
}

#[test]
fn a_lock_around_nothing() {
    are_twins(
        "empty critical section",
        "sync var x: int; var m: lock;
         proc t() { x = 1; m.acquire(); m.release(); x = 2; }
         proc u() { let p = x; m.acquire(); m.release(); let q = x; assert !(p == 1 && q == 2); }
         init { let h = spawn t(); let k = spawn u(); join h; join k; }",
        InC::Program(include_str!("empty_critical_section.c"), ""),
        || {
            let (a, b, _) = shared((Mutex::new(()), AtomicU32::new(0)));
            let h = spawn(move || {
                a.1.store(1, SeqCst);
                drop(a.0.lock().unwrap());
                a.1.store(2, SeqCst);
            });
            let k = spawn(move || {
                let p = b.1.load(SeqCst);
                drop(b.0.lock().unwrap());
                let q = b.1.load(SeqCst);
                assert!(!(p == 1 && q == 2));
            });
            h.join().unwrap();
            k.join().unwrap();
        },
    );
}

#[test]
fn locks_in_two_orders() {
    are_twins(
        "deadlock",
        "var a: lock; var b: lock;
         proc t() { a.acquire(); b.acquire(); b.release(); a.release(); }
         proc u() { b.acquire(); a.acquire(); a.release(); b.release(); }
         init { let h = spawn t(); let k = spawn u(); join h; join k; }",
        InC::Program(include_str!("deadlock.c"), ""),
        || {
            let (t, u, _) = shared((Mutex::new(()), Mutex::new(())));
            let h = spawn(move || {
                let first = t.0.lock().unwrap();
                drop(t.1.lock().unwrap());
                drop(first);
            });
            let k = spawn(move || {
                let first = u.1.lock().unwrap();
                drop(u.0.lock().unwrap());
                drop(first);
            });
            h.join().unwrap();
            k.join().unwrap();
        },
    );
}

#[test]
fn a_notification_before_the_wait() {
    are_twins(
        "lost wake-up",
        "sync var ready: bool; var m: lock; var c: condition;
         proc wait() { let r = ready; if !r { m.acquire(); c.wait(m); m.release(); } }
         proc wake() { ready = true; c.notify_one(); }
         init { let h = spawn wait(); let k = spawn wake(); join h; join k; }",
        InC::Program(include_str!("lost_wakeup.c"), ""),
        || {
            let (a, b, _) = shared((Mutex::new(()), Condvar::new(), AtomicBool::new(false)));
            let h = spawn(move || {
                if !a.2.load(SeqCst) {
                    let guard = a.0.lock().unwrap();
                    drop(a.1.wait(guard).unwrap());
                }
            });
            let k = spawn(move || {
                b.2.store(true, SeqCst);
                b.1.notify_one();
            });
            h.join().unwrap();
            k.join().unwrap();
        },
    );
}

#[test]
fn a_thread_that_is_spawned_after_a_join() {
    are_twins(
        "join",
        "sync var x: int;
         proc first() { x = 1; }
         proc other() { let a = x; let b = x; assert !(a == 1 && b == 2); }
         proc last() { x = 2; }
         init { let h = spawn first(); let o = spawn other(); join h; let k = spawn last(); x = 3; join k; join o; }",
        InC::Program(include_str!("join.c"), ""),
        || {
            let (a, b, c) = shared(AtomicU32::new(0));
            let main = c.clone();
            let h = spawn(move || a.store(1, SeqCst));
            let o = spawn(move || {
                let (p, q) = (b.load(SeqCst), b.load(SeqCst));
                assert!(!(p == 1 && q == 2));
            });
            h.join().unwrap();
            let k = spawn(move || c.store(2, SeqCst));
            main.store(3, SeqCst);
            k.join().unwrap();
            o.join().unwrap();
        },
    );
}

#[test]
fn a_lock_that_is_tried() {
    are_twins(
        "try_lock",
        "sync var x: int; var m: lock;
         proc t() { m.acquire(); x = 1; m.release(); }
         proc u() { let p = x; let got = m.try_acquire(); if got { m.release(); } else { assert p == 0; } }
         init { let h = spawn t(); let k = spawn u(); join h; join k; }",
        InC::Program(include_str!("try_lock.c"), ""),
        || {
            let (a, b, _) = shared((Mutex::new(()), AtomicU32::new(0)));
            let h = spawn(move || {
                let guard = a.0.lock().unwrap();
                a.1.store(1, SeqCst);
                drop(guard);
            });
            let k = spawn(move || {
                let p = b.1.load(SeqCst);
                match b.0.try_lock() {
                    Ok(guard) => drop(guard),
                    Err(_) => assert_eq!(p, 0),
                }
            });
            h.join().unwrap();
            k.join().unwrap();
        },
    );
}

#[test]
fn two_at_a_barrier() {
    are_twins(
        "barrier",
        "sync var x: int; sync var arrived: int;
         proc t() { x = 1; let n = fetch_add(arrived, 1); if n == 0 { await arrived == 2; } x = 2; }
         proc u() { let n = fetch_add(arrived, 1); if n == 0 { await arrived == 2; } let p = x; assert p == 1; }
         init { let h = spawn t(); let k = spawn u(); join h; join k; }",
        InC::Program(include_str!("barrier.c"), ""),
        || {
            let (a, b, _) = shared((Barrier::new(2), AtomicU32::new(0)));
            let h = spawn(move || {
                a.1.store(1, SeqCst);
                a.0.wait();
                a.1.store(2, SeqCst);
            });
            let k = spawn(move || {
                b.0.wait();
                assert_eq!(b.1.load(SeqCst), 1);
            });
            h.join().unwrap();
            k.join().unwrap();
        },
    );
}

#[test]
fn readers_and_a_writer() {
    are_twins(
        "reader-writer lock",
        "sync var x: int; var m: rw_lock;
         proc t() { m.acquire_read(); let p = x; m.release_read(); m.acquire_write(); x = p + 1; m.release_write(); }
         init { let h = spawn t(); let k = spawn t(); join h; join k; let r = x; assert r == 2; }",
        InC::Program(include_str!("readers_writer.c"), ""),
        || {
            let (a, b, c) = shared((RwLock::new(()), AtomicU32::new(0)));
            let add = |s: Arc<(RwLock<()>, AtomicU32)>| {
                move || {
                    let guard = s.0.read().unwrap();
                    let p = s.1.load(SeqCst);
                    drop(guard);
                    let guard = s.0.write().unwrap();
                    s.1.store(p + 1, SeqCst);
                    drop(guard);
                }
            };
            let (h, k) = (spawn(add(a)), spawn(add(b)));
            h.join().unwrap();
            k.join().unwrap();
            assert_eq!(c.1.load(SeqCst), 2);
        },
    );
}

#[test]
fn the_last_sender() {
    are_twins(
        "channel",
        "sync var x: int; sync var sent: int; sync var senders: int = 1;
         proc t() { atomic { sent = sent + 1; } x = 1; senders = 0; x = 2; }
         proc u() {
             let p = x;
             var got: bool = true;
             while got { atomic { await sent > 0 || senders == 0; got = sent > 0; if got { sent = sent - 1; } } }
             let q = x;
             assert !(p == 1 && q == 2);
         }
         init { let h = spawn t(); let k = spawn u(); join h; join k; }",
        InC::Nothing,
        || {
            let (a, b, _) = shared(AtomicU32::new(0));
            let (sender, receiver) = mpsc::channel();
            let h = spawn(move || {
                sender.send(()).unwrap();
                a.store(1, SeqCst);
                drop(sender);
                a.store(2, SeqCst);
            });
            let receiver = std::mem::ManuallyDrop::new(receiver);
            let k = spawn(move || {
                let p = b.load(SeqCst);
                while receiver.recv().is_ok() {}
                let q = b.load(SeqCst);
                assert!(!(p == 1 && q == 2));
            });
            h.join().unwrap();
            k.join().unwrap();
        },
    );
}

#[test]
fn a_token_for_two() {
    are_twins(
        "park",
        "sync var x: int; sync var token: bool;
         proc t() { atomic { await token; token = false; } x = 1; atomic { await token; token = false; } }
         init { let h = spawn t(); token = true; x = 2; token = true; join h; }",
        InC::Nothing,
        || {
            let (a, b, _) = shared(AtomicU32::new(0));
            let h = spawn(move || {
                park();
                a.store(1, SeqCst);
                park();
            });
            let thread: &thread::Thread = h.thread();
            thread.unpark();
            b.store(2, SeqCst);
            thread.unpark();
            h.join().unwrap();
        },
    );
}

#[test]
fn a_lock_that_is_tried_while_another_begins_to_wait() {
    for (name, bug) in [("held", "p == 1 && !got"), ("released", "p == 1 && got")] {
        let model = "sync var x: int; sync var over: bool; var m: lock; var c: condition;
         proc t() { m.acquire(); x = 1; let o = over; if !o { c.wait(m); } m.release(); x = 2; }
         proc u() { c.notify_one(); let p = x; let got = m.try_acquire(); if got { m.release(); } c.notify_one(); let q = x; assert !(BUG && q == 2); }
         init {
             let h = spawn t();
             let k = spawn u();
             join k;
             m.acquire();
             over = true;
             c.notify_one();
             m.release();
             join h;
         }"
        .replace("BUG", bug);
        // In C who begins to wait can be woken before the mutex is given back: a thread that finds it held can be one preemption
        // ahead.
        let in_c = if name == "released" { InC::Program(include_str!("tried.c"), bug) } else { InC::Nothing };
        are_twins(name, &model, in_c, move || {
            let (a, b, _) = shared((Mutex::new(()), Condvar::new(), AtomicU32::new(0), AtomicBool::new(false)));
            let c = b.clone();
            let h = spawn(move || {
                let mut guard = a.0.lock().unwrap();
                a.2.store(1, SeqCst);
                if !a.3.load(SeqCst) {
                    guard = a.1.wait(guard).unwrap();
                }
                drop(guard);
                a.2.store(2, SeqCst);
            });
            let k = spawn(move || {
                b.1.notify_one();
                let p = b.2.load(SeqCst);
                let got = b.0.try_lock().map(drop).is_ok();
                b.1.notify_one();
                let q = b.2.load(SeqCst);
                assert!(!(p == 1 && got == (name == "released") && q == 2));
            });
            k.join().unwrap();
            let guard = c.0.lock().unwrap();
            c.3.store(true, SeqCst);
            c.1.notify_one();
            drop(guard);
            h.join().unwrap();
        });
    }
}
