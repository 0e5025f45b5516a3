//! A program as an editor holds it: its text, what its names stand for, what is wrong with it.

use crate::names::Names;
use fabius_lang::program::Program;
use fabius_lang::{Choices, Options};
use fabius_trace::{Diagnostic, ErrorTrace, Span};
use line_index::{LineIndex, TextSize, WideEncoding};
use lsp_types::{Position, Range};

/// A program that is open in an editor.
#[derive(Debug)]
pub struct Document {
    /// The text.
    pub text: String,
    /// The editor's number of this text.
    pub version: i32,
    /// What its names stand for.
    pub names: Names,
    /// What is wrong with it, or suspicious.
    pub diagnostics: Vec<Diagnostic>,
    /// What it means, if nothing is wrong with it.
    pub program: Option<Program>,
    /// The bug that was found in this very text.
    pub bug: Option<ErrorTrace>,
    lines: LineIndex,
}

impl Document {
    /// Reads a program.
    pub fn new(text: String, version: i32) -> Document {
        let names = Names::of(&fabius_lang::parse(&text).0);
        let options = Options { consts: Vec::new(), choices: Choices::Unbounded };
        let (program, diagnostics) = match fabius_lang::compile(&text, &options) {
            Ok(program) => {
                let warnings = fabius_lang::warnings(&program);
                (Some(program), warnings)
            }
            Err(diagnostics) => (None, diagnostics),
        };
        let lines = LineIndex::new(&text);
        Document { text, version, names, diagnostics, program, bug: None, lines }
    }

    /// The byte at a position; beyond the end of a line it is that end.
    pub fn offset(&self, position: Position) -> u32 {
        // Editors name what is behind the last by the largest number there is.
        let last = self.lines.line_col(self.lines.len()).line;
        let Some(line) = Some(position.line).filter(|line| *line <= last).and_then(|line| self.lines.line(line)) else {
            return self.text.len() as u32;
        };
        let text = &self.text[usize::from(line.start())..usize::from(line.end())];
        let text = text.trim_end_matches(['\n', '\r']);
        let mut left = position.character as usize;
        let within = text.char_indices().find(|(_, c)| {
            let is_there = left < c.len_utf16();
            left = left.saturating_sub(c.len_utf16());
            is_there
        });
        u32::from(line.start()) + within.map_or(text.len(), |(at, _)| at) as u32
    }

    /// Where a byte stands.
    pub fn position(&self, offset: u32) -> Position {
        let mut offset = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let place = self.lines.line_col(TextSize::new(offset as u32));
        match self.lines.to_wide(WideEncoding::Utf16, place) {
            Some(wide) => Position::new(wide.line, wide.col),
            None => Position::new(place.line, place.col),
        }
    }

    /// Where a piece of text stands.
    pub fn range(&self, span: Span) -> Range {
        Range::new(self.position(span.start), self.position(span.end.max(span.start)))
    }

    /// The whole text.
    pub fn whole(&self) -> Range {
        self.range(Span::new(0, self.text.len()))
    }

    /// The comment right above a declaration, without its slashes.
    pub fn comment_above(&self, span: Span) -> String {
        let above = self.text.get(..span.start as usize).unwrap_or("");
        // What stands before it on its own line is no line above.
        let above = above.rfind('\n').map_or("", |at| &above[..at]);
        let lines: Vec<&str> = above.lines().rev().map_while(|line| line.trim().strip_prefix("//")).collect();
        lines.iter().rev().map(|line| line.trim()).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_as_editors_do() {
        let document = Document::new("// é𝄞x\r\nvar y: int;".into(), 1);
        let x = document.text.find('x').unwrap() as u32;
        assert_eq!(document.position(x), Position::new(0, 6));
        assert_eq!(document.offset(Position::new(0, 6)), x);
        assert_eq!(document.offset(Position::new(0, 99)), x + 1);
        assert_eq!(document.offset(Position::new(1, 4)), document.text.find('y').unwrap() as u32);
        let end = document.text.len() as u32;
        for beyond in [Position::new(1, u32::MAX), Position::new(7, 0), Position::new(u32::MAX, u32::MAX)] {
            assert_eq!(document.offset(beyond), end);
        }
    }
}
