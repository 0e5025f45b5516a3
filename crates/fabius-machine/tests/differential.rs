//! The machine and the reference semantics, side by side on random walks through every program that comes with the
//! project: the same tasks are ready, steps end alike, and states are told apart alike.

use fabius_explore::dispatcher::{Dispatcher, Seen};
use fabius_explore::system::{Choose, End, Fault, Snapshot, StepLog, System, TaskId};
use fabius_lang::program::Program;
use fabius_machine::Machine;
use fabius_semantics::Reference;
use fabius_trace::{Points, SchedulerKind};
use std::collections::HashMap;
use testkit::corpus::programs;

struct Dice(fastrand::Rng);

impl Choose for Dice {
    fn choose(&mut self, alternatives: u32) -> u32 {
        self.0.u32(..alternatives)
    }
}

fn log() -> StepLog {
    StepLog { want_accesses: true, ..StepLog::default() }
}

/// What a step reports, without the order of reads inside one statement.
fn reported(log: &StepLog) -> String {
    let mut accesses: Vec<_> = log.accesses.iter().map(|a| (a.variable, a.write, a.sync)).collect();
    accesses.sort_unstable();
    accesses.dedup();
    format!("born {:?} accesses {accesses:?} fresh {:?} progress {}", log.born, log.fresh, log.progress)
}

/// Which encodings of one go with which of the other.
#[derive(Default)]
struct Twins {
    one: HashMap<Vec<u8>, Vec<u8>>,
    other: HashMap<Vec<u8>, Vec<u8>>,
}

impl Twins {
    fn meet(&mut self, a: &[u8], b: &[u8]) -> bool {
        let one = self.one.entry(a.to_vec()).or_insert_with(|| b.to_vec());
        let other = self.other.entry(b.to_vec()).or_insert_with(|| a.to_vec());
        one == b && other == a
    }
}

fn walk(program: &Program, points: Points, seed: u64, steps: usize, twins: &mut Twins) -> Result<(), String> {
    let reference = Reference::new(program, points);
    let machine = Machine::new(program, points);
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut log_r, mut log_m) = (log(), log());
    let dice = rng.u64(..);
    let initial_r = reference.initial(&mut Dice(fastrand::Rng::with_seed(dice)), &mut log_r);
    let initial_m = machine.initial(&mut Dice(fastrand::Rng::with_seed(dice)), &mut log_m);
    let (mut r, mut m) = match (initial_r, initial_m) {
        (Ok(r), Ok(m)) => (r, m),
        (Err(a), Err(b)) if a == b => return Ok(()),
        (a, b) => return Err(format!("initial: {:?} {:?}", a.err(), b.err())),
    };
    if reported(&log_r) != reported(&log_m) {
        return Err(format!("initial: {} {}", reported(&log_r), reported(&log_m)));
    }
    let mut dispatcher = Dispatcher::new(SchedulerKind::Bag, reference.has_buffers());
    dispatcher.born(&log_r.born, None, &Seen { system: &reference, state: &r, compare: None });
    for step in 0..steps {
        let (mut bytes_r, mut bytes_m) = (Vec::new(), Vec::new());
        reference.encode(&r, &mut bytes_r);
        machine.encode(&m, &mut bytes_m);
        if !twins.meet(&bytes_r, &bytes_m) {
            return Err(format!("step {step}: states are told apart by one and not by the other"));
        }
        reference.decode(&bytes_r, &mut r);
        machine.decode(&bytes_m, &mut m);
        let (mut again_r, mut again_m) = (Vec::new(), Vec::new());
        reference.encode(&r, &mut again_r);
        machine.encode(&m, &mut again_m);
        if (again_r, again_m) != (bytes_r, bytes_m) {
            return Err(format!("step {step}: a state does not come back from its encoding"));
        }
        let mut tasks: Vec<TaskId> = Vec::new();
        dispatcher.tasks(&mut tasks);
        for t in &tasks {
            if reference.ready(&r, *t) != machine.ready(&m, *t) {
                return Err(format!("step {step}: readiness of task {t}: {}", reference.ready(&r, *t)));
            }
        }
        let mut picks = Vec::new();
        dispatcher.runs(&Seen { system: &reference, state: &r, compare: None }, &mut picks);
        if picks.is_empty() {
            return Ok(());
        }
        let pick = picks[rng.usize(..picks.len())];
        let level = dispatcher.take(pick, &Seen { system: &reference, state: &r, compare: None });
        log_r.clear();
        log_m.clear();
        let dice = rng.u64(..);
        let end_r = reference.step(&mut r, pick.task, &mut Dice(fastrand::Rng::with_seed(dice)), &mut log_r);
        let end_m = machine.step(&mut m, pick.task, &mut Dice(fastrand::Rng::with_seed(dice)), &mut log_m);
        let same = match (&end_r, &end_m) {
            (Err(Fault::Limit(a, _)), Err(Fault::Limit(b, _))) => a == b,
            (a, b) => a == b,
        };
        if !same {
            return Err(format!("step {step}: {end_r:?} {end_m:?}"));
        }
        let end = match end_r {
            Err(_) | Ok(End::Dropped) => return Ok(()),
            Ok(end) => end,
        };
        if reported(&log_r) != reported(&log_m) {
            return Err(format!("step {step}: {} | {}", reported(&log_r), reported(&log_m)));
        }
        let view = Seen { system: &reference, state: &r, compare: None };
        dispatcher.born(&log_r.born, Some(pick.buffer), &view);
        dispatcher.give_back(pick, level, end, &view);
    }
    Ok(())
}

#[test]
fn machine_and_reference_agree_on_random_walks_through_all_programs() {
    let files = programs(&["corpus", "examples", "bench/models"]);
    let mut wrong = Vec::new();
    for file in files {
        let source = std::fs::read_to_string(&file).expect("the file can be read");
        // A choice that is too wide to try is the same limit in both.
        let options = fabius_lang::Options { choices: fabius_lang::Choices::Unbounded, ..Default::default() };
        let program = fabius_lang::compile(&source, &options).expect("the corpus compiles");
        for points in [Points::All, Points::Sync] {
            let mut twins = Twins::default();
            for seed in 0..6 {
                if let Err(difference) = walk(&program, points, seed, 60, &mut twins) {
                    wrong.push(format!("{} {points:?} seed {seed}: {difference}", file.display()));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn machine_and_reference_agree_on_random_walks_through_random_programs() {
    use testkit::generate::{random, random_with_waits_midway};
    agree_on(random, 100);
    agree_on(random_with_waits_midway, 200);
}

fn agree_on(random: fn(u64, testkit::generate::Shape) -> testkit::generate::Model, programs: u64) {
    use testkit::generate::{Model, Shape};
    let differ = |model: &Model| -> Option<String> {
        let program = fabius_lang::compile(&model.source(), &Default::default()).expect("random programs compile");
        [Points::All, Points::Sync].into_iter().find_map(|points| {
            let mut twins = Twins::default();
            (0..8).find_map(|seed| walk(&program, points, seed, 60, &mut twins).err())
        })
    };
    for shape in [Shape::Threads, Shape::Spawned, Shape::Tasks, Shape::Buffers, Shape::Queues] {
        for seed in 0..programs {
            let model = random(seed, shape);
            if differ(&model).is_some() {
                let small = model.shrink(|m| differ(m).is_some());
                panic!("{shape:?} {seed}: {:?}\n{}", differ(&small), small.source());
            }
        }
    }
}

#[test]
fn machine_and_reference_agree_on_guards_in_which_constants_decide() {
    let parts = ["x == 0", "x == 1", "flag", "true", "false", "BUG", "!BUG", "x != y"];
    let mut guards: Vec<String> = Vec::new();
    for a in parts {
        for b in parts {
            guards.extend([
                format!("{a} || {b}"),
                format!("{a} && {b}"),
                format!("!({a} || {b})"),
                format!("!({a} && {b})"),
            ]);
        }
    }
    for guard in guards {
        let source = format!(
            "const BUG = false; var x: 0..2; var y: 0..2; var flag: bool;
             process p[1] {{ await {guard}; y = 1; atomic {{ await {guard}; x = 1; }} flag = true; }}
             process q[1] {{ x = 1; flag = true; x = 0; }}"
        );
        let program = fabius_lang::compile(&source, &Default::default()).expect("the program compiles");
        for seed in 0..4 {
            walk(&program, Points::All, seed, 20, &mut Twins::default()).unwrap_or_else(|e| panic!("{guard}: {e}"));
        }
    }
}
