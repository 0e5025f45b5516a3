//! What a front end for another language refuses: its place, what it is, and what to write instead.

use fabius_trace::{Diagnostic, Span};

/// Why something of a program is not taken.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// What `fabius explain` takes. Its last digit: 1, it is not understood; 2, it is wrong; else it is not taken.
    pub code: &'static str,
    /// Its place.
    pub span: Span,
    /// What it is.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

/// Either, or why not.
pub type Result<T> = std::result::Result<T, Refusal>;

impl Refusal {
    /// Without help.
    pub fn new(code: &'static str, span: Span, message: impl Into<String>) -> Refusal {
        Refusal { code, span, message: message.into(), help: None }
    }

    /// The same with what to write instead.
    pub fn help(mut self, text: impl Into<String>) -> Refusal {
        self.help = Some(text.into());
        self
    }

    /// As it is shown.
    pub fn diagnostic(self) -> Diagnostic {
        let Refusal { code, span, message, help } = self;
        let label = match code.chars().next_back() {
            Some('1') => "not understood",
            Some('2') => "wrong",
            _ => "not taken",
        };
        Diagnostic { code, message, span, label: label.into(), related: Vec::new(), help }
    }
}
