//! Systematic exploration of concurrent systems: schedulers, bounds, strategies. Knows no language.

pub mod livelock;
pub mod race;
pub mod system;
