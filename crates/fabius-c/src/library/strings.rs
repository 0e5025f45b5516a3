//! String functions: they are C programs themselves, which are read together with those that call them.

use crate::expressions::Ex;
use crate::lower::Lower;
use crate::places::Value;
use crate::refusal::Result;
use fabius_trace::Span;

/// What the functions are called, and the text that defines them with a prefix.
const NAMES: [&str; 9] = ["strlen", "strcmp", "strncmp", "strcpy", "strncpy", "strcat", "strchr", "memcmp", "atoi"];
const TEXT: &str = include_str!("../../headers/strings.c");
/// The name of the text, as its places say.
const FILE: &str = "the string functions of the C library";

/// The text that defines what these files use: its name, and the text.
pub fn for_files(own: &[(String, String)]) -> Option<(String, String)> {
    let used = |text: &str| NAMES.iter().any(|name| text.contains(name));
    own.iter().any(|(_, text)| used(text)).then(|| (FILE.into(), TEXT.into()))
}

impl<'a> Lower<'a, '_> {
    pub(super) fn string_call(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Option<Value>> {
        let name = name.strip_prefix("__builtin_").unwrap_or(name);
        let defined = format!("fabius__{name}");
        if !NAMES.contains(&name) || !self.functions.contains_key(&defined) {
            return Ok(None);
        }
        self.call_function(&defined, args, span).map(Some)
    }
}
