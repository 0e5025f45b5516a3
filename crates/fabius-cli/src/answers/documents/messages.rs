//! The document of `fabius trace --json`.

use super::{FORMAT, Name, bug_or_reason, solver};
use fabius_messages::ctp::Ctp;
use fabius_messages::paths::{Side, Taken};
use fabius_messages::semantics::{Buffering, Matching, Status};
use fabius_messages::{Plan, Property, Report};
use fabius_trace::{BugKind, ErrorTrace, ProgramId, Reason};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The answer of `fabius trace`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MessagesAnswer<'a> {
    /// Version of this format.
    #[schemars(extend("const" = FORMAT))]
    format: u32,
    /// The answer, never `no_bug_within_bounds`: it holds for the recorded path.
    verdict: Name,
    /// What was looked for.
    property: PropertyName,
    /// How much the network holds.
    buffering: BufferingName,
    /// Of a bug: what kind.
    kind: Option<BugKind>,
    /// Of a bug: what broke.
    message: Option<&'a str>,
    /// Of `unknown`: what cut the search short.
    reason: Option<&'a Reason>,
    /// Whether no run completes the recorded path, so that the answer is about nothing; it is then `unknown`.
    vacuous: bool,
    /// Of a bug: which message each receive gets.
    matching: Option<Vec<Pair<'a>>>,
    /// With `--enumerate`: how many matchings the complete runs have.
    matchings: Option<u64>,
    /// With `--enumerate`: whether those are all.
    all_matchings: Option<bool>,
    /// With `--enumerate`: the matchings.
    outcomes: Option<Vec<Outcome<'a>>>,
    /// With `--paths all`: the other sides of the branches.
    other_paths: Option<Vec<OtherPath<'a>>>,
    /// What was found and is no run.
    refinements: Vec<RefinementOf<'a>>,
    /// What the answer took.
    stats: Statistics,
    /// Of a bug: the trace.
    trace: Option<&'a ErrorTrace>,
    /// The recorded run.
    program: &'a ProgramId,
    /// Time for the answer.
    elapsed_seconds: f64,
    /// Version of Fabius.
    version: &'static str,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PropertyName {
    /// An assertion that fails.
    Assert,
    /// Nodes that wait for ever.
    Deadlock,
    /// A message that is never received.
    Unmatched,
}

/// How much the network holds.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BufferingName {
    /// Any number of messages.
    Infinite,
    /// None.
    Zero,
}

/// A receive and the message that it gets.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Pair<'a> {
    /// The name of the receive.
    receive: &'a str,
    /// The name of the send.
    send: &'a str,
}

/// A matching and what its runs come to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Outcome<'a> {
    /// What they come to.
    status: StatusName,
    /// The matching.
    matching: Vec<Pair<'a>>,
}

/// What a run comes to.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatusName {
    /// Nothing is wrong.
    Success,
    /// An assertion fails.
    Failure,
    /// It takes another path.
    Infeasible,
    /// It makes a step that is not possible.
    Error,
}

/// The other side of a branch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OtherPath<'a> {
    /// The line of the branch, from 1.
    line: u32,
    /// Its column, from 1.
    column: u32,
    /// What would be there instead.
    instead: &'a str,
    /// Whether some order of the messages takes it; null: not known.
    taken: Option<bool>,
    /// If so: for each endpoint the endpoints that its first messages come from.
    arrivals: Option<&'a [(String, Vec<String>)]>,
    /// If so: for each node what its first `wait_any` and `test` say.
    outcomes: Option<&'a [(String, Vec<usize>)]>,
}

/// Something that was found and is no run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RefinementOf<'a> {
    /// Why it is none.
    reason: &'a str,
    /// The pairs that were excluded together.
    pairs: Vec<Pair<'a>>,
}

/// What an answer took.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Statistics {
    /// Nodes of the run.
    nodes: usize,
    /// Its sends.
    sends: usize,
    /// Its receives.
    receives: usize,
    /// Pairs of a receive and a message.
    pairs: Pairs,
    /// Clauses of the formula.
    clauses: u64,
    /// The same by what they say.
    clauses_by_kind: BTreeMap<&'static str, u64>,
    /// Terms of the formula.
    terms: usize,
    /// Questions to the solver.
    queries: u64,
    /// Finding pairs and making the formula.
    encoding_seconds: f64,
    /// Solving it.
    solving_seconds: f64,
    /// Numbers that the solver gives.
    solver: BTreeMap<String, u64>,
}

/// Pairs of a receive and a message.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Pairs {
    /// All at the same endpoint.
    all: usize,
    /// Those in the formula.
    encoded: usize,
}

impl<'a> MessagesAnswer<'a> {
    /// The document of a report.
    pub fn of(
        report: &'a Report,
        sides: Option<&'a [Side]>,
        plan: &Plan,
        ctp: &'a Ctp,
        program: &'a ProgramId,
    ) -> MessagesAnswer<'a> {
        let (trace, reason) = bug_or_reason(&report.verdict);
        let found = report.enumerated.as_ref();
        let outcome = |(m, s): (&Matching, &Status)| Outcome { status: status(*s), matching: pairs(m, ctp) };
        let refinement =
            |r: &'a fabius_messages::Refinement| RefinementOf { reason: &r.reason, pairs: pairs(&r.pairs, ctp) };
        MessagesAnswer {
            format: FORMAT,
            verdict: match (&report.verdict).into() {
                Name::NoBugWithinBounds => Name::Verified,
                name => name,
            },
            property: match plan.property {
                Property::Assert => PropertyName::Assert,
                Property::Deadlock => PropertyName::Deadlock,
                Property::Unmatched => PropertyName::Unmatched,
            },
            buffering: match plan.buffering {
                Buffering::Infinite => BufferingName::Infinite,
                Buffering::Zero => BufferingName::Zero,
            },
            kind: trace.map(|t| t.kind),
            message: trace.map(|t| t.message.as_str()),
            reason,
            vacuous: report.verdict.is_vacuous(),
            matching: report.matching.as_ref().map(|m| pairs(m, ctp)),
            matchings: found.map(|f| f.outcomes.len() as u64),
            all_matchings: found.map(|f| f.complete),
            outcomes: found.map(|f| f.outcomes.iter().map(outcome).collect()),
            other_paths: sides.map(|all| all.iter().map(|s| other_path(s, ctp)).collect()),
            refinements: report.refinements.iter().map(refinement).collect(),
            stats: Statistics {
                nodes: ctp.nodes.len(),
                sends: ctp.sends.len(),
                receives: ctp.receives.len(),
                pairs: Pairs { all: report.all_pairs, encoded: report.pairs },
                clauses: report.count.total(),
                clauses_by_kind: report.count.kinds().into_iter().collect(),
                terms: report.terms,
                queries: report.queries,
                encoding_seconds: report.encoding.as_secs_f64(),
                solving_seconds: report.solving.as_secs_f64(),
                solver: solver(&report.solver),
            },
            trace,
            program,
            elapsed_seconds: report.elapsed.as_secs_f64(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

fn pairs<'a>(matching: &Matching, ctp: &'a Ctp) -> Vec<Pair<'a>> {
    let pair = |(r, s): &(usize, usize)| Pair { receive: &ctp.receives[*r].name, send: &ctp.sends[*s].name };
    matching.iter().map(pair).collect()
}

fn status(status: Status) -> StatusName {
    match status {
        Status::Success => StatusName::Success,
        Status::Failure => StatusName::Failure,
        Status::Infeasible => StatusName::Infeasible,
        Status::Error => StatusName::Error,
    }
}

fn other_path<'a>(side: &'a Side, ctp: &Ctp) -> OtherPath<'a> {
    let at = side.span.line_col(&ctp.source);
    let (taken, guide) = match &side.taken {
        Taken::By(guide) => (Some(true), Some(guide)),
        Taken::Never => (Some(false), None),
        Taken::Unknown => (None, None),
    };
    OtherPath {
        line: at.line,
        column: at.column,
        instead: &side.instead,
        taken,
        arrivals: guide.map(|g| g.arrivals.as_slice()),
        outcomes: guide.map(|g| g.outcomes.as_slice()),
    }
}
