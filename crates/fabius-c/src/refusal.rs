//! What is refused.

pub use fabius_lang::refusal::{Refusal, Result};
use fabius_trace::Span;

/// C that is not taken.
pub fn unsupported<T>(span: Span, message: impl Into<String>) -> Result<T> {
    Err(Refusal::new("E0703", span, message))
}

/// C that is wrong.
pub fn wrong<T>(span: Span, message: impl Into<String>) -> Result<T> {
    Err(Refusal::new("E0702", span, message))
}
