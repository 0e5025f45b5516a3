//! What is refused.

pub use fabius_lang::refusal::{Refusal, Result};
use fabius_trace::Span;

/// What does not parse.
pub fn strange(span: Span, message: impl Into<String>) -> Refusal {
    Refusal::new("E0811", span, message)
}

/// ZING that is wrong.
pub fn wrong(span: Span, message: impl Into<String>) -> Refusal {
    Refusal::new("E0812", span, message)
}

/// ZING that is not taken.
pub fn unsupported(span: Span, message: impl Into<String>) -> Refusal {
    Refusal::new("E0813", span, message)
}
