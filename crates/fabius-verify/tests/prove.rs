//! Verification and exploration agree on every program of the corpus and on every example, bound by bound.

use fabius_lang::program::Program;
use fabius_lang::{Options, compile};
use fabius_trace::{ProgramId, Reason, Verdict};
use fabius_translate::NO_DEADLOCKS;
use fabius_verify::prove::{Engine, ProofError, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, check, program_id, with_instances};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::corpus::programs;
use testkit::generate::{Model, Node, Shape, random};

fn proof_plan(sequentialization: Sequentialization) -> ProofPlan {
    ProofPlan {
        sequentialization,
        unwind: Some(6),
        recursion: Some(4),
        tasks: None,
        objects: None,
        incremental: false,
        engine: Engine::Bmc,
        // Small questions would not get to it.
        deadlock: true,
        properties: true,
        solver: if cfg!(feature = "cadical") { SolverChoice::Named("cadical".into()) } else { SolverChoice::Embedded },
        time: Some(Duration::from_secs(900)),
        memory: None,
    }
}

/// What takes from seconds to minutes.
const SLOW: [(&str, Sequentialization); 12] = {
    use Sequentialization::{Delays, Rounds};
    [
        ("peterson", Rounds(2)),
        ("work_stealing_queue", Rounds(2)),
        ("bakery", Rounds(2)),
        ("dekker", Rounds(2)),
        ("file_system", Rounds(2)),
        ("work_stealing_queue", Delays(0)),
        ("bakery", Delays(1)),
        ("dekker", Delays(1)),
        ("file_system", Delays(1)),
        ("file_system_three", Delays(1)),
        ("peterson", Delays(1)),
        ("work_stealing_queue", Delays(1)),
    ]
};

/// The bounds at which a program is compared, whether it is slow or not.
fn bounds_for(program: &Program) -> Vec<Sequentialization> {
    if program.has_buffers() {
        let lanes = if program.has_single_buffer() { 1 } else { 3 };
        return (1..=lanes).map(|zields| Sequentialization::Buffers { zields, yields: 2 }).collect();
    }
    (1..=2).flat_map(|n| [Sequentialization::Rounds(n), Sequentialization::Delays(n - 1)]).collect()
}

/// What was compared.
#[derive(Default, Debug)]
struct Compared {
    bugs: usize,
    none: usize,
    /// No bug is found where loops are followed for a few iterations only.
    cut: usize,
    unsupported: usize,
}

fn compare(program: &Program, id: &ProgramId, what: Sequentialization) -> Result<fn(&mut Compared), String> {
    let (bound, scheduler) = what.cost();
    let stop = Arc::new(AtomicBool::new(false));
    let proved = match prove(program, id, &proof_plan(what), &stop, &|_| {}) {
        Ok(proof) => proof.report.verdict,
        Err(ProofError::Unsupported(_)) => return Ok(|c| c.unsupported += 1),
        Err(error) => return Err(format!("{error:?}")),
    };
    let deadlock = match &proved {
        Verdict::NoBugWithinBounds { bounds } | Verdict::Unknown { bounds, .. } => {
            !bounds.limits.iter().any(|l| l == NO_DEADLOCKS)
        }
        Verdict::Bug { .. } | Verdict::Verified => true,
    };
    let explore = Plan { bound, max: Some(what.most()), scheduler, deadlock, ..Plan::default() };
    let explored = check(program, id, &explore, &stop, &|_| {}).map_err(|e| format!("{e:?}"))?.verdict;
    match (&explored, &proved) {
        (Verdict::Bug { .. }, Verdict::Bug { trace }) if trace.cost <= what.most() => Ok(|c| c.bugs += 1),
        (Verdict::Verified | Verdict::NoBugWithinBounds { .. }, Verdict::NoBugWithinBounds { .. }) => {
            Ok(|c| c.none += 1)
        }
        (_, Verdict::Unknown { reason: Reason::Program { message }, .. })
            if message.contains("tasks are created") || message.contains("objects of each record") =>
        {
            Ok(|c| c.cut += 1)
        }
        (explored, proved) if explored.is_vacuous() && proved.is_vacuous() => Ok(|c| c.none += 1),
        (Verdict::Bug { .. }, Verdict::NoBugWithinBounds { bounds })
            if bounds.limits.iter().any(|l| l.contains("was followed")) =>
        {
            Ok(|c| c.cut += 1)
        }
        _ => Err(format!("exploration says {}, verification {proved:?}", explored.exit_code())),
    }
}

fn compare_random(seeds: std::ops::Range<u64>) {
    let mut all = Compared::default();
    for shape in [Shape::Threads, Shape::Spawned, Shape::Tasks, Shape::Buffers, Shape::Queues] {
        // Those with queues take longest.
        for seed in seeds.clone().filter(|seed| shape != Shape::Queues || seed % 5 == 0) {
            let agree = |model: &Model| {
                let source = model.source();
                let Ok(program) = compile(&source, &Options::default()) else {
                    return Ok::<fn(&mut Compared), _>(|_| ());
                };
                let what = match shape {
                    Shape::Threads | Shape::Spawned if seed % 4 == 3 => Sequentialization::Delays(1),
                    Shape::Threads | Shape::Spawned | Shape::Alike | Shape::Phased => Sequentialization::Rounds(2),
                    Shape::Tasks | Shape::Buffers | Shape::Queues => {
                        Sequentialization::Buffers { zields: 2, yields: 3 }
                    }
                };
                compare(&program, &program_id("p.fab", &source, &[], &[]), what)
            };
            let model = random(seed, shape);
            match agree(&model) {
                Ok(count) => count(&mut all),
                Err(_) => {
                    let least = model.shrink(|m| agree(m).is_err());
                    let message = agree(&least).err().unwrap_or_default();
                    panic!("{seed} {shape:?}: {message}\n{}", least.source());
                }
            }
        }
    }
    println!("{all:?}");
}

/// With delays of a scheduler.
fn compare_delays(seeds: std::ops::Range<u64>, kind: fn(u32) -> Sequentialization) {
    let mut all = Compared::default();
    for shape in [Shape::Threads, Shape::Spawned] {
        for seed in seeds.clone() {
            for delays in 0..=2 {
                let what = kind(delays);
                let agree = |model: &Model| {
                    let source = model.source();
                    let Ok(program) = compile(&source, &Options::default()) else {
                        return Ok::<fn(&mut Compared), _>(|_| ());
                    };
                    compare(&program, &program_id("p.fab", &source, &[], &[]), what)
                };
                let model = random(seed, shape);
                match agree(&model) {
                    Ok(count) => count(&mut all),
                    Err(_) => {
                        let least = model.shrink(|m| agree(m).is_err());
                        let message = agree(&least).err().unwrap_or_default();
                        panic!("{seed} {shape:?} {what:?}: {message}\n{}", least.source());
                    }
                }
            }
        }
    }
    println!("{all:?}");
    assert!(all.bugs > 0 && all.none > 0, "{all:?}");
}

/// Who waits makes more rounds than there are delays.
fn round_robin(delays: u32) -> Sequentialization {
    Sequentialization::RoundRobin { delays, rounds: 5 }
}

#[test]
fn random_programs_get_the_same_answers_by_delays_of_round_robin() {
    compare_delays(0..15, round_robin);
}

#[test]
fn threads_that_threads_make_come_in_the_order_of_time() {
    for (holds, fails) in [("x == 1", false), ("x != 1", true)] {
        let source = format!(
            "var x: int;\nproc a() {{ spawn c(); }}\nproc b() {{ x = 1; }}\nproc c() {{ assert {holds}; }}\n\
             init {{ spawn a(); spawn b(); }}\n"
        );
        let program = compile(&source, &Options::default()).unwrap();
        let mut all = Compared::default();
        let count = compare(&program, &program_id("p.fab", &source, &[], &[]), round_robin(0));
        count.unwrap_or_else(|e| panic!("{holds}: {e}"))(&mut all);
        assert_eq!((all.bugs, all.none), (usize::from(fails), usize::from(!fails)), "{holds}");
    }
}

#[test]
fn random_programs_get_the_same_answers_by_delays() {
    compare_delays(0..15, Sequentialization::Delays);
}

#[test]
#[ignore = "minutes; for every change of the translations or the solver"]
fn many_random_programs_get_the_same_answers_by_delays() {
    let seeds = testkit::seeds(1000, 500);
    compare_delays(seeds.clone(), round_robin);
    compare_delays(seeds, Sequentialization::Delays);
}

/// Buffers, and what else there is: which starts behind something or nothing, or is made while they run.
fn compare_buffers_with(seeds: std::ops::Range<u64>, others: &[(&str, &str)]) {
    let mut all = Compared::default();
    for seed in seeds {
        for (made, declared) in others {
            let what = Sequentialization::Buffers { zields: 2, yields: 3 };
            let with = |model: &Model| {
                let mut model = model.clone();
                let lines = made.split_inclusive(';').map(|line| Node::Line(line.into()));
                let body = model.bodies.first_mut().into_iter();
                body.for_each(|body| drop(body.splice(body.len() / 2..body.len() / 2, lines.clone())));
                format!("{}{declared}\n", model.source())
            };
            let agree = |model: &Model| {
                let source = with(model);
                let Ok(program) = compile(&source, &Options::default()) else {
                    return Ok::<fn(&mut Compared), _>(|_| ());
                };
                compare(&program, &program_id("p.fab", &source, &[], &[]), what)
            };
            let model = random(seed, Shape::Buffers);
            match agree(&model) {
                Ok(count) => count(&mut all),
                Err(_) => {
                    let least = model.shrink(|m| agree(m).is_err());
                    panic!("{seed}: {}\n{}", agree(&least).err().unwrap_or_default(), with(&least));
                }
            }
        }
    }
    println!("{all:?}");
    assert!(all.bugs > 0 && all.none > 0 && all.unsupported <= all.none, "{all:?}");
}

/// What starts when `init` has finished.
const BEHIND_INIT: [(&str, &str); 4] = [
    ("", "init { } process quiet[1] { }"),
    ("", "init { x = 1; } process quiet[1] { x = 2; }"),
    ("", "init { post follow(2); } process quiet[1] { }"),
    ("", "init { if * { x = 1; } }"),
];

/// Threads that are made while buffers run, or before.
const SPAWNED: [(&str, &str); 4] = [
    ("spawn perhaps(2);", ""),
    ("h = spawn perhaps(t);spawn perhaps(3);", ""),
    ("spawn perhaps(t);", "init { spawn perhaps(3); x = 1; }"),
    ("h = spawn perhaps(2);if h != null { join h; }", "process other[1] { assert x != 2; }"),
];

#[test]
fn the_second_buffer_may_be_the_first_behind_an_init_that_nobody_sees() {
    for (init, fails) in [("init { } process q[1] { }", true), ("init { }", true), ("", false)] {
        let source = format!("var b: bool;\n{init}\nbuffer c {{ b = true; }}\nbuffer d {{ assert b; }}\n");
        let program = compile(&source, &Options::default()).unwrap();
        let what = Sequentialization::Buffers { zields: 2, yields: 2 };
        let mut all = Compared::default();
        let count = compare(&program, &program_id("p.fab", &source, &[], &[]), what);
        count.unwrap_or_else(|e| panic!("{init}: {e}"))(&mut all);
        assert_eq!((all.bugs, all.none), (usize::from(fails), usize::from(!fails)), "{init}");
    }
}

#[test]
fn any_buffer_may_begin_behind_init() {
    compare_buffers_with(0..20, &BEHIND_INIT);
}

#[test]
fn threads_may_be_made_while_buffers_run() {
    compare_buffers_with(0..20, &SPAWNED);
}

#[test]
#[ignore = "minutes; for every change of what starts when"]
fn buffers_and_what_else_there_is_get_the_same_answers_in_many_programs() {
    let seeds = testkit::seeds(100, 900);
    compare_buffers_with(seeds.clone(), &BEHIND_INIT);
    compare_buffers_with(seeds, &SPAWNED);
}

#[test]
fn random_programs_get_the_same_answers() {
    compare_random(0..80);
}

/// With each number of rounds up to some: what is known of their beginnings is most where a failure takes all of them.
fn compare_round_by_round(seeds: std::ops::Range<u64>) {
    let mut all = Compared::default();
    for shape in [Shape::Threads, Shape::Tasks, Shape::Buffers] {
        for seed in seeds.clone() {
            for rounds in 1..=4 {
                let what = match shape {
                    Shape::Threads => Sequentialization::Rounds(rounds),
                    _ => Sequentialization::Buffers { zields: rounds, yields: 2 + rounds % 2 },
                };
                let agree = |model: &Model| {
                    let source = model.source();
                    let Ok(program) = compile(&source, &Options::default()) else {
                        return Ok::<fn(&mut Compared), _>(|_| ());
                    };
                    compare(&program, &program_id("p.fab", &source, &[], &[]), what)
                };
                let model = random(seed, shape);
                match agree(&model) {
                    Ok(count) => count(&mut all),
                    Err(_) => {
                        let least = model.shrink(|m| agree(m).is_err());
                        let message = agree(&least).err().unwrap_or_default();
                        panic!("{seed} {shape:?} {what:?}: {message}\n{}", least.source());
                    }
                }
            }
        }
    }
    println!("{all:?}");
    assert!(all.bugs > 0 && all.none > 0, "{all:?}");
}

#[test]
fn random_programs_get_the_same_answers_round_by_round() {
    compare_round_by_round(80..100);
}

#[test]
#[ignore = "minutes; for every change of a translation or the solver"]
fn many_random_programs_get_the_same_answers_round_by_round() {
    compare_round_by_round(testkit::seeds(0, 1000));
}

#[test]
#[ignore = "minutes; for every change of a translation or the solver"]
fn many_random_programs_get_the_same_answers() {
    compare_random(testkit::seeds(0, 25_000));
}

fn compare_the_corpus(is_asked: impl Fn(&str, Sequentialization) -> bool + Sync) -> Compared {
    let work = Mutex::new(programs(&["corpus", "examples"]));
    let (all, wrong) = (Mutex::new(Compared::default()), Mutex::new(Vec::new()));
    let one = || {
        loop {
            let Some(path) = work.lock().unwrap().pop() else { return };
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let source = std::fs::read_to_string(&path).unwrap();
            // Published models go round for ever over arrays, which takes minutes within any bound.
            if path.iter().any(|part| part == "known") {
                continue;
            }
            // What cannot be explored claims nothing of it; `any_threads.rs` compares programs for any number of threads.
            if !source.contains("// expect:") || source.contains("--threads any") {
                continue;
            }
            let program = compile(&source, &Options::default()).unwrap();
            let open: Vec<(String, u32)> =
                program.processes.iter().filter(|p| p.count.is_none()).map(|p| (p.name.clone(), 2)).collect();
            let program = with_instances(program, &open).unwrap();
            let id = program_id("p.fab", &source, &[], &open);
            for what in bounds_for(&program).into_iter().filter(|what| is_asked(&name, *what)) {
                match compare(&program, &id, what) {
                    Ok(count) => count(&mut all.lock().unwrap()),
                    Err(message) => wrong.lock().unwrap().push(format!("{} {what:?}: {message}", path.display())),
                }
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(one))));
    let (all, wrong) = (all.into_inner().unwrap(), wrong.into_inner().unwrap());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{all:?}");
    all
}

#[test]
fn verification_agrees_with_exploration() {
    let all = compare_the_corpus(|name, what| !SLOW.contains(&(name, what)));
    assert!(all.bugs >= 35 && all.none >= 165 && all.cut <= 5, "{all:?}");
}

#[test]
#[ignore = "takes minutes"]
fn verification_of_what_is_slow_agrees_with_exploration() {
    let all = compare_the_corpus(|name, what| SLOW.contains(&(name, what)));
    assert!(all.none > 5, "{all:?}");
}
