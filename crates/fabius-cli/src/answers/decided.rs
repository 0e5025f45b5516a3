//! Which engine answered, and what the others had covered.

use super::documents::{Engine, EngineState};
use crate::paint::printable;
use fabius_trace::Verdict;
use fabius_verify::portfolio::{Decided, MemberError, Told};

/// The same for a document.
pub fn engines(decided: &Decided) -> Vec<Engine> {
    let one = |told: &Told| Engine {
        name: told.member.name(),
        state: if told.member == decided.by { EngineState::Answered } else { EngineState::Asked },
        covered: covered(told),
    };
    decided.told.iter().map(one).collect()
}

/// For people: a line for each.
pub fn others(decided: &Decided) -> String {
    let seconds = decided.report.elapsed.as_secs_f64();
    let mut text = match decided.report.verdict {
        Verdict::Unknown { .. } => "\n".to_string(),
        _ => format!("\nanswered by {} after {seconds:.2} s\n", decided.by.name()),
    };
    let is_open = matches!(decided.report.verdict, Verdict::Unknown { .. });
    for told in decided.told.iter().filter(|t| is_open || t.member != decided.by) {
        text += &format!("  {}: {}\n", told.member.name(), printable(&covered(told)));
    }
    text
}

/// What an engine had covered.
fn covered(told: &Told) -> String {
    let report = match &told.outcome {
        None => return "was not done, and not asked any more".into(),
        Some(Err(MemberError::Unfit(why))) => return why.clone(),
        Some(Err(MemberError::Check(error))) => return format!("does not fit this program: {}", of_check(error)),
        Some(Err(MemberError::Proof(error))) => return format!("does not fit this program: {}", of_proof(error)),
        Some(Ok(report)) => report,
    };
    match &report.verdict {
        Verdict::Bug { trace } => format!("found this: {}", trace.message),
        Verdict::Verified if report.limits.is_empty() => "no schedule breaks the program".into(),
        Verdict::Verified => format!("{}; otherwise no schedule breaks the program", report.limits.join(", and ")),
        Verdict::NoBugWithinBounds { bounds } => format!("{} was explored, without a bug", bounds.words()),
        Verdict::Unknown { bounds, reason } => {
            let sofar = match bounds.completed {
                Some(_) => format!("{} was explored, without a bug", bounds.words()),
                None => "nothing was finished".into(),
            };
            match reason {
                fabius_trace::Reason::Interrupted | fabius_trace::Reason::Time => sofar,
                reason => format!("{sofar}; {}", reason.words()),
            }
        }
    }
}

fn of_check(error: &fabius_verify::CheckError) -> String {
    match error {
        fabius_verify::CheckError::Plan(error) => error.message.clone(),
        fabius_verify::CheckError::Internal(message) => message.clone(),
    }
}

fn of_proof(error: &fabius_verify::prove::ProofError) -> String {
    crate::failure::of_proof(error.clone(), "", "").message()
}
