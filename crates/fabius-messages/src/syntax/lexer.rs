//! From text to tokens.

use fabius_trace::{Diagnostic, Span};
use logos::Logos;

/// A token with its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// The kinds of tokens.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f\u{feff}]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub enum TokenKind {
    #[regex(r"[\p{L}_][\p{L}\p{N}_.]*")]
    Name,
    #[regex(r"[0-9][0-9A-Za-z_]*")]
    Number,
    #[regex(r#""([^"\\\n]|\\.)*""#)]
    Text,
    #[token("->")]
    Arrow,
    #[token("==")]
    EqEq,
    #[token("!=")]
    NotEq,
    #[token("<=")]
    Le,
    #[token(">=")]
    Ge,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token(":=")]
    ColonEq,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token(";")]
    Semi,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("@")]
    At,
    #[token("=")]
    Eq,
    #[token("<")]
    Lt,
    #[token(">")]
    Gt,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("!")]
    Bang,
    /// The end of the text.
    End,
}

/// All tokens, ended by [`TokenKind::End`]. What is no token is reported and left out.
pub fn tokens(source: &str, diagnostics: &mut Vec<Diagnostic>) -> Vec<Token> {
    let mut found = Vec::new();
    let mut lexer = TokenKind::lexer(source);
    while let Some(kind) = lexer.next() {
        let span = Span::new(lexer.span().start, lexer.span().end);
        match kind {
            Ok(kind) => found.push(Token { kind, span }),
            Err(()) => diagnostics.push(not_a_token(lexer.slice(), span)),
        }
    }
    found.push(Token { kind: TokenKind::End, span: Span::new(source.len(), source.len()) });
    found
}

fn not_a_token(text: &str, span: Span) -> Diagnostic {
    let (message, help) = match text.chars().next() {
        Some('"') => ("this text is never closed".to_string(), Some("add `\"` on the same line".to_string())),
        Some('/') => ("`/` means nothing here".to_string(), Some("a comment begins with `//`".to_string())),
        _ => (format!("`{}` means nothing here", text.escape_debug()), None),
    };
    Diagnostic { code: "E0601", message, span, label: "here".into(), related: Vec::new(), help }
}
