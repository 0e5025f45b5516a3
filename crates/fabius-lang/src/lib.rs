//! The Fabius modelling language: from source text to the core [`program::Program`] and back.

pub mod diagnostic;
pub mod program;
pub mod syntax;
