//! What makes fewer states or less work, each alone and all together, says what the search without any of it says: of random
//! programs with choices whose outcomes meet, and of all programs of the corpus.

use fabius_explore::search::{Cut, Monitor, Options, Outcome, Strategy as Walk};
use fabius_explore::system::Snapshot;
use fabius_explore::{flat, stateful, stateful_depth_first};
use fabius_lang::program::Program;
use fabius_machine::Machine;
use fabius_semantics::Reference;
use fabius_trace::{Bound, Points, SchedulerKind, Verdict};
use fabius_verify::{Plan, Symmetry, check, program_id};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use testkit::corpus::programs;
use testkit::generate::{Model, Shape, random};

const WAYS: [(Bound, SchedulerKind); 7] = [
    (Bound::None, SchedulerKind::Bag),
    (Bound::Preemptions, SchedulerKind::Bag),
    (Bound::Contexts, SchedulerKind::Bag),
    (Bound::Depth, SchedulerKind::Bag),
    (Bound::Rounds, SchedulerKind::Bag),
    (Bound::Delays, SchedulerKind::RoundRobin),
    (Bound::Delays, SchedulerKind::DepthFirst),
];

const SHAPES: [Shape; 7] =
    [Shape::Threads, Shape::Spawned, Shape::Tasks, Shape::Alike, Shape::Phased, Shape::Buffers, Shape::Queues];

fn breadth<S>(system: &S, options: &Options) -> Outcome
where
    S: Snapshot + Sync,
    S::State: Send,
{
    stateful::search(system, options, &Monitor { stop: &AtomicBool::new(false), progress: &|_| {} }, &|_| {})
}

/// All of what a search in breadth says, but how much of the step with a bug was made.
fn whole(outcome: &Outcome) -> String {
    let bug = outcome.bug.as_ref().map(|b| (b.what, b.cost, b.schedule.len(), &b.delays));
    let (cut, levels) = (outcome.cut.is_some(), bug.is_none().then_some(&outcome.levels));
    format!("{bug:?} {levels:?} {:?} {cut} {} {}", outcome.completed, outcome.exhausted, outcome.finals)
}

/// How a search that makes outcomes which meet once differs from the search of the reference that makes each to its end, if it does;
/// otherwise how many transitions are alike. What takes longer than a moment is left out.
fn compare(source: &str, number: usize) -> Result<u64, String> {
    let program = fabius_lang::compile(source, &Default::default()).map_err(|d| format!("{d:?}"))?;
    let (machine, reference) = (Machine::new(&program, Points::All), Reference::new(&program, Points::All));
    let ways: Vec<_> = if program.has_buffers() { vec![(Bound::None, SchedulerKind::Bag)] } else { WAYS.to_vec() };
    let (bound, scheduler) = ways[number % ways.len()];
    let deadline = Some(Instant::now() + Duration::from_millis(30));
    let plain = Options { bound, scheduler, merges: false, memory: Some(4_000_000), deadline, ..Options::default() };
    let all = breadth(&reference, &plain);
    if all.cut.is_some_and(Cut::is_final) {
        return Ok(0);
    }
    let merging = Options { merges: true, memory: None, deadline: None, ..plain };
    let mut others = vec![("reference", breadth(&reference, &merging))];
    for jobs in [1, 2] {
        let options = Options { jobs, ..merging.clone() };
        others.push(("machine", breadth(&machine, &options)));
        if flat::answers(&machine, &options) {
            let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
            others.push(("packed", flat::search(&machine, &options, &monitor)));
        }
    }
    if let Some((who, some)) = others.iter().find(|(_, some)| whole(some) != whole(&all)) {
        return Err(format!("{bound:?} {scheduler:?} {who}: {} | {}", whole(some), whole(&all)));
    }
    if bound == Bound::None {
        let depth = Options { strategy: Walk::DepthFirst, ..merging };
        let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
        let some = stateful_depth_first::search(&machine, &depth, &monitor, &|_| {});
        let said = |outcome: &Outcome| (outcome.bug.is_some(), outcome.exhausted, outcome.cut.is_some());
        if said(&some) != said(&all) {
            return Err(format!("depth first: {:?} | {:?}", said(&some), said(&all)));
        }
    }
    Ok(all.levels.last().map_or(0, |level| level.transitions))
}

/// Puts choices whose outcomes mostly meet in front of each procedure's first statement.
fn with_choices(source: &str) -> String {
    let more = "{ var m0: 0..3 = any 0..3; if m0 > 1 { m0 = 0; } if * { m0 = 0; } while m0 > 0 { choose { m0 = m0 - 1; } or { m0 = 0; } } ";
    let begins = |line: &str| line.ends_with('{') && (line.starts_with("proc ") || line.starts_with("process "));
    source
        .lines()
        .map(|line| if begins(line) { format!("{}{more}\n", &line[..line.len() - 1]) } else { format!("{line}\n") })
        .collect()
}

fn agree(seeds: std::ops::Range<u64>) -> (u64, usize) {
    let (mut transitions, mut compared) = (0, 0);
    for seed in seeds {
        let model = random(seed, SHAPES[seed as usize % SHAPES.len()]);
        let number = seed as usize / SHAPES.len();
        let differs = |m: &Model| compare(&with_choices(&m.source()), number);
        match differs(&model) {
            Ok(some) => {
                transitions += some;
                compared += usize::from(some > 0);
            }
            Err(_) => {
                let is_program =
                    |m: &Model| fabius_lang::compile(&with_choices(&m.source()), &Default::default()).is_ok();
                let small = model.shrink(|m| is_program(m) && differs(m).is_err());
                panic!("{seed}: {:?}\n{}", differs(&small), with_choices(&small.source()));
            }
        }
    }
    (transitions, compared)
}

#[test]
fn random_programs_whose_choices_meet_have_the_answers_of_the_plain_search() {
    let (transitions, compared) = agree(0..400);
    assert!(compared > 120 && transitions > 4_000, "{compared} programs, {transitions} transitions");
}

#[test]
#[ignore = "takes an hour"]
fn many_random_programs_whose_choices_meet_have_the_answers_of_the_plain_search() {
    let (transitions, compared) = agree(testkit::seeds(400, 100_000));
    println!("{compared} programs, {transitions} transitions");
}

/// Each of 2^40 outcomes to its end takes longer than any test; those that meet are a few hundred.
#[test]
fn outcomes_that_meet_are_made_to_their_ends_where_that_is_asked_for() {
    let source = "var x: int; init { for i in 1..40 { choose { x = x + 1; } or { skip; } } assert x <= 40; }";
    let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
    for bound in [Bound::None, Bound::Preemptions] {
        let time = Some(Duration::from_millis(500));
        let merging = Plan { bound, ..Plan::default() };
        assert_eq!(said(&program, &merging).0, "verified", "{bound:?}");
        let all = said(&program, &Plan { merging: false, time, ..merging }).0;
        assert!(all.starts_with("Unknown"), "{bound:?}: {all}");
    }
}

/// None of what saves work, each alone, and all.
fn plans(plain: &Plan) -> Vec<Plan> {
    let (off, plain) = (Symmetry::OFF, || plain.clone());
    vec![
        Plan { symmetry: Symmetry { threads: true, ..off }, ..plain() },
        Plan { symmetry: Symmetry { threads: true, joined: true, ..off }, ..plain() },
        Plan { symmetry: Symmetry { values: true, ..off }, ..plain() },
        Plan { reduction: true, ..plain() },
        Plan { merging: true, ..plain() },
        Plan { symmetry: Symmetry::ON, reduction: true, merging: true, ..plain() },
    ]
}

/// The verdict with the cost of a bug, and states.
fn said(program: &Program, plan: &Plan) -> (String, u64) {
    let id = program_id("corpus.fab", &program.source, &[], &[]);
    let report = check(program, &id, plan, &AtomicBool::new(false), &|_| {}).expect("an answer");
    let verdict = match report.verdict {
        // Several bugs may cost as little.
        Verdict::Bug { trace } => format!("a bug that costs {}", trace.cost),
        Verdict::Verified => "verified".into(),
        other => format!("{other:?}"),
    };
    (verdict, report.levels.last().map_or(0, |level| level.states))
}

/// How many programs of the corpus were compared in these ways, and how many have fewer states with all that saves work: those whose
/// plain search fits into this many bytes, which does not depend on how fast a machine is.
fn agree_on_the_corpus(ways: &[(Bound, SchedulerKind)], memory: u64) -> (usize, usize) {
    let (mut compared, mut fewer) = (0, 0);
    for file in programs(&["corpus", "examples", "bench/models"]) {
        // What it is about is that the plain search takes very long.
        if file.ends_with("choices_meet.fab") {
            continue;
        }
        let source = std::fs::read_to_string(&file).expect("the file can be read");
        let Ok(program) = fabius_lang::compile(&source, &Default::default()) else { continue };
        for (bound, scheduler) in ways.iter().copied() {
            let none =
                Plan { bound, scheduler, symmetry: Symmetry::OFF, reduction: false, merging: false, ..Plan::default() };
            let limited = Plan { time: Some(Duration::from_secs(20)), memory: Some(memory), ..none.clone() };
            if limited.validate(&program).is_err() {
                continue;
            }
            let (all, of_all) = said(&program, &limited);
            if all.starts_with("Unknown") {
                continue;
            }
            let mut least = of_all;
            for plan in plans(&none) {
                let (some, of_some) = said(&program, &plan);
                assert_eq!(some, all, "{} {plan:?}", file.display());
                assert!(
                    all != "verified" || of_some <= of_all,
                    "{}: {of_some} states of {of_all}, {plan:?}",
                    file.display()
                );
                least = of_some;
            }
            compared += 1;
            fewer += usize::from(all == "verified" && least < of_all);
        }
    }
    (compared, fewer)
}

#[test]
fn the_programs_of_the_corpus_have_the_answers_of_the_plain_search() {
    let (compared, fewer) = agree_on_the_corpus(&WAYS[..2], 150_000);
    println!("{compared} compared, {fewer} with fewer states");
    assert!(compared > 150 && fewer > 25, "{compared} compared, {fewer} with fewer states");
}

#[test]
#[ignore = "takes minutes"]
fn the_programs_of_the_corpus_have_the_answers_of_the_plain_search_in_every_way() {
    let (compared, fewer) = agree_on_the_corpus(&WAYS, 100_000_000);
    println!("{compared} compared, {fewer} with fewer states");
}
