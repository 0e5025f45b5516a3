//! C programs with threads: from source text to the core [`fabius_lang::program::Program`].
//!
//! The C preprocessor and a parser for GNU C11 read the files. What they say is lowered to statements of the core with at
//! most one access to shared state each, so that every engine, trace and page works on them. What C means here, and what
//! is refused, is said in `docs/c.md`.

mod aggregates;
mod allocated;
mod assemble;
mod attributes;
mod birth;
mod bytes;
mod characters;
mod core;
mod declare;
mod dollars;
mod entries;
mod expressions;
mod folder;
mod initializers;
mod lengths;
mod library;
mod lifetimes;
mod lines;
mod lower;
mod memory;
mod mentions;
mod mixed;
mod narrow;
mod omitted;
mod orders;
mod parse;
mod pieces;
mod places;
mod preprocess;
mod property;
mod refusal;
mod section;
mod sections;
mod statements;
mod stored;
mod types;
mod unset;
mod unwritten;
mod widths;

pub use assemble::{Failure, Loaded, Wrong, load};
pub use folder::Folder;
pub use library::WRONG_FREES;
pub use lower::{Creation, Limits, Options, RAISED};
pub use orders::Weaker;
pub use property::Property;
pub use types::DataModel;
