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

/// What a floating-point number is, is not known, and a union would show it as something else.
pub fn float_in_union<T>(span: Span) -> Result<T> {
    unsupported(span, "a floating-point number in a union is not taken")
}
