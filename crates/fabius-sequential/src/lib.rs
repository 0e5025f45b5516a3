//! Deciding sequential programs.
//!
//! A sequential program is a [`Program`](fabius_lang::program::Program) whose `init` is all that runs: no threads, no
//! tasks, no heap (the translations turn objects into arrays). Its faults are assertions: expressions are total here, and
//! whoever wants a division by zero reported asserts that there is none.

pub mod bmc;
pub mod export;
