//! Systematic exploration of concurrent systems: schedulers, bounds, strategies. Knows no language.

pub mod race;
pub mod system;
