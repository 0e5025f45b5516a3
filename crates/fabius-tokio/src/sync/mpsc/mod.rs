//! Channels with many senders and one receiver, as `tokio::sync::mpsc`.

mod bounded;
pub mod error;
mod owned_permit;
mod permit;
mod receiver;
mod state;
mod unbounded;

pub use bounded::{Sender, WeakSender, channel};
pub use owned_permit::OwnedPermit;
pub use permit::{Permit, PermitIterator};
pub use receiver::{Receiver, UnboundedReceiver};
pub use unbounded::{UnboundedSender, WeakUnboundedSender, unbounded_channel};
