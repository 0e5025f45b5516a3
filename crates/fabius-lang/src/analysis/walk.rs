//! A walk over everything in a core program, for passes that change types, records or spans wherever they occur.

use crate::program::*;
use fabius_trace::Span;

/// What to do with the parts of a program. Every method does nothing unless it is overridden.
pub trait Visitor {
    /// A record id: of a record type or reference, of a heap place, of `new`.
    fn record(&mut self, _record: &mut RecordId) {}
    /// A place in the source.
    fn span(&mut self, _span: &mut Span) {}
    /// An expression, before what is inside of it.
    fn expr(&mut self, _expr: &mut Expr) {}
}

/// Walks over the whole program.
pub fn walk(program: &mut Program, v: &mut impl Visitor) {
    for record in &mut program.records {
        record.fields.iter_mut().for_each(|f| ty(&mut f.ty, v));
    }
    for global in &mut program.globals {
        ty(&mut global.ty, v);
        v.span(&mut global.span);
    }
    for proc in &mut program.procs {
        proc.locals.iter_mut().for_each(|l| ty(&mut l.ty, v));
        proc.results.iter_mut().for_each(|t| ty(t, v));
        v.span(&mut proc.span);
        block(&mut proc.body, v);
    }
    program.conditions.iter_mut().for_each(|e| expr(e, v));
    for property in &mut program.properties {
        v.span(&mut property.span);
        if let Formula::Never(automaton) = &mut property.formula {
            v.span(&mut std::sync::Arc::make_mut(automaton).span);
        }
    }
}

fn ty(t: &mut Type, v: &mut impl Visitor) {
    match t {
        Type::Record(r) | Type::Ref(r) => v.record(r),
        Type::Array { index, element, .. } => {
            ty(index, v);
            ty(element, v);
        }
        _ => {}
    }
}

fn block(b: &mut Block, v: &mut impl Visitor) {
    for s in b {
        v.span(&mut s.span);
        match &mut s.kind {
            StmtKind::Assign(p, e) | StmtKind::SetInsert(p, e) | StmtKind::SetRemove(p, e) => {
                place(p, v);
                expr(e, v);
            }
            StmtKind::Any(p, a, b) => {
                place(p, v);
                expr(a, v);
                expr(b, v);
            }
            StmtKind::New(p, r, es) => {
                place(p, v);
                v.record(r);
                es.iter_mut().for_each(|e| expr(e, v));
            }
            StmtKind::If(g, a, b) => {
                guard(g, v);
                block(a, v);
                block(b, v);
            }
            StmtKind::While(g, b) => {
                guard(g, v);
                block(b, v);
            }
            StmtKind::Call(_, _, es)
            | StmtKind::Return(es)
            | StmtKind::Spawn(_, _, es)
            | StmtKind::Post(_, _, _, es)
            | StmtKind::Print(es) => es.iter_mut().for_each(|e| expr(e, v)),
            StmtKind::Join(e) | StmtKind::Assume(e) | StmtKind::Await(e) | StmtKind::Assert(e, _, _) => expr(e, v),
            StmtKind::Atomic(b) => block(b, v),
            StmtKind::SetRemoveAny(p) | StmtKind::SetClear(p) => place(p, v),
            StmtKind::Skip
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Yield
            | StmtKind::Zield
            | StmtKind::Progress => {}
        }
    }
}

fn guard(g: &mut Guard, v: &mut impl Visitor) {
    if let Guard::Expr(e) = g {
        expr(e, v);
    }
}

fn place(p: &mut Place, v: &mut impl Visitor) {
    v.span(&mut p.span);
    ty(&mut p.ty, v);
    if let Base::Heap(e, r) = &mut p.base {
        expr(e, v);
        v.record(r);
    }
    for step in &mut p.path {
        if let Projection::Index { index, .. } = step {
            expr(index, v);
        }
    }
}

fn expr(e: &mut Expr, v: &mut impl Visitor) {
    v.expr(e);
    v.span(&mut e.span);
    ty(&mut e.ty, v);
    match &mut e.kind {
        ExprKind::Const(_) | ExprKind::SelfHandle => {}
        ExprKind::Read(p) => place(p, v),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => expr(a, v),
        ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => {
            expr(a, v);
            expr(b, v);
        }
        ExprKind::IfElse(a, b, c) => {
            expr(a, v);
            expr(b, v);
            expr(c, v);
        }
        ExprKind::Tuple(es) => es.iter_mut().for_each(|e| expr(e, v)),
    }
}

struct Erase;

impl Visitor for Erase {
    fn span(&mut self, span: &mut Span) {
        *span = Span::default();
    }
}

/// Reads of a local, which become a number.
struct Numbers {
    of: LocalId,
    number: i64,
}

impl Visitor for Numbers {
    fn expr(&mut self, e: &mut Expr) {
        if matches!(&e.kind, ExprKind::Read(p) if p.base == Base::Local(self.of)) {
            e.kind = ExprKind::Const(Value::Int(self.number));
        }
    }
}

/// The body of the thread of `process name[i: *]` that has this number: the number stands wherever it reads the local.
pub fn numbered(proc: &Proc, local: LocalId, number: i64) -> Proc {
    let mut proc = proc.clone();
    block(&mut proc.body, &mut Numbers { of: local, number });
    proc
}

/// An expression without its places in the source text.
pub fn without_spans(e: &Expr) -> Expr {
    let mut e = e.clone();
    expr(&mut e, &mut Erase);
    e
}

/// Sets all spans to nothing and forgets the source text: what is left is the program itself.
pub fn erase_spans(program: &mut Program) {
    walk(program, &mut Erase);
    program.source = "".into();
}
