//! What a selection asks of the sides of channels.

use fabius::extend::channel::{Operation, Token};
use fabius::time::Instant;
use std::sync::Arc;

/// A side of a channel in a selection.
pub(crate) trait Handle {
    /// Whether the operation can be done now, but for who waits in that selection.
    fn is_ready(&self, except: Option<&Arc<Token>>) -> bool;
    /// Whether it will be, by a selection that is about to send: who does not wait waits for that.
    fn is_coming(&self) -> bool;
    /// Reserves what the operation needs, if the other side is there.
    fn commit(&self, operation: &Operation);
    /// The selection waits.
    fn enter(&self, operation: &Operation);
    /// It waits no more.
    fn leave(&self, operation: &Operation);
    /// When time makes it ready.
    fn due(&self) -> Option<Instant>;
}
