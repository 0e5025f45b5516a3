//! Programs and recorded runs, as the command line names them.

use crate::args::common::ProgramArgs;
use crate::failure::{Failure, input, of_proof};
use crate::paint::Paint;
use crate::{c, files, task};
use fabius_lang::program::Program;
use fabius_lang::{Choices, Options};
use fabius_messages::ctp::Ctp;
use fabius_trace::{ProgramId, Reason, Verdict};
use fabius_verify::Report;
use fabius_verify::prove::{Budget, ProofError, within};
use std::path::Path;

/// A program as the command line names it.
pub struct Loaded {
    pub source: String,
    pub id: ProgramId,
    /// The program, or the limit that was hit before it was read.
    pub program: Result<Program, Reason>,
    /// What is assumed of it that its text does not say.
    pub assumed: Option<String>,
    /// Whether it starts threads in a loop without an end.
    pub starts_without_end: bool,
}

impl Loaded {
    /// Says in an answer what is assumed.
    pub fn qualify(&self, report: &mut Report) {
        let Some(words) = &self.assumed else { return };
        match &mut report.verdict {
            Verdict::NoBugWithinBounds { bounds } | Verdict::Unknown { bounds, .. } => {
                bounds.limits.push(words.clone())
            }
            Verdict::Verified => report.limits.push(words.clone()),
            Verdict::Bug { .. } => {}
        }
    }
}

/// Reads and compiles a program.
pub fn load(path: &Path, args: &ProgramArgs, choices: Choices, budget: Budget<'_>) -> Result<Loaded, Failure> {
    if task::is_task(path) {
        let (file, args) = task::read(path, args)?;
        return compile(files::read(&file)?, &file, &args, choices, budget);
    }
    compile(files::read(path)?, path, args, choices, budget)
}

/// Compiles what was read from a file.
pub fn compile(
    source: String,
    path: &Path,
    args: &ProgramArgs,
    choices: Choices,
    budget: Budget<'_>,
) -> Result<Loaded, Failure> {
    if c::is_c(path) {
        return compile_c(source, path, args, budget);
    }
    c::refuse_for_others(path, args)?;
    if path.extension().is_some_and(|e| e == "ctp") {
        return Err(input(format!("`{}` is a recorded run, and no program", path.display()))
            .help(format!("ask about it with `fabius trace {}`", path.display())));
    }
    let ProgramArgs { instances, consts, .. } = args;
    let file = path.display().to_string();
    let id = fabius_verify::program_id(&file, &source, consts, instances);
    let (text, options) = (source.clone(), Options { consts: consts.clone(), choices });
    let (promela, zing) = (is_promela(path), is_zing(path));
    let compiled = in_budget(budget, move || {
        if promela {
            return Ok((fabius_promela::compile(&text, &options.consts)?, Vec::new()));
        }
        if zing {
            return Ok((fabius_zing::compile(&text, &options.consts)?, Vec::new()));
        }
        let program = fabius_lang::compile(&text, &options)?;
        let warnings = fabius_lang::warnings(&program);
        Ok((program, warnings))
    })?;
    let program = match compiled {
        Err(reason) => Err(reason),
        Ok(Err(diagnostics)) => return Err(Failure::of_file(source, file, diagnostics)),
        Ok(Ok((program, warnings))) => {
            if !warnings.is_empty() {
                files::tell(Paint::Plain, &fabius_lang::render(&source, &file, &warnings, fabius_lang::Style::Plain));
            }
            Ok(fabius_verify::with_instances(program, instances)?)
        }
    };
    Ok(Loaded { source, id, program, assumed: None, starts_without_end: false })
}

/// Whether a file is in Promela.
pub fn is_promela(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "pml" || e == "promela")
}

/// Whether a file is in ZING.
pub fn is_zing(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "zing")
}

/// The same of a C program, all of whose files are part of what it is.
fn compile_c(source: String, path: &Path, args: &ProgramArgs, budget: Budget<'_>) -> Result<Loaded, Failure> {
    let (instances, consts) = (&args.instances, c::constants(args)?);
    let id_of = |source: &str| fabius_verify::program_id(&path.display().to_string(), source, &consts, instances);
    let (file, options) = (path.to_path_buf(), consts.clone());
    let fabius_c::Loaded { source, program, havocked, weaker, starts_without_end } =
        match in_budget(budget, move || c::load(&file, &options))? {
            Ok(loaded) => loaded?,
            Err(reason) => {
                return Ok(Loaded {
                    id: id_of(&source),
                    source,
                    program: Err(reason),
                    assumed: None,
                    starts_without_end: false,
                });
            }
        };
    let program = fabius_verify::with_instances(program, instances)?;
    Ok(Loaded {
        id: id_of(&source),
        source,
        program: Ok(program),
        assumed: c::assumed(&havocked, weaker, c::looks_for_races(args)?),
        starts_without_end,
    })
}

/// What `--memory` leaves for reading where it is for states: what a small program needs, at least.
pub fn for_reading(memory: Option<u64>) -> Option<u64> {
    const LEAST: u64 = 64 << 20;
    memory.map(|memory| memory.max(LEAST))
}

/// A trace program as the command line names it.
pub struct LoadedTrace {
    pub id: ProgramId,
    /// The trace. If a limit was hit before it was read there is its text alone, and the reason.
    pub ctp: Ctp,
    pub cut: Option<Reason>,
}

/// Reads a trace program.
pub fn load_trace(path: &Path, budget: Budget<'_>) -> Result<LoadedTrace, Failure> {
    let source = files::read(path)?;
    let file = path.display().to_string();
    let id = fabius_verify::program_id(&file, &source, &[], &[]);
    let text = source.clone();
    match in_budget(budget, move || fabius_messages::parse(&text))? {
        Ok(Ok(ctp)) => Ok(LoadedTrace { id, ctp, cut: None }),
        Ok(Err(diagnostics)) => Err(Failure::of_file(source, file, diagnostics)),
        Err(reason) => Ok(LoadedTrace { id, ctp: Ctp { source, ..Ctp::default() }, cut: Some(reason) }),
    }
}

/// Reading looks at no limits.
fn in_budget<T: Send + 'static>(
    budget: Budget<'_>,
    read: impl FnOnce() -> T + Send + 'static,
) -> Result<Result<T, Reason>, Failure> {
    match within(budget, read) {
        Ok(read) => Ok(Ok(read)),
        Err(ProofError::GaveUp(reason)) => Ok(Err(reason)),
        Err(error) => Err(of_proof(error, "", "")),
    }
}
