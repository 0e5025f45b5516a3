//! The documents of `--json`. `docs/json.md` describes them, `docs/schema/` holds their schemas, which are made from these types.

pub mod messages;

use super::checked::{Checked, Question};
use crate::args::SchemaOf;
use crate::failure::Failure;
use crate::paint::moves;
use fabius_trace::{
    Bounds, BugKind, COMPARISON_VERSION, Comparison, ErrorTrace, LevelStats, ProgramId, Reason, Span, TRACE_VERSION,
    Verdict,
};
use fabius_verify::prove::{Proof, Sliced};
use fabius_verify::{Plan, Report, Symmetry};
use messages::MessagesAnswer;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Version of the documents. Fields may be added; whatever else changes makes a new version.
pub const FORMAT: u32 = 1;

/// The schema of a document.
pub fn schema(of: SchemaOf) -> Schema {
    let settings = || SchemaSettings::draft2020_12().for_serialize().into_generator();
    let (name, title, version, mut schema) = match of {
        SchemaOf::Answer => {
            let schema = settings().into_root_schema_for::<Document<'_, Answer<'_>>>();
            ("answer", "fabius decide --json, fabius check --json, fabius verify --json", FORMAT, schema)
        }
        SchemaOf::Several => {
            let schema = settings().into_root_schema_for::<Document<'_, Several<'_>>>();
            ("several", "fabius check --json of several files", FORMAT, schema)
        }
        SchemaOf::Messages => {
            let schema = settings().into_root_schema_for::<Document<'_, MessagesAnswer<'_>>>();
            ("messages", "fabius trace --json", FORMAT, schema)
        }
        SchemaOf::Trace => {
            ("trace", "--trace, fabius replay --json", TRACE_VERSION, settings().into_root_schema_for::<ErrorTrace>())
        }
        SchemaOf::Comparison => {
            let schema = settings().into_root_schema_for::<Comparison>();
            ("comparison", "fabius compare --json", COMPARISON_VERSION, schema)
        }
    };
    schema.insert("$id".into(), format!("urn:fabius:{name}:{version}").into());
    schema.insert("title".into(), title.into());
    schema
}

/// A document as it is printed: fields in the order of the alphabet.
pub fn text(document: &impl Serialize) -> String {
    let value = serde_json::to_value(document).expect("documents are plain data");
    format!("{}\n", escaped(&format!("{value:#}")))
}

/// JSON in which no string holds a character that a terminal would obey: JSON alone escapes the first 32 only.
pub fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if moves(c) && c != '\n' {
            out += &format!("\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// The answer of `fabius check` about one file, of `fabius verify`, and of `fabius decide`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer<'a> {
    /// Version of this format.
    #[schemars(extend("const" = FORMAT))]
    format: u32,
    /// The answer.
    verdict: Name,
    /// Of a bug: what kind.
    kind: Option<BugKind>,
    /// Of a bug: what its schedule costs under the bound; the least possible if the strategy is iterative.
    cost: Option<u32>,
    /// Of a bug: what broke, with the values involved.
    message: Option<&'a str>,
    /// Of `unknown`: what cut the search short.
    reason: Option<&'a Reason>,
    /// Whether no execution completes, so that the answer is about nothing; it is then `unknown`.
    vacuous: bool,
    /// Whether no execution comes to an end, because all go on for ever; known where all states were explored.
    endless: bool,
    /// How far the answer goes.
    bounds: Bounds,
    /// What was explored at each value of the bound. Counts include the levels below.
    levels: &'a [LevelStats],
    /// All reachable states, if the search exhausted them.
    total_states: Option<u64>,
    /// Whether states that differ only in which of several threads or values that are alike is which count as one.
    symmetry: bool,
    /// Whether steps were left out that can be made later just as well, so that fewer states are counted than there are.
    reduction: bool,
    /// Of a bug: the trace.
    trace: Option<&'a ErrorTrace>,
    /// Of `fabius verify`: where the time went.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<ProofStatistics>,
    /// Of `fabius decide`: the engines that were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    engines: Option<Vec<Engine>>,
    /// The program.
    program: &'a ProgramId,
    /// Time for the answer.
    elapsed_seconds: f64,
    /// Memory for states.
    memory_bytes: u64,
    /// Version of Fabius.
    version: &'static str,
}

/// An answer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    /// Here is a schedule that breaks the program.
    Bug,
    /// Every schedule within the bounds was explored. Not a proof.
    NoBugWithinBounds,
    /// No schedule breaks the program.
    Verified,
    /// A limit cut the search.
    Unknown,
}

impl From<&Verdict> for Name {
    fn from(verdict: &Verdict) -> Name {
        match verdict {
            Verdict::Bug { .. } => Name::Bug,
            Verdict::NoBugWithinBounds { .. } => Name::NoBugWithinBounds,
            Verdict::Verified => Name::Verified,
            Verdict::Unknown { .. } => Name::Unknown,
        }
    }
}

impl<'a> Answer<'a> {
    /// The document of a report.
    pub fn of(report: &'a Report, question: Question, program: &'a ProgramId) -> Answer<'a> {
        let (completed, any, limits) = match &report.verdict {
            Verdict::NoBugWithinBounds { bounds } | Verdict::Unknown { bounds, .. } => {
                (bounds.completed, bounds.any.clone(), bounds.limits.clone())
            }
            Verdict::Verified => (report.completed, Vec::new(), report.limits.clone()),
            Verdict::Bug { .. } => (report.completed, Vec::new(), Vec::new()),
        };
        let Question { bound, scheduler, points, .. } = question;
        let instances = program.instances.clone();
        let (trace, reason) = bug_or_reason(&report.verdict);
        Answer {
            format: FORMAT,
            verdict: (&report.verdict).into(),
            kind: trace.map(|t| t.kind),
            cost: trace.map(|t| t.cost),
            message: trace.map(|t| t.message.as_str()),
            reason,
            vacuous: report.verdict.is_vacuous(),
            endless: report.endless,
            bounds: Bounds { bound, completed, scheduler, points, instances, any, limits },
            levels: &report.levels,
            total_states: report.total_states,
            symmetry: report.symmetry != Symmetry::OFF,
            reduction: report.reduction,
            trace,
            proof: None,
            engines: None,
            program,
            elapsed_seconds: report.elapsed.as_secs_f64(),
            memory_bytes: report.memory,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// The same with where the time of a verification went.
    pub fn with_proof(self, proof: &Proof) -> Answer<'a> {
        let s = &proof.statistics;
        let statistics = ProofStatistics {
            statements: s.statements,
            terms: s.terms,
            queries: s.queries,
            opened: s.opened,
            left_out: LeftOut::of(proof.sliced),
            encoding_seconds: s.encoding.as_secs_f64(),
            solving_seconds: s.solving.as_secs_f64(),
            replaying_seconds: proof.replaying.as_secs_f64(),
            solver: solver(&proof.solver),
        };
        Answer { proof: Some(statistics), ..self }
    }

    /// The same with who was asked.
    pub fn with_engines(self, engines: Vec<Engine>) -> Answer<'a> {
        Answer { engines: Some(engines), ..self }
    }
}

/// What an answer has besides its name.
pub fn bug_or_reason(verdict: &Verdict) -> (Option<&ErrorTrace>, Option<&Reason>) {
    match verdict {
        Verdict::Bug { trace } => (Some(trace), None),
        Verdict::Unknown { reason, .. } => (None, Some(reason)),
        Verdict::NoBugWithinBounds { .. } | Verdict::Verified => (None, None),
    }
}

/// Numbers that a solver gives.
pub fn solver(numbers: &[(&'static str, u64)]) -> BTreeMap<String, u64> {
    numbers.iter().map(|(name, n)| (name.replace(' ', "_"), *n)).collect()
}

/// An engine that was asked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Engine {
    /// Its name.
    pub name: &'static str,
    /// What it did.
    pub state: EngineState,
    /// What it had covered when the answer was given, or why it does not fit, in a sentence.
    pub covered: String,
}

/// What an engine did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineState {
    /// The answer is its own.
    Answered,
    /// It was asked, too.
    Asked,
}

/// Where the time of a verification went.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProofStatistics {
    /// Statements of the sequential program.
    statements: u64,
    /// Terms of the formula.
    terms: u64,
    /// Questions to the solver.
    queries: u64,
    /// Loops and calls that were opened.
    opened: u64,
    /// What was left out before the program was translated, because it makes no difference.
    left_out: LeftOut,
    /// Making the formula.
    encoding_seconds: f64,
    /// Solving it.
    solving_seconds: f64,
    /// Running what was found again.
    replaying_seconds: f64,
    /// Numbers that the solver gives.
    solver: BTreeMap<String, u64>,
}

/// What makes no difference to what is asked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Variables that nobody asks about.
    variables: u32,
    /// Assignments, and branches that do nothing else.
    assignments: u32,
    /// Scheduling points at which no thread need be interrupted.
    points: u32,
}

impl LeftOut {
    fn of(sliced: Sliced) -> LeftOut {
        let Sliced { variables, assignments, points } = sliced;
        LeftOut { variables, assignments, points }
    }
}

/// The answer of `fabius check` about several files.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Several<'a> {
    /// Version of this format.
    #[schemars(extend("const" = FORMAT))]
    format: u32,
    /// The worst of the answers, in this order: `error`, `bug`, `unknown`, and the best, `no_bug`.
    verdict: Worst,
    /// The exit code that goes with it.
    exit_code: u8,
    /// The answers, in the order of the command line.
    files: Vec<OneOfSeveral<'a>>,
    /// Time for all answers.
    elapsed_seconds: f64,
    /// Version of Fabius.
    version: &'static str,
}

/// The worst of several answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Worst {
    /// Some file cannot be checked.
    Error,
    /// Some file has a bug.
    Bug,
    /// About some file nothing is known for certain.
    Unknown,
    /// No file has a bug, within the bounds that the answers name.
    NoBug,
}

/// One of several files.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OneOfSeveral<'a> {
    /// The file, as it was given.
    file: &'a str,
    /// The document that `--json` prints for this file alone.
    answer: Document<'a, Answer<'a>>,
}

/// An answer, or why there is none.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Document<'a, T> {
    /// The answer.
    Answer(Box<T>),
    /// Why there is none.
    Error(ErrorDocument<'a>),
}

impl<'a> Several<'a> {
    /// The document of several files.
    pub fn of(all: &'a [Checked], plan: &Plan, exit_code: u8, elapsed: Duration) -> Several<'a> {
        let one = |checked: &'a Checked| OneOfSeveral {
            file: &checked.file,
            answer: match &checked.outcome {
                Ok((loaded, report)) => Document::Answer(Box::new(Answer::of(report, plan.into(), &loaded.id))),
                Err(failure) => Document::Error(ErrorDocument::of(failure)),
            },
        };
        Several {
            format: FORMAT,
            verdict: match exit_code {
                0 => Worst::NoBug,
                1 => Worst::Bug,
                3 => Worst::Unknown,
                _ => Worst::Error,
            },
            exit_code,
            files: all.iter().map(one).collect(),
            elapsed_seconds: elapsed.as_secs_f64(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// Why there is no answer: bad input, or an output that could not be written.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorDocument<'a> {
    /// Version of this format.
    #[schemars(extend("const" = FORMAT))]
    format: u32,
    /// Always `error`.
    verdict: ErrorName,
    /// What is wrong.
    error: Wrong<'a>,
}

/// An error in one word.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorName {
    /// The only one.
    Error,
}

/// What is wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Wrong<'a> {
    /// Where the fault lies.
    kind: crate::failure::Kind,
    /// What is wrong, in a sentence; of several diagnostics the first.
    message: &'a str,
    /// What to do about it.
    help: Option<&'a str>,
    /// The places in the program.
    diagnostics: Vec<Place<'a>>,
}

/// A place in a program where something is wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Place<'a> {
    /// For instance `E0103`; `fabius explain E0103` says more.
    code: &'a str,
    /// What is wrong, in a sentence.
    message: &'a str,
    /// What stands beside the underlined place.
    label: &'a str,
    /// What to write instead.
    help: Option<&'a str>,
    /// The file.
    file: &'a str,
    /// The line, from 1.
    line: u32,
    /// The column in characters, from 1.
    column: u32,
    /// The place in bytes.
    span: Span,
}

impl<'a> ErrorDocument<'a> {
    /// The document of a failure.
    pub fn of(failure: &'a Failure) -> ErrorDocument<'a> {
        let error = match failure {
            Failure::Plain { kind, message, help } => {
                Wrong { kind: *kind, message, help: help.as_deref(), diagnostics: Vec::new() }
            }
            Failure::Source(wrong) => {
                let place = |file: &'a str, source: &str, d: &'a fabius_lang::diagnostic::Diagnostic| {
                    let at = d.span.line_col(source);
                    let (message, label, help) = (&d.message, &d.label, d.help.as_deref());
                    Place { code: d.code, message, label, help, file, line: at.line, column: at.column, span: d.span }
                };
                let of_file = |w: &'a crate::failure::Wrong| {
                    w.diagnostics.iter().map(|d| place(&w.file, &w.source, d)).collect::<Vec<_>>()
                };
                let diagnostics: Vec<Place<'a>> = wrong.iter().flat_map(of_file).collect();
                let message = diagnostics.first().map_or("", |d| d.message);
                let kind = crate::failure::Kind::Input;
                Wrong { kind, message, help: None, diagnostics }
            }
        };
        ErrorDocument { format: FORMAT, verdict: ErrorName::Error, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use std::path::Path;

    /// A change of the types shows in `docs/schema/`.
    #[test]
    fn the_schemas_are_those_of_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
        for of in SchemaOf::value_variants() {
            let name = of.to_possible_value().expect("no name is hidden").get_name().to_string();
            let written = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap_or_default();
            assert!(written == text(&schema(*of)), "docs/schema/{name}.json is old: run `cargo xtask schema`");
        }
    }
}
