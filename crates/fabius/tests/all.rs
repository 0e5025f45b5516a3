//! All tests that need no process of their own, in one program: most of the time to build tests is that to link them.

mod anew;
mod as_loom;
mod basics;
mod borrows;
mod chess;
mod compare;
mod edges;
mod failures;
mod leaving;
mod litmus;
mod orderings;
mod outcomes;
mod peers;
mod real_code;
mod reduction;
mod rounds;
mod scenarios;
mod soundness;
mod stale;
mod statics;
mod strategies;
mod unseen;
mod waits;
mod yields;
