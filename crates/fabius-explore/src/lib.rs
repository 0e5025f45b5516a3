//! Systematic exploration of concurrent systems: schedulers, bounds, strategies. Knows no language.

pub mod codec;
pub mod complete;
pub mod dispatcher;
mod execution;
pub mod flat;
pub mod graph;
pub mod growth;
mod intern;
pub mod links;
pub mod liveness;
mod node;
pub mod optimal;
mod order;
mod others;
mod passed;
mod pick;
mod prefixes;
pub mod race;
mod reached;
mod retrace;
pub mod scheduler;
pub mod search;
pub mod shrink;

pub mod stateful;
pub mod stateful_depth_first;
pub mod stateless;
pub mod system;
pub mod taken;
mod visited;
mod wakeup;
pub mod walk;
