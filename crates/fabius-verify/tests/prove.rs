//! Verification and exploration agree on every program of the corpus and on every example, bound by bound.

use fabius_lang::program::Program;
use fabius_lang::{Options, compile};
use fabius_trace::{ProgramId, Reason, Verdict};
use fabius_verify::prove::{Engine, ProofError, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, check, program_id, with_instances};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::corpus::programs;
use testkit::generate::{Model, Shape, random};

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

/// The bounds at which a program is compared.
fn bounds_for(program: &Program, name: &str) -> Vec<Sequentialization> {
    if program.has_buffers() {
        let lanes = if program.has_single_buffer() { 1 } else { 3 };
        return (1..=lanes).map(|zields| Sequentialization::Buffers { zields, yields: 2 }).collect();
    }
    // What is left out takes from half a minute to minutes.
    let mut all = vec![Sequentialization::Rounds(1), Sequentialization::Delays(0)];
    if name != "peterson" {
        all.push(Sequentialization::Rounds(2));
    }
    if name != "work_stealing_queue" && name != "peterson" {
        all.push(Sequentialization::Delays(1));
    }
    all
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
    // Only the translation by rounds of threads looks for deadlocks.
    let deadlock = matches!(what, Sequentialization::Rounds(_));
    let explore = Plan { bound, max: Some(what.most()), scheduler, deadlock, ..Plan::default() };
    let stop = Arc::new(AtomicBool::new(false));
    let explored = check(program, id, &explore, &stop, &|_| {}).map_err(|e| format!("{e:?}"))?.verdict;
    let proved = match prove(program, id, &proof_plan(what), &stop, &|_| {}) {
        Ok(proof) => proof.report.verdict,
        Err(ProofError::Unsupported(_)) => return Ok(|c| c.unsupported += 1),
        Err(error) => return Err(format!("{error:?}")),
    };
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

#[test]
fn random_programs_get_the_same_answers() {
    compare_random(0..150);
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
    compare_round_by_round(60..100);
}

#[test]
#[ignore = "minutes; for every change of a translation or the solver"]
fn many_random_programs_get_the_same_answers_round_by_round() {
    compare_round_by_round(0..1000);
}

#[test]
#[ignore = "minutes; for every change of a translation or the solver"]
fn many_random_programs_get_the_same_answers() {
    compare_random(0..3000);
}

#[test]
fn verification_agrees_with_exploration() {
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
            for what in bounds_for(&program, &name) {
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
    assert!(all.bugs >= 35 && all.none >= 170 && all.cut <= 5, "{all:?}");
}
