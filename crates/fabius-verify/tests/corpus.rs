//! Every claim of every program of the corpus and the examples, checked.

use fabius_trace::{Bound, LaneKind, Mark, SchedulerKind, Verdict};
use fabius_verify::{Plan, Report, Strategy, Symmetry, check, program_id, replay, with_instances};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use testkit::corpus::{Claim, Entry, Expected, Options, StrategyName, VerdictName, parse, programs};

fn plan(options: &Options) -> Plan {
    let deterministic = matches!(options.scheduler, Some(SchedulerKind::RoundRobin | SchedulerKind::DepthFirst));
    let bound = match options.bound {
        Some(bound) => bound,
        None if deterministic => Bound::Delays,
        None if options.scheduler.is_some_and(|s| s != SchedulerKind::Bag) => Bound::None,
        None => Bound::Preemptions,
    };
    Plan {
        bound,
        max: options.max,
        scheduler: options.scheduler.unwrap_or(match bound {
            Bound::Delays => SchedulerKind::RoundRobin,
            _ => SchedulerKind::Bag,
        }),
        strategy: match options.strategy {
            None | Some(StrategyName::Iterative) => Strategy::Iterative,
            Some(StrategyName::DepthFirst) => Strategy::DepthFirst,
            Some(StrategyName::Random) => Strategy::Random,
            Some(StrategyName::Pct(d)) => Strategy::Pct(d),
        },
        points: options.points,
        stateless: options.stateless,
        races: options.races,
        deadlock: options.deadlock,
        livelock: options.livelock,
        seed: options.seed.unwrap_or(0),
        executions: options.executions,
        // Counts are those of all states.
        symmetry: Symmetry::OFF,
        reduction: false,
        ..Plan::default()
    }
}

fn run(entry: &Entry, claim: &Claim, jobs: usize) -> Result<Report, String> {
    let options = &claim.options;
    let compiled = fabius_lang::compile(
        &entry.source,
        &fabius_lang::Options { consts: options.consts.clone(), ..Default::default() },
    );
    let program = compiled.map_err(|d| format!("does not compile: {d:?}"))?;
    let program = with_instances(program, &options.instances).map_err(|e| e.message)?;
    let id = program_id(&entry.path.display().to_string(), &entry.source, &options.consts, &options.instances);
    let plan = Plan { jobs, ..plan(options) };
    let report = check(&program, &id, &plan, &AtomicBool::new(false), &|_| {}).map_err(|e| format!("{e:?}"))?;
    if let Verdict::Bug { trace } = &report.verdict {
        let again = replay(&program, &id, trace).map_err(|e| format!("the trace does not replay: {e:?}"))?;
        if again != **trace {
            return Err("the trace replays to another one".into());
        }
        let marked = trace.steps.iter().filter(|s| s.mark == Some(Mark::Preemption)).count();
        let of_threads = trace.lanes.iter().all(|l| l.kind == LaneKind::Thread);
        if of_threads && trace.bound == Bound::Preemptions && marked != trace.cost as usize {
            return Err(format!("{marked} preemptions are marked, and the cost is {}", trace.cost));
        }
    }
    Ok(report)
}

fn holds(claim: &Claim, report: &Report) -> Result<(), String> {
    match &claim.expected {
        Expected::Answer { verdict, kind, cost } => {
            let (name, found_kind, found_cost) = match &report.verdict {
                Verdict::Bug { trace } => (VerdictName::Bug, Some(trace.kind), Some(trace.cost)),
                Verdict::NoBugWithinBounds { .. } => (VerdictName::NoBugWithinBounds, None, None),
                Verdict::Verified => (VerdictName::Verified, None, None),
                Verdict::Unknown { .. } => (VerdictName::Unknown, None, None),
            };
            let fine = name == *verdict && *kind == found_kind && (cost.is_none() || *cost == found_cost);
            if fine { Ok(()) } else { Err(format!("found {name:?} {found_kind:?} cost {found_cost:?}")) }
        }
        Expected::States { counts, open } => {
            let found: Vec<u64> = report.levels.iter().map(|l| l.states).collect();
            let last = *counts.last().ok_or("no counts")?;
            let expected = |i: usize| counts.get(i).copied().or((!open).then_some(last));
            let same = found.iter().enumerate().all(|(i, n)| expected(i).is_none_or(|e| e == *n));
            if same && found.len() >= counts.len() { Ok(()) } else { Err(format!("found {found:?}")) }
        }
    }
}

/// What is wrong with a claim, if anything.
fn problem(entry: &Entry, claim: &Claim) -> Option<String> {
    match (run(entry, claim, 1), run(entry, claim, 2)) {
        (Ok(one), Ok(two)) => match holds(claim, &one) {
            Err(difference) => Some(difference),
            Ok(()) if one.levels != two.levels => {
                Some(format!("two jobs explore {:?} instead of {:?}", two.levels, one.levels))
            }
            Ok(()) => holds(claim, &two).err().map(|d| format!("with two jobs: {d}")),
        },
        (Err(e), _) | (_, Err(e)) => Some(e),
    }
}

#[test]
fn every_claim_holds_with_one_job_and_with_two() {
    let mut entries = Vec::new();
    for path in programs(&["corpus", "examples"]) {
        let source = std::fs::read_to_string(&path).expect("the file can be read");
        entries.push(parse(&path, &source).unwrap_or_else(|e| panic!("{e}")));
    }
    let claims: Vec<(&Entry, &Claim)> = entries.iter().flat_map(|e| e.claims.iter().map(move |c| (e, c))).collect();
    assert!(claims.len() > 100, "the claims are found");
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    let work = || {
        while let Some((entry, claim)) = claims.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Some(problem) = problem(entry, claim) {
                let place = format!("{}:{}: {problem}", entry.path.display(), claim.line);
                wrong.lock().expect("no other thread has panicked").push(place);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let mut wrong = wrong.into_inner().expect("no thread has panicked");
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {} claims fail:\n{}", wrong.len(), claims.len(), wrong.join("\n"));
}
