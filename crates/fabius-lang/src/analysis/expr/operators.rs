//! Operators, conversions and `if` as a value.

use super::super::checker::{Binding, Checker};
use super::super::constant::{constant, is_int_like, is_integer, limits, widen};
use super::strip;
use crate::program::*;
use crate::syntax::ast;
use fabius_trace::Span;

impl Checker<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, a: &ast::Expr, span: Span, hint: Option<&Type>) -> Option<Expr> {
        if let (UnaryOp::Neg, ast::ExprKind::Int(n)) = (op, &strip(a).node) {
            return self.literal(-n, span, hint);
        }
        let typed = match op {
            UnaryOp::Not => self.expr(a, Some(&Type::Bool)),
            _ => self.expr(a, hint),
        }?;
        let ty = match (op, &typed.ty) {
            (UnaryOp::Not, Type::Bool) => Some(Type::Bool),
            (UnaryOp::Neg, ty) if is_integer(ty) => Some(widen(ty)),
            (UnaryOp::BitNot, ty @ Type::Fixed { .. }) => Some(ty.clone()),
            _ => None,
        };
        let Some(ty) = ty else {
            let shown = self.show(&typed.ty);
            let (sign, wants) = match op {
                UnaryOp::Not => ("!", "`bool`"),
                UnaryOp::Neg => ("-", "an integer"),
                UnaryOp::BitNot => ("~", "an integer of fixed width"),
            };
            let help = match (op, is_integer(&typed.ty)) {
                (UnaryOp::Not, true) => Some("write `== 0`".to_string()),
                (UnaryOp::BitNot, true) => Some("convert it first, for instance `(..) as u8`".to_string()),
                _ => None,
            };
            self.error("E0302", a.span, format!("`{sign}` wants {wants}"), format!("this is of type `{shown}`")).help =
                help;
            return None;
        };
        Some(Expr { kind: ExprKind::Unary(op, typed.into()), ty, span: self.at(span) })
    }

    /// Both sides of an operator; the side that does not know its type learns it from the other.
    fn operands(&mut self, a: &ast::Expr, b: &ast::Expr, hint: Option<&Type>) -> Option<(Expr, Expr)> {
        let swapped = self.wants_hint(a) && !self.wants_hint(b);
        let (first, second) = if swapped { (b, a) } else { (a, b) };
        // What may read shared state and is looked at later is nevertheless evaluated earlier.
        let unseen = usize::from(swapped && !matches!(strip(a).node, ast::ExprKind::Int(_) | ast::ExprKind::Name(_)));
        self.before += unseen;
        let one = self.expr(first, hint);
        self.before -= unseen;
        let other_hint = one.as_ref().map(|e| e.ty.clone());
        if one.is_none() && self.wants_hint(second) {
            return None;
        }
        let two = self.expr(second, other_hint.as_ref().or(hint));
        let (one, two) = (one?, two?);
        Some(if std::ptr::eq(first, a) { (one, two) } else { (two, one) })
    }

    /// Looks at what is evaluated only if something else says so.
    pub(in crate::analysis) fn perhaps<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        self.conditional += 1;
        let result = look(self);
        self.conditional -= 1;
        result
    }

    /// Whether an expression takes its type from its surroundings.
    pub(in crate::analysis) fn wants_hint(&self, e: &ast::Expr) -> bool {
        match &e.node {
            ast::ExprKind::Int(_) | ast::ExprKind::Null => true,
            ast::ExprKind::Array(_) | ast::ExprKind::Repeat(..) => true,
            ast::ExprKind::Name(name) => {
                if let Some(binding) = self.scopes.iter().rev().find_map(|s| s.get(name)) {
                    return matches!(binding, Binding::Number(_));
                }
                if self.cx.global_ids.contains_key(name) {
                    return false;
                }
                self.cx.consts.get(name).is_none_or(|c| c.as_ref().is_some_and(|c| c.literal))
            }
            ast::ExprKind::Paren(e) | ast::ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, e) => self.wants_hint(e),
            ast::ExprKind::Binary(op, a, b) => is_arithmetic(*op) && self.wants_hint(a) && self.wants_hint(b),
            ast::ExprKind::IfElse(_, a, b) => self.wants_hint(a) && self.wants_hint(b),
            ast::ExprKind::Match { arms, otherwise, .. } => {
                arms.iter().map(|(_, e)| e).chain(otherwise.as_deref()).all(|e| self.wants_hint(e))
            }
            _ => false,
        }
    }

    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        a: &ast::Expr,
        b: &ast::Expr,
        span: Span,
        hint: Option<&Type>,
    ) -> Option<Expr> {
        let sides = match op {
            BinaryOp::And | BinaryOp::Or => {
                let a = self.expr(a, Some(&Type::Bool));
                let b = self.perhaps(|c| c.expr(b, Some(&Type::Bool)));
                a.zip(b)
            }
            _ if is_arithmetic(op) => self.operands(a, b, hint.filter(|t| is_integer(t))),
            _ => self.operands(a, b, None),
        };
        let (left, right) = sides?;
        let both = common(&left.ty, &right.ty);
        let ty = match op {
            BinaryOp::And | BinaryOp::Or => both.filter(|t| *t == Type::Bool),
            BinaryOp::Eq | BinaryOp::Ne => both.filter(|t| *t != Type::ThreadSet).map(|_| Type::Bool),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => both.filter(is_integer).map(|_| Type::Bool),
            BinaryOp::Shl | BinaryOp::Shr => both.filter(|t| matches!(t, Type::Fixed { .. })),
            _ => both.filter(is_integer),
        };
        let Some(ty) = ty else {
            let (l, r) = (self.show(&left.ty), self.show(&right.ty));
            let help = help_with(op, (&left.ty, &l), (&right.ty, &r));
            self.error(
                "E0302",
                span,
                format!("`{}` does not go with these types", op.symbol()),
                format!("`{l}` and `{r}`"),
            )
            .help = help;
            return None;
        };
        Some(Expr { kind: ExprKind::Binary(op, left.into(), right.into()), ty, span: self.at(span) })
    }

    pub(super) fn cast(&mut self, a: &ast::Expr, ty: &ast::Type, span: Span) -> Option<Expr> {
        let target = self.ty(ty);
        let number = match &strip(a).node {
            ast::ExprKind::Int(n) => Some(*n),
            ast::ExprKind::Unary(UnaryOp::Neg, b) => match strip(b).node {
                ast::ExprKind::Int(n) => Some(-n),
                _ => None,
            },
            _ => None,
        };
        if let (Some(n), Some(ty @ Type::Fixed { .. })) = (number, &target)
            && limits(ty).is_some_and(|(lo, hi)| lo <= n && n <= hi)
        {
            return Some(constant(Value::Int(n as i64), ty, span));
        }
        let value = self.expr(a, None);
        let (target, value) = (target?, value?);
        for (t, at) in [(&value.ty, a.span), (&target, ty.span)] {
            if !is_integer(t) {
                let shown = self.show(t);
                self.error("E0302", at, "`as` converts between integer types", format!("`{shown}` is none")).help =
                    (*t == Type::Bool).then(|| "write `if b { 1 } else { 0 }`".into());
                return None;
            }
        }
        Some(Expr { kind: ExprKind::Cast(value.into()), ty: target, span })
    }

    pub(super) fn conditional(
        &mut self,
        c: &ast::Expr,
        a: &ast::Expr,
        b: &ast::Expr,
        span: Span,
        hint: Option<&Type>,
    ) -> Option<Expr> {
        let c = self.condition(c);
        let sides = self.perhaps(|c| c.operands(a, b, hint));
        let (c, (a, b)) = (c?, sides?);
        let Some(ty) = common(&a.ty, &b.ty) else {
            let (a, b) = (self.show(&a.ty), self.show(&b.ty));
            self.error("E0301", span, "the two sides differ in type", format!("`{a}` and `{b}`"));
            return None;
        };
        Some(Expr { kind: ExprKind::IfElse(c.into(), a.into(), b.into()), ty, span: self.at(span) })
    }
}

/// What to write instead of an operator between values that it does not take, which are given with their types' names.
fn help_with(op: BinaryOp, (left, l): (&Type, &str), (right, r): (&Type, &str)) -> Option<String> {
    match (op, left, right) {
        (BinaryOp::And | BinaryOp::Or, ..) if is_integer(left) || is_integer(right) => {
            Some("both sides are Boolean; compare numbers, for instance with `!= 0`".to_string())
        }
        (BinaryOp::BitAnd, Type::Bool, Type::Bool) => Some("write `&&`".into()),
        (BinaryOp::BitOr, Type::Bool, Type::Bool) => Some("write `||`".into()),
        (BinaryOp::BitXor, Type::Bool, Type::Bool) => Some("write `!=`".into()),
        (BinaryOp::Shl | BinaryOp::Shr, Type::Int | Type::Range(..), _) => {
            Some("shifts are on fixed widths: convert it first, for instance `(..) as u8`".into())
        }
        _ if is_integer(left) && is_integer(right) => {
            let to = if is_int_like(left) { r } else { l };
            Some(format!("convert one side: `(..) as {to}`"))
        }
        _ => None,
    }
}

/// The type of a value that may come from either.
pub(in crate::analysis) fn common(a: &Type, b: &Type) -> Option<Type> {
    match (a, b) {
        _ if is_int_like(a) && is_int_like(b) => Some(Type::Int),
        _ => (a == b).then(|| a.clone()),
    }
}

fn is_arithmetic(op: BinaryOp) -> bool {
    !matches!(
        op,
        BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
    )
}
