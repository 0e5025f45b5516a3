//! Which schedules are translated.

use crate::args::common::ProgramArgs;
use crate::args::verify::{DelayedArg, SequentialArgs};
use crate::c;
use crate::failure::{Failure, input};
use fabius_lang::program::Program;
use fabius_verify::prove::{MOST, Sequentialization, is_parameterized};
use std::path::Path;

/// Rounds in which nobody is delayed, because who has a turn waits.
const MORE_ROUNDS: u32 = 3;

/// How the program is read.
pub fn program_args(args: &SequentialArgs, file: &Path) -> ProgramArgs {
    match args.threads {
        Some(_) if c::is_c(file) => c::of_any_number(&args.program),
        _ => args.program.clone(),
    }
}

/// What the options ask for, with the defaults that depend on the program.
pub fn sequentialization(args: &SequentialArgs, program: &Program) -> Result<Sequentialization, Failure> {
    let any = is_parameterized(program);
    if args.threads.is_some() && !any {
        return Err(input("no process of this program is of any number")
            .help("write `process name[*] { .. }`; in C, `fabius_spawn_any(name)` or `while (1) pthread_create(&t, 0, name, 0);` at the end of `main`"));
    }
    if let (Some(delays), Some(DelayedArg::RoundRobin)) = (args.delays, args.scheduler) {
        let rounds = args.rounds.unwrap_or((delays + MORE_ROUNDS).min(MOST));
        return Ok(Sequentialization::RoundRobin { delays, rounds });
    }
    if args.delays.is_some() && args.rounds.is_some() {
        let help = "`--scheduler round-robin` has both: rounds are needed where threads wait";
        return Err(input("`--delays` cannot be used with `--rounds`").help(help));
    }
    Ok(match (args.delays, args.rounds) {
        (Some(k), _) => Sequentialization::Delays(k),
        (None, Some(k)) if any => Sequentialization::AnyThreads(k),
        (None, Some(k)) => Sequentialization::Rounds(k),
        (None, None) if args.is_default() => Sequentialization::default_for(program),
        _ => Sequentialization::Buffers { zields: args.zields.unwrap_or(1), yields: args.yields.unwrap_or(1) },
    })
}
