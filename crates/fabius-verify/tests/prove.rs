//! Verification and exploration agree on every program of the corpus, at every bound.

use fabius_lang::{Options, compile};
use fabius_trace::{Bound, SchedulerKind, Verdict};
use fabius_verify::prove::{ProofError, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, check, program_id, with_instances};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    let mut folders = vec![root.join("examples"), root.join("corpus")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("reject") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "fab") {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

#[test]
fn bugs_are_found_at_the_same_bounds() {
    let only = std::env::var("ONLY").ok();
    for path in programs() {
        if only.as_ref().is_some_and(|o| !path.to_string_lossy().contains(o.as_str())) {
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let Ok(program) = compile(&source, &Options::default()) else { continue };
        let open: Vec<(String, u32)> =
            program.processes.iter().filter(|p| p.count.is_none()).map(|p| (p.name.clone(), 2)).collect();
        let program = with_instances(program, &open).unwrap();
        let id = program_id("p.fab", &source, &[], &[]);
        let seqs = if program.has_buffers() {
            vec![1, 2, 3, 4].into_iter().map(|z| Sequentialization::Buffers { zields: z, yields: 2 }).collect()
        } else {
            vec![
                Sequentialization::Rounds(1),
                Sequentialization::Rounds(2),
                Sequentialization::Delays(0),
                Sequentialization::Delays(1),
            ]
        };
        for what in seqs {
            let (bound, max, scheduler) = match what {
                Sequentialization::Rounds(k) | Sequentialization::Buffers { zields: k, .. } => {
                    (Bound::Rounds, k - 1, SchedulerKind::Bag)
                }
                Sequentialization::Delays(k) => (Bound::Delays, k, SchedulerKind::DepthFirst),
            };
            let plan = Plan {
                bound,
                max: Some(max),
                scheduler,
                deadlock: false,
                time: Some(Duration::from_secs(20)),
                ..Plan::default()
            };
            let stop = Arc::new(AtomicBool::new(false));
            let explored = check(&program, &id, &plan, &stop, &|_| {}).unwrap();
            let plan = ProofPlan {
                sequentialization: what,
                unwind: 6,
                recursion: 4,
                incremental: false,
                solver: SolverChoice::Embedded,
                time: Some(Duration::from_secs(30)),
            };
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            match prove(&program, &id, &plan, &stop, &|_| {}) {
                Ok(proof) => {
                    let say = |v: &Verdict| match v {
                        Verdict::Bug { trace } => format!("bug {:?} cost {}", trace.kind, trace.cost),
                        Verdict::Unknown { reason, .. } => format!("unknown {reason:?}"),
                        Verdict::NoBugWithinBounds { bounds } => format!("none {:?}", bounds.limits),
                        Verdict::Verified => "verified".into(),
                    };
                    let (a, b) = (say(&explored.verdict), say(&proof.report.verdict));
                    let same = explored.verdict.exit_code() == proof.report.verdict.exit_code();
                    println!(
                        "{} {name} {what:?}: {a} | {b} | {:?} enc {:?} solve {:?} {:?} {:?}",
                        if same { "ok  " } else { "DIFF" },
                        proof.report.elapsed,
                        proof.statistics.encoding,
                        proof.statistics.solving,
                        proof.solver,
                        proof.statistics.queries
                    );
                }
                Err(ProofError::Unsupported(u)) => println!("-    {name} {what:?}: {}", u.what),
                Err(e) => println!("ERR  {name} {what:?}: {e:?}"),
            }
        }
    }
}
