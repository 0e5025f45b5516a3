//! From text to tokens. Comments are kept, for the formatter.

use crate::diagnostic::Diagnostic;
use fabius_trace::Span;
use logos::{Lexer, Logos};

/// Some editors begin a file with it; it means nothing.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A token with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of tokens.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[logos(skip r"[ \t\r\n\f]+")]
#[allow(missing_docs)]
pub enum TokenKind {
    #[regex(r"//[^\n]*", allow_greedy = true)]
    LineComment,
    #[token("/*", block_comment)]
    BlockComment,
    #[regex(r"[\p{L}_][\p{L}\p{N}_]*")]
    Name,
    #[regex(r"[0-9][0-9A-Za-z_]*")]
    Number,
    #[regex(r#""([^"\\\n]|\\.)*""#)]
    Text,
    /// `#define N 3` and the like: reported, and left out.
    #[regex(r"#(define|include|if|ifdef|ifndef|else|endif|undef)[^\n]*", allow_greedy = true)]
    Directive,
    /// `/\\` and `\\/`: reported, and what they mean for the parser.
    #[token("/\\")]
    Conjunction,
    #[token("\\/")]
    Disjunction,
    /// Means nothing; the parser says what is meant.
    #[token("?")]
    Question,
    /// Without the closing quote: reported, and a text for the parser.
    #[regex(r#""([^"\\\n]|\\.)*"#)]
    UnclosedText,
    #[token("..")]
    DotDot,
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
    #[token("<<")]
    Shl,
    #[token(">>")]
    Shr,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token("+=")]
    PlusEq,
    #[token("-=")]
    MinusEq,
    #[token("*=")]
    StarEq,
    #[token("/=")]
    SlashEq,
    #[token("%=")]
    PercentEq,
    #[token(":=")]
    ColonEq,
    #[token("++")]
    PlusPlus,
    #[token("--")]
    MinusMinus,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token(";")]
    Semi,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token(".")]
    Dot,
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
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("!")]
    Bang,
    #[token("~")]
    Tilde,
    #[token("&")]
    And,
    #[token("|")]
    Or,
    #[token("^")]
    Caret,
    /// The end of the text.
    End,
}

/// Skips to the end of a comment, which may contain others. An unclosed one is an error token.
fn block_comment(lexer: &mut Lexer<'_, TokenKind>) -> bool {
    let mut depth = 1;
    let rest = lexer.remainder().as_bytes();
    let mut at = 0;
    while at < rest.len() {
        match rest.get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            lexer.bump(at);
            return true;
        }
    }
    lexer.bump(rest.len());
    false
}

/// All tokens of `source`, comments among them, ended by [`TokenKind::End`]. What is no token is reported and left out.
pub fn tokens(source: &str, diagnostics: &mut Vec<Diagnostic>) -> Vec<Token> {
    let mut found = Vec::new();
    let mut lexer = TokenKind::lexer(source);
    if source.starts_with(BYTE_ORDER_MARK) {
        lexer.bump(BYTE_ORDER_MARK.len_utf8());
    }
    while let Some(kind) = lexer.next() {
        let span = Span::new(lexer.span().start, lexer.span().end);
        match kind {
            Ok(TokenKind::UnclosedText) => {
                diagnostics.push(not_a_token(lexer.slice(), span));
                found.push(Token { kind: TokenKind::Text, span });
            }
            Ok(TokenKind::Directive) => diagnostics.push(foreign(lexer.slice(), span)),
            Ok(TokenKind::Conjunction) => {
                diagnostics.push(foreign(lexer.slice(), span));
                found.push(Token { kind: TokenKind::AndAnd, span });
            }
            Ok(TokenKind::Disjunction) => {
                diagnostics.push(foreign(lexer.slice(), span));
                found.push(Token { kind: TokenKind::OrOr, span });
            }
            Ok(kind) => found.push(Token { kind, span }),
            Err(()) => diagnostics.push(not_a_token(lexer.slice(), span)),
        }
    }
    found.push(Token { kind: TokenKind::End, span: Span::new(source.len(), source.len()) });
    found
}

/// What another language writes so.
fn foreign(text: &str, span: Span) -> Diagnostic {
    let help = match text {
        "/\\" => "conjunction is written `&&`",
        "\\/" => "disjunction is written `||`",
        _ if text.starts_with("#define") => {
            "constants are declared `const N = 3;`, functions `fn f(a: int) -> int { a + 1 }`"
        }
        _ => "there is no preprocessor: a program is one file, and `--const N=5` sets its constants",
    };
    let text = text.split_whitespace().next().unwrap_or(text);
    Diagnostic {
        code: "E0111",
        message: format!("`{text}` means nothing here"),
        span,
        label: "here".into(),
        related: vec![],
        help: Some(help.into()),
    }
}

fn not_a_token(text: &str, span: Span) -> Diagnostic {
    let (code, message, help) = match text.chars().next() {
        Some('/') => ("E0109", "this comment is never closed".to_string(), Some("add `*/`")),
        Some('"') => ("E0110", "this string is never closed".to_string(), Some("add `\"` on the same line")),
        Some('\'') => ("E0111", "`'` means nothing here".to_string(), Some("messages stand in double quotes")),
        Some('\\') => (
            "E0111",
            "`\\` means nothing here".to_string(),
            Some("write `in`, `forall i in 0..2: e`, `exists i in 0..2: e`, `!=`, `<=`"),
        ),
        _ => ("E0111", format!("`{}` means nothing here", text.escape_debug()), None),
    };
    Diagnostic { code, message, span, label: "here".into(), related: vec![], help: help.map(String::from) }
}
