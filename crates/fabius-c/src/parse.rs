//! Parsing of preprocessed text.
//!
//! The parser knows C11 and most of GNU's extensions. What it does not know may stand in a header of the system, where it matters
//! to nobody: such a declaration is left out, and if the program uses it all the same, its name is not declared.

use crate::lines::Lines;
use crate::refusal::Refusal;
use lang_c::ast::TranslationUnit;
use lang_c::driver::{Config, Flavor, SyntaxError, parse_preprocessed};

/// So many declarations are left out at most.
const MOST: usize = 200;

/// The program that a preprocessed text is.
pub fn parse(mut text: String, lines: &Lines) -> Result<TranslationUnit, Refusal> {
    text = crate::dollars::without_dollars(text);
    let config = Config { cpp_command: String::new(), cpp_options: Vec::new(), flavor: Flavor::GnuC11 };
    for _ in 0..MOST {
        let error = match parse_preprocessed(&config, text) {
            Ok(parsed) => return Ok(parsed.unit),
            Err(error) => error,
        };
        let unknown = declaration_at(&error.source, error.offset);
        if !lines.is_system(unknown.start) || !lines.is_system(error.offset) {
            return Err(refusal(error, lines));
        }
        let (before, rest) = error.source.split_at(unknown.start);
        let (left_out, behind) = rest.split_at(unknown.len());
        let blank: String = left_out.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        text = format!("{before}{blank}{behind}");
    }
    let (span, message) = (fabius_trace::Span::default(), "the headers of the system are not understood".to_string());
    Err(Refusal { code: "E0701", span, message, help: None })
}

fn refusal(error: SyntaxError, lines: &Lines) -> Refusal {
    let end = error.source.len();
    let span = lines.span(error.offset.min(end), (error.offset + 1).min(end));
    let mut expected: Vec<&str> = error.expected.into_iter().collect();
    expected.sort_unstable();
    let some = if expected.len() <= 6 { format!(": expected {}", expected.join(", ")) } else { String::new() };
    Refusal { code: "E0701", span, message: format!("the C program does not parse{some}"), help: None }
}

/// The bytes of the declaration or function of the file that a place is in.
fn declaration_at(text: &str, at: usize) -> std::ops::Range<usize> {
    let (mut start, mut depth, mut is_function) = (None, 0usize, false);
    // The last character that is no blank.
    let mut last = b';';
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let c = bytes[i];
        if start.is_none() && !c.is_ascii_whitespace() && c != b'#' {
            start = Some(i);
        }
        match c {
            b'#' if i == 0 || bytes[i - 1] == b'\n' => {
                i += bytes[i..].iter().position(|b| *b == b'\n').unwrap_or(bytes.len() - i);
                continue;
            }
            b'"' | b'\'' => {
                i += 1;
                while i < bytes.len() && bytes[i] != c {
                    i += if bytes[i] == b'\\' { 2 } else { 1 };
                }
            }
            b'{' | b'(' | b'[' => {
                is_function |= c == b'{' && depth == 0 && last == b')';
                depth += 1;
            }
            b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let ends = depth == 0 && (c == b';' || c == b'}' && is_function);
        if !c.is_ascii_whitespace() {
            last = c;
        }
        i += 1;
        if ends {
            if i > at {
                return start.unwrap_or(at)..i;
            }
            (start, is_function, last) = (None, false, b';');
        }
    }
    start.unwrap_or(at).min(text.len())..text.len()
}
