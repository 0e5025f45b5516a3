//! The Fabius language compiled to transition code over packed states, which the explorer runs.

mod ample;
mod circles;
mod code;
mod compile;
mod exec;
mod footprint;
mod layout;
mod limits;
mod packed;
mod repetition;
mod sorts;
mod state;
mod symmetry;
mod system;
mod value_names;

pub use limits::StepLimits;
pub use packed::Cursor;
pub use state::State;
pub use system::{Alike, Machine};
