//! Deadlocks of any number of threads: what is said of all of them is what exploring so many says.

use fabius_lang::program::Program;
use fabius_lang::{Choices, Options, compile};
use fabius_sequential::summaries::counting::{Waiting, waiting};
use fabius_sequential::summaries::{NODES, Template};
use fabius_smt::Limits;
use fabius_trace::{Bound, BugKind, Verdict};
use fabius_translate::Caps;
use fabius_translate::explicit::Trace;
use fabius_translate::linear_interface::{Deadlocks, parameterized};
use fabius_verify::prove::{Engine, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, Report, check, program_id, replay, with_instances};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use testkit::parameterized::{Parameterized as Random, random_waiting};

fn program(source: &str) -> Program {
    let options = Options { choices: Choices::Unbounded, ..Options::default() };
    compile(source, &options).unwrap_or_else(|e| panic!("{source}\n{e:?}"))
}

/// The least rounds in which so many threads fail or wait for ever, and which of the two.
fn explicit(program: &Program, threads: u32) -> Option<(u32, BugKind)> {
    let all: Vec<_> =
        program.processes.iter().filter(|p| p.count.is_none()).map(|p| (p.name.clone(), threads)).collect();
    let id = program_id("test.fab", &program.source, &[], &all);
    let program = with_instances(program.clone(), &all).expect("there is such a process");
    let plan = Plan { bound: Bound::Rounds, ..Plan::default() };
    match check(&program, &id, &plan, &AtomicBool::new(false), &|_| {}).expect("it can be checked").verdict {
        Verdict::Bug { trace } => Some((trace.cost + 1, trace.kind)),
        _ => None,
    }
}

fn plan(rounds: u32, engine: Engine) -> ProofPlan {
    ProofPlan {
        sequentialization: Sequentialization::AnyThreads(rounds),
        unwind: Some(4),
        recursion: Some(4),
        tasks: None,
        objects: None,
        incremental: false,
        engine,
        deadlock: true,
        properties: true,
        solver: SolverChoice::Embedded,
        time: Some(Duration::from_secs(600)),
        memory: None,
    }
}

fn report(program: &Program, plan: &ProofPlan) -> Report {
    let id = program_id("test.fab", &program.source, &[], &[]);
    let proof = prove(program, &id, plan, &Arc::new(AtomicBool::new(false)), &|_| {});
    proof.unwrap_or_else(|e| panic!("{}\n{e:?}", program.source)).report
}

/// Rounds and threads of a bug, which replays.
fn bug(program: &Program, plan: &ProofPlan) -> Option<(u32, u32, BugKind)> {
    match report(program, plan).verdict {
        Verdict::Bug { trace } => {
            let all = with_instances(program.clone(), &trace.program.instances).expect("they are its processes");
            assert_eq!(replay(&all, &trace.program, &trace).as_ref(), Ok(&*trace), "{}", program.source);
            Some((trace.cost + 1, trace.program.instances.iter().map(|(_, n)| n).sum(), trace.kind))
        }
        Verdict::NoBugWithinBounds { .. } => None,
        // Where no execution completes nothing is asked of deadlocks, and nothing fails.
        vacuous if vacuous.is_vacuous() => None,
        other => panic!("{other:?}\n{}", program.source),
    }
}

fn never_waits(program: &Program) -> bool {
    let source = parameterized(program, Trace::Off, Caps::default(), Deadlocks::AreBugs).expect("it can be translated");
    let (whole, declared, any) = source.template();
    let template = Template { program: &whole, declared: &declared, any: &any };
    let answer = waiting(&template, NODES, &Limits { deadline: None, stop: &Arc::default() }, &mut |_| {});
    match answer.expect("it can be taken apart").0.expect("nothing is too large") {
        Waiting::Never => true,
        Waiting::Open => false,
        other => panic!("{other:?}\n{}", program.source),
    }
}

/// So many threads are explored.
const EXPLORED: u32 = 3;

/// What two ways to decide a random program disagree about.
fn disagreement(of: &Random) -> Option<String> {
    let (compiled, in_order) = (program(&of.source()), program(&of.in_order_of_rounds().source()));
    let found: Vec<Option<(u32, BugKind)>> = (0..=EXPLORED).map(|n| explicit(&in_order, n)).collect();
    let is_deadlock = |bug: &Option<(u32, BugKind)>| matches!(bug, Some((_, BugKind::Deadlock)));
    if found.iter().any(is_deadlock) && never_waits(&compiled) {
        return Some(format!("{found:?}, and yet counting says that nobody waits for ever"));
    }
    let least: Vec<Option<u32>> = found.iter().map(|bug| bug.map(|(rounds, _)| rounds)).collect();
    for rounds in 1..=2 {
        let (one, other) =
            (bug(&compiled, &plan(rounds, Engine::Interfaces)), bug(&compiled, &plan(rounds, Engine::Bmc)));
        let within = |n: u32| least[n as usize].is_some_and(|least| least <= rounds);
        let expected = (0..=EXPLORED).find(|n| within(*n));
        let fewest =
            |found: Option<(u32, u32, BugKind)>| found.map(|(_, threads, _)| threads).filter(|n| *n <= EXPLORED);
        // Interfaces show the least rounds first.
        let in_fewest_rounds = (1..=rounds)
            .find_map(|r| (0..=EXPLORED).find(|n| least[*n as usize].is_some_and(|least| least <= r)).map(|n| (r, n)));
        if fewest(other) != expected || one.map(|(r, n, _)| (r, n)).filter(|(_, n)| *n <= EXPLORED) != in_fewest_rounds
        {
            return Some(format!("{rounds} rounds: {least:?}, interfaces {one:?}, bmc {other:?}"));
        }
    }
    None
}

fn compare_random(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if disagreement(&random_waiting(seed)).is_some() {
            let least = random_waiting(seed).shrink(|p| disagreement(p).is_some());
            panic!("seed {seed}: {}\n{}", disagreement(&least).expect("it still does"), least.source());
        }
    }
}

#[test]
fn random_programs_wait_for_ever_as_explored_threads_do() {
    compare_random(0..30);
}

#[test]
#[ignore = "takes minutes"]
fn many_random_programs_wait_for_ever_as_explored_threads_do() {
    compare_random(30..1500);
}

#[test]
fn some_random_programs_never_wait_for_ever() {
    let all: Vec<Program> = (0..60).map(|seed| program(&random_waiting(seed).source())).collect();
    let never = all.iter().filter(|p| never_waits(p)).count();
    assert!((8..52).contains(&never), "{never} of {}", all.len());
}

/// Two locks in one order and in both, and a semaphore that is taken twice.
#[test]
fn locks_in_one_order_are_verified_and_others_are_not() {
    let locks = |order: &str| {
        format!(
            "var m: lock;\nvar n: lock;\nprocess p[*] {{ m.acquire(); n.acquire(); n.release(); m.release(); }}\n\
             process q[*] {{ {order} n.release(); m.release(); }}\n"
        )
    };
    let always = ProofPlan { incremental: true, ..plan(8, Engine::Automatic) };
    let ordered = report(&program(&locks("m.acquire(); n.acquire();")), &always);
    assert_eq!((ordered.verdict, ordered.limits), (Verdict::Verified, Vec::new()));
    let crossed = locks("n.acquire(); m.acquire();");
    let twice = "var s: semaphore = semaphore { count: 2 };\nprocess p[*] { s.acquire(); s.acquire(); s.release(); s.release(); }\n";
    for source in [crossed.as_str(), twice] {
        for plan in [always.clone(), plan(2, Engine::Automatic), plan(2, Engine::Bmc)] {
            let found = bug(&program(source), &plan);
            assert_eq!(found, Some((1, 2, BugKind::Deadlock)), "{source}");
        }
        let without = ProofPlan { deadlock: false, ..always.clone() };
        assert_eq!(report(&program(source), &without).verdict, Verdict::Verified, "{source}");
    }
}
