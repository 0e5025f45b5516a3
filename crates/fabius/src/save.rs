//! What is saved below the `target` folder: traces and comparisons.

use crate::command;
use crate::config::Config;
use fabius_html::{Page, Tone};
use fabius_trace::ErrorTrace;
use std::path::PathBuf;

/// The variable that says where traces are saved; `none`: nowhere.
const VARIABLE: &str = "FABIUS_TRACES";

/// Saves the trace below `target/fabius`, and as a web page beside it, unless none is wanted. A trace that cannot be saved is
/// still shown, and it is said if somebody has said where.
pub(crate) fn save(config: &Config, trace: &ErrorTrace, check: &str, schedule: &str) -> Option<PathBuf> {
    let name = config.name.clone().or_else(command::test_name)?;
    let asked_for = std::env::var_os(VARIABLE).filter(|asked_for| !asked_for.is_empty());
    if !config.saves || asked_for.as_ref().is_some_and(|asked_for| asked_for == "none") {
        return None;
    }
    let folder = asked_for.as_ref().map_or_else(folder, |asked_for| made(asked_for.into()));
    let saved =
        folder.and_then(|folder| write(folder.join(format!("{}.json", file_name(&name))), trace, check, schedule));
    if let (Err(error), Some(asked_for)) = (&saved, asked_for) {
        eprintln!("fabius: the trace cannot be saved in {VARIABLE}={}: {error}", asked_for.display());
    }
    saved.ok()
}

/// Writes both files of a trace.
fn write(path: PathBuf, trace: &ErrorTrace, check: &str, schedule: &str) -> std::io::Result<PathBuf> {
    std::fs::write(&path, serde_json::to_string_pretty(trace)?)?;
    let sources = fabius_html::sources_of(trace, source);
    let page = Page {
        verdict: "bug",
        tone: Tone::Bug,
        headline: &trace.message,
        facts: Vec::new(),
        command: Some(command::again(check, schedule)),
        levels: &[],
        trace: Some(trace),
        sources: &sources,
    };
    std::fs::write(path.with_extension("html"), fabius_html::page(&page))?;
    Ok(path)
}

/// The name of a test as that of a file.
pub(crate) fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}

/// The folder for what is saved.
pub(crate) fn folder() -> std::io::Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(find_target, |d| Some(PathBuf::from(d)));
    made(target.ok_or(std::io::ErrorKind::NotFound)?.join("fabius"))
}

fn made(folder: PathBuf) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The text of a source file: cargo names it from the workspace's folder, and runs the test in the package's.
fn source(file: &str) -> Option<String> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find_map(|a| std::fs::read_to_string(a.join(file)).ok())
}

/// The nearest `target` folder above the current one.
fn find_target() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|a| a.join("target")).find(|t| t.is_dir())
}
