//! Which exceptions a program may raise, and which methods one may leave, before anything is lowered.

use crate::ast::{Class, Expr, ExprKind, File, Stmt, StmtKind as Said};
use std::collections::HashSet;

/// What may be raised in a program.
#[derive(Debug, Default)]
pub struct Exceptions {
    /// Their names; the first has the number 1.
    pub names: Vec<String>,
    /// Methods that one may leave, by name: of whatever class.
    pub leave: HashSet<String>,
}

/// What may be raised in a file.
pub fn of_file(file: &File) -> Exceptions {
    let mut found = Exceptions::default();
    let methods = || file.classes.iter().flat_map(|c: &Class| &c.methods);
    for m in methods() {
        each(&m.body, &mut |s| {
            if let Said::Raise(name) = &s.kind
                && !found.names.contains(&name.text)
            {
                found.names.push(name.text.clone());
            }
        });
    }
    loop {
        let before = found.leave.len();
        for m in methods() {
            if m.body.iter().any(|s| may_leave(s, &found.leave, &[])) {
                found.leave.insert(m.name.text.clone());
            }
        }
        if found.leave.len() == before {
            return found;
        }
    }
}

/// Statements directly within one.
fn within(s: &Stmt) -> Vec<&Stmt> {
    match &s.kind {
        Said::Block(block) | Said::Atomic(block) => block.iter().collect(),
        Said::If(_, yes, no) => std::iter::once(&**yes).chain(no.as_deref()).collect(),
        Said::While(_, body) | Said::Foreach(.., body) => vec![body],
        Said::Select(select) => select.branches.iter().map(|b| &b.body).collect(),
        Said::Try(body, handlers) => body.iter().chain(handlers.iter().map(|h| &h.body)).collect(),
        Said::Labeled(_, s) => vec![s],
        _ => Vec::new(),
    }
}

pub fn each(block: &[Stmt], f: &mut impl FnMut(&Stmt)) {
    let mut open: Vec<&Stmt> = block.iter().collect();
    while let Some(s) = open.pop() {
        f(s);
        open.extend(within(s));
    }
}

/// Whether a `try` stands in a statement.
pub fn has_try(s: &Stmt) -> bool {
    let mut has = false;
    each(std::slice::from_ref(s), &mut |s| has |= matches!(s.kind, Said::Try(..)));
    has
}

/// Whether an exception may get out of a statement that stands in `try`s that catch these; `None` is all.
fn may_leave(s: &Stmt, leave: &HashSet<String>, caught: &[Option<&str>]) -> bool {
    let calls = |e: &Expr| match &e.kind {
        ExprKind::Call(callee, _) => match &callee.kind {
            ExprKind::Name(name) => leave.contains(name),
            ExprKind::Member(_, name) => leave.contains(&name.text),
            _ => false,
        },
        _ => false,
    };
    match &s.kind {
        Said::Raise(name) => !caught.iter().any(|c| c.is_none_or(|c| c == name.text)),
        Said::Call(e) | Said::Assign(_, e) => calls(e) && !caught.contains(&None),
        Said::Local(field) => field.init.as_ref().is_some_and(calls) && !caught.contains(&None),
        Said::Try(body, handlers) => {
            let mut inner = caught.to_vec();
            inner.extend(handlers.iter().map(|h| h.name.as_ref().map(|n| n.text.as_str())));
            body.iter().any(|s| may_leave(s, leave, &inner))
                || handlers.iter().any(|h| may_leave(&h.body, leave, caught))
        }
        _ => within(s).into_iter().any(|s| may_leave(s, leave, caught)),
    }
}
