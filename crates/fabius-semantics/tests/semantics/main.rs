//! Every rule of the reference semantics, on small programs whose steps are known.

mod midway;
mod replay;
mod tasks;
mod threads;
mod values;
mod world;
