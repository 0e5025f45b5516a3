//! What is allowed and seldom meant.

use crate::diagnostic::Diagnostic;
use crate::program::{Block, Program, Stmt, StmtKind};
use crate::walk::statements;
use fabius_trace::Span;

/// What is suspicious in a program, in the order of its text.
pub fn warnings(program: &Program) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    for proc in &program.procs {
        // Inside of an atomic block a way that waits is not gone.
        let mut inside: Vec<&Stmt> = Vec::new();
        statements(&proc.body, &mut |s| {
            if let StmtKind::Atomic(block) = &s.kind {
                statements(block, &mut |s| inside.push(s));
            }
        });
        statements(&proc.body, &mut |s| {
            if inside.iter().any(|other| std::ptr::eq(*other, s)) {
                return;
            }
            // Of more than two blocks the statements that tell them apart stand at the same place.
            if let StmtKind::If(_, yes, no) = &s.kind
                && s.span.text(&program.source).starts_with("choose")
            {
                let waits = [yes, no].into_iter().filter_map(|block| first_wait(block, s.span));
                let wait = waits.into_iter().find(|wait| wait.text(&program.source).starts_with("await"));
                if let Some(wait) = wait.filter(|_| found.iter().all(|d| d.span != s.span)) {
                    found.push(chooses_blindly(s.span, wait));
                }
            }
        });
    }
    found.sort_by_key(|d| d.span.start);
    found
}

fn chooses_blindly(choice: Span, wait: Span) -> Diagnostic {
    Diagnostic {
        code: "W0001",
        message: "a block is chosen before it is known whether it can begin".into(),
        span: choice,
        label: "any block is chosen, and then waits here for ever".into(),
        related: vec![(wait, "chosen although this may be false".into())],
        help: Some("to wait for any of them: `select { when a { .. } or when b { .. } }`".into()),
    }
}

/// Where the wait stands that a block of a choice begins with, after what the choice itself does there.
fn first_wait(block: &Block, choice: Span) -> Option<Span> {
    let first = block.iter().find(|s| s.span != choice)?;
    match &first.kind {
        StmtKind::Await(_) => Some(first.span),
        StmtKind::Atomic(inner) => first_wait(inner, choice),
        _ => None,
    }
}
