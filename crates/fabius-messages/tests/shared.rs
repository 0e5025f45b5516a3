//! Programs whose nodes have to do with each other in other ways than by messages: a record says so, or is refused. Whatever
//! `fabius trace` says of the records of a program, its exploration says, too.

#[path = "common/programs.rs"]
mod programs;

use crate::common::{encodings, guide_of, has_bug, parse};
use fabius::mcapi::{self, Domain};
use fabius::sync::atomic::{AtomicI64, Ordering};
use fabius::sync::{Condvar, Mutex, mpsc};
use fabius::{Config, Report, Verdict, thread};
use fabius_messages::ctp::Ctp;
use fabius_messages::paths::{Guide, cover};
use fabius_messages::{Plan, Property};
use programs::{Memory, Program};
use std::sync::Arc;
use std::time::Duration;

fn explored(program: impl Fn(&Domain) + Sync) -> Report {
    Config::new().exhaustive().explore(|| program(&Domain::new()))
}

/// Why a run is no record.
fn refusal(program: impl Fn(&Domain) + Sync) -> String {
    let report = *mcapi::record(program).expect_err("it is refused");
    assert!(matches!(report.verdict, Verdict::Unknown { .. }), "{report}");
    report.to_string()
}

/// T2 is spawned when the message of T1 has been received, and T0 goes on when T2 has ended.
fn in_turn(domain: &Domain) {
    let inbox = domain.initialize("T0").endpoint_create(0);
    let one = domain.initialize("T1");
    thread::spawn(move || one.endpoint_create(1).msg_send(0, 4)).join().unwrap();
    inbox.msg_recv().equals(4).assert("the first message is that of T1");
    let two = domain.initialize("T2");
    thread::spawn(move || two.endpoint_create(2).msg_send(0, 1)).join().unwrap();
    inbox.msg_recv();
}

#[test]
fn spawning_and_joining_are_part_of_a_record() {
    assert!(!explored(in_turn).is_bug());
    let recorded = mcapi::record(in_turn).expect("a run comes to its end");
    for encoding in encodings() {
        assert!(!has_bug(&parse(&recorded), &Plan { encoding, ..Plan::default() }), "{encoding:?}\n{recorded}");
    }
    // Without these orders there would be a bug.
    let open: String = recorded.lines().filter(|l| !l.contains("after")).map(|l| format!("{l}\n")).collect();
    assert!(has_bug(&parse(&open), &Plan::default()));
}

#[test]
fn what_threads_do_that_nobody_joins_is_part_of_a_record() {
    let program = |domain: &Domain| {
        let (one, two) = (domain.initialize("T1"), domain.initialize("T2"));
        thread::spawn(move || one.endpoint_create(1).msg_send(2, 3));
        thread::spawn(move || two.endpoint_create(2).msg_recv().equals(4).assert("it is 4"));
        domain.initialize("T0").endpoint_create(0).msg_send(9, 0);
    };
    assert!(explored(program).is_bug());
    assert!(has_bug(&parse(&mcapi::record(program).expect("a run comes to its end")), &Plan::default()));
}

/// Somebody tells T2 to go on when the first message has come.
fn told(domain: &Domain, tell: impl FnOnce() + Send + 'static, hear: impl FnOnce() + Send + 'static) {
    let (zero, one, two) = (domain.initialize("T0"), domain.initialize("T1"), domain.initialize("T2"));
    let first = thread::spawn(move || one.endpoint_create(1).msg_send(0, 4));
    let second = thread::spawn(move || {
        hear();
        two.endpoint_create(2).msg_send(0, 1);
    });
    let inbox = zero.endpoint_create(0);
    inbox.msg_recv().equals(4).assert("the first message is that of T1");
    tell();
    inbox.msg_recv();
    first.join().unwrap();
    second.join().unwrap();
}

#[test]
fn orders_that_no_message_makes_are_refused() {
    let condvar = |domain: &Domain| {
        let go = Arc::new((Mutex::new(false), Condvar::new()));
        let hears = go.clone();
        let tell = move || {
            *go.0.lock().unwrap() = true;
            go.1.notify_all();
        };
        told(domain, tell, move || drop(hears.1.wait_while(hears.0.lock().unwrap(), |go| !*go).unwrap()));
    };
    let channel = |domain: &Domain| {
        let (tells, hears) = mpsc::channel();
        told(domain, move || tells.send(()).unwrap(), move || hears.recv().unwrap());
    };
    let hang_up = |domain: &Domain| {
        let (tells, hears) = mpsc::channel::<()>();
        told(domain, move || drop(tells), move || hears.recv().unwrap_or_default());
    };
    let slow = |domain: &Domain| told(domain, || (), || thread::sleep(Duration::from_secs(1)));
    type Program<'a> = &'a (dyn Fn(&Domain) + Sync);
    let programs: [(Program<'_>, &str); 4] = [
        (&condvar, "touch the same shared state"),
        (&channel, "touch the same shared state"),
        (&hang_up, "touch the same shared state"),
        (&slow, "depends on time"),
    ];
    for (program, why) in programs {
        assert!(!explored(program).is_bug());
        let said = refusal(program);
        assert!(said.contains("a run that cannot be recorded") && said.contains(why), "{said}");
        let (paths, report) = mcapi::record_paths(&Config::new().exhaustive(), program);
        assert!(paths.is_empty() && matches!(report.verdict, Verdict::Unknown { .. }), "{report}");
    }
}

/// What is sent depends on who comes first to a lock.
#[test]
fn what_depends_on_shared_memory_is_refused() {
    let program = |domain: &Domain| {
        let first = Arc::new(Mutex::new(true));
        let hands = [1, 2].map(|port| {
            let (node, first) = (domain.initialize(&format!("T{port}")), first.clone());
            thread::spawn(move || {
                let is_first = std::mem::replace(&mut *first.lock().unwrap(), false);
                node.endpoint_create(port).msg_send(0, if is_first { 7 } else { i64::from(port) });
            })
        });
        let inbox = domain.initialize("T0").endpoint_create(0);
        inbox.msg_recv().plus(inbox.msg_recv()).equals(9).assert("T1 was first");
        for hand in hands {
            hand.join().unwrap();
        }
    };
    assert!(explored(program).is_bug());
    assert!(refusal(program).contains("tests/shared.rs:"));
    let chosen = |domain: &Domain| {
        let own = domain.initialize("T0").endpoint_create(0);
        own.msg_send(0, i64::from(fabius::any(2)));
        own.msg_recv().equals(0).assert("it is 0");
    };
    assert!(explored(chosen).is_bug());
    assert!(refusal(chosen).contains("chosen freely"));
    // Two threads act for one node.
    let both = |domain: &Domain| {
        let own = Arc::new(domain.initialize("T0").endpoint_create(0));
        let theirs = own.clone();
        let other = thread::spawn(move || theirs.msg_send(0, 1));
        own.msg_send(0, 2);
        own.msg_recv().equals(1).assert("it is 1");
        other.join().unwrap();
    };
    assert!(explored(both).is_bug());
    assert!(refusal(both).contains("two threads act for the same node"));
}

/// Memory that is handed over by spawning and joining has no other order.
#[test]
fn what_is_handed_over_is_recorded() {
    let program = |domain: &Domain| {
        let cell = Arc::new(AtomicI64::new(5));
        let (theirs, node) = (cell.clone(), domain.initialize("T1"));
        let other = thread::spawn(move || {
            node.endpoint_create(1).msg_send(0, theirs.load(Ordering::SeqCst));
            theirs.store(6, Ordering::SeqCst);
        });
        let inbox = domain.initialize("T0").endpoint_create(0);
        inbox.msg_recv().equals(5).assert("it was 5");
        other.join().unwrap();
        inbox.msg_send(0, cell.load(Ordering::SeqCst));
        inbox.msg_recv().equals(6).assert("it is 6");
    };
    assert!(!explored(program).is_bug());
    assert!(!has_bug(&parse(&mcapi::record(program).expect("nothing is open")), &Plan::default()));
}

/// What the records of a program say of it; `None`: a run is refused.
fn traced(program: &Program) -> Option<bool> {
    let (mut bug, mut refused) = (false, false);
    let mut record = |guide: &Guide| {
        mcapi::record_guided(&guide_of(guide), |domain| programs::run(program, domain)).map_err(|report| {
            bug |= report.is_bug();
            refused |= !report.is_bug();
            report.to_string()
        })
    };
    let mut found = false;
    let mut decide = |ctp: &Ctp| {
        for property in [Property::Assert, Property::Deadlock] {
            found |= has_bug(ctp, &Plan { property, ..Plan::default() });
        }
        Ok(())
    };
    let covered = cover(&Plan::default(), &Arc::default(), &mut record, &mut decide);
    assert!(covered.is_ok() || bug || refused, "{covered:?}\n{program:?}");
    (bug || found).then_some(true).or((!refused).then_some(false))
}

fn compare_many(seed: u64, count: usize) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut seen = [0; 4];
    for i in 0..count {
        let memory = if i % 2 == 0 { Memory::Apart } else { Memory::Shared };
        let program = programs::random(&mut rng, memory);
        let bug = programs::has_bug(&program);
        let report = explored(|domain| programs::run(&program, domain));
        assert_eq!(report.is_bug(), bug, "{report}\n{program:?}");
        let traced = traced(&program);
        assert!(traced.is_some() || memory == Memory::Shared, "refused\n{program:?}");
        assert!(traced.is_none_or(|traced| traced == bug), "records say {traced:?}\n{program:?}");
        seen[match traced {
            Some(bug) => usize::from(bug),
            None => 2 + usize::from(bug),
        }] += 1;
    }
    // Each kind occurs often; that what is refused has a bug, less so.
    assert!(seen[..3].iter().all(|n| *n * 20 > count) && seen[3] > 0, "{seen:?}");
}

#[test]
fn records_agree_with_exploration_and_with_the_documents() {
    compare_many(1, 400);
}

#[test]
#[ignore = "takes minutes"]
fn records_of_thousands_agree_with_exploration_and_with_the_documents() {
    compare_many(2, 20_000);
}
