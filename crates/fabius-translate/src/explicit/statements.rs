//! One function for each kind of statement that is more than a line.

use super::census::{awaited, has_points};
use super::data::{Mapping, reference};
use super::prefix::is_visible;
use super::{At, Body, Maker, Mode, Origin, code};
use crate::build::*;
use crate::faults;
use fabius_lang::program::*;
use fabius_lang::walk::{decided, is_nothing};
use fabius_trace::Span;

impl Maker<'_> {
    pub(super) fn hold(&mut self, conditions: Vec<Expr>, span: Span, out: &mut Block) {
        for e in conditions {
            out.push(Stmt { span, ..stmt(StmtKind::Assert(e, Check::Assertion, None)) });
        }
    }

    pub(super) fn check_exprs(&mut self, es: &[Expr], span: Span, out: &mut Block) {
        let mut conditions = Vec::new();
        es.iter().for_each(|e| faults::of_expr(&self.program, e, &mut conditions));
        self.hold(conditions, span, out);
    }

    /// Stores a value, if the place and the value are what they must be.
    fn checked_store(&mut self, p: Place, e: Expr, span: Span, out: &mut Block) {
        let mut conditions = Vec::new();
        faults::of_expr(&self.program, &e, &mut conditions);
        faults::of_place(&self.program, &p, &mut conditions);
        faults::of_store(&e, &p.ty, &mut conditions);
        self.hold(conditions, span, out);
        out.push(Stmt { span, ..set(&p, e) });
    }

    pub(super) fn choose_bool(&mut self, body: &mut Body, out: &mut Block) -> Expr {
        let b = new_local(&mut body.locals, "choice", Type::Bool);
        out.push(any_between(&b, boolean(false), boolean(true)));
        let index = ExprKind::IfElse(Box::new(read(&b)), Box::new(number(0)), Box::new(number(1)));
        self.tell(code::CHOICE, expr(index, Type::Int), out);
        read(&b)
    }

    /// A choice, which is another event if it is among many. If there is only one alternative it is none.
    fn tell_choice(&self, index: Expr, ty: &Type, least: Expr, most: Expr, out: &mut Block) {
        let (mut narrow, mut wide) = (Vec::new(), Vec::new());
        self.tell(code::CHOICE, index.clone(), &mut narrow);
        self.tell(code::WIDE, index, &mut wide);
        if let (ExprKind::Const(Value::Int(least)), ExprKind::Const(Value::Int(most))) = (&least.kind, &most.kind) {
            return match most.wrapping_sub(*least) as u64 {
                0 => {}
                above if above < u64::from(u32::MAX) => out.extend(narrow),
                _ => out.extend(wide),
            };
        }
        let several = binary(BinaryOp::Ne, least.clone(), most.clone());
        if matches!(ty, Type::Int | Type::Fixed { bits: 32 | 64, .. }) {
            let as_int = |e: Expr| expr(ExprKind::Cast(Box::new(e)), Type::Int);
            let above = sub(as_int(most), as_int(least));
            narrow = vec![either(lt(above, number(i64::from(u32::MAX))), narrow, wide)];
        }
        out.push(when(several, narrow));
    }

    pub(super) fn stmt(&mut self, s: &Stmt, body: &mut Body, params: usize, out: &mut Block) {
        if is_visible(s) {
            match body.mode {
                Mode::AtOnce => return out.push(assume(boolean(false))),
                Mode::Free if body.at != At::Point => self.end_prefix(s, body, out),
                _ => {}
            }
        }
        let at = s.span;
        let map = Mapping {
            ty: &|t| self.ty(t),
            records: &self.program.records,
            heap: &self.heap,
            params,
            me: body.me.clone(),
        };
        let expr_of = |e: &Expr| map.expr(e);
        match &s.kind {
            StmtKind::Skip => {}
            StmtKind::Progress => self.begin(body, out),
            // There is nobody to hand over to.
            StmtKind::Zield if self.source.has_single_buffer() => self.begin(body, out),
            StmtKind::Assign(p, e) => {
                let (p, e) = (map.place(p), expr_of(e));
                self.point(s.access, body, out);
                self.checked_store(p, e, at, out);
            }
            StmtKind::Any(p, lo, hi) => {
                let (p, lo, hi) = (map.place(p), expr_of(lo), expr_of(hi));
                self.point(s.access, body, out);
                self.check_exprs(&[lo.clone(), hi.clone()], at, out);
                let ty = if let Type::Range(..) = p.ty { Type::Int } else { p.ty.clone() };
                let value = new_local(&mut body.locals, "choice", ty.clone());
                let mut once = |name: &str, e: Expr| match e.kind {
                    ExprKind::Const(_) => e,
                    _ => {
                        let kept = new_local(&mut body.locals, name, ty.clone());
                        out.push(set(&kept, e));
                        read(&kept)
                    }
                };
                let (least, most) = (once("least", lo), once("most", hi));
                out.push(any_between(&value, least.clone(), most.clone()));
                let index = match &ty {
                    Type::Int => sub(read(&value), least.clone()),
                    Type::Bool => expr(
                        ExprKind::IfElse(
                            Box::new(eq(read(&value), least.clone())),
                            Box::new(number(0)),
                            Box::new(number(1)),
                        ),
                        Type::Int,
                    ),
                    // An enum cannot be computed with: compared with each of its values.
                    Type::Enum(e) => {
                        let names = self.program.enums[*e].names.len() as i64;
                        (0..names).rev().fold(number(0), |rest, i| {
                            let is = eq(read(&value), constant(i, ty.clone()));
                            expr(ExprKind::IfElse(Box::new(is), Box::new(number(i)), Box::new(rest)), Type::Int)
                        })
                    }
                    _ => {
                        let as_int = |e: Expr| expr(ExprKind::Cast(Box::new(e)), Type::Int);
                        sub(as_int(read(&value)), as_int(least.clone()))
                    }
                };
                if self.clock.is_some() {
                    self.tell_choice(index, &ty, least, most, out);
                }
                self.checked_store(p, read(&value), at, out);
            }
            StmtKind::If(Guard::Expr(e), a, b) if is_nothing(s) => {
                self.block(if decided(e) == Some(true) { a } else { b }, body, params, out);
            }
            StmtKind::If(guard, a, b) => {
                let c = match guard {
                    Guard::Star => {
                        self.begin(body, out);
                        self.choose_bool(body, out)
                    }
                    Guard::Expr(e) => {
                        let e = expr_of(e);
                        self.point(s.access, body, out);
                        self.check_exprs(std::slice::from_ref(&e), at, out);
                        e
                    }
                };
                let (mut a, at_a) = self.nested(a, body, params);
                let (mut b, at_b) = self.nested(b, body, params);
                body.at = at_a;
                if at_a != at_b {
                    self.remember(at_a, body, &mut a);
                    self.remember(at_b, body, &mut b);
                    body.at = At::Either;
                }
                out.push(Stmt { span: at, ..either(c, a, b) });
            }
            StmtKind::While(guard, block) => {
                if body.at != At::Within || has_points(block) {
                    let now = body.at;
                    self.remember(now, body, out);
                    body.at = At::Either;
                }
                let before = body.at;
                let mut inner = Vec::new();
                let c = match guard {
                    Guard::Star => {
                        self.begin(body, &mut inner);
                        self.choose_bool(body, &mut inner)
                    }
                    Guard::Expr(e) if is_nothing(s) => expr_of(e),
                    Guard::Expr(e) => {
                        let e = expr_of(e);
                        self.point(s.access, body, &mut inner);
                        self.check_exprs(std::slice::from_ref(&e), at, &mut inner);
                        e
                    }
                };
                let (mut begin, at_end) = self.nested(block, body, params);
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
                out.push(Stmt { span: at, ..stmt(kind) });
            }
            StmtKind::Break | StmtKind::Continue => {
                let now = std::mem::replace(&mut body.at, At::Within);
                if now != At::Within {
                    self.remember(now, body, out);
                }
                out.push(s.clone());
            }
            StmtKind::Call(results, p, es) => {
                let mut es: Vec<Expr> = es.iter().map(expr_of).collect();
                let results: Vec<Option<LocalId>> = results.iter().map(|r| r.map(|l| map.local(l))).collect();
                self.point(s.access, body, out);
                self.check_exprs(&es, at, out);
                self.check_arguments(*p, &es, at, out);
                let callee = self.version(*p, body.mode, body.level);
                es.extend(body.me.as_ref().map(read));
                // A range result that does not fit the local is a fault of the store.
                let mut stores = Vec::new();
                let mut kept = Vec::new();
                for (r, ty) in results.iter().zip(&self.source.procs[*p].results) {
                    let to = r.map(|l| local(l, body.locals[l].ty.clone()));
                    match to {
                        Some(to) if matches!(to.ty, Type::Range(..)) && to.ty != self.ty(ty) => {
                            let temporary = new_local(&mut body.locals, "result", self.ty(ty));
                            kept.push(Some(local_id(&temporary)));
                            stores.push((to, read(&temporary)));
                        }
                        _ => kept.push(*r),
                    }
                }
                out.push(Stmt { span: at, ..stmt(StmtKind::Call(kept, callee, es)) });
                for (to, e) in stores {
                    self.checked_store(to, e, at, out);
                }
            }
            StmtKind::Return(es) => {
                let es: Vec<Expr> = es.iter().map(expr_of).collect();
                self.point(s.access, body, out);
                self.check_exprs(&es, at, out);
                out.push(Stmt { span: at, ..stmt(StmtKind::Return(es)) });
            }
            StmtKind::Spawn(r, p, es) => {
                let es: Vec<Expr> = es.iter().map(expr_of).collect();
                let r = r.map(|l| map.local(l));
                self.point(s.access, body, out);
                self.check_exprs(&es, at, out);
                self.check_arguments(*p, &es, at, out);
                self.spawn(r, *p, es, None, Origin::Spawned, at, body, out);
            }
            StmtKind::Post(r, level, p, es) => {
                let es: Vec<Expr> = es.iter().map(expr_of).collect();
                let r = r.map(|l| map.local(l));
                self.point(s.access, body, out);
                self.check_exprs(&es, at, out);
                self.check_arguments(*p, &es, at, out);
                self.spawn(r, *p, es, *level, Origin::Posted, at, body, out);
            }
            StmtKind::Yield | StmtKind::Zield => {
                self.begin(body, out);
                out.push(s.clone());
                body.at = At::Point;
            }
            StmtKind::Atomic(block) => {
                match awaited(block) {
                    Some(StmtKind::Await(e)) => {
                        let e = expr_of(e);
                        self.pause(&e, body, out);
                    }
                    Some(StmtKind::Join(e)) => {
                        let e = expr_of(e);
                        let (_, ended) = self.has_ended(e);
                        self.pause(&ended, body, out);
                    }
                    _ => self.point(s.access, body, out),
                }
                let mode = std::mem::replace(&mut body.mode, Mode::Atomic);
                self.block(block, body, params, out);
                body.mode = mode;
            }
            StmtKind::Assume(e) => {
                let e = expr_of(e);
                self.point(s.access, body, out);
                self.check_exprs(std::slice::from_ref(&e), at, out);
                out.push(Stmt { span: at, ..assume(e) });
            }
            StmtKind::Await(e) => {
                let e = expr_of(e);
                self.wait(e, at, body, out);
            }
            StmtKind::Join(e) => {
                let e = expr_of(e);
                let (null, ended) = self.has_ended(e);
                self.wait(ended, at, body, out);
                self.hold(vec![not(null)], at, out);
            }
            StmtKind::Assert(e, check, message) => {
                let e = expr_of(e);
                self.point(s.access, body, out);
                self.check_exprs(std::slice::from_ref(&e), at, out);
                out.push(Stmt { span: at, ..stmt(StmtKind::Assert(e, *check, message.clone())) });
            }
            StmtKind::Print(es) => {
                let es: Vec<Expr> = es.iter().map(expr_of).collect();
                self.point(s.access, body, out);
                self.check_exprs(&es, at, out);
                // Events are prints, too, and must stay among themselves.
                if self.clock.is_none() {
                    out.push(Stmt { span: at, ..stmt(StmtKind::Print(es)) });
                }
            }
            StmtKind::SetInsert(p, e) => {
                let (p, e) = (map.place(p), expr_of(e));
                self.point(s.access, body, out);
                out.push(set(&element(p, e), boolean(true)));
            }
            StmtKind::SetRemove(p, e) => {
                let (p, e) = (map.place(p), expr_of(e));
                self.point(s.access, body, out);
                out.push(set(&element(p, e), boolean(false)));
            }
            StmtKind::SetClear(p) => {
                let p = map.place(p);
                self.point(s.access, body, out);
                let none = p.ty.default_value(&self.program.records);
                let none = expr(ExprKind::Const(none), p.ty.clone());
                out.push(set(&p, none));
            }
            StmtKind::SetRemoveAny(p) => {
                let p = map.place(p);
                self.point(s.access, body, out);
                self.remove_any(p, body, out);
            }
            StmtKind::New(p, r, es) => {
                let (p, es) = (map.place(p), es.iter().map(expr_of).collect::<Vec<_>>());
                self.point(s.access, body, out);
                self.new_object(p, *r, es, at, body, out);
            }
        }
    }

    /// Arguments must fit the parameters.
    fn check_arguments(&mut self, p: ProcId, es: &[Expr], span: Span, out: &mut Block) {
        let mut conditions = Vec::new();
        for (e, l) in es.iter().zip(&self.source.procs[p].locals) {
            faults::of_store(e, &l.ty, &mut conditions);
        }
        self.hold(conditions, span, out);
    }

    /// Whether a handle is null, and whether one may go on behind `join`.
    fn has_ended(&self, handle: Expr) -> (Expr, Expr) {
        let Some((_, finished)) = self.handles.clone() else { unreachable!("`join` has a handle") };
        let null = eq(handle.clone(), number(0));
        (null.clone(), or(null, read(&element(finished, handle))))
    }

    fn wait(&mut self, e: Expr, span: Span, body: &mut Body, out: &mut Block) {
        self.pause(&e, body, out);
        self.check_exprs(std::slice::from_ref(&e), span, out);
        out.push(Stmt { span, ..assume(e) });
    }

    fn new_object(&mut self, p: Place, r: RecordId, es: Vec<Expr>, span: Span, body: &mut Body, out: &mut Block) {
        self.check_exprs(&es, span, out);
        let mut conditions = Vec::new();
        es.iter().zip(&self.program.records[r].fields).for_each(|(e, f)| faults::of_store(e, &f.ty, &mut conditions));
        self.hold(conditions, span, out);
        let made = self.heap.made[r].clone();
        let object = new_local(&mut body.locals, "object", reference(self.heap.objects));
        out.push(assume(lt(read(&made), number(i64::from(self.heap.objects)))));
        out.extend([set(&made, add(read(&made), number(1))), set(&object, read(&made))]);
        for (column, e) in self.heap.fields[r].clone().into_iter().zip(es) {
            out.push(set(&element(column, read(&object)), e));
        }
        self.checked_store(p, read(&object), span, out);
    }

    /// The member is any; which one, counted among the members, is the choice.
    fn remove_any(&mut self, p: Place, body: &mut Body, out: &mut Block) {
        let Type::Array { len, .. } = p.ty else { unreachable!("a set is an array") };
        let member = new_local(&mut body.locals, "member", Type::Range(0, i64::from(len) - 1));
        out.push(any_between(&member, number(0), number(i64::from(len) - 1)));
        let contains = |i: i64| read(&element(p.clone(), number(i)));
        let one =
            |i: i64| expr(ExprKind::IfElse(Box::new(contains(i)), Box::new(number(1)), Box::new(number(0))), Type::Int);
        let members = (1..i64::from(len)).fold(number(0), |sum, i| add(sum, one(i)));
        let chosen = element(p.clone(), read(&member));
        let none = eq(read(&member), number(0));
        let fits = or(and(none, eq(members.clone(), number(0))), read(&chosen));
        out.push(assume(fits));
        let before = (1..i64::from(len)).fold(number(0), |sum, i| {
            let counts = and(lt(number(i), read(&member)), contains(i));
            add(sum, expr(ExprKind::IfElse(Box::new(counts), Box::new(number(1)), Box::new(number(0))), Type::Int))
        });
        let mut told = Vec::new();
        self.tell(code::CHOICE, before, &mut told);
        out.push(when(lt(number(1), members), told));
        out.push(set(&chosen, boolean(false)));
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn spawn(
        &mut self,
        result: Option<LocalId>,
        p: ProcId,
        mut args: Vec<Expr>,
        level: Option<Level>,
        origin: Origin,
        span: Span,
        body: &mut Body,
        out: &mut Block,
    ) {
        if let Some((born, _)) = self.handles.clone() {
            let Type::Range(_, most) = born.ty else { unreachable!("handles are numbers") };
            out.push(assume(lt(read(&born), number(most))));
            out.push(set(&born, add(read(&born), number(1))));
            let id = new_local(&mut body.locals, "id", born.ty.clone());
            out.push(set(&id, read(&born)));
            args.push(read(&id));
            if let Some(l) = result {
                out.push(set(&local(l, body.locals[l].ty.clone()), read(&id)));
            }
        }
        if origin == Origin::Spawned {
            return self.make_thread(p, args, span, body, out);
        }
        let its_level = level.unwrap_or(body.level);
        let wrapper = self.wrapper(p, origin, its_level);
        self.tell(code::POST, number(level.map_or(-1, i64::from)), out);
        out.push(Stmt { span, ..stmt(StmtKind::Post(None, level, wrapper, args)) });
        if its_level > body.level {
            if body.mode == Mode::Atomic {
                let help = "post behind the `atomic` block";
                self.refuse("a post to a higher level inside of `atomic`", span, help);
            }
            body.at = At::Point;
        }
    }
}
