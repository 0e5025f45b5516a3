//! What is refused.

pub use fabius_lang::refusal::{Refusal, Result};
use fabius_trace::Span;

/// What does not parse.
pub fn strange(span: Span, message: impl Into<String>) -> Refusal {
    Refusal::new("E0801", span, message)
}

/// Promela that is wrong.
pub fn wrong(span: Span, message: impl Into<String>) -> Refusal {
    Refusal::new("E0802", span, message)
}

/// Promela that is not taken.
pub fn unsupported(span: Span, message: impl Into<String>) -> Refusal {
    Refusal::new("E0803", span, message)
}
