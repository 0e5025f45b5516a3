//! What an editor changes: names, layout, and what is being written.

use crate::document::Document;
use crate::look::headline;
use crate::names::{Declared, Id, Kind, record_of};
use fabius_lang::syntax::ast::{Collection, TypeKind};
use fabius_lang::{CONTEXTUAL, KEYWORDS, LIBRARY};
use fabius_trace::Span;
use lsp_types::{CompletionItem, CompletionItemKind, TextEdit};

/// The edits that give what stands at an offset another name.
///
/// # Errors
/// Why not: the new name cannot be one, or some place would mean something else.
pub fn rename(document: &Document, offset: u32, new: &str) -> Result<Vec<TextEdit>, String> {
    let id = renamed(document, offset)?;
    let is_name = new.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && new.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !is_name || KEYWORDS.contains(&new) {
        return Err(format!("`{new}` cannot be a name"));
    }
    let spans: Vec<Span> = document.names.places_of(id).map(|place| place.span).collect();
    let changed = Document::new(with(&document.text, &spans, new), document.version);
    let meanings = |d: &Document| d.names.places.iter().map(|place| place.of).collect::<Vec<_>>();
    if meanings(&changed) != meanings(document) || changed.program.is_some() != document.program.is_some() {
        return Err(format!("with the name `{new}` the program would mean something else"));
    }
    let edit = |span: &Span| TextEdit::new(document.range(*span), new.into());
    Ok(spans.iter().map(edit).collect())
}

/// What would be given another name.
///
/// # Errors
/// Why nothing can be.
pub fn renamed(document: &Document, offset: u32) -> Result<Id, String> {
    let place = document.names.at(offset).ok_or("there is no name here that this program declares")?;
    Ok(place.of)
}

/// The text with something else in these places, which are in order.
fn with(text: &str, spans: &[Span], new: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    for span in spans {
        out += &text[at..span.start as usize];
        out += new;
        at = span.end as usize;
    }
    out + &text[at..]
}

/// The edits that give the program the one style; none if it does not parse, or has it.
pub fn format(document: &Document) -> Vec<TextEdit> {
    match fabius_lang::format(&document.text) {
        Ok(formatted) if formatted != document.text => vec![TextEdit::new(document.whole(), formatted)],
        _ => Vec::new(),
    }
}

/// What can be written at an offset: behind a dot what the thing has, behind `@` the levels, else names and words.
pub fn completions(document: &Document, offset: u32) -> Vec<CompletionItem> {
    let before = document.text.get(..offset as usize).unwrap_or("");
    let before = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
    if let Some(base) = before.strip_suffix('.').filter(|base| !base.ends_with('.')) {
        return members(document, base, offset);
    }
    let is_level = before.ends_with('@');
    let names = document.names.visible(offset).filter(|(_, d)| (d.kind == Kind::Level) == is_level);
    let mut items: Vec<CompletionItem> = names.map(|(_, declared)| item(document, declared)).collect();
    if !is_level {
        let types = library().into_iter().filter(|d| d.kind == Kind::Record);
        items.extend(types.map(|d| word(&d.name, CompletionItemKind::CLASS)));
        items.extend(KEYWORDS.iter().chain(CONTEXTUAL).map(|name| word(name, CompletionItemKind::KEYWORD)));
    }
    items
}

fn item(document: &Document, declared: &Declared) -> CompletionItem {
    let kind = match declared.kind {
        Kind::Constant | Kind::Level => CompletionItemKind::CONSTANT,
        Kind::Enum => CompletionItemKind::ENUM,
        Kind::EnumValue => CompletionItemKind::ENUM_MEMBER,
        Kind::Record => CompletionItemKind::STRUCT,
        Kind::Field => CompletionItemKind::FIELD,
        Kind::Variable | Kind::Local => CompletionItemKind::VARIABLE,
        Kind::Procedure => CompletionItemKind::FUNCTION,
        Kind::Init | Kind::Buffer | Kind::Process => CompletionItemKind::EVENT,
        Kind::Claim => CompletionItemKind::VALUE,
    };
    CompletionItem { detail: Some(headline(document, declared)), ..word(&declared.name, kind) }
}

fn word(name: &str, kind: CompletionItemKind) -> CompletionItem {
    CompletionItem { label: name.into(), kind: Some(kind), ..CompletionItem::default() }
}

/// Operations of a set of threads.
const SET: [&str; 6] = ["insert", "remove", "remove_any", "clear", "contains", "is_empty"];

/// Operations of a collection.
fn of_collection(kind: Collection) -> &'static [&'static str] {
    match kind {
        Collection::Set => &["insert", "remove", "clear", "pick", "take", "contains", "is_empty"],
        Collection::Bag => &["insert", "remove", "clear", "pick", "take", "count", "contains", "is_empty"],
        Collection::Sequence => {
            &["push", "pop", "push_front", "pop_front", "set", "remove_at", "clear", "contains", "is_empty"]
        }
    }
}

/// Operations of a channel.
const CHANNEL: [&str; 4] = ["send", "receive", "try_send", "try_receive"];

/// What stands behind the dot after this text: names of an enum, fields of a record, operations of an object.
fn members(document: &Document, base: &str, offset: u32) -> Vec<CompletionItem> {
    let names = &document.names;
    let mut path = path(base).into_iter();
    let Some(first) = path.next() else { return Vec::new() };
    // The innermost of several is declared last.
    let start =
        names.visible(offset).filter(|(_, d)| d.name == first).max_by_key(|(_, d)| d.scope.map_or(0, |s| s.start));
    let Some((id, declared)) = start else { return Vec::new() };
    if declared.kind == Kind::Enum {
        return names.members(id).map(|(_, value)| item(document, value)).collect();
    }
    let mut ty = declared.ty.clone();
    for part in path {
        ty = match (ty, part) {
            (Some(TypeKind::Array(element, _) | TypeKind::Map(_, element)), "[]") => Some(element.node),
            (Some(TypeKind::Collection(Collection::Sequence, element, _)), "[]") => Some(element.node),
            (Some(ty), field) => {
                let owner = record_of(&ty).and_then(|name| names.type_named(name));
                owner.and_then(|id| names.members(id).find(|(_, d)| d.name == field)?.1.ty.clone())
            }
            (None, _) => None,
        };
    }
    if declared.is_channel {
        return CHANNEL.map(|name| word(name, CompletionItemKind::METHOD)).into();
    }
    if let Some(TypeKind::Collection(kind, ..)) = ty {
        return of_collection(kind).iter().map(|name| word(name, CompletionItemKind::METHOD)).collect();
    }
    let Some(name) = ty.as_ref().and_then(record_of) else { return Vec::new() };
    if name == "thread_set" {
        return SET.map(|name| word(name, CompletionItemKind::METHOD)).into();
    }
    match names.type_named(name) {
        Some(id) => names.members(id).map(|(_, field)| item(document, field)).collect(),
        None => operations(name),
    }
}

/// The operations of an object of the library.
fn operations(object: &str) -> Vec<CompletionItem> {
    let of = |d: &Declared| d.name.strip_prefix(object).and_then(|name| name.strip_prefix('_')).map(str::to_string);
    let known = library();
    let is_object = known.iter().any(|d| d.kind == Kind::Record && d.name == object);
    known
        .iter()
        .filter(|d| is_object && d.kind == Kind::Procedure)
        .filter_map(of)
        .map(|name| word(&name, CompletionItemKind::METHOD))
        .collect()
}

/// What the library declares.
fn library() -> Vec<Declared> {
    crate::names::Names::of(&fabius_lang::parse_prelude(LIBRARY).0).declared
}

/// `a[i + 1].next` at the end of a text, as `a`, `[]`, `next`.
fn path(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_end();
        if let Some(inside) = rest.strip_suffix(']') {
            let Some(open) = opening(inside) else { return Vec::new() };
            rest = &inside[..open];
            parts.push("[]");
            continue;
        }
        let start = rest.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
        if start.len() == rest.len() {
            return Vec::new();
        }
        parts.push(&rest[start.len()..]);
        match start.strip_suffix('.') {
            Some(before) => rest = before,
            None => break,
        }
    }
    parts.reverse();
    parts
}

/// Where the bracket stands that is closed behind this text.
fn opening(inside: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in inside.char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' if depth == 0 => return Some(at),
            '[' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn paths_are_read_backwards() {
        assert_eq!(path("if a[b[1]].next"), ["a", "[]", "next"]);
        assert_eq!(path("x = node"), ["node"]);
        assert!(path("f()").is_empty());
    }
}
