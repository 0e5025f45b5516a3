//! Programs with loops, some of which end never, or late, or as others let them. What a loop counts is not seen by who runs
//! the program: locals, cells, statics, collections.

pub mod code;
pub mod generate;
pub mod graph;
pub mod program;
mod rust;
pub mod shrink;
mod state;
mod step;
