//! The interface of loom 0.7, for `[patch.crates-io]`: cargo replaces a package by one of the same name.

pub use fabius_loom::*;
