//! What the system's `ctype.h` makes of `isdigit(c)`: `((*__ctype_b_loc ())[(int) ((c))] & _ISdigit)`, a look into a table that no
//! text says. A call of a function of ours (`headers/strings.c`) stands in its place.

use crate::attributes::behind_quotes;
use std::borrow::Cow;

/// Tables, and what computes their elements.
const TABLES: [(&str, &str); 3] = [
    ("__ctype_b_loc", "fabius__ctype_b("),
    ("__ctype_tolower_loc", "fabius__tolower("),
    ("__ctype_toupper_loc", "fabius__toupper("),
];

/// The text with calls. All places stay.
pub(crate) fn with_calls(text: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(text);
    for (table, function) in TABLES {
        let mut from = 0;
        while let Some(at) = out[from..].find(table).map(|at| from + at) {
            from = at + table.len();
            let Some((begin, open)) = element(&out, at, from) else { continue };
            let Some(close) = closing(&out, open) else { continue };
            let blanks = out[begin + function.len()..=open].chars().map(|c| if c == '\n' { c } else { ' ' });
            let call = function.chars().chain(blanks).collect::<String>();
            let text = out.to_mut();
            text.replace_range(close..=close, ")");
            text.replace_range(begin..=open, &call);
        }
    }
    out
}

/// Where `(*table ())[` begins, and where its bracket is.
fn element(text: &str, name: usize, behind: usize) -> Option<(usize, usize)> {
    let before = text[..name].trim_end().strip_suffix('*')?.trim_end().strip_suffix('(')?;
    let mut rest = &text[behind..];
    for each in ["(", ")", ")", "["] {
        rest = rest.trim_start().strip_prefix(each)?;
    }
    Some((before.len(), text.len() - rest.len() - 1))
}

/// The bracket that closes this one.
fn closing(text: &str, open: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (open, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' | b'\'' => {
                at = behind_quotes(bytes, at);
                continue;
            }
            b'[' => depth += 1,
            b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
        at += 1;
    }
    None
}
