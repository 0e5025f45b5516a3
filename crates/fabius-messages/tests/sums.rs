//! Sums of all that an endpoint receives: decided as exploration decides them, and for more messages than matchings can be
//! tried.

use crate::common::{explored, has_bug, parse};
use fabius_messages::semantics::Buffering;
use fabius_messages::{Plan, Property};
use std::fmt::Write;

/// Messages of several senders, gathered once or twice, and an assertion and an assumption about what they come to.
fn gather(rng: &mut fastrand::Rng) -> String {
    let messages = rng.usize(2..=4);
    let twice = messages < 4 && rng.bool();
    let mut text = String::from("node Root {\n");
    for i in 0..messages {
        writeln!(text, "recv r{i} @0 -> x{i};").unwrap();
    }
    // A running sum, or one expression; sometimes one of them counts otherwise.
    let odd = if rng.u8(..3) == 0 { rng.usize(..messages) } else { messages };
    let times = rng.i8(-2..=2);
    let part = |i: usize| match (times, i == odd) {
        (_, true) => format!("x{i}"),
        (1, _) => format!("x{i}"),
        _ => format!("x{i} * {times}"),
    };
    let sum = if rng.bool() {
        writeln!(text, "s0 = {};", part(0)).unwrap();
        for i in 1..messages {
            writeln!(text, "s{i} = s{} + {};", i - 1, part(i)).unwrap();
        }
        format!("s{}", messages - 1)
    } else {
        (0..messages).map(part).collect::<Vec<_>>().join(" + ")
    };
    let values: Vec<i8> = (0..messages).map(|_| rng.i8(-2..=3)).collect();
    let total: i64 = values.iter().map(|v| i64::from(*v) * i64::from(times)).sum();
    let compare = ["==", "!=", "<", "<=", ">", ">="][rng.usize(..6)];
    let near = total + i64::from(rng.i8(-1..=1));
    if twice {
        // What was gathered goes on, by parts or as a whole.
        let value = if rng.bool() { sum.clone() } else { "x0".into() };
        writeln!(text, "send up @0 -> @9: {value};\n}}\nnode Top {{\nrecv u @9 -> y;\nrecv v @9 -> z;").unwrap();
        writeln!(text, "assert y + z {compare} {near};\n}}\nnode Other {{ send other @8 -> @9: {}; }}", rng.i8(-1..=1))
            .unwrap();
    } else {
        if rng.u8(..4) == 0 {
            writeln!(text, "assume {sum} - {} {compare} x0;", rng.i8(0..3)).unwrap();
        }
        let first = if rng.u8(..3) == 0 { "x0 > 0 || " } else { "" };
        writeln!(text, "assert {first}{sum} {compare} {near};\n}}").unwrap();
    }
    // Some senders send more than one.
    let mut next = 0;
    let mut sender = 1;
    while next < messages {
        writeln!(text, "node S{sender} {{").unwrap();
        for _ in 0..rng.usize(1..=2).min(messages - next) {
            writeln!(text, "send s_{next} @{sender} -> @0: {};", values[next]).unwrap();
            next += 1;
        }
        text += "}\n";
        sender += 1;
    }
    // Sometimes a message more than is received: then the sum is open.
    if rng.u8(..5) == 0 {
        writeln!(text, "node More {{ send_i more @7 -> @0: {}; }}", rng.i8(-2..=2)).unwrap();
    }
    text
}

fn compare(seed: u64, count: usize) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut bugs = 0;
    for _ in 0..count {
        let source = gather(&mut rng);
        let ctp = parse(&source);
        for buffering in [Buffering::Infinite, Buffering::Zero] {
            let wanted = explored(&ctp, buffering, Property::Assert);
            let plan = Plan { buffering, ..Plan::default() };
            assert_eq!(has_bug(&ctp, &plan), wanted, "{buffering:?}\n{source}");
            bugs += usize::from(wanted);
        }
    }
    assert!(bugs * 4 > count && bugs * 4 < count * 7, "{bugs} of {count}");
}

#[test]
fn sums_agree_with_exploration() {
    compare(1, 150);
}

#[test]
#[ignore = "takes minutes"]
fn sums_agree_with_exploration_on_thousands() {
    compare(2, 5_000);
}

fn race(messages: usize, asserted: &str) -> String {
    let mut text = String::from("node Root {\n");
    (0..messages).for_each(|i| writeln!(text, "recv r{i} @0 -> x{i};").unwrap());
    writeln!(text, "{asserted}\n}}").unwrap();
    (1..=messages).for_each(|i| writeln!(text, "node S{i} {{ send s{i} @{i} -> @0: {i}; }}").unwrap());
    text
}

/// By matchings, 9 messages took longer than anybody waits.
#[test]
fn the_sum_of_many_messages_is_known() {
    let sum: Vec<String> = (0..40).rev().map(|i| format!("x{i}")).collect();
    for (bound, bug) in [("== 820", false), ("< 820", true)] {
        let ctp = parse(&race(40, &format!("assert {} {bound};", sum.join(" + "))));
        assert_eq!(has_bug(&ctp, &Plan::default()), bug, "{bound}");
    }
}

/// With zero buffering: everybody is received, or the last one is not.
#[test]
fn many_senders_are_all_received_or_one_is_stuck() {
    let plan = Plan { property: Property::Deadlock, buffering: Buffering::Zero, ..Plan::default() };
    assert!(!has_bug(&parse(&race(40, "")), &plan));
    let one_more = format!("{}node More {{ send more @99 -> @0: 0; }}\n", race(40, ""));
    assert!(has_bug(&parse(&one_more), &plan));
}
