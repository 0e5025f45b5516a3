//! The modelling language in editors, by the Language Server Protocol: `fabius lsp`.
//!
//! [`names`] says what the names of a program stand for, [`document`] is a program as an editor holds it; [`look`] is what is
//! shown of it, [`change`] what can be changed; [`runs`] checks it; [`server`] listens and answers.

pub mod change;
pub mod document;
pub mod look;
pub mod names;
pub mod runs;
pub mod server;

pub use server::serve;
