//! Why a program is not followed behind a place, in its own words.

use crate::few_values::{GUARD, NOT_ALL};
use fabius_lang::program::{Check, Program, StmtKind};
use fabius_lang::walk::statements;
use fabius_trace::Span;

/// What is said of a place where a value may not have been tried, or something else not followed: which of both is not known.
pub fn not_tried(program: &Program, span: Span) -> String {
    match said_at(program, span)[..] {
        [] => NOT_ALL.into(),
        ref said => format!("{NOT_ALL}; or more than is followed: {}", said.join("; or ")),
    }
}

/// What the program itself says of a place behind which it is not followed.
pub fn not_followed(program: &Program, span: Span) -> String {
    match said_at(program, span)[..] {
        [] => "more than is followed".into(),
        ref said => format!("more than is followed: {}", said.join("; or ")),
    }
}

fn said_at(program: &Program, span: Span) -> Vec<&str> {
    let mut said: Vec<&str> = Vec::new();
    for proc in &program.procs {
        statements(&proc.body, &mut |s| match &s.kind {
            StmtKind::Assert(_, Check::Bound, Some(words))
                if s.span == span && words != GUARD && !said.contains(&words.as_str()) =>
            {
                said.push(words);
            }
            _ => {}
        });
    }
    said
}
