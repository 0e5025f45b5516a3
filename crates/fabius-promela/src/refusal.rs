//! What is refused: its place, what it is, and what to write instead.

use fabius_trace::{Diagnostic, Span};

/// Why something of a program is not taken.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub code: &'static str,
    pub span: Span,
    pub message: String,
    pub help: Option<String>,
}

/// Either, or why not.
pub type Result<T> = std::result::Result<T, Refusal>;

impl Refusal {
    /// The same with what to write instead.
    pub fn help(mut self, text: impl Into<String>) -> Refusal {
        self.help = Some(text.into());
        self
    }

    /// As it is shown.
    pub fn diagnostic(self) -> Diagnostic {
        let Refusal { code, span, message, help } = self;
        let label = match code {
            "E0801" => "not understood",
            "E0802" => "wrong",
            _ => "not taken",
        };
        Diagnostic { code, message, span, label: label.into(), related: Vec::new(), help }
    }
}

/// What does not parse.
pub fn strange(span: Span, message: impl Into<String>) -> Refusal {
    Refusal { code: "E0801", span, message: message.into(), help: None }
}

/// Promela that is wrong.
pub fn wrong(span: Span, message: impl Into<String>) -> Refusal {
    Refusal { code: "E0802", span, message: message.into(), help: None }
}

/// Promela that is not taken.
pub fn unsupported(span: Span, message: impl Into<String>) -> Refusal {
    Refusal { code: "E0803", span, message: message.into(), help: None }
}
