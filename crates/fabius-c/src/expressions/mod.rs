//! Expressions: their values, and the places that they mean (C11 6.5).

mod calls;
mod checked;
mod conversions;
mod floats;
mod literals;
mod operators;
mod overflow;

use crate::birth::Birth;
use crate::core::*;
use crate::lower::*;
use crate::memory::Part;
use crate::places::{Lvalue, Value};
use crate::refusal::{Result, unsupported, wrong};
use crate::types::{CType, INT};
use fabius_lang::program::{Expr, Type};
use fabius_trace::Span;
use lang_c::ast;
use lang_c::ast::{BinaryOperator as Op, Expression, UnaryOperator as Un};
use lang_c::span::Node;
use std::rc::Rc;

pub(crate) use floats::{computes as computes_with_floats, for_files as floats_for_files};
pub(crate) use literals::{is_wide, string_bytes};

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
    pub fn unevaluated<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let found = self.found.clone();
        let used = self.body.used.len();
        let (_, result) = self.block(work)?;
        let given = self.body.used.split_off(used);
        self.body.free.extend(given);
        self.found = found;
        Ok(result)
    }

    /// Whether a name is that of the running function as a text.
    fn is_own_name(&self, name: &str) -> bool {
        let is_one = ["__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"].contains(&name);
        is_one && self.entity(name).is_none()
    }

    fn is_lvalue(&self, e: &Ex) -> bool {
        match &e.node {
            Expression::Identifier(name) if self.is_own_name(&name.node.name) => true,
            Expression::Identifier(name) => {
                matches!(self.entity(&name.node.name), Some(Entity::Object(_) | Entity::Global(_)))
            }
            Expression::StringLiteral(_) | Expression::CompoundLiteral(_) => true,
            // A part of a value is looked at in a variable of its own.
            Expression::Member(_) => true,
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
                Some(Entity::Object(id)) => {
                    self.is_named(id, span);
                    Ok(self.whole(id, span))
                }
                Some(Entity::Global(index)) => {
                    let id = self.materialize(index, span)?;
                    Ok(self.whole(id, span))
                }
                Some(_) => wrong(span, format!("`{}` is no variable", name.node.name)),
                None if self.is_own_name(&name.node.name) => {
                    let bytes = format!("{}\0", self.body.function).into_bytes();
                    let id = self.string_object(bytes, span)?;
                    Ok(self.whole(id, span))
                }
                None => wrong(span, format!("there is no `{}`", name.node.name)),
            },
            Expression::StringLiteral(text) if is_wide(&text.node) => {
                unsupported(span, "a string of wide characters is not taken")
            }
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
            Expression::UnaryOperator(_) if self.is_errno(e) => self.errno(span),
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
            Expression::Conditional(_) | Expression::Call(_) | Expression::Statement(_) | Expression::Comma(_) => {
                let v = self.value(e)?;
                self.held(v, span)
            }
            Expression::BinaryOperator(b) if b.node.operator.node == Op::Assign => {
                let v = self.value(e)?;
                self.held(v, span)
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
            Expression::Member(_) => {
                let lv = self.lvalue(e)?;
                self.load(&lv)
            }
            Expression::Call(c) => self.call(c, span),
            Expression::SizeOfTy(t) => {
                let ty = self.type_name(&t.node.0.node)?;
                self.size_value(&ty, span)
            }
            Expression::SizeOfVal(v) => {
                let ty = self.type_of(&v.node.0)?;
                match self.size_by_lengths(&v.node.0, &ty, span) {
                    Some(size) => Ok(size),
                    None => self.size_value(&ty, span),
                }
            }
            Expression::AlignOf(t) => {
                let ty = self.type_name(&t.node.0.node)?;
                if let CType::Struct(_) = ty.plain() {
                    // It must be defined.
                    self.size_value(&ty, span)?;
                }
                Ok(self.size_constant(self.types().align(&ty), span))
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
            Expression::VaArg(v) => {
                let ty = self.type_name(&v.node.type_name.node)?;
                self.va_arg(&v.node.va_list, &ty, span)
            }
        }
    }

    fn size_value(&mut self, ty: &CType, span: Span) -> Result<Value> {
        if self.body.variable_lengths && has_length(ty, crate::declare::MOST_ELEMENTS) {
            return unsupported(span, "the size of an array whose length is not constant is not taken");
        }
        match self.types().size(ty) {
            Some(n) => Ok(self.size_constant(n, span)),
            None => wrong(span, format!("the size of `{}` is not known", self.types().show(ty))),
        }
    }

    fn size_constant(&self, n: i64, span: Span) -> Value {
        let ty = self.types().size_type();
        Value::scalar(constant(n, ty.core(), span), ty)
    }

    fn named(&mut self, name: &str, e: &'a Ex, span: Span) -> Result<Value> {
        match self.entity(name) {
            Some(Entity::Constant(n)) => {
                let ty = crate::types::of_constant(n);
                Ok(Value::scalar(constant(n, ty.core(), span), ty))
            }
            Some(Entity::Function(name)) => self.function_address(&name, span),
            Some(Entity::Type(_) | Entity::Aligned) => wrong(span, format!("`{name}` is a type")),
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
    pub fn function_address(&mut self, name: &str, span: Span) -> Result<Value> {
        if matches!(name, "reach_error" | "__VERIFIER_error") {
            return unsupported(span, "`reach_error` is followed where it is called by its name, and is no value");
        }
        self.found.functions.insert(name.into());
        let f = &self.functions[name];
        let address = crate::memory::FUNCTIONS + 1 + f.number;
        let ty = CType::Function(Rc::new(f.signature.clone())).pointer();
        Ok(Value::scalar(constant(address, ADDRESS, span), ty))
    }

    /// A struct that is no variable, in one of its own.
    fn held(&mut self, v: Value, span: Span) -> Result<Lvalue> {
        if !matches!(v.ty, CType::Struct(_)) {
            return wrong(span, "this is no place");
        }
        let lv = self.unnamed("value", &v.ty.clone(), span)?;
        self.store(&lv, &v, span)?;
        Ok(lv)
    }

    /// A variable that has no name in C: in memory if its address is taken.
    pub fn unnamed(&mut self, name: &str, ty: &CType, span: Span) -> Result<Lvalue> {
        self.body.declared += 1;
        let function = self.body.function.clone();
        let key = format!("{function}.{name}#{}", self.body.declared);
        let (kind, birth) = (Kind::Frame(function.clone()), Birth::Set);
        let known = Known { name: name.into(), ty: ty.clone(), kind, birth };
        self.found_known.insert(key.clone(), known);
        let id = if self.session.facts.escaped.iter().any(|(k, _)| *k == key) {
            let id = self.make_frame_object(&key, name, ty, &function, birth, span)?;
            self.begins(id, span);
            id
        } else {
            self.make_local(&key, name, ty, birth, span)?
        };
        Ok(self.whole(id, span))
    }

    fn generic(&mut self, g: &'a ast::GenericSelection, span: Span) -> Result<Value> {
        let ty = match self.type_of(&g.expression)?.plain().clone() {
            CType::Array(of, _) => CType::Pointer(of),
            f @ CType::Function(_) => f.pointer(),
            ty => ty,
        };
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
        self.found.offsets = true;
        let name = |n: &Node<ast::Identifier>| n.node.name.clone();
        let (mut ty, mut at) = self.offset_in(&ty, &name(&o.designator.node.base), span)?;
        for each in &o.designator.node.members {
            match &each.node {
                ast::OffsetMember::Member(field) => {
                    let (next, more) = self.offset_in(&ty, &name(field), span)?;
                    (ty, at) = (next, at + more);
                }
                ast::OffsetMember::Index(e) => {
                    let n = self.integer(e)?;
                    let CType::Array(of, _) = ty.plain().clone() else { return wrong(span, "this is no array") };
                    at += n * self.types().size(&of).unwrap_or(1);
                    ty = (*of).clone();
                }
                ast::OffsetMember::IndirectMember(_) => return wrong(span, "`->` is no part of a type"),
            }
        }
        Ok(self.size_constant(at, span))
    }

    /// A field of a struct: its type, and where it is.
    fn offset_in(&self, ty: &CType, name: &str, span: Span) -> Result<(CType, i64)> {
        let (mut ty, mut at) = (ty.clone(), 0);
        let CType::Struct(id) = ty.plain() else { return wrong(span, "this has no fields") };
        let Some(way) = self.types().find_field(*id, name) else {
            return wrong(span, format!("there is no field `{name}`"));
        };
        for i in way {
            let CType::Struct(id) = ty.plain() else { unreachable!("a way goes through structs") };
            let f = &self.types().structs[*id].fields.as_ref().expect("it was found")[i];
            if f.bits.is_some() {
                return wrong(span, "a bit-field has no address");
            }
            (ty, at) = (f.ty.clone(), at + f.offset);
        }
        Ok((ty, at))
    }

    /// `({ .. })`
    fn statement_expression(&mut self, s: &'a Node<ast::Statement>, span: Span) -> Result<Value> {
        let ast::Statement::Compound(items) = &s.node else { return wrong(span, "a block is expected") };
        let alive = self.body.alive.len();
        self.scopes.push(Scope::default());
        let result = self.last_value(items, span);
        self.scopes.pop();
        self.ends_from(alive, span);
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

/// Whether a type is an array of this length, or of such.
fn has_length(ty: &CType, length: u32) -> bool {
    match ty.plain() {
        CType::Array(of, n) => *n == Some(length) || has_length(of, length),
        _ => false,
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
