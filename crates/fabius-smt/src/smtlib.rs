//! Terms as SMT-LIB 2 text.

use crate::term::{Kind, Op, Sort, Term, Terms, Value};
use hashbrown::HashSet;
use std::fmt::Write;

/// Writes definitions so that every term has a name, and none is written twice.
#[derive(Default)]
pub struct Writer {
    defined: HashSet<Term>,
}

/// What a term is called once it is defined.
pub fn name(terms: &Terms, t: Term) -> String {
    match *terms.kind(t) {
        Kind::Const(v) => constant(v, terms.sort(t)),
        Kind::Var(n) => format!("v{n}"),
        Kind::App(..) => format!("t{}", t.0),
    }
}

fn constant(v: Value, sort: Sort) -> String {
    match sort {
        Sort::Bool => (if v == 1 { "true" } else { "false" }).into(),
        Sort::Bits { width, .. } => format!("(_ bv{} {width})", v & ((1 << width) - 1)),
        _ if v < 0 => format!("(- {})", v.unsigned_abs()),
        _ => v.to_string(),
    }
}

fn sort_name(sort: Sort) -> String {
    match sort {
        Sort::Bool => "Bool".into(),
        Sort::Int | Sort::Order => "Int".into(),
        Sort::Bits { width, .. } => format!("(_ BitVec {width})"),
    }
}

impl Writer {
    /// Whether the term has been written.
    pub fn has_defined(&self, t: Term) -> bool {
        self.defined.contains(&t)
    }

    /// Appends whatever must be said before [`name`] of the term means anything.
    pub fn define(&mut self, terms: &Terms, t: Term, out: &mut String) {
        let mut stack = vec![t];
        while let Some(&t) = stack.last() {
            if self.defined.contains(&t) {
                stack.pop();
                continue;
            }
            let before = stack.len();
            stack.extend(terms.operands(t).iter().copied().filter(|o| !self.defined.contains(o)));
            if stack.len() > before {
                continue;
            }
            stack.pop();
            self.defined.insert(t);
            let sort = sort_name(terms.sort(t));
            match *terms.kind(t) {
                Kind::Const(_) => {}
                Kind::Var(_) => {
                    let v = name(terms, t);
                    let _ = writeln!(out, "(declare-const {v} {sort})");
                    if let (Sort::Int, Some((lo, hi))) = (terms.sort(t), terms.range(t)) {
                        let (lo, hi) = (constant(lo, Sort::Int), constant(hi, Sort::Int));
                        let _ = writeln!(out, "(assert (<= {lo} {v} {hi}))");
                    }
                }
                Kind::App(op, [a, b, c]) => {
                    let [x, y, z] = [a, b, c].map(|o| name(terms, o));
                    let body = application(op, terms.sort(a), terms.sort(t), &x, &y, &z);
                    let _ = writeln!(out, "(define-fun {} () {sort} {body})", name(terms, t));
                }
            }
        }
    }
}

/// Assertions.
impl Writer {
    /// The term holds.
    pub fn assert(&mut self, terms: &Terms, fact: Term, out: &mut String) {
        self.define(terms, fact, out);
        let _ = writeln!(out, "(assert {})", name(terms, fact));
    }

    /// One of the terms holds.
    pub fn assert_any(&mut self, terms: &Terms, alternatives: &[Term], out: &mut String) {
        for t in alternatives {
            self.define(terms, *t, out);
        }
        let names: Vec<String> = alternatives.iter().map(|t| name(terms, *t)).collect();
        let _ = writeln!(out, "(assert (or false {}))", names.join(" "));
    }

    /// When the condition holds, one point in time is before another.
    pub fn assert_before(&mut self, terms: &Terms, condition: Term, from: Term, to: Term, out: &mut String) {
        for t in [condition, from, to] {
            self.define(terms, t, out);
        }
        let [condition, from, to] = [condition, from, to].map(|t| name(terms, t));
        let _ = writeln!(out, "(assert (=> {condition} (< {from} {to})))");
    }
}

fn application(op: Op, of: Sort, to: Sort, x: &str, y: &str, z: &str) -> String {
    match (op, of) {
        (Op::Not, _) => format!("(not {x})"),
        (Op::And, _) => format!("(and {x} {y})"),
        (Op::Ite, _) => format!("(ite {x} {y} {z})"),
        (Op::Eq, _) => format!("(= {x} {y})"),
        (Op::Next, _) => format!("(+ {x} 1)"),
        (Op::Cast, from) => cast(from, to, x),
        (op, Sort::Bits { width, signed }) => {
            let f = match (op, signed) {
                (Op::Lt, true) => "bvslt",
                (Op::Lt, false) => "bvult",
                _ => bits_function(op, signed),
            };
            if matches!(op, Op::Shl | Op::Shr) {
                return format!("({f} {x} (bvand {y} (_ bv{} {width})))", width - 1);
            }
            format!("({f} {x} {y})")
        }
        (Op::Lt, _) => format!("(< {x} {y})"),
        (Op::Add, _) => format!("(+ {x} {y})"),
        (Op::Sub, _) => format!("(- {x} {y})"),
        (Op::Mul, _) => format!("(* {x} {y})"),
        // SMT-LIB rounds so that the rest is not negative; we truncate.
        (Op::Div, _) => format!("(ite (>= {x} 0) (div {x} {y}) (- (div (- {x}) {y})))"),
        (Op::Rem, _) => format!("(ite (>= {x} 0) (mod {x} {y}) (- (mod (- {x}) {y})))"),
        (op, _) => {
            // Through bit vectors that are wide enough for what programs hold in 64 bits.
            let f = bits_function(op, true);
            let wide = Sort::Bits { width: 64, signed: true };
            cast(wide, Sort::Int, &format!("({f} {} {})", cast(Sort::Int, wide, x), cast(Sort::Int, wide, y)))
        }
    }
}

fn cast(from: Sort, to: Sort, x: &str) -> String {
    match (from, to) {
        (Sort::Bits { width: m, signed }, Sort::Bits { width: n, .. }) if n > m => {
            format!("((_ {} {}) {x})", if signed { "sign_extend" } else { "zero_extend" }, n - m)
        }
        (Sort::Bits { width: m, .. }, Sort::Bits { width: n, .. }) if n < m => format!("((_ extract {} 0) {x})", n - 1),
        (Sort::Bits { .. }, Sort::Bits { .. }) => x.into(),
        (_, Sort::Bits { width, .. }) => format!("((_ int2bv {width}) {x})"),
        (Sort::Bits { width, signed: true }, _) => {
            let half = Value::from(1) << (width - 1);
            format!("(- (bv2nat (bvadd {x} (_ bv{half} {width}))) {half})")
        }
        (_, _) => format!("(bv2nat {x})"),
    }
}

/// The function of bit vectors that an operator is.
pub fn bits_function(op: Op, signed: bool) -> &'static str {
    match (op, signed) {
        (Op::Add, _) => "bvadd",
        (Op::Sub, _) => "bvsub",
        (Op::Mul, _) => "bvmul",
        (Op::Div, true) => "bvsdiv",
        (Op::Div, false) => "bvudiv",
        (Op::Rem, true) => "bvsrem",
        (Op::Rem, false) => "bvurem",
        (Op::BitAnd, _) => "bvand",
        (Op::BitOr, _) => "bvor",
        (Op::BitXor, _) => "bvxor",
        (Op::Shl, _) => "bvshl",
        (Op::Shr, true) => "bvashr",
        (Op::Shr, false) => "bvlshr",
        (op, _) => unreachable!("{op:?} is no arithmetic"),
    }
}

/// A file that asks whether all of the terms can hold at once.
pub fn script(terms: &Terms, all: &[Term]) -> String {
    let mut text = String::from("(set-logic ALL)\n");
    let mut writer = Writer::default();
    for t in all {
        writer.assert(terms, *t, &mut text);
    }
    text + "(check-sat)\n"
}

/// The value in an answer to `get-value`.
pub(crate) fn parse_value(text: &str, sort: Sort) -> Option<Value> {
    let text = text.trim();
    match sort {
        Sort::Bool => match text {
            "true" => Some(1),
            "false" => Some(0),
            _ => None,
        },
        Sort::Int | Sort::Order => {
            if let Some(rest) = text.strip_prefix("(-") {
                let digits = rest.trim_end_matches(')').trim();
                return digits.parse::<Value>().ok().map(|v| -v);
            }
            text.parse().ok()
        }
        Sort::Bits { .. } => {
            let pattern = if let Some(bits) = text.strip_prefix("#b") {
                Value::from_str_radix(bits, 2).ok()?
            } else if let Some(digits) = text.strip_prefix("#x") {
                Value::from_str_radix(digits, 16).ok()?
            } else {
                text.strip_prefix("(_ bv")?.split_whitespace().next()?.parse().ok()?
            };
            Some(crate::term::wrap(pattern, sort))
        }
    }
}
