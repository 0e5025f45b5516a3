//! The search over packed states says what the search over whole states of the reference says: the same states, transitions
//! and ends, bugs of the same kind, length and cost, with one worker and with two.

use fabius_explore::search::{Cut, Monitor, Options, Outcome, Strategy};
use fabius_explore::{flat, stateful};
use fabius_lang::program::Program;
use fabius_machine::Machine;
use fabius_semantics::Reference;
use fabius_trace::{Bound, Points, Verdict};
use fabius_verify::{Plan, Symmetry, check, program_id};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use testkit::corpus::programs;
use testkit::generate::{Model, Shape, random, random_with_waits_midway};

fn options(deadlock: bool, jobs: usize) -> Options {
    // A few programs have billions of outcomes of choices: they are not compared.
    let deadline = Some(Instant::now() + Duration::from_secs(20));
    Options { bound: Bound::None, deadlock, jobs, memory: Some(20_000_000), deadline, ..Options::default() }
}

fn shape_of(outcome: &Outcome) -> String {
    let bug = outcome.bug.as_ref().map(|b| (b.what, b.cost, b.schedule.len(), &b.delays));
    format!("{bug:?} {:?} {:?} {} {}", outcome.levels, outcome.completed, outcome.exhausted, outcome.finals)
}

fn packed(program: &Program, options: &Options) -> Outcome {
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let machine = Machine::new(program, Points::All);
    assert!(flat::answers(&machine, options), "it answers");
    flat::search(&machine, options, &monitor)
}

/// How the two differ, if they do.
fn difference(source: &str) -> Option<String> {
    let program = fabius_lang::compile(source, &Default::default()).expect("random programs compile");
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    for deadlock in [true, false] {
        let whole = stateful::search(&Reference::new(&program, Points::All), &options(deadlock, 1), &monitor, &|_| {});
        if whole.cut.is_some_and(Cut::is_final) {
            // The reference takes more for a state, and more time.
            continue;
        }
        for jobs in [1, 2] {
            let packed = packed(&program, &options(deadlock, jobs));
            let same_cut = whole.cut.is_some() == packed.cut.is_some();
            if shape_of(&whole) != shape_of(&packed) || !same_cut {
                return Some(format!("deadlock {deadlock} jobs {jobs}: {} | {}", shape_of(&whole), shape_of(&packed)));
            }
        }
    }
    // What is found is replayed.
    let plan = Plan { bound: Bound::None, ..Plan::default() };
    let id = program_id("random.fab", source, &[], &[]);
    check(&program, &id, &plan, &AtomicBool::new(false), &|_| {}).err().map(|e| format!("{e:?}"))
}

fn agree(random: fn(u64, Shape) -> Model, seeds: std::ops::Range<u64>) {
    for shape in [Shape::Threads, Shape::Spawned] {
        for seed in seeds.clone() {
            let model = random(seed, shape);
            if difference(&model.source()).is_some() {
                let small: Model = model.shrink(|m| difference(&m.source()).is_some());
                panic!("{:?}\n{}", difference(&small.source()), small.source());
            }
        }
    }
}

#[test]
fn packed_and_whole_states_agree_on_random_programs() {
    agree(random, 0..100);
}

#[test]
fn packed_and_whole_states_agree_on_atomic_blocks_that_wait_midway() {
    agree(random_with_waits_midway, 0..20);
}

#[test]
#[ignore = "takes minutes"]
fn packed_and_whole_states_agree_on_many_random_programs() {
    agree(random, 100..50_000);
    agree(random_with_waits_midway, 200..50_000);
}

#[test]
fn packed_and_whole_states_agree_on_all_programs() {
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let (mut compared, mut wrong) = (0, Vec::new());
    for file in programs(&["corpus", "examples", "bench/models"]) {
        let source = std::fs::read_to_string(&file).expect("the file can be read");
        let program = fabius_lang::compile(&source, &Default::default());
        let Some(program) = program.ok().filter(|p| !p.has_buffers()) else { continue };
        let machine = Machine::new(&program, Points::All);
        // What takes longer is left out by how large it is: how many are compared does not depend on the machine.
        let few = Options { memory: Some(1_500_000), ..options(true, 1) };
        let whole = stateful::search(&machine, &few, &monitor, &|_| {});
        if whole.cut.is_some() {
            continue;
        }
        compared += 1;
        for jobs in [1, 2] {
            let packed = packed(&program, &options(true, jobs));
            if shape_of(&whole) != shape_of(&packed) {
                wrong.push(format!("{}: {} | {}", file.display(), shape_of(&whole), shape_of(&packed)));
            }
        }
    }
    assert!(compared > 60, "only {compared} programs were compared");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A step with many choices that meet again.
fn choices(count: u32) -> String {
    format!(
        "const N = {count};\nvar x: int;\ninit {{ for i in 1..N {{ choose {{ x = x + 1; }} or {{ skip; }} }} assert x <= N; }}"
    )
}

#[test]
fn outcomes_that_meet_are_counted_as_the_reference_counts_them() {
    assert_eq!(difference(&choices(8)), None);
    let many = fabius_lang::compile(&choices(40), &Default::default()).expect("it compiles");
    let outcome = packed(&many, &options(true, 1));
    assert!(outcome.exhausted && outcome.levels[0].transitions > 1 << 39, "{:?} {:?}", outcome.levels, outcome.cut);
}

#[test]
fn choices_before_the_first_step_meet_in_depth_as_they_do_in_breadth() {
    let source = "var x: int;\nprocess p[2] { if * { let l: bool = *; } x = x + 1; }";
    let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
    let id = program_id("meet.fab", source, &[], &[]);
    let states = |strategy| {
        let plan = Plan { bound: Bound::None, strategy, symmetry: Symmetry::OFF, reduction: false, ..Plan::default() };
        let report = check(&program, &id, &plan, &AtomicBool::new(false), &|_| {}).expect("it can be explored");
        assert_eq!(report.verdict, Verdict::Verified);
        report.levels[0].states
    };
    assert_eq!(states(Strategy::DepthFirst), states(Strategy::Iterative));
}

#[test]
fn alike_threads_are_told_by_the_state_and_not_by_the_last_step() {
    let source = "var x: int;\nproc p() { x = x + 1; }\nprocess q[2] { p(); assert x != 2; }";
    let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
    let id = program_id("alike.fab", source, &[], &[]);
    for reduction in [true, false] {
        let plan = Plan { bound: Bound::None, reduction, ..Plan::default() };
        let report = check(&program, &id, &plan, &AtomicBool::new(false), &|_| {}).expect("it can be explored");
        assert!(matches!(report.verdict, Verdict::Bug { .. }), "{:?}", report.verdict);
    }
}

#[test]
fn a_guard_that_fails_is_the_bug_of_the_step_behind_it() {
    let guards = [
        "var a: thread;\nprocess w[2] { join a; x = 1; }",
        "thread var a: [thread; 2];\nprocess w[2] { join a[1]; x = 1; }",
        "process w[2] { let a: thread = null; join a; x = 1; }",
        "var i: 0..5;\nprocess w[2] { await 4 / i == 0; x = 1; }",
        "var i: 0..5;\nprocess w[2] { await 4 / i == 0 || x == 1; x = 1; }\nprocess p[1] { i = 5; x = 1; }",
        "var i: 0..5 = 3;\nvar a: [bool; 3];\nprocess w[2] { await a[i]; x = 1; }",
        "record R { n: 0..3 }\nvar r: ref R;\nprocess w[2] { await r.n == 0; x = 1; }",
    ];
    for guard in guards {
        let source = format!("var x: 0..1;\n{guard}\n");
        if let Err(errors) = fabius_lang::compile(&source, &Default::default()) {
            panic!("{source}{errors:?}");
        }
        assert_eq!(difference(&source), None, "{source}");
        let program = fabius_lang::compile(&source, &Default::default()).expect("it compiles");
        assert!(packed(&program, &options(true, 1)).bug.is_some(), "{source}");
    }
}
