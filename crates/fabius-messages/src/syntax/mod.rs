//! From text to a concurrent trace program. There are two forms: ours, and the paper's, which begins with a parenthesis.

mod build;
mod lexer;
mod paper;
mod parser;

use crate::ctp::Ctp;
use fabius_trace::{Diagnostic, Span};
use lexer::{Token, TokenKind};

/// Reads a trace program.
///
/// # Errors
/// All independent mistakes, in the order of the text.
pub fn parse(source: &str) -> Result<Ctp, Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    let tokens = Tokens { source, list: lexer::tokens(source, &mut wrong), next: 0 };
    let build = build::Build::new(source, wrong);
    let build = match tokens.kind() {
        TokenKind::LParen => paper::parse(tokens, build),
        _ => parser::parse(tokens, build),
    };
    build.finish()
}

/// A text on one line, without comments.
pub(crate) fn on_one_line(text: &str) -> String {
    joined(text, &words(text))
}

/// An assumption as a text, as the opposite of it.
pub(crate) fn negated(assume: &str) -> String {
    let words = words(assume);
    match words.as_slice() {
        // The form of the paper: `(assume condition)`.
        [open, _, condition @ .., _] if open.kind == TokenKind::LParen => {
            format!("(assume (not {}))", joined(assume, condition))
        }
        [_, condition @ ..] if is_in_parentheses(condition) => format!("assume !{}", joined(assume, condition)),
        [_, condition @ ..] => format!("assume !({})", joined(assume, condition)),
        [] => String::new(),
    }
}

/// Whether the first parenthesis is closed by the last.
fn is_in_parentheses(words: &[Token]) -> bool {
    let mut open = 0;
    let closes = |(i, word): (usize, &Token)| {
        match word.kind {
            TokenKind::LParen => open += 1,
            TokenKind::RParen => open -= 1,
            _ => {}
        }
        (open == 0).then_some(i + 1)
    };
    words.iter().enumerate().find_map(closes) == Some(words.len()) && words[0].kind == TokenKind::LParen
}

fn words(text: &str) -> Vec<Token> {
    let mut words = lexer::tokens(text, &mut Vec::new());
    words.pop();
    words
}

/// Words of a text, with a space where something was between them.
fn joined(text: &str, words: &[Token]) -> String {
    let mut all = String::new();
    let mut end = None;
    for word in words {
        if end.is_some_and(|end| end < word.span.start) {
            all.push(' ');
        }
        all += word.span.text(text);
        end = Some(word.span.end);
    }
    all
}

/// Expressions and parentheses inside of each other, at most.
const DEEPEST: usize = 200;

/// What is left to read.
struct Tokens<'a> {
    source: &'a str,
    list: Vec<Token>,
    next: usize,
}

/// A syntax error has been reported; what follows makes no sense until the next command.
struct Lost;

/// A word of the text.
#[derive(Clone, Debug)]
struct Word {
    text: String,
    span: Span,
}

impl Tokens<'_> {
    fn token(&self) -> Token {
        self.list[self.next.min(self.list.len() - 1)]
    }

    fn kind(&self) -> TokenKind {
        self.token().kind
    }

    fn text(&self) -> &str {
        self.token().span.text(self.source)
    }

    /// The token, and goes on to the next.
    fn take(&mut self) -> Token {
        let token = self.token();
        self.next = (self.next + 1).min(self.list.len() - 1);
        token
    }

    fn accept(&mut self, kind: TokenKind) -> bool {
        let is = self.kind() == kind;
        if is {
            self.take();
        }
        is
    }

    /// Where the last token ended.
    fn end_of_last(&self) -> u32 {
        self.list[self.next.saturating_sub(1)].span.end
    }

    fn word(&mut self) -> Word {
        let token = self.take();
        Word { text: token.span.text(self.source).to_string(), span: token.span }
    }

    /// The diagnostic of something that is not what it should be.
    fn unexpected(&self, wanted: &str, help: Option<&str>) -> Diagnostic {
        let found = match self.kind() {
            TokenKind::End => "the end of the file".to_string(),
            _ => format!("`{}`", self.text().escape_debug()),
        };
        Diagnostic {
            code: "E0602",
            message: format!("expected {wanted}, found {found}"),
            span: self.token().span,
            label: format!("expected {wanted}"),
            related: Vec::new(),
            help: help.map(String::from),
        }
    }
}
