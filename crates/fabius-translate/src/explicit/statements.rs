//! What each kind of statement becomes.

use super::prefix::is_visible;
use super::{At, Body, Maker, Mode, Origin};
use crate::build::*;
use fabius_lang::program::*;
use fabius_lang::walk::{decided, is_nothing};

impl Maker<'_> {
    pub(super) fn stmt(&mut self, s: &Stmt, body: &mut Body, out: &mut Block) {
        if is_visible(s) {
            match body.mode {
                Mode::AtOnce => return out.push(assume(boolean(false))),
                Mode::Free if body.at != At::Point => self.end_prefix(s, body, out),
                _ => {}
            }
        }
        let at = s.span;
        match &s.kind {
            StmtKind::Skip => {}
            StmtKind::Progress => self.begin(body, out),
            // There is nobody to hand over to.
            StmtKind::Zield if self.source.has_single_buffer() => self.begin(body, out),
            StmtKind::Assign(p, e) => {
                let (p, e) = (self.place(p, body), self.expr(e, body));
                self.point(s, body, out);
                self.checked_store(p, e, at, out);
            }
            StmtKind::Any(p, lo, hi) => self.any(s, (p, lo, hi), body, out),
            StmtKind::If(Guard::Expr(e), a, b) if is_nothing(s) => {
                self.block(if decided(e) == Some(true) { a } else { b }, body, out);
            }
            StmtKind::If(guard, a, b) => self.branch(s, (guard, a, b), body, out),
            StmtKind::While(guard, block) => self.repeat(s, guard, block, body, out),
            StmtKind::Break | StmtKind::Continue => {
                let now = std::mem::replace(&mut body.at, At::Within);
                if now != At::Within {
                    self.remember(now, body, out);
                }
                out.push(s.clone());
            }
            StmtKind::Call(results, p, es) => self.call(s, (results, *p, es), body, out),
            StmtKind::Return(es) => {
                let es = self.evaluated(es, s, body, out);
                out.push(Stmt { span: at, ..stmt(StmtKind::Return(es)) });
            }
            StmtKind::Spawn(r, p, es) => {
                let es = self.evaluated(es, s, body, out);
                self.check_arguments(*p, &es, at, out);
                let r = r.map(|l| body.local(l));
                self.spawn(r, *p, es, None, Origin::Spawned, at, body, out);
            }
            StmtKind::Post(r, level, p, es) => {
                let es = self.evaluated(es, s, body, out);
                self.check_arguments(*p, &es, at, out);
                let r = r.map(|l| body.local(l));
                self.spawn(r, *p, es, *level, Origin::Posted, at, body, out);
            }
            StmtKind::Yield | StmtKind::Zield => {
                self.begin(body, out);
                out.push(s.clone());
                body.at = At::Point;
            }
            StmtKind::Atomic(block) => self.atomic(s, block, body, out),
            StmtKind::Assume(e) => {
                let e = self.evaluated_one(e, s, body, out);
                out.push(Stmt { span: at, ..assume(e) });
            }
            StmtKind::Await(e) => {
                let e = self.expr(e, body);
                self.wait(e, at, body, out);
            }
            StmtKind::Join(e) => {
                let (null, ended) = self.has_ended(self.expr(e, body));
                self.wait(ended, at, body, out);
                self.hold(vec![not(null)], at, out);
            }
            StmtKind::Assert(e, check, message) => {
                let e = self.evaluated_one(e, s, body, out);
                // What is not followed further is no failure.
                let kind = match check {
                    Check::Bound => StmtKind::Assume(e),
                    _ => StmtKind::Assert(e, *check, message.clone()),
                };
                out.push(Stmt { span: at, ..stmt(kind) });
            }
            StmtKind::Print(es) => {
                let es = self.evaluated(es, s, body, out);
                // Events are prints, too, and must stay among themselves.
                if self.clock.is_none() {
                    out.push(Stmt { span: at, ..stmt(StmtKind::Print(es)) });
                }
            }
            StmtKind::SetInsert(p, e) => self.change_set(s, (p, e), true, body, out),
            StmtKind::SetRemove(p, e) => self.change_set(s, (p, e), false, body, out),
            StmtKind::SetClear(p) => {
                let p = self.place(p, body);
                self.point(s, body, out);
                let none = p.ty.default_value(&self.program.records);
                let none = expr(ExprKind::Const(none), p.ty.clone());
                out.push(set(&p, none));
            }
            StmtKind::SetRemoveAny(p) => {
                let p = self.place(p, body);
                self.point(s, body, out);
                self.remove_any(p, body, out);
            }
            StmtKind::New(p, r, es) => {
                let p = self.place(p, body);
                let es: Vec<Expr> = es.iter().map(|e| self.expr(e, body)).collect();
                self.point(s, body, out);
                self.new_object(p, *r, es, at, body, out);
            }
        }
    }

    /// Whether a thread is in a set from now on.
    fn change_set(&mut self, s: &Stmt, (p, e): (&Place, &Expr), holds: bool, body: &mut Body, out: &mut Block) {
        let (p, e) = (self.place(p, body), self.expr(e, body));
        self.point(s, body, out);
        out.push(set(&element(p, e), boolean(holds)));
    }
}
