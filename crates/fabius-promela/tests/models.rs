//! Models that come with the project in both languages, and programs of ours that are written in Promela and read again.

mod common;

use common::{Said, answer, compiled};
use fabius_lang::program::Program;
use fabius_lang::{Choices, Options};
use fabius_verify::prove::{Budget, Caps, Form, Sequentialization, text_of};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn ours(source: &str) -> Program {
    let options = Options { choices: Choices::Finite, ..Options::default() };
    fabius_lang::compile(source, &options).unwrap_or_else(|wrong| panic!("{wrong:?}\n{source}"))
}

#[test]
fn models_in_both_languages_have_the_same_verdicts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/models");
    let read = |name: String| std::fs::read_to_string(folder.join(name)).expect("it is there");
    // Where a step is a step in both, the states are the same, too.
    for (name, exact) in [("bakery", true), ("leader", false), ("peterson", false), ("philosophers", true)] {
        let (pml, fab) = (read(format!("{name}.pml")), read(format!("{name}.fab")));
        let pml = answer(&compiled(&pml).unwrap_or_else(|wrong| panic!("{wrong}")));
        let fab = answer(&ours(&fab));
        assert_eq!(pml.0, fab.0, "{name}");
        assert!(!exact || pml.1 == fab.1, "{name}: {pml:?} {fab:?}");
    }
    for name in ["fig9", "fig10"] {
        let program = compiled(&read(format!("{name}.pml"))).unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!(answer(&program).0, Said::Bug, "{name}");
    }
}

/// Two or three threads over these variables, perhaps with a property.
fn random(rng: &mut fastrand::Rng) -> String {
    let condition = |rng: &mut fastrand::Rng| ["x == 0", "x == y", "f", "!f", "y == 1", "x != y && f"][rng.usize(..6)];
    let statement = |rng: &mut fastrand::Rng| match rng.u32(..12) {
        0 => "x = 1 - x;".to_string(),
        1 => "y = x;".into(),
        2 => "f = !f;".into(),
        3 => format!("await {};", condition(rng)),
        4 => format!("atomic {{ await {}; y = 1 - y; x = y; f = true; f = x == 1; }}", condition(rng)),
        5 => format!("if {} {{ x = 1; }} else {{ f = false; }}", condition(rng)),
        6 => format!("select {{ when {} {{ x = 0; }} or when f {{ y = 0; }} }}", condition(rng)),
        7 => format!("assert {} || f || x == 0;", condition(rng)),
        8 => "c.send(x);".into(),
        9 => "x = c.receive();".into(),
        10 => "let t = x; for i in 0..t { w += 128; y = 1 - y; }".into(),
        _ => "choose { x = 1; } or { y = 1; }".into(),
    };
    let mut source = String::from("var x: 0..1; var y: 0..1; var f: bool; var w: u8; channel c: 0..1[2];\n");
    for thread in 0..rng.usize(2..4) {
        let body: Vec<String> = (0..rng.usize(1..4)).map(|_| statement(rng)).collect();
        let body = body.join(" ");
        let body = if rng.u32(..3) > 0 { format!("loop {{ {body} }}") } else { body };
        source += &format!("process p{thread}[1] {{ {body} }}\n");
    }
    if rng.bool() {
        let formula = ["eventually A", "always eventually A", "eventually always A", "A leads to B"][rng.usize(..4)];
        let formula = formula.replace('A', condition(rng)).replace('B', condition(rng));
        source += &format!("property wanted: {formula} without fairness;\n");
    }
    source
}

#[test]
fn what_is_written_in_promela_and_read_again_has_its_verdict() {
    let mut rng = fastrand::Rng::with_seed(9);
    let (mut bugs, mut of_properties) = (0, 0);
    for n in 0..200 {
        let program = ours(&random(&mut rng));
        let stop = Arc::new(AtomicBool::new(false));
        let budget = Budget { time: None, memory: None, stop: &stop };
        let caps = Caps { tasks: 10, objects: 6 };
        let text = text_of(&program, Sequentialization::Rounds(1), Form::Promela, caps, budget);
        let text = text.unwrap_or_else(|wrong| panic!("{wrong:?}\n{}", program.source));
        // What keeps SPIN going at the end, where everything stays as it is.
        let text = text.replace("active proctype _stay() { end: do :: timeout -> skip od }", "");
        let again = compiled(&text).unwrap_or_else(|wrong| panic!("program {n}: {wrong}"));
        let (first, second) = (answer(&program).0, answer(&again).0);
        assert_eq!(first, second, "program {n}\n{}\n{text}", program.source);
        bugs += usize::from(first == Said::Bug);
        of_properties += usize::from(first == Said::Bug && !program.properties.is_empty());
    }
    assert!((40..160).contains(&bugs) && of_properties > 20, "{bugs} have bugs, {of_properties} of properties");
}

#[test]
fn what_is_written_as_a_program_of_ours_has_its_verdict() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/models");
    for name in ["leader", "peterson", "philosophers", "fig9"] {
        let source = std::fs::read_to_string(folder.join(format!("{name}.pml"))).expect("it is there");
        let program = compiled(&source).unwrap_or_else(|wrong| panic!("{wrong}"));
        let text = fabius_lang::unparse(&program).unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!(answer(&ours(&text)), answer(&program), "{name}\n{text}");
    }
}
