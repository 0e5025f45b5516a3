//! What is wrong with a trace is said at its place, with a code that has a page; nothing makes the parser panic.

use fabius_messages::{codes, explain, parse};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn codes_have_pages_and_the_examples_on_them_are_what_they_say() {
    let mut used = BTreeSet::new();
    for file in ["build.rs", "lexer.rs", "mod.rs", "paper.rs", "parser.rs"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/syntax").join(file);
        let text = std::fs::read_to_string(path).expect("the file is there");
        used.extend(text.split('"').filter(|w| w.len() == 5 && w.starts_with("E06")).map(String::from));
    }
    assert_eq!(used, codes().map(String::from).collect());
    let block = |page: &str, kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n"))?;
        rest.split_once("```").map(|(text, _)| text.to_string())
    };
    for code in codes().filter(|c| *c != "E0611") {
        let page = explain(code).expect("a code has a page");
        let (wrong, right) = (block(page, "wrong").expect(code), block(page, "right").expect(code));
        let found = parse(&wrong).expect_err(code);
        assert!(found.iter().all(|d| d.code == code), "{code}: {found:?}");
        parse(&right).expect(code);
    }
}

#[test]
fn independent_mistakes_are_all_reported_at_their_places() {
    let source =
        "node T0 {\n    recv_i r @0 -> x;\n    wait q;\n    send s @0 -> @1 7;\n    assert x == 1;\n}\nnode T0 { }\n";
    let wrong = parse(source).expect_err("there are mistakes");
    let found: Vec<_> = wrong.iter().map(|d| (d.code, d.span.line_col(source).line, d.span.text(source))).collect();
    assert_eq!(found, [("E0604", 3, "q"), ("E0602", 4, "7"), ("E0607", 5, "x"), ("E0603", 7, "T0")], "{wrong:?}");
    let paper = "(ctp ((l0 (rcvi A 0 a)) (l1 (wait B)) (l2 (frob)) (l3 (assert (> a 0)))))";
    let found: Vec<_> = parse(paper).expect_err("mistakes").iter().map(|d| (d.code, d.span.text(paper))).collect();
    assert_eq!(found, [("E0604", "B"), ("E0602", "frob"), ("E0607", "a")]);
}

#[test]
fn deep_expressions_are_refused() {
    for wrong in ["1 + ".repeat(100_000) + "1", "(".repeat(100_000) + "1", "-".repeat(100_000) + "1"] {
        let found = parse(&format!("node T0 {{ send_i s @0 -> @1: {wrong}; }}")).expect_err("too deep");
        assert!(found.iter().any(|d| ["E0611", "E0602"].contains(&d.code)), "{:?}", found[0]);
        let found = parse(&format!("((l0 (assert {}", "(+ 1 ".repeat(100_000))).expect_err("too deep");
        assert!(!found.is_empty());
    }
}

#[test]
fn what_is_too_deep_is_said_once() {
    for operator in ["+", "*", "-"] {
        let chain = format!("1 {operator} ").repeat(5000) + "1";
        for program in [format!("x = {chain};"), format!("x = {chain}; y = x + 1;"), format!("assert {chain} == 1;")] {
            let found = parse(&format!("node T0 {{ {program} }}")).expect_err("too deep");
            assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["E0611"], "{operator}");
        }
    }
}

#[test]
fn no_text_makes_the_parser_panic() {
    let examples = [
        include_str!("../../../examples/mcapi.ctp"),
        include_str!("../../../corpus/messages/bug/running_example_of_the_paper.ctp"),
    ];
    let mut rng = fastrand::Rng::with_seed(1);
    for i in 0..3000 {
        let words: Vec<&str> = examples[i % 2].split_inclusive([' ', '\n', '(', ')', '@', ';']).collect();
        let mut text: Vec<&str> = words.clone();
        for _ in 0..rng.usize(1..6) {
            let at = rng.usize(..text.len().max(1));
            match rng.u8(..4) {
                0 if !text.is_empty() => drop(text.remove(at)),
                1 => text.insert(at, words[rng.usize(..words.len())]),
                2 => text.insert(
                    at,
                    [
                        "\"",
                        "->",
                        "{",
                        "}",
                        "is",
                        "99999999999999999999",
                        "\u{feff}",
                        "é",
                        "wait_any",
                        "test x is true;",
                    ][rng.usize(..10)],
                ),
                _ => text.truncate(at.max(1)),
            }
        }
        let text: String = text.concat();
        if let Err(found) = parse(&text) {
            assert!(found.iter().all(|d| d.span.start <= d.span.end && d.span.end as usize <= text.len()), "{text}");
        }
    }
}

#[test]
fn numbers_of_endpoints_are_numbers() {
    let ctp =
        parse("node A { send_i s @0 -> @01: 1; } node B { recv r @1 -> x; send_i t @001 -> @00b: x; }").expect("right");
    let names: Vec<&str> = ctp.endpoints.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["0", "1", "00b"]);
}
