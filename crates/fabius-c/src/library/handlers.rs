//! Functions that are registered and called later: destructors of thread-specific values, at the end of a thread, and what
//! `atexit` is given, at the end of the process.

use super::assign;
use super::pthread::KEYS;
use crate::core::*;
use crate::expressions::Ex;
use crate::lower::{Lower, array_of};
use crate::places::Value;
use crate::refusal::{Result, unsupported};
use crate::types::{CType, INT as C_INT};
use fabius_lang::program::{Base, BinaryOp, Type};
use fabius_lang::program::{Check, Class, Expr, ExprKind, Guard, Place, Projection, StmtKind, Value as Constant};
use fabius_trace::Span;

/// So many handlers of `atexit` at most.
const HANDLERS: i64 = 8;

impl<'a> Lower<'a, '_> {
    /// An element of a hidden array of functions.
    fn function_of(&mut self, name: &str, len: i64, index: Expr, span: Span) -> Place {
        let (ty, init) = array_of(ADDRESS, Constant::Int(0), &[len as u32]);
        let id = self.hidden(name, ty, init, Class::Sync, false);
        let index = Projection::Index { index: cast(index, &Type::Int).into(), lo: 0, len: len as u32 };
        Place { base: Base::Global(id), path: vec![index], ty: ADDRESS, span }
    }

    /// Calls the function at an address: one of those whose address is taken, with a pointer if there is one.
    fn call_at(&mut self, address: &Expr, given: Option<&Expr>, span: Span) -> Result<()> {
        for name in self.session.facts.functions.clone() {
            let Some(body) = self.body_of(&name) else { continue };
            let params = self.functions[&body].signature.params.clone();
            if params.len() != usize::from(given.is_some()) || !params.iter().all(CType::is_pointer) {
                continue;
            }
            let number = crate::memory::FUNCTIONS + 1 + self.functions[&name].number;
            let here = binary(BinaryOp::Eq, address.clone(), constant(number, ADDRESS, span));
            let (block, ()) =
                self.block(|s| s.call_with(&body, given.cloned().into_iter().collect(), span).map(drop))?;
            self.push(StmtKind::If(Guard::Expr(here), block, Vec::new()), span);
        }
        Ok(())
    }

    /// The function that an argument means; 0 if it is null.
    fn handler(&mut self, args: &'a [Ex], n: usize, span: Span) -> Result<Expr> {
        let v = self.value(self.argument(args, n, span)?)?;
        let v = self.convert(v, &CType::Void.pointer(), span)?;
        let without_body = self.functions.iter().find(|(name, f)| {
            let address = Constant::Int(crate::memory::FUNCTIONS + 1 + f.number);
            self.body_of(name).is_none() && v.parts[0].kind == ExprKind::Const(address)
        });
        if let Some((name, _)) = without_body {
            return unsupported(span, format!("`{name}`, which has no body here, is not called from the library"));
        }
        Ok(self.simple(v.parts[0].clone()))
    }

    /// The destructor of a key.
    pub(super) fn set_destructor(&mut self, args: &'a [Ex], key: &Place, span: Span) -> Result<()> {
        self.found.destructors = true;
        let destructor = self.handler(args, 1, span)?;
        let to = self.function_of("$destructors", KEYS, read(key.clone()), span);
        self.push(StmtKind::Assign(to, destructor), span);
        Ok(())
    }

    /// A key that is deleted: its destructor is not called any more.
    pub(super) fn forget_destructor(&mut self, args: &'a [Ex], span: Span) -> Result<()> {
        if self.session.facts.destructors {
            let key = self.number(args, 0, &C_INT, span)?;
            let there = self.function_of("$destructors", KEYS, key, span);
            self.push(StmtKind::Assign(there, constant(0, ADDRESS, span)), span);
        }
        Ok(())
    }

    /// At the end of a thread: what its values are given to, in the order of their keys.
    pub(super) fn run_destructors(&mut self, span: Span) -> Result<()> {
        if !self.session.facts.destructors {
            return Ok(());
        }
        let names = self.session.facts.functions.clone();
        let takes_pointer = |name: &String| self.functions.get(name).is_some_and(|f| f.signature.params.len() == 1);
        let roots: Vec<String> = names.into_iter().filter(takes_pointer).collect();
        self.found.roots.extend(roots);
        let key = |n: i64| constant(n, INT, span);
        for n in 0..KEYS {
            let mine = self.specific(key(n), span);
            let value = self.temp(ADDRESS);
            let value = self.local(value, span);
            self.body.out.push(assign(&value, read(mine.clone()), span));
            let there = self.function_of("$destructors", KEYS, key(n), span);
            let set = |e: Expr| binary(BinaryOp::Ne, e, constant(0, ADDRESS, span));
            let (block, ()) = self.block(|s| {
                let address = s.keep(read(there));
                let (block, ()) = s.block(|s| {
                    s.body.out.push(assign(&mine, constant(0, ADDRESS, span), span));
                    s.call_at(&address, Some(&read(value.clone())), span)
                })?;
                s.push(StmtKind::If(Guard::Expr(set(address)), block, Vec::new()), span);
                Ok(())
            })?;
            self.push(StmtKind::If(Guard::Expr(set(read(value))), block, Vec::new()), span);
        }
        // Destructors may set values again, which destructors are called for again.
        for n in 0..KEYS {
            let (mine, there) = (self.specific(key(n), span), self.function_of("$destructors", KEYS, key(n), span));
            let none = |e: Expr| binary(BinaryOp::Eq, e, constant(0, ADDRESS, span));
            let there = self.keep(read(there));
            let nothing = binary(BinaryOp::Or, none(read(mine)), none(there));
            self.check(nothing, Check::Bound, "a destructor sets a thread-specific value", span);
        }
        Ok(())
    }

    /// `atexit`
    pub(super) fn at_exit(&mut self, args: &'a [Ex], span: Span) -> Result<Value> {
        self.found.handlers = true;
        let handler = self.handler(args, 0, span)?;
        let count = self.handlers(span);
        let to = self.function_of("$handlers", HANDLERS, read(count.clone()), span);
        let fits = binary(BinaryOp::Lt, read(count.clone()), constant(HANDLERS, INT, span));
        let next = binary(BinaryOp::Add, read(count.clone()), constant(1, INT, span));
        let words = format!("more than {HANDLERS} functions for the end of the process");
        let block = vec![
            stmt(StmtKind::Assert(fits, Check::Bound, Some(words)), span),
            assign(&to, handler, span),
            assign(&count, next, span),
        ];
        self.push(StmtKind::Atomic(block), span);
        Ok(self.zero(span))
    }

    fn handlers(&mut self, span: Span) -> Place {
        let id = self.hidden("$handlers.count", INT, Constant::Int(0), Class::Sync, false);
        self.global(id, span)
    }

    /// At the end of the process: what `atexit` was given, the last one first.
    pub fn run_handlers(&mut self, span: Span) -> Result<()> {
        if !self.session.facts.handlers {
            return Ok(());
        }
        let count = self.handlers(span);
        let (n, address) = (self.temp(INT), self.temp(ADDRESS));
        let (n, address) = (self.local(n, span), self.local(address, span));
        let from = self.function_of("$handlers", HANDLERS, read(n.clone()), span);
        let less = binary(BinaryOp::Sub, read(n.clone()), constant(1, INT, span));
        let look = |s: &mut Self| s.body.out.push(assign(&n, read(count.clone()), span));
        look(self);
        let (round, ()) = self.block(|s| {
            s.body.out.push(assign(&n, less, span));
            s.body.out.push(assign(&address, read(from), span));
            s.body.out.push(assign(&count, read(n.clone()), span));
            s.call_at(&read(address), None, span)?;
            // One that runs may register another one.
            look(s);
            Ok(())
        })?;
        let more = binary(BinaryOp::Lt, constant(0, INT, span), read(n.clone()));
        self.push(StmtKind::While(Guard::Expr(more), round), span);
        Ok(())
    }
}
