//! Locks without the identity of their holder: that somebody holds it, and whether that is me.
//!
//! Paper: Sequentializing Parameterized Programs (2011/12), section 2 (threads have no identities).
//!
//! Deviations:
//! 1. A shared variable that holds a thread becomes a flag, and each thread gets a copy of its own: whether the thread in
//!    there is itself. Both are exact as long as nobody takes a variable over from another thread, as `taken_over` makes sure.
//!    A thread in a local variable, or one that another thread is compared with, is refused.

use super::taken_over::taken_over;
use crate::Unsupported;
use crate::build::*;
use fabius_lang::program::*;
use fabius_trace::Span;
use std::collections::BTreeMap;

const NOBODY: i64 = 0;
const SOMEBODY: i64 = 1;

/// The program in which locks hold flags.
///
/// # Errors
/// Threads in variables that say more than who has a lock, and sets of threads.
pub fn without_handles(source: &Program) -> Result<Program, Unsupported> {
    let mut program = source.clone();
    let mut own = BTreeMap::new();
    for (id, g) in source.globals.iter().enumerate() {
        match threads_in(source, &g.ty) {
            Threads::None => {}
            Threads::Holders if !g.per_thread => {
                let copy = new_global_with(&mut program, &format!("own_{}", g.name), g.ty.clone(), g.init.clone());
                program.globals[id_of(&copy)].per_thread = true;
                own.insert(id, id_of(&copy));
            }
            _ => return Err(refused(g.span)),
        }
    }
    let local = |l: &Local| threads_in(source, &l.ty) != Threads::None;
    if let Some(proc) = source.procs.iter().find(|p| p.locals.iter().any(local)) {
        return Err(refused(proc.span));
    }
    if let Some(span) = taken_over(source) {
        let what = "a thread that may take a lock over from another one where there are any number of threads";
        let help = "take a lock where it is free (`atomic { await l == null; l = self; }`), give it back where it is one's own, \
                    and initialize it in front of all threads; or verify a fixed number: `--instances`";
        return Err(Unsupported::new(what, span, help));
    }
    let mut pass = Pass { own, wrong: None };
    for proc in &mut program.procs {
        proc.body = replace(std::mem::take(&mut proc.body), &mut |s| pass.stmt(s));
    }
    pass.wrong.map_or(Ok(program), |span| Err(refused(span)))
}

fn refused(span: Span) -> Unsupported {
    let help = "a variable may say who has a lock; else use semaphores, events or barriers of the library, or verify a fixed \
                number: `--instances`";
    Unsupported::new("a handle of a thread where there are any number of threads", span, help)
}

/// Where a type has threads in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Threads {
    None,
    Holders,
    Elsewhere,
}

fn threads_in(program: &Program, ty: &Type) -> Threads {
    match ty {
        Type::Thread => Threads::Holders,
        Type::ThreadSet => Threads::Elsewhere,
        Type::Array { index, .. } if **index == Type::Thread => Threads::Elsewhere,
        Type::Array { element, .. } => threads_in(program, element),
        Type::Record(r) => {
            let all = program.records[*r].fields.iter().map(|f| threads_in(program, &f.ty));
            all.max().unwrap_or(Threads::None)
        }
        _ => Threads::None,
    }
}

/// Whether a part of a lock's variable cannot have a thread in it.
fn is_without(ty: &Type) -> bool {
    ty.is_scalar() && *ty != Type::Thread
}

struct Pass {
    own: BTreeMap<GlobalId, GlobalId>,
    wrong: Option<Span>,
}

impl Pass {
    fn stmt(&mut self, s: Stmt) -> Block {
        let span = s.span;
        let kind = match s.kind {
            StmtKind::Assign(p, e) if p.ty == Type::Thread => {
                let Some(own) = self.own(&p) else {
                    self.wrong = Some(span);
                    return Vec::new();
                };
                let now = match e.kind {
                    ExprKind::SelfHandle => SOMEBODY,
                    ExprKind::Const(Value::Int(NOBODY)) => NOBODY,
                    _ => {
                        self.wrong = Some(span);
                        NOBODY
                    }
                };
                let is = |p: &Place, v| eq(read(p), constant(v, Type::Thread));
                let stmts = vec![
                    assume(or(is(&p, NOBODY), is(&own, SOMEBODY))),
                    set(&p, constant(now, Type::Thread)),
                    set(&own, constant(now, Type::Thread)),
                ];
                StmtKind::Atomic(stmts.into_iter().map(|t| Stmt { span, access: s.access, ..t }).collect())
            }
            // A lock, or what it is a part of, is not overwritten as a whole: its holder would not know.
            StmtKind::Assign(p, e) if self.own(&p).is_some() && !is_without(&p.ty) => {
                self.wrong = Some(span);
                StmtKind::Assign(p, e)
            }
            StmtKind::Assign(p, e) => StmtKind::Assign(p, self.expr(e)),
            StmtKind::Any(p, a, b) => StmtKind::Any(p, self.expr(a), self.expr(b)),
            StmtKind::New(p, r, es) => StmtKind::New(p, r, self.all(es)),
            StmtKind::If(Guard::Expr(e), a, b) => StmtKind::If(Guard::Expr(self.expr(e)), a, b),
            StmtKind::While(Guard::Expr(e), b) => StmtKind::While(Guard::Expr(self.expr(e)), b),
            StmtKind::Call(r, p, es) => StmtKind::Call(r, p, self.all(es)),
            StmtKind::Return(es) => StmtKind::Return(self.all(es)),
            StmtKind::Assume(e) => StmtKind::Assume(self.expr(e)),
            StmtKind::Await(e) => StmtKind::Await(self.expr(e)),
            StmtKind::Assert(e, check, message) => StmtKind::Assert(self.expr(e), check, message),
            StmtKind::Print(es) => StmtKind::Print(self.all(es)),
            other => other,
        };
        vec![Stmt { kind, ..s }]
    }

    fn all(&mut self, es: Vec<Expr>) -> Vec<Expr> {
        es.into_iter().map(|e| self.expr(e)).collect()
    }

    /// A thread is compared with nobody or with oneself, and nothing else is done with it.
    fn expr(&mut self, e: Expr) -> Expr {
        let kind = match e.kind {
            ExprKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b) if a.ty == Type::Thread => {
                return match (a.kind, b.kind) {
                    (ExprKind::Read(p), ExprKind::SelfHandle) | (ExprKind::SelfHandle, ExprKind::Read(p)) => {
                        let Some(own) = self.own(&p) else {
                            self.wrong = Some(e.span);
                            return boolean(false);
                        };
                        Expr { span: e.span, ..binary(op, read(&own), constant(SOMEBODY, Type::Thread)) }
                    }
                    (ExprKind::Read(p), null @ ExprKind::Const(_)) | (null @ ExprKind::Const(_), ExprKind::Read(p)) => {
                        Expr { span: e.span, ..binary(op, read(&p), expr(null, Type::Thread)) }
                    }
                    _ => {
                        self.wrong = Some(e.span);
                        boolean(false)
                    }
                };
            }
            // Also as a part of what is read as a whole.
            ExprKind::Read(ref p) if self.own(p).is_some() && !is_without(&p.ty) => {
                self.wrong = Some(e.span);
                e.kind
            }
            ExprKind::SelfHandle | ExprKind::SetContains(..) | ExprKind::SetIsEmpty(_) => {
                self.wrong = Some(e.span);
                e.kind
            }
            ExprKind::Unary(op, a) => ExprKind::Unary(op, self.boxed(*a)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(op, self.boxed(*a), self.boxed(*b)),
            ExprKind::IfElse(a, b, c) => ExprKind::IfElse(self.boxed(*a), self.boxed(*b), self.boxed(*c)),
            ExprKind::Tuple(parts) => ExprKind::Tuple(parts.into_iter().map(|p| self.expr(p)).collect()),
            ExprKind::Cast(a) => ExprKind::Cast(self.boxed(*a)),
            other => other,
        };
        Expr { kind, ..e }
    }

    fn boxed(&mut self, e: Expr) -> Box<Expr> {
        Box::new(self.expr(e))
    }

    /// The place in the thread's own copy.
    fn own(&self, p: &Place) -> Option<Place> {
        let Base::Global(g) = p.base else { return None };
        self.own.get(&g).map(|own| Place { base: Base::Global(*own), ..p.clone() })
    }
}
