//! `fabius translate`.

use crate::args::verify::{FormArg, SequentialArgs, TranslateArgs};
use crate::failure::{self, Failure, nothing_written, usage};
use crate::program::load;
use crate::sequential::{program_args, sequentialization};
use crate::{files, stop};
use clap::ValueEnum;
use fabius_lang::Choices;
use fabius_verify::prove::{Budget, Caps, Deadlocks, Form, ProofError, text_of};
use std::time::Instant;

/// Runs the command; returns the exit code.
pub fn run(args: &TranslateArgs) -> Result<u8, Failure> {
    let (began, stop) = (Instant::now(), stop::on_interrupt());
    let (time, memory) = (args.limits.time, args.limits.memory);
    let budget = Budget { time, memory, stop: &stop };
    let loaded = load(&args.file, &program_args(&args.sequential, &args.file), Choices::Unbounded, budget)?;
    let unwritten = |reason| Ok(files::unwritten(&nothing_written(reason), args.output.color));
    let program = match &loaded.program {
        Ok(program) => program,
        Err(reason) => return unwritten(reason),
    };
    let form = match args.to {
        FormArg::Explicit => Form::Explicit,
        FormArg::SingleBuffer => Form::SingleBuffer,
        FormArg::SharedMemory => Form::SharedMemory,
        FormArg::YieldFree => Form::YieldFree,
        FormArg::Sequential if args.no_deadlock => Form::Sequential(Deadlocks::Ignored),
        FormArg::Sequential => Form::Sequential(Deadlocks::AreBugs),
        FormArg::Promela => Form::Promela,
        FormArg::Fab => Form::Fab,
    };
    let bounded = !matches!(form, Form::Explicit | Form::SharedMemory | Form::Promela | Form::Fab);
    if !bounded && (!args.sequential.is_default() || args.sequential.threads.is_some()) {
        let kept = args.to.to_possible_value().map_or(String::new(), |value| value.get_name().to_string());
        return Err(usage(format!("`--to {kept}` keeps all schedules of the program: a bound on them is of no use"))
            .help("leave out the bound, or ask for `--to sequential`"));
    }
    if args.no_deadlock && !matches!(form, Form::Sequential(_)) {
        return Err(usage("only `--to sequential` asks about deadlocks").help("leave out `--no-deadlock`"));
    }
    let what = sequentialization(&args.sequential, program)?;
    let SequentialArgs { tasks, objects, .. } = args.sequential;
    let default = Caps::default();
    let caps = Caps { tasks: tasks.unwrap_or(default.tasks), objects: objects.unwrap_or(default.objects) };
    // Reading the program is part of the time.
    let time = time.map(|time| time.saturating_sub(began.elapsed()));
    match text_of(program, what, form, caps, Budget { time, ..budget }) {
        Ok(text) => files::print_source(&text).map(|()| 0),
        Err(ProofError::GaveUp(reason)) => unwritten(&reason),
        Err(error) => Err(failure::of_proof(error, &loaded.source, &loaded.id.file)),
    }
}
