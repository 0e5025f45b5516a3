//! `fabius translate`.

use crate::args::verify::{FormArg, SequentialArgs, TranslateArgs};
use crate::failure::{self, Failure};
use crate::files;
use crate::program::load;
use crate::sequential::sequentialization;
use fabius_lang::Choices;
use fabius_verify::prove::{Caps, Form, text_of};

/// Runs the command; returns the exit code.
pub fn run(args: &TranslateArgs) -> Result<u8, Failure> {
    let loaded = load(&args.file, &args.sequential.program, Choices::Unbounded)?;
    let form = match args.to {
        FormArg::Explicit => Form::Explicit,
        FormArg::SingleBuffer => Form::SingleBuffer,
        FormArg::SharedMemory => Form::SharedMemory,
        FormArg::YieldFree => Form::YieldFree,
        FormArg::Sequential => Form::Sequential,
    };
    let what = sequentialization(&args.sequential, &loaded)?;
    let SequentialArgs { tasks, objects, .. } = args.sequential;
    let default = Caps::default();
    let caps = Caps { tasks: tasks.unwrap_or(default.tasks), objects: objects.unwrap_or(default.objects) };
    let text = text_of(&loaded.program, what, form, caps)
        .map_err(|e| failure::of_proof(e, &loaded.source, &loaded.id.file))?;
    files::print_source(&text)?;
    Ok(0)
}
