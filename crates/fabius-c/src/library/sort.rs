//! `qsort`: by insertion, so that elements that are equal keep their order; and `bsearch`, by halves as the GNU library.

use super::{assign, strip_casts};
use crate::core::*;
use crate::expressions::Ex;
use crate::lower::Lower;
use crate::memory::Part;
use crate::places::{Lvalue, Value};
use crate::refusal::{Refusal, Result, unsupported};
use crate::types::CType;
use fabius_lang::program::{BinaryOp, Check, Expr, Guard, Place, StmtKind};
use fabius_trace::Span;

/// What is sorted or searched.
struct Elements {
    first: Expr,
    of: CType,
    count: Expr,
    compare: Expr,
}

impl<'a> Lower<'a, '_> {
    pub(super) fn sort(&mut self, args: &'a [Ex], span: Span) -> Result<Value> {
        let number = |n: i64| constant(n, ADDRESS, span);
        let Elements { first, of, count, compare } = self.compared(args, 0, span)?;
        let (i, j) = (self.temp(ADDRESS), self.temp(ADDRESS));
        let (i, j) = (self.local(i, span), self.local(j, span));
        let (outer, ()) = self.block(|s| {
            s.body.out.push(assign(&j, read(i.clone()), span));
            let (inner, ()) = s.block(|s| s.sort_down(&first, &of, &j, &compare, span))?;
            let more = binary(BinaryOp::Lt, number(0), read(j));
            s.push(StmtKind::While(Guard::Expr(more), inner), span);
            s.body.out.push(assign(&i, binary(BinaryOp::Add, read(i.clone()), number(1)), span));
            Ok(())
        })?;
        self.body.out.push(assign(&i, number(1), span));
        self.push(StmtKind::While(Guard::Expr(binary(BinaryOp::Lt, read(i), count)), outer), span);
        Ok(Value::void())
    }

    /// Elements, how many there are, and what compares them: arguments from this one on.
    fn compared(&mut self, args: &'a [Ex], n: usize, span: Span) -> Result<Elements> {
        let first = self.value(strip_casts(self.argument(args, n, span)?))?;
        let Some(of) = first.ty.pointee().filter(|ty| **ty != CType::Void).cloned() else {
            return unsupported(span, "what is compared here is not known")
                .map_err(|e: Refusal| e.help("give it a pointer to its elements, not a `void *`"));
        };
        let first = self.keep(first.parts[0].clone());
        let count = self.number(args, n + 1, &crate::types::LONG, span)?;
        let width = self.number(args, n + 2, &crate::types::LONG, span)?;
        let size = constant(self.types().size(&of).unwrap_or(1), ADDRESS, span);
        let words = "elements of another size are compared";
        self.check(binary(BinaryOp::Eq, width, size), Check::Bound, words, span);
        let compare = self.value(self.argument(args, n + 3, span)?)?;
        let compare = self.convert(compare, &CType::Void.pointer(), span)?;
        let compare = self.keep(compare.parts[0].clone());
        Ok(Elements { first, of, count, compare })
    }

    pub(super) fn search(&mut self, args: &'a [Ex], span: Span) -> Result<Value> {
        let number = |n: i64| constant(n, ADDRESS, span);
        let key = self.value(self.argument(args, 0, span)?)?;
        let key = self.convert(key, &CType::Void.pointer(), span)?;
        let key = self.keep(key.parts[0].clone());
        let Elements { first, of, count, compare } = self.compared(args, 1, span)?;
        let size = self.types().size(&of).unwrap_or(1);
        let [low, high, found] = [(); 3].map(|()| {
            let id = self.temp(ADDRESS);
            self.local(id, span)
        });
        let (body, ()) = self.block(|s| {
            let sum = binary(BinaryOp::Add, read(low.clone()), read(high.clone()));
            let middle = s.keep(binary(BinaryOp::Div, sum, number(2)));
            let here = s.keep(binary(BinaryOp::Add, first, binary(BinaryOp::Mul, middle.clone(), number(size))));
            let result = s.zeroed(INT, span);
            s.compare_at(&compare, &key, &here, result, span)?;
            let (result, zero) = (s.read_local(result, span), constant(0, INT, span));
            let below = vec![assign(&high, middle.clone(), span)];
            let above = vec![assign(&low, binary(BinaryOp::Add, middle, number(1)), span)];
            let equal = vec![assign(&found, here, span), stmt(StmtKind::Break, span)];
            let greater = binary(BinaryOp::Lt, zero.clone(), result.clone());
            let other = vec![stmt(StmtKind::If(Guard::Expr(greater), above, equal), span)];
            s.push(StmtKind::If(Guard::Expr(binary(BinaryOp::Lt, result, zero)), below, other), span);
            Ok(())
        })?;
        self.body.out.extend([assign(&low, number(0), span), assign(&high, count, span)]);
        self.body.out.push(assign(&found, number(0), span));
        let more = binary(BinaryOp::Lt, read(low), read(high));
        self.push(StmtKind::While(Guard::Expr(more), body), span);
        Ok(Value::scalar(read(found), CType::Void.pointer()))
    }

    /// Exchanges an element with the one in front of it, or leaves the loop if they are in order.
    fn sort_down(&mut self, first: &Expr, of: &CType, j: &Place, compare: &Expr, span: Span) -> Result<()> {
        let number = |n: i64| constant(n, ADDRESS, span);
        let size = self.types().size(of).unwrap_or(1);
        let offset = binary(BinaryOp::Mul, read(j.clone()), number(size));
        let here = self.keep(binary(BinaryOp::Add, first.clone(), offset));
        let before = self.keep(binary(BinaryOp::Sub, here.clone(), number(size)));
        let result = self.zeroed(INT, span);
        self.compare_at(compare, &before, &here, result, span)?;
        let sorted = binary(BinaryOp::Le, self.read_local(result, span), constant(0, INT, span));
        let leave = vec![stmt(StmtKind::Break, span)];
        self.push(StmtKind::If(Guard::Expr(sorted), leave, Vec::new()), span);
        let place = |s: &mut Self, at: &Expr| s.deref(Value::scalar(at.clone(), of.clone().pointer()), span);
        let (a, b) = (place(self, &before)?, place(self, &here)?);
        self.swap(&a, &b, span)?;
        self.body.out.push(assign(j, binary(BinaryOp::Sub, read(j.clone()), number(1)), span));
        Ok(())
    }

    /// Exchanges two places, of arrays one element after the other.
    fn swap(&mut self, a: &Lvalue, b: &Lvalue, span: Span) -> Result<()> {
        if let CType::Array(_, n) = a.ty.plain() {
            return (0..n.unwrap_or(0)).try_for_each(|i| {
                let index = || Part::Index(constant(i64::from(i), ADDRESS, span));
                let (a, b) = (self.part(a.clone(), index(), span)?, self.part(b.clone(), index(), span)?);
                self.swap(&a, &b, span)
            });
        }
        let (x, y) = (self.load(a)?, self.load(b)?);
        self.store(a, &y, span)?;
        self.store(b, &x, span)
    }

    /// Calls the function at an address with two pointers.
    fn compare_at(&mut self, at: &Expr, a: &Expr, b: &Expr, result: usize, span: Span) -> Result<()> {
        let mut found = boolean(false, span);
        for name in self.session.facts.functions.clone() {
            let Some(body) = self.body_of(&name) else { continue };
            let signature = self.functions[&body].signature.clone();
            if signature.params.len() != 2
                || !signature.params.iter().all(CType::is_pointer)
                || signature.result != crate::types::INT
            {
                continue;
            }
            let number = crate::memory::FUNCTIONS + 1 + self.functions[&name].number;
            let here = binary(BinaryOp::Eq, at.clone(), constant(number, ADDRESS, span));
            found = binary(BinaryOp::Or, found, here.clone());
            let (block, ()) = self.block(|s| {
                s.found.looked_at.insert(body.clone());
                let v = s.call_with(&body, vec![a.clone(), b.clone()], span)?;
                s.set_local(result, v.parts[0].clone(), span);
                Ok(())
            })?;
            self.push(StmtKind::If(Guard::Expr(here), block, Vec::new()), span);
        }
        self.check(found, Check::Bound, "no function that compares is there", span);
        Ok(())
    }
}
