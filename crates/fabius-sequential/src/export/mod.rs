//! Sequential programs in the languages of other tools.

pub mod boogie;
pub mod c;
mod names;
