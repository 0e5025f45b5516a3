//! Expressions: values, conversions and operators as in C11 6.3 and 6.5.
//!
//! Operands are evaluated from left to right; an assignment evaluates its right side first, then the place.
//!
//! Length: one function for each kind of expression, which call each other.

use crate::core::*;
use crate::lower::*;
use crate::memory::Part;
use crate::places::{At, Lvalue, Value, add, scaled};
use crate::refusal::{Refusal, Result, unsupported, wrong};
use crate::types::{CType, INT, LONG, Signature, ULONG};
use fabius_lang::program::{Base, BinaryOp, Check, Expr, ExprKind, Guard, StmtKind, Type, UnaryOp};
use fabius_trace::Span;
use lang_c::ast;
use lang_c::ast::{BinaryOperator as Op, Expression, UnaryOperator as Un};
use lang_c::span::Node;
use std::rc::Rc;

pub(crate) type Ex = Node<Expression>;

impl<'a> Lower<'a, '_> {
    /// The value of an integer constant expression.
    pub fn integer(&mut self, e: &'a Ex) -> Result<i64> {
        let value = self.constant_value(e)?;
        match value.parts.first().and_then(value_of) {
            Some(n) if value.ty.is_integer() => Ok(n),
            _ => wrong(self.span(e.span), "this is no integer constant"),
        }
    }

    /// A constant expression; refused if it takes statements to evaluate.
    pub fn constant_value(&mut self, e: &'a Ex) -> Result<Value> {
        let (block, mut value) = self.block(|s| s.value(e))?;
        // A comparison is an `int`.
        value.parts = value.parts.into_iter().map(|p| if p.ty == Type::Bool { as_int(p) } else { p }).collect();
        let constant = block.is_empty() && value.parts.iter().all(|p| value_of(p).is_some());
        if constant { Ok(value) } else { wrong(self.span(e.span), "this is not constant") }
    }

    /// The type of an expression, which is not evaluated.
    pub fn type_of(&mut self, e: &'a Ex) -> Result<CType> {
        self.unevaluated(|s| match s.is_lvalue(e) {
            true => Ok(s.lvalue(e)?.ty),
            false => Ok(s.value(e)?.ty),
        })
    }

    /// What is looked at and leaves nothing behind.
    fn unevaluated<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let found = self.found.clone();
        let used = self.body.used.len();
        let (_, result) = self.block(work)?;
        let given = self.body.used.split_off(used);
        self.body.free.extend(given);
        self.found = found;
        Ok(result)
    }

    fn is_lvalue(&self, e: &Ex) -> bool {
        match &e.node {
            Expression::Identifier(name) => {
                matches!(self.entity(&name.node.name), Some(Entity::Object(_) | Entity::Global(_)))
            }
            Expression::StringLiteral(_) | Expression::CompoundLiteral(_) => true,
            Expression::Member(m) => {
                m.node.operator.node == ast::MemberOperator::Indirect || self.is_lvalue(&m.node.expression)
            }
            Expression::UnaryOperator(u) => u.node.operator.node == Un::Indirection,
            Expression::BinaryOperator(b) => b.node.operator.node == Op::Index,
            _ => false,
        }
    }

    /// The place that an expression means.
    pub fn lvalue(&mut self, e: &'a Ex) -> Result<Lvalue> {
        let span = self.span(e.span);
        match &e.node {
            Expression::Identifier(name) => match self.entity(&name.node.name) {
                Some(Entity::Object(id)) => Ok(self.whole(id, span)),
                Some(Entity::Global(index)) => {
                    let id = self.materialize(index, span)?;
                    Ok(self.whole(id, span))
                }
                Some(_) => wrong(span, format!("`{}` is no variable", name.node.name)),
                None => wrong(span, format!("there is no `{}`", name.node.name)),
            },
            Expression::StringLiteral(text) => {
                let bytes = string_bytes(&text.node);
                let id = self.string_object(bytes, span)?;
                Ok(self.whole(id, span))
            }
            Expression::CompoundLiteral(c) => self.compound_literal(c, span),
            Expression::Member(m) => {
                let name = &m.node.identifier.node.name;
                let lv = match m.node.operator.node {
                    ast::MemberOperator::Direct => self.lvalue(&m.node.expression)?,
                    ast::MemberOperator::Indirect => self.pointed(&m.node.expression, span)?,
                };
                self.field(lv, name, span)
            }
            Expression::UnaryOperator(u) if u.node.operator.node == Un::Indirection => {
                self.pointed(&u.node.operand, span)
            }
            Expression::BinaryOperator(b) if b.node.operator.node == Op::Index => {
                if self.is_lvalue(&b.node.lhs) {
                    let lv = self.lvalue(&b.node.lhs)?;
                    if matches!(lv.ty.plain(), CType::Array(..)) {
                        let index = self.index(&b.node.rhs)?;
                        return self.part(lv, Part::Index(index), span);
                    }
                    let pointer = self.load(&lv)?;
                    return self.element(pointer, &b.node.rhs, span);
                }
                let pointer = self.value(&b.node.lhs)?;
                self.element(pointer, &b.node.rhs, span)
            }
            Expression::Conditional(_) | Expression::Call(_) | Expression::Statement(_) => {
                unsupported(span, "a part of a value that is no variable is not taken")
                    .map_err(|e: Refusal| e.help("assign it to a variable first"))
            }
            _ => wrong(span, "this is no place"),
        }
    }

    fn index(&mut self, e: &'a Ex) -> Result<Expr> {
        let v = self.value(e)?;
        let v = self.promoted(v, e)?;
        Ok(self.simple(v.parts[0].clone()))
    }

    fn element(&mut self, pointer: Value, index: &'a Ex, span: Span) -> Result<Lvalue> {
        if pointer.ty.is_integer() {
            let base = self.value(index)?;
            let Some(to) = base.ty.pointee().cloned() else { return wrong(span, "neither side is a pointer") };
            let at = self.moved(base, pointer.parts[0].clone(), &to, span)?;
            return self.deref(at, span);
        }
        let i = self.index(index)?;
        let Some(to) = pointer.ty.pointee().cloned() else {
            return wrong(span, format!("`{}` has no elements", self.types().show(&pointer.ty)));
        };
        let at = self.moved(pointer, i, &to, span)?;
        self.deref(at, span)
    }

    /// A pointer some elements further.
    fn moved(&mut self, pointer: Value, by: Expr, to: &CType, span: Span) -> Result<Value> {
        let Some(size) = self.types().size(to) else {
            return wrong(span, format!("the size of `{}` is not known", self.types().show(to)));
        };
        let e = add(pointer.parts[0].clone(), scaled(as_int(by), size));
        Ok(Value::scalar(e, pointer.ty))
    }

    /// What the value of an expression points to; `*&x` is `x`.
    pub fn pointed(&mut self, e: &'a Ex, span: Span) -> Result<Lvalue> {
        if let Expression::UnaryOperator(u) = &e.node
            && u.node.operator.node == Un::Address
            && self.is_lvalue(&u.node.operand)
        {
            return self.lvalue(&u.node.operand);
        }
        if self.is_lvalue(e) {
            let lv = self.lvalue(e)?;
            if let CType::Array(..) = lv.ty.plain() {
                let zero = constant(0, ADDRESS, span);
                return self.part(lv, Part::Index(zero), span);
            }
            let value = self.load(&lv)?;
            return self.deref(value, span);
        }
        let value = self.value(e)?;
        self.deref(value, span)
    }

    /// The value of an expression.
    pub fn value(&mut self, e: &'a Ex) -> Result<Value> {
        let span = self.span(e.span);
        match &e.node {
            Expression::Identifier(name) => self.named(&name.node.name, e, span),
            Expression::Constant(c) => self.literal(&c.node, span),
            Expression::StringLiteral(_) | Expression::CompoundLiteral(_) => {
                let lv = self.lvalue(e)?;
                self.load(&lv)
            }
            Expression::Member(m) => {
                if self.is_lvalue(e) {
                    let lv = self.lvalue(e)?;
                    return self.load(&lv);
                }
                let whole = self.value(&m.node.expression)?;
                self.field_of_value(whole, &m.node.identifier.node.name, span)
            }
            Expression::Call(c) => self.call(c, span),
            Expression::SizeOfTy(t) => {
                let ty = self.type_name(&t.node.0.node)?;
                self.size_value(&ty, span)
            }
            Expression::SizeOfVal(v) => {
                let ty = self.type_of(&v.node.0)?;
                self.size_value(&ty, span)
            }
            Expression::AlignOf(t) => {
                let ty = self.type_name(&t.node.0.node)?;
                Ok(Value::scalar(constant(self.types().align(&ty), ULONG.core(), span), ULONG))
            }
            Expression::UnaryOperator(u) => self.unary(u.node.operator.node.clone(), &u.node.operand, e, span),
            Expression::Cast(c) => {
                let to = self.type_name(&c.node.type_name.node)?;
                if let Some(v) = self.allocation(&c.node.expression, Some(&to))? {
                    return Ok(v);
                }
                let v = self.value(&c.node.expression)?;
                self.convert(v, &to, span)
            }
            Expression::BinaryOperator(b) => self.binary(b, e, span),
            Expression::Conditional(c) => self.conditional(&c.node, span),
            Expression::Comma(all) => {
                let (last, first) = all.split_last().expect("a comma has two sides");
                for each in first {
                    self.value(each)?;
                }
                self.value(last)
            }
            Expression::Statement(s) => self.statement_expression(s, span),
            Expression::GenericSelection(g) => self.generic(&g.node, span),
            Expression::OffsetOf(o) => self.offset_of(&o.node, span),
            Expression::VaArg(_) => unsupported(span, "`va_arg` is not taken"),
        }
    }

    fn size_value(&mut self, ty: &CType, span: Span) -> Result<Value> {
        match self.types().size(ty) {
            Some(n) => Ok(Value::scalar(constant(n, ULONG.core(), span), ULONG)),
            None => wrong(span, format!("the size of `{}` is not known", self.types().show(ty))),
        }
    }

    fn named(&mut self, name: &str, e: &'a Ex, span: Span) -> Result<Value> {
        match self.entity(name) {
            Some(Entity::Constant(n)) => Ok(Value::scalar(constant(n, INT.core(), span), INT)),
            Some(Entity::Function(name)) => Ok(self.function_address(&name, span)),
            Some(Entity::Type(_)) => wrong(span, format!("`{name}` is a type")),
            // What streams are is nobody's business.
            Some(Entity::Global(_)) if ["stdin", "stdout", "stderr"].contains(&name) => {
                Ok(Value::scalar(constant(1, ADDRESS, span), CType::Void.pointer()))
            }
            _ => {
                let lv = self.lvalue(e)?;
                self.load(&lv)
            }
        }
    }

    /// The address of a function.
    pub fn function_address(&mut self, name: &str, span: Span) -> Value {
        self.found.functions.insert(name.into());
        let f = &self.functions[name];
        let address = crate::memory::FUNCTIONS + 1 + f.number;
        Value::scalar(constant(address, ADDRESS, span), CType::Function(Rc::new(f.signature.clone())).pointer())
    }

    fn literal(&mut self, c: &ast::Constant, span: Span) -> Result<Value> {
        match c {
            ast::Constant::Integer(i) => {
                let radix = match i.base {
                    ast::IntegerBase::Decimal => 10,
                    ast::IntegerBase::Octal => 8,
                    ast::IntegerBase::Hexadecimal => 16,
                    ast::IntegerBase::Binary => 2,
                };
                let digits = if i.number.is_empty() { "0" } else { &i.number };
                let Ok(n) = u64::from_str_radix(digits, radix) else {
                    return wrong(span, "the number is too large");
                };
                let long = i.suffix.size != ast::IntegerSize::Int;
                let decimal = radix == 10;
                // C11 6.4.4.1: the first type that it fits into.
                let fits = |bits: u8, signed: bool| match (bits, signed) {
                    (32, true) => n <= i32::MAX as u64,
                    (32, false) => n <= u64::from(u32::MAX),
                    (_, true) => n <= i64::MAX as u64,
                    _ => true,
                };
                let all = [(32, true), (32, false), (64, true), (64, false)];
                let fitting = all.into_iter().find(|(bits, signed)| {
                    let allowed = if i.suffix.unsigned { !signed } else { *signed || !decimal };
                    allowed && (!long || *bits == 64) && fits(*bits, *signed)
                });
                let (bits, signed) = fitting.unwrap_or((64, false));
                let ty = CType::Int { bits, signed };
                Ok(Value::scalar(constant(n as i64, ty.core(), span), ty))
            }
            ast::Constant::Character(text) => {
                let inner = text.trim_start_matches(['L', 'u', 'U']).trim_matches('\'');
                let bytes = unescape(inner);
                let n = bytes.first().map_or(0, |b| i64::from(*b as i8));
                Ok(Value::scalar(constant(n, INT.core(), span), INT))
            }
            ast::Constant::Float(_) => unsupported(span, "floating point is not taken")
                .map_err(|e: Refusal| e.help("use integers: what matters is the interleaving")),
        }
    }

    /// A value at another type, as assigned or cast.
    pub fn convert(&mut self, v: Value, to: &CType, span: Span) -> Result<Value> {
        let to = to.plain().clone();
        let refuse = |s: &Self| {
            let (a, b) = (s.types().show(&v.ty), s.types().show(&to));
            unsupported(span, format!("a `{a}` does not become a `{b}`"))
        };
        if to == CType::Void {
            return Ok(Value::void());
        }
        let Some(e) = v.parts.first().cloned().filter(|_| v.ty.is_scalar()) else {
            return if v.ty == to { Ok(v) } else { refuse(self) };
        };
        let out = match (&v.ty, &to) {
            (CType::Thread, CType::Thread) | (CType::Waiters, CType::Waiters) => e,
            (CType::Int { .. }, CType::Thread) if value_of(&e) == Some(0) => constant(0, Type::Thread, span),
            (CType::Thread, _) | (_, CType::Thread) => return refuse(self),
            (_, CType::Bool) => if_else(truth(e), constant(1, to.core(), span), constant(0, to.core(), span)),
            (_, CType::Int { .. } | CType::Pointer(_)) if e.ty == Type::Bool => {
                if_else(e, constant(1, to.core(), span), constant(0, to.core(), span))
            }
            (_, CType::Int { .. } | CType::Pointer(_)) => cast(e, &to.core()),
            _ => return refuse(self),
        };
        Ok(Value::scalar(out, to))
    }

    /// Integer promotion.
    pub fn promoted(&mut self, v: Value, e: &Ex) -> Result<Value> {
        match v.ty {
            CType::Int { bits, .. } if bits >= 32 => {
                let e = v.parts[0].clone();
                Ok(if e.ty == Type::Bool { Value::scalar(as_int(e), INT) } else { v })
            }
            CType::Int { .. } | CType::Bool => self.convert(v, &INT, self.span(e.span)),
            CType::Float(_) => unsupported(self.span(e.span), "floating point is not taken"),
            _ => {
                let words = format!("a `{}` is no integer", self.types().show(&v.ty));
                unsupported(self.span(e.span), words)
            }
        }
    }

    /// The usual arithmetic conversions.
    fn common(&mut self, a: Value, b: Value, span: Span) -> Result<(Value, Value, CType)> {
        let rank = |v: &Value| match v.ty {
            CType::Int { bits, signed } => (bits, !signed),
            _ => (32, false),
        };
        let (bits, unsigned) = rank(&a).max(rank(&b));
        let ty = CType::Int { bits, signed: !unsigned };
        Ok((self.convert(a, &ty, span)?, self.convert(b, &ty, span)?, ty))
    }

    /// The value as a Boolean.
    pub fn condition(&mut self, e: &'a Ex) -> Result<Expr> {
        let v = self.value(e)?;
        self.truth_of(&v, self.span(e.span))
    }

    pub fn truth_of(&mut self, v: &Value, span: Span) -> Result<Expr> {
        match v.parts.first() {
            Some(e) if v.ty.is_scalar() => Ok(truth(e.clone())),
            _ => wrong(span, "a condition is a number or a pointer"),
        }
    }

    fn unary(&mut self, op: Un, operand: &'a Ex, e: &'a Ex, span: Span) -> Result<Value> {
        match op {
            Un::Address => {
                if let Expression::Identifier(name) = &operand.node
                    && let Some(Entity::Function(name)) = self.entity(&name.node.name)
                {
                    return Ok(self.function_address(&name, span));
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
                self.promoted(v, operand)
            }
            Un::Minus | Un::Complement => {
                let v = self.value(operand)?;
                let v = self.promoted(v, operand)?;
                let op = if op == Un::Minus { UnaryOp::Neg } else { UnaryOp::BitNot };
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
        let new = self.convert(new, &lv.ty, span)?;
        let new = Value { parts: vec![self.keep_if_needed(new.parts[0].clone(), lv)], ..new };
        self.store(lv, &new, span)?;
        Ok(match kept {
            Some(e) => Value::scalar(e, lv.ty.plain().clone()),
            None => new,
        })
    }

    /// What is stored is computed once: the value that it has behind the assignment is that.
    fn keep_if_needed(&mut self, e: Expr, lv: &Lvalue) -> Expr {
        match &lv.at {
            At::Direct(d) if matches!(self.objects[d.object].parts, crate::memory::Parts::Locals(_)) => {
                // A local is read again, as it is only written here.
                let reads_it = |p: &fabius_lang::program::Place| matches!(p.base, Base::Local(_));
                let mut any = false;
                fabius_lang::walk::each(&e, &mut |x| any |= matches!(&x.kind, ExprKind::Read(p) if reads_it(p)));
                if any { self.keep(e) } else { e }
            }
            _ => self.simple(e),
        }
    }

    fn binary(&mut self, b: &'a Node<ast::BinaryOperatorExpression>, e: &'a Ex, span: Span) -> Result<Value> {
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
                let v = self.convert(v, &lv.ty, span)?;
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
                let a = self.value(lhs)?;
                let (block, b) = self.block(|s| s.value(rhs))?;
                // What the left side reads of locals must not be changed by the right one.
                let a = if block.is_empty() {
                    a
                } else {
                    Value { parts: a.parts.iter().map(|p| self.keep_unless_temporary(p)).collect(), ..a }
                };
                self.body.out.extend(block);
                self.operate(op, a, b, span)
            }
        }
    }

    fn keep_unless_temporary(&mut self, e: &Expr) -> Expr {
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
            return Ok(Value::scalar(spanned(binary(core, a.parts[0].clone(), by.parts[0].clone()), span), ty));
        }
        let (a, b, ty) = self.common(a, b, span)?;
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

    fn promote(&mut self, v: Value, span: Span) -> Result<Value> {
        match v.ty {
            CType::Int { bits, .. } if bits >= 32 && v.parts[0].ty != Type::Bool => Ok(v),
            _ => self.convert(v, &INT, span),
        }
    }

    fn pointer_arithmetic(&mut self, op: BinaryOp, a: Value, b: Value, span: Span) -> Result<Value> {
        match (op, a.ty.pointee().cloned(), b.ty.pointee().cloned()) {
            (BinaryOp::Add, Some(to), None) => self.moved(a, b.parts[0].clone(), &to, span),
            (BinaryOp::Add, None, Some(to)) => self.moved(b, a.parts[0].clone(), &to, span),
            (BinaryOp::Sub, Some(to), None) => {
                let by = self.promote(b, span)?;
                let by = unary(UnaryOp::Neg, cast(by.parts[0].clone(), &ADDRESS));
                self.moved(a, by, &to, span)
            }
            (BinaryOp::Sub, Some(to), Some(_)) => {
                let size = self.types().size(&to).unwrap_or(1).max(1);
                let bytes = binary(BinaryOp::Sub, a.parts[0].clone(), b.parts[0].clone());
                Ok(Value::scalar(binary(BinaryOp::Div, bytes, constant(size, ADDRESS, span)), LONG))
            }
            _ => unsupported(span, "this operator is not for pointers"),
        }
    }

    fn conditional(&mut self, c: &'a ast::ConditionalExpression, span: Span) -> Result<Value> {
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

    /// The type of `c ? a : b`, which is the same whatever `c` is.
    fn type_of_either(&mut self, a: &Value, b: &Value, span: Span) -> Result<CType> {
        let null = |v: &Value| v.parts.first().and_then(value_of) == Some(0);
        Ok(match (&a.ty, &b.ty) {
            (CType::Void, _) | (_, CType::Void) => CType::Void,
            (x, y) if x.is_integer() && y.is_integer() => {
                let (x, y) = (self.promote(a.clone(), span)?, self.promote(b.clone(), span)?);
                self.common(x, y, span)?.2
            }
            (x, _) if x.is_pointer() && !(null(a) && b.ty.is_pointer()) => x.clone(),
            (_, y) => y.clone(),
        })
    }

    fn field_of_value(&mut self, v: Value, name: &str, span: Span) -> Result<Value> {
        let CType::Struct(id) = v.ty else { return wrong(span, "this has no fields") };
        let Some(way) = self.types().find_field(id, name) else {
            return wrong(span, format!("there is no field `{name}`"));
        };
        let (mut ty, mut from) = (v.ty.clone(), 0);
        for i in way {
            let CType::Struct(id) = ty else { unreachable!("a way goes through structs") };
            let fields: Vec<CType> = self.types().structs[id].fields.iter().flatten().map(|f| f.ty.clone()).collect();
            for f in &fields[..i] {
                from += self.scalars(f, span)?.len();
            }
            ty = fields[i].clone();
        }
        let n = self.scalars(&ty, span)?.len();
        Ok(Value { parts: v.parts[from..from + n].to_vec(), ty: ty.plain().clone() })
    }

    fn generic(&mut self, g: &'a ast::GenericSelection, span: Span) -> Result<Value> {
        let ty = self.type_of(&g.expression)?.plain().clone();
        let mut default = None;
        for each in &g.associations {
            match &each.node {
                ast::GenericAssociation::Type(t) => {
                    if self.type_name(&t.node.type_name.node)? == ty {
                        return self.value(&t.node.expression);
                    }
                }
                ast::GenericAssociation::Default(e) => default = Some(e),
            }
        }
        match default {
            Some(e) => self.value(e),
            None => wrong(span, format!("there is no choice for `{}`", self.types().show(&ty))),
        }
    }

    fn offset_of(&mut self, o: &'a ast::OffsetOfExpression, span: Span) -> Result<Value> {
        let ty = self.type_name(&o.type_name.node)?;
        let CType::Struct(id) = ty else { return wrong(span, "this has no fields") };
        let name = &o.designator.node.base.node.name;
        let fields = self.types().structs[id].fields.as_ref();
        let found = fields.and_then(|all| all.iter().find(|f| f.name == *name)).map(|f| f.offset);
        match found {
            Some(n) if o.designator.node.members.is_empty() => {
                Ok(Value::scalar(constant(n, ULONG.core(), span), ULONG))
            }
            _ => unsupported(span, "this `offsetof` is not taken"),
        }
    }

    /// A call.
    fn call(&mut self, c: &'a Node<ast::CallExpression>, span: Span) -> Result<Value> {
        let args = &c.node.arguments;
        if let Expression::Identifier(name) = &c.node.callee.node {
            let name = &name.node.name;
            let is_variable = matches!(self.entity(name), Some(Entity::Object(_) | Entity::Global(_)));
            if !is_variable {
                if let Some(v) = self.library_call(name, args, span)? {
                    return Ok(v);
                }
                if self.functions.get(name).is_some_and(|f| f.definition.is_some()) {
                    return self.call_function(&name.clone(), args, span);
                }
                let known = self.functions.contains_key(name);
                let what = if known { "has no body" } else { "is not declared" };
                return unsupported(span, format!("`{name}` {what}, and is no function that is known"))
                    .map_err(|e: Refusal| Refusal { code: "E0604", ..e })
                    .map_err(|e| e.help("define it in one of the files"));
            }
        }
        let pointer = self.value(&c.node.callee)?;
        self.call_pointer(pointer, args, span)
    }

    /// The arguments of a call, converted to the parameters' types.
    fn arguments(&mut self, signature: &Signature, args: &'a [Ex], span: Span) -> Result<Vec<Expr>> {
        if args.len() != signature.params.len() && !signature.open && !signature.variadic {
            let n = signature.params.len();
            return wrong(span, format!("the function takes {n} arguments, and {} are given", args.len()));
        }
        let mut values = Vec::new();
        for (i, each) in args.iter().enumerate() {
            let v = self.value(each)?;
            let v = match signature.params.get(i) {
                Some(ty) => self.convert(v, &ty.clone(), self.span(each.span))?,
                None => continue,
            };
            for e in v.parts {
                // A later argument may change what an earlier one has read.
                let e = if i + 1 < args.len() { self.keep_unless_temporary(&e) } else { e };
                values.push(e);
            }
        }
        Ok(values)
    }

    /// Calls a function that has a body.
    pub fn call_function(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Value> {
        let signature = self.functions[name].signature.clone();
        if signature.variadic {
            return unsupported(span, format!("`{name}` takes any number of arguments, which is not taken"));
        }
        let values = self.arguments(&signature, args, span)?;
        self.call_with(name, values, span)
    }

    /// Calls a function with these scalars.
    pub fn call_with(&mut self, name: &str, values: Vec<Expr>, span: Span) -> Result<Value> {
        let result = self.functions[name].signature.result.plain().clone();
        let proc = self.proc_of(name);
        let scalars = self.scalars(&result, span)?;
        let ids: Vec<_> = scalars.iter().map(|(_, ty)| self.temp(ty.core())).collect();
        let call = StmtKind::Call(ids.iter().map(|id| Some(*id)).collect(), proc, values);
        if name.starts_with("__VERIFIER_atomic") {
            self.push(StmtKind::Atomic(vec![stmt(call, span)]), span);
        } else {
            self.push(call, span);
        }
        let parts = ids.into_iter().map(|id| self.read_local(id, span)).collect();
        Ok(Value { parts, ty: result })
    }

    /// Calls what a pointer means: one of the functions of that type whose address is taken.
    fn call_pointer(&mut self, pointer: Value, args: &'a [Ex], span: Span) -> Result<Value> {
        let signature = match pointer.ty.pointee() {
            Some(CType::Function(s)) => s.clone(),
            _ => return wrong(span, format!("`{}` is no function", self.types().show(&pointer.ty))),
        };
        let address = self.simple(pointer.parts[0].clone());
        let values = self.arguments(&signature, args, span)?;
        let values: Vec<Expr> = values.into_iter().map(|e| self.simple(e)).collect();
        let names: Vec<String> = self.session.facts.functions.iter().cloned().collect();
        let scalars = self.scalars(&signature.result, span)?;
        let ids: Vec<_> = scalars.iter().map(|(_, ty)| self.temp(ty.core())).collect();
        let mut rest = self.block(|s| {
            let some = binary(BinaryOp::Ne, address.clone(), constant(0, ADDRESS, span));
            s.check(some, Check::Null, "null is no function", span);
            s.check(boolean(false, span), Check::Memory, "no function of this type is there", span);
            Ok(())
        })?;
        for name in names.iter().rev() {
            let Some(f) = self.functions.get(name) else { continue };
            let fits = f.signature.params.len() == signature.params.len()
                && f.signature.params.iter().zip(&signature.params).all(|(a, b)| a.same_layout(b))
                && f.signature.result.same_layout(&signature.result);
            if f.definition.is_none() || !fits {
                continue;
            }
            let here =
                binary(BinaryOp::Eq, address.clone(), constant(crate::memory::FUNCTIONS + 1 + f.number, ADDRESS, span));
            let values = values.clone();
            let (block, ()) = self.block(|s| {
                let v = s.call_with(name, values, span)?;
                for (id, e) in ids.iter().zip(v.parts) {
                    s.set_local(*id, e, span);
                }
                Ok(())
            })?;
            rest = (vec![stmt(StmtKind::If(Guard::Expr(here), block, rest.0), span)], ());
        }
        self.body.out.extend(rest.0);
        let parts = ids.into_iter().map(|id| self.read_local(id, span)).collect();
        Ok(Value { parts, ty: signature.result.plain().clone() })
    }

    /// `({ .. })`
    fn statement_expression(&mut self, s: &'a Node<ast::Statement>, span: Span) -> Result<Value> {
        let ast::Statement::Compound(items) = &s.node else { return wrong(span, "a block is expected") };
        self.scopes.push(Scope::default());
        let result = self.last_value(items, span);
        self.scopes.pop();
        result
    }

    fn last_value(&mut self, items: &'a [Node<ast::BlockItem>], span: Span) -> Result<Value> {
        let Some((last, first)) = items.split_last() else { return Ok(Value::void()) };
        self.items(first)?;
        if let ast::BlockItem::Statement(s) = &last.node
            && let ast::Statement::Expression(Some(e)) = &s.node
        {
            let v = self.value(e)?;
            let parts = v.parts.iter().map(|p| self.keep(p.clone())).collect();
            return Ok(Value { parts, ..v });
        }
        self.items(std::slice::from_ref(last))?;
        let _ = span;
        Ok(Value::void())
    }
}

/// A Boolean as an `int`.
pub(crate) fn as_int(e: Expr) -> Expr {
    if e.ty != Type::Bool {
        return e;
    }
    let span = e.span;
    if_else(e, constant(1, INT.core(), span), constant(0, INT.core(), span))
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

/// The bytes of a string literal, with its end.
pub(crate) fn string_bytes(parts: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        let text = part.trim_start_matches(['L', 'u', 'U', '8']);
        bytes.extend(unescape(text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text)));
    }
    bytes.push(0);
    bytes
}

fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes().peekable();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        let c = bytes.next().unwrap_or(b'\\');
        out.push(match c {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'e' => 27,
            b'x' => digits(&mut bytes, 0, 16, 8),
            b'0'..=b'7' => digits(&mut bytes, u32::from(c - b'0'), 8, 2),
            other => other,
        });
    }
    out
}

fn digits(bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>, first: u32, radix: u32, most: usize) -> u8 {
    let mut n = first;
    for _ in 0..most {
        let Some(digit) = bytes.peek().and_then(|b| char::from(*b).to_digit(radix)) else { break };
        n = n.wrapping_mul(radix).wrapping_add(digit);
        bytes.next();
    }
    n as u8
}
