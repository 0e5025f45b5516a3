//! What GNU C leaves out and the parser expects: in `a ?: b`, which is `a ? a : b` with `a` evaluated once, a name stands where
//! the operand would; `__auto_type x = a` becomes `__typeof__(a) x = a`.

use crate::attributes::{behind_quotes, is_word};
use std::borrow::Cow;

/// What stands where an operand is left out.
pub(crate) const OMITTED: &str = "__fabius_omitted";

/// The text with what is left out. Its lines stay.
pub(crate) fn with_operands(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let (mut out, mut done, mut i) = (String::new(), 0, 0);
    while i < bytes.len() {
        match bytes[i] {
            b'#' if i == 0 || bytes[i - 1] == b'\n' => {
                i += bytes[i..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - i);
            }
            b'"' | b'\'' => i = behind_quotes(bytes, i),
            b'?' => {
                i += 1;
                let next = bytes[i..].iter().position(|b| !b.is_ascii_whitespace()).map_or(bytes.len(), |n| i + n);
                if bytes.get(next) == Some(&b':') {
                    out += &text[done..i];
                    out += OMITTED;
                    done = i;
                }
            }
            c if is_word(c) => {
                let end = i + bytes[i..].iter().position(|b| !is_word(*b)).unwrap_or(bytes.len() - i);
                if &text[i..end] == "__auto_type"
                    && let Some(value) = initializer(text, end)
                {
                    out += &text[done..i];
                    out += &format!("__typeof__({})", with_operands(&value.replace('\n', " ")));
                    done = end;
                }
                i = end;
            }
            _ => i += 1,
        }
    }
    if done == 0 { Cow::Borrowed(text) } else { Cow::Owned(out + &text[done..]) }
}

/// What the variable is initialized with whose name is next.
fn initializer(text: &str, from: usize) -> Option<&str> {
    let bytes = text.as_bytes();
    let name = text[from..].find(|c: char| !c.is_whitespace())? + from;
    let behind = text[name..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$')? + name;
    let value = behind + text[behind..].trim_start().strip_prefix('=').map(|rest| text[behind..].len() - rest.len())?;
    let (mut i, mut depth) = (value, 0usize);
    while i < bytes.len() {
        match bytes[i] {
            b'"' | b'\'' => {
                i = behind_quotes(bytes, i);
                continue;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' | b';' if depth == 0 => return Some(&text[value..i]),
            _ => {}
        }
        i += 1;
    }
    None
}
