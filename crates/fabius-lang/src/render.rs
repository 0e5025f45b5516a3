//! Diagnostics as text, in the style of rustc.

use crate::diagnostic::Diagnostic;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use fabius_trace::Span;
use std::ops::Range;

/// Whether a report has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text alone.
    Plain,
    /// With terminal colours.
    Colour,
}

/// Diagnostics that are shown of one source text: more help nobody.
pub const SHOWN: usize = 20;

/// The first diagnostics, twenty at most, with the source lines that they speak of, and how many more there are.
pub fn render(source: &str, file_name: &str, diagnostics: &[Diagnostic], style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colour => Renderer::styled(),
    };
    // Where the lines after the first begin.
    let lines: Vec<usize> = source.match_indices('\n').map(|(at, _)| at + 1).collect();
    let one = |d: &Diagnostic| {
        // Only the lines from the first place to the last: the renderer looks at every line it is given.
        let places: Vec<_> = std::iter::once(d.span).chain(d.related.iter().map(|(at, _)| *at)).collect();
        let ranges: Vec<_> = places.iter().map(|at| range(source, *at)).collect();
        let first = ranges.iter().map(|r| r.start).min().unwrap_or(0);
        let last = ranges.iter().map(|r| r.end).max().unwrap_or(0);
        let begin = source[..first].rfind('\n').map_or(0, |at| at + 1);
        let end = source[last..].find('\n').map_or(source.len(), |at| last + at + 1);
        let within = |r: &Range<usize>| r.start - begin..r.end - begin;
        let main = AnnotationKind::Primary.span(within(&ranges[0])).label(d.label.as_str());
        let others = d.related.iter().zip(&ranges[1..]);
        let others = others.map(|((_, label), r)| AnnotationKind::Context.span(within(r)).label(label.as_str()));
        let line = lines.partition_point(|start| *start <= begin) + 1;
        let snippet = Snippet::source(&source[begin..end]).line_start(line).path(file_name);
        let snippet = snippet.annotation(main).annotations(others);
        let level = if d.code.starts_with('W') { Level::WARNING } else { Level::ERROR };
        let mut report = level.primary_title(d.message.as_str()).id(d.code).element(snippet);
        if let Some(help) = &d.help {
            report = report.element(Level::HELP.message(help.as_str()));
        }
        renderer.render(&[report])
    };
    let mut text = diagnostics.iter().take(SHOWN).map(one).collect::<Vec<_>>().join("\n\n");
    text.push('\n');
    if let Some(more) = diagnostics.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text += &format!("\n.. and {more} more\n");
    }
    text
}

/// A range of bytes that lies in the text and begins and ends between characters.
fn range(source: &str, span: Span) -> Range<usize> {
    let inside = |at: u32| {
        let at = (at as usize).min(source.len());
        (0..=at).rev().find(|i| source.is_char_boundary(*i)).unwrap_or(0)
    };
    let start = inside(span.start);
    start..inside(span.end).max(start)
}
