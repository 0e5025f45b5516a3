//! All tests that need no process of their own, in one program: most of the time to build tests is that to link them.

mod corpus_compiles;
mod diagnostics;
mod docs;
mod explain;
mod format;
mod fuzz;
mod idioms;
mod parser;
mod reject;
mod render;
mod steps;
mod sugar;
mod unparse;
mod warnings;
