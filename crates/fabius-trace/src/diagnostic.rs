//! What is wrong with a source text, and what to write instead.

use crate::Span;

/// One message about a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Code, for instance `E0103`; `fabius explain E0103` says more.
    pub code: &'static str,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// The place.
    pub span: Span,
    /// What stands beside the underlined place: what was expected there.
    pub label: String,
    /// Other places that matter, each with a label.
    pub related: Vec<(Span, String)>,
    /// What to write instead.
    pub help: Option<String>,
}
