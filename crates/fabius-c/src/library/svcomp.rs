//! The functions of SV-COMP.

use crate::birth::UNSET;
use crate::core::*;
use crate::expressions::Ex;
use crate::lower::Lower;
use crate::places::Value;
use crate::property::Property;
use crate::refusal::{Refusal, Result, unsupported};
use crate::types::{CHAR, CType, INT as C_INT, LONG};
use fabius_lang::program::Check;
use fabius_trace::Span;

impl<'a> Lower<'a, '_> {
    pub(super) fn svcomp(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Option<Value>> {
        let defined = self.functions.get(name).is_some_and(|f| f.definition.is_some());
        match name {
            "reach_error" | "__VERIFIER_error" if self.options.property.is_none_or(|p| p == Property::UnreachCall) => {
                self.check(boolean(false, span), Check::Assertion, "reach_error", span);
                return Ok(Some(Value::void()));
            }
            "reach_error" | "__VERIFIER_error" if !defined => {
                self.end(span);
                return Ok(Some(Value::void()));
            }
            "__VERIFIER_assume" | "assume_abort_if_not" | "fabius_assume" | "__CPROVER_assume" => {
                let e = self.condition(self.argument(args, 0, span)?)?;
                self.assume(e, span);
                return Ok(Some(Value::void()));
            }
            "__VERIFIER_assert" | "__CPROVER_assert" if !defined => {
                let e = self.condition(self.argument(args, 0, span)?)?;
                self.fails_unless(e, name, span)?;
                return Ok(Some(Value::void()));
            }
            "__VERIFIER_atomic_begin" | "__VERIFIER_atomic_end" | "fabius_atomic_begin" | "fabius_atomic_end" => {
                return unsupported(span, "an atomic section that does not begin and end in one block is not taken");
            }
            _ => {}
        }
        let word = self.types().word();
        let Some(kind) = name.strip_prefix("__VERIFIER_nondet_") else { return Ok(None) };
        if defined {
            return Ok(None);
        }
        let ty = match kind {
            "bool" | "_Bool" => CType::Bool,
            "char" => CHAR,
            "uchar" | "unsigned_char" | "u8" | "U8" => CType::Int { bits: 8, signed: false },
            "short" => CType::Int { bits: 16, signed: true },
            "ushort" | "unsigned_short" | "u16" | "U16" => CType::Int { bits: 16, signed: false },
            "int" => C_INT,
            "uint" | "unsigned" | "unsigned_int" | "u32" | "U32" => CType::Int { bits: 32, signed: false },
            "long" => CType::Int { bits: word, signed: true },
            "float" | "double" => {
                let ty = CType::Float(if kind == "float" { 4 } else { 8 });
                return self.any_number(ty, span).map(Some);
            }
            "ulong" | "size_t" | "sector_t" => CType::Int { bits: word, signed: false },
            "longlong" | "loff_t" => LONG,
            // To follow one is wrong, and nobody knows what it is equal to: as one that was not written.
            "pointer" => {
                self.found.unset_pointers = true;
                let ty = CType::Pointer(std::rc::Rc::new(CType::Void));
                return Ok(Some(Value::scalar(constant(UNSET, ADDRESS, span), ty)));
            }
            "ulonglong" | "u64" | "U64" => CType::Int { bits: 64, signed: false },
            _ => {
                return unsupported(span, format!("`{name}` is not taken"))
                    .map_err(|e: Refusal| e.help("the integer types have one"));
            }
        };
        self.any_of(&ty, span).map(Some)
    }

    /// Any floating-point number.
    fn any_number(&mut self, ty: CType, span: Span) -> Result<Value> {
        let e = match ty {
            CType::Float(4) => {
                let bits = self.any_of(&CType::Int { bits: 32, signed: false }, span)?;
                self.float_of_bits(bits.parts[0].clone(), span)?
            }
            _ => self.any_of(&LONG, span)?.parts[0].clone(),
        };
        Ok(Value::scalar(e, ty))
    }

    /// Any value of an integer type.
    pub fn any_of(&mut self, ty: &CType, span: Span) -> Result<Value> {
        let (lo, hi) = match ty {
            CType::Bool => (0, 1),
            CType::Int { bits: 64, signed: true } => (i64::MIN, i64::MAX),
            CType::Int { bits: 64, signed: false } => {
                // A choice is made among signed codes.
                let v = self.any(i64::MIN, i64::MAX, LONG, span);
                return self.convert(v, ty, span);
            }
            CType::Int { bits, signed: true } => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            CType::Int { bits, signed: false } => (0, (1 << bits) - 1),
            _ => return unsupported(span, format!("a `{}` cannot be anything", self.types().show(ty))),
        };
        Ok(self.any(lo, hi, ty.clone(), span))
    }
}
