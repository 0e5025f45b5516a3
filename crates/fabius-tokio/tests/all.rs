//! All tests that need no process of their own, in one program: most of the time to build tests is that to link them.

mod channels;
mod common;
mod edges;
mod ends;
mod locks;
mod newest;
mod orders;
mod tasks;
mod time;
