//! Programs and recorded runs, as the command line names them.

use crate::args::common::ProgramArgs;
use crate::failure::Failure;
use crate::paint::Paint;
use crate::{c, files, task};
use fabius_lang::program::Program;
use fabius_lang::{Choices, Options};
use fabius_messages::ctp::Ctp;
use fabius_trace::ProgramId;
use std::path::Path;

/// A program as the command line names it.
pub struct Loaded {
    pub source: String,
    pub program: Program,
    pub id: ProgramId,
}

/// Reads and compiles a program.
pub fn load(path: &Path, args: &ProgramArgs, choices: Choices) -> Result<Loaded, Failure> {
    if task::is_task(path) {
        let (file, args) = task::read(path, args)?;
        return compile(files::read(&file)?, &file, &args, choices);
    }
    compile(files::read(path)?, path, args, choices)
}

/// Compiles what was read from a file.
pub fn compile(source: String, path: &Path, args: &ProgramArgs, choices: Choices) -> Result<Loaded, Failure> {
    let ProgramArgs { instances, consts, .. } = args;
    let file = path.display().to_string();
    if c::is_c(path) {
        let consts = &c::constants(args)?;
        let fabius_c::Loaded { source, program } = c::load(path, consts)?;
        // All files of the program are part of what it is.
        let id = fabius_verify::program_id(&file, &source, consts, instances);
        let program = fabius_verify::with_instances(program, instances)?;
        if choices == Choices::Finite {
            c::refuse_wide_choices(&program, &source)?;
        }
        return Ok(Loaded { source, program, id });
    }
    let program = fabius_lang::compile(&source, &Options { consts: consts.clone(), choices })
        .map_err(|diagnostics| Failure::Source { source: source.clone(), file: file.clone(), diagnostics })?;
    let warnings = fabius_lang::warnings(&program);
    if !warnings.is_empty() {
        files::tell(Paint::Plain, &fabius_lang::render(&source, &file, &warnings, fabius_lang::Style::Plain));
    }
    let program = fabius_verify::with_instances(program, instances)?;
    let id = fabius_verify::program_id(&file, &source, consts, instances);
    Ok(Loaded { source, program, id })
}

/// A trace program as the command line names it.
pub struct LoadedTrace {
    pub ctp: Ctp,
    pub id: ProgramId,
}

/// Reads a trace program.
pub fn load_trace(path: &Path) -> Result<LoadedTrace, Failure> {
    let source = files::read(path)?;
    let file = path.display().to_string();
    let ctp = fabius_messages::parse(&source).map_err(|diagnostics| Failure::Source {
        source: source.clone(),
        file: file.clone(),
        diagnostics,
    })?;
    Ok(LoadedTrace { id: fabius_verify::program_id(&file, &source, &[], &[]), ctp })
}
