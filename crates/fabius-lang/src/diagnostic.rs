//! What is wrong with a source text. Rendered in the style of rustc by [`crate::render`].

pub use fabius_trace::Diagnostic;
