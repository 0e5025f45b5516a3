//! The interface of tokio 1 on top of [`fabius`]: rename the dependency, keep the code, and every test is explored.
//!
//! ```toml
//! [dev-dependencies]
//! tokio = { package = "fabius-tokio", version = "0.1" }
//! ```
//!
//! ```
//! use fabius_tokio::sync::mpsc;
//!
//! #[fabius_tokio::main]
//! async fn main() {
//!     let (sender, mut receiver) = mpsc::channel(1);
//!     let task = fabius_tokio::spawn(async move { sender.send(7).await });
//!     assert_eq!(receiver.recv().await, Some(7));
//!     assert_eq!(receiver.recv().await, None);
//!     task.await.unwrap().unwrap();
//! }
//! ```
//!
//! All of it works only inside of a check. The README says what differs, and what is missing.

mod awaited;
mod executor;
mod macros;
mod monitor;
pub mod runtime;
pub mod sync;
pub mod task;
mod tasks;
pub mod time;

pub use fabius_tokio_macros::{main, test};

#[doc(hidden)]
pub use fabius_tokio_macros as __macros;
pub use runtime::block_on;
pub use task::spawn;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
