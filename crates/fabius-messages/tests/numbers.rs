//! Numbers of 64 bits: all of them can be written, and a run that leaves them is never called verified.

use crate::common::{encodings, parse, report};
use fabius_messages::pairs::Precision;
use fabius_messages::{Plan, Property};
use fabius_trace::{Reason, Verdict};

/// The plans of every encoding and precision.
fn plans() -> Vec<Plan> {
    let of = |encoding| {
        [Precision::All, Precision::Tight, Precision::Exact].map(|precision| Plan {
            encoding,
            precision,
            ..Plan::default()
        })
    };
    encodings().into_iter().flat_map(of).collect()
}

#[test]
fn large_numbers_stay_exact() {
    for (program, is_bug) in [
        ("x = 9223372036854775807; a = x + 0; y = a - 4611686018427387904; assert y == 0;", true),
        ("x = 9223372036854775807; a = x - 0; y = a - 4611686018427387904; assert y < 5;", true),
        ("x = 9223372036854775807; a = x * 1; y = a - 4611686018427387904; assert y == 4611686018427387903;", false),
        ("x = -9223372036854775807; a = x + 0; y = a + 4611686018427387904; assert y == 0;", true),
        ("x = 5000000000000000000; y = x - 4611686018427387904; assert y == 0;", true),
    ] {
        let ctp = parse(&format!("node A {{ {program} }}"));
        for plan in plans() {
            match report(&ctp, &plan).verdict {
                Verdict::Bug { .. } => assert!(is_bug, "{program}: {plan:?}"),
                Verdict::Verified => assert!(!is_bug, "{program}: {plan:?}"),
                other => panic!("{program}: {plan:?}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_run_that_leaves_64_bits_is_not_verified() {
    const TWO: &str = "node B { send_i s @1 -> @0: 1; } node C { send_i t @2 -> @0: 2; }";
    let two = |end: &str| format!("node A {{ recv_i r @0 -> x; recv_i q @0 -> z; wait q; {end} }} {TWO}");
    let large = "9223372036854775807";
    for program in [
        format!(
            "node A {{ recv a @0 -> x; send s @0 -> @1: x * {large}; assert x == 3; }}
             node B {{ send t @1 -> @0: 5; recv b @1 -> y; }}"
        ),
        format!("node A {{ x = {large}; y = x + 1; assert false; }}"),
        format!("node A {{ x = {large}; y = x + 1; }} node B {{ recv r @1 -> z; }}"),
        format!("node A {{ x = {large}; assert x + 1 > 0; assert false; }}"),
        format!("node A {{ assert {large} * {large} + {large} * {large} + {large} * {large} == 0; }}"),
        format!("node A {{ assert {large} * {large} * {large} == {large}; }}"),
        two(&format!("y = x * {large} * {large} + z * {large} * {large} + {large} * {large}; assert y != 1;")),
        two(&format!("y = x * {large}; assert x == 1;")),
        two(
            "assume x != 3000000000 + x; assert -1 >= 3000000000 * 3000000000 || 1 - 5000000000 >= 9223372036854775807 * 2;",
        ),
        two(&format!("y = x * {large}; assert x == 1 || x == 2;")),
    ] {
        let ctp = parse(&program);
        for plan in plans() {
            let verdict = report(&ctp, &plan).verdict;
            let Verdict::Unknown { reason: Reason::Program { message }, .. } = &verdict else {
                panic!("{program}: {plan:?}: {verdict:?}")
            };
            assert!(message.contains("may leave 64 bits"), "{program}: {plan:?}: {message}");
        }
    }
    // A bug elsewhere is one nevertheless.
    let ctp = parse(&two(&format!("y = x * {large}; assert z == 1;")));
    for plan in plans().into_iter().filter(|p| p.precision != Precision::Exact) {
        let verdict = report(&ctp, &plan).verdict;
        assert!(matches!(verdict, Verdict::Bug { .. }), "{plan:?}: {verdict:?}");
    }
}

#[test]
fn what_is_not_executed_has_no_value() {
    for program in [
        "node A { recv r @0 -> x; y = x - 2; }",
        "node A { recv r @0 -> x; y = x - 2; send s @0 -> @1: y; } node B { recv q @1 -> x; send t @1 -> @0: x + 1; }",
        "node A { recv r @0 -> x; y = x * 9223372036854775807; }",
    ] {
        let ctp = parse(program);
        for plan in plans() {
            let plan = Plan { property: Property::Deadlock, ..plan };
            assert!(crate::common::has_bug(&ctp, &plan), "{program}: {plan:?}");
        }
    }
}

#[test]
fn an_enumeration_that_is_cut_ends() {
    let ctp = parse("node A { x = 9223372036854775807; y = x + 1; }");
    for property in [Property::Assert, Property::Deadlock] {
        for plan in plans().into_iter().filter(|p| p.precision != Precision::Exact) {
            let report = report(&ctp, &Plan { enumerate: true, property, ..plan });
            assert!(report.enumerated.is_some_and(|all| !all.complete && all.outcomes.is_empty()));
        }
    }
}

#[test]
fn exact_pairs_show_that_numbers_fit() {
    // As far as ranges go, 2 may be multiplied too.
    let large = "4611686018427387904";
    let ctp = parse(&format!(
        "node A {{ recv r @0 -> x; recv q @0 -> z; y = x * {large}; assert y == {large}; }}
         node B {{ send_i s @1 -> @0: 1; send_i t @1 -> @0: 2; }}"
    ));
    for encoding in encodings() {
        let of = |precision| report(&ctp, &Plan { encoding, precision, ..Plan::default() }).verdict;
        assert_eq!(of(Precision::Exact), Verdict::Verified);
        assert!(matches!(of(Precision::All), Verdict::Unknown { .. }));
    }
}

#[test]
fn the_least_number_is_one_like_the_others() {
    let least = i64::MIN;
    for (program, is_bug) in [
        (format!("x = {least}; assert x < 0;"), false),
        (format!("x = {least}; assert x + 1 > x && x != {};", i64::MAX), false),
        (format!("x = {least}; assert x > 0;"), true),
        ("x = 1 - - 1; assert x == 2 && -(-(5)) == 5;".into(), false),
    ] {
        let ctp = parse(&format!("node A {{ {program} }}"));
        assert!(plans().iter().all(|plan| crate::common::has_bug(&ctp, plan) == is_bug), "{program}");
    }
    let paper = format!("(ctp ((l0 (x := {least})) (l1 (assert (> x 0)))))");
    assert!(crate::common::has_bug(&parse(&paper), &Plan::default()));
    // Its opposite is not.
    let ctp = parse(&format!("node A {{ x = -({least}); assert x < 0; }}"));
    for plan in plans() {
        assert!(matches!(report(&ctp, &plan).verdict, Verdict::Unknown { .. }), "{plan:?}");
    }
    for too_large in ["9223372036854775808", "-9223372036854775809"] {
        let wrong = fabius_messages::parse(&format!("node A {{ x = {too_large}; }}")).expect_err(too_large);
        assert_eq!(wrong.iter().map(|d| d.code).collect::<Vec<_>>(), ["E0610"]);
    }
}

/// Also what is done before the solver begins looks at the clock.
#[test]
fn nothing_is_said_of_what_there_was_no_time_for() {
    for source in ["node A { assert false; }", include_str!("../../../examples/mcapi.ctp")] {
        let ctp = parse(source);
        for plan in plans() {
            let time = Some(std::time::Duration::ZERO);
            let report = report(&ctp, &Plan { time, enumerate: true, ..plan });
            assert!(matches!(report.verdict, Verdict::Unknown { reason: Reason::Time, .. }), "{:?}", report.verdict);
            assert!(report.enumerated.is_none_or(|all| !all.complete));
        }
    }
}
