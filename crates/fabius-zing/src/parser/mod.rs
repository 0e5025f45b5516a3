//! From tokens to the syntax tree.

mod declarations;
mod expressions;
mod statements;

use crate::ast::{Expr, File, Name};
use crate::lexer::{Kind, Token};
use crate::refusal::{Result, strange, unsupported};
use fabius_trace::Span;

/// Blocks and expressions within each other.
const DEEPEST: u32 = 200;

/// Parses a file.
///
/// # Errors
/// What is not understood, or not taken, first.
pub fn parse(tokens: Vec<Token>) -> Result<File> {
    Parser { tokens, at: 0, depth: 0, lengths: Vec::new(), texts: None }.file()
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    /// Of which arrays so many elements are made.
    lengths: Vec<(String, Expr)>,
    /// The strings that stand where values do.
    texts: Option<Vec<String>>,
}

/// Words that name nothing.
const WORDS: [&str; 44] = [
    "class",
    "struct",
    "enum",
    "range",
    "array",
    "chan",
    "set",
    "interface",
    "static",
    "activate",
    "atomic",
    "void",
    "select",
    "first",
    "end",
    "visible",
    "wait",
    "receive",
    "timeout",
    "event",
    "send",
    "async",
    "if",
    "else",
    "while",
    "foreach",
    "return",
    "assert",
    "assume",
    "choose",
    "sizeof",
    "new",
    "null",
    "this",
    "true",
    "false",
    "try",
    "with",
    "raise",
    "goto",
    "in",
    "out",
    "trace",
    "yield",
];

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    /// The token so many further on.
    fn ahead(&self, by: usize) -> &Token {
        &self.tokens[(self.at + by).min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn is(&self, text: &str) -> bool {
        self.peek().is(text)
    }

    fn take(&mut self, text: &str) -> bool {
        let is = self.is(text);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, text: &str) -> Result<()> {
        if self.take(text) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{text}`")))
    }

    fn unexpected(&self, wanted: &str) -> crate::refusal::Refusal {
        let token = self.peek();
        let found = match &token.kind {
            Kind::Word(word) => format!("`{word}`"),
            Kind::Number(n, _) => format!("`{n}`"),
            Kind::Text(_) => "a string".into(),
            Kind::Sign(sign) => format!("`{sign}`"),
            Kind::End => "the end of the file".into(),
        };
        strange(token.span, format!("{wanted} is expected, and this is {found}"))
    }

    fn name(&mut self, what: &str) -> Result<Name> {
        match &self.peek().kind {
            Kind::Word(word) if !WORDS.contains(&word.as_str()) => {
                let name = Name { text: word.clone(), span: self.peek().span };
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    fn since(&self, from: usize) -> Span {
        let last = self.at.saturating_sub(1).max(from);
        Span { start: self.tokens[from].span.start, end: self.tokens[last.min(self.tokens.len() - 1)].span.end }
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return Err(unsupported(self.peek().span, format!("more than {DEEPEST} levels within each other")));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// What is between here and the sign that closes it, separated by commas.
    fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(item(self)?);
            if !self.take(",") && !self.is(close) {
                return Err(self.unexpected(&format!("`,` or `{close}`")));
            }
        }
        Ok(items)
    }
}
