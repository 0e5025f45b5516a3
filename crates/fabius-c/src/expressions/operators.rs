//! Operators (C11 6.5). Operands are evaluated from left to right; an assignment evaluates its right side first, then the place.

use super::Ex;
use crate::core::*;
use crate::lower::{Entity, Lower};
use crate::omitted::OMITTED;
use crate::places::{At, Lvalue, Value};
use crate::refusal::{Result, unsupported};
use crate::types::{CType, INT, LONG};
use fabius_lang::program::{Base, BinaryOp, Expr, ExprKind, Guard, StmtKind, Type, UnaryOp};
use fabius_trace::Span;
use lang_c::ast;
use lang_c::ast::{BinaryOperator as Op, Expression, UnaryOperator as Un};
use lang_c::span::Node;

impl<'a> Lower<'a, '_> {
    pub(super) fn unary(&mut self, op: Un, operand: &'a Ex, e: &'a Ex, span: Span) -> Result<Value> {
        match op {
            Un::Address => {
                if let Expression::Identifier(name) = &operand.node
                    && let Some(Entity::Function(name)) = self.entity(&name.node.name)
                {
                    return self.function_address(&name, span);
                }
                let lv = self.lvalue(operand)?;
                let address = self.address_of(&lv)?;
                Ok(Value::scalar(address, lv.ty.clone().pointer()))
            }
            Un::Indirection => {
                let lv = self.lvalue(e)?;
                if let (CType::Function(_), At::Deref { address, .. }) = (&lv.ty, &lv.at) {
                    return Ok(Value::scalar(address.clone(), lv.ty.clone().pointer()));
                }
                self.load(&lv)
            }
            Un::Plus => {
                let v = self.value(operand)?;
                if v.ty.is_float() { Ok(v) } else { self.promoted(v, operand) }
            }
            Un::Minus | Un::Complement => {
                let v = self.value(operand)?;
                if v.ty.is_float() && op == Un::Minus {
                    return self.negative(v, span);
                }
                let v = self.promoted(v, operand)?;
                let (op, v) = match op {
                    Un::Minus => (UnaryOp::Neg, self.negatable(v, span)),
                    _ => (UnaryOp::BitNot, v),
                };
                Ok(Value::scalar(unary(op, v.parts[0].clone()), v.ty))
            }
            Un::Negate => {
                let c = self.condition(operand)?;
                Ok(Value::scalar(not(c), INT))
            }
            Un::PreIncrement | Un::PreDecrement | Un::PostIncrement | Un::PostDecrement => {
                let lv = self.lvalue(operand)?;
                let up = matches!(op, Un::PreIncrement | Un::PostIncrement);
                let before = matches!(op, Un::PostIncrement | Un::PostDecrement);
                let one = Value::scalar(constant(1, INT.core(), span), INT);
                let op = if up { Op::Plus } else { Op::Minus };
                self.update(&lv, &op, one, before, span)
            }
        }
    }

    /// `place op= value`: the value before or after. One step if the place is atomic.
    pub fn update(&mut self, lv: &Lvalue, op: &Op, by: Value, before: bool, span: Span) -> Result<Value> {
        if matches!(lv.ty, CType::Atomic(_)) {
            return self.atomic_update(lv, op, by, before, span);
        }
        let old = self.load(lv)?;
        let kept = if before { Some(self.keep(old.parts[0].clone())) } else { None };
        let new = self.operate(op, old.clone(), by, span)?;
        let new = self.fitted(new, lv, span)?;
        let new = Value { parts: vec![self.keep_if_needed(new.parts[0].clone(), lv)], ..new };
        self.store(lv, &new, span)?;
        Ok(match kept {
            Some(e) => Value::scalar(e, old.ty),
            None => new,
        })
    }

    /// What is stored is computed once: the value that it has behind the assignment is that.
    pub(super) fn keep_if_needed(&mut self, e: Expr, lv: &Lvalue) -> Expr {
        match &lv.at {
            At::Direct(d) if matches!(self.objects[d.object].parts, crate::memory::Parts::Locals(_)) => {
                // A local is read again, as it is only written here; a temporary is written nowhere else.
                let reads_it = |p: &fabius_lang::program::Place| matches!(p.base, Base::Local(_));
                let mut any = false;
                fabius_lang::walk::each(&e, &mut |x| any |= matches!(&x.kind, ExprKind::Read(p) if reads_it(p)));
                if any { self.keep_unless_temporary(&e) } else { e }
            }
            _ => self.simple(e),
        }
    }

    pub(super) fn binary(
        &mut self,
        b: &'a Node<ast::BinaryOperatorExpression>,
        e: &'a Ex,
        span: Span,
    ) -> Result<Value> {
        let ast::BinaryOperatorExpression { operator, lhs, rhs } = &b.node;
        match &operator.node {
            Op::Index => {
                let lv = self.lvalue(e)?;
                self.load(&lv)
            }
            Op::Assign => {
                let to = if self.has_allocation(rhs) { Some(self.type_of(lhs)?) } else { None };
                let v = match self.allocation(rhs, to.as_ref())? {
                    Some(v) => v,
                    None => self.value(rhs)?,
                };
                let lv = self.lvalue(lhs)?;
                let v = self.fitted(v, &lv, span)?;
                let v = match v.parts.as_slice() {
                    [one] => Value { parts: vec![self.keep_if_needed(one.clone(), &lv)], ..v },
                    _ => v,
                };
                self.store(&lv, &v, span)?;
                Ok(v)
            }
            Op::LogicalAnd | Op::LogicalOr => {
                let and_ = operator.node == Op::LogicalAnd;
                let a = self.condition(lhs)?;
                if let Some(n) = value_of(&a) {
                    let decided = (n != 0) != and_;
                    let value = if decided { boolean(!and_, span) } else { self.condition(rhs)? };
                    return Ok(Value::scalar(value, INT));
                }
                let (block, b) = self.block(|s| s.condition(rhs))?;
                if block.is_empty() {
                    let op = if and_ { BinaryOp::And } else { BinaryOp::Or };
                    return Ok(Value::scalar(binary(op, a, b), INT));
                }
                let id = self.temp(Type::Bool);
                self.set_local(id, a, span);
                let test = self.read_local(id, span);
                let mut block = block;
                block.push(stmt(StmtKind::Assign(self.local(id, span), b), span));
                let (yes, no) = if and_ { (block, Vec::new()) } else { (Vec::new(), block) };
                self.push(StmtKind::If(Guard::Expr(test), yes, no), span);
                Ok(Value::scalar(self.read_local(id, span), INT))
            }
            op => {
                if let Some(plain) = compound(op) {
                    let by = self.value(rhs)?;
                    let lv = self.lvalue(lhs)?;
                    return self.update(&lv, &plain, by, false, span);
                }
                if let Some(v) = self.random_below(op, lhs, rhs, span)? {
                    return Ok(v);
                }
                let a = self.value(lhs)?;
                let (block, b) = self.block(|s| s.value(rhs))?;
                // What the left side reads of locals must not be changed by the right one.
                let a = if block.is_empty() {
                    a
                } else {
                    // In none that the right side, which comes behind this, has used and given back.
                    let free = std::mem::take(&mut self.body.free);
                    let parts = a.parts.iter().map(|p| self.keep_unless_temporary(p)).collect();
                    self.body.free.extend(free);
                    Value { parts, ..a }
                };
                self.body.out.extend(block);
                self.operate(op, a, b, span)
            }
        }
    }

    /// `rand() % n` is one of `n` values, and so is what is chosen without a sign.
    fn random_below(&mut self, op: &Op, lhs: &'a Ex, rhs: &'a Ex, span: Span) -> Result<Option<Value>> {
        let Expression::Call(c) = &lhs.node else { return Ok(None) };
        let Expression::Identifier(name) = &c.node.callee.node else { return Ok(None) };
        let defined = self.functions.get(&name.node.name).is_some_and(|f| f.definition.is_some());
        let unsigned = CType::Int { bits: 32, signed: false };
        let (ty, has_negative) = match name.node.name.as_str() {
            "rand" | "random" | "rand_r" => (INT, false),
            "__VERIFIER_nondet_int" => (INT, true),
            "__VERIFIER_nondet_uint" => (unsigned, false),
            _ => return Ok(None),
        };
        if *op != Op::Modulo || defined {
            return Ok(None);
        }
        let Ok(below) = self.unevaluated(|s| s.constant_value(rhs)) else { return Ok(None) };
        match below.parts.first().and_then(value_of) {
            Some(n) if n > 0 && (below.ty == INT || below.ty == ty) => {
                if name.node.name == "rand_r" {
                    self.value(lhs)?;
                }
                let least = if has_negative { 1 - n } else { 0 };
                Ok(Some(self.any(least, n - 1, ty, span)))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn keep_unless_temporary(&mut self, e: &Expr) -> Expr {
        match &e.kind {
            ExprKind::Const(_) => e.clone(),
            ExprKind::Read(p) if matches!(p.base, Base::Local(id) if self.body.locals[id].name.starts_with('$')) => {
                e.clone()
            }
            _ => self.keep(e.clone()),
        }
    }

    /// `a op b` on values.
    pub fn operate(&mut self, op: &Op, a: Value, b: Value, span: Span) -> Result<Value> {
        let truth = |e: Expr| Value::scalar(e, INT);
        let core = match op {
            Op::Multiply => BinaryOp::Mul,
            Op::Divide => BinaryOp::Div,
            Op::Modulo => BinaryOp::Rem,
            Op::Plus => BinaryOp::Add,
            Op::Minus => BinaryOp::Sub,
            Op::ShiftLeft => BinaryOp::Shl,
            Op::ShiftRight => BinaryOp::Shr,
            Op::Less => BinaryOp::Lt,
            Op::Greater => BinaryOp::Gt,
            Op::LessOrEqual => BinaryOp::Le,
            Op::GreaterOrEqual => BinaryOp::Ge,
            Op::Equals => BinaryOp::Eq,
            Op::NotEquals => BinaryOp::Ne,
            Op::BitwiseAnd => BinaryOp::BitAnd,
            Op::BitwiseXor => BinaryOp::BitXor,
            Op::BitwiseOr => BinaryOp::BitOr,
            _ => return unsupported(span, "this operator is not taken here"),
        };
        let comparison =
            matches!(core, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne);
        if a.ty.is_pointer() || b.ty.is_pointer() {
            if comparison {
                let x = self.convert(a, &LONG, span)?;
                let y = self.convert(b, &LONG, span)?;
                return Ok(truth(spanned(binary(core, x.parts[0].clone(), y.parts[0].clone()), span)));
            }
            return self.pointer_arithmetic(core, a, b, span);
        }
        if (&a.ty, &b.ty) == (&CType::Thread, &CType::Thread) && comparison {
            return Ok(truth(spanned(binary(core, a.parts[0].clone(), b.parts[0].clone()), span)));
        }
        if a.ty.is_float() || b.ty.is_float() {
            return self.operate_on_floats(core, a, b, span);
        }
        if !a.ty.is_integer() || !b.ty.is_integer() {
            let (x, y) = (self.types().show(&a.ty), self.types().show(&b.ty));
            return unsupported(span, format!("an operator on `{x}` and `{y}` is not taken"));
        }
        let a = self.promote(a, span)?;
        let b = self.promote(b, span)?;
        if matches!(core, BinaryOp::Shl | BinaryOp::Shr) {
            // The type is that of the left side.
            let ty = a.ty.clone();
            let by = self.convert(b, &ty, span)?;
            let (a, by) = if core == BinaryOp::Shl { self.shiftable(a, by, span) } else { (a, by) };
            return Ok(Value::scalar(spanned(binary(core, a.parts[0].clone(), by.parts[0].clone()), span), ty));
        }
        let (a, b, ty) = self.common(a, b, span)?;
        let (a, b) = if comparison { (a, b) } else { self.without_overflow(core, a, b, span) };
        let e = spanned(binary(core, a.parts[0].clone(), b.parts[0].clone()), span);
        if comparison {
            return Ok(truth(e));
        }
        // What can fail is evaluated once, where it stands.
        if matches!(core, BinaryOp::Div | BinaryOp::Rem) && value_of(&b.parts[0]).is_none_or(|n| n == 0) {
            let kept = self.keep(e);
            return Ok(Value::scalar(kept, ty));
        }
        Ok(Value::scalar(e, ty))
    }

    pub(super) fn pointer_arithmetic(&mut self, op: BinaryOp, a: Value, b: Value, span: Span) -> Result<Value> {
        match (op, a.ty.pointee().cloned(), b.ty.pointee().cloned()) {
            (BinaryOp::Add, Some(to), None) => self.moved(a, b.parts[0].clone(), &to, span),
            (BinaryOp::Add, None, Some(to)) => self.moved(b, a.parts[0].clone(), &to, span),
            (BinaryOp::Sub, Some(to), None) => {
                let by = self.promote(b, span)?;
                let by = unary(UnaryOp::Neg, cast(by.parts[0].clone(), &ADDRESS));
                self.moved(a, by, &to, span)
            }
            (BinaryOp::Sub, Some(to), Some(_)) => {
                for v in [&a, &b] {
                    self.is_known_pointer(&v.parts[0], span);
                }
                let size = self.types().size(&to).unwrap_or(1).max(1);
                let bytes = binary(BinaryOp::Sub, a.parts[0].clone(), b.parts[0].clone());
                let e = binary(BinaryOp::Div, bytes, constant(size, ADDRESS, span));
                let ty = self.types().difference_type();
                self.convert(Value::scalar(e, LONG), &ty, span)
            }
            _ => unsupported(span, "this operator is not for pointers"),
        }
    }

    /// `a ?: b`: `a` is evaluated once.
    fn or_else(&mut self, c: &'a ast::ConditionalExpression, span: Span) -> Result<Value> {
        let a = self.value(&c.condition)?;
        let a = Value { parts: a.parts.iter().map(|p| self.keep(p.clone())).collect(), ..a };
        let test = self.truth_of(&a, span)?;
        let (mut no, b) = self.block(|s| s.value(&c.else_expression))?;
        let ty = self.type_of_either(&a, &b, span)?;
        let a = self.convert(a, &ty, span)?;
        let (more, b) = self.block(|s| s.convert(b, &ty, span))?;
        no.extend(more);
        let (Some(x), Some(y)) = (a.parts.first().cloned(), b.parts.first().cloned()) else {
            return unsupported(span, "an operand is left out that has no value");
        };
        let id = self.temp(x.ty.clone());
        no.push(stmt(StmtKind::Assign(self.local(id, span), y), span));
        let yes = vec![stmt(StmtKind::Assign(self.local(id, span), x), span)];
        self.push(StmtKind::If(Guard::Expr(test), yes, no), span);
        Ok(Value::scalar(self.read_local(id, span), ty))
    }

    pub(super) fn conditional(&mut self, c: &'a ast::ConditionalExpression, span: Span) -> Result<Value> {
        if matches!(&c.then_expression.node, Expression::Identifier(name) if name.node.name == OMITTED) {
            return self.or_else(c, span);
        }
        let test = self.condition(&c.condition)?;
        if let Some(n) = value_of(&test) {
            let (taken, other) = match n {
                0 => (&c.else_expression, &c.then_expression),
                _ => (&c.then_expression, &c.else_expression),
            };
            let taken = self.value(taken)?;
            // The type is that of both.
            let other = self.unevaluated(|s| s.value(other))?;
            let ty = self.type_of_either(&taken, &other, span)?;
            return self.convert(taken, &ty, span);
        }
        let (mut yes, a) = self.block(|s| s.value(&c.then_expression))?;
        let (mut no, b) = self.block(|s| s.value(&c.else_expression))?;
        let ty = self.type_of_either(&a, &b, span)?;
        if ty == CType::Void {
            self.push(StmtKind::If(Guard::Expr(test), yes, no), span);
            return Ok(Value::void());
        }
        let (more, a) = self.block(|s| s.convert(a, &ty, span))?;
        yes.extend(more);
        let (more, b) = self.block(|s| s.convert(b, &ty, span))?;
        no.extend(more);
        if yes.is_empty() && no.is_empty() && a.parts.len() == 1 {
            return Ok(Value::scalar(if_else(test, a.parts[0].clone(), b.parts[0].clone()), ty));
        }
        let mut parts = Vec::new();
        for (x, y) in a.parts.into_iter().zip(b.parts) {
            let id = self.temp(x.ty.clone());
            yes.push(stmt(StmtKind::Assign(self.local(id, span), x), span));
            no.push(stmt(StmtKind::Assign(self.local(id, span), y), span));
            parts.push(self.read_local(id, span));
        }
        self.push(StmtKind::If(Guard::Expr(test), yes, no), span);
        Ok(Value { parts, ty })
    }
}

fn spanned(e: Expr, span: Span) -> Expr {
    Expr { span, ..e }
}

/// The operator of a compound assignment.
fn compound(op: &Op) -> Option<Op> {
    Some(match op {
        Op::AssignMultiply => Op::Multiply,
        Op::AssignDivide => Op::Divide,
        Op::AssignModulo => Op::Modulo,
        Op::AssignPlus => Op::Plus,
        Op::AssignMinus => Op::Minus,
        Op::AssignShiftLeft => Op::ShiftLeft,
        Op::AssignShiftRight => Op::ShiftRight,
        Op::AssignBitwiseAnd => Op::BitwiseAnd,
        Op::AssignBitwiseXor => Op::BitwiseXor,
        Op::AssignBitwiseOr => Op::BitwiseOr,
        _ => return None,
    })
}
