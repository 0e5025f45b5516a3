//! `fabius translate`.

use crate::args::{FormArg, SequentialArgs, TranslateArgs};
use crate::check::{Loaded, load};
use crate::failure::{self, Failure, input};
use crate::files;
use fabius_lang::Choices;
use fabius_verify::prove::{Form, Sequentialization, is_parameterized, text_of};

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
    let text =
        text_of(&loaded.program, what, form).map_err(|e| failure::of_proof(e, &loaded.source, &loaded.id.file))?;
    files::print(&text)?;
    Ok(0)
}

/// What the options ask for, with the defaults that depend on the program.
pub fn sequentialization(args: &SequentialArgs, loaded: &Loaded) -> Result<Sequentialization, Failure> {
    let any = is_parameterized(&loaded.program);
    if args.threads.is_some() && !any {
        return Err(input("no process of this program is of any number").help("write `process name[*] { .. }`"));
    }
    Ok(match (args.delays, args.rounds) {
        (Some(k), _) => Sequentialization::Delays(k),
        (None, Some(k)) if any => Sequentialization::AnyThreads(k),
        (None, Some(k)) => Sequentialization::Rounds(k),
        (None, None) if args.is_default() => Sequentialization::default_for(&loaded.program),
        _ => Sequentialization::Buffers { zields: args.zields.unwrap_or(1), yields: args.yields.unwrap_or(1) },
    })
}
