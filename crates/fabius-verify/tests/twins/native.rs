//! The twin in C: built by `fabius cc`, explored by `fabius run`.

use fabius_native::{Language, Plan, SHRINKING, Target, Walk, compile, explore, install};
use fabius_trace::{Bound, Points, SchedulerKind, Verdict};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Builds a program; `None`, and a message, where that cannot be.
pub fn build(name: &str, source: &str, bug: &str) -> Option<Target> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) || Command::new("gcc").arg("--version").output().is_err()
    {
        eprintln!("NOT TESTED: the C program of {name}; that takes Linux on x86-64, and gcc");
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("twins");
    let library = install(&folder).expect("the folder for tests can be written");
    let program = folder.join(name);
    let text = program.with_extension("c");
    std::fs::write(&text, source).expect("the folder for tests can be written");
    let bug = format!("-DBUG={bug}");
    let args = [bug.as_ref(), "-o".as_ref(), program.as_os_str(), text.as_os_str()].map(Into::into);
    let built = compile(Language::C, None, &library, &args).expect("it can be linked").status();
    assert!(built.is_ok_and(|status| status.success()), "{name}.c does not compile");
    Some(Target { program, args: Vec::new(), library })
}

/// The program with a number as its argument.
pub fn with(target: &Target, number: usize) -> Target {
    Target { args: vec![number.to_string().into()], ..target.clone() }
}

/// The least costs of a program, as far as they are at most this much: preemptions, delays of the round-robin and of the
/// depth-first scheduler.
pub fn costs(target: &Target, most: u32) -> [Option<u32>; 3] {
    let least = |bound, scheduler| {
        let plan = Plan {
            bound,
            max: Some(most),
            scheduler,
            walk: Walk::Iterative,
            points: Points::Sync,
            first_race: false,
            leaks: false,
            reduction: true,
            executions: None,
            time: None,
            memory: None,
            max_steps: 10_000,
            shrinking: SHRINKING,
            seed: 0,
            isolation: None,
            jobs: 1,
        };
        let report = explore(target, &plan, &AtomicBool::new(false), &|_| {}).expect("it can be run");
        match report.verdict {
            Verdict::Bug { trace } => Some(trace.cost),
            Verdict::Verified | Verdict::NoBugWithinBounds { .. } => None,
            unknown => panic!("{unknown:?}"),
        }
    };
    [
        least(Bound::Preemptions, SchedulerKind::Bag),
        least(Bound::Delays, SchedulerKind::RoundRobin),
        least(Bound::Delays, SchedulerKind::DepthFirst),
    ]
}
