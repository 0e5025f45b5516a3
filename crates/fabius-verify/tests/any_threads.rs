//! The programs of the corpus for any number of threads: the engines for finite data agree, with each other and with explicit
//! threads, and every bug replays.

use fabius_lang::program::Program;
use fabius_lang::{Options, compile};
use fabius_trace::{ProgramId, Verdict};
use fabius_verify::prove::{Engine, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{program_id, replay, with_instances};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::corpus::programs;

/// Seconds each, by summaries and for two rounds.
const SLOW: [&str; 6] =
    ["bug/flags", "bug/tree_walker", "safe/flags", "safe/lock", "safe/ticket_lock", "safe/work_pool"];

/// More than ten minutes by summaries and for two rounds: compared for one.
const TOO_SLOW: &str = "safe/producer_consumer";

fn plan(rounds: u32, engine: Engine) -> ProofPlan {
    ProofPlan {
        sequentialization: Sequentialization::AnyThreads(rounds),
        unwind: Some(3),
        recursion: Some(3),
        tasks: None,
        objects: None,
        incremental: false,
        engine,
        deadlock: false,
        properties: true,
        solver: SolverChoice::Embedded,
        time: Some(Duration::from_secs(600)),
        memory: None,
    }
}

/// Whether there is a bug; its trace is that of a program with so many threads as take part.
fn fails(program: &Program, id: &ProgramId, plan: &ProofPlan) -> Result<bool, String> {
    let stop = Arc::new(AtomicBool::new(false));
    match prove(program, id, plan, &stop, &|_| {}).map_err(|e| format!("{e:?}"))?.report.verdict {
        Verdict::Bug { trace } => {
            let all = with_instances(program.clone(), &trace.program.instances).map_err(|e| e.message)?;
            let again = replay(&all, &trace.program, &trace).map_err(|e| format!("no replay: {e:?}"))?;
            if again == *trace { Ok(true) } else { Err("the trace replays to another one".into()) }
        }
        Verdict::NoBugWithinBounds { .. } => Ok(false),
        other => Err(format!("{other:?}")),
    }
}

/// Does this for every program of finite data, two at a time, and says what went wrong; how many there are.
fn for_each(what: impl Fn(&str, &Program, &ProgramId) -> Result<(), String> + Sync) -> usize {
    let finite = |path: &PathBuf| !read(path).contains("--engine bmc");
    let files: Vec<PathBuf> = programs(&["corpus/parameterized"]).into_iter().filter(finite).collect();
    let (count, work, wrong) = (files.len(), Mutex::new(files), Mutex::new(Vec::new()));
    let one = || {
        loop {
            let Some(path) = work.lock().unwrap().pop() else { return };
            let source = read(&path);
            let program = compile(&source, &Options::default()).unwrap();
            let id = program_id(&path.display().to_string(), &source, &[], &[]);
            if let Err(message) = what(&name_of(&path), &program, &id) {
                wrong.lock().unwrap().push(format!("{}: {message}", path.display()));
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(one))));
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    count
}

/// `bug/lock` of `../bug/lock.fab`.
fn name_of(path: &Path) -> String {
    let folder = path.parent().and_then(Path::file_name).expect("it is in a folder");
    format!("{}/{}", folder.to_string_lossy(), path.file_stem().expect("it has a name").to_string_lossy())
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file can be read")
}

fn engines_agree(program: &Program, id: &ProgramId, rounds: u32) -> Result<(), String> {
    let [one, other] = [Engine::Interfaces, Engine::Summaries].map(|engine| fails(program, id, &plan(rounds, engine)));
    let (one, other) = (one?, other?);
    if one == other { Ok(()) } else { Err(format!("{rounds} rounds: interfaces {one}, summaries {other}")) }
}

#[test]
fn interfaces_and_summaries_agree_and_bugs_replay() {
    let count = for_each(|name, program, id| {
        engines_agree(program, id, 1)?;
        match SLOW.contains(&name) || name == TOO_SLOW {
            true => fails(program, id, &plan(2, Engine::Interfaces)).map(drop),
            false => engines_agree(program, id, 2),
        }
    });
    assert!(count >= 30, "{count} programs");
}

#[test]
#[ignore = "long: procedure summaries of the larger programs"]
fn interfaces_and_summaries_agree_on_the_larger_programs() {
    for_each(|name, program, id| if SLOW.contains(&name) { engines_agree(program, id, 2) } else { Ok(()) });
}

/// A bug of so many rounds is one of the threads that take part, and those have no fewer rounds.
#[test]
fn threads_in_a_fixed_number_have_the_same_bugs() {
    let count = for_each(|_, program, id| {
        let stop = Arc::new(AtomicBool::new(false));
        let found = prove(program, id, &plan(2, Engine::Interfaces), &stop, &|_| {}).map_err(|e| format!("{e:?}"))?;
        let Verdict::Bug { trace } = found.report.verdict else { return Ok(()) };
        let all = with_instances(program.clone(), &trace.program.instances).map_err(|e| e.message)?;
        let explicit = fabius_verify::Plan {
            bound: fabius_trace::Bound::Rounds,
            max: Some(1),
            deadlock: false,
            ..fabius_verify::Plan::default()
        };
        let checked =
            fabius_verify::check(&all, &trace.program, &explicit, &stop, &|_| {}).map_err(|e| format!("{e:?}"))?;
        match checked.verdict {
            Verdict::Bug { trace: explicit } if explicit.cost == trace.cost => Ok(()),
            other => Err(format!("{} rounds; explicit threads: {}", trace.cost + 1, other.exit_code())),
        }
    });
    assert!(count >= 30, "{count} programs");
}

/// What every engine says of a bug: it is shown, by a trace that costs so much.
fn every_engine_shows(source: &str, rounds: u32, cost: u32) {
    let program = compile(source, &Options::default()).unwrap();
    let id = program_id("test.fab", source, &[], &[]);
    let mut engines = vec![Engine::Automatic, Engine::Interfaces, Engine::Summaries, Engine::Bmc];
    engines.extend(fabius_smt::find_solver("z3").map(|_| Engine::Horn));
    for engine in engines {
        assert_eq!(fails(&program, &id, &plan(rounds, engine)), Ok(true), "{engine:?}\n{source}");
        let stop = Arc::new(AtomicBool::new(false));
        match prove(&program, &id, &plan(rounds, engine), &stop, &|_| {}).unwrap().report.verdict {
            Verdict::Bug { trace } => assert_eq!(trace.cost, cost, "{engine:?}\n{source}"),
            other => panic!("{engine:?}: {other:?}\n{source}"),
        }
    }
}

/// The diagrams of these have more nodes than there are.
#[test]
fn a_bug_needs_no_exactness() {
    let turns = "if s == 0 { s = 1; if s == 2 { s = 3; if s == 0 { assert false; } } } \
                 else if s == 1 { s = 2; if s == 3 { s = 0; } }";
    let numbers = format!(
        "var s: 0..3;\nvar a: 0..63;\nvar b: 0..63;\nvar c: 0..63;\nprocess w[*] {{\n\
         var t: 0..63 = a; var u: 0..63 = b; var v: 0..63 = c;\n\
         a = (t * u + v) % 64; b = (u * v + t) % 64; c = (v * t + u) % 64;\n{turns}\n}}\n"
    );
    let heap = "record N { v: 0..3 }\nvar p: ref N;\nprocess w[*] { let q = new N { v: 1 }; if p == null { p = q; } \
                p.v = 2; assert q.v == 1 || p == q; }\n";
    for (source, rounds) in [(numbers.as_str(), 3), (heap, 2)] {
        let program = compile(source, &Options::default()).unwrap();
        let id = program_id("test.fab", source, &[], &[]);
        assert_eq!(fails(&program, &id, &plan(rounds, Engine::Automatic)), Ok(true), "{source}");
    }
}

/// Threads begin in the order of the file, and run in another one.
#[test]
fn what_threads_choose_before_they_do_anything_is_theirs() {
    for source in [
        "var x: bool;\nprocess w[*] { var n: bool = *; assume n; x = true; assert false; }\n\
         process d[1] { var n: bool = *; assume !n; }\n",
        "var x: bool;\nprocess v[*] { var n: bool = *; assume n; assert !x; }\n\
         process w[*] { var n: bool = *; assume !n; x = true; }\n",
        "var x: bool;\ninit { x = false; }\nprocess v[*] { var n: bool = *; assume n; assert !x; }\n\
         process w[*] { var n: bool = *; assume !n; x = true; }\nprocess d[2] { var n: bool = *; assume !n; x = true; }\n",
    ] {
        every_engine_shows(source, 1, 0);
    }
}

/// In the order of the file there would be one more.
#[test]
fn rounds_are_those_in_which_threads_run() {
    every_engine_shows("var x: bool;\nprocess w[*] { assert !x; }\nprocess d[1] { x = true; }\n", 1, 0);
    let many = "if x { if x { if x { if x { assert false; } } } }";
    let source = format!(
        "var x: bool;\nvar y: bool;\nprocess v[*] {{ x = true; assert !y; }}\nprocess w[*] {{ {many} y = true; }}\n"
    );
    every_engine_shows(&source, 1, 0);
    let source =
        "var x: bool;\nvar y: bool;\nprocess w[*] { x = true; assert !y; }\nprocess d[1] { assume x; y = true; }\n";
    every_engine_shows(source, 2, 1);
}

#[test]
fn as_few_threads_are_shown_as_it_takes_in_so_many_rounds() {
    // One thread of any number is enough in three rounds; in two it takes two.
    let source = "var s: 0..2; var t: 0..2;
        process one[1] { var l1: 0..2 = t; s = s; assert !(s == 1 && t == 1); }
        process w[*] { s = (s + 1) % 3; s = (s * 2 + s) % 3; t = (t + 1) % 3; }";
    let program = fabius_lang::compile(source, &Default::default()).expect("it is a program");
    let id = program_id("fewest.fab", source, &[], &[]);
    // Interfaces know the least number of rounds; bounded model checking takes all that it is given.
    for (engine, rounds, threads) in
        [(Engine::Interfaces, 2, 2), (Engine::Interfaces, 3, 2), (Engine::Bmc, 2, 2), (Engine::Bmc, 3, 1)]
    {
        let proof = prove(&program, &id, &plan(rounds, engine), &Arc::new(AtomicBool::new(false)), &|_| {});
        let Verdict::Bug { trace } = proof.expect("it is decided").report.verdict else { panic!("{engine:?}: no bug") };
        assert_eq!(trace.program.instances, [("w".to_string(), threads)], "{engine:?}, {rounds} rounds");
    }
}
