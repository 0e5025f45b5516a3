//! Public figures of CHESS for small programs, rebuilt in C from their descriptions: the same verdict, as many happens-before
//! classes, and no more executions. The headers of the programs have the figures:
//!
//! ```text
//! // verdict: ok | bug KIND COST
//! // executions: 10 20 26      (of CHESS, with at most 1, 2 and 3 preemptions)
//! // classes: 6 6 6            (of CHESS, where they are published)
//! // ours: 8 30 83             (our classes, where they are others; the line below says why)
//! ```

mod common;

use common::{build, plan, run, told};
use fabius_native::Plan;
use std::path::Path;

/// Looks at a program with at most 1, 2 and 3 preemptions.
fn as_published(name: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chess").join(format!("{name}.c"));
    let text = std::fs::read_to_string(&source).unwrap();
    let line = |what: &str| text.lines().find_map(|l| l.strip_prefix("// ")?.strip_prefix(what)?.strip_prefix(": "));
    let numbers = |what| line(what).map(|l| l.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<u64>>());
    let verdict = line("verdict").expect("a verdict");
    let target = build(&source);
    let reports = [1, 2, 3].map(|most| run(&target, &Plan { max: Some(most), ..plan() }));
    let last = reports.each_ref().map(|report| *report.levels.last().expect("something was explored"));
    let (executions, classes) = (last.map(|l| l.executions), last.map(|l| l.states));
    println!("{name}: executions {executions:?}, classes {classes:?}");
    for (most, report) in (1..).zip(&reports) {
        let told = told(report);
        let within = verdict.rsplit(' ').next().and_then(|cost| cost.parse().ok()).is_none_or(|cost: u32| cost <= most);
        match verdict {
            bug if bug.starts_with("bug") && within => assert_eq!(told, bug, "{name} with at most {most}"),
            _ => assert!(told == "verified" || told == "bounded", "{name} with at most {most}: {told}"),
        }
    }
    let published = numbers("executions").expect("executions");
    assert!(executions.iter().zip(&published).all(|(ours, theirs)| ours <= theirs), "{name}: {executions:?}");
    if let Some(expected) = numbers("ours").or_else(|| numbers("classes")) {
        assert_eq!(classes[..], expected, "{name}: classes");
    }
}

macro_rules! programs {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            as_published(stringify!($name));
        }
    )* };
}

programs! {
    ends_at_once two_threads increment_1 increment_2 diamond lazy_init semaphores deadlock philosophers
    work_stealing_queue
}
