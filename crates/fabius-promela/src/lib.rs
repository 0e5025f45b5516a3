//! Programs in Promela: from source text to the core [`fabius_lang::program::Program`].
//!
//! What a process may do next is a graph, as it is for SPIN: a statement is a step, `atomic` goes on as long as it can. What
//! Promela means here, and what is refused, is said in `docs/promela.md`.

mod ast;
mod channels;
mod emit;
mod expressions;
mod formulas;
mod graph;
mod lexer;
mod lower;
mod macros;
mod meetings;
mod parser;
mod program;
mod refusal;
mod remotes;
mod statements;
mod unless;

use fabius_lang::program::Program;
use fabius_trace::Diagnostic;

/// Compiles a program. `macros` are names and values in place of those in the source.
///
/// # Errors
/// What of it is wrong or not taken.
pub fn compile(source: &str, macros: &[(String, String)]) -> Result<Program, Vec<Diagnostic>> {
    let compiled = || {
        if u32::try_from(source.len()).is_err() {
            return Err(refusal::unsupported(fabius_trace::Span::default(), "a source of more than 4 GB"));
        }
        let tokens = macros::preprocessed(source, macros)?;
        // The numbers of processes are counted only where they matter.
        let used = |n: usize| {
            tokens[n].is("_pid")
                || tokens[n].is("run") && n > 0 && tokens[n - 1].is("=")
                || tokens[n].is("@") && n > 0 && tokens[n - 1].is("]")
        };
        let numbered = (0..tokens.len()).any(used);
        let file = parser::parse(tokens)?;
        program::lower(&file, source, numbered)
    };
    compiled().map_err(|refusal| vec![refusal.diagnostic()])
}
