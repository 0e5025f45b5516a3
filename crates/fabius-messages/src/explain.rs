//! What is behind the code of a diagnostic of a trace: `fabius explain E0605`.
//!
//! The pages are in `explain.md`: a heading for each code, a text, a trace that is wrong and one that is right.

const PAGES: &str = include_str!("explain.md");

/// All pages: code and text.
fn pages() -> impl Iterator<Item = (&'static str, &'static str)> {
    PAGES.split("\n## ").skip(1).filter_map(|page| page.split_once(' ')).map(|(code, text)| (code, text.trim()))
}

/// The codes that have a page, in order.
pub fn codes() -> impl Iterator<Item = &'static str> {
    pages().map(|(code, _)| code)
}

/// The page of a code.
pub fn explain(code: &str) -> Option<&'static str> {
    pages().find(|(c, _)| *c == code).map(|(_, text)| text)
}
