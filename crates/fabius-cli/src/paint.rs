//! Colour, and how many columns there are.

use crate::args::common::When;
use std::io::IsTerminal;
use unicode_width::UnicodeWidthChar;

/// Width of reports that do not go to a terminal.
pub const DEFAULT_WIDTH: usize = 100;

/// Whether to write colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Terminal codes.
    Colour,
    /// Text alone.
    Plain,
}

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// What a reader looks for first.
    Strong,
    /// What may be passed over.
    Faint,
    /// A bug.
    Bad,
    /// Good news.
    Good,
    /// A deviation of the schedule.
    Mark,
    /// A value that changed.
    Value,
}

impl Paint {
    /// For a stream that is a terminal or not.
    pub fn new(when: When, terminal: bool) -> Paint {
        let wanted = match when {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        };
        if wanted { Paint::Colour } else { Paint::Plain }
    }

    /// For standard output.
    pub fn of_stdout(when: When) -> Paint {
        Paint::new(when, std::io::stdout().is_terminal())
    }

    /// For standard error.
    pub fn of_stderr(when: When) -> Paint {
        Paint::new(when, std::io::stderr().is_terminal())
    }

    /// The text in its colour.
    pub fn ink(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            _ if self == Paint::Plain || text.is_empty() => return text.to_string(),
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Bad => "1;31",
            Ink::Good => "1;32",
            Ink::Mark => "1;33",
            Ink::Value => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// The same for diagnostics.
    pub fn style(self) -> fabius_lang::Style {
        match self {
            Paint::Colour => fabius_lang::Style::Colour,
            Paint::Plain => fabius_lang::Style::Plain,
        }
    }
}

/// How an answer is written.
#[derive(Clone, Copy)]
pub struct Style {
    pub paint: Paint,
    /// Columns.
    pub width: usize,
}

impl Style {
    /// For standard output.
    pub fn of_stdout(when: When) -> Style {
        Style { paint: Paint::of_stdout(when), width: stdout_width() }
    }
}

/// Columns of standard output: those of the terminal, or the default.
pub fn stdout_width() -> usize {
    if !std::io::stdout().is_terminal() {
        return DEFAULT_WIDTH;
    }
    terminal_size::terminal_size().map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0))
}

/// Columns that a text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The text without anything that moves the cursor: control characters become spaces.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_direction(c) { ' ' } else { c }).collect()
}

/// Characters that reorder the text around them.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Breaks a text into pieces of at most `columns` columns, at spaces where it can.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_inclusive(' ') {
        if width(&line) + width(word.trim_end()) > columns && !line.trim().is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for c in word.chars() {
            let full = width(&line) + c.width().unwrap_or(0) > columns;
            if full && c == ' ' {
                continue;
            }
            if full && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    if !line.trim().is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines.iter().map(|l| l.trim_end().to_string()).collect()
}

/// The text and spaces up to this many columns.
pub fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_keeps_every_word_and_the_width() {
        assert_eq!(wrap("assert !stopped;", 8), ["assert", "!stopped", ";"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("one two", 7), ["one two"]);
        for columns in 2..20 {
            let text = "x = 漢字 + a[very_long_name_without_any_space];";
            let lines = wrap(text, columns);
            assert!(lines.iter().all(|l| width(l) <= columns), "{columns}: {lines:?}");
            let (joined, wanted): (String, String) = (lines.concat(), text.into());
            assert_eq!(joined.replace(' ', ""), wanted.replace(' ', ""));
        }
    }

    #[test]
    fn wide_characters_are_two_columns() {
        assert_eq!(width("漢字"), 4);
        assert_eq!(pad("漢", 4), "漢  ");
        assert_eq!(printable("a\u{1b}[2Jb\tc"), "a [2Jb c");
    }

    #[test]
    fn colour_only_where_wanted() {
        assert_eq!(Paint::new(When::Auto, false), Paint::Plain);
        assert_eq!(Paint::new(When::Always, false), Paint::Colour);
        assert_eq!(Paint::new(When::Never, true), Paint::Plain);
        assert_eq!(Paint::Plain.ink(Ink::Bad, "x"), "x");
        assert_eq!(Paint::Colour.ink(Ink::Bad, "x"), "\x1b[1;31mx\x1b[0m");
    }
}
