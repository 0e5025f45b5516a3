//! From text to syntax tree and back.

pub mod ast;
pub mod idioms;
pub mod lexer;
pub mod parser;
mod printer;

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

/// The program in the one style, with its comments.
///
/// # Errors
/// What does not parse. A text that would not mean the same, or lose a comment, is refused too (`E0199`).
pub fn format(source: &str) -> Result<String, Vec<Diagnostic>> {
    let (file, diagnostics) = parse(source);
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let comments = comments(source);
    let formatted = printer::print(source, &file, &comments);
    let (again, wrong) = parse(&formatted);
    let texts = |source: &str, tokens: &[Token]| -> Vec<String> {
        tokens.iter().map(|t| t.span.text(source).trim_end().to_string()).collect()
    };
    if !wrong.is_empty() || again != file || texts(source, &comments) != texts(&formatted, &self::comments(&formatted))
    {
        return Err(vec![Diagnostic {
            code: "E0199",
            message: "this program cannot be formatted without changing it".into(),
            span: fabius_trace::Span::default(),
            label: "somewhere in this file".into(),
            related: Vec::new(),
            help: Some("this is an error of Fabius; please report it with the file".into()),
        }]);
    }
    Ok(formatted)
}

fn comments(source: &str) -> Vec<Token> {
    let is_comment = |t: &Token| matches!(t.kind, TokenKind::LineComment | TokenKind::BlockComment);
    lexer::tokens(source, &mut Vec::new()).into_iter().filter(is_comment).collect()
}

fn parse_dialect(source: &str, dialect: Dialect) -> (ast::File, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let comment = |t: &Token| matches!(t.kind, TokenKind::LineComment | TokenKind::BlockComment);
    let tokens = lexer::tokens(source, &mut diagnostics).into_iter().filter(|t| !comment(t)).collect();
    let mut wrong = Vec::new();
    let file = parser::parse_tokens(source, tokens, dialect, &mut wrong);
    wrong.retain(|d| !is_consequence(source, &diagnostics, d));
    diagnostics.append(&mut wrong);
    diagnostics.sort_by_key(|d| d.span.start);
    (file, diagnostics)
}

/// Whether the parser missed something that an unclosed comment or string has swallowed.
fn is_consequence(source: &str, lexical: &[Diagnostic], d: &Diagnostic) -> bool {
    lexical.iter().any(|l| match l.code {
        "E0109" => d.code == "E0105" || d.span.end >= l.span.start,
        "E0110" => {
            let (before, after) = source.split_at(l.span.start as usize);
            let begin = before.rfind('\n').map_or(0, |at| at + 1);
            let end = before.len() + after.find('\n').unwrap_or(after.len());
            (begin..=end).contains(&(d.span.start as usize))
        }
        _ => false,
    })
}
