//! What went wrong with the input, as text and as JSON.

use crate::paint::{printable, printable_lines, printable_source};
use fabius_lang::diagnostic::Diagnostic;
use fabius_trace::Reason;
use fabius_verify::prove::ProofError;
use fabius_verify::{CheckError, PlanError, ReplayError};
use schemars::JsonSchema;
use serde::Serialize;

/// Exit code for bad input, bad usage and outputs that could not be written.
pub const BAD_INPUT: u8 = 2;

/// Exit code of what a limit cut, or the user.
pub const UNKNOWN: u8 = 3;

/// An input or an output that does not work: an answer to the user, not a bug of Fabius, except for `Internal`.
#[derive(Debug)]
pub enum Failure {
    /// One sentence and what to do about it.
    Plain { kind: Kind, message: String, help: Option<String> },
    /// Places in files.
    Source(Vec<Wrong>),
}

/// What is wrong in a file.
#[derive(Debug)]
pub struct Wrong {
    pub source: String,
    pub file: String,
    pub diagnostics: Vec<Diagnostic>,
}

/// Where the fault lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The command line.
    Usage,
    /// A file or what is in it.
    Input,
    /// A file that could not be written.
    Output,
    /// Fabius itself.
    Internal,
}

/// A failure of the input.
pub fn input(message: impl Into<String>) -> Failure {
    Failure::Plain { kind: Kind::Input, message: message.into(), help: None }
}

/// A failure of the command line.
pub fn usage(message: impl Into<String>) -> Failure {
    Failure::Plain { kind: Kind::Usage, message: message.into(), help: None }
}

/// A failure of an output.
pub fn output(message: impl Into<String>) -> Failure {
    Failure::Plain { kind: Kind::Output, message: message.into(), help: None }
}

/// A solver that is not there, or does not do as it should.
pub fn no_solver(message: String) -> Failure {
    let help = Some("leave out `--solver`: the embedded one is always there".into());
    Failure::Plain { kind: Kind::Usage, message, help }
}

impl Failure {
    /// What is wrong in one file.
    pub fn of_file(source: String, file: String, diagnostics: Vec<Diagnostic>) -> Failure {
        Failure::Source(vec![Wrong { source, file, diagnostics }])
    }

    /// The same with something to do about it.
    pub fn help(self, text: impl Into<String>) -> Failure {
        match self {
            Failure::Plain { kind, message, .. } => Failure::Plain { kind, message, help: Some(text.into()) },
            source => source,
        }
    }

    /// For standard error.
    pub fn text(&self, style: fabius_lang::Style) -> String {
        match self {
            Failure::Source(wrong) => {
                let mut text = String::new();
                for Wrong { source, file, diagnostics } in wrong {
                    let shown: Vec<Diagnostic> = diagnostics.iter().map(shown).collect();
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text += &fabius_lang::render(&printable_source(source), &printable(file), &shown, style);
                    if !text.ends_with('\n') {
                        text.push('\n');
                    }
                }
                let count = match wrong.iter().map(|w| w.diagnostics.len()).sum() {
                    1 => "1 error".to_string(),
                    n => format!("{n} errors"),
                };
                let code = wrong.iter().flat_map(|w| &w.diagnostics).next().map(|d| d.code).unwrap_or_default();
                text + &format!("\n{count}; `fabius explain {code}` says more\n")
            }
            Failure::Plain { kind, message, help } => {
                let (red, bold, plain) = match style {
                    fabius_lang::Style::Colour => ("\x1b[1;31m", "\x1b[1m", "\x1b[0m"),
                    fabius_lang::Style::Plain => ("", "", ""),
                };
                let name = if *kind == Kind::Internal { "internal error" } else { "error" };
                let message = printable_lines(message);
                let mut text = format!("{red}{name}{plain}{bold}: {message}{plain}\n");
                if let Some(help) = help {
                    text += &format!("  help: {}\n", printable_lines(help));
                }
                text
            }
        }
    }

    /// Whether an output could not be written.
    pub fn is_of_output(&self) -> bool {
        matches!(self, Failure::Plain { kind: Kind::Output, .. })
    }

    /// What went wrong, in a sentence; of several diagnostics the first.
    pub fn message(&self) -> String {
        match self {
            Failure::Plain { message, .. } => message.clone(),
            Failure::Source(wrong) => {
                wrong.iter().flat_map(|w| &w.diagnostics).next().map(|d| d.message.clone()).unwrap_or_default()
            }
        }
    }
}

/// A diagnostic without anything that moves the cursor.
fn shown(diagnostic: &Diagnostic) -> Diagnostic {
    Diagnostic {
        message: printable(&diagnostic.message),
        label: printable(&diagnostic.label),
        related: diagnostic.related.iter().map(|(span, text)| (*span, printable(text))).collect(),
        help: diagnostic.help.as_deref().map(printable_lines),
        ..diagnostic.clone()
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        Failure::Plain { kind: Kind::Usage, message: error.message, help: Some(error.help) }
    }
}

/// Why a program could not be checked.
pub fn of_check(error: CheckError) -> Failure {
    match error {
        CheckError::Plan(error) => error.into(),
        CheckError::Internal(message) => internal(message),
    }
}

/// An error of Fabius.
pub fn internal(message: String) -> Failure {
    let help = "this is a bug of Fabius, not of the program; please report it with the program and the command";
    Failure::Plain { kind: Kind::Internal, message, help: Some(help.into()) }
}

/// A limit was hit before there was anything to write.
pub fn nothing_written(reason: &Reason) -> Failure {
    output(format!("nothing was written: {}", reason.words()))
}

/// Why a program could not be verified or translated.
pub fn of_proof(error: ProofError, source: &str, file: &str) -> Failure {
    match error {
        ProofError::Unsupported(wrong) => {
            let diagnostic = Diagnostic {
                code: "E0501",
                message: format!("cannot translate {}", wrong.what),
                span: wrong.span,
                label: "not yet".into(),
                related: Vec::new(),
                help: Some(wrong.help),
            };
            Failure::of_file(source.into(), file.into(), vec![diagnostic])
        }
        ProofError::Solver(message) => no_solver(message),
        ProofError::HornSolver(message) => Failure::Plain {
            kind: Kind::Usage,
            message,
            help: Some(
                "install z3, or say where it is with `--solver-path`; or write the clauses with `--dump horn FILE`"
                    .into(),
            ),
        },
        ProofError::NeedsAnyThreads { given } => Failure::Plain {
            kind: Kind::Usage,
            message: "`--engine interfaces` is for any number of threads".into(),
            help: Some(match given {
                true => "leave out `--instances`, which gives numbers".into(),
                false => "declare a process of any number: `process name[*] { .. }`".into(),
            }),
        },
        ProofError::NotFinite(what) => Failure::Plain {
            kind: Kind::Usage,
            message: format!("{what}, and this engine needs one"),
            help: Some(
                "give it a range, for instance `0..7`, if it is an integer; leave out `--engine`, or use `--engine bmc` or `--engine horn`"
                    .into(),
            ),
        },
        ProofError::GaveUp(reason) => nothing_written(&reason),
        ProofError::Internal(message) => internal(message),
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Failure {
        let (message, help) = match error {
            ReplayError::OtherProgram => (
                "the trace belongs to another program: the source text, the constants or the instances have changed"
                    .to_string(),
                "check the program again to get a new trace, or give the program it was made of: `--program FILE`",
            ),
            ReplayError::Departure { step, reason } => (
                format!("the trace departs from the rules at step {}: {reason}", step + 1),
                "the trace has been edited, or was made by another version of Fabius",
            ),
        };
        Failure::Plain { kind: Kind::Input, message, help: Some(help.into()) }
    }
}
