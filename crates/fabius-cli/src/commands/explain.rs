//! `fabius explain`.

use crate::args::values::nearest;
use crate::failure::{Failure, input};
use crate::files;

/// The codes of programs and of traces.
fn codes() -> impl Iterator<Item = &'static str> {
    fabius_lang::codes().chain(fabius_messages::codes())
}

/// Runs the command; returns the exit code.
pub fn run(code: Option<&str>) -> Result<u8, Failure> {
    let Some(code) = code else {
        let list: String = codes().map(|c| format!("{c}\n")).collect();
        files::print(&list)?;
        return Ok(0);
    };
    let wanted = code.to_uppercase();
    match fabius_lang::explain(&wanted).or_else(|| fabius_messages::explain(&wanted)) {
        Some(text) => {
            files::print(&format!("{wanted}: {}\n", text.trim()))?;
            Ok(0)
        }
        None => {
            let failure = input(format!("there is no error code `{code}`"));
            Err(match nearest(&wanted, codes()) {
                Some(near) => failure.help(format!("did you mean `{near}`?")),
                None => failure.help("`fabius explain` lists all codes"),
            })
        }
    }
}
