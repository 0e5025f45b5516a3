//! C programs with threads: from source text to the core [`fabius_lang::program::Program`].
//!
//! The C preprocessor and a parser for GNU C11 read the files. What they say is lowered to statements of the core with at
//! most one access to shared state each, so that every engine, trace and page works on them. What C means here, and what
//! is refused, is said in `docs/c.md`.

mod assemble;
mod core;
mod declare;
mod expressions;
mod initializers;
mod library;
mod lines;
mod lower;
mod memory;
mod places;
mod preprocess;
mod refusal;
mod statements;
mod types;

pub use assemble::{Failure, Loaded, Options, load};
pub use lower::Limits;
