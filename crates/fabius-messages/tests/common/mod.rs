//! What the tests of traces share.

// Each test uses a part of it.
#![allow(dead_code)]

use fabius::mcapi;
use fabius_explore::search::{Monitor, Options};
use fabius_messages::ctp::Ctp;
use fabius_messages::encode::Encoding;
use fabius_messages::encode::match_pair::Reading;
use fabius_messages::paths::Guide;
use fabius_messages::semantics::Buffering;
use fabius_messages::system::{Goal, Runs, explore};
use fabius_messages::{Enumerated, Plan, Property, Report, SolverChoice, decide};
use fabius_trace::{Bound, ProgramId, Verdict};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The encodings that are right.
pub fn encodings() -> [Encoding; 3] {
    [Encoding::Sparse, Encoding::MatchPair(Reading::default()), Encoding::Order]
}

/// The project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A trace that is right.
#[track_caller]
pub fn parse(source: &str) -> Ctp {
    fabius_messages::parse(source).unwrap_or_else(|wrong| panic!("{wrong:?}\n{source}"))
}

/// Decides a trace; with CaDiCaL alone if it is there, since small questions would not get to it.
#[track_caller]
pub fn report(ctp: &Ctp, plan: &Plan) -> Report {
    let mut plan = plan.clone();
    if cfg!(feature = "cadical") && plan.solver == SolverChoice::Embedded {
        plan.solver = SolverChoice::Named("cadical".into());
    }
    let id = ProgramId {
        file: String::new(),
        hash: String::new(),
        consts: Vec::new(),
        instances: Vec::new(),
        args: Vec::new(),
    };
    decide(ctp, &id, &plan, &Arc::default()).unwrap_or_else(|e| panic!("{e:?}\n{}", ctp.source))
}

/// Whether there is a bug; nothing was left open.
#[track_caller]
pub fn has_bug(ctp: &Ctp, plan: &Plan) -> bool {
    match report(ctp, plan).verdict {
        Verdict::Bug { .. } => true,
        Verdict::Verified => false,
        // Of what does not happen.
        verdict if verdict.is_vacuous() => false,
        other => panic!("{other:?}\n{}", ctp.source),
    }
}

/// Whether there is a bug, and the matchings of the complete runs.
#[track_caller]
pub fn feasible(ctp: &Ctp, plan: &Plan) -> (bool, Enumerated) {
    let report = report(ctp, plan);
    // The encodings are exact.
    assert!(report.refinements.is_empty(), "{:?}\n{:?}\n{}", plan.encoding, report.refinements, ctp.source);
    (matches!(report.verdict, Verdict::Bug { .. }), report.enumerated.expect("it was asked for"))
}

/// Whether exploration finds the bug.
pub fn explored(ctp: &Ctp, buffering: Buffering, property: Property) -> bool {
    let runs = Runs { ctp, buffering, goal: Goal::Bug(property) };
    let options = Options { bound: Bound::None, ..Options::default() };
    let outcome = explore(&runs, &options, &Monitor { stop: &AtomicBool::new(false), progress: &|_| {} }, &|_| {});
    assert!(outcome.bug.is_some() || outcome.exhausted, "{}", ctp.source);
    outcome.bug.is_some()
}

/// The guide that the solver gives, for the program.
pub fn guide_of(guide: &Guide) -> mcapi::Guide {
    let port = |name: &String| name.parse().expect("endpoints of programs are numbers");
    let arrivals = guide.arrivals.iter().map(|(to, from)| (port(to), from.iter().map(port).collect())).collect();
    mcapi::Guide { arrivals, outcomes: guide.outcomes.iter().cloned().collect() }
}
