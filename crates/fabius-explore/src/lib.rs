//! Systematic exploration of concurrent systems: schedulers, bounds, strategies. Knows no language.

mod codec;
pub mod dispatcher;
mod intern;
pub mod livelock;
mod node;
pub mod race;
mod retrace;
pub mod scheduler;
pub mod search;
pub mod stateful;
pub mod system;
