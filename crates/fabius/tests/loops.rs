//! A second opinion on loops: random programs whose threads spin, back off, give up, or go around for ever, run on `fabius`,
//! and every answer is compared with a plain model (`crates/stdmodel`) that knows nothing of how loops are recognized.

#[path = "loops/asks.rs"]
mod asks;
#[path = "loops/compare.rs"]
mod compare;
#[path = "loops/compiled.rs"]
mod compiled;
#[path = "loops/places.rs"]
mod places;
#[path = "loops/run.rs"]
mod run;

use asks::{Answers, Difference, Effort};
use compare::{Case, Endless, Run};
use fastrand::Rng;
use std::sync::Arc;
use stdmodel::loops::program::{Place, Program};
use stdmodel::loops::{generate, shrink};

/// Programs with more states are left out.
const STATES: usize = 2000;
/// Where counters of programs are that are interpreted: others are found out instruction by instruction, which takes long.
const ON_THE_STACK: [Place; 3] = [Place::Local, Place::Copied, Place::Pointer];

/// What the model says of a program, which is interpreted.
fn interpreted(program: &Program) -> Option<Case> {
    let shared = Arc::new(program.clone());
    let run: Run = Arc::new(move |at_end| run::run(&shared, at_end));
    (program.counters.len() <= places::MOST).then(|| Case::new(program, run, STATES))?
}

/// Fails with the smallest program that differs in the same way.
fn differs(seed: u64, program: &Program, found: &Difference) {
    let Difference { way, config, .. } = found;
    let difference = |program: &Program| {
        let case = interpreted(program)?;
        case.outcomes().map(Some).chain([None]).find_map(|target| case.ask(target, *way, config).difference())
    };
    let small = shrink::shrink(program, |smaller| difference(smaller).is_some());
    panic!("seed {seed}\n{small}{}", difference(&small).unwrap_or_else(|| found.text.clone()));
}

#[test]
fn random_programs_whose_loops_end_are_answered_as_by_the_model() {
    let mut answers = Answers::default();
    let effort = Effort { executions: 300, outcomes: 2, ways: 3 };
    for seed in 0..400 {
        let mut rng = Rng::with_seed(seed);
        let program = generate::program(&mut rng, 2, &ON_THE_STACK);
        if let Some(case) = interpreted(&program).filter(|case| case.endless == Endless::No) {
            answers.ask(&case, &mut rng, effort, |found| differs(seed, &program, found));
        }
    }
    println!("{answers:?}");
    assert!(answers.right > 10 * answers.left_out, "{answers:?}");
}

#[test]
#[ignore = "takes hours: cargo test -p fabius --test loops -- --ignored --nocapture twenty_thousand"]
fn twenty_thousand_random_programs_as_compiled_code_are_answered_as_by_the_model() {
    let first = std::env::var("FIRST_SEED").map_or(100_000, |seed| seed.parse().expect("a number"));
    (0..400).for_each(|batch| compiled::batch(first + 1000 * batch, 50));
}
