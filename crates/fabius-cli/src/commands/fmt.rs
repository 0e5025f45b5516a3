//! `fabius fmt`.

use crate::args::FmtArgs;
use crate::failure::{Failure, input};
use crate::program::{is_promela, is_zing};
use crate::{c, files};
use std::path::Path;

/// Runs the command; returns the exit code. Nothing is written if any file is wrong.
pub fn run(args: &FmtArgs) -> Result<u8, Failure> {
    let mut changed = Vec::new();
    for path in &args.files {
        let stdin = path == Path::new(files::STDIN);
        refuse_other_languages(path)?;
        let source = files::read(path)?;
        let formatted = fabius_lang::format(&source)
            .map_err(|diagnostics| Failure::of_file(source.clone(), path.display().to_string(), diagnostics))?;
        if stdin && !args.check {
            files::print_source(&formatted)?;
        } else if formatted != source {
            changed.push((path, formatted));
        }
    }
    if args.check {
        let list: String = changed.iter().map(|(path, _)| format!("{} is not formatted\n", path.display())).collect();
        files::print(&list)?;
        return Ok(u8::from(!changed.is_empty()));
    }
    for (path, formatted) in changed {
        files::write(path, &formatted)?;
    }
    Ok(0)
}

/// Only the modelling language has a layout of ours.
fn refuse_other_languages(path: &Path) -> Result<(), Failure> {
    let other = match () {
        () if is_promela(path) => "in Promela",
        () if is_zing(path) => "in ZING",
        () if c::is_c(path) => "a C program",
        () => return Ok(()),
    };
    let shown = path.display();
    Err(input(format!("`{shown}` is {other}, which is not formatted"))
        .help(format!("`fabius translate --to fab {shown}` writes it in the modelling language, formatted")))
}
