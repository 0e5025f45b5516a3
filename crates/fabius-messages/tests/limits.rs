//! What is done before the solver begins ends with the limits.

mod common;

use common::{encodings, parse, report};
use fabius_messages::encode::{Encoded, Encoding, Question, encode};
use fabius_messages::pairs;
use fabius_messages::semantics::Buffering;
use fabius_messages::system::Goal;
use fabius_messages::{Plan, Property};
use fabius_smt::Limits;
use fabius_trace::{Reason, Verdict};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use testkit::messages::{Variant, race, race_all, router};

/// What grows with the square of the messages is left out once a limit is hit.
#[test]
fn a_formula_that_nobody_waits_for_stays_small() {
    for source in [race(40, Variant::Wrong), race_all(60, Variant::Wrong), router(20, Variant::Wrong)] {
        let ctp = parse(&source);
        let all = &Limits { deadline: None, stop: &Arc::default() };
        let pairs = pairs::by_place(&ctp, all);
        assert!(pairs::count_all(&ctp) == pairs::all(&ctp, all).len() && pairs.len() <= pairs::count_all(&ctp));
        let size = |encoding: Encoding, buffering: Buffering, property: Property, is_hit: bool| {
            let stop = Arc::new(AtomicBool::new(is_hit));
            let limits = &Limits { deadline: None, stop: &stop };
            let question = Question { ctp: &ctp, buffering, goal: Goal::Bug(property), pairs: &pairs, limits };
            let Encoded { terms, facts, .. } = encode(encoding, question);
            terms.len() + facts.clauses.iter().count() + facts.orders.len()
        };
        for encoding in encodings() {
            for buffering in [Buffering::Infinite, Buffering::Zero] {
                for property in [Property::Assert, Property::Deadlock, Property::Unmatched] {
                    let [whole, cut] = [false, true].map(|is_hit| size(encoding, buffering, property, is_hit));
                    assert!(cut * 3 < whole, "{encoding:?} {buffering:?} {property:?}: {cut} of {whole}");
                }
            }
        }
    }
}

/// Many nodes, in a line: what is known of the past of each takes no more than it is.
#[test]
fn many_nodes_are_decided_or_refused() {
    let node = |i: usize| match i {
        0 => "node N0 { send s0 @0 -> @1: 1; }\n".to_string(),
        _ => format!("node N{i} {{ recv r{i} @{i} -> x{i}; assert x{i} < 9; send s{i} @{i} -> @{}: 1; }}\n", i + 1),
    };
    let line: String = (0..30_000).map(node).collect();
    assert_eq!(report(&parse(&line), &Plan::default()).verdict, Verdict::Verified);
    let found = report(&parse(&race(17_000, Variant::Right)), &Plan::default());
    let Verdict::Unknown { reason: Reason::Program { message }, .. } = found.verdict else { panic!("{found:?}") };
    assert!(message.starts_with("289000000 pairs of a receive and a message"), "{message}");
}

#[test]
fn the_memory_limit_is_of_the_process() {
    let ctp = parse(&race(2000, Variant::Wrong));
    let limited = report(&ctp, &Plan { memory: Some(1 << 20), ..Plan::default() });
    // Where the system does not say how much there is, there is no limit.
    if cfg!(target_os = "linux") {
        assert!(matches!(limited.verdict, Verdict::Unknown { reason: Reason::Memory, .. }), "{:?}", limited.verdict);
    }
}
