//! Traces that were saved.

use crate::failure::{Failure, input};
use crate::files;
use fabius_html::ParseError;
use fabius_trace::{ErrorTrace, TRACE_VERSION};
use std::path::{Path, PathBuf};

/// Reads a trace.
pub fn read_trace(path: &Path) -> Result<ErrorTrace, Failure> {
    let shown = path.display();
    fabius_html::parse(&files::read(path)?).map_err(|error| match error {
        ParseError::Damaged(why) => input(format!("`{shown}` is not a trace of Fabius: {why}"))
            .help("write one with `fabius check FILE --trace T.json`"),
        ParseError::Version(version) => input(format!(
            "`{shown}` is a trace of format {version}; this version of Fabius reads format {TRACE_VERSION}"
        ))
        .help("check the program again to get a new trace"),
    })
}

/// The file of that name, from here or from where the trace is.
pub fn beside(trace: &Path, file: &str) -> Option<PathBuf> {
    if file == files::STDIN {
        return None;
    }
    let named = PathBuf::from(file);
    let beside = trace.parent().map(|dir| dir.join(&named));
    [Some(named), beside].into_iter().flatten().find(|p| p.is_file())
}
