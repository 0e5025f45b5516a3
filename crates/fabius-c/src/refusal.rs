//! What is refused: its place, what it is, and what to write instead.

use fabius_trace::{Diagnostic, Span};

/// Why something of a C program is not taken.
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
        Diagnostic { code, message, span, label: label(code).into(), related: Vec::new(), help }
    }
}

fn label(code: &str) -> &'static str {
    match code {
        "E0701" => "not understood",
        "E0702" => "wrong",
        _ => "not taken",
    }
}

/// C that is not taken.
pub fn unsupported<T>(span: Span, message: impl Into<String>) -> Result<T> {
    Err(Refusal { code: "E0703", span, message: message.into(), help: None })
}

/// C that is wrong.
pub fn wrong<T>(span: Span, message: impl Into<String>) -> Result<T> {
    Err(Refusal { code: "E0702", span, message: message.into(), help: None })
}

/// What a floating-point number is, is not known, and a union would show it as something else.
pub fn float_in_union<T>(span: Span) -> Result<T> {
    unsupported(span, "a floating-point number in a union is not taken")
}
