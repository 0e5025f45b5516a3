//! Programs in the languages of other tools: sequential ones, and for SPIN those of threads.

pub mod boogie;
pub mod c;
mod names;
pub mod promela;
