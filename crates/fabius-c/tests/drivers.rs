//! Programs of tasks, levels and buffers in C: five drivers with a race each, which at most two delays show (the claim of STORM
//! and AsyncChecker about drivers), and the figures of AsyncChecker's paper at the costs of the same programs as models.

mod common;

use common::read;
use fabius_trace::{Bound, SchedulerKind, Verdict};
use fabius_verify::Plan;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What is said of a program of `corpus/c` with these macros.
fn said(file: &Path, macros: &[String], plan: &Plan) -> Verdict {
    let loaded = read(&[file], macros).unwrap_or_else(|message| panic!("{message}"));
    let id = fabius_verify::program_id("x.c", &loaded.source, &[], &[]);
    let stop = AtomicBool::new(false);
    let report = fabius_verify::check(&loaded.program, &id, plan, &stop, &|_| {});
    report.unwrap_or_else(|error| panic!("{error:?}")).verdict
}

fn corpus(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/c").join(path)
}

#[test]
fn at_most_two_delays_show_the_race_of_each_driver_and_none_of_the_repaired() {
    let with = |scheduler| {
        let plan = Plan { bound: Bound::Delays, max: Some(2), scheduler, ..Plan::default() };
        for name in ["disk", "keyboard", "network", "power", "serial"] {
            let file = corpus(&format!("drivers/{name}.c"));
            match said(&file, &[], &plan) {
                Verdict::Bug { trace } => {
                    assert!(trace.message.contains("assertion failed"), "{name}: {}", trace.message)
                }
                other => panic!("{name}, {scheduler:?}: {other:?}"),
            }
            let repaired = said(&file, &["-DFIXED=1".into()], &plan);
            assert!(matches!(repaired, Verdict::NoBugWithinBounds { .. }), "{name}, {scheduler:?}: {repaired:?}");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| with(SchedulerKind::DepthFirst));
        scope.spawn(|| with(SchedulerKind::RoundRobin));
    });
}

#[test]
fn figures_in_c_cost_what_they_cost_as_models() {
    let cost = |verdict: Verdict| match verdict {
        Verdict::Bug { trace } => trace.cost,
        other => panic!("{other:?}"),
    };
    for n in [1, 2, 3, 4] {
        let rounds = Plan { bound: Bound::Rounds, ..Plan::default() };
        assert_eq!(cost(said(&corpus("figure10.c"), &[format!("-DN={n}")], &rounds)), n - 1, "N is {n}");
        let delays = Plan { bound: Bound::Delays, scheduler: SchedulerKind::DepthFirst, ..Plan::default() };
        assert_eq!(cost(said(&corpus("figure9.c"), &[format!("-DN={n}")], &delays)), 0, "N is {n}");
    }
}

/// What the headers of the drivers claim is what is tested here.
#[test]
fn drivers_claim_what_is_tested() {
    for entry in std::fs::read_dir(corpus("drivers")).expect("the drivers") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("it can be read");
        if path.extension().is_some_and(|e| e == "c") {
            assert!(text.contains("// expect: bug assertion within 2 delays\n"), "{}", path.display());
            assert!(text.contains("// expect FIXED=1: no bug within 2 delays\n"), "{}", path.display());
        }
    }
}
