//! `a ?: b` of GNU C, which is `a ? a : b` with `a` evaluated once: a name stands where the operand is left out, because the
//! parser expects one.

use crate::attributes::behind_quotes;
use std::borrow::Cow;

/// What stands where an operand is left out.
pub(crate) const OMITTED: &str = "__fabius_omitted";

/// The text with a name for each operand that is left out. Its lines stay.
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
            _ => i += 1,
        }
    }
    if done == 0 { Cow::Borrowed(text) } else { Cow::Owned(out + &text[done..]) }
}
