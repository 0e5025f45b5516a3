//! Words, numbers and signs, with their places.

use crate::refusal::{Result, strange};
use fabius_trace::Span;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Word(String),
    Number(i64),
    /// A string; only `printf` has some.
    Text,
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

    /// The word that it is.
    pub fn word(&self) -> Option<&str> {
        if let Kind::Word(word) = &self.kind { Some(word) } else { None }
    }
}

/// Longer ones first.
const SIGNS: [&str; 42] = [
    "::", "->", "!!", "!=", "??", "==", "<<", "<>", "<=", ">>", ">=", "&&", "||", "++", "--", "..", ";", ",", "{", "}",
    "(", ")", "[", "]", "!", "?", "=", "<", ">", "&", "|", "^", "~", "+", "-", "*", "/", "%", ":", ".", "@", "#",
];

/// The text without comments, each of which is as many blanks, and without ends of lines behind `\`.
///
/// # Errors
/// A comment that does not end.
pub fn without_comments(source: &str) -> Result<String> {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'*')) => {
                let Some(length) = source[at + 2..].find("*/") else {
                    return Err(strange(Span::new(at, at + 2), "a comment that does not end").help("add `*/`"));
                };
                let end = at + length + 4;
                out[at..end].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
                at = end;
            }
            (b'/', Some(b'/')) => {
                let end = source[at..].find('\n').map_or(bytes.len(), |n| at + n);
                out[at..end].fill(b' ');
                at = end;
            }
            (b'"', _) => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' && bytes[at] != b'\n' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            (b'\\', Some(b'\n')) => {
                out[at..at + 2].fill(b' ');
                at += 2;
            }
            (b'\r', _) => {
                out[at] = b' ';
                at += 1;
            }
            _ => at += 1,
        }
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// The tokens of a part of a text, which begins at `offset` of the whole.
///
/// # Errors
/// A character that begins nothing, a number that is too large.
pub fn tokens(text: &str, offset: usize) -> Result<Vec<Token>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let span = |length: usize| Span::new(offset + at, offset + at + length);
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (kind, length) = if c.is_ascii_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (Kind::Word(rest[..length].into()), length)
        } else if c.is_ascii_digit() {
            let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let number = rest[..length].parse::<i32>();
            let number = number.map_err(|_| strange(span(length), "a number that has more than 32 bits"))?;
            (Kind::Number(number.into()), length)
        } else if c == '"' {
            let end =
                string_end(rest).ok_or_else(|| strange(span(1), "a string that does not end").help("add `\"`"))?;
            (Kind::Text, end)
        } else if c == '\'' && rest.len() >= 3 && rest.as_bytes()[2] == b'\'' {
            (Kind::Number(i64::from(rest.as_bytes()[1])), 3)
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| strange(span(c.len_utf8()), format!("`{c}` begins nothing in Promela")))?;
            (Kind::Sign(sign), sign.len())
        };
        out.push(Token { kind, span: span(length) });
        at += length;
    }
    Ok(out)
}

fn string_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return Some(at + 1),
            b'\n' => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    None
}
