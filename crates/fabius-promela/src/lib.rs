//! Programs in Promela: from source text to the core [`fabius_lang::program::Program`].
//!
//! What a process may do next is a graph, as it is for SPIN: a statement is a step, `atomic` goes on as long as it can. What
//! Promela means here, and what is refused, is said in `docs/promela.md`.

mod accepting;
mod ast;
mod automata;
mod beginnings;
mod channels;
mod claims;
mod emit;
mod expressions;
mod formulas;
mod graph;
mod lexer;
mod looks;
mod lower;
mod macros;
mod meetings;
mod messages;
mod parser;
mod program;
mod refusal;
mod remotes;
mod statements;
mod unless;

use crate::program::Numbers;
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
                || tokens[n].is("_nr_pr")
                || tokens[n].is("run") && n > 0 && tokens[n - 1].is("=")
                || tokens[n].is("@") && n > 0 && tokens[n - 1].is("]")
                // Where a process stands at such a label, as if it were looked at by its number.
                || matches!(&tokens[n].kind, lexer::Kind::Word(word) if word.starts_with("accept"))
        };
        let numbered = (0..tokens.len()).any(used);
        let counted = tokens.iter().find(|token| token.is("_nr_pr")).map(|token| token.span);
        let timeout = tokens.iter().find(|token| token.is("timeout")).map(|token| token.span);
        let mut file = parser::parse(tokens)?;
        let looks = looks::made_global(&mut file)?;
        if let (Some(span), true) = (counted, !file.formulas.is_empty() || !file.claims.is_empty()) {
            return Err(refusal::unsupported(span, "`_nr_pr` beside `ltl`, whose claim SPIN counts as a process")
                .help("count the processes in a variable of your own"));
        }
        // A claim reads a state behind each step, that in which a process leaves among them. Who has left has no variables.
        let counted = counted.is_some() || !file.claims.is_empty() || looks;
        let numbers = match (counted, numbered) {
            (true, _) => Numbers::Counted,
            (false, true) => Numbers::Used,
            (false, false) => Numbers::Unused,
        };
        program::lower(&file, source, numbers, timeout)
    };
    compiled().map_err(|refusal| vec![refusal.diagnostic()])
}
