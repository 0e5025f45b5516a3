//! The rules of the paper as printed, or left out: each is caught. What allows too much is repaired by refinement.

use crate::common::{explored, has_bug, parse, report};
use fabius_messages::encode::Encoding;
use fabius_messages::encode::match_pair::{Asserts, Fifo, Reading, SentBefore, Unmatched};
use fabius_messages::pairs::Precision;
use fabius_messages::semantics::Buffering;
use fabius_messages::{Plan, Property};
use fabius_trace::Verdict;
use testkit::messages::{Balance, random};

const EXAMPLE: &str = include_str!("../../../examples/mcapi.ctp");
const A: &str = include_str!("../../../corpus/messages/bug/posted_early.ctp");
const B: &str = include_str!("../../../corpus/messages/safe/out_of_order_waits.ctp");
const C: &str = include_str!("../../../corpus/messages/safe/skipped_message.ctp");
const D: &str = include_str!("../../../corpus/messages/bug/two_assertions.ctp");

fn plan(reading: Reading) -> Plan {
    Plan { encoding: Encoding::MatchPair(reading), ..Plan::default() }
}

fn printed() -> Reading {
    Reading { sent_before: SentBefore::Receive, fifo: Fifo::Channel, unmatched: Unmatched::Free, asserts: Asserts::All }
}

#[test]
fn the_crafted_traces_tell_the_readings_apart() {
    let right = Reading::default();
    for (source, bug) in [(A, true), (B, false), (C, false), (D, true)] {
        let ctp = parse(source);
        assert_eq!(explored(&ctp, Buffering::Infinite, Property::Assert), bug, "{source}");
        assert_eq!(has_bug(&ctp, &plan(right)), bug, "{source}");
    }
    // Missed.
    assert!(!has_bug(&parse(A), &plan(Reading { sent_before: SentBefore::Receive, ..right })));
    assert!(!has_bug(&parse(D), &plan(Reading { asserts: Asserts::All, ..right })));
    assert!(!has_bug(&parse(EXAMPLE), &plan(Reading { fifo: Fifo::Thread, ..printed() })));
    // Found where there is nothing, and refined away.
    for (source, reading) in [
        (B, Reading { sent_before: SentBefore::OwnWait, ..right }),
        (C, Reading { unmatched: Unmatched::Free, ..right }),
    ] {
        // The pairs are not pruned: that would find it too.
        let plan = Plan { precision: Precision::All, ..plan(reading) };
        let refined = report(&parse(source), &plan);
        assert_eq!(refined.verdict, Verdict::Verified, "{source}");
        assert!(!refined.refinements.is_empty(), "{source}");
        let unrefined = report(&parse(source), &Plan { refine: false, ..plan });
        assert!(matches!(unrefined.verdict, Verdict::Unknown { .. }), "{source}");
    }
}

#[test]
fn clauses_are_counted_as_in_the_paper() {
    let count = |source: &str, reading| report(&parse(source), &plan(reading)).count.total();
    assert_eq!(count(EXAMPLE, Reading::default()), 17);
    assert_eq!(count(EXAMPLE, Reading { fifo: Fifo::Thread, ..printed() }), 18);
    let small1 = "node T0 { recv rA @0 -> a; recv rB @0 -> b; assert a == 1; }
        node T1 { send_i s1 @1 -> @0: 1; } node T2 { send_i s2 @2 -> @0: 2; }";
    let small2 = "node T0 { recv rA @0 -> a; assert a == 1; } node T1 { send_i s1 @1 -> @0: 1; }";
    let small3 = "node T0 { recv rA @0 -> a; recv rB @0 -> b; assume b > 0; assert a == 1; }
        node T1 { send s1 @1 -> @0: 1; } node T2 { send_i s2 @2 -> @0: 2; }";
    assert_eq!([small1, small2, small3].map(|source| count(source, Reading::default())), [8, 4, 11]);
}

#[test]
fn each_wrong_reading_is_caught_on_random_traces() {
    let right = Reading::default();
    let readings = [
        ("send before receive", Reading { sent_before: SentBefore::Receive, ..right }),
        ("fifo of threads", Reading { fifo: Fifo::Thread, unmatched: Unmatched::Free, ..right }),
        ("all assertions", Reading { asserts: Asserts::All, ..right }),
    ];
    let weak = [
        ("no fifo", Reading { fifo: Fifo::Nothing, ..right }),
        ("unmatched free", Reading { unmatched: Unmatched::Free, ..right }),
    ];
    let (mut missed, mut refined) = ([0; 3], [0; 2]);
    let mut rng = fastrand::Rng::with_seed(3);
    for i in 0..200 {
        let source = random(&mut rng, if i % 2 == 0 { Balance::Balanced } else { Balance::MoreSends });
        let ctp = parse(&source);
        let bug = has_bug(&ctp, &Plan::default());
        for ((name, reading), missed) in readings.iter().zip(&mut missed) {
            let found = has_bug(&ctp, &plan(*reading));
            assert!(bug || !found, "{name}: everything found is replayed\n{source}");
            *missed += usize::from(found != bug);
        }
        for ((name, reading), refined) in weak.iter().zip(&mut refined) {
            let report = report(&ctp, &Plan { precision: Precision::All, ..plan(*reading) });
            assert_eq!(matches!(report.verdict, Verdict::Bug { .. }), bug, "{name}\n{source}");
            *refined += report.refinements.len();
        }
    }
    assert!(missed.iter().all(|n| *n > 0), "{missed:?}");
    assert!(refined.iter().all(|n| *n > 0), "{refined:?}");
}
