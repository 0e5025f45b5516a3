//! Processes: how many threads each is, and what they know of their numbers.

use super::checker::{Checker, report};
use super::declare::{Body, BodyKind, Declarations, Number};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast;

/// Most threads that are numbered: each has a body of its own.
pub const MOST_NUMBERED: u32 = 1000;

impl<'a> Declarations<'a> {
    pub(super) fn process(
        &mut self,
        name: &'a ast::Name,
        copies: &'a ast::Copies,
        block: &'a ast::Block,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let mut checker = Checker::of_constants(&self.cx, diagnostics);
        let mut add = |count: Option<u32>, number: Option<(&'a ast::Name, Number)>| {
            self.bodies.push(Body { name, params: &[], block, what: BodyKind::Process(count), number });
        };
        match copies {
            ast::Copies::Any => add(None, None),
            ast::Copies::AnyNumbered { name } => add(None, Some((name, Number::OfThread))),
            ast::Copies::Count(e) => {
                let n = checker.integer(e);
                let fine = n.and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= 10_000);
                if n.is_some() && fine.is_none() {
                    let message = "the number of copies is between 0 and 10000";
                    report(diagnostics, "E0307", e.span, message, "out of bounds");
                }
                add(Some(fine.unwrap_or(1)), None);
            }
            ast::Copies::Numbered { name: number, lo, hi } => {
                let ends = (checker.integer(lo), checker.integer(hi));
                let (Some(first), Some(last)) = ends else { return add(Some(1), Some((number, Number::Is(0)))) };
                if last.saturating_sub(first) >= MOST_NUMBERED.into() {
                    let message = format!("at most {MOST_NUMBERED} threads can be numbered");
                    report(diagnostics, "E0307", lo.span.to(hi.span), message, "too many").help =
                        Some("most errors show with two or three".into());
                    return add(Some(1), Some((number, Number::Is(first))));
                }
                match first <= last {
                    true => (first..=last).for_each(|n| add(Some(1), Some((number, Number::Is(n))))),
                    false => add(Some(0), Some((number, Number::Is(first)))),
                }
            }
        }
    }
}
