//! Rust programs: what exploration of the code finds, the solver finds on recorded runs.

use crate::common::{encodings, explored, guide_of, has_bug, parse};
use fabius::mcapi::{self, Domain, Status};
use fabius::{Config, thread};
use fabius_messages::paths::{Guide, cover};
use fabius_messages::semantics::Buffering;
use fabius_messages::{Plan, Property};
use std::sync::Arc;

/// The running example: T2 sends to T0, and only then tells T1 to do so.
fn example(domain: &Domain) {
    let nodes = ["T1", "T2"].map(|name| domain.initialize(name));
    let [one, two] = nodes;
    let one = thread::spawn(move || {
        let own = one.endpoint_create(1);
        own.msg_recv();
        own.msg_send(0, 1);
    });
    let two = thread::spawn(move || {
        let own = two.endpoint_create(2);
        own.msg_send(0, 4);
        own.msg_send(1, 7);
    });
    let own = domain.initialize("T0").endpoint_create(0);
    let (a, b) = (own.msg_recv(), own.msg_recv());
    if b.is_greater_than(0).branch() {
        a.equals(4).assert("T2 was first");
    }
    one.join().unwrap();
    two.join().unwrap();
}

/// Somebody who takes what comes first, and another path for each.
fn first_come(domain: &Domain) {
    let senders = [1, 2].map(|port| {
        let node = domain.initialize(&format!("S{port}"));
        thread::spawn(move || node.endpoint_create(port).msg_send(10 + port, i64::from(port)))
    });
    let node = domain.initialize("R");
    let inboxes = [node.endpoint_create(11), node.endpoint_create(12)];
    let requests = [inboxes[0].msg_recv_i(), inboxes[1].msg_recv_i()];
    let first = mcapi::wait_any(&[&requests[0], &requests[1]]).unwrap();
    assert_eq!(requests[first].wait(), Status::ErrRequestInvalid);
    let other = &requests[1 - first];
    if other.test() == Status::Pending {
        other.wait();
    }
    let sum = requests[0].message().plus(requests[1].message());
    sum.equals(3).assert("both have come");
    if first == 1 {
        requests[1].message().is_less_than(2).assert("S1 was first");
    }
    for sender in senders {
        sender.join().unwrap();
    }
}

#[test]
fn one_recorded_run_is_enough_for_one_path() {
    assert!(Config::new().explore(|| example(&Domain::new())).is_bug());
    let ctp = parse(&mcapi::record(example).expect("a run comes to its end"));
    assert!(explored(&ctp, Buffering::Infinite, Property::Assert));
    for encoding in encodings() {
        assert!(has_bug(&ctp, &Plan { encoding, ..Plan::default() }), "{encoding:?}");
        assert!(!has_bug(&ctp, &Plan { encoding, property: Property::Deadlock, ..Plan::default() }));
    }
    // However the code is scheduled, it takes this path.
    let (paths, report) = mcapi::record_paths(&Config::new().exhaustive(), example);
    assert!(!report.is_bug() && paths.len() == 1, "{report}\n{paths:?}");
}

#[test]
fn every_path_is_recorded() {
    assert!(Config::new().explore(|| first_come(&Domain::new())).is_bug());
    for config in [Config::new().exhaustive(), Config::new().exhaustive().without_reduction()] {
        let (paths, report) = mcapi::record_paths(&config, first_come);
        assert!(!report.is_bug(), "{report}");
        // Which one is first, and whether the other one has arrived by then.
        assert_eq!(paths.len(), 4, "{paths:?}");
        let wrong: Vec<bool> = paths.iter().map(|p| has_bug(&parse(p), &Plan::default())).collect();
        let expected: Vec<bool> = paths.iter().map(|p| p.contains("is R_r1;")).collect();
        assert_eq!(wrong, expected, "{paths:?}");
    }
}

/// A server that does something else for each client that comes first.
fn branches(domain: &Domain) {
    let clients = [1, 2, 3].map(|port| {
        let node = domain.initialize(&format!("C{port}"));
        thread::spawn(move || {
            let own = node.endpoint_create(port);
            own.msg_send(0, i64::from(port));
            if own.msg_recv().is_greater_than(1).branch() {
                own.msg_send(0, 10);
            }
        })
    });
    let own = domain.initialize("Server").endpoint_create(0);
    let first = own.msg_recv();
    let served = if first.equals(2).branch() { 2 } else { 1 };
    for port in 1..=3 {
        own.msg_send(port, served);
    }
    let (second, third) = (own.msg_recv(), own.msg_recv());
    if served == 1 {
        second.plus(third).is_less_than(5).assert("the first one is not the least");
    }
    for client in clients {
        client.join().unwrap();
    }
}

/// Two nodes that look whether a message has come. Nothing of the one depends on the other, but both together are wrong.
fn two_that_look(domain: &Domain) {
    let own = domain.initialize("T0").endpoint_create(0);
    let lookers = [1, 2].map(|port| {
        let node = domain.initialize(&format!("L{port}"));
        own.msg_send(port, 7);
        thread::spawn(move || {
            let own = node.endpoint_create(port);
            let pending = own.msg_recv_i().test() == Status::Pending;
            own.msg_send(0, i64::from(pending));
        })
    });
    own.msg_recv().plus(own.msg_recv()).equals(2).negated().assert("a message has come");
    for looker in lookers {
        looker.join().unwrap();
    }
}

/// A decision with as many sides as there are senders.
fn by_value(domain: &Domain) {
    let senders = [1, 2, 3, 4].map(|port| {
        let node = domain.initialize(&format!("S{port}"));
        thread::spawn(move || node.endpoint_create(port).msg_send(0, i64::from(port)))
    });
    let own = domain.initialize("R").endpoint_create(0);
    if own.msg_recv().get() == 3 {
        own.msg_recv().equals(2).negated().assert("2 does not come after 3");
    }
    for sender in senders {
        sender.join().unwrap();
    }
}

#[test]
fn the_other_sides_of_branches_are_asked_for() {
    let programs = [
        (branches as fn(&Domain), "branches"),
        (first_come, "first_come"),
        (example, "example"),
        (two_that_look, "two_that_look"),
        (by_value, "by_value"),
    ];
    for (program, name) in programs {
        let mut bug = false;
        let mut record =
            |guide: &Guide| mcapi::record_guided(&guide_of(guide), program).map_err(|report| report.to_string());
        let mut decide = |ctp: &fabius_messages::ctp::Ctp| {
            bug |= has_bug(ctp, &Plan::default());
            Ok(())
        };
        let covered = cover(&Plan::default(), &Arc::default(), &mut record, &mut decide);
        let (paths, _) = mcapi::record_paths(&Config::new().exhaustive(), program);
        assert_eq!(covered.expect("every run ends"), paths, "{name}");
        assert_eq!(bug, Config::new().explore(|| program(&Domain::new())).is_bug(), "{name}");
    }
}

#[test]
fn a_run_that_does_not_end_is_no_record() {
    let wrong = mcapi::record(|domain| {
        domain.initialize("T0").endpoint_create(0).msg_recv();
    });
    assert!(wrong.is_err_and(|report| report.is_bug()));
}

#[test]
fn every_number_can_be_recorded() {
    for number in [i64::MIN, i64::MIN + 1, -1, i64::MAX] {
        let recorded = mcapi::record(|domain| {
            let own = domain.initialize("T0").endpoint_create(0);
            own.msg_send(0, number);
            own.msg_recv().equals(number).assert("it is what was sent");
        });
        let ctp = parse(&recorded.expect("the run ends"));
        assert!(!has_bug(&ctp, &Plan::default()), "{number}");
    }
}

/// Words of the language, letters of every alphabet, and characters that end a text elsewhere.
#[test]
fn every_name_and_every_text_can_be_recorded() {
    for [one, two] in [["a_r", "a_x"], ["wait", "node"], ["is", "assert"], ["nœud", "Ж"]] {
        let recorded = mcapi::record(|domain| {
            let (one, two) = (domain.initialize(one), domain.initialize(two));
            let other = fabius::thread::spawn(move || {
                let own = two.endpoint_create(2);
                own.msg_send(1, 7);
                own.msg_recv().equals(8).assert("a tab\t, a \u{1}, \"quotes\", \\ and an end\r\n");
            });
            let own = one.endpoint_create(1);
            let message = own.msg_recv();
            message.equals(7).assert("it is what was sent");
            own.msg_send(2, message.plus(1));
            other.join().expect("it ends");
        });
        let ctp = parse(&recorded.expect("the run ends"));
        assert!(!has_bug(&ctp, &Plan::default()), "{one}, {two}");
    }
}

/// What is computed from many values is written in parts that can be read.
#[test]
fn long_sums_and_conditions_can_be_read() {
    for n in [2, 100, 201, 400] {
        let program = move |domain: &Domain| {
            let own = domain.initialize("T0").endpoint_create(0);
            let (mut sum, mut all) = (fabius::mcapi::Value::from(0), None);
            for i in 0..n {
                own.msg_send(0, i);
                let message = own.msg_recv();
                let right = message.equals(i).negated().negated();
                all = Some(match all {
                    None => right,
                    Some(all) => right.and(all),
                });
                sum = sum.plus(message);
            }
            all.expect("some").assert("they come in order");
            sum.equals(n * (n - 1) / 2).assert("the sum is right");
            // The sum doubles in length each time.
            own.msg_send(0, 1);
            (0..40).fold(own.msg_recv(), |x, _| x.plus(&x)).equals(1i64 << 40).assert("it is doubled");
        };
        let recorded = mcapi::record(program).expect("the run ends");
        assert!(!has_bug(&parse(&recorded), &Plan::default()), "{n}");
        assert!(!Config::new().executions(1).explore(|| program(&Domain::new())).is_bug());
    }
}
