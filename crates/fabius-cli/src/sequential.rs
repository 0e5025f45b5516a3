//! Which schedules are translated.

use crate::args::verify::SequentialArgs;
use crate::failure::{Failure, input};
use fabius_lang::program::Program;
use fabius_verify::prove::{Sequentialization, is_parameterized};

/// What the options ask for, with the defaults that depend on the program.
pub fn sequentialization(args: &SequentialArgs, program: &Program) -> Result<Sequentialization, Failure> {
    let any = is_parameterized(program);
    if args.threads.is_some() && !any {
        return Err(input("no process of this program is of any number").help("write `process name[*] { .. }`"));
    }
    Ok(match (args.delays, args.rounds) {
        (Some(k), _) => Sequentialization::Delays(k),
        (None, Some(k)) if any => Sequentialization::AnyThreads(k),
        (None, Some(k)) => Sequentialization::Rounds(k),
        (None, None) if args.is_default() => Sequentialization::default_for(program),
        _ => Sequentialization::Buffers { zields: args.zields.unwrap_or(1), yields: args.yields.unwrap_or(1) },
    })
}
