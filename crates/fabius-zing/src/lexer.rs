//! Words, numbers and signs, with their places.

use crate::ast::Suffix;
use crate::refusal::{Result, strange};
use fabius_trace::Span;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Word(String),
    Number(i64, Suffix),
    Text(String),
    Sign(&'static str),
    End,
}

/// A token and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub span: Span,
}

impl Token {
    /// Whether it is this word or sign.
    pub fn is(&self, text: &str) -> bool {
        match &self.kind {
            Kind::Word(word) => word == text,
            Kind::Sign(sign) => *sign == text,
            _ => false,
        }
    }
}

/// Longer ones first.
const SIGNS: [&str; 36] = [
    "->", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "..", "++", "--", "+=", "-=", "{", "}", "(", ")", "[", "]",
    ";", ",", ".", ":", "=", "<", ">", "!", "+", "-", "*", "/", "%", "&", "|", "^",
];

/// The tokens of a text, the last of which is its end.
///
/// # Errors
/// A character that begins nothing, a comment or string that does not end, a number that is too large.
pub fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let span = |length: usize| Span::new(at, at + length);
        if c.is_whitespace() || c == '\u{feff}' {
            at += c.len_utf8();
            continue;
        }
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/");
            let end = end.ok_or_else(|| strange(span(2), "a comment that does not end").help("add `*/`"))?;
            at += end + 4;
            continue;
        }
        let (kind, length) = if c.is_ascii_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (Kind::Word(rest[..length].into()), length)
        } else if c.is_ascii_digit() {
            number(rest).ok_or_else(|| strange(span(1), "a number that is greater than those of `long`"))?
        } else if c == '"' {
            let end = rest[1..].find(['"', '\n']).filter(|end| rest[1 + end..].starts_with('"'));
            let end = end.ok_or_else(|| strange(span(1), "a string that does not end").help("add `\"`"))?;
            (Kind::Text(rest[1..1 + end].into()), end + 2)
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| strange(span(c.len_utf8()), format!("`{c}` begins nothing in ZING")))?;
            (Kind::Sign(sign), sign.len())
        };
        out.push(Token { kind, span: span(length) });
        at += length;
    }
    out.push(Token { kind: Kind::End, span: Span::new(text.len(), text.len()) });
    Ok(out)
}

fn number(text: &str) -> Option<(Kind, usize)> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix, before) = match hex {
        Some(rest) => (rest, 16, 2),
        None => (text, 10, 0),
    };
    let length = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let n = i64::from_str_radix(&digits[..length], radix).ok()?;
    let mut at = before + length;
    let mut suffix = Suffix::default();
    while let Some(c) = text[at..].chars().next() {
        match c {
            'u' | 'U' if !suffix.is_unsigned => suffix.is_unsigned = true,
            'l' | 'L' if !suffix.is_long => suffix.is_long = true,
            _ => break,
        }
        at += 1;
    }
    Some((Kind::Number(n, suffix), at))
}
