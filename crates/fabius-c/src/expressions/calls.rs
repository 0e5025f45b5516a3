//! Calls: of functions by name, of those of the libraries, of what a pointer means.

use super::Ex;
use crate::core::*;
use crate::lower::*;
use crate::places::Value;
use crate::refusal::{Refusal, Result, unsupported, wrong};
use crate::types::{CType, Signature};
use fabius_lang::program::{BinaryOp, Block, Check, Class, Expr, Guard, StmtKind, Type};
use fabius_trace::Span;
use lang_c::ast;
use lang_c::ast::Expression;
use lang_c::span::Node;

/// The name of what orders the sections of the user.
const SECTIONS: &str = "$sections";

impl<'a> Lower<'a, '_> {
    /// A call.
    pub(super) fn call(&mut self, c: &'a Node<ast::CallExpression>, span: Span) -> Result<Value> {
        let args = &c.node.arguments;
        if let Expression::Identifier(name) = &c.node.callee.node {
            let name = &name.node.name;
            let is_variable = matches!(self.entity(name), Some(Entity::Object(_) | Entity::Global(_)));
            if !is_variable {
                if let Some(v) = self.library_call(name, args, span)? {
                    let is_looked_at = self.call_is_looked_at(args);
                    if v.ty == CType::Void && is_looked_at && self.says_what_was_written(name) {
                        return Ok(self.any(-1, i64::from(i32::MAX), crate::types::INT, span));
                    }
                    return Ok(v);
                }
                if self.functions.get(name).is_some_and(|f| f.definition.is_some()) {
                    if self.call_is_looked_at(args) {
                        self.found.looked_at.insert(name.clone());
                    }
                    return self.call_function(&name.clone(), args, span);
                }
                if self.options.havoc && self.functions.contains_key(name) {
                    return self.havoc(&name.clone(), args, span);
                }
                let known = self.functions.contains_key(name);
                let what = if known { "has no body" } else { "is not declared" };
                return unsupported(span, format!("`{name}` {what}, and is no function that is known"))
                    .map_err(|e: Refusal| Refusal { code: "E0704", ..e })
                    .map_err(|e| match known {
                        true => e.help(
                            "define it in one of the files; with `--havoc` it returns any value and does nothing",
                        ),
                        false => e.help("define it in one of the files"),
                    });
            }
        }
        let pointer = self.value(&c.node.callee)?;
        self.call_pointer(pointer, args, span)
    }

    /// Whether somebody looks at the value of the call that has these arguments.
    pub fn call_is_looked_at(&self, args: &[Ex]) -> bool {
        self.body.dropped.is_none_or(|c| !std::ptr::eq(c.arguments.as_slice(), args))
    }

    /// Calls a function without a body: it does nothing, and returns any value of its type.
    fn havoc(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Value> {
        let result = self.functions[name].signature.result.plain().clone();
        self.havocked.insert(name.to_string());
        self.evaluate_all(args)?;
        match result {
            CType::Void => Ok(Value::void()),
            CType::Int { .. } | CType::Bool => self.any_of(&result, span),
            _ => {
                let words = format!("`{name}` has no body, and a `{}` cannot be anything", self.types().show(&result));
                unsupported(span, words)
                    .map_err(|e: Refusal| Refusal { code: "E0704", ..e })
                    .map_err(|e| e.help("write a body that says which objects it may return"))
            }
        }
    }

    /// Whether a call is of a function that does nothing, so that its value does not matter where nobody looks at it.
    pub fn is_havocked(&self, e: &Ex) -> bool {
        let Expression::Call(c) = &e.node else { return false };
        let Expression::Identifier(name) = &c.node.callee.node else { return false };
        self.havocked.contains(&name.node.name)
    }

    /// The arguments of a call, converted to the parameters' types, and those that have no parameters.
    fn arguments(&mut self, signature: &Signature, args: &'a [Ex], span: Span) -> Result<(Vec<Expr>, Vec<Value>)> {
        if args.len() != signature.params.len() && !signature.open && !signature.variadic {
            let n = signature.params.len();
            return wrong(span, format!("the function takes {n} arguments, and {} are given", args.len()));
        }
        let (mut values, mut others) = (Vec::new(), Vec::new());
        for (i, each) in args.iter().enumerate() {
            let v = self.value(each)?;
            let v = match signature.params.get(i) {
                Some(ty) => self.convert(v, &ty.clone(), self.span(each.span))?,
                None => {
                    let parts = v.parts.iter().map(|e| self.keep_unless_temporary(e)).collect();
                    others.push(Value { parts, ..v });
                    continue;
                }
            };
            for e in v.parts {
                // A later argument may change what an earlier one has read.
                let e = if i + 1 < args.len() { self.keep_unless_temporary(&e) } else { e };
                values.push(e);
            }
        }
        Ok((values, others))
    }

    /// Calls a function that has a body.
    pub fn call_function(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Value> {
        self.asks(name, args)?;
        let signature = self.functions[name].signature.clone();
        let (values, others) = self.arguments(&signature, args, span)?;
        if !signature.variadic {
            return self.call_with(name, values, span);
        }
        self.hand_over(&others, span)?;
        let v = self.call_with(name, values, span)?;
        self.take_back(&others, span);
        Ok(v)
    }

    /// Calls a function with these scalars.
    pub fn call_with(&mut self, name: &str, values: Vec<Expr>, span: Span) -> Result<Value> {
        let result = self.functions[name].signature.result.plain().clone();
        let proc = self.proc_of(name);
        let types = self.part_types(&result, span)?;
        let ids: Vec<_> = types.into_iter().map(|ty| self.temp(ty)).collect();
        let call = StmtKind::Call(ids.iter().map(|id| Some(*id)).collect(), proc, values);
        if name.starts_with("__VERIFIER_atomic") {
            self.atomic_section(vec![stmt(call, span)], span);
        } else {
            self.push(call, span);
        }
        self.return_if_exiting(name, span)?;
        let parts = ids.into_iter().map(|id| self.read_local(id, span)).collect();
        Ok(Value { parts, ty: result })
    }

    /// What happens in one step of the user's. Two such sections are ordered as two that hold one lock.
    pub fn atomic_section(&mut self, mut block: Block, span: Span) {
        let id = self.hidden(SECTIONS, Type::Bool, fabius_lang::program::Value::Int(0), Class::Sync, false);
        let passes = stmt(StmtKind::Assign(self.global(id, span), boolean(true, span)), span);
        block.insert(0, passes.clone());
        block.push(passes);
        self.push(StmtKind::Atomic(block), span);
    }

    /// What is called where a pointer means a function: itself, or what is behind the program's text in its place.
    pub fn body_of(&self, name: &str) -> Option<String> {
        let has_body = |name: &String| self.functions.get(name).is_some_and(|f| f.definition.is_some());
        [name.to_string(), format!("fabius__{name}")].into_iter().find(has_body)
    }

    /// Calls what a pointer means: one of the functions of that type whose address is taken.
    pub(super) fn call_pointer(&mut self, pointer: Value, args: &'a [Ex], span: Span) -> Result<Value> {
        let signature = match pointer.ty.pointee() {
            Some(CType::Function(s)) => s.clone(),
            _ => return wrong(span, format!("`{}` is no function", self.types().show(&pointer.ty))),
        };
        let address = self.simple(pointer.parts[0].clone());
        // Of a function declared as `f()` the one that is called says what its parameters are.
        let mut given = Vec::new();
        let mut values = Vec::new();
        if signature.open {
            for each in args {
                let v = self.value(each)?;
                let parts = v.parts.iter().map(|e| self.keep_unless_temporary(e)).collect();
                given.push(Value { parts, ..v });
            }
        } else {
            let (fixed, others) = self.arguments(&signature, args, span)?;
            values = fixed.into_iter().map(|e| self.simple(e)).collect();
            if signature.variadic {
                self.hand_over(&others, span)?;
                given = others;
            }
        }
        let names: Vec<String> = self.session.facts.functions.iter().cloned().collect();
        let types = self.part_types(&signature.result, span)?;
        let ids: Vec<_> = types.into_iter().map(|ty| self.temp(ty)).collect();
        let mut rest = self.block(|s| {
            let some = binary(BinaryOp::Ne, address.clone(), constant(0, ADDRESS, span));
            s.check(some, Check::Null, "null is no function", span);
            let first = constant(crate::memory::FUNCTIONS, ADDRESS, span);
            let last = constant(crate::memory::FIRST, ADDRESS, span);
            let outside = or(binary(BinaryOp::Le, address.clone(), first), binary(BinaryOp::Le, last, address.clone()));
            s.check(outside, Check::Bound, "a function is called as one of another type", span);
            s.check(boolean(false, span), Check::Memory, "no function of this type is there", span);
            Ok(())
        })?;
        for name in names.iter().rev() {
            let Some(number) = self.functions.get(name).map(|f| f.number) else { continue };
            let body = self.body_of(name);
            let Some(f) = self.functions.get(body.as_ref().unwrap_or(name)) else { continue };
            let same = |a: &[CType], b: &[CType]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_layout(b));
            let params = match signature.open {
                true => f.signature.params.len() == args.len(),
                false => same(&f.signature.params, &signature.params),
            };
            let fits = params
                && f.signature.variadic == signature.variadic
                && f.signature.result.same_layout(&signature.result);
            let wanted = f.signature.params.clone();
            if !fits {
                continue;
            }
            let here =
                binary(BinaryOp::Eq, address.clone(), constant(crate::memory::FUNCTIONS + 1 + number, ADDRESS, span));
            let Some(name) = &body else {
                let words = format!("`{name}` is called by a pointer, and has no body here");
                let (block, ()) = self.block(|s| {
                    s.check(boolean(false, span), Check::Bound, &words, span);
                    Ok(())
                })?;
                rest = (vec![stmt(StmtKind::If(Guard::Expr(here), block, rest.0), span)], ());
                continue;
            };
            let values = values.clone();
            let (block, ()) = self.block(|s| {
                let mut values = values;
                for (v, ty) in given.iter().filter(|_| signature.open).zip(&wanted) {
                    values.extend(s.convert(v.clone(), ty, span)?.parts);
                }
                s.found.looked_at.insert(name.clone());
                let v = s.call_with(name, values, span)?;
                for (id, e) in ids.iter().zip(v.parts) {
                    s.set_local(*id, e, span);
                }
                Ok(())
            })?;
            rest = (vec![stmt(StmtKind::If(Guard::Expr(here), block, rest.0), span)], ());
        }
        self.body.out.extend(rest.0);
        if signature.variadic {
            self.take_back(&given, span);
        }
        let parts = ids.into_iter().map(|id| self.read_local(id, span)).collect();
        Ok(Value { parts, ty: signature.result.plain().clone() })
    }
}
