//! What must hold so that an expression has a value, and a store succeeds.

use crate::build::*;
use fabius_lang::program::*;

/// Conditions under which evaluation goes well, in the order of evaluation.
pub fn of_expr(program: &Program, e: &Expr, out: &mut Vec<Expr>) {
    match &e.kind {
        ExprKind::Const(_) | ExprKind::SelfHandle => {}
        ExprKind::Read(p) => of_place(program, p, out),
        ExprKind::Unary(_, a) | ExprKind::SetIsEmpty(a) => of_expr(program, a, out),
        ExprKind::Cast(a) => {
            of_expr(program, a, out);
            if let Type::Range(lo, hi) = e.ty {
                within(a, lo, hi, out);
            }
        }
        ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
            of_expr(program, a, out);
            // The right side is evaluated only if the left one does not decide.
            let decided = if *op == BinaryOp::And { not((**a).clone()) } else { (**a).clone() };
            under(program, b, decided, out);
        }
        ExprKind::Binary(op, a, b) => {
            of_expr(program, a, out);
            of_expr(program, b, out);
            if matches!(op, BinaryOp::Div | BinaryOp::Rem) {
                let zero = constant(0, b.ty.clone());
                match &b.kind {
                    ExprKind::Const(Value::Int(v)) if *v != 0 => {}
                    _ => out.push(binary(BinaryOp::Ne, (**b).clone(), zero)),
                }
            }
        }
        ExprKind::SetContains(a, b) => {
            of_expr(program, a, out);
            of_expr(program, b, out);
        }
        ExprKind::IfElse(c, a, b) => {
            of_expr(program, c, out);
            under(program, a, not((**c).clone()), out);
            under(program, b, (**c).clone(), out);
        }
        ExprKind::Tuple(parts) => {
            let types: Vec<&Type> = match &e.ty {
                Type::Record(r) => program.records[*r].fields.iter().map(|f| &f.ty).collect(),
                Type::Array { element, .. } => vec![element; parts.len()],
                _ => unreachable!("only records and arrays have parts"),
            };
            for (part, ty) in parts.iter().zip(types) {
                of_expr(program, part, out);
                of_store(part, ty, out);
            }
        }
    }
}

/// Whether a condition has a value, which is false: who waits for what has none goes on into the fault.
pub fn is_false(program: &Program, e: &Expr) -> Expr {
    let mut has_value = Vec::new();
    of_expr(program, e, &mut has_value);
    has_value.into_iter().rev().fold(not(e.clone()), |is_false, has_value| and(has_value, is_false))
}

/// The conditions of an expression that is not evaluated if `unless`.
fn under(program: &Program, e: &Expr, unless: Expr, out: &mut Vec<Expr>) {
    let mut inner = Vec::new();
    of_expr(program, e, &mut inner);
    out.extend(inner.into_iter().map(|condition| or(unless.clone(), condition)));
}

/// Conditions under which a place is one.
pub fn of_place(program: &Program, p: &Place, out: &mut Vec<Expr>) {
    for step in &p.path {
        if let Projection::Index { index, lo, len } = step {
            of_expr(program, index, out);
            let hi = lo + i64::from(*len) - 1;
            match index.ty.finite_range(&program.enums) {
                Some((least, most)) if least >= *lo && most <= hi => {}
                _ => within(index, *lo, hi, out),
            }
        }
    }
}

/// Conditions under which a value may be stored as one of this type.
pub fn of_store(value: &Expr, ty: &Type, out: &mut Vec<Expr>) {
    if let Type::Range(lo, hi) = ty {
        within(value, *lo, *hi, out);
    }
}

/// Between which numbers an expression is, whatever its variables are.
fn interval(e: &Expr) -> Option<(i64, i64)> {
    let all = |corners: [Option<i64>; 4]| {
        let known = corners.into_iter().collect::<Option<Vec<i64>>>()?;
        Some((*known.iter().min()?, *known.iter().max()?))
    };
    match &e.kind {
        ExprKind::Const(Value::Int(v)) => Some((*v, *v)),
        ExprKind::Read(Place { ty: Type::Range(lo, hi), .. }) => Some((*lo, *hi)),
        _ if matches!(e.ty, Type::Range(..)) => None,
        _ if e.ty != Type::Int => None,
        ExprKind::Binary(op, a, b) => {
            let ((a, b), (c, d)) = (interval(a)?, interval(b)?);
            match op {
                BinaryOp::Add => Some((a.checked_add(c)?, b.checked_add(d)?)),
                BinaryOp::Sub => Some((a.checked_sub(d)?, b.checked_sub(c)?)),
                BinaryOp::Mul => all([a.checked_mul(c), a.checked_mul(d), b.checked_mul(c), b.checked_mul(d)]),
                // The sign is that of the left side.
                BinaryOp::Rem if c > 0 => Some((if a < 0 { 1 - d } else { 0 }, if b > 0 { d - 1 } else { 0 })),
                _ => None,
            }
        }
        ExprKind::IfElse(_, a, b) => {
            let ((a, b), (c, d)) = (interval(a)?, interval(b)?);
            Some((a.min(c), b.max(d)))
        }
        _ => None,
    }
}

fn within(e: &Expr, lo: i64, hi: i64, out: &mut Vec<Expr>) {
    if interval(e).is_some_and(|(least, most)| lo <= least && most <= hi) {
        return;
    }
    match (&e.kind, &e.ty) {
        (ExprKind::Const(Value::Int(v)), _) if (lo..=hi).contains(v) => {}
        (ExprKind::Read(Place { ty: Type::Range(a, b), .. }), _) | (_, Type::Range(a, b)) if *a >= lo && *b <= hi => {}
        _ => {
            // A bound need not be a number of a fixed width.
            let e = match e.ty {
                Type::Fixed { .. } => expr(ExprKind::Cast(Box::new(e.clone())), Type::Int),
                _ => e.clone(),
            };
            let bound = |v| constant(v, e.ty.clone());
            out.push(and(le(bound(lo), e.clone()), le(e.clone(), bound(hi))));
        }
    }
}
