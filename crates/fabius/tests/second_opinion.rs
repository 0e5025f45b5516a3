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
use stdmodel::program::{Closure, Hint, Op, Program, Start};
use stdmodel::shrink::shrink;

/// Programs with more states are left out.
const STATES: usize = 3000;

/// Every way with what it is configured with. Without reduction, loops without a limit, tasks, whose polls are steps, and
/// four threads have too many executions.
fn ways(program: &Program) -> Vec<(Way, Config)> {
    let config = Config::new().max_steps(400);
    let plain = config.clone().without_reduction();
    let two_jobs = config.clone().jobs(2);
    let least = [Measure::Preemptions, Measure::RoundRobin, Measure::DepthFirst, Measure::Steps].map(Way::Least);
    let walks = [Walk::Random, Walk::Pct, Walk::Pos, Walk::Urw, Walk::Surw].map(Way::Walks);
    let mut ways = Vec::new();
    let configured = [&config, &two_jobs, &plain];
    let is_long = program.loops_for_ever() || program.start == Start::Tasks || program.threads.len() > 3;
    for configured in &configured[..if is_long { 2 } else { 3 }] {
        ways.extend(least.map(|way| (way, (*configured).clone())));
        ways.push((Way::Exhaustive, (*configured).clone()));
        ways.push((Way::Default, (*configured).clone()));
    }
    ways.push((Way::Least(Measure::Preemptions), config.clone().persistent_sets()));
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
fn five_hundred_random_programs_are_answered_as_by_the_model() {
    let effort = |_| Effort { size: Size { threads: 2, operations: 3 }, outcomes: 2, ways: 4 };
    compare_all(0..500 / Theme::ALL.len() as u64, effort);
}

/// The number of a variable of the environment.
fn number_of(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is `{text}`, which is no number")))
}

/// Seeds that one process compares: most checks fail as they should, and what a failed execution owned is leaked.
const OF_A_PROCESS: u64 = 10;

#[test]
#[ignore = "takes hours: cargo test --release -p fabius --test second_opinion -- --ignored --nocapture a_hundred"]
fn a_hundred_thousand_random_programs_are_answered_as_by_the_model() {
    let first = number_of("FIRST_SEED").unwrap_or(1000);
    let count = 100_000 / Theme::ALL.len() as u64;
    for seed in (first..first + count).step_by(OF_A_PROCESS as usize) {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["some_of_them", "--exact", "--ignored", "--nocapture"]).env("FIRST_SEED", seed.to_string());
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success(), "{said}");
        println!("seeds {seed} to {}: as by the model", seed + OF_A_PROCESS - 1);
    }
}

#[test]
#[ignore = "run by another test"]
fn some_of_them() {
    let first = number_of("FIRST_SEED").expect("the first seed");
    compare_all(first..first + OF_A_PROCESS, large);
}

fn large(seed: u64) -> Effort {
    match seed % 4 {
        0 => Effort { size: Size { threads: 3, operations: 3 }, outcomes: 2, ways: 3 },
        _ => Effort { size: Size { threads: 2, operations: 4 }, outcomes: 4, ways: 5 },
    }
}

/// Programs that were answered wrongly once.
fn wrong_once() -> Vec<(&'static str, Program)> {
    let base = || Program { atomics: 2, mutexes: 2, rwlocks: 1, condvars: 1, onces: 1, cells: 1, ..Program::default() };
    let program = |threads: &[&[Op]]| {
        let mut program = Program { threads: threads.iter().map(|ops| ops.to_vec()).collect(), ..base() };
        program.complete();
        program
    };
    let reader: &[Op] = &[Op::Load(0), Op::Load(0)];
    let waiter: &[Op] = &[Op::Lock(0), Op::WaitTimeout(0, 0, 1), Op::Get(0), Op::Unlock(0)];
    let later: &[Op] = &[Op::Sleep(1), Op::Lock(0), Op::Put(0, 1), Op::NotifyOne(0), Op::Unlock(0)];
    let panics = Op::CallOnce(0, 0, Closure::Panics);
    vec![
        (
            "others go on between the drops of a thread that is unwound",
            program(&[&[], &[Op::Lock(0), Op::Lock(1), Op::Panic], &[Op::TryLock(1), Op::TryLock(0)]]),
        ),
        (
            "a closure that panics",
            program(&[&[], &[panics], &[Op::Load(0), Op::IsCompleted(0), Op::CallOnce(0, 1, Closure::Returns)]]),
        ),
        ("no time is up at once: sleep", program(&[&[], &[Op::Sleep(0), Op::Store(0, 1)], reader])),
        ("no time is up at once: park", program(&[&[], &[Op::ParkTimeout(0), Op::Store(0, 1)], reader])),
        ("no time is up at once: wait", program(&[&[Op::NotifyOne(0)], &[Op::Lock(0), Op::WaitTimeout(0, 0, 0)]])),
        ("who waits leaves before it is notified", program(&[&[], waiter, later])),
        (
            "who waits leaves before it is notified without the lock",
            program(&[&[], waiter, &[Op::Sleep(1), Op::NotifyOne(0)]]),
        ),
        (
            "others are faster than who leaves",
            program(&[
                &[],
                waiter,
                &[Op::Sleep(1), Op::NotifyOne(0), Op::Store(0, 1)],
                &[Op::Sleep(1), Op::Load(0), Op::Lock(0), Op::Put(0, 2)],
            ]),
        ),
        ("who is notified needs no more time", program(&[&[], waiter, &[Op::Lock(0), Op::Sleep(2), Op::NotifyOne(0)]])),
        (
            "a reader that has ended keeps a writer from being first",
            program(&[
                &[Op::TryRead(0), Op::Store(0, 2), Op::Release(0)],
                &[Op::TryRead(0), Op::Store(0, 1), Op::Release(0), Op::Write(0)],
            ]),
        ),
        (
            "nobody looks whether a thread has finished that he has joined",
            program(&[
                &[Op::Spawn(1), Op::Spawn(2), Op::Add(0, 1), Op::Join(1), Op::Add(0, 1), Op::IsFinished(1)],
                &[Op::Store(0, 1), Op::Give(Hint::Yield)],
                &[Op::Load(0)],
            ]),
        ),
        (
            "only who sends without waiting looks whether a receiver waits",
            Program {
                channels: vec![Some(0)],
                ..program(&[&[Op::RecvTimeout(0, 1), Op::TryRecv(0)], &[Op::ParkTimeout(1)]])
            },
        ),
        ("yields in a row", program(&[&[], &[Op::Give(Hint::Yield), Op::Give(Hint::Spin), Op::Store(0, 1)], reader])),
    ]
}

/// Asks for every outcome in every way.
fn every_way(program: &Program) {
    let case = Case::new(program, 100_000).expect("it is small");
    for (way, config) in ways(program) {
        for target in case.outcomes().map(Some).chain([None]) {
            if let Some(difference) = case.differs(target, way, &config) {
                panic!("{program}{difference}");
            }
        }
    }
}

#[test]
fn programs_that_were_answered_wrongly_once_are_answered_as_by_the_model() {
    for (name, program) in wrong_once() {
        println!("{name}");
        every_way(&program);
    }
}
