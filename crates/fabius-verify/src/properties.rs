//! Properties of infinite executions: who looks at them, and what is said where nobody does.

use crate::proof::ProofError;
use crate::{Plan, Report};
use fabius_lang::program::{FairThreads, Formula, Program};
use fabius_trace::Verdict;
use fabius_translate::Unsupported;

impl Plan {
    /// The properties that are looked at.
    pub(crate) fn asked(&self, program: &Program) -> Vec<(Formula, FairThreads)> {
        let asked = program.properties.iter().filter(|_| self.properties);
        asked.map(|p| (p.formula.clone(), p.fairness.clone())).collect()
    }
}

/// The program without its properties.
pub(crate) fn without(program: &Program) -> Program {
    Program { properties: Vec::new(), conditions: Vec::new(), ..program.clone() }
}

/// Refuses a program with properties, for those who see finite executions alone.
pub(crate) fn refuse(program: &Program, help: &str) -> Result<(), ProofError> {
    let Some(property) = program.properties.first() else { return Ok(()) };
    let what = "a property of infinite executions".into();
    Err(ProofError::Unsupported(Unsupported { what, span: property.span, help: help.into() }))
}

/// Says that the properties of the program were not looked at.
pub(crate) fn leave_out(program: &Program, report: &mut Report) {
    let names: Vec<String> = program.properties.iter().map(|p| format!("`{}`", p.name)).collect();
    let what = match names.as_slice() {
        [] => return,
        [one] => format!("the property {one} was not looked at"),
        _ => format!("the properties {} were not looked at", names.join(", ")),
    };
    report.limits.push(what.clone());
    if let Verdict::NoBugWithinBounds { bounds } | Verdict::Unknown { bounds, .. } = &mut report.verdict {
        bounds.limits.push(what);
    }
}
