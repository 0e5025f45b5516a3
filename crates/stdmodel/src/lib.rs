//! A plain explicit model of what `std::thread` and `std::sync` do: small programs, all their interleavings as a graph of
//! states, and for each outcome the fewest preemptions, delays and steps that lead to it. It is written from std's
//! documentation and from what users are told about steps and costs. It shares no code with what it is the second opinion on.

pub mod cost;
mod effects;
pub mod generate;
pub mod graph;
pub mod loops;
pub mod program;
mod rust;
pub mod shrink;
pub mod state;
mod step;
