//! Programs in ZING: from source text to the core [`fabius_lang::program::Program`].
//!
//! A statement is a step, as it is for ZING's own explorer; objects, arrays and channels live on the heap. What ZING means here, and
//! what is refused, is said in `docs/zing.md`.

mod arrays;
mod ast;
mod calls;
mod channels;
mod declarations;
mod exceptions;
mod expressions;
mod foreach;
mod jumps;
mod lexer;
mod lower;
mod parser;
mod raised;
mod refusal;
mod select;
mod sets;
mod statements;
mod types;

use fabius_lang::program::Program;
use fabius_trace::{Diagnostic, Span};

/// Compiles a program. `consts` may say how much channels, sets and arrays have room for (`ROOM`): for ZING it is any number.
///
/// # Errors
/// What of it is wrong or not taken.
pub fn compile(source: &str, consts: &[(String, String)]) -> Result<Program, Vec<Diagnostic>> {
    let compiled = || {
        if u32::try_from(source.len()).is_err() {
            return Err(refusal::unsupported(Span::default(), "a source of more than 4 GB"));
        }
        let room = declarations::room(consts)?;
        let file = parser::parse(lexer::tokens(source)?)?;
        declarations::lower(&file, source, room)
    };
    compiled().map_err(|refusal| vec![refusal.diagnostic()])
}
