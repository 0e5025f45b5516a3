//! Types and expressions. Parentheses are in the tree, so none have to be added.

use super::super::ast::*;
use super::Printer;

impl Printer<'_> {
    pub(super) fn ty(&mut self, ty: &Type) {
        match &ty.node {
            TypeKind::Named(name) => self.put(name),
            TypeKind::Range(lo, hi) => self.range(lo, hi),
            TypeKind::Array(element, len) => {
                self.put("[");
                self.ty(element);
                self.put("; ");
                self.expr(len);
                self.put("]");
            }
            TypeKind::Map(key, element) => {
                self.put("map[");
                self.ty(key);
                self.put("] ");
                self.ty(element);
            }
            TypeKind::Collection(kind, element, room) => {
                self.put(kind.word());
                self.put("[");
                self.ty(element);
                if let Some(room) = room {
                    self.put("; ");
                    self.expr(room);
                }
                self.put("]");
            }
            TypeKind::Ref(name) => self.put(&format!("ref {}", name.node)),
            TypeKind::Error => {}
        }
    }

    fn fields(&mut self, fields: &[(Name, Expr)]) {
        if fields.is_empty() {
            return self.put("{}");
        }
        self.put("{ ");
        self.list(fields, |p, (name, value)| {
            p.put(&name.node);
            p.put(": ");
            p.expr(value);
        });
        self.put(" }");
    }

    fn arguments(&mut self, name: &str, args: &[Expr]) {
        self.put(name);
        self.put("(");
        self.list(args, |p, e| p.expr(e));
        self.put(")");
    }

    /// Parentheses are in the tree, so none have to be added.
    pub(super) fn expr(&mut self, e: &Expr) {
        match &e.node {
            // As it was written: `0xff` stays.
            ExprKind::Int(_) => self.put(e.span.text(self.source)),
            ExprKind::Bool(b) => self.put(if *b { "true" } else { "false" }),
            ExprKind::Null => self.put("null"),
            ExprKind::SelfHandle => self.put("self"),
            ExprKind::Name(name) => self.put(name),
            ExprKind::Field(base, name) => {
                self.expr(base);
                self.put(".");
                self.put(&name.node);
            }
            ExprKind::Index(base, index) => {
                self.expr(base);
                self.put("[");
                self.expr(index);
                self.put("]");
            }
            ExprKind::Unary(op, a) => {
                self.put(match op {
                    UnaryOp::Not => "!",
                    UnaryOp::Neg => "-",
                    UnaryOp::BitNot => "~",
                });
                // `--` would be another token.
                if *op == UnaryOp::Neg && matches!(a.node, ExprKind::Unary(UnaryOp::Neg, _)) {
                    self.put(" ");
                }
                self.expr(a);
            }
            ExprKind::Binary(op, a, b) => {
                self.expr(a);
                self.put(&format!(" {} ", op.symbol()));
                self.expr(b);
            }
            ExprKind::IfElse(c, a, b) => {
                self.put("if ");
                self.expr(c);
                self.put(" { ");
                self.expr(a);
                self.put(" } else ");
                if matches!(b.node, ExprKind::IfElse(..)) {
                    return self.expr(b);
                }
                self.put("{ ");
                self.expr(b);
                self.put(" }");
            }
            ExprKind::Match { value, arms, otherwise } => {
                self.put("match ");
                self.expr(value);
                self.put(" { ");
                for (patterns, value) in arms {
                    self.patterns(patterns);
                    self.put(" { ");
                    self.expr(value);
                    self.put(" } ");
                }
                if let Some(value) = otherwise {
                    self.put("else { ");
                    self.expr(value);
                    self.put(" } ");
                }
                self.put("}");
            }
            ExprKind::Quantified { what, name, over, body } => {
                self.put(&format!("{} {} in ", what.word(), name.node));
                match &**over {
                    Over::Range(lo, hi) => self.range(lo, hi),
                    Over::Elements(e) => self.expr(e),
                }
                self.put(": ");
                self.expr(body);
            }
            ExprKind::Cast(a, ty) => {
                self.expr(a);
                self.put(" as ");
                self.ty(ty);
            }
            ExprKind::Record(name, fields) => {
                self.put(&name.node);
                self.put(" ");
                self.fields(fields);
            }
            ExprKind::Array(items) => {
                self.put("[");
                self.list(items, |p, e| p.expr(e));
                self.put("]");
            }
            ExprKind::Repeat(value, count) => {
                self.put("[");
                self.expr(value);
                self.put("; ");
                self.expr(count);
                self.put("]");
            }
            ExprKind::Star => self.put("*"),
            ExprKind::Any(ty) => {
                self.put("any ");
                self.ty(ty);
            }
            ExprKind::AnyRange(lo, hi) => {
                self.put("any ");
                self.range(lo, hi);
            }
            ExprKind::Call(name, args) => self.arguments(&name.node, args),
            ExprKind::Method(base, name, args) => {
                self.expr(base);
                self.put(".");
                self.arguments(&name.node, args);
            }
            ExprKind::New(name, fields) => {
                self.put(&format!("new {} ", name.node));
                self.fields(fields);
            }
            ExprKind::Spawn(name, args) => {
                self.put("spawn ");
                self.arguments(&name.node, args);
            }
            ExprKind::Post(level, name, args) => {
                self.put("post ");
                if let Some(level) = level {
                    self.put(&format!("@{} ", level.node));
                }
                self.arguments(&name.node, args);
            }
            ExprKind::Paren(inner) => {
                self.put("(");
                self.expr(inner);
                self.put(")");
            }
            ExprKind::Error => {}
        }
    }
}
