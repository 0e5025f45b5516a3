//! The Fabius modelling language: from source text to the core [`program::Program`] and back.

mod analysis;
pub mod build;
pub mod diagnostic;
mod explain;
pub mod live;
pub mod program;
pub mod refusal;
mod render;
pub mod syntax;
mod unparse;
pub mod waits;
pub mod walk;
mod warnings;

pub use analysis::{
    Choices, LIBRARY, MOST_NUMBERED, Options, compile, erase_spans, finish_program as finish, numbered, show_type,
    without_returns, without_spans,
};
pub use explain::{codes, explain};
pub use render::{SHOWN, Style, render};
pub use syntax::parser::{CONTEXTUAL, KEYWORDS};
pub use syntax::{format, parse, parse_prelude};
pub use unparse::unparse;
pub use warnings::warnings;
