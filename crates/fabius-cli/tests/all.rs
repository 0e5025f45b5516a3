//! All tests that need no process of their own, in one program: most of the time to build tests is that to link them.

mod any_locks;
mod cli;
mod common;
mod compare;
mod decide;
mod formats;
mod losses;
mod lsp;
mod native;
mod other_languages;
mod papers;
mod replay;
mod schema;
mod svcomp;
mod terminal;
mod trace;
mod translate;
mod verify;
