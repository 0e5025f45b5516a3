//! Expressions: names, types, no side effects.
//!
//! Here is what all kinds of expressions share and what is no expression; places, operators and the values of records,
//! arrays and sets have their files.

mod apply;
mod operators;
pub(super) use operators::common;
mod places;
mod quantified;
mod values;

use super::checker::{Checker, has_library_object};
use super::constant::{constant, is_int_like, is_integer, limits};
use crate::program::*;
use crate::syntax::ast;
use fabius_trace::Span;

impl Checker<'_> {
    /// An expression that stands for a value. `hint` is the type that its surroundings would like.
    pub(super) fn expr(&mut self, e: &ast::Expr, hint: Option<&Type>) -> Option<Expr> {
        let typed = self.any_expr(e, hint)?;
        if matches!(typed.kind, ExprKind::Read(_)) && has_library_object(&typed.ty, self.cx) {
            let shown = self.show(&typed.ty);
            self.error(
                "E0408",
                e.span,
                format!("a `{shown}` cannot be copied or compared"),
                "only its operations may be called",
            )
            .help = Some("let both sides use the same variable, or a `ref` to it".into());
            return None;
        }
        if typed.ty.of_threads().is_some() {
            self.error(
                "E0408",
                e.span,
                "a map of threads cannot be copied or compared as a whole",
                "one entry at a time",
            )
            .help = Some("name the thread: `m[self]`, or ask for all: `forall v in m: v == 0`".into());
            return None;
        }
        Some(typed)
    }

    /// An expression whose value goes to a place of this type.
    pub(super) fn expr_of(&mut self, e: &ast::Expr, ty: &Type) -> Option<Expr> {
        let typed = self.expr(e, Some(ty))?;
        self.must_fit(&typed.ty, ty, e.span).then_some(typed)
    }

    /// Whether values of type `from` can be stored where `to` is wanted; reports it if not.
    pub(super) fn must_fit(&mut self, from: &Type, to: &Type, span: Span) -> bool {
        if fits(from, to) {
            return true;
        }
        let (found, wanted) = (self.show(from), self.show(to));
        let help = match (from, to) {
            (_, Type::Bool) if is_integer(from) => Some("compare it, for instance with `!= 0`".into()),
            (Type::Thread, _) if is_integer(to) => {
                Some(
                    "`self` is a handle; a thread knows its number in `process p[i in 0..2] { .. }`, and a `map[thread] int` \
                     has an entry for each"
                        .into(),
                )
            }
            (Type::Ref(_) | Type::Thread, Type::Bool) => Some("compare it with `null`".into()),
            _ if is_integer(from) && is_integer(to) => Some(format!("convert it: `(..) as {wanted}`")),
            _ => None,
        };
        self.error("E0301", span, "mismatched types", format!("expected `{wanted}`, found `{found}`")).help = help;
        false
    }

    /// A Boolean expression.
    pub(super) fn condition(&mut self, e: &ast::Expr) -> Option<Expr> {
        self.expr_of(e, &Type::Bool)
    }

    pub(super) fn any_expr(&mut self, e: &ast::Expr, hint: Option<&Type>) -> Option<Expr> {
        let before = self.before;
        let typed = self.any_expr_uncounted(e, hint)?;
        self.before = before + super::access::count(&typed, &self.cx.globals);
        Some(typed)
    }

    fn any_expr_uncounted(&mut self, e: &ast::Expr, hint: Option<&Type>) -> Option<Expr> {
        let span = self.at(e.span);
        match &e.node {
            ast::ExprKind::Int(n) => self.literal(*n, e.span, hint),
            ast::ExprKind::Bool(b) => Some(constant(Value::Int(*b as i64), &Type::Bool, span)),
            ast::ExprKind::Null => self.null(e.span, hint),
            ast::ExprKind::SelfHandle if self.constant => {
                self.not_constant(e.span);
                None
            }
            ast::ExprKind::SelfHandle => Some(Expr { kind: ExprKind::SelfHandle, ty: Type::Thread, span }),
            ast::ExprKind::Name(name) => self.name(name, e.span, hint),
            ast::ExprKind::Field(base, name) => self.field(base, name, span),
            ast::ExprKind::Index(base, index) => self.index(base, index, span),
            ast::ExprKind::Unary(op, a) => self.unary(*op, a, e.span, hint),
            ast::ExprKind::Binary(op, a, b) => self.binary(*op, a, b, e.span, hint),
            ast::ExprKind::IfElse(c, a, b) => self.conditional(c, a, b, e.span, hint),
            ast::ExprKind::Match { value, arms, otherwise } => {
                self.match_expr(value, arms, otherwise.as_deref(), e.span, hint)
            }
            ast::ExprKind::Cast(a, ty) => self.cast(a, ty, span),
            ast::ExprKind::Record(name, fields) => self.record(name, fields, e.span),
            ast::ExprKind::Array(items) => self.array(items, e.span, hint),
            ast::ExprKind::Repeat(value, count) => self.repeat(value, count, e.span, hint),
            ast::ExprKind::Paren(inner) => self.any_expr(inner, hint),
            ast::ExprKind::Method(set, name, args) if QUERIES.contains(&name.node.as_str()) => {
                self.set_query(set, name, args, span)
            }
            ast::ExprKind::Quantified { what, name, over, body } => self.quantified(*what, name, over, body, e.span),
            ast::ExprKind::Call(name, args) if self.is_function(&name.node) => self.apply(name, args, e.span),
            ast::ExprKind::Call(name, args) if self.is_len(&name.node) => self.len(name, args, e.span),
            ast::ExprKind::Call(name, args) if self.is_peek(&name.node) => self.peek(name, args, e.span),
            ast::ExprKind::Star | ast::ExprKind::Any(_) | ast::ExprKind::AnyRange(..) => {
                self.bind_first("E0402", e.span, "a nondeterministic choice");
                None
            }
            ast::ExprKind::Call(..) | ast::ExprKind::Method(..) => {
                self.bind_first("E0401", e.span, "a call");
                None
            }
            ast::ExprKind::New(..) => {
                self.bind_first("E0401", e.span, "`new`");
                None
            }
            ast::ExprKind::Spawn(..) => {
                self.bind_first("E0401", e.span, "`spawn`");
                None
            }
            ast::ExprKind::Post(..) => {
                self.bind_first("E0401", e.span, "`post`");
                None
            }
            ast::ExprKind::Error => None,
        }
    }

    fn bind_first(&mut self, code: &'static str, span: Span, what: &str) {
        if self.constant {
            return self.not_constant(span);
        }
        self.error(code, span, format!("{what} cannot stand inside an expression"), "has to stand alone").help =
            Some("bind it first: `let t = ..;`".into());
    }

    pub(super) fn literal(&mut self, n: i128, span: Span, hint: Option<&Type>) -> Option<Expr> {
        let ty = match hint {
            Some(ty @ Type::Fixed { .. }) => ty.clone(),
            _ => Type::Int,
        };
        let (lo, hi) = limits(&ty).unwrap_or((i64::MIN as i128, i64::MAX as i128));
        if n < lo || n > hi {
            let shown = self.show(&ty);
            self.error("E0306", span, format!("{n} does not fit into `{shown}`"), format!("`{shown}` is {lo}..{hi}"));
            return None;
        }
        Some(constant(Value::Int(n as i64), &ty, self.at(span)))
    }

    fn null(&mut self, span: Span, hint: Option<&Type>) -> Option<Expr> {
        match hint {
            Some(ty @ (Type::Ref(_) | Type::Thread)) => Some(constant(Value::Int(0), ty, self.at(span))),
            Some(ty) => {
                let shown = self.show(ty);
                self.error("E0301", span, "mismatched types", format!("expected `{shown}`, found `null`"));
                None
            }
            None => {
                self.error("E0309", span, "the type of this `null` is not known", "null of what?").help =
                    Some("declare the type: `let p: ref R = null;`".into());
                None
            }
        }
    }

    /// Whether an expression reads shared state.
    pub(super) fn reads_shared(&self, e: &Expr) -> bool {
        super::access::count(e, &self.cx.globals) > 0
    }
}

/// What looks like an operation, and is a value.
pub(super) const QUERIES: [&str; 3] = ["contains", "is_empty", "count"];

/// The expression without parentheses.
pub(super) fn strip(e: &ast::Expr) -> &ast::Expr {
    match &e.node {
        ast::ExprKind::Paren(inner) => strip(inner),
        _ => e,
    }
}

/// Whether values of type `from` can be stored where `to` is wanted.
pub(super) fn fits(from: &Type, to: &Type) -> bool {
    from == to || is_int_like(from) && is_int_like(to)
}
