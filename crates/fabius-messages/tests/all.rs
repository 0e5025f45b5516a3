//! All tests that need no process of their own, in one program: most of the time to build tests is that to link them.

mod common;
mod corpus;
mod diagnostics;
mod mutants;
mod numbers;
mod oracle;
mod random;
mod recorded;
mod shared;
mod sums;
