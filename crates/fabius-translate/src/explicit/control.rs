//! Branches, loops and `atomic`.

use super::census::{awaited, has_points};
use super::{At, Body, Maker, Mode};
use crate::build::*;
use fabius_lang::program::*;
use fabius_lang::walk::is_nothing;

impl Maker<'_> {
    pub(super) fn branch(
        &mut self,
        s: &Stmt,
        (guard, a, b): (&Guard, &Block, &Block),
        body: &mut Body,
        out: &mut Block,
    ) {
        let c = self.condition(s, guard, body, out);
        let (mut a, at_a) = self.nested(a, body);
        let (mut b, at_b) = self.nested(b, body);
        body.at = at_a;
        if at_a != at_b {
            self.remember(at_a, body, &mut a);
            self.remember(at_b, body, &mut b);
            body.at = At::Either;
        }
        out.push(Stmt { span: s.span, ..either(c, a, b) });
    }

    pub(super) fn repeat(&mut self, s: &Stmt, guard: &Guard, block: &Block, body: &mut Body, out: &mut Block) {
        if body.at != At::Within || has_points(block) {
            let now = body.at;
            self.remember(now, body, out);
            body.at = At::Either;
        }
        let before = body.at;
        let mut inner = Vec::new();
        let c = match guard {
            Guard::Expr(e) if is_nothing(s) => self.expr(e, body),
            _ => self.condition(s, guard, body, &mut inner),
        };
        let (mut begin, at_end) = self.nested(block, body);
        if at_end != At::Within {
            debug_assert_eq!(before, At::Either);
            self.remember(at_end, body, &mut begin);
        }
        // Behind the guard a step has begun, behind a `break` perhaps not.
        body.at = before;
        let kind = if inner.is_empty() {
            StmtKind::While(Guard::Expr(c), begin)
        } else {
            inner.push(when(not(c), vec![stmt(StmtKind::Break)]));
            inner.extend(begin);
            StmtKind::While(Guard::Expr(boolean(true)), inner)
        };
        out.push(Stmt { span: s.span, ..stmt(kind) });
    }

    /// What a guard says, with what has to be done to know it.
    fn condition(&mut self, s: &Stmt, guard: &Guard, body: &mut Body, out: &mut Block) -> Expr {
        match guard {
            Guard::Star => {
                self.begin(body, out);
                self.choose_bool(body, out)
            }
            Guard::Expr(e) => self.evaluated_one(e, s, body, out),
        }
    }

    pub(super) fn atomic(&mut self, s: &Stmt, block: &Block, body: &mut Body, out: &mut Block) {
        if body.mode == Mode::Free
            && let Some(wait) = self.waits.midway(block)
        {
            let help = "`fabius check` explores such blocks; here let the block begin with what it waits for";
            self.refuse("a wait in the middle of `atomic`", wait.span, help);
        }
        match awaited(block) {
            Some(StmtKind::Await(e)) => {
                let e = self.expr(e, body);
                self.pause(&e, body, out);
            }
            Some(StmtKind::Join(e)) => {
                let (_, ended) = self.has_ended(self.expr(e, body));
                self.pause(&ended, body, out);
            }
            _ => self.point(s, body, out),
        }
        let mode = std::mem::replace(&mut body.mode, Mode::Atomic);
        self.block(block, body, out);
        body.mode = mode;
    }
}
