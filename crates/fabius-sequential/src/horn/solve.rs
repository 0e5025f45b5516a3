//! Asking a solver of Horn clauses.
//!
//! Paper: SMT-Based Model Checking for Recursive Programs (CAV 2014): Spacer, which z3 has.

use super::{Checked, Clauses, check};
use fabius_smt::{Limits, run_script};
use std::path::Path;

/// What is known of the assertions of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// None can fail, however often loops and calls are repeated.
    Safe {
        /// Definitions of the predicates, which were checked.
        invariant: String,
    },
    /// One can fail, so the solver says. It is a bug when an execution shows it.
    Unsafe,
    /// Neither is known.
    Unknown {
        /// Why, in a sentence.
        reason: String,
    },
}

/// Options that are tried in turn, as long as the invariant is none: z3 (4.8.12) may lose part of a model when it has
/// inlined predicates.
const OPTIONS: [&str; 2] =
    ["", "(set-option :fp.xform.inline_eager false)\n(set-option :fp.xform.inline_linear false)\n"];

/// Solves clauses with z3, or what takes the same arguments. `Safe` has been checked.
///
/// # Errors
/// The solver cannot be started, or says something that is no answer.
pub fn solve(clauses: &Clauses, solver: &Path, limits: &Limits<'_>) -> Result<Answer, String> {
    let mut reason = String::new();
    for options in OPTIONS {
        let model = match find(clauses, options, solver, limits)? {
            Found::Model(model) => model,
            Found::Answer(answer) => return Ok(answer),
        };
        reason = match check(clauses, &model, solver, limits)? {
            Checked::Holds => return Ok(Answer::Safe { invariant: model }),
            Checked::Fails(why) => format!("the invariant that was found is none: {why}"),
            Checked::Open(why) => format!("the invariant was not checked: {why}"),
        };
    }
    Ok(Answer::Unknown { reason })
}

enum Found {
    /// Definitions that nobody has checked.
    Model(String),
    /// Something else.
    Answer(Answer),
}

fn find(clauses: &Clauses, options: &str, solver: &Path, limits: &Limits<'_>) -> Result<Found, String> {
    let unknown = |reason: String| Ok(Found::Answer(Answer::Unknown { reason }));
    let script = format!("{options}{}(get-info :reason-unknown)\n(get-model)\n", clauses.text());
    let Some(said) = run_script(solver, &script, limits)? else {
        return unknown("the limits were hit".into());
    };
    let mut lines = said.trim().splitn(3, '\n');
    let [answer, reason, rest] = [lines.next(), lines.next(), lines.next()].map(Option::unwrap_or_default);
    match answer.trim() {
        "sat" => Ok(Found::Model(rest.into())),
        "unsat" => Ok(Found::Answer(Answer::Unsafe)),
        "unknown" => {
            let reason = reason.trim().trim_start_matches("(:reason-unknown").trim_matches([' ', '"', ')', ':']);
            let reason = reason.split(" in <").next().unwrap_or_default();
            unknown(format!("the solver of Horn clauses gave up: {reason}"))
        }
        other => Err(format!("{} says: {other}", solver.display())),
    }
}
