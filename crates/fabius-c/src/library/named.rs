//! Functions of the library that have no text of their own, where the program has pointers to them (`destroy = free;`): functions
//! that call them, behind the program's text.

use crate::attributes::is_word;

/// Those that may be meant by a pointer.
const NAMES: [&str; 3] = ["free", "exit", "abort"];

/// Nothing is declared here: a program that does not know the functions may use the names for something else.
const TEXT: &str = "void fabius__free(void *p) { free(p); }\nvoid fabius__exit(int n) { exit(n); }\nvoid fabius__abort(void) { abort(); }\n";

/// The name of the text, as its places say.
const FILE: &str = "functions of the C library that are called by pointers";

/// The text for files that name one of the functions without a call: its name, and the text.
pub fn for_files(own: &[(String, String)]) -> Option<(String, String)> {
    let is_named = |text: &str| NAMES.iter().any(|name| is_a_value(text, name));
    own.iter().any(|(_, text)| is_named(text)).then(|| (FILE.into(), TEXT.into()))
}

/// Whether a word stands somewhere without parentheses behind it.
fn is_a_value(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].bytes().next_back().is_some_and(is_word);
        let behind = &text[at + word.len()..];
        !before && !behind.bytes().next().is_some_and(is_word) && !behind.trim_start().starts_with('(')
    })
}
