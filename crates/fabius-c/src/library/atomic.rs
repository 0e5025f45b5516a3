//! Atomic operations: `__atomic_*`, `__sync_*`, and what `_Atomic` variables do. Each is one step, sequentially consistent;
//! [`super::orders`] knows what it orders.

use super::{assign, strip_casts};
use crate::core::*;
use crate::expressions::{Ex, as_int};
use crate::lower::Lower;
use crate::memory::{Direct, Part};
use crate::places::{Lvalue, Value};
use crate::refusal::{Refusal, Result, unsupported};
use crate::types::{CType, INT as C_INT};
use fabius_lang::program::*;
use fabius_trace::Span;
use lang_c::ast::BinaryOperator as Op;

impl<'a> Lower<'a, '_> {
    pub(super) fn atomic_call(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Option<Value>> {
        let plain = |n: &str| match n {
            "add" => Some(Op::Plus),
            "sub" => Some(Op::Minus),
            "and" => Some(Op::BitwiseAnd),
            "or" => Some(Op::BitwiseOr),
            "xor" => Some(Op::BitwiseXor),
            _ => None,
        };
        let n = name.trim_end_matches("_1").trim_end_matches("_2").trim_end_matches("_4").trim_end_matches("_8");
        if let Some(op) =
            n.strip_prefix("__atomic_fetch_").or_else(|| n.strip_prefix("__sync_fetch_and_")).and_then(plain)
        {
            return self.fetch(&op, args, true, span).map(Some);
        }
        let after = n.strip_prefix("__atomic_").and_then(|n| n.strip_suffix("_fetch"));
        let after = after.or_else(|| n.strip_prefix("__sync_").and_then(|n| n.strip_suffix("_and_fetch")));
        if let Some(op) = after.and_then(plain) {
            return self.fetch(&op, args, false, span).map(Some);
        }
        match n {
            "__atomic_thread_fence" | "__sync_synchronize" => {
                self.evaluate_all(args)?;
                if self.looks_for_races() {
                    self.fence(span);
                }
                Ok(Some(Value::void()))
            }
            "__atomic_load_n" => {
                let lv = self.atomic_place(args, span)?;
                self.atomic_load(&lv, span).map(Some)
            }
            "__atomic_load" => {
                let lv = self.atomic_place(args, span)?;
                let v = self.atomic_load(&lv, span)?;
                let to = self.pointed(strip_casts(self.argument(args, 1, span)?), span)?;
                self.store(&to, &v, span)?;
                Ok(Some(Value::void()))
            }
            "__atomic_store_n" | "__sync_lock_release" | "__atomic_clear" => {
                let lv = self.atomic_place(args, span)?;
                let v = match n {
                    "__atomic_store_n" => self.value(self.argument(args, 1, span)?)?,
                    _ => self.zero(span),
                };
                let v = self.convert(v, &lv.ty, span)?;
                self.atomic_store(&lv, v, span)?;
                Ok(Some(Value::void()))
            }
            "__atomic_store" => {
                let lv = self.atomic_place(args, span)?;
                let from = self.pointed(strip_casts(self.argument(args, 1, span)?), span)?;
                let v = self.load(&from)?;
                let v = self.convert(v, &lv.ty, span)?;
                self.atomic_store(&lv, v, span)?;
                Ok(Some(Value::void()))
            }
            "__atomic_exchange_n" | "__sync_lock_test_and_set" | "__sync_swap" => {
                let lv = self.atomic_place(args, span)?;
                let v = self.value(self.argument(args, 1, span)?)?;
                let v = self.convert(v, &lv.ty, span)?;
                let new = self.simple(v.parts[0].clone());
                self.exchange(&lv, span, &|_, _| new.clone()).map(Some)
            }
            "__atomic_exchange" => {
                let lv = self.atomic_place(args, span)?;
                let from = self.pointed(strip_casts(self.argument(args, 1, span)?), span)?;
                let v = self.load(&from)?;
                let v = self.convert(v, &lv.ty, span)?;
                let new = self.simple(v.parts[0].clone());
                let old = self.exchange(&lv, span, &|_, _| new.clone())?;
                let to = self.pointed(strip_casts(self.argument(args, 2, span)?), span)?;
                let old = self.convert(old, &to.ty, span)?;
                self.store(&to, &old, span)?;
                Ok(Some(Value::void()))
            }
            "__atomic_test_and_set" => {
                let lv = self.atomic_place(args, span)?;
                let one = constant(1, lv.ty.core(), span);
                let v = self.exchange(&lv, span, &|_, _| one.clone())?;
                self.convert(v, &CType::Bool, span).map(Some)
            }
            "__sync_bool_compare_and_swap" | "__sync_val_compare_and_swap" => {
                let lv = self.atomic_place(args, span)?;
                let expected = self.value(self.argument(args, 1, span)?)?;
                let expected = self.convert(expected, &lv.ty, span)?;
                let expected = self.simple(expected.parts[0].clone());
                let new = self.value(self.argument(args, 2, span)?)?;
                let new = self.convert(new, &lv.ty, span)?;
                let new = self.simple(new.parts[0].clone());
                let (done, old) = self.compare_and_swap(&lv, &expected, &new, span)?;
                Ok(Some(if n.contains("bool") { done } else { old }))
            }
            "__atomic_compare_exchange_n" | "__atomic_compare_exchange" => {
                let lv = self.atomic_place(args, span)?;
                let memory = self.pointed(strip_casts(self.argument(args, 1, span)?), span)?;
                let expected = self.load(&memory)?;
                let expected = self.convert(expected, &lv.ty, span)?;
                let expected = self.keep(expected.parts[0].clone());
                let new = match n {
                    "__atomic_compare_exchange_n" => self.value(self.argument(args, 2, span)?)?,
                    _ => {
                        let from = self.pointed(strip_casts(self.argument(args, 2, span)?), span)?;
                        self.load(&from)?
                    }
                };
                let new = self.convert(new, &lv.ty, span)?;
                let new = self.simple(new.parts[0].clone());
                let (done, old) = self.compare_and_swap(&lv, &expected, &new, span)?;
                let (failed, ()) = self.block(|s| {
                    let old = s.convert(old, &memory.ty, span)?;
                    s.store(&memory, &old, span)
                })?;
                let test = not(truth(done.parts[0].clone()));
                self.push(StmtKind::If(Guard::Expr(test), failed, Vec::new()), span);
                Ok(Some(done))
            }
            _ => Ok(None),
        }
    }

    /// A step that touches what nobody writes: where it is, tells what it orders.
    fn fence(&mut self, span: Span) {
        let all = self.hidden("$fence", INT, fabius_lang::program::Value::Int(0), Class::Sync, false);
        let (all, seen) = (self.global(all, span), self.temp(INT));
        self.push(StmtKind::Assign(self.local(seen, span), read(all)), span);
    }

    /// What the first argument points to; from now on accesses to it synchronize.
    fn atomic_place(&mut self, args: &'a [Ex], span: Span) -> Result<Lvalue> {
        let mut lv = self.pointed(strip_casts(self.argument(args, 0, span)?), span)?;
        if let CType::Struct(id) = lv.ty
            && let Some([field]) = self.types().structs[id].fields.as_deref()
            && matches!(field.ty, CType::Atomic(_))
        {
            // An `atomic_flag`.
            lv = self.part(lv, Part::Field(0), span)?;
        }
        if !lv.ty.is_scalar() || lv.ty.is_float() {
            let words = format!("an atomic operation on `{}` is not taken", self.types().show(&lv.ty));
            return unsupported(span, words);
        }
        self.at(&lv, &mut |s, d| {
            s.synchronizes(d);
            Ok(())
        })?;
        Ok(Lvalue { span, ..lv })
    }

    /// How a step that is an atomic operation begins.
    fn atomically(&mut self, lv: &Lvalue, d: &Direct, span: Span) -> Block {
        let mut block = match lv.ty {
            CType::Atomic(_) => Block::new(),
            _ => vec![crate::mixed::operation(span)],
        };
        block.extend(self.allocated(d, span));
        block
    }

    fn synchronizes(&mut self, d: &Direct) {
        let fields = d.parts.iter().filter_map(|p| if let Part::Field(i) = p { Some(*i) } else { None }).collect();
        // A part of a union is refused where it is used.
        let key = self.objects[d.object].key.clone();
        self.found.sync.insert((key, fields));
    }

    fn fetch(&mut self, op: &Op, args: &'a [Ex], before: bool, span: Span) -> Result<Value> {
        let lv = self.atomic_place(args, span)?;
        if lv.ty.is_pointer() {
            return unsupported(span, "compilers do not agree on what this adds to a pointer")
                .map_err(|e: Refusal| e.help("write `p += n`: it is one step, too"));
        }
        let by = self.value(self.argument(args, 1, span)?)?;
        self.atomic_update(&lv, op, by, before, span)
    }

    /// `place op= value` in one step.
    pub fn atomic_update(&mut self, lv: &Lvalue, op: &Op, by: Value, before: bool, span: Span) -> Result<Value> {
        if !self.has_an_order(span) {
            self.is_used_atomically(lv, span);
        }
        let by = Value { parts: vec![self.simple(as_int(by.parts[0].clone()))], ..by };
        // The operator on what the place holds, with the conversions that C says.
        let ty = lv.ty.plain().clone();
        let old = self.temp(ty.core());
        let held = Value::scalar(self.read_local(old, span), ty.clone());
        let is_call = self.has_an_order(span);
        let (mut statements, new) = self.block(|s| {
            let (held, by) = if is_call { s.wrapping(op, held, by, span)? } else { (held, by) };
            let v = s.operate(op, held, by, span)?;
            s.convert(v, &ty, span)
        })?;
        if !is_call && matches!(op, Op::Plus | Op::Minus | Op::Multiply) {
            // Compilers wrap here as well; C does not say so of operators (6.5.16.2).
            for s in &mut statements {
                if let StmtKind::Assert(_, check @ Check::Overflow, _) = &mut s.kind {
                    *check = Check::Bound;
                }
            }
        }
        let new_value = self.temp(ty.core());
        let target = self.local(old, span);
        let result = self.local(new_value, span);
        self.at(lv, &mut |s, d| {
            let place = s.place(d, span)?;
            let mut block = s.atomically(lv, d, span);
            block.extend(s.has_value(d, span)?);
            block.push(assign(&target, cast_to(read(place.clone()), &target.ty), span));
            block.extend(statements.clone());
            block.push(assign(&result, new.parts[0].clone(), span));
            block.push(assign(&place, cast_to(read(result.clone()), &place.ty), span));
            s.push(StmtKind::Atomic(block), span);
            Ok(())
        })?;
        let which = if before { old } else { new_value };
        Ok(Value::scalar(self.read_local(which, span), ty))
    }

    /// A block of its own tells it from a plain access, if the variable is not atomic by its type.
    fn atomic_load(&mut self, lv: &Lvalue, span: Span) -> Result<Value> {
        if matches!(lv.ty, CType::Atomic(_)) {
            return self.with_its_order(span, |s| s.load(lv));
        }
        let ty = lv.ty.plain().clone();
        let seen = self.temp(ty.core());
        let target = self.local(seen, span);
        self.at(lv, &mut |s, d| {
            let place = s.place(d, span)?;
            let mut block = s.atomically(lv, d, span);
            block.extend(s.has_value(d, span)?);
            block.push(assign(&target, cast_to(read(place), &target.ty), span));
            s.push(StmtKind::Atomic(block), span);
            Ok(())
        })?;
        Ok(Value::scalar(self.read_local(seen, span), ty))
    }

    fn atomic_store(&mut self, lv: &Lvalue, v: Value, span: Span) -> Result<()> {
        if matches!(lv.ty, CType::Atomic(_)) {
            return self.with_its_order(span, |s| s.store(lv, &v, span));
        }
        let new = self.simple(v.parts[0].clone());
        self.at(lv, &mut |s, d| {
            let place = s.place(d, span)?;
            let mut block = s.atomically(lv, d, span);
            block.push(assign(&place, cast_to(new.clone(), &place.ty), span));
            s.push(StmtKind::Atomic(block), span);
            Ok(())
        })
    }

    fn exchange(&mut self, lv: &Lvalue, span: Span, new: &dyn Fn(&Self, &Direct) -> Expr) -> Result<Value> {
        let ty = lv.ty.plain().clone();
        let old = self.temp(ty.core());
        let target = self.local(old, span);
        self.at(lv, &mut |s, d| {
            let place = s.place(d, span)?;
            let mut block = s.atomically(lv, d, span);
            block.extend(s.has_value(d, span)?);
            block.push(assign(&target, cast_to(read(place.clone()), &target.ty), span));
            block.push(assign(&place, cast_to(new(s, d), &place.ty), span));
            s.push(StmtKind::Atomic(block), span);
            Ok(())
        })?;
        Ok(Value::scalar(self.read_local(old, span), ty))
    }

    /// Whether it was done, and what was there.
    fn compare_and_swap(&mut self, lv: &Lvalue, expected: &Expr, new: &Expr, span: Span) -> Result<(Value, Value)> {
        let ty = lv.ty.plain().clone();
        let (old, done) = (self.temp(ty.core()), self.temp(INT));
        let (old, done) = (self.local(old, span), self.local(done, span));
        self.at(lv, &mut |s, d| {
            let place = s.place(d, span)?;
            let mut block = s.atomically(lv, d, span);
            block.extend(s.has_value(d, span)?);
            block.push(assign(&old, cast_to(read(place.clone()), &old.ty), span));
            let same = binary(BinaryOp::Eq, read(old.clone()), expected.clone());
            let yes = vec![
                assign(&place, cast_to(new.clone(), &place.ty), span),
                assign(&done, constant(1, INT, span), span),
            ];
            let no = vec![assign(&done, constant(0, INT, span), span)];
            block.push(stmt(StmtKind::If(Guard::Expr(same), yes, no), span));
            s.push(StmtKind::Atomic(block), span);
            Ok(())
        })?;
        Ok((Value::scalar(read(done), C_INT), Value::scalar(read(old), ty)))
    }
}
