//! `fabius cc` and `fabius c++`: the compiler with what makes a program one that can be explored.

use crate::args::native::CompileArgs;
use crate::failure::{Failure, usage};
use crate::native::library;
use fabius_native::Language;
use std::os::unix::process::ExitStatusExt;

/// Runs the command; returns the exit code, which is the compiler's.
pub fn run(language: Language, args: &CompileArgs) -> Result<u8, Failure> {
    let (with, args) = match args.args.split_first() {
        Some((first, [with, rest @ ..])) if first == "--with" => (Some(with.as_os_str()), rest),
        _ => (None, args.args.as_slice()),
    };
    let library = library()?;
    let mut command = fabius_native::compile(language, with, &library, args).map_err(usage)?;
    if args.iter().any(|a| a == "-v") {
        let words: Vec<String> = command.get_args().map(|a| a.to_string_lossy().into_owned()).collect();
        eprintln!("{} {}", command.get_program().display(), words.join(" "));
    }
    let status = command.status().map_err(|e| {
        usage(format!("`{}` cannot be run: {e}", command.get_program().display()))
            .help("install it, or name another compiler: `fabius cc --with gcc-13 ..`")
    })?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8)
}
