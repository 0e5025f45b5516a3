//! Random texts through the whole front end: nothing panics, places lie in the text, and what parses can be formatted
//! without changing its meaning.
//!
//! Three kinds of texts: characters, sequences of tokens, and programs of the project with some tokens deleted,
//! repeated, swapped, replaced or inserted. The short runs always take the same texts.

use fabius_lang::diagnostic::Diagnostic;
use fabius_lang::syntax::lexer;
use fabius_lang::{Options, SHOWN, Style, compile, erase_spans, format, parse, render};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{RngSeed, TestRunner};
use std::path::Path;
use std::sync::LazyLock;
use testkit::corpus::find;

/// What tokens are made of: words of the language, some names, operators, and things that are no tokens.
const VOCABULARY: &str = "any as assert assume atomic await bool break buffer choose const continue data else enum \
    explicit false for i16 i64 i8 if in init int interleave join let level loop map match new null or post print proc process \
    progress record ref return self skip spawn sync thread thread_set true u16 u64 u8 var while yield zield \
    fn forall exists count sum len lossy unordered peek invariant property eventually always leads to under without fairness of and weak strong set bag seq insert remove pick take push pop contains select when channel send receive try_receive \
    lock reentrant_lock rw_lock condition semaphore manual_event auto_event barrier acquire release wait set cas \
    fetch_add exchange x y p q R E A N h m _ 0 1 2 7 255 256 0xff 0b1 9223372036854775807 18446744073709551615 1_0 \
    12ab 99999999999999999999 \"why\" \"\\\"\" \"open ( ( ( ) ) ) { { { } } } [ ] ; ; ; , : : . .. -> = = == != < <= > >= << \
    >> + - * / % ! ~ & | ^ && || += -= *= /= %= := ++ -- @ // /* */ $ ' \\ # \u{e9} \u{1f600} \u{feff}";

/// Beginnings of programs that declare the names of the vocabulary.
const CONTEXTS: [(&str, &str); 4] = [
    ("", ""),
    ("init { ", " }"),
    (
        "const N = 2; enum E { A, B } record R { x: int, y: ref R } var x: int; var y: [u8; N]; var m: lock; \
         fn h(a: int) -> int { a + x } channel c: int[2]; invariant i: x < 3; property o: x == 1 leads to y[0] == 0; proc p(a: int) -> int { return a; } level L < H; init { ",
        " }",
    ),
    ("record R { x: 0..7, y: ref R } sync var x: bool; thread var y: int; proc p() { ", " } process q[2] { p(); }"),
];

static PROGRAMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("crates/fabius-lang/src/prelude.fab")];
    ["corpus", "examples", "bench/models"]
        .iter()
        .for_each(|d| files.extend(find(&root.join(d)).expect("the folder can be read")));
    files.sort();
    files.iter().map(|f| std::fs::read_to_string(f).expect("the file can be read")).collect()
});

/// An error with the text that causes it, unless `holds`.
fn ensure(holds: bool, what: &str, source: &str) -> Result<(), TestCaseError> {
    if holds { Ok(()) } else { Err(TestCaseError::fail(format!("{what}, with the text\n{source}\n= {source:?}"))) }
}

/// Diagnostics can be shown, and speak of places in the text.
fn check_report(source: &str, diagnostics: &[Diagnostic]) -> Result<(), TestCaseError> {
    for d in diagnostics {
        for span in d.related.iter().map(|(at, _)| *at).chain([d.span]) {
            let place = source.get(span.start as usize..span.end as usize);
            ensure(place.is_some(), &format!("{} {span:?} is no place", d.code), source)?;
        }
        ensure(!d.message.is_empty() && !d.label.is_empty(), &format!("{} says nothing", d.code), source)?;
    }
    for style in [Style::Plain, Style::Colour] {
        let text = render(source, "model.fab", diagnostics, style);
        ensure(diagnostics.iter().take(SHOWN).all(|d| text.contains(d.code)), "a report lacks codes", source)?;
    }
    Ok(())
}

/// All that must hold of every text. Says whether it compiles.
fn check(source: &str) -> Result<bool, TestCaseError> {
    let (tree, syntax) = parse(source);
    check_report(source, &syntax)?;
    let compiled = compile(source, &Options::default());
    if let Err(diagnostics) = &compiled {
        ensure(!diagnostics.is_empty(), "rejected without a reason", source)?;
        check_report(source, diagnostics)?;
    }
    match format(source) {
        Err(diagnostics) => ensure(diagnostics == syntax, "it parses and is not formatted", source)?,
        Ok(formatted) => {
            ensure(syntax.is_empty(), "it does not parse and is formatted", source)?;
            ensure(parse(&formatted).0 == tree, "formatting changes the tree", source)?;
            ensure(format(&formatted).as_ref() == Ok(&formatted), "formatting again changes it again", source)?;
            let after = compile(&formatted, &Options::default());
            let same = match (compiled.clone(), after) {
                (Ok(mut before), Ok(mut after)) => {
                    erase_spans(&mut before);
                    erase_spans(&mut after);
                    before == after
                }
                (Err(before), Err(after)) => before.iter().map(|d| d.code).eq(after.iter().map(|d| d.code)),
                _ => false,
            };
            ensure(same, "formatting changes what the compiler says", source)?;
        }
    }
    Ok(compiled.is_ok())
}

fn characters() -> impl Strategy<Value = String> {
    let bytes = proptest::collection::vec(any::<u8>(), 0..200).prop_map(|b| String::from_utf8_lossy(&b).into_owned());
    let signs = proptest::string::string_regex("[ \t\r\n;{}()\\[\\]\"/*.=<>!&|+xN0-9é\u{1f600}-]{0,120}");
    prop_oneof![bytes, signs.expect("a regular expression"), any::<String>()]
}

fn tokens() -> impl Strategy<Value = String> {
    let words: Vec<&str> = VOCABULARY.split_whitespace().collect();
    let gap = prop_oneof![8 => Just(" "), 1 => Just(""), 2 => Just("\n"), 1 => Just(" // c\n"), 1 => Just("/* c */")];
    let token = (proptest::sample::select(words), gap);
    (proptest::sample::select(&CONTEXTS[..]), proptest::collection::vec(token, 0..60)).prop_map(
        |((open, close), parts)| {
            let inside: String = parts.iter().flat_map(|(word, gap)| [*word, *gap]).collect();
            format!("{open}{inside}{close}")
        },
    )
}

/// What is done to the tokens of a program: an operation and the places it takes.
fn changes() -> impl Strategy<Value = (Index, Vec<(u8, Index, Index)>)> {
    (any::<Index>(), proptest::collection::vec((0..7u8, any::<Index>(), any::<Index>()), 1..6))
}

/// A program with some tokens changed. The text between tokens, comments too, stays with the token behind it.
fn changed(program: &Index, changes: &[(u8, Index, Index)]) -> String {
    let source = program.get(&PROGRAMS);
    let mut end = 0;
    let found = lexer::tokens(source, &mut Vec::new());
    let mut parts: Vec<(&str, &str)> = Vec::new();
    for token in &found {
        let (from, to) = (token.span.start as usize, token.span.end as usize);
        parts.push((&source[end..from], &source[from..to]));
        end = to;
    }
    let words: Vec<&str> = VOCABULARY.split_whitespace().collect();
    for (operation, one, two) in changes {
        if parts.is_empty() {
            break;
        }
        let (i, j) = (one.index(parts.len()), two.index(parts.len()));
        match operation {
            0 => drop(parts.remove(i)),
            1 => parts.insert(i, parts[i]),
            2 => parts.swap(i, j),
            3 => parts[i].1 = words[two.index(words.len())],
            4 => parts.insert(i, (" ", words[two.index(words.len())])),
            // A token of the same program in the place of another.
            5 => parts[i].1 = parts[j].1,
            _ => parts[i].0 = ["", "\n", "\r\n", " /* c */ ", " // c\n", "\n\n\n// c\n\n"][two.index(6)],
        }
    }
    parts.iter().flat_map(|(gap, token)| [*gap, *token]).collect()
}

fn runner(cases: u32, seed: RngSeed) -> TestRunner {
    TestRunner::new(ProptestConfig { cases, rng_seed: seed, failure_persistence: None, ..ProptestConfig::default() })
}

/// Runs `cases` texts of each kind. Of the changed programs some must still compile: otherwise they test only errors.
fn run(cases: u32, seed: RngSeed) {
    runner(cases, seed).run(&characters(), |text| check(&text).map(drop)).unwrap_or_else(|e| panic!("{e}"));
    runner(cases, seed).run(&tokens(), |text| check(&text).map(drop)).unwrap_or_else(|e| panic!("{e}"));
    let compiled = std::cell::Cell::new(0);
    let body = |(program, changes): (Index, Vec<(u8, Index, Index)>)| {
        compiled.set(compiled.get() + u32::from(check(&changed(&program, &changes))?));
        Ok(())
    };
    runner(cases, seed).run(&changes(), body).unwrap_or_else(|e| panic!("{e}"));
    assert!(compiled.get() * 100 > cases, "{} of {cases} changed programs compile", compiled.get());
}

#[test]
fn programs_of_the_project() {
    for source in PROGRAMS.iter() {
        check(source).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn random_texts() {
    run(1500, RngSeed::Fixed(7));
}

#[test]
#[ignore = "takes minutes: other texts on every run"]
fn many_random_texts() {
    run(100_000, RngSeed::Random);
}
