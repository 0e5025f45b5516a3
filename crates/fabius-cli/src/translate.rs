//! `fabius translate`.

use crate::args::{FormArg, SequentialArgs, TranslateArgs};
use crate::check::{Loaded, load};
use crate::failure::{self, Failure};
use crate::files;
use fabius_lang::Choices;
use fabius_verify::prove::{Form, Sequentialization, text_of};

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
    let text = text_of(&loaded.program, sequentialization(&args.sequential, &loaded), form)
        .map_err(|e| failure::of_proof(e, &loaded.source, &loaded.id.file))?;
    files::print(&text)?;
    Ok(0)
}

/// What the options ask for, with the defaults that depend on the program.
pub fn sequentialization(args: &SequentialArgs, loaded: &Loaded) -> Sequentialization {
    match (args.delays, args.rounds) {
        (Some(k), _) => Sequentialization::Delays(k),
        (None, Some(k)) => Sequentialization::Rounds(k),
        (None, None) if args.is_default() => Sequentialization::default_for(&loaded.program),
        _ => Sequentialization::Buffers { zields: args.zields.unwrap_or(1), yields: args.yields.unwrap_or(1) },
    }
}
