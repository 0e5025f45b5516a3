//! Random traces: every encoding agrees with exploration, for every property and network, and the wrong readings of the
//! printed rules do not.

mod common;

use common::{encodings, explored, parse, report};
use fabius_explore::search::Options;
use fabius_messages::ctp::Ctp;
use fabius_messages::pairs::Precision;
use fabius_messages::semantics::{Buffering, Matching, Status};
use fabius_messages::system::{Which, outcomes};
use fabius_messages::{Plan, Property};
use fabius_trace::Verdict;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use testkit::messages::{Balance, random};

const BALANCES: [Balance; 3] = [Balance::Balanced, Balance::MoreSends, Balance::MoreReceives];
const PROPERTIES: [Property; 3] = [Property::Assert, Property::Deadlock, Property::Unmatched];

/// The matchings of complete runs of this path.
fn matchings(ctp: &Ctp, buffering: Buffering) -> BTreeMap<Matching, Status> {
    let all = outcomes(ctp, buffering, Which::Complete, &Options::default(), &AtomicBool::new(false));
    all.expect("few states").into_iter().filter(|(_, status)| *status <= Status::Failure).collect()
}

fn compare(source: &str) -> [bool; 6] {
    let ctp = parse(source);
    let mut bugs = [false; 6];
    for (b, buffering) in [Buffering::Infinite, Buffering::Zero].into_iter().enumerate() {
        let wanted = matchings(&ctp, buffering);
        for (p, property) in PROPERTIES.into_iter().enumerate() {
            let bug = explored(&ctp, buffering, property);
            bugs[b * 3 + p] = bug;
            for encoding in encodings() {
                for precision in [Precision::Tight, Precision::All, Precision::Exact] {
                    let enumerate = property == Property::Assert;
                    let plan = Plan { property, buffering, encoding, precision, enumerate, ..Plan::default() };
                    let found = report(&ctp, &plan);
                    let text = || format!("{plan:?}\n{source}");
                    assert_eq!(found.refinements, [], "{}", text());
                    assert_eq!(matches!(found.verdict, Verdict::Bug { .. }), bug, "{}", text());
                    assert!(bug || found.verdict == Verdict::Verified, "{}", text());
                    if let Some(found) = found.enumerated {
                        assert!(found.complete);
                        assert_eq!(found.outcomes, wanted, "{}", text());
                    }
                }
            }
        }
    }
    bugs
}

fn compare_many(seed: u64, count: usize) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut bugs = [0; 6];
    for i in 0..count {
        let source = random(&mut rng, BALANCES[i % 3]);
        for (sum, bug) in bugs.iter_mut().zip(compare(&source)) {
            *sum += usize::from(bug);
        }
    }
    // Each kind occurs, and does not always.
    assert!(bugs.iter().all(|n| *n > 0 && *n < count), "{bugs:?}");
}

#[test]
fn encodings_agree_with_exploration() {
    compare_many(1, 150);
}

#[test]
#[ignore = "takes minutes"]
fn encodings_agree_with_exploration_on_thousands() {
    compare_many(2, 6000);
}
