//! Floating-point numbers: 64 bits that functions of ours compute with (`headers/floats.c`), behind the program's text. A `float`
//! is the number of 64 bits that has its value. What is not known of a number (what a function of the library returns, what has
//! more than 64 bits, what nothing was written to) is [`UNSET`], comes out of whatever it goes into, and who asks for it is not
//! followed.
//!
//! Paper: IEEE 754-2008, rounding to nearest, ties to even.

use crate::birth::UNSET;
use crate::core::*;
use crate::lower::Lower;
use crate::places::Value;
use crate::refusal::{Refusal, Result, unsupported};
use crate::types::{CType, INT};
use fabius_lang::program::{BinaryOp, Expr};
use fabius_trace::Span;
use lang_c::ast::{Float, FloatBase, FloatFormat};

const TEXT: &str = include_str!("../../headers/floats.c");
/// The name of the text, as its places say.
const FILE: &str = "floating-point numbers";

/// The text that computes with the numbers of these files: its name, and the text.
pub fn for_files(own: &[(String, String)]) -> Option<(String, String)> {
    let is_number = |pair: &[u8]| pair[0].is_ascii_digit() && pair[1] == b'.';
    let uses = |text: &str| {
        ["float", "double"].iter().any(|word| text.contains(word)) || text.as_bytes().windows(2).any(is_number)
    };
    own.iter().any(|(_, text)| uses(text)).then(|| (FILE.into(), without_macros(TEXT)))
}

/// Whether a function is one of that text.
pub fn computes(name: &str) -> bool {
    name.starts_with("fabius__") && TEXT.contains(&format!(" {name}("))
}

/// The text is read behind the preprocessor.
fn without_macros(text: &str) -> String {
    let nothing = "(((A) | 1) == 7957707058381219585ull)";
    let magnitude = "((A) & 0x7fffffffffffffffull)";
    let mut in_comment = false;
    let mut out = String::new();
    for line in text.lines() {
        let begins = line.starts_with("/*") || in_comment;
        in_comment = begins && !line.ends_with("*/");
        if !begins && !line.starts_with("#define") {
            out += line;
        }
        out += "\n";
    }
    for (name, meaning) in [("FABIUS_NOTHING", nothing), ("FABIUS_MAGNITUDE", magnitude)] {
        for argument in ["a", "b"] {
            out = out.replace(&format!("{name}({argument})"), &meaning.replace('A', argument));
        }
    }
    for (name, meaning) in [
        ("FABIUS_UNKNOWN", "7957707058381219584ull"),
        ("FABIUS_INFINITY", "0x7ff0000000000000ull"),
        ("FABIUS_NAN", "0xfff8000000000000ull"),
        ("FABIUS_QUIET", "0x0008000000000000ull"),
        ("FABIUS_U", "unsigned long long"),
    ] {
        out = out.replace(name, meaning);
    }
    out
}

/// Bytes of `long double`, of which the numbers with more than 64 bits are not known.
const LONG: u8 = 16;

/// Whole numbers up to this one have 53 bits.
const WHOLE: i64 = 1 << 53;

/// A number that a value is, if that is known from the text.
fn known(e: &Expr) -> Option<f64> {
    value_of(e).filter(|n| *n != UNSET).map(|n| f64::from_bits(n as u64))
}

impl Lower<'_, '_> {
    fn float_constant(&self, x: f64, span: Span) -> Expr {
        constant(x.to_bits() as i64, ADDRESS, span)
    }

    /// A number of which nothing is known.
    pub fn some_number(&self, ty: CType, span: Span) -> Value {
        Value::scalar(constant(UNSET, ADDRESS, span), ty)
    }

    pub(super) fn float_literal(&mut self, f: &Float, span: Span) -> Value {
        let ty = CType::Float(match f.suffix.format {
            FloatFormat::Float => 4,
            FloatFormat::LongDouble => LONG,
            _ => 8,
        });
        let text = &f.number;
        let exact = match f.base {
            FloatBase::Decimal => text.parse::<f64>().ok(),
            FloatBase::Hexadecimal => hexadecimal(text),
        };
        // Of `long double` only whole numbers that are written as such.
        let is_whole = match text.split_once('.') {
            _ if f.base == FloatBase::Hexadecimal => true,
            Some((_, fraction)) => fraction.bytes().all(|b| b == b'0'),
            None => false,
        };
        let exact = exact.filter(|x| ty != CType::Float(LONG) || is_whole && x.fract() == 0.0 && x.abs() < 1e15);
        match exact {
            Some(_) if ty == CType::Float(4) && f.base == FloatBase::Decimal => {
                let x = text.parse::<f32>().map_or(0.0, f64::from);
                Value::scalar(self.float_constant(x, span), ty)
            }
            Some(x) => Value::scalar(
                self.float_constant(if ty == CType::Float(4) { f64::from(x as f32) } else { x }, span),
                ty,
            ),
            None => self.some_number(ty, span),
        }
    }

    /// Calls one of the functions of the text.
    fn floating(&mut self, name: &str, values: Vec<Expr>, span: Span) -> Result<Expr> {
        let name = format!("fabius__{name}");
        if !self.functions.contains_key(&name) {
            return unsupported(span, "what depends on a floating-point number is not taken here")
                .map_err(|e: Refusal| e.help("name the type `double` in a file of the program"));
        }
        let params: Vec<CType> = self.functions[&name].signature.params.clone();
        let values = values.into_iter().zip(params).map(|(e, ty)| cast(e, &ty.core())).collect();
        Ok(self.call_with(&name, values, span)?.parts[0].clone())
    }

    /// A number as one of another type.
    pub(super) fn rounded(&mut self, e: Expr, from: &CType, to: &CType, span: Span) -> Result<Expr> {
        match (from, to) {
            (CType::Float(4), CType::Float(_)) => Ok(e),
            (_, CType::Float(4)) => match known(&e) {
                Some(x) if !x.is_nan() => Ok(self.float_constant(f64::from(x as f32), span)),
                _ => Ok(cast(self.floating("f32_of_f64", vec![e], span)?, &ADDRESS)),
            },
            _ => Ok(e),
        }
    }

    /// An integer as a number.
    pub(super) fn number_from(&mut self, e: Expr, from: &CType, to: &CType, span: Span) -> Result<Expr> {
        let signed = !matches!(from, CType::Int { bits: 64, signed: false });
        if let Some(n) = value_of(&e) {
            let x = match (to, signed) {
                (CType::Float(4), true) => f64::from(n as f32),
                (CType::Float(4), false) => f64::from(n as u64 as f32),
                (_, true) => n as f64,
                (_, false) => n as u64 as f64,
            };
            let is_kept = *to != CType::Float(LONG) || (-WHOLE..=WHOLE).contains(&n);
            return Ok(if is_kept { self.float_constant(x, span) } else { constant(UNSET, ADDRESS, span) });
        }
        let wide = cast(e, &CType::Int { bits: 64, signed }.core());
        let wide = if *to == CType::Float(LONG) { self.keep(wide) } else { wide };
        let name =
            format!("{}_of_{}", if *to == CType::Float(4) { "f32" } else { "f64" }, if signed { "i64" } else { "u64" });
        let x = cast(self.floating(&name, vec![wide.clone()], span)?, &ADDRESS);
        if *to != CType::Float(LONG) {
            return Ok(x);
        }
        let number = |n: i64| constant(n, ADDRESS, span);
        let n = cast(wide, &ADDRESS);
        let is_kept = and(binary(BinaryOp::Le, number(-WHOLE), n.clone()), binary(BinaryOp::Le, n, number(WHOLE)));
        Ok(if_else(is_kept, x, number(UNSET)))
    }

    /// A number as an integer, towards zero.
    pub(super) fn integer_from(&mut self, e: Expr, to: &CType, span: Span) -> Result<Expr> {
        if *to == CType::Bool {
            let truth = self.truth_of_number(e, span)?;
            return Ok(if_else(truth, constant(1, to.core(), span), constant(0, to.core(), span)));
        }
        let limits = match to {
            CType::Int { bits: bits @ ..=32, signed: true } => Some((-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)),
            CType::Int { bits: bits @ ..=32, signed: false } => Some((0, (1i64 << bits) - 1)),
            _ => None,
        };
        if let (Some(x), Some((least, most))) = (known(&e), limits)
            && (least as f64..=most as f64).contains(&x.trunc())
        {
            return Ok(cast(constant(x as i64, ADDRESS, span), &to.core()));
        }
        let is_wide = matches!(to, CType::Int { bits: 64, signed: false });
        let whole = self.floating(if is_wide { "u64_of_f64" } else { "i64_of_f64" }, vec![e], span)?;
        if let Some((least, most)) = limits {
            let number = |n: i64| constant(n, ADDRESS, span);
            let whole = cast(whole.clone(), &ADDRESS);
            let fits =
                and(binary(BinaryOp::Le, number(least), whole.clone()), binary(BinaryOp::Le, whole, number(most)));
            let words = "a floating-point number that does not fit into an integer";
            self.check(fits, fabius_lang::program::Check::Bound, words, span);
        }
        Ok(cast(whole, &to.core()))
    }

    /// Whether a number is not zero.
    pub(super) fn truth_of_number(&mut self, e: Expr, span: Span) -> Result<Expr> {
        match known(&e) {
            Some(x) => Ok(boolean(x != 0.0, span)),
            None => Ok(truth(self.floating("f64_truth", vec![e], span)?)),
        }
    }

    pub(super) fn negative(&mut self, v: Value, span: Span) -> Result<Value> {
        let e = match known(&v.parts[0]) {
            Some(x) => self.float_constant(-x, span),
            None => cast(self.floating("f64_neg", vec![v.parts[0].clone()], span)?, &ADDRESS),
        };
        Ok(Value { parts: vec![e], ..v })
    }

    /// `a op b` where one of them is a floating-point number.
    pub(super) fn operate_on_floats(&mut self, op: BinaryOp, a: Value, b: Value, span: Span) -> Result<Value> {
        if ![&a, &b].iter().all(|v| v.ty.is_float() || v.ty.is_integer()) {
            let (x, y) = (self.types().show(&a.ty), self.types().show(&b.ty));
            return unsupported(span, format!("an operator on `{x}` and `{y}` is not taken"));
        }
        let ty = self.type_of_either(&a, &b, span)?;
        let a = self.convert(a, &ty, span)?.parts[0].clone();
        let b = self.convert(b, &ty, span)?.parts[0].clone();
        let both = known(&a).zip(known(&b));
        let compared = match op {
            BinaryOp::Lt | BinaryOp::Gt => {
                Some(("f64_lt", both.map(|(x, y)| if op == BinaryOp::Lt { x < y } else { x > y })))
            }
            BinaryOp::Le | BinaryOp::Ge => {
                Some(("f64_le", both.map(|(x, y)| if op == BinaryOp::Le { x <= y } else { x >= y })))
            }
            BinaryOp::Eq | BinaryOp::Ne => Some(("f64_eq", both.map(|(x, y)| (x == y) == (op == BinaryOp::Eq)))),
            _ => None,
        };
        if let Some((name, decided)) = compared {
            if let Some(holds) = decided {
                return Ok(Value::scalar(boolean(holds, span), INT));
            }
            let values = if matches!(op, BinaryOp::Gt | BinaryOp::Ge) { vec![b, a] } else { vec![a, b] };
            let holds = truth(self.floating(name, values, span)?);
            return Ok(Value::scalar(if op == BinaryOp::Ne { not(holds) } else { holds }, INT));
        }
        let (name, folded) = match op {
            BinaryOp::Add => ("f64_add", both.map(|(x, y)| x + y)),
            BinaryOp::Sub => ("f64_sub", both.map(|(x, y)| x - y)),
            BinaryOp::Mul => ("f64_mul", both.map(|(x, y)| x * y)),
            BinaryOp::Div => ("f64_div", both.map(|(x, y)| x / y)),
            _ => return unsupported(span, "this operator is not for floating-point numbers"),
        };
        if ty == CType::Float(LONG) {
            for e in [&a, &b] {
                self.read_anyway(e);
            }
            return Ok(self.some_number(ty, span));
        }
        let e = match folded.filter(|x| !x.is_nan()) {
            Some(x) => self.float_constant(x, span),
            None => cast(self.floating(name, vec![a, b], span)?, &ADDRESS),
        };
        // Of two `float`s the result of 64 bits, rounded again, is that of 32.
        let e = self.rounded(e, &CType::Float(8), &ty, span)?;
        Ok(Value::scalar(e, ty))
    }

    /// The 32 bits of a `float`, as a union holds them.
    pub fn bits_of_float(&mut self, e: Expr, span: Span) -> Result<Expr> {
        match known(&e) {
            Some(x) => Ok(constant(i64::from((x as f32).to_bits()), WORD, span)),
            None => self.floating("f32_bits", vec![e], span),
        }
    }

    /// The `float` of these 32 bits.
    pub fn float_of_bits(&mut self, e: Expr, span: Span) -> Result<Expr> {
        Ok(cast(self.floating("f32_with_bits", vec![e], span)?, &ADDRESS))
    }

    pub fn absolute(&mut self, v: Value, span: Span) -> Result<Value> {
        let e = cast(self.floating("f64_fabs", vec![v.parts[0].clone()], span)?, &ADDRESS);
        Ok(Value { parts: vec![e], ..v })
    }
}

/// `1.8p3`, of at most 53 bits.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, power) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let n = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok().filter(|n| *n < 1 << 53)?;
    let power = power.parse::<i32>().ok()? - 4 * fraction.len() as i32;
    (-1000..1000).contains(&power).then(|| n as f64 * 2f64.powi(power))
}
