//! Random traces: every encoding agrees with exploration, for every property and network, and the wrong readings of the
//! printed rules do not.

use crate::common::{encodings, explored, parse, report};
use fabius_explore::search::{Monitor, Options};
use fabius_messages::ctp::Ctp;
use fabius_messages::pairs::Precision;
use fabius_messages::paths::{Side, Taken, other_sides};
use fabius_messages::semantics::{Buffering, Matching, Status};
use fabius_messages::system::{Goal, Runs, Which, explore, outcomes};
use fabius_messages::{Plan, Property};
use fabius_trace::Verdict;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use testkit::messages::{Balance, random, with_marks};

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
                    // What no run completes is not verified.
                    assert_eq!(found.verdict == Verdict::Verified, !bug && !wanted.is_empty(), "{}", text());
                    assert_eq!(found.verdict.is_vacuous(), !bug && wanted.is_empty(), "{}", text());
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
    compare_many(1, 60);
}

/// Nodes that wait for marks of each other, also in a circle.
fn compare_marked(seed: u64, count: usize) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut marked, mut matter) = (0, [0; 6]);
    for i in 0..count {
        let plain = random(&mut rng, BALANCES[i % 3]);
        let source = with_marks(&mut rng, &plain);
        let bugs = compare(&source);
        if source != plain {
            marked += 1;
            let before = [Buffering::Infinite, Buffering::Zero]
                .map(|b| PROPERTIES.map(|p| explored(&parse(&plain), b, p)))
                .concat();
            for (n, (with, without)) in matter.iter_mut().zip(bugs.into_iter().zip(before)) {
                *n += usize::from(with != without);
            }
        }
    }
    assert!(marked * 2 > count && matter.iter().all(|n| *n > 0), "{marked} {matter:?}");
}

#[test]
fn encodings_agree_with_exploration_on_marked_traces() {
    compare_marked(7, 60);
}

#[test]
#[ignore = "takes minutes"]
fn encodings_agree_with_exploration_on_thousands_of_marked_traces() {
    compare_marked(8, 6000);
}

/// Requests that nobody waits for, messages that nobody sends or receives, nodes that do nothing.
#[test]
fn encodings_agree_with_exploration_on_torsos() {
    let mut rng = fastrand::Rng::with_seed(6);
    let mut count = 0;
    while count < 40 {
        let whole = random(&mut rng, BALANCES[count % 3]);
        let lines: Vec<&str> =
            whole.lines().filter(|l| l.contains('{') || l.contains('}') || rng.u8(..4) > 0).collect();
        let source = lines.join("\n");
        // What is left may wait for what was cut off.
        if fabius_messages::parse(&source).is_ok() {
            compare(&source);
            count += 1;
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn encodings_agree_with_exploration_on_thousands() {
    compare_many(2, 6000);
}

/// The other sides of the branches of random traces: every encoding agrees with exploration of the trace in which only the
/// branch goes the other way.
#[test]
fn other_sides_agree_with_exploration() {
    let mut rng = fastrand::Rng::with_seed(4);
    let (mut taken, mut not_taken) = (0, 0);
    for i in 0..40 {
        let mut source = random(&mut rng, BALANCES[i % 3]);
        if i % 2 == 1 {
            source = with_marks(&mut rng, &source);
        }
        let ctp = parse(&source);
        for buffering in [Buffering::Infinite, Buffering::Zero] {
            let sides = encodings().map(|encoding| {
                let plan = Plan { encoding, buffering, ..Plan::default() };
                other_sides(&ctp, &plan, &Default::default()).expect("small numbers, and time")
            });
            for (side, others) in sides[0].iter().zip(sides[1].iter().zip(&sides[2])) {
                let is_taken = explores_to(&source, &ctp, side, buffering);
                for side in [side, others.0, others.1] {
                    assert_eq!(
                        matches!(side.taken, Taken::By(_)),
                        is_taken,
                        "{buffering:?} {}\n{source}",
                        side.instead
                    );
                }
                if is_taken { taken += 1 } else { not_taken += 1 }
            }
        }
    }
    assert!(taken > 20 && not_taken > 20, "{taken} {not_taken}");
}

/// Whether exploration finds a run in which the branch goes the other way: the command of the text is replaced, and the rest
/// of its node is left out.
fn explores_to(source: &str, ctp: &Ctp, side: &Side, buffering: Buffering) -> bool {
    let node = ctp.nodes.iter().find(|n| n.commands.iter().any(|c| c.span == side.span)).expect("of some node");
    let end = node.commands.last().expect("the branch is one").span.end as usize;
    let end = end + source[end..].find('}').expect("the node ends");
    let begin = side.span.start as usize;
    let mut other = format!("{}{};\n{}", &source[..begin], side.instead, &source[end..]);
    // Marks that are cut off are never passed.
    let gone = source[begin..end].lines().filter(|l| l.trim_start().starts_with("mark"));
    let gone: String = gone.map(|l| format!("{l}\n")).collect();
    other += &format!("node Never {{ recv never @never -> never;\n{gone} }}\n");
    let other = parse(&other);
    let number = other.nodes.iter().position(|n| n.name == node.name).expect("the same nodes");
    let length = other.nodes[number].commands.len();
    let reached = AtomicBool::new(false);
    let options = Options { bound: fabius_trace::Bound::None, ..Options::default() };
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let outcome = explore(&Runs { ctp: &other, buffering, goal: Goal::Reach(number) }, &options, &monitor, &|state| {
        if state.at[number] == length && state.status <= Status::Failure {
            reached.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(outcome.exhausted);
    reached.into_inner()
}
