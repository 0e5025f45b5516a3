//! `__builtin_add_overflow` and the like: the result as it wraps, and whether it did.

use super::overflow::result_fits;
use super::{Ex, as_int};
use crate::core::*;
use crate::lower::Lower;
use crate::places::Value;
use crate::refusal::{Refusal, Result, unsupported};
use crate::types::{CType, INT};
use fabius_lang::program::BinaryOp;
use fabius_trace::Span;

impl<'a> Lower<'a, '_> {
    /// The call, if it is of one of these functions.
    pub fn checked(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Option<Value>> {
        let Some(kind) = name.strip_prefix("__builtin_").and_then(|name| name.strip_suffix("_overflow")) else {
            return Ok(None);
        };
        let Some((op, fixed)) = self.operation_of(kind) else { return Ok(None) };
        let mut sides = Vec::new();
        for n in 0..2 {
            let v = self.value(self.argument(args, n, span)?)?;
            let v = match &fixed {
                Some(ty) => self.convert(v, ty, span)?,
                None if v.ty.is_integer() => v,
                None => return unsupported(span, "this is for integers only"),
            };
            sides.push(self.keep(as_int(v.parts[0].clone())));
        }
        let lv = self.pointed(self.argument(args, 2, span)?, span)?;
        let ty = lv.ty.plain().clone();
        let (x, y) = (&sides[0], &sides[1]);
        let fits = match &ty {
            CType::Int { .. } => result_fits(op, x, y, &ty.core(), span),
            _ => None,
        };
        let Some(fits) = fits else {
            return unsupported(span, "the types of this operation do not fit together")
                .map_err(|e: Refusal| e.help("convert both sides to the type of the result"));
        };
        let fails = self.keep(not(fits));
        let result = binary(op, cast(x.clone(), &ty.core()), cast(y.clone(), &ty.core()));
        self.store(&lv, &Value::scalar(result, ty), span)?;
        Ok(Some(Value::scalar(fails, INT)))
    }

    /// The operator, and the type that the name says: `add`, `saddl`.
    fn operation_of(&self, kind: &str) -> Option<(BinaryOp, Option<CType>)> {
        let op = |name: &str| match name {
            "add" => Some(BinaryOp::Add),
            "sub" => Some(BinaryOp::Sub),
            "mul" => Some(BinaryOp::Mul),
            _ => None,
        };
        if let Some(op) = op(kind) {
            return Some((op, None));
        }
        let (sign, rest) = kind.split_at_checked(1)?;
        let (name, width) = rest.split_at_checked(3)?;
        let signed = match sign {
            "s" => true,
            "u" => false,
            _ => return None,
        };
        let bits = match width {
            "" => 32,
            "l" => self.types().word(),
            "ll" => 64,
            _ => return None,
        };
        Some((op(name)?, Some(CType::Int { bits, signed })))
    }
}
