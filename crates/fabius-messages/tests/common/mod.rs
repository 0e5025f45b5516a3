//! What the tests of traces share.

// Each test uses a part of it.
#![allow(dead_code)]

use fabius_messages::ctp::Ctp;
use fabius_messages::encode::Encoding;
use fabius_messages::{Enumerated, Plan, Report, decide};
use fabius_trace::{ProgramId, Verdict};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const ENCODINGS: [Encoding; 3] = [Encoding::Sparse, Encoding::MatchPair, Encoding::Order];

/// The project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A trace that is right.
#[track_caller]
pub fn parse(source: &str) -> Ctp {
    fabius_messages::parse(source).unwrap_or_else(|wrong| panic!("{wrong:?}\n{source}"))
}

/// Decides a trace.
#[track_caller]
pub fn report(ctp: &Ctp, plan: &Plan) -> Report {
    let id = ProgramId { file: String::new(), hash: String::new(), consts: Vec::new(), instances: Vec::new() };
    decide(ctp, &id, plan, &Arc::default()).unwrap_or_else(|e| panic!("{e:?}\n{}", ctp.source))
}

/// Whether there is a bug; nothing was left open.
#[track_caller]
pub fn has_bug(ctp: &Ctp, plan: &Plan) -> bool {
    match report(ctp, plan).verdict {
        Verdict::Bug { .. } => true,
        Verdict::Verified => false,
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
