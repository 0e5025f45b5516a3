//! `fabius trace` as a user meets it.

use crate::common::{expect, fabius, json};
use std::path::Path;

const EXAMPLE: &str = "examples/mcapi.ctp";

/// A file of this test; every test has names of its own.
fn file(name: &str) -> String {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).display().to_string()
}

#[test]
fn the_running_example_is_a_bug_in_lanes_with_arrows() {
    let saved = file("messages-trace.json");
    let output = fabius(&["trace", EXAMPLE, "--stats", "--trace", &saved]);
    expect(
        &output,
        1,
        &[
            "assertion failed: `assert a == 4` (a = 1)",
            "T0                             T1                             T2",
            "<----------------------------- s3 = 1",
            "5 at the same endpoint, 5 encoded",
            "fabius replay ",
        ],
    );
    expect(&fabius(&["replay", &saved]), 1, &["s3 = 1", "(a = 1)"]);
    let text = std::fs::read_to_string(&saved).expect("the trace was saved");
    std::fs::write(&saved, text.replace("\"task\": 3", "\"task\": 99")).expect("a file can be written");
    expect(&fabius(&["replay", &saved]), 2, &["departs from the rules"]);
}

#[test]
fn documents_for_machines_have_the_numbers() {
    let output = fabius(&["trace", EXAMPLE, "--json", "--encoding", "match-pair"]);
    assert_eq!(output.status.code(), Some(1));
    let document = json(&output);
    assert_eq!((&document["verdict"], &document["kind"]), (&"bug".into(), &"assertion".into()));
    assert_eq!(document["stats"]["clauses"], 17);
    assert_eq!(document["stats"]["clauses_by_kind"]["program_order"], 11);
    assert_eq!(document["matching"][0]["send"], "s3");
    let output = fabius(&["trace", "--enumerate", EXAMPLE, "--json"]);
    let document = json(&output);
    assert_eq!((&document["matchings"], &document["all_matchings"]), (&2.into(), &true.into()));
    assert_eq!(document["outcomes"].as_array().map(Vec::len), Some(2));
}

/// What no run completes is not verified: a receive without a message, an assumption that never holds, marks in a circle.
#[test]
fn an_answer_about_no_run_says_so() {
    let path = file("messages-vacuous.ctp");
    let sends = "node B { send s @1 -> @0: 4; }\n";
    for (vacuous, node) in [
        (true, "node A { recv r @0 -> x; recv q @0 -> y; assert x == 5; }\n"),
        (true, "node A { recv r @0 -> x; assume x == 5; assert x == 7; }\n"),
        (true, "node A { after b; recv r @0 -> x; mark a; }\nnode C { after a; mark b; }\n"),
        (false, "node A { recv r @0 -> x; assume x == 4; }\n"),
    ] {
        std::fs::write(&path, format!("{node}{sends}")).expect("a file can be written");
        for encoding in ["sparse", "match-pair", "order"] {
            let asked = ["trace", &path, "--encoding", encoding];
            let (code, first) = if vacuous { (3, "unknown: no run completes") } else { (0, "verified: ") };
            let output = fabius(&asked);
            expect(&output, code, &[first]);
            assert!(output.stdout.starts_with(first.as_bytes()));
            let document = json(&fabius(&[&asked[..], &["--json"]].concat()));
            assert_eq!(document["vacuous"], vacuous);
            assert_eq!(document["verdict"], if vacuous { "unknown" } else { "verified" });
        }
    }
}

#[test]
fn other_paths_are_named() {
    let output = fabius(&["trace", EXAMPLE, "--paths", "all"]);
    expect(&output, 1, &["other path at 14:5: `assume !(b > 0)`: no order of the messages takes it"]);
    let output = fabius(&["trace", EXAMPLE, "--paths", "all", "--time", "0ms"]);
    expect(&output, 3, &["other path at 14:5: `assume !(b > 0)`: not known: time"]);
    let any = "corpus/messages/bug/wait_any.ctp";
    let output = fabius(&["trace", any, "--paths", "all", "--json"]);
    let document = json(&output);
    assert_eq!(document["other_paths"][0]["instead"], "wait_any r1, r2 is r1");
    assert_eq!(document["other_paths"][0]["taken"], true);
}

#[test]
fn what_is_asked_can_be_chosen() {
    for property in ["deadlock", "unmatched"] {
        for buffering in ["infinite", "zero"] {
            let output = fabius(&["trace", EXAMPLE, "--property", property, "--buffering", buffering]);
            expect(&output, 0, &["verified: ", "on the recorded path of"]);
        }
    }
    let shake = "corpus/messages/bug/handshake_1.ctp";
    let output = fabius(&["trace", shake, "--property", "deadlock", "--buffering", "zero"]);
    expect(&output, 1, &["deadlock: A1 waits at `send hello2 @2 -> @3: 2`, B1 waits at"]);
    for encoding in ["sparse", "match-pair", "order"] {
        for pairs in ["exact", "tight", "all"] {
            let output = fabius(&["trace", EXAMPLE, "--encoding", encoding, "--pairs", pairs, "--no-refine"]);
            expect(&output, 1, &["(a = 1)"]);
        }
    }
}

#[test]
fn the_question_is_written_for_other_solvers() {
    let path = file("messages.smt2");
    for encoding in ["sparse", "match-pair", "order"] {
        expect(&fabius(&["trace", EXAMPLE, "--encoding", encoding, "--dump", "smt2", &path]), 0, &[]);
        let text = std::fs::read_to_string(&path).expect("it was written");
        assert!(text.starts_with("(set-logic ALL)") && text.contains("(check-sat)"), "{text}");
    }
    expect(&fabius(&["trace", EXAMPLE, "--dump", "fab", &path]), 2, &["written as smt2"]);
    let output = fabius(&["trace", EXAMPLE, "--dump", "smt2", &path, "--time", "0ms"]);
    expect(&output, 3, &["nothing was written: the time limit was reached"]);
}

#[test]
fn bad_input_is_underlined() {
    let path = file("wrong.ctp");
    std::fs::write(&path, "node T0 {\n    wait r;\n}\n").expect("a file can be written");
    expect(
        &fabius(&["trace", &path]),
        2,
        &["error[E0604]", "no request `r` has been posted", "^ not posted yet", "wrong.ctp:2:10"],
    );
    let document = json(&fabius(&["trace", &path, "--json"]));
    assert_eq!(document["error"]["diagnostics"][0]["code"], "E0604");
    expect(&fabius(&["explain", "E0604"]), 0, &["a request that cannot be waited for"]);
    std::fs::write(&path, "// nothing\n").expect("a file can be written");
    expect(&fabius(&["trace", &path]), 2, &["there are no nodes"]);
    expect(&fabius(&["trace", "no.ctp"]), 2, &["there is no file"]);
    expect(&fabius(&["trace", EXAMPLE, "--time", "0ms"]), 3, &["the time limit was reached"]);
    let output = fabius(&["trace", EXAMPLE, "--pairs", "exact", "--memory", "1"]);
    expect(&output, 3, &["the memory limit was reached"]);
}

#[test]
fn numbers_beyond_64_bits_are_not_the_time_limit() {
    let large = file("messages-large.ctp");
    std::fs::write(&large, "node A {\n    x = 9223372036854775807;\n    y = x + 1;\n}\n")
        .expect("a file can be written");
    for pairs in ["exact", "tight", "all"] {
        let output = fabius(&["trace", &large, "--pairs", pairs, "--property", "deadlock"]);
        expect(&output, 3, &["unknown: ", "a number may leave 64 bits at 3:5: `y = x + 1`"]);
    }
    let text = file("messages-large.smt2");
    let output = fabius(&["trace", &large, "--pairs", "exact", "--dump", "smt2", &text]);
    expect(&output, 3, &["a number may leave 64 bits at 3:5"]);
}

#[test]
fn other_paths_of_the_form_of_the_paper_are_named_in_it() {
    let paper = file("messages-paper.ctp");
    let text = "(ctp ((l0 (rcvi A 0 a)) (l1 (wait A)) (l2 (assume (> a 3)))) ((m0 (sndi s 1 0 4))))\n";
    std::fs::write(&paper, text).expect("a file can be written");
    let output = fabius(&["trace", &paper, "--paths", "all"]);
    expect(&output, 0, &["`(assume (not (> a 3)))`"]);
}

/// On one line, without comments, and with no more parentheses than it needs.
#[test]
fn other_sides_are_written_as_commands() {
    let path = file("messages-sides.ctp");
    let text = "node A {\n    recv r @0 -> x;\n    assume (x > 0);\n    assume (x > 0) && (x < 9);\n    assume x > 0 // :)\n        && x < 9;\n    assume !(x == 7);\n    assert x // (\n        != \"a  b\";\n}\nnode B { send s @1 -> @0: \"a  b\"; }\n";
    std::fs::write(&path, text.replace("< 9", "< 99999999999")).expect("a file can be written");
    let output = fabius(&["trace", &path, "--paths", "all"]);
    let sides = [
        "failed: `assert x != \"a  b\"`",
        "`assume !(x > 0)`:",
        "`assume !((x > 0) && (x < 99999999999))`:",
        "`assume !(x > 0 && x < 99999999999)`:",
        "`assume !(!(x == 7))`:",
    ];
    expect(&output, 1, &sides);
}

#[test]
fn other_solvers_are_asked_along_the_way() {
    expect(
        &fabius(&["trace", EXAMPLE, "--solver", "no-such-solver"]),
        2,
        &["`no-such-solver` is not on the search path", "the embedded one is always there"],
    );
    expect(&fabius(&["trace", EXAMPLE, "--solver-path", "no/z3"]), 2, &["cannot be started"]);
    for solver in ["z3", "cvc5"] {
        // Where it is not installed, this is all.
        if std::process::Command::new(solver).arg("--version").output().is_err() {
            continue;
        }
        for encoding in ["sparse", "match-pair", "order"] {
            let output =
                fabius(&["trace", EXAMPLE, "--solver", solver, "--encoding", encoding, "--enumerate", "--json"]);
            assert_eq!(output.status.code(), Some(1), "{solver} {encoding}");
            let document = json(&output);
            assert_eq!(
                (&document["matchings"], &document["all_matchings"]),
                (&2.into(), &true.into()),
                "{solver} {encoding}"
            );
            let shake = "corpus/messages/bug/handshake_1.ctp";
            for (buffering, code) in [("zero", 1), ("infinite", 0)] {
                let asked = ["trace", shake, "--property", "deadlock", "--buffering", buffering, "--solver", solver];
                expect(&fabius(&[&asked[..], &["--encoding", encoding]].concat()), code, &[]);
            }
        }
    }
}
