//! Diagnostics as text: the place, the label and the help are there, and no text makes the renderer fail.

use fabius_lang::diagnostic::Diagnostic;
use fabius_lang::{Options, Style, compile, render};
use fabius_trace::Span;

fn diagnostic(start: u32, end: u32) -> Diagnostic {
    Diagnostic {
        code: "E0999",
        message: "something is wrong".into(),
        span: Span { start, end },
        label: "here".into(),
        related: vec![],
        help: Some("do it right".into()),
    }
}

#[test]
fn a_mistake_is_shown_in_its_line() {
    let source = "var x: int;\n\ninit {\n    x = true;\n}\n";
    let found = compile(source, &Options::default()).expect_err("a mistake");
    let text = render(source, "model.fab", &found, Style::Plain);
    for part in ["error[E0301]", "model.fab:4:9", "4 |     x = true;", "^^^^"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("var x"), "only the lines that it is about\n{text}");
    assert!(!text.contains('\u{1b}'), "no colours");
    assert!(render(source, "model.fab", &found, Style::Colour).contains("\u{1b}["));
}

#[test]
fn several_places_are_shown_with_their_lines() {
    let source = "var x: int;\n\n\n\n\n\n\n\nvar x: bool;\ninit { skip; }\n";
    let mut one = diagnostic(24, 25);
    one.related.push((Span { start: 4, end: 5 }, "first declared here".into()));
    let text = render(source, "model.fab", &[one], Style::Plain);
    for part in ["model.fab:9:", "1 | var x: int;", "first declared here", "help: do it right"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn the_end_of_the_file_has_a_place() {
    for source in ["init {", "init {\n", "init {\n\n\n", "init {\r\n", "init { // \u{1f600}", ""] {
        let end = source.len() as u32;
        let text = render(source, "model.fab", &[diagnostic(end, end)], Style::Plain);
        assert!(text.contains("model.fab:") && text.contains("here"), "{source:?}\n{text}");
    }
}

#[test]
fn no_place_in_no_text_fails() {
    let texts = [
        "",
        "\n",
        "\r\n",
        "\r",
        "\t\tx\t=\t1;\t",
        "a\r\nb\r\n\r\nc",
        "größe = \u{1f600};\n\u{5909}\u{6570}\n",
        "e\u{301}\u{200d}\u{feff}\n",
        "\0\u{1b}[31m\u{202e}",
        "init { // no end of line",
    ];
    for source in texts {
        let past = source.len() as u32 + 3;
        for start in 0..past {
            for end in 0..past {
                let mut one = diagnostic(start, end);
                one.related.push((Span { start: end, end: start }, "\tand here\n".into()));
                for style in [Style::Plain, Style::Colour] {
                    let text = render(source, "model.fab", std::slice::from_ref(&one), style);
                    assert!(text.contains("something is wrong"), "{source:?} {start}..{end}");
                }
            }
        }
    }
    let huge = diagnostic(u32::MAX, u32::MAX);
    assert!(render("x", "model.fab", &[huge], Style::Plain).contains("here"));
}

#[test]
fn the_first_of_a_thousand_mistakes_are_shown_each_with_its_line() {
    let source = format!("init {{\n{}}}\n", "    x = 1;\n".repeat(1000));
    let found = compile(&source, &Options::default()).expect_err("`x` is not declared");
    assert_eq!(found.len(), 1000);
    let text = render(&source, "model.fab", &found, Style::Plain);
    assert!(text.contains("model.fab:2:5") && text.contains("model.fab:21:5") && text.contains("980 more"));
    assert!(render(&source, "model.fab", &[], Style::Plain).trim().is_empty());
}
