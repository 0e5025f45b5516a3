//! What a machine keeps for packed states.

use super::code::PackedCode;
use super::shape::Shapes;
use std::sync::OnceLock;

/// Made when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct Packing {
    pub(super) code: OnceLock<PackedCode>,
    pub(super) shapes: Shapes,
}
