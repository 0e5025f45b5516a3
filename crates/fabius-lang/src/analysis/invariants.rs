//! Invariants: assertions behind every statement that writes what they read, in its step.
//!
//! They are inserted last, so that what they read makes no variable one of synchronization. But what writes it is a
//! scheduling point with `--points sync`, too: somebody else may break the invariant there. An atomic block may break an
//! invariant as long as it holds at its end; procedures that are called inside of one have a copy without assertions.

use super::checker::{Checker, Context, report};
use super::constant::evaluate;
use crate::diagnostic::Diagnostic;
use crate::program::*;
use crate::syntax::ast;
use crate::walk::{self, statements};
use fabius_trace::Span;
use std::collections::{HashMap, HashSet};

/// An invariant of the program.
pub(super) struct Invariant {
    name: String,
    condition: Expr,
    span: Span,
    reads: HashSet<Variable>,
}

/// What a statement may write: a global, or something in a heap record of a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Variable {
    Global(GlobalId),
    Heap(RecordId),
}

/// The invariants of a file.
pub(super) fn of(file: &ast::File, cx: &Context, diagnostics: &mut Vec<Diagnostic>) -> Vec<Invariant> {
    let mut found = Vec::new();
    for item in &file.items {
        let ast::ItemKind::Invariant { name, condition } = &item.node else { continue };
        let Some(typed) = of_states(condition, "an invariant", cx, diagnostics) else { continue };
        let mut reads = HashSet::new();
        walk::each(&typed, &mut |e| {
            if let ExprKind::Read(p) = &e.kind {
                reads.extend(variable(p));
            }
        });
        found.push(Invariant { name: name.node.clone(), condition: typed, span: name.span, reads });
    }
    found
}

/// A condition that is asked of states, whoever has made the last step.
pub(super) fn of_states(
    condition: &ast::Expr,
    whose: &str,
    cx: &Context,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Expr> {
    let mut checker = Checker::new(cx, diagnostics);
    checker.one_step = true;
    checker.scopes.push(HashMap::new());
    let typed = checker.condition(condition);
    let temporaries = checker.locals.len();
    let typed = typed?;
    let mut own = (temporaries > 0).then_some((condition.span, "an element of a constant array by a variable index"));
    walk::each(&typed, &mut |e| match &e.kind {
        ExprKind::SelfHandle => own = Some((e.span, "`self`")),
        ExprKind::Read(p) if matches!(p.base, Base::Global(g) if cx.globals[g].per_thread) => {
            own = Some((p.span, "a variable of each thread"));
        }
        _ => {}
    });
    if let Some((span, what)) = own {
        let message = format!("{whose} cannot speak of {what}");
        report(diagnostics, "E0313", span, message, "is of one thread").help =
            Some("keep what it is about in shared variables: `var at: [Place; N];`".into());
        return None;
    }
    Some(typed)
}

fn variable(place: &Place) -> Option<Variable> {
    match &place.base {
        Base::Global(g) => Some(Variable::Global(*g)),
        Base::Heap(_, r) => Some(Variable::Heap(*r)),
        Base::Local(_) => None,
    }
}

/// Reports invariants and properties of programs in which a step is more than one access.
pub(super) fn check_steps(program: &Program, invariants: &[Invariant], diagnostics: &mut Vec<Diagnostic>) {
    let explicit = program.interleave == Interleave::Explicit;
    let cooperative = program.has_single_buffer() && program.has_buffers();
    let invariants = invariants.iter().map(|i| ("an invariant", i.span));
    let all = invariants.chain(program.properties.iter().map(|p| ("a property", p.span)));
    for (what, span) in all.filter(|_| explicit || cooperative) {
        let why = if explicit { "with `interleave explicit`" } else { "among the tasks of one buffer" };
        let message = format!("{what} needs steps of single accesses, and has none {why}");
        report(diagnostics, "E0314", span, message, "cannot be checked").help =
            Some("say it where control is handed over: `assert ..;` before `yield` and `zield`".into());
    }
}

/// Puts the assertions into the program.
pub(super) fn insert(program: &mut Program, invariants: &[Invariant]) {
    if invariants.is_empty() {
        return;
    }
    let writes = writes(program);
    let copies = copies(program, invariants, &writes);
    let insertion = Insertion { invariants, writes, copies };
    let mut made: Vec<(ProcId, Proc)> = Vec::new();
    for (of, copy) in &insertion.copies {
        let mut proc = program.procs[*of].clone();
        insertion.call_copies(&mut proc.body);
        made.push((*copy, proc));
    }
    for proc in &mut program.procs {
        let body = std::mem::take(&mut proc.body);
        proc.body = insertion.block(body);
    }
    made.sort_by_key(|(copy, _)| *copy);
    program.procs.extend(made.into_iter().map(|(_, proc)| proc));
    let broken = invariants.iter().filter(|i| !holds_at_first(&i.condition, &program.globals));
    let at_first: Block = broken.map(|i| i.assertion(i.span)).collect();
    let starts = match program.init {
        Some(init) => vec![init],
        None => program.buffers.iter().map(|b| b.proc).chain(program.processes.iter().map(|p| p.proc)).collect(),
    };
    for start in starts {
        program.procs[start].body.splice(0..0, at_first.iter().cloned());
    }
}

/// What each procedure writes, with those that it calls.
fn writes(program: &Program) -> Vec<HashSet<Variable>> {
    let mut writes: Vec<HashSet<Variable>> = vec![HashSet::new(); program.procs.len()];
    let mut calls: Vec<HashSet<ProcId>> = vec![HashSet::new(); program.procs.len()];
    for (id, proc) in program.procs.iter().enumerate() {
        statements(&proc.body, &mut |s| {
            writes[id].extend(written(s));
            if let StmtKind::Call(_, p, _) = &s.kind {
                calls[id].insert(*p);
            }
        });
    }
    loop {
        let mut changed = false;
        for id in 0..writes.len() {
            let more: HashSet<Variable> = calls[id].iter().flat_map(|p| writes[*p].iter().copied()).collect();
            let before = writes[id].len();
            writes[id].extend(more);
            changed |= writes[id].len() > before;
        }
        if !changed {
            return writes;
        }
    }
}

/// What the statement itself writes.
fn written(s: &Stmt) -> Option<Variable> {
    match &s.kind {
        StmtKind::Assign(p, _)
        | StmtKind::Any(p, ..)
        | StmtKind::New(p, ..)
        | StmtKind::SetInsert(p, _)
        | StmtKind::SetRemove(p, _)
        | StmtKind::SetRemoveAny(p)
        | StmtKind::SetClear(p) => variable(p),
        _ => None,
    }
}

/// The procedures that are called inside of atomic blocks and would get assertions, with the numbers of their copies.
fn copies(program: &Program, invariants: &[Invariant], writes: &[HashSet<Variable>]) -> HashMap<ProcId, ProcId> {
    let mut inside = HashSet::new();
    let mut open = Vec::new();
    for proc in &program.procs {
        statements(&proc.body, &mut |s| {
            if let StmtKind::Atomic(block) = &s.kind {
                statements(block, &mut |s| open.extend(called(s)));
            }
        });
    }
    while let Some(p) = open.pop() {
        if inside.insert(p) {
            statements(&program.procs[p].body, &mut |s| open.extend(called(s)));
        }
    }
    let watched = |p: &ProcId| invariants.iter().any(|i| !i.reads.is_disjoint(&writes[*p]));
    let mut inside: Vec<ProcId> = inside.into_iter().filter(watched).collect();
    inside.sort_unstable();
    inside.into_iter().zip(program.procs.len()..).collect()
}

fn called(s: &Stmt) -> Option<ProcId> {
    if let StmtKind::Call(_, p, _) = &s.kind { Some(*p) } else { None }
}

impl Invariant {
    fn assertion(&self, span: Span) -> Stmt {
        let kind = StmtKind::Assert(self.condition.clone(), Check::Invariant, Some(self.name.clone()));
        Stmt { kind, access: Access::Local, span }
    }
}

struct Insertion<'a> {
    invariants: &'a [Invariant],
    writes: Vec<HashSet<Variable>>,
    copies: HashMap<ProcId, ProcId>,
}

impl Insertion<'_> {
    fn block(&self, block: Block) -> Block {
        block.into_iter().flat_map(|s| self.stmt(s)).collect()
    }

    /// The statement with assertions in it or behind it.
    fn stmt(&self, mut s: Stmt) -> Block {
        match s.kind {
            StmtKind::If(guard, a, b) => s.kind = StmtKind::If(guard, self.block(a), self.block(b)),
            StmtKind::While(guard, body) => s.kind = StmtKind::While(guard, self.block(body)),
            StmtKind::Atomic(mut body) => {
                let mut written_inside = HashSet::new();
                statements(&body, &mut |s| {
                    written_inside.extend(written(s));
                    written_inside.extend(called(s).into_iter().flat_map(|p| self.writes[p].iter().copied()));
                });
                self.call_copies(&mut body);
                let at_end = self.assertions(&written_inside, s.span);
                s.access = among_others(s.access, &at_end);
                body.extend(at_end);
                s.kind = StmtKind::Atomic(body);
            }
            _ => {
                let behind = self.assertions(&written(&s).into_iter().collect(), s.span);
                s.access = among_others(s.access, &behind);
                return std::iter::once(s).chain(behind).collect();
            }
        }
        vec![s]
    }

    fn assertions(&self, written: &HashSet<Variable>, span: Span) -> Block {
        let concerned = self.invariants.iter().filter(|i| !i.reads.is_disjoint(written));
        concerned.map(|i| i.assertion(span)).collect()
    }

    /// Inside of an atomic block the copies without assertions are called.
    fn call_copies(&self, block: &mut Block) {
        for s in block {
            match &mut s.kind {
                StmtKind::Call(_, p, _) => *p = self.copies.get(p).copied().unwrap_or(*p),
                StmtKind::If(_, a, b) => {
                    self.call_copies(a);
                    self.call_copies(b);
                }
                StmtKind::While(_, b) | StmtKind::Atomic(b) => self.call_copies(b),
                _ => {}
            }
        }
    }
}

/// The access of a statement with these invariants behind it, which see what all threads have written.
fn among_others(access: Access, behind: &Block) -> Access {
    if access == Access::Data && !behind.is_empty() { Access::Sync } else { access }
}

/// Whether it is certain that a condition holds of the initial values.
fn holds_at_first(condition: &Expr, globals: &[Global]) -> bool {
    initially(condition, globals).is_some_and(|e| evaluate(&e) == Ok(Value::Int(1)))
}

/// The expression with initial values for globals; `None` if that is not so simple.
fn initially(e: &Expr, globals: &[Global]) -> Option<Expr> {
    let part = |e: &Expr| initially(e, globals).map(Box::new);
    let kind = match &e.kind {
        ExprKind::Const(_) => e.kind.clone(),
        ExprKind::Read(p) => {
            let Base::Global(g) = p.base else { return None };
            let mut value = &globals[g].init;
            for step in &p.path {
                let Value::Tuple(parts) = value else { return None };
                let at = match step {
                    Projection::Field(f) => *f,
                    Projection::Index { index, lo, .. } => match evaluate(&*part(index)?) {
                        Ok(Value::Int(n)) => usize::try_from(n.checked_sub(*lo)?).ok()?,
                        _ => return None,
                    },
                };
                value = parts.get(at)?;
            }
            ExprKind::Const(value.clone())
        }
        ExprKind::Unary(op, a) => ExprKind::Unary(*op, part(a)?),
        ExprKind::Cast(a) => ExprKind::Cast(part(a)?),
        ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, part(a)?, part(b)?),
        ExprKind::IfElse(c, a, b) => ExprKind::IfElse(part(c)?, part(a)?, part(b)?),
        ExprKind::Tuple(_) | ExprKind::SelfHandle | ExprKind::SetContains(..) | ExprKind::SetIsEmpty(_) => return None,
    };
    Some(Expr { kind, ty: e.ty.clone(), span: e.span })
}
