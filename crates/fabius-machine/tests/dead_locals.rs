//! What a dead local holds makes no difference: the reference with dead locals as the rule leaves them, and with anything
//! that their types allow, side by side on random walks.

use fabius_explore::system::{Choose, End, Fault, Snapshot, StepLog, System, TaskId};
use fabius_lang::program::{Program, Type};
use fabius_semantics::Reference;
use fabius_semantics::config::Config;
use fabius_semantics::forget::Alive;
use fabius_semantics::value::Value;
use fabius_trace::Points;
use testkit::corpus::programs;

struct Dice(fastrand::Rng);

impl Choose for Dice {
    fn choose(&mut self, alternatives: u32) -> u32 {
        self.0.u32(..alternatives)
    }
}

/// Any value of the type; references, handles and sets of threads are left alone.
fn scramble(program: &Program, ty: &Type, value: &mut Value, rng: &mut fastrand::Rng, scrambled: &mut usize) {
    match (ty, value) {
        (Type::Array { element, .. }, Value::Tuple(parts)) => {
            parts.iter_mut().for_each(|part| scramble(program, element, part, rng, scrambled));
        }
        (Type::Record(r), Value::Tuple(parts)) => {
            let fields = &program.records[*r].fields;
            fields.iter().zip(parts).for_each(|(f, part)| scramble(program, &f.ty, part, rng, scrambled));
        }
        (_, Value::Number(n)) => {
            *scrambled += 1;
            *n = match ty.finite_range(&program.enums) {
                Some((lo, hi)) => rng.i64(lo..=hi),
                None => rng.i64(-4..=9),
            };
        }
        _ => {}
    }
}

fn bytes(reference: &Reference, config: &Config) -> Vec<u8> {
    let mut out = Vec::new();
    reference.encode(config, &mut out);
    out
}

/// Walks both; returns how many numbers were scrambled.
fn walk(program: &Program, points: Points, seed: u64, steps: usize) -> Result<usize, String> {
    let reference = Reference::new(program, points);
    let alive = Alive::of(program);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut scrambled = 0;
    let log = || StepLog { want_accesses: true, ..StepLog::default() };
    let Ok(mut plain) = reference.initial(&mut Dice(rng.fork()), &mut log()) else { return Ok(0) };
    for step in 0..steps {
        let mut other = plain.clone();
        alive.each_dead(program, &mut other, &mut |ty, v| scramble(program, ty, v, &mut rng, &mut scrambled));
        let tasks: Vec<TaskId> = plain.tasks().map(|(_, t)| t.id).collect();
        if let Some(task) = tasks.iter().find(|t| reference.ready(&plain, **t) != reference.ready(&other, **t)) {
            return Err(format!("step {step}: readiness of task {task}"));
        }
        let ready: Vec<TaskId> = tasks.into_iter().filter(|t| reference.ready(&plain, *t)).collect();
        if ready.is_empty() {
            return Ok(scrambled);
        }
        let task = ready[rng.usize(..ready.len())];
        let dice = rng.u64(..);
        let (mut log_a, mut log_b) = (log(), log());
        let a: Result<End, Fault> =
            reference.step(&mut plain, task, &mut Dice(fastrand::Rng::with_seed(dice)), &mut log_a);
        let b = reference.step(&mut other, task, &mut Dice(fastrand::Rng::with_seed(dice)), &mut log_b);
        if a != b || format!("{log_a:?}") != format!("{log_b:?}") {
            return Err(format!("step {step} of task {task}: {a:?} {b:?}"));
        }
        if matches!(a, Err(_) | Ok(End::Dropped)) {
            return Ok(scrambled);
        }
        if bytes(&reference, &plain) != bytes(&reference, &other) {
            return Err(format!("step {step} of task {task}: the states differ"));
        }
    }
    Ok(scrambled)
}

#[test]
fn dead_locals_of_all_programs_may_hold_anything() {
    let mut all = 0;
    for file in programs(&["corpus", "examples", "bench/models"]) {
        let source = std::fs::read_to_string(&file).expect("the file can be read");
        let options = fabius_lang::Options { choices: fabius_lang::Choices::Unbounded, ..Default::default() };
        let program = fabius_lang::compile(&source, &options).expect("the corpus compiles");
        for seed in 0..4 {
            all += walk(&program, Points::All, seed, 60).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        }
    }
    assert!(all > 1000, "only {all} dead numbers were seen");
}

#[test]
fn dead_locals_of_random_programs_may_hold_anything() {
    use testkit::generate::{Model, Shape, random};
    let differs = |model: &Model| -> Option<String> {
        let program = fabius_lang::compile(&model.source(), &Default::default()).expect("random programs compile");
        (0..4).find_map(|seed| walk(&program, Points::All, seed, 60).err())
    };
    for shape in [Shape::Threads, Shape::Spawned, Shape::Tasks, Shape::Buffers] {
        for seed in 0..250 {
            let model = random(seed, shape);
            if differs(&model).is_some() {
                let small = model.shrink(|m| differs(m).is_some());
                panic!("{:?}\n{}", differs(&small), small.source());
            }
        }
    }
}
