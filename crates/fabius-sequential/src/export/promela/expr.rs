//! Expressions, and when they have no fault.

use super::layout::{self, Leaf, Scalar};
use super::{Refused, Writer, constant, refused};
use fabius_lang::program::*;

/// An expression of Promela: its scalars, and what must hold for it to have a value.
#[derive(Clone, Debug, Default)]
pub struct Text {
    pub scalars: Vec<String>,
    /// Conditions that all must hold.
    pub sound: Vec<String>,
}

impl Text {
    /// The only scalar.
    pub fn one(&self) -> &str {
        &self.scalars[0]
    }
}

/// All of them, as one condition; `None` if there is nothing to ask.
pub fn all(conditions: &[String]) -> Option<String> {
    match conditions {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(many.iter().map(|c| format!("({c})")).collect::<Vec<_>>().join(" && ")),
    }
}

fn scalar(text: String, sound: Vec<String>) -> Text {
    Text { scalars: vec![text], sound }
}

/// A condition that is asked for only where another one is so.
fn only_if(condition: &str, sound: Vec<String>) -> Vec<String> {
    all(&sound).map(|sound| format!("!({condition}) || ({sound})")).into_iter().collect()
}

impl Writer<'_> {
    /// A place: its scalars, and what must hold for it to be one.
    pub fn place(&self, place: &Place) -> Result<(Vec<Scalar>, Vec<String>), Refused> {
        let program = self.program;
        let mut sound = Vec::new();
        let (mut leaves, mut ty, mut index): (&[Leaf], Type, Option<String>) = match &place.base {
            Base::Global(g) => (&self.globals[*g], program.globals[*g].ty.clone(), None),
            Base::Local(l) => {
                let call = self.call();
                (&call.locals[*l], program.procs[call.proc].locals[*l].ty.clone(), None)
            }
            Base::Heap(reference, record) => {
                let Text { scalars, sound: of_it } = self.expr(reference)?;
                sound.extend(of_it);
                sound.push(format!("{} != 0", scalars[0]));
                (&self.heap[*record], Type::Record(*record), Some(format!("{} - 1", scalars[0])))
            }
        };
        for step in &place.path {
            match (step, &ty) {
                (Projection::Field(f), Type::Record(r)) => {
                    let fields = &program.records[*r].fields;
                    let before: usize = fields[..*f].iter().map(|field| layout::width(program, &field.ty)).sum();
                    leaves = &leaves[before..before + layout::width(program, &fields[*f].ty)];
                    ty = fields[*f].ty.clone();
                }
                (Projection::Index { index: at, lo, len }, Type::Array { element, .. }) => {
                    let Text { scalars, sound: of_it } = self.expr(at)?;
                    let at_is = &scalars[0];
                    sound.extend(of_it);
                    let last = lo + i64::from(*len) - 1;
                    if constant(at).is_none_or(|n| n < *lo || n > last) {
                        sound.push(format!("({at_is}) >= {lo} && ({at_is}) <= {last}"));
                    }
                    let at_is = if *lo == 0 { at_is.clone() } else { format!("({at_is}) - ({lo})") };
                    index = Some(match index {
                        None => at_is,
                        Some(outer) => format!("({outer}) * {len} + ({at_is})"),
                    });
                    ty = (**element).clone();
                }
                other => panic!("the type checker does not let {other:?} pass"),
            }
        }
        Ok((layout::scalars(program, leaves, index.as_deref(), &ty), sound))
    }

    /// The scalars of a constant, in order.
    pub fn constant(&self, value: &Value) -> Vec<String> {
        match value {
            Value::Int(n) => vec![if *n < 0 { format!("({n})") } else { n.to_string() }],
            Value::Tuple(parts) => parts.iter().flat_map(|part| self.constant(part)).collect(),
        }
    }

    pub fn expr(&self, e: &Expr) -> Result<Text, Refused> {
        Ok(match &e.kind {
            ExprKind::Const(value) => Text { scalars: self.constant(value), sound: Vec::new() },
            ExprKind::Read(place) => {
                let (scalars, sound) = self.place(place)?;
                Text { scalars: scalars.into_iter().map(|scalar| scalar.text).collect(), sound }
            }
            ExprKind::Unary(op, a) => {
                let a = self.expr(a)?;
                let text = match op {
                    UnaryOp::Not => format!("!({})", a.one()),
                    UnaryOp::Neg => format!("(-({}))", a.one()),
                    UnaryOp::BitNot => format!("(~({}))", a.one()),
                };
                scalar(wrapped(text, &e.ty), a.sound)
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, e)?,
            ExprKind::IfElse(c, a, b) => {
                let (c, a, b) = (self.expr(c)?, self.expr(a)?, self.expr(b)?);
                let choose = |(a, b): (&String, &String)| format!("({} -> {a} : {b})", c.one());
                let scalars = a.scalars.iter().zip(&b.scalars).map(choose).collect();
                let (yes, no) = (c.one().to_string(), format!("!({})", c.one()));
                let sound = [c.sound, only_if(&yes, a.sound), only_if(&no, b.sound)].concat();
                Text { scalars, sound }
            }
            ExprKind::Tuple(parts) => {
                let parts = parts.iter().map(|part| self.expr(part)).collect::<Result<Vec<_>, _>>()?;
                Text {
                    scalars: parts.iter().flat_map(|part| part.scalars.clone()).collect(),
                    sound: parts.into_iter().flat_map(|part| part.sound).collect(),
                }
            }
            ExprKind::Cast(a) => {
                let a = self.expr(a)?;
                let sound = a.sound.iter().cloned().chain(self.fits(a.one(), &e.ty)).collect();
                scalar(wrapped(a.one().to_string(), &e.ty), sound)
            }
            ExprKind::SelfHandle => scalar("_self".into(), Vec::new()),
            ExprKind::SetContains(set, member) => {
                let (set, member) = (self.expr(set)?, self.expr(member)?);
                let text = format!("(({} >> {}) & 1)", set.one(), member.one());
                scalar(text, [set.sound, member.sound].concat())
            }
            ExprKind::SetIsEmpty(set) => {
                let set = self.expr(set)?;
                scalar(format!("({} == 0)", set.one()), set.sound)
            }
        })
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr, e: &Expr) -> Result<Text, Refused> {
        let operands = if matches!(b.ty, Type::Fixed { .. }) { &b.ty } else { &a.ty };
        let (x, y) = (self.expr(a)?, self.expr(b)?);
        let symbol = op.symbol();
        let plain = || format!("({} {symbol} {})", x.one(), y.one());
        Ok(match op {
            BinaryOp::And => {
                let (text, known) = (plain(), x.one().to_string());
                scalar(text, [x.sound, only_if(&known, y.sound)].concat())
            }
            BinaryOp::Or => {
                let (text, known) = (plain(), format!("!({})", x.one()));
                scalar(text, [x.sound, only_if(&known, y.sound)].concat())
            }
            BinaryOp::Eq | BinaryOp::Ne => {
                let (each, between) = if op == BinaryOp::Eq { ("==", " && ") } else { ("!=", " || ") };
                let pairs = x.scalars.iter().zip(&y.scalars).map(|(x, y)| format!("({x} {each} {y})"));
                let text = format!("({})", pairs.collect::<Vec<_>>().join(between));
                scalar(text, [x.sound, y.sound].concat())
            }
            BinaryOp::Div | BinaryOp::Rem => {
                let text = plain();
                let mut sound = [x.sound, y.sound].concat();
                if constant(b).is_none_or(|n| n == 0) {
                    sound.push(format!("{} != 0", y.scalars[0]));
                }
                scalar(wrapped(text, &e.ty), sound)
            }
            BinaryOp::Shl | BinaryOp::Shr => {
                let Type::Fixed { bits, .. } = operands else {
                    return refused("a shift of a number without a width in Promela", e.span, "take `i32`, `u8` ..");
                };
                let text = format!("({} {symbol} (({}) & {}))", x.one(), y.one(), bits - 1);
                scalar(wrapped(text, &e.ty), [x.sound, y.sound].concat())
            }
            _ => {
                let text = plain();
                scalar(wrapped(text, &e.ty), [x.sound, y.sound].concat())
            }
        })
    }

    /// What a number must be to be stored where this type is.
    pub fn fits(&self, text: &str, ty: &Type) -> Option<String> {
        match ty {
            Type::Range(lo, hi) => Some(format!("({text}) >= ({lo}) && ({text}) <= ({hi})")),
            _ => None,
        }
    }
}

/// A number brought back into its width; of 32 bits C does so by itself.
fn wrapped(text: String, ty: &Type) -> String {
    match ty {
        Type::Fixed { bits: bits @ (8 | 16), signed } => {
            let (all, half) = ((1i64 << bits) - 1, 1i64 << (bits - 1));
            if *signed { format!("((({text} + {half}) & {all}) - {half})") } else { format!("({text} & {all})") }
        }
        _ => text,
    }
}
