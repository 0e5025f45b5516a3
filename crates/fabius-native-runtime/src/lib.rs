//! The library that a C or C++ program under test is linked with instead of the thread sanitizer's.
//!
//! Without control (the program is run by itself) every call goes to where it would have gone. Under control (`fabius run`)
//! the explorer begins in place of `main`: it runs the program again and again, its threads as fibers of the one real thread,
//! and restores its memory in between. What the program calls at a scheduling point announces an operation and switches to
//! the explorer, which decides who goes on. The explorer has memory and thread-local storage of its own.
//!
//! Nothing of Rust's that needs thread-local storage may run on a fiber of the program.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
compile_error!("native programs are explored on x86-64 Linux with glibc");

mod ahead;
mod arena;
mod clocks;
mod connections;
mod control;
mod crew;
mod cycles;
mod delivery;
mod descriptors;
mod destructors;
mod events;
mod explore;
mod fiber;
mod frames;
mod gone;
mod handlers;
mod heap;
mod hooks;
mod image;
mod interruptions;
mod isolate;
mod kernel;
mod lifetime;
mod looks;
mod op;
mod pagemap;
mod place;
mod queues;
mod races;
mod ready;
mod real;
mod record;
mod recorder;
mod restore;
mod rooms;
mod round;
mod rt;
mod say;
mod semaphores;
mod signals;
mod stacks;
mod start;
mod state;
mod system;
mod threads;
mod timer;
mod waiting;
mod watched;
mod weaker;

#[global_allocator]
static ARENA: arena::Arena = arena::Arena;
