//! Colour, and how many columns there are.

use crate::args::common::When;
use std::io::IsTerminal;
use unicode_width::UnicodeWidthChar;

/// Width of reports that do not go to a terminal.
const DEFAULT_WIDTH: usize = 100;

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
            When::Auto => terminal && !is_dumb() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
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
    /// For files.
    pub const IN_FILES: Style = Style { paint: Paint::Plain, width: DEFAULT_WIDTH };

    /// For standard output.
    pub fn of_stdout(when: When) -> Style {
        Style { paint: Paint::of_stdout(when), width: stdout_width() }
    }
}

/// Whether the terminal says that it knows no codes.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Columns of standard error, if a line there can be written again and somebody sees it.
pub fn progress_width() -> Option<usize> {
    let seen = std::io::stderr().is_terminal() && !is_dumb();
    seen.then(|| terminal_size::terminal_size_of(std::io::stderr()).map_or(DEFAULT_WIDTH, |(w, _)| usize::from(w.0)))
}

/// Columns of standard output: those of the terminal, or the default.
pub fn stdout_width() -> usize {
    if !std::io::stdout().is_terminal() {
        return DEFAULT_WIDTH;
    }
    let size = terminal_size::terminal_size_of(std::io::stdout()).filter(|(width, _)| width.0 > 0);
    size.map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0))
}

/// Columns that a text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// The text without anything that moves the cursor: control characters become spaces.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if moves(c) { ' ' } else { c }).collect()
}

/// The same for each line.
pub fn printable_lines(text: &str) -> String {
    text.chars().map(|c| if moves(c) && c != '\n' { ' ' } else { c }).collect()
}

/// A source text in which every character is where it was, and none moves the cursor but ends of lines and tabs.
pub fn printable_source(text: &str) -> String {
    let space = |c: char| match c.len_utf8() {
        _ if !moves(c) || c == '\n' || c == '\t' => c,
        1 => ' ',
        2 => '\u{a0}',
        _ => '\u{2002}',
    };
    text.chars().map(space).collect()
}

/// What a terminal may get: lines, and codes of colours where colours are wanted. All that a program, a file or an option says
/// is made printable before; here nothing slips through that was forgotten.
pub fn for_terminal(text: &str, paint: Paint) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c| moves(c) && c != '\n') {
        out += &rest[..at];
        rest = &rest[at..];
        let length = match colour(rest) {
            Some(length) if paint == Paint::Colour => {
                out += &rest[..length];
                length
            }
            _ => {
                out.push(' ');
                rest.chars().next().map_or(1, char::len_utf8)
            }
        };
        rest = &rest[length..];
    }
    out + rest
}

/// The length of a code that only changes the colour, at the beginning of a text.
fn colour(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\x1b[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    numbers[end..].starts_with('m').then_some(end + 3)
}

/// Control characters, and characters that reorder the text around them or break lines.
pub fn moves(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text, cut where it has more columns than these.
pub fn clip(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_string();
    }
    let mut out = String::new();
    for c in text.chars() {
        if width(&out) + c.width().unwrap_or(0) + 2 > columns {
            break;
        }
        out.push(c);
    }
    out + &".."[..columns.min(2)]
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
    fn a_terminal_gets_lines_and_colours_alone() {
        let hostile = "a\u{1b}[2J\u{1b}]0;title\u{7}\u{9b}31m\u{202e}b\r\n\u{1b}[31mred";
        assert!(!for_terminal(hostile, Paint::Plain).contains(|c| moves(c) && c != '\n'));
        let coloured = for_terminal(hostile, Paint::Colour);
        assert_eq!(coloured.matches('\u{1b}').count(), 1, "{coloured:?}");
        let painted = Paint::Colour.ink(Ink::Bad, "bug");
        assert_eq!(for_terminal(&painted, Paint::Colour), painted);
        assert_eq!(printable_source("a\u{7f}\u{9b}\u{202e}\tb\n").len(), "a\u{7f}\u{9b}\u{202e}\tb\n".len());
    }

    #[test]
    fn clipping_keeps_to_the_columns() {
        assert_eq!((clip("abcdef", 6).as_str(), clip("abcdef", 5).as_str()), ("abcdef", "abc.."));
        assert!((0..9).all(|n| width(&clip("漢字漢字漢字", n)) <= n));
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
