//! What is allowed and seldom meant is warned of, with what to write.

use fabius_lang::{Options, Style, compile, render, warnings};

fn places(source: &str) -> Vec<String> {
    let program = compile(source, &Options::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"));
    warnings(&program).iter().map(|d| d.span.text(source).chars().take(12).collect()).collect()
}

const GLOBALS: &str = "var a: bool; var b: bool; var l: lock; ";

#[test]
fn blocks_that_are_chosen_before_they_wait_are_warned_of() {
    for body in [
        "choose { await a; b = true; } or { await b; a = true; }",
        "choose { skip; } or { b = true; } or { await b; a = true; }",
        "choose { a = true; } or { atomic { await b; a = true; } }",
    ] {
        assert_eq!(places(&format!("{GLOBALS}init {{ {body} }}")).len(), 1, "{body}");
    }
    for body in [
        "atomic { await a || b; choose { assume a; b = true; } or { assume b; a = true; } }",
        "choose { a = true; await b; } or { b = true; }",
        "choose { l.acquire(); } or { skip; }",
        "if * { await a; }",
    ] {
        assert_eq!(places(&format!("{GLOBALS}init {{ {body} }}")), Vec::<String>::new(), "{body}");
    }
}

#[test]
fn a_warning_is_none_of_the_errors_and_says_what_to_write() {
    let source = format!("{GLOBALS}init {{ choose {{ await a; }} or {{ await b; }} }}");
    let program = compile(&source, &Options::default()).expect("it is allowed");
    let text = render(&source, "w.fab", &warnings(&program), Style::Plain);
    assert!(text.starts_with("warning[W0001]") && text.contains("select { when a"), "{text}");
}

#[test]
fn of_many_errors_twenty_are_shown_and_the_others_counted() {
    let source = format!("init {{ {} }}", "$ ".repeat(20_000));
    let found = compile(&source, &Options::default()).expect_err("it is no program");
    assert!(found.len() > 1000, "{}", found.len());
    let text = render(&source, "e.fab", &found, Style::Plain);
    assert_eq!(text.matches("error[").count(), 20);
    assert!(text.contains(&format!(".. and {} more", found.len() - 20)));
}

#[test]
fn records_that_double_have_no_possible_size() {
    let chain: String = (0..40).map(|n| format!("record A{n} {{ b: A{0}, c: A{0} }} ", n + 1)).collect();
    let arrays = "record B { a: [[[int; 60000]; 60000]; 60000] } ";
    for records in [format!("{chain} record A40 {{ x: int }} var a: A0;"), format!("{arrays} var b: B;")] {
        let found = compile(&format!("{records} init {{ skip; }}"), &Options::default()).expect_err("too large");
        assert!(found.iter().all(|d| d.code == "E0307") && found.len() < 10, "{found:?}");
    }
}
