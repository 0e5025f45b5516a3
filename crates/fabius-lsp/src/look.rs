//! What an editor shows of a program: diagnostics, what a name is, the outline, the steps of a bug.

use crate::document::Document;
use crate::names::{Access, Declared, Id, Kind};
use fabius_lang::program::Class;
use fabius_trace::{Diagnostic, Step};
use lsp_types::{
    self as lsp, DiagnosticRelatedInformation, DiagnosticSeverity, DocumentSymbol, Hover, HoverContents, InlayHint,
    InlayHintLabel, Location, MarkupContent, MarkupKind, NumberOrString, SymbolKind, Uri,
};
use std::collections::BTreeMap;

/// Steps of a bug that are listed under it.
const LISTED: usize = 50;

/// What is wrong with a program, and the bug that was found in it.
pub fn diagnostics(document: &Document, uri: &Uri) -> Vec<lsp::Diagnostic> {
    let there = |span| Location::new(uri.clone(), document.range(span));
    let text = document.diagnostics.iter().map(|d| lsp::Diagnostic {
        range: document.range(d.span),
        severity: Some(severity(d)),
        code: Some(NumberOrString::String(d.code.into())),
        source: Some("fabius".into()),
        message: message(d),
        related_information: Some(
            d.related
                .iter()
                .map(|(span, label)| DiagnosticRelatedInformation { location: there(*span), message: label.clone() })
                .collect(),
        ),
        ..lsp::Diagnostic::default()
    });
    let bug = document.bug.iter().map(|bug| lsp::Diagnostic {
        range: document.range(bug.span),
        severity: Some(DiagnosticSeverity::ERROR),
        source: Some("fabius check".into()),
        message: bug.message.clone(),
        related_information: Some(
            bug.steps
                .iter()
                .enumerate()
                .filter_map(|(number, step)| {
                    let span = step.actions.first()?.span;
                    let message = format!("{}. {}", number + 1, step_in_words(bug, step));
                    Some(DiagnosticRelatedInformation { location: there(span), message })
                })
                .take(LISTED)
                .collect(),
        ),
        ..lsp::Diagnostic::default()
    });
    text.chain(bug).collect()
}

fn severity(d: &Diagnostic) -> DiagnosticSeverity {
    if d.code.starts_with('W') { DiagnosticSeverity::WARNING } else { DiagnosticSeverity::ERROR }
}

fn message(d: &Diagnostic) -> String {
    let label = if d.label.is_empty() { String::new() } else { format!(": {}", d.label) };
    let help = d.help.as_ref().map_or(String::new(), |help| format!("\nhelp: {help}"));
    format!("{}{label}{help}", d.message)
}

/// Who makes a step, and what it does.
fn step_in_words(bug: &fabius_trace::ErrorTrace, step: &Step) -> String {
    let lane = bug.lanes.get(step.lane as usize).map_or("", |lane| lane.name.as_str());
    let who = step.task_name.as_deref().unwrap_or(lane);
    let all: Vec<String> = step.actions.iter().map(action_in_words).collect();
    format!("{who}: {}", all.join("; "))
}

fn action_in_words(action: &fabius_trace::Action) -> String {
    let changes: Vec<String> = action.changes.iter().map(|c| format!("{} = {}", c.variable, c.new)).collect();
    let note = action.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
    let said = if changes.is_empty() { action.text.clone() } else { changes.join(", ") };
    format!("{said}{note}")
}

/// The steps of the bug, each behind the lines where it did something.
pub fn steps(document: &Document) -> Vec<InlayHint> {
    let Some(bug) = &document.bug else { return Vec::new() };
    let mut lines: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (number, step) in bug.steps.iter().enumerate() {
        let lane = bug.lanes.get(step.lane as usize).map_or("", |lane| lane.name.as_str());
        let who = step.task_name.as_deref().unwrap_or(lane);
        for action in &step.actions {
            let values: Vec<String> = action.changes.iter().map(|c| format!("{} = {}", c.variable, c.new)).collect();
            let note = action.note.iter().cloned();
            let rest = values.into_iter().chain(note).collect::<Vec<_>>().join(", ");
            let rest = if rest.is_empty() { rest } else { format!(" {rest}") };
            let line = document.position(action.span.start).line;
            lines.entry(line).or_default().push(format!("{}. {who}{rest}", number + 1));
        }
    }
    let hint = |(line, said): (u32, Vec<String>)| {
        let end = document.offset(lsp::Position::new(line, u32::MAX));
        InlayHint {
            position: document.position(end),
            label: InlayHintLabel::String(said.join(" · ")),
            kind: None,
            text_edits: None,
            tooltip: None,
            padding_left: Some(true),
            padding_right: None,
            data: None,
        }
    };
    lines.into_iter().map(hint).collect()
}

/// What the name at an offset is: its declaration and type, the comment above it, who writes and who reads it.
pub fn hover(document: &Document, offset: u32) -> Option<Hover> {
    let place = document.names.at(offset)?;
    let declared = &document.names.declared[place.of];
    let mut parts = vec![format!("```fabius\n{}\n```", headline(document, declared))];
    let comment = document.comment_above(declared.whole);
    if !comment.is_empty() && declared.kind != Kind::Local {
        parts.push(comment);
    }
    parts.extend(class_of(document, declared).map(str::to_string));
    let by = |access| who(document, place.of, access);
    parts.extend(match declared.kind {
        Kind::Variable | Kind::Field | Kind::Local => {
            [("Written in", by(Access::Writes)), ("Read in", by(Access::Reads))]
                .into_iter()
                .filter(|(_, who)| !who.is_empty())
                .map(|(what, who)| format!("{what} {who}."))
                .collect::<Vec<_>>()
        }
        Kind::Procedure => Some(by(Access::Reads))
            .filter(|who| !who.is_empty())
            .map(|who| format!("Used in {who}."))
            .into_iter()
            .collect(),
        _ => Vec::new(),
    });
    let value = parts.join("\n\n");
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
        range: Some(document.range(place.span)),
    })
}

/// A declaration on one line, without the body it may have.
pub fn headline(document: &Document, declared: &Declared) -> String {
    let text = declared.whole.text(&document.text);
    let body = matches!(declared.kind, Kind::Procedure | Kind::Buffer | Kind::Process | Kind::Init);
    let text = if body { text.split('{').next().unwrap_or(text) } else { text };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(';').to_string();
    match declared.kind {
        Kind::EnumValue => format!("{}.{}", owner(document, declared), declared.name),
        Kind::Field => format!("{}.{text}", owner(document, declared)),
        Kind::Local => match type_of_local(document, declared) {
            Some(ty) => format!("{}: {ty}", declared.name),
            None => text,
        },
        _ => text,
    }
}

fn owner<'a>(document: &'a Document, declared: &Declared) -> &'a str {
    declared.owner.map_or("", |id| &document.names.declared[id].name)
}

/// The type of a local, also of one that is declared without a type.
fn type_of_local(document: &Document, declared: &Declared) -> Option<String> {
    let program = document.program.as_ref()?;
    let owner = owner(document, declared);
    // Each thread of a numbered process has a procedure, `p[0]` and so on.
    let is_its = |name: &str| name.strip_prefix(owner).is_some_and(|rest| rest.is_empty() || rest.starts_with('['));
    let proc = program.procs.iter().find(|proc| is_its(&proc.name))?;
    let mut types = proc.locals.iter().filter(|local| local.name == declared.name).map(|local| &local.ty);
    let ty = types.next()?;
    // Several locals of one name may have several types.
    types.all(|other| other == ty).then(|| fabius_lang::show_type(ty, &program.records, &program.enums))
}

fn class_of(document: &Document, declared: &Declared) -> Option<&'static str> {
    let program = document.program.as_ref()?;
    let global = program.globals.iter().find(|g| declared.kind == Kind::Variable && g.name == declared.name)?;
    Some(match (global.per_thread, global.class) {
        (true, _) => "One copy for each thread.",
        (false, Class::Sync) => "A synchronization variable.",
        (false, Class::Data) => "Data.",
    })
}

/// The procedures in which a declaration is written or read.
fn who(document: &Document, id: Id, access: Access) -> String {
    let mut all: Vec<Id> =
        document.names.places_of(id).filter(|p| p.access == access).filter_map(|place| place.within).collect();
    all.sort_unstable();
    all.dedup();
    all.iter().map(|id| format!("`{}`", document.names.declared[*id].name)).collect::<Vec<_>>().join(", ")
}

/// The declarations, those of records and enums with what is in them.
#[allow(deprecated)] // A field that nobody sets has to be named.
pub fn symbols(document: &Document) -> Vec<DocumentSymbol> {
    let names = &document.names;
    let symbol = |declared: &Declared, children: Option<Vec<DocumentSymbol>>| DocumentSymbol {
        name: declared.name.clone(),
        detail: None,
        kind: symbol_kind(declared.kind),
        tags: None,
        deprecated: None,
        range: document.range(declared.whole),
        selection_range: document.range(declared.span),
        children,
    };
    let outer = names.declared.iter().enumerate().filter(|(_, d)| d.owner.is_none() && d.scope.is_none());
    let with_members = |(id, declared): (Id, &Declared)| {
        symbol(declared, Some(names.members(id).map(|(_, member)| symbol(member, None)).collect()))
    };
    outer.map(with_members).collect()
}

fn symbol_kind(kind: Kind) -> SymbolKind {
    match kind {
        Kind::Constant | Kind::Level => SymbolKind::CONSTANT,
        Kind::Enum => SymbolKind::ENUM,
        Kind::EnumValue => SymbolKind::ENUM_MEMBER,
        Kind::Record => SymbolKind::STRUCT,
        Kind::Field => SymbolKind::FIELD,
        Kind::Variable | Kind::Local => SymbolKind::VARIABLE,
        Kind::Procedure => SymbolKind::FUNCTION,
        Kind::Init | Kind::Buffer | Kind::Process => SymbolKind::EVENT,
        Kind::Claim => SymbolKind::BOOLEAN,
    }
}
