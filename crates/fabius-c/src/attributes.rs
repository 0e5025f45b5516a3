//! GNU attributes and `_Alignas`: those that say how a type is laid out are kept with their place, those that change what a
//! program does are refused, and all are taken out of the text, because the parser does not know all places that they may have.

use crate::lines::Lines;
use crate::refusal::{Refusal, Result, unsupported};
use fabius_trace::Span;
use std::ops::Range;

/// What an attribute asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    Packed,
    Aligned(i64),
    /// What the constant expression gives that stands behind the program for the attribute at this place.
    AlignedAs(usize),
    /// Bits of the integer that a `typedef` names.
    Mode(u8),
}

/// What the constants are called that say an alignment: with the place of the attribute.
pub(crate) const ALIGNMENT: &str = "__fabius_alignment_";

/// An attribute that says how something is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attribute {
    /// In the preprocessed text.
    pub at: usize,
    pub asks: Asks,
    /// Where what has looked at it begins.
    pub used: Option<usize>,
}

const REFUSED: [&str; 8] = [
    "cleanup",
    "destructor",
    "vector_size",
    "alias",
    "ifunc",
    "scalar_storage_order",
    "transparent_union",
    "ms_struct",
];

/// What a text says on how types are laid out.
#[derive(Default)]
pub(crate) struct Layouts {
    pub attributes: Vec<Attribute>,
    /// From which places on types are aligned to how much at most.
    pub packs: Vec<(usize, i64)>,
    /// Functions that run before `main`, and where that is said.
    pub constructors: Vec<(String, Span)>,
}

/// Takes the attributes of the user's files out of the text.
pub(crate) fn take(text: &mut String, lines: &Lines) -> Result<Layouts> {
    let mut found = Vec::new();
    let mut packs = Packs::default();
    let mut constructors = Vec::new();
    let mut blank: Vec<Range<usize>> = Vec::new();
    let mut behind = String::new();
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'#' if i == 0 || bytes[i - 1] == b'\n' => {
                let end = i + bytes[i..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - i);
                if let Some(words) = text[i + 1..end].trim_start().strip_prefix("pragma") {
                    let (words, span) = (words.trim(), lines.span(i, end));
                    match words.strip_prefix("pack") {
                        Some(rest) if rest.trim_start().starts_with('(') => packs.see(i, rest.trim(), span)?,
                        _ if lines.is_system(i) => {}
                        _ => pragma(words, span)?,
                    }
                }
                i = end;
            }
            b'"' | b'\'' => i = behind_quotes(bytes, i),
            c if c.is_ascii_alphabetic() || c == b'_' => {
                let end = i + bytes[i..].iter().position(|b| !is_word(*b)).unwrap_or(bytes.len() - i);
                let word = &text[i..end];
                if !matches!(word, "__attribute__" | "__attribute" | "_Alignas") || lines.is_system(i) {
                    i = end;
                    continue;
                }
                let Some(close) = closing(bytes, end) else { break };
                let inner = &text[end..=close];
                if word == "_Alignas" {
                    let asks = aligned(inner, i, &mut behind, Argument::TypeOrNumber);
                    found.push(Attribute { at: i, asks, used: None });
                } else {
                    let span = lines.span(i, close + 1);
                    attributes(inner, i, span, &mut found, &mut behind)?;
                    if inner.contains("constructor") {
                        constructors.push((constructor(text, i, close + 1, inner, span)?, span));
                    }
                }
                blank.push(i..close + 1);
                i = close + 1;
            }
            c if c.is_ascii_digit() => i += bytes[i..].iter().position(|b| !is_word(*b)).unwrap_or(bytes.len() - i),
            _ => i += 1,
        }
    }
    for range in blank {
        let spaces: String = text[range.clone()].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        // The same number of bytes, so that places stay.
        if spaces.len() == range.len() {
            text.replace_range(range, &spaces);
        }
    }
    *text += &behind;
    // What is declared so more than once is one function.
    let mut names = std::collections::BTreeSet::new();
    constructors.retain(|(name, _): &(String, Span)| names.insert(name.clone()));
    if let Some((_, span)) = constructors.get(1) {
        return unsupported(*span, "more than one `constructor` is not taken")
            .map_err(|e: Refusal| e.help("call them from one"));
    }
    Ok(Layouts { attributes: found, packs: packs.found, constructors })
}

/// The function that an attribute `constructor` is about: the one whose name comes behind it, or whose declarator it ends.
fn constructor(text: &str, from: usize, to: usize, inner: &str, span: Span) -> Result<String> {
    let not_taken = || {
        unsupported(span, "this attribute `constructor` is not taken")
            .map_err(|e: Refusal| e.help("write it in front of a function without parameters"))
    };
    let words = inner.trim_matches(|c: char| c == '(' || c == ')' || c.is_whitespace());
    if !matches!(words, "constructor" | "__constructor__") {
        return not_taken();
    }
    let rest = text[to..].trim_start();
    let head = match rest.starts_with([';', '{']) {
        true => text[..from].rfind('(').map(|open| &text[..open]),
        false => rest.find('(').map(|open| &rest[..open]),
    };
    let name =
        head.map(str::trim_end).and_then(|head| head.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next());
    match name {
        Some(name) if !name.is_empty() => Ok(name.into()),
        _ => not_taken(),
    }
}

/// Those that lay out types in another way, or give names another meaning, are refused.
fn pragma(words: &str, span: Span) -> Result<()> {
    let name = words.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    let help = match name {
        "options" => "write `__attribute__((packed))` behind the `struct`",
        "scalar_storage_order" | "ms_struct" => "read the bytes one by one",
        "weak" | "redefine_extname" => "name the function that is meant",
        _ => return Ok(()),
    };
    unsupported(span, format!("`#pragma {name}` is not taken")).map_err(|e: Refusal| e.help(help))
}

/// What `#pragma pack` has said so far.
#[derive(Default)]
struct Packs {
    /// What was pushed: names, and what held then.
    pushed: Vec<(Option<String>, i64)>,
    /// From where on types are aligned to how much at most.
    found: Vec<(usize, i64)>,
}

impl Packs {
    /// `(2)`, `()`, `(push)`, `(push, name, 2)`, `(pop)`, `(pop, name)`.
    fn see(&mut self, at: usize, words: &str, span: Span) -> Result<()> {
        let not_taken = || unsupported(span, "this `#pragma pack` is not taken");
        let Some(inner) = words.strip_prefix('(').and_then(|w| w.strip_suffix(')')) else { return not_taken() };
        let mut words = inner.split(',').map(str::trim).filter(|w| !w.is_empty()).peekable();
        let now = self.found.last().map_or(i64::MAX, |(_, most)| *most);
        let mut next = now;
        match words.peek().copied() {
            None => next = i64::MAX,
            Some("push") => {
                words.next();
                let name = words.next_if(|w| !w.starts_with(|c: char| c.is_ascii_digit())).map(String::from);
                self.pushed.push((name, now));
            }
            Some("pop") => {
                words.next();
                let name = words.next_if(|w| !w.starts_with(|c: char| c.is_ascii_digit()));
                let known = |(n, _): &(Option<String>, i64)| name.is_none() || n.as_deref() == name;
                if let Some(i) = self.pushed.iter().rposition(known) {
                    next = self.pushed[i].1;
                    self.pushed.truncate(i);
                }
            }
            Some(_) => {}
        }
        if let Some(word) = words.next() {
            next = match word.parse() {
                Ok(0) => i64::MAX,
                Ok(n @ (1 | 2 | 4 | 8 | 16)) => n,
                _ => return not_taken(),
            };
        }
        if words.next().is_some() {
            return not_taken();
        }
        self.found.push((at, next));
        Ok(())
    }
}

/// The attributes of one list.
fn attributes(text: &str, at: usize, span: Span, found: &mut Vec<Attribute>, behind: &mut String) -> Result<()> {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] == b'"' {
            i = behind_quotes(bytes, i);
            continue;
        }
        if !is_word(bytes[i]) {
            i += 1;
            continue;
        }
        let end = i + bytes[i..].iter().position(|b| !is_word(*b)).unwrap_or(bytes.len() - i);
        let name = text[i..end].trim_matches('_');
        let open = end + bytes[end..].iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
        let close = if bytes.get(open) == Some(&b'(') { closing(bytes, open) } else { None };
        let argument = close.map(|close| &text[open..=close]);
        let asks = match name {
            "packed" => Some(Asks::Packed),
            "aligned" => Some(argument.map_or(Asks::Aligned(16), |a| aligned(a, at, behind, Argument::Number))),
            "mode" => match argument.map(|a| a.trim_matches(|c: char| !c.is_ascii_alphanumeric())) {
                Some("QI" | "byte") => Some(Asks::Mode(8)),
                Some("HI") => Some(Asks::Mode(16)),
                Some("SI") => Some(Asks::Mode(32)),
                Some("DI" | "word" | "pointer") => Some(Asks::Mode(64)),
                _ => return unsupported(span, "this attribute `mode` is not taken"),
            },
            _ if REFUSED.contains(&name) => return unsupported(span, format!("the attribute `{name}` is not taken")),
            _ => None,
        };
        found.extend(asks.map(|asks| Attribute { at, asks, used: None }));
        i = close.map_or(end, |close| close + 1);
    }
    Ok(())
}

pub(crate) fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

pub(crate) fn behind_quotes(bytes: &[u8], from: usize) -> usize {
    let mut i = from + 1;
    while i < bytes.len() && bytes[i] != bytes[from] {
        i += if bytes[i] == b'\\' { 2 } else { 1 };
    }
    i + 1
}

/// The parenthesis that closes the next one.
fn closing(bytes: &[u8], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut i = from;
    while i < bytes.len() {
        match bytes[i] {
            b'"' | b'\'' => {
                i = behind_quotes(bytes, i);
                continue;
            }
            b'(' => depth += 1,
            b')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
        i += 1;
    }
    None
}

/// What may stand in parentheses.
#[derive(Clone, Copy, PartialEq)]
enum Argument {
    Number,
    /// As behind `_Alignas`.
    TypeOrNumber,
}

/// The alignment that is asked for in parentheses. What is no plain number is evaluated behind the program, where the parser knows
/// the names of types.
fn aligned(text: &str, at: usize, behind: &mut String, what: Argument) -> Asks {
    if let Some(n) = number(text) {
        return Asks::Aligned(n);
    }
    let is_type = |word: &str| {
        matches!(word, "struct" | "union" | "enum" | "char" | "short" | "int" | "long" | "unsigned" | "signed")
            || matches!(word, "void" | "float" | "double" | "_Bool")
            || word.ends_with("_t")
    };
    let inner = text.trim().trim_start_matches('(').trim_start();
    let word = inner.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    let of_type = if what == Argument::TypeOrNumber && is_type(word) { "_Alignof" } else { "" };
    *behind += &format!("\nenum {{ {ALIGNMENT}{at} = {of_type}{} }};\n", text.replace('\n', " "));
    Asks::AlignedAs(at)
}

/// A number in parentheses.
fn number(text: &str) -> Option<i64> {
    let digits = text.trim_matches(|c: char| c == '(' || c == ')' || c.is_whitespace());
    let n: i64 = digits.trim_end_matches(['u', 'U', 'l', 'L']).parse().ok()?;
    (n > 0 && n & (n - 1) == 0).then_some(n)
}
