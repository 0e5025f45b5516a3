//! The model of programs with loops knows facts that are found by hand.

use stdmodel::cost::{Measure, least};
use stdmodel::graph::Outcome;
use stdmodel::loops::graph::{Endless, Looping};
use stdmodel::loops::program::{After, Cond, Counter, Op, Place, Program, Stmt};

fn program(threads: &[&[Stmt]], counters: &[(u8, u8, After)]) -> Program {
    let counter = |(owner, last, after)| Counter { owner: Some(owner), place: Place::Local, last, after };
    let mut program = Program {
        atomics: 2,
        mutexes: 1,
        counters: counters.iter().copied().map(counter).collect(),
        threads: threads.iter().map(|t| t.to_vec()).collect(),
        ..Program::default()
    };
    program.complete();
    program
}

/// The fewest preemptions of each outcome, and what goes on for ever.
fn facts(program: &Program) -> (Vec<(Outcome, u32)>, Endless) {
    let looping = Looping::of(program, 10_000).expect("it is small");
    (least(&looping.graph, Measure::Preemptions).into_iter().collect(), looping.endless)
}

fn ended(logs: &[&[u8]]) -> Outcome {
    Outcome::Ended(logs.iter().map(|log| log.to_vec()).collect())
}

/// Loads until it finds the value.
fn until(atomic: u8, value: u8, round: &[Stmt]) -> Stmt {
    let found = Stmt::If(Cond::Found(value), vec![Stmt::Break], Vec::new());
    Stmt::Loop([&[Stmt::Do(Op::Load(atomic)), found], round].concat())
}

const YIELD: Stmt = Stmt::Do(Op::Yield);

#[test]
fn who_waits_for_what_comes_ends() {
    let waits = program(&[&[], &[until(0, 1, &[YIELD])], &[Stmt::Do(Op::Store(0, 1))]], &[]);
    assert_eq!(facts(&waits), (vec![(ended(&[&[], &[], &[]]), 0)], Endless::Unfair));
}

#[test]
fn who_waits_for_what_never_comes_is_a_livelock() {
    let waits = program(&[&[], &[until(0, 1, &[YIELD])]], &[]);
    assert_eq!(facts(&waits).0, [(Outcome::Livelock, 0)]);
    let toggles = program(&[&[], &[until(0, 2, &[Stmt::Do(Op::Toggle(0)), YIELD])]], &[]);
    assert_eq!(facts(&toggles), (vec![(Outcome::Livelock, 0)], Endless::Fair));
    let sleeps = program(&[&[], &[until(0, 1, &[Stmt::Do(Op::Sleep(1))])]], &[]);
    assert_eq!(facts(&sleeps), (vec![(Outcome::Livelock, 0)], Endless::Together));
}

#[test]
fn of_two_that_wait_for_each_other_one_is_left_over() {
    let one = until(0, 1, &[Stmt::Do(Op::Store(0, 2)), YIELD]);
    let other = until(0, 2, &[Stmt::Do(Op::Store(0, 1)), YIELD]);
    // Who ends first found the last store of the other, which finds nothing else from then on.
    assert_eq!(facts(&program(&[&[], &[one], &[other]], &[])), (vec![(Outcome::Livelock, 0)], Endless::Fair));
}

#[test]
fn who_gives_up_can_be_switched_away_from_for_nothing() {
    let gives_up = [Stmt::Bump(0), Stmt::If(Cond::Is(0, 2), vec![Stmt::Break], Vec::new()), YIELD];
    let loops =
        program(&[&[], &[until(0, 1, &gives_up), Stmt::Log(0)], &[Stmt::Do(Op::Store(0, 1))]], &[(1, 2, After::Stays)]);
    // It finds the store at once, in its second round, or never.
    let expected = [0, 1, 2].map(|rounds| (ended(&[&[], &[rounds], &[]]), 0));
    assert_eq!(facts(&loops), (expected.to_vec(), Endless::No));
}

#[test]
fn time_passes_for_who_sleeps_while_others_repeat_themselves() {
    let sleeps = [Stmt::Do(Op::Sleep(1)), Stmt::Do(Op::Store(0, 1))];
    let waits = program(&[&[], &[until(0, 1, &[YIELD])], &sleeps], &[]);
    assert_eq!(facts(&waits).0, [(ended(&[&[], &[], &[]]), 0)]);
    // Who counts is not overtaken by it.
    let counts = [Stmt::Bump(0), Stmt::If(Cond::Is(0, 2), vec![Stmt::Break], Vec::new()), YIELD];
    let counts = program(&[&[], &[until(0, 1, &counts), Stmt::Log(0)], &sleeps], &[(1, 2, After::Stays)]);
    assert_eq!(facts(&counts).0, [(ended(&[&[], &[2], &[]]), 0)]);
}

#[test]
fn to_give_way_again_is_no_step() {
    let reads = [Stmt::Do(Op::Load(0)), Stmt::LogFound];
    let twice = [YIELD, YIELD, Stmt::Do(Op::Store(0, 1))];
    let looping = Looping::of(&program(&[&[], &twice, &reads], &[]), 1000).unwrap();
    let steps = least(&looping.graph, Measure::Steps);
    // Two spawns, two joins, a yield, a store, a load.
    assert!(steps.values().all(|steps| *steps == 7), "{steps:?}");
}
