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

/// All diagnostics with the source lines that they speak of.
pub fn render(source: &str, file_name: &str, diagnostics: &[Diagnostic], style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colour => Renderer::styled(),
    };
    let one = |d: &Diagnostic| {
        let main = AnnotationKind::Primary.span(range(source, d.span)).label(d.label.as_str());
        let others = d.related.iter();
        let others = others.map(|(at, label)| AnnotationKind::Context.span(range(source, *at)).label(label.as_str()));
        let snippet = Snippet::source(source).path(file_name).annotation(main).annotations(others);
        let mut report = Level::ERROR.primary_title(d.message.as_str()).id(d.code).element(snippet);
        if let Some(help) = &d.help {
            report = report.element(Level::HELP.message(help.as_str()));
        }
        renderer.render(&[report])
    };
    let mut text = diagnostics.iter().map(one).collect::<Vec<_>>().join("\n\n");
    text.push('\n');
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
