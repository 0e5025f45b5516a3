//! The Fabius modelling language: from source text to the core [`program::Program`] and back.

mod analysis;
pub mod diagnostic;
pub mod program;
pub mod syntax;

pub use analysis::{Options, compile, erase_spans};
pub use syntax::{parse, parse_prelude};
