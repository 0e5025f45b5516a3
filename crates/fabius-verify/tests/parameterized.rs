//! Any number of threads: the translations and the interfaces that are computed directly have the observations that were
//! computed elsewhere, and those of explicit threads.

use fabius_lang::program::*;
use fabius_lang::{Choices, Options, compile};
use fabius_sequential::summaries::interfaces::{Composed, Threads, compose};
use fabius_sequential::summaries::{self, Answer, Limits, Question, Reached};
use fabius_translate::explicit::Trace;
use fabius_translate::linear_interface::eager::{eager, threads};
use fabius_translate::linear_interface::{Parameterized, lazy::lazy, parameterized};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use testkit::oracle::parameterized::{Case, cases};

fn program(source: &str) -> Program {
    let options = Options { choices: Choices::Unbounded, ..Options::default() };
    compile(source, &options).unwrap_or_else(|e| panic!("{source}\n{e:?}"))
}

fn reach(program: &Program, ends: &[GlobalId]) -> Reached {
    let stop = AtomicBool::new(false);
    let limits = Limits { deadline: None, stop: &stop };
    match summaries::reach(program, Question::Everything, ends, &limits, &mut |_| {}).expect("it is sequential").0 {
        Answer::Reached(reached) => reached,
        other => panic!("{other:?}"),
    }
}

/// What is printed, and the shared variables in the end.
fn facts(program: &Program, shared: usize) -> (BTreeSet<Vec<i64>>, BTreeSet<Vec<i64>>) {
    let reached = reach(program, &(0..shared).collect::<Vec<_>>());
    (reached.printed.into_iter().flat_map(|(_, values)| values).collect(), reached.ends)
}

fn source_of(text: &str) -> Parameterized {
    parameterized(&program(text), Trace::Off).unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

/// What the composition of interfaces finds.
fn composed(source: &Parameterized, rounds: u32) -> Composed {
    let of = threads(source, rounds);
    let stop = AtomicBool::new(false);
    let threads = Threads {
        program: &of.program,
        declared: &of.declared,
        any: of.any,
        shared: &of.shared,
        round: of.round,
        failed: of.failed,
    };
    compose(&threads, &Limits { deadline: None, stop: &stop }, &mut |_| {}).expect("it is sequential").0
}

fn corpus() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    cases(&root)
}

#[test]
fn observations_computed_elsewhere_are_those_of_the_lazy_translation() {
    for (n, case) in corpus().into_iter().enumerate() {
        let source = source_of(&case.source);
        for (rounds, expected) in &case.expected {
            let (observed, ends) = facts(&lazy(&source, *rounds).program, case.shared);
            assert_eq!(observed, expected.observed, "case {n}, {rounds} rounds: observations\n{}", case.source);
            assert_eq!(ends, expected.ends, "case {n}, {rounds} rounds: final states\n{}", case.source);
        }
    }
}

#[test]
fn errors_computed_elsewhere_are_those_of_the_eager_translation_and_of_interfaces() {
    for (n, case) in corpus().into_iter().enumerate() {
        let source = source_of(&case.asserting);
        for (rounds, expected) in &case.expected {
            let fails = !reach(&eager(&source, *rounds).program, &[]).failing.is_empty();
            let is_expected = expected.observed.contains(&vec![0]);
            assert_eq!(fails, is_expected, "case {n}, {rounds} rounds\n{}", case.asserting);
            let fails = matches!(composed(&source, *rounds), Composed::Fails { .. });
            assert_eq!(fails, is_expected, "interfaces: case {n}, {rounds} rounds\n{}", case.asserting);
        }
    }
}
