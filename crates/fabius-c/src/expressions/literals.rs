//! Numbers, characters and strings (C11 6.4.4).

use crate::core::*;
use crate::lower::Lower;
use crate::places::Value;
use crate::refusal::{Result, unsupported, wrong};
use crate::types::{CType, INT};
use fabius_trace::Span;
use lang_c::ast;

impl<'a> Lower<'a, '_> {
    pub(super) fn literal(&mut self, c: &ast::Constant, span: Span) -> Result<Value> {
        match c {
            ast::Constant::Integer(i) => {
                let radix = match i.base {
                    ast::IntegerBase::Decimal => 10,
                    ast::IntegerBase::Octal => 8,
                    ast::IntegerBase::Hexadecimal => 16,
                    ast::IntegerBase::Binary => 2,
                };
                let digits = if i.number.is_empty() { "0" } else { &i.number };
                let Ok(n) = u64::from_str_radix(digits, radix) else {
                    return wrong(span, "the number is too large");
                };
                let least = match i.suffix.size {
                    ast::IntegerSize::Int => 32,
                    ast::IntegerSize::Long => self.types().word(),
                    ast::IntegerSize::LongLong => 64,
                };
                let decimal = radix == 10;
                // C11 6.4.4.1: the first type that it fits into.
                let fits = |bits: u8, signed: bool| match (bits, signed) {
                    (32, true) => n <= i32::MAX as u64,
                    (32, false) => n <= u64::from(u32::MAX),
                    (_, true) => n <= i64::MAX as u64,
                    _ => true,
                };
                let all = [(32, true), (32, false), (64, true), (64, false)];
                let fitting = all.into_iter().find(|(bits, signed)| {
                    let allowed = if i.suffix.unsigned { !signed } else { *signed || !decimal };
                    allowed && *bits >= least && fits(*bits, *signed)
                });
                let (bits, signed) = fitting.unwrap_or((64, false));
                let ty = CType::Int { bits, signed };
                Ok(Value::scalar(constant(n as i64, ty.core(), span), ty))
            }
            ast::Constant::Character(text) => {
                let inner = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
                match inner.map(unescape).as_deref() {
                    Some([b]) => Ok(Value::scalar(constant(i64::from(*b as i8), INT.core(), span), INT)),
                    _ => unsupported(span, "a wide character, or one of several, is not taken"),
                }
            }
            ast::Constant::Float(f) => Ok(self.float_literal(f, span)),
        }
    }
}

/// The bytes of a string literal, with its end.
pub(crate) fn string_bytes(parts: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend(unescape(unquoted(part)));
    }
    bytes.push(0);
    bytes
}

/// Whether the characters of a string literal have more than a byte each.
pub(crate) fn is_wide(parts: &[String]) -> bool {
    parts.iter().any(|p| !p.starts_with('"') && !p.starts_with("u8"))
}

fn unquoted(part: &str) -> &str {
    let text = part.trim_start_matches("u8");
    text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text)
}

fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes().peekable();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        let c = bytes.next().unwrap_or(b'\\');
        out.push(match c {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'e' => 27,
            b'x' => digits(&mut bytes, 0, 16, 8),
            b'0'..=b'7' => digits(&mut bytes, u32::from(c - b'0'), 8, 2),
            other => other,
        });
    }
    out
}

fn digits(bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>, first: u32, radix: u32, most: usize) -> u8 {
    let mut n = first;
    for _ in 0..most {
        let Some(digit) = bytes.peek().and_then(|b| char::from(*b).to_digit(radix)) else { break };
        n = n.wrapping_mul(radix).wrapping_add(digit);
        bytes.next();
    }
    n as u8
}
