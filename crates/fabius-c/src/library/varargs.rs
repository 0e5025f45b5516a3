//! Functions with any number of arguments. Each thread has a stack: who calls such a function puts the arguments on it, and then
//! how many they are. A `va_list` is the number of the next one, and where they end.

use super::assign;
use crate::core::*;
use crate::expressions::Ex;
use crate::lower::Lower;
use crate::places::Value;
use crate::refusal::{Result, unsupported};
use crate::types::CType;
use fabius_lang::program::*;
use fabius_trace::Span;

/// How many such arguments a thread has at once, with one more for each call.
const MOST: u32 = 64;

impl<'a> Lower<'a, '_> {
    /// The stack of arguments, and how many there are.
    fn stack(&mut self, span: Span) -> (Place, Place) {
        let (ty, init) = crate::lower::array_of(ADDRESS, fabius_lang::program::Value::Int(0), &[MOST]);
        let all = self.hidden("$arguments", ty, init, Class::Data, true);
        let top = self.hidden("$arguments.top", ADDRESS, fabius_lang::program::Value::Int(0), Class::Data, true);
        (self.global(all, span), self.global(top, span))
    }

    fn argument_at(&mut self, n: Expr, span: Span) -> Place {
        let (mut all, _) = self.stack(span);
        all.path.push(Projection::Index { index: index_of(n).into(), lo: 0, len: MOST });
        Place { ty: ADDRESS, ..all }
    }

    /// Puts the arguments of a call on the stack that have no parameters, if somebody looks at such ones.
    pub fn hand_over(&mut self, given: &[Value], span: Span) -> Result<()> {
        if !self.session.facts.varargs {
            return Ok(());
        }
        let number = |n: usize| constant(n as i64, ADDRESS, span);
        let (_, top) = self.stack(span);
        let new = binary(BinaryOp::Add, read(top.clone()), number(given.len() + 1));
        let fits = binary(BinaryOp::Le, new.clone(), number(MOST as usize));
        self.check(fits, Check::Bound, &format!("more than {MOST} arguments of functions with any number"), span);
        let mut block = Block::new();
        for (n, v) in given.iter().enumerate() {
            let [e] = v.parts.as_slice() else {
                let words = "a struct as one of any number of arguments is not taken";
                return unsupported(span, words);
            };
            let place = self.argument_at(binary(BinaryOp::Add, read(top.clone()), number(n)), span);
            block.push(assign(&place, cast_to(e.clone(), &ADDRESS), span));
        }
        let last = self.argument_at(binary(BinaryOp::Add, read(top.clone()), number(given.len())), span);
        block.push(assign(&last, number(given.len()), span));
        block.push(assign(&top, new, span));
        self.body.out.extend(block);
        Ok(())
    }

    /// Takes them away again.
    pub fn take_back(&mut self, given: &[Value], span: Span) {
        if self.session.facts.varargs {
            let (_, top) = self.stack(span);
            let many = constant(given.len() as i64 + 1, ADDRESS, span);
            self.body.out.push(assign(&top, binary(BinaryOp::Sub, read(top.clone()), many), span));
        }
    }

    /// `va_start`: the first argument of the running function that has no parameter.
    pub(super) fn va_start(&mut self, args: &'a [Ex], span: Span) -> Result<()> {
        let lv = self.lvalue(self.argument(args, 0, span)?)?;
        if !self.session.facts.varargs {
            // What it holds is nobody's business.
            return self.store(&lv, &Value::scalar(constant(1, ADDRESS, span), lv.ty.clone()), span);
        }
        let number = |n: i64| constant(n, ADDRESS, span);
        let (_, top) = self.stack(span);
        let end = binary(BinaryOp::Sub, read(top), number(1));
        let many = read(self.argument_at(end.clone(), span));
        let first = binary(BinaryOp::Sub, end.clone(), many);
        let list = binary(BinaryOp::Add, binary(BinaryOp::Mul, end, number(i64::from(MOST))), first);
        self.store(&lv, &Value::scalar(list, lv.ty.clone()), span)
    }

    /// `va_copy`.
    pub(super) fn va_copy(&mut self, args: &'a [Ex], span: Span) -> Result<()> {
        let lv = self.lvalue(self.argument(args, 0, span)?)?;
        let from = self.value(self.argument(args, 1, span)?)?;
        let v = self.convert(from, &lv.ty, span)?;
        self.store(&lv, &v, span)
    }

    /// `va_arg`: the next argument, which has to be there.
    pub fn va_arg(&mut self, list: &'a Ex, ty: &CType, span: Span) -> Result<Value> {
        self.found.varargs = true;
        if !ty.is_scalar() {
            return unsupported(span, "`va_arg` of a struct is not taken");
        }
        let lv = self.lvalue(list)?;
        let now = self.load_scalar(&lv)?;
        let now = self.keep(now);
        let number = |n: i64| constant(n, ADDRESS, span);
        let next = binary(BinaryOp::Rem, now.clone(), number(i64::from(MOST)));
        let end = binary(BinaryOp::Div, now.clone(), number(i64::from(MOST)));
        let there = and(
            binary(BinaryOp::Le, number(0), next.clone()),
            and(binary(BinaryOp::Lt, next.clone(), end.clone()), binary(BinaryOp::Lt, end, number(i64::from(MOST)))),
        );
        self.check(there, Check::Bound, "`va_arg` takes an argument that is not given", span);
        let v = read(self.argument_at(next, span));
        let v = self.keep(v);
        let further = binary(BinaryOp::Add, now, number(1));
        self.store(&lv, &Value::scalar(further, lv.ty.clone()), span)?;
        Ok(Value::scalar(cast_to(v, &ty.core()), ty.plain().clone()))
    }
}
