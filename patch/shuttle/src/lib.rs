//! The interface of shuttle 0.9, for `[patch.crates-io]`: cargo replaces a package by one of the same name.

pub use fabius_shuttle::*;
