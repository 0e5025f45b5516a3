//! A second opinion: random programs run on `fabius`, and every answer is compared with a plain model of std
//! (`crates/stdmodel`) that knows nothing of how `fabius` works.

#[path = "second_opinion/compare.rs"]
mod compare;
#[path = "second_opinion/run.rs"]
mod run;

use compare::{Case, Walk, Way};
use fabius::Config;
use fastrand::Rng;
use stdmodel::cost::Measure;
use stdmodel::generate::{self, Size, Theme};
use stdmodel::graph::Outcome;
use stdmodel::program::Program;
use stdmodel::shrink::shrink;

/// Programs with more states are left out.
const STATES: usize = 3000;

/// Every way with what it is configured with. Without reduction, loops without a limit have too many executions.
fn ways(program: &Program) -> Vec<(Way, Config)> {
    let config = Config::new().max_steps(400);
    let plain = config.clone().without_reduction();
    let two_jobs = config.clone().jobs(2);
    let least = [Measure::Preemptions, Measure::RoundRobin, Measure::DepthFirst].map(Way::Least);
    let walks = [Walk::Random, Walk::Pct, Walk::Pos, Walk::Urw, Walk::Surw].map(Way::Walks);
    let mut ways = Vec::new();
    let configured = [&config, &two_jobs, &plain];
    for configured in &configured[..if program.loops_for_ever() { 2 } else { 3 }] {
        ways.extend(least.map(|way| (way, (*configured).clone())));
        ways.push((Way::Exhaustive, (*configured).clone()));
        ways.push((Way::Default, (*configured).clone()));
    }
    ways.extend(walks.map(|way| (way, config.clone())));
    ways
}

/// How much is asked of each program.
#[derive(Clone, Copy)]
struct Effort {
    size: Size,
    outcomes: usize,
    ways: usize,
}

/// Asks for some outcomes, and for any that is impossible, in some ways.
fn compare(theme: Theme, seed: u64, effort: Effort) {
    let mut rng = Rng::with_seed(seed);
    let program = generate::program(&mut rng, theme, effort.size);
    let Some(case) = Case::new(&program, STATES) else { return };
    let mut targets: Vec<Option<&Outcome>> = case.outcomes().map(Some).collect();
    rng.shuffle(&mut targets);
    targets.truncate(effort.outcomes);
    targets.push(None);
    let mut ways = ways(&program);
    rng.shuffle(&mut ways);
    ways.truncate(effort.ways);
    for target in targets {
        for (way, config) in &ways {
            if let Some(found) = case.differs(target, *way, config) {
                let small = shrink(&program, |smaller| difference(smaller, *way, config).is_some());
                let difference = difference(&small, *way, config).unwrap_or(found);
                panic!("{theme:?}, seed {seed}\n{small}{difference}");
            }
        }
    }
}

/// The first difference of a program in one way.
fn difference(program: &Program, way: Way, config: &Config) -> Option<String> {
    let case = Case::new(program, STATES)?;
    case.outcomes().map(Some).chain([None]).find_map(|target| case.differs(target, way, config))
}

/// Compares programs of every theme, on two threads. These have no name: under that of its test the trace of every failing
/// check would be saved, and most checks here fail as they should.
fn compare_all(seeds: std::ops::Range<u64>, effort: fn(u64) -> Effort) {
    let half = |even: bool| {
        for seed in seeds.clone().filter(|seed| (seed % 2 == 0) == even) {
            for theme in Theme::ALL {
                compare(theme, seed, effort(seed));
            }
        }
    };
    let half = &half;
    std::thread::scope(|scope| {
        for thread in [true, false].map(|even| scope.spawn(move || half(even))) {
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

#[test]
fn thousands_of_random_programs_are_answered_as_by_the_model() {
    let effort = |_| Effort { size: Size { threads: 2, operations: 3 }, outcomes: 2, ways: 4 };
    compare_all(0..200, effort);
}

#[test]
#[ignore = "takes long: cargo test --release -p fabius --test second_opinion -- --ignored"]
fn a_hundred_thousand_random_programs_are_answered_as_by_the_model() {
    let effort = |seed| match seed % 4 {
        0 => Effort { size: Size { threads: 3, operations: 3 }, outcomes: 2, ways: 3 },
        _ => Effort { size: Size { threads: 2, operations: 4 }, outcomes: 4, ways: 5 },
    };
    compare_all(1000..1000 + 100_000 / Theme::ALL.len() as u64, effort);
}
