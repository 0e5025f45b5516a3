//! From places in preprocessed text to places in the user's files, by the markers of the preprocessor.

use fabius_trace::Span;
use std::path::Path;

/// Where the lines of a file are in the whole text: first byte, end.
type Places = Vec<(usize, usize)>;

/// The user's files as one text, and where each line of the preprocessed text comes from.
pub struct Lines {
    /// The text that all spans point into: the user's file; if there are several, one after the other.
    pub source: String,
    /// Which parts of it are which file.
    pub files: Vec<(String, std::ops::Range<usize>)>,
    /// For each line of the preprocessed text: its first byte there, and the line in `source` (first byte, end).
    lines: Vec<(usize, Option<(usize, usize)>)>,
    /// For each of these lines whether it is of a header of the system.
    system: Vec<bool>,
    text: String,
}

impl Lines {
    /// Reads the markers. `own` are texts that are known already: name and text.
    pub fn new(text: &str, own: &[(String, String)]) -> Lines {
        let mut source = String::new();
        let mut files: Vec<(String, Option<Places>)> = Vec::new();
        let mut parts: Vec<(String, std::ops::Range<usize>)> = Vec::new();
        let mut add = |source: &mut String, name: &str, system: bool| -> usize {
            if let Some(at) = files.iter().position(|(n, _)| n == name) {
                return at;
            }
            let found = own.iter().find(|(n, _)| n == name).map(|(_, text)| text.clone());
            let read = || (!system).then(|| std::fs::read_to_string(Path::new(name)).ok()).flatten();
            let places = found.or_else(read).map(|text| {
                let first = source.len();
                source.push_str(&text);
                if !source.is_empty() && !source.ends_with('\n') {
                    source.push('\n');
                }
                parts.push((name.to_string(), first..source.len()));
                let mut at = first;
                text.split_inclusive('\n')
                    .map(|line| {
                        let begin = at;
                        at += line.len();
                        (begin, begin + line.trim_end().len())
                    })
                    .collect()
            });
            files.push((name.to_string(), places));
            files.len() - 1
        };
        for (name, _) in own {
            add(&mut source, name, false);
        }
        // Of files that are preprocessed already: which of their lines are of the system's headers.
        let inner: Vec<Vec<bool>> = own.iter().map(|(_, text)| lines_of_system(text)).collect();
        let mut lines = Vec::new();
        let (mut file, mut line, mut at) = (None, 1usize, 0);
        let mut of_file = Vec::new();
        for each in text.split_inclusive('\n') {
            match marker(each) {
                Some((number, name, system)) => {
                    file = Some(add(&mut source, name, system));
                    line = number;
                    of_file.push((at, None));
                }
                None => {
                    of_file.push((at, file.map(|f| (f, line))));
                    line += 1;
                }
            }
            at += each.len();
        }
        let mut of_system = Vec::new();
        for (_, place) in &of_file {
            of_system.push(match place {
                Some((f, line)) if files[*f].1.is_some() => {
                    inner.get(*f).and_then(|lines| lines.get(line - 1)).copied().unwrap_or(false)
                }
                _ => true,
            });
        }
        for (at, place) in of_file {
            let place = place.and_then(|(f, line): (usize, usize)| files[f].1.as_ref()?.get(line - 1).copied());
            lines.push((at, place));
        }
        Lines { source, files: parts, lines, system: of_system, text: text.to_string() }
    }

    /// The same text with blanks in place of what the parser does not look at.
    pub fn set_text(&mut self, text: &str) {
        self.text = text.to_string();
    }

    /// The preprocessed text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a place of the preprocessed text is in a header of the system.
    pub fn is_system(&self, at: usize) -> bool {
        self.system.get(self.line_of(at)).copied().unwrap_or(true)
    }

    fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|(first, _)| *first <= at).saturating_sub(1)
    }

    /// The place in the user's files. Where a macro stands it is not the same text: then the whole line.
    pub fn span(&self, start: usize, end: usize) -> Span {
        let (first, last) = (self.line_of(start), self.line_of(end.saturating_sub(1).max(start)));
        let Some((begin_text, Some((begin, stop)))) = self.lines.get(first).copied() else { return Span::default() };
        let line = &self.source[begin..stop];
        let indent = line.len() - line.trim_start().len();
        let column = start - begin_text;
        if first != last {
            let until = self.lines.get(last).and_then(|(_, place)| *place).map_or(stop, |(_, stop)| stop);
            return Span::new(begin + indent, until.max(stop));
        }
        // Who reports an error may count one byte for a character of several.
        let wanted = self.text.get(start..end).unwrap_or_default();
        let found = line.match_indices(wanted).map(|(i, _)| i).min_by_key(|i| i.abs_diff(column));
        match found {
            Some(i) if !wanted.is_empty() => Span::new(begin + i, begin + i + wanted.len()),
            _ => Span::new(begin + indent, stop),
        }
    }
}

/// `# 12 "file" flags`: line, file, whether it is of the system.
fn marker(line: &str) -> Option<(usize, &str, bool)> {
    let rest = line.strip_prefix("# ").or_else(|| line.strip_prefix("#line "))?;
    let (number, rest) = rest.split_once(' ')?;
    let rest = rest.strip_prefix('"')?;
    let (name, flags) = rest.split_once('"')?;
    let system = flags.split_whitespace().any(|f| f == "3") || name.starts_with('<') || name.starts_with("/usr/");
    Some((number.parse().ok()?, name, system))
}

/// For each line of a text whether its markers say that it is of a header of the system.
fn lines_of_system(text: &str) -> Vec<bool> {
    let mut system = false;
    let of_line = |line: &str| {
        if let Some((_, _, now)) = marker(line) {
            system = now;
        }
        system
    };
    text.lines().map(of_line).collect()
}

/// The lines of a preprocessed text that are of no header of the system.
pub fn of_user(text: &str) -> String {
    let mut system = false;
    let mut own = String::new();
    for line in text.split_inclusive('\n') {
        match marker(line) {
            Some((_, _, now)) => system = now,
            None if system => {}
            None => own += line,
        }
    }
    own
}

/// Whether a text has markers of a preprocessor in it.
pub fn is_preprocessed(text: &str) -> bool {
    text.lines().any(|line| marker(line).is_some())
}

/// The text with blank lines in place of markers, so that its lines keep their numbers.
pub fn without_markers(text: &str) -> String {
    text.lines().map(|line| if marker(line).is_some() { "\n".into() } else { format!("{line}\n") }).collect()
}
