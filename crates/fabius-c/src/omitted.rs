//! What GNU C leaves out and the parser expects: in `a ?: b`, which is `a ? a : b` with `a` evaluated once, a name stands where
//! the operand would; `__auto_type x = a` becomes `__typeof__(a) x = a`. `__builtin_types_compatible_p(A, B)` becomes a choice by type;
//! `__builtin_malloc` and the like are what they are without `__builtin_`.

use crate::attributes::{behind_quotes, is_word};
use std::borrow::Cow;

/// What stands where an operand is left out.
pub(crate) const OMITTED: &str = "__fabius_omitted";

/// Functions of the library that have a second name behind `__builtin_`.
const PLAIN: [&str; 13] = [
    "malloc", "calloc", "realloc", "free", "memmove", "printf", "fprintf", "puts", "putchar", "abort", "exit", "abs",
    "labs",
];

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
                if &text[i..end] == "__builtin_types_compatible_p"
                    && let Some((a, b, close)) = two_types(text, end)
                {
                    out += &text[done..i];
                    // The parser takes `__typeof__(x)` in another one for a call.
                    let named = |ty: String| match ty.trim_start().trim_start_matches('_').starts_with("typeof") {
                        true => ty,
                        false => format!("__typeof__({ty})"),
                    };
                    out += &format!("_Generic(({} *)0, {} *: 1, default: 0)", named(a), named(b));
                    // Its lines stay.
                    out.extend(text[i..close].chars().filter(|c| *c == '\n'));
                    done = close;
                    i = close;
                    continue;
                }
                if let Some(name) = text[i..end].strip_prefix("__builtin_").filter(|name| PLAIN.contains(name)) {
                    out += &text[done..i];
                    out += name;
                    done = end;
                }
                i = end;
            }
            _ => i += 1,
        }
    }
    if done == 0 { Cow::Borrowed(text) } else { Cow::Owned(out + &text[done..]) }
}

/// Two types in parentheses, and where they end.
fn two_types(text: &str, from: usize) -> Option<(String, String, usize)> {
    let bytes = text.as_bytes();
    let open = from + text[from..].find('(').filter(|n| text[from..from + n].trim().is_empty())?;
    let (mut comma, mut depth) = (None, 0usize);
    for (i, b) in bytes.iter().enumerate().skip(open) {
        match b {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 1 => comma = comma.or(Some(i)),
            _ => {}
        }
        if depth == 0 {
            let (a, b) = (&text[open + 1..comma?], &text[comma? + 1..i]);
            return Some((a.replace('\n', " "), b.replace('\n', " "), i + 1));
        }
    }
    None
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
