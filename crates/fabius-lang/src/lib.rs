//! The Fabius modelling language.

pub mod program;
