//! The reference semantics of the Fabius language: one small-step interpreter, slow and obvious.
//!
//! It decides what a program means. Every engine is compared with it, and every bug that an engine reports is replayed
//! in it. It shares no code with any of them.

pub mod arithmetic;
mod codec;
mod collect;
pub mod config;
pub mod control;
pub mod eval;
pub mod forget;
pub mod layout;
mod properties;
mod replay;
pub mod rules;
pub mod run;
mod show;
mod system;
pub mod value;

pub use replay::{Departure, Ending, Settings, replay, steps};
pub use system::Reference;
