//! String functions: they are C programs themselves, which are read together with those that call them.

use super::strip_casts;
use crate::expressions::Ex;
use crate::lower::Lower;
use crate::places::Value;
use crate::property::Property;
use crate::refusal::Result;
use crate::types::CType;
use fabius_trace::Span;
use lang_c::ast::Expression;

/// What the functions are called, and the text that defines them with a prefix.
const NAMES: [&str; 62] = [
    "strlen",
    "strcmp",
    "strncmp",
    "strcpy",
    "strncpy",
    "strcat",
    "strncat",
    "strchr",
    "strrchr",
    "strstr",
    "memcmp",
    "memchr",
    "strnlen",
    "atoi",
    "atol",
    "toupper",
    "tolower",
    "isdigit",
    "isxdigit",
    "isalpha",
    "isalnum",
    "isspace",
    "isblank",
    "isupper",
    "islower",
    "ispunct",
    "isprint",
    "isgraph",
    "iscntrl",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "strdup",
    "strtok",
    "strtok_r",
    "strspn",
    "strcspn",
    "strpbrk",
    "rand_r",
    "write",
    "strerror",
    "popcount",
    "popcountl",
    "popcountll",
    "ctz",
    "ctzl",
    "ctzll",
    "clz",
    "clzl",
    "clzll",
    "ffs",
    "ffsl",
    "bswap16",
    "bswap32",
    "bswap64",
    "parity",
    "parityl",
    "snprintf",
    "sprintf",
    "vsnprintf",
    "vsprintf",
];
/// What reads texts: which arguments are texts, and which one says by its format what the others are.
const READS: [(&str, &[usize], Option<usize>); 8] = [
    ("puts", &[0], None),
    ("fputs", &[0], None),
    ("perror", &[0], None),
    ("printf", &[], Some(0)),
    ("fprintf", &[], Some(1)),
    ("vprintf", &[], None),
    ("vfprintf", &[], None),
    ("syslog", &[], Some(1)),
];
const TEXT: &str = include_str!("../../headers/strings.c");
/// The name of the text, as its places say.
const FILE: &str = "the string functions of the C library";

/// The text that defines what these files use: its name, and the text.
pub fn for_files(own: &[(String, String)]) -> Option<(String, String)> {
    let used = |text: &str| NAMES.iter().chain(&["puts", "perror"]).any(|name| text.contains(name)) || prints(text);
    own.iter().any(|(_, text)| used(text)).then(|| (FILE.into(), TEXT.into()))
}

/// Whether a format in a text may print a text: `%s`, `%-8s`.
fn prints(text: &str) -> bool {
    let flags = |c: char| c.is_ascii_digit() || "-+ #*.".contains(c);
    text.split('%').skip(1).any(|rest| rest.trim_start_matches(flags).starts_with('s'))
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

    /// What is printed is read, character by character, where it is asked whether it may be.
    pub(super) fn read_texts(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<()> {
        let asked = !matches!(
            self.options.property,
            Some(Property::UnreachCall | Property::NoOverflow | Property::ValidMemcleanup)
        );
        let Some((_, texts, format)) = READS.iter().find(|(n, ..)| *n == name) else { return Ok(()) };
        if !asked || !self.functions.contains_key("fabius__strlen") {
            return Ok(());
        }
        let mut texts = texts.to_vec();
        if let Some(at) = format
            && let Some(Expression::StringLiteral(words)) = args.get(*at).map(|e| &strip_casts(e).node)
        {
            texts.extend(texts_of_format(&words.node.concat()).into_iter().map(|n| at + 1 + n));
        }
        for n in texts {
            let Some(arg) = args.get(n).filter(|arg| !matches!(strip_casts(arg).node, Expression::StringLiteral(_)))
            else {
                continue;
            };
            let is_text = |ty: &CType| matches!(ty.plain(), CType::Int { bits: 8, .. });
            let ty = self.type_of(arg)?;
            let characters = match ty.plain() {
                CType::Array(of, _) => is_text(of),
                other => other.pointee().is_some_and(is_text),
            };
            if characters {
                self.call_function("fabius__strlen", &args[n..=n], span)?;
            }
        }
        Ok(())
    }
}

/// Which of the arguments behind a format are texts; a length that is an argument itself counts as one.
fn texts_of_format(format: &str) -> Vec<usize> {
    let text = format.replace("%%", "");
    let mut texts = Vec::new();
    let mut n = 0;
    for rest in text.split('%').skip(1) {
        let end = rest.find(|c: char| c.is_ascii_alphabetic() && !"hlzjtLq".contains(c)).unwrap_or(rest.len());
        n += rest[..end].matches('*').count();
        // A length may end a text before its zero does.
        if rest[end..].starts_with('s') && !rest[..end].contains('.') {
            texts.push(n);
        }
        n += 1;
    }
    texts
}
