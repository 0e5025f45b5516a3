//! Names with `$` in them, which GNU C allows and the parser does not.

use crate::attributes::{behind_quotes, is_word};
use std::collections::{HashMap, HashSet};

/// The text with a letter in place of each `$` of a name: a name stays as long as it is, and no two become one.
pub(crate) fn without_dollars(text: String) -> String {
    if !text.contains('$') {
        return text;
    }
    let mut names: Vec<(usize, usize)> = Vec::new();
    each_name(&text, &mut |start, end| names.push((start, end)));
    let mut taken: HashSet<String> = names.iter().map(|(start, end)| text[*start..*end].to_string()).collect();
    let mut renamed: HashMap<String, String> = HashMap::new();
    let mut bytes = text.clone().into_bytes();
    for (start, end) in names {
        let name = &text[start..end];
        if !name.contains('$') {
            continue;
        }
        let new = renamed.entry(name.to_string()).or_insert_with(|| {
            let of = |letter: char| name.replace('$', &letter.to_string());
            let new = ['_'].into_iter().chain('a'..='z').chain('A'..='Z').map(of).find(|new| !taken.contains(new));
            // Nobody has all of these names.
            let new = new.unwrap_or_else(|| name.to_string());
            taken.insert(new.clone());
            new
        });
        bytes[start..end].copy_from_slice(new.as_bytes());
    }
    String::from_utf8(bytes).unwrap_or(text)
}

/// Calls `f` with the places of all names, keywords and numbers, and of nothing in quotes or markers of the preprocessor.
pub(crate) fn each_name(text: &str, f: &mut dyn FnMut(usize, usize)) {
    let bytes = text.as_bytes();
    let is_part = |b: u8| is_word(b) || b == b'$';
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'#' if i == 0 || bytes[i - 1] == b'\n' => {
                i += bytes[i..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - i);
            }
            b'"' | b'\'' => i = behind_quotes(bytes, i),
            c if is_part(c) => {
                let end = i + bytes[i..].iter().position(|b| !is_part(*b)).unwrap_or(bytes.len() - i);
                f(i, end);
                i = end;
            }
            _ => i += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::without_dollars;

    #[test]
    fn names_stay_apart_and_as_long_as_they_are() {
        let text = "# 1 \"a$b.c\"\nint x$w, x_w, $y, x$w$; char *s = \"$x\"; char c = '$'; int z = x$w + x_w;";
        let new = "# 1 \"a$b.c\"\nint xaw, x_w, _y, x_w_; char *s = \"$x\"; char c = '$'; int z = xaw + x_w;";
        assert_eq!(without_dollars(text.into()), new);
        assert_eq!(without_dollars("int a$, a_, aa;".into()), "int ab, a_, aa;");
    }
}
