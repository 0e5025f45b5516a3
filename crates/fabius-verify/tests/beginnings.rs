//! What is known of the beginnings of rounds, on programs where it can be told by hand.

use fabius_lang::{Choices, Options, compile};
use fabius_translate::beginnings::beginnings;
use fabius_translate::explicit::{Switches, Trace, explicit};
use fabius_translate::{Caps, Explicit};

fn source(text: &str, constants: &[(&str, i64)]) -> Explicit {
    let consts = constants.iter().map(|(name, v)| ((*name).to_string(), v.to_string())).collect();
    let options = Options { consts, choices: Choices::Unbounded };
    let program = compile(text, &options).expect("the program is right");
    let mut source = explicit(&program, Trace::Off, Switches::Everywhere, Caps::default()).expect("it is translated");
    source.forget_deadlocks();
    source.slice();
    source
}

/// Of a variable, at the beginning of each round but the first.
fn of(source: &Explicit, name: &str, rounds: u32) -> Vec<(i64, i64)> {
    let known = beginnings(source, rounds).expect("it is followed");
    let global = source.program.globals.iter().position(|g| g.name == name).expect("there is such a variable");
    (1..i64::from(rounds)).map(|r| known.of(r, global).expect("it is shared")[0]).collect()
}

#[test]
fn who_takes_turns_is_where_the_turns_say() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/fig10.fab");
    let text = std::fs::read_to_string(path).expect("the example is there");
    let source = source(&text, &[("N", 4)]);
    assert_eq!(of(&source, "x", 4), [(2, 2), (4, 4), (6, 6)]);
    // With fewer rounds nothing fails, with more there is room.
    assert_eq!(of(&source, "x", 3), [(i64::MAX, i64::MIN); 2]);
    let more = of(&source, "x", 5);
    assert!(more.iter().zip(1..).all(|((lo, hi), r)| (2 * r - 2..=2 * r).contains(lo) && *hi >= *lo), "{more:?}");
    assert_eq!((more[0].0, more[3].0), (0, 6));
}

#[test]
fn what_happens_behind_a_failure_is_said_too() {
    let text = "var y: int;
        process p[1] { assert y == 0; }
        process q[1] { y = 1; y = 2; y = 3; }";
    let source = source(text, &[]);
    assert_eq!(of(&source, "y", 2), [(1, 3)], "p fails in the second round");
    assert_eq!(of(&source, "y", 3), [(0, 3), (1, 3)], "in the second or third, and q may go on");
}

#[test]
fn nothing_is_said_of_what_is_not_followed() {
    for text in [
        "var x: int; proc p() { x = 1; } init { spawn p(); assert x == 0; }",
        "var x: int; proc t() { zield; assert x == 0; } init { post t(); } process p[1] { x = 1; }",
        "var x: int; process p[1] { x = any int; } process q[1] { assert x == 0; }",
        "var x: int; process p[1] { while true { x = x + 1; } } process q[1] { assert x >= 0; }",
    ] {
        assert_eq!(beginnings(&source(text, &[]), 2), None, "{text}");
    }
}
