//! From text to syntax tree and back.

pub mod ast;
pub mod lexer;
pub mod parser;

use crate::diagnostic::Diagnostic;
use lexer::{Token, TokenKind};
use parser::Dialect;

/// Parses a program. The tree is usable even if there are diagnostics: what could not be read is `Error` in it.
pub fn parse(source: &str) -> (ast::File, Vec<Diagnostic>) {
    parse_dialect(source, Dialect::User)
}

/// Parses the library of synchronization objects, which may use inline procedures.
pub fn parse_prelude(source: &str) -> (ast::File, Vec<Diagnostic>) {
    parse_dialect(source, Dialect::Prelude)
}

fn parse_dialect(source: &str, dialect: Dialect) -> (ast::File, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let comment = |t: &Token| matches!(t.kind, TokenKind::LineComment | TokenKind::BlockComment);
    let tokens = lexer::tokens(source, &mut diagnostics).into_iter().filter(|t| !comment(t)).collect();
    let file = parser::parse_tokens(source, tokens, dialect, &mut diagnostics);
    diagnostics.sort_by_key(|d| d.span.start);
    (file, diagnostics)
}
