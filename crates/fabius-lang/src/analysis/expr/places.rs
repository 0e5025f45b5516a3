//! Names, fields and elements: what stands for a place.

use super::super::checker::{Binding, Checker};
use super::super::constant::{constant, widen};
use super::super::names::{list, nearest};
use super::strip;
use crate::program::*;
use crate::syntax::ast;
use fabius_trace::Span;

impl Checker<'_> {
    pub(super) fn name(&mut self, name: &str, span: Span, hint: Option<&Type>) -> Option<Expr> {
        let at = self.at(span);
        let read = |base, ty: &Type| {
            let place = Place { base, path: Vec::new(), ty: ty.clone(), span: at };
            Some(Expr { kind: ExprKind::Read(place), ty: ty.clone(), span: at })
        };
        if let Some(binding) = self.scopes.iter().rev().find_map(|s| s.get(name)) {
            return match binding {
                Binding::Local(id) => read(Base::Local(*id), &self.locals[*id].ty),
                Binding::Place(place) => {
                    let place = Place { span: at, ..place.clone() };
                    Some(Expr { ty: place.ty.clone(), kind: ExprKind::Read(place), span: at })
                }
                Binding::Value(value) => Some(Expr { span: at, ..value.clone() }),
                Binding::Number(n) => {
                    let n = *n;
                    self.literal(n.into(), span, hint)
                }
                Binding::Error => None,
            };
        }
        if let Some(global) = self.cx.global_ids.get(name) {
            if self.constant {
                self.not_constant(span);
                return None;
            }
            let id = (*global)?;
            return read(Base::Global(id), &self.cx.globals[id].ty);
        }
        if let Some(known) = self.cx.consts.get(name) {
            let c = known.clone()?;
            return match c.literal {
                true => self.literal(number_of(&c.value), span, hint),
                false => Some(constant(c.value, &c.ty, at)),
            };
        }
        if let Some(Type::Enum(id)) = hint
            && let Some(i) = self.cx.enums[*id].names.iter().position(|n| n == name)
        {
            return Some(constant(Value::Int(i as i64), &Type::Enum(*id), at));
        }
        self.unknown_name(name, span, hint);
        None
    }

    fn unknown_name(&mut self, name: &str, span: Span, hint: Option<&Type>) {
        if self.cx.const_names.contains(name) {
            self.error("E0209", span, format!("constant `{name}` is used above its declaration"), "not known yet")
                .help = Some("constants use only constants above them: move its declaration up".into());
            return;
        }
        let qualified = self.cx.enums.iter().find(|e| e.names.iter().any(|n| n == name));
        let help = match (qualified, hint) {
            (Some(e), _) => Some(format!("write `{}.{name}`", e.name)),
            (None, Some(Type::Enum(id))) => nearest(name, self.cx.enums[*id].names.iter().map(String::as_str))
                .map(|n| format!("did you mean `{n}`?")),
            _ if matches!(self.cx.types.get(name), Some(Some(Type::Record(_)))) => Some(format!(
                "a record in front of a block stands in parentheses: `if (r == {name} {{ .. }}) {{ .. }}`"
            )),
            _ if self.cx.procs.contains_key(name) => Some(format!("`{name}` is a procedure: call it, `{name}(..)`")),
            _ => None,
        };
        let help = help.or_else(|| nearest(name, self.known_values()).map(|n| format!("did you mean `{n}`?")));
        self.error("E0202", span, format!("there is no variable or constant `{name}`"), "unknown name").help = help;
    }

    /// `Colour.Red`, or a field of a record.
    pub(super) fn field(&mut self, base: &ast::Expr, name: &ast::Name, span: Span) -> Option<Expr> {
        if let ast::ExprKind::Name(type_name) = &base.node {
            let is_variable = self.scopes.iter().any(|s| s.contains_key(type_name))
                || self.cx.global_ids.contains_key(type_name)
                || self.cx.const_names.contains(type_name);
            if !is_variable && let Some(Some(Type::Enum(id))) = self.cx.types.get(type_name) {
                let names = &self.cx.enums[*id].names;
                if let Some(i) = names.iter().position(|n| *n == name.node) {
                    return Some(constant(Value::Int(i as i64), &Type::Enum(*id), span));
                }
                let help = match nearest(&name.node, names.iter().map(String::as_str)) {
                    Some(n) => format!("did you mean `{n}`?"),
                    None => format!("its values are {}", names.join(", ")),
                };
                self.error(
                    "E0205",
                    name.span,
                    format!("enum `{type_name}` has no value `{}`", name.node),
                    "unknown value",
                )
                .help = Some(help);
                return None;
            }
        }
        let base_expr = self.any_expr(base, None)?;
        let record = match &base_expr.ty {
            Type::Record(r) if self.cx.collections.contains_key(r) => {
                let shown = self.show(&base_expr.ty);
                let message = format!("a `{shown}` has no fields");
                self.error("E0310", base.span, message, "not a record").help =
                    Some("`len(s)` says how many elements there are, `s.contains(e)` which".into());
                return None;
            }
            Type::Record(r) | Type::Ref(r) => *r,
            other => {
                let shown = self.show(other);
                self.error("E0310", base.span, format!("a value of type `{shown}` has no fields"), "not a record");
                return None;
            }
        };
        let fields = &self.cx.records[record].fields;
        let Some(i) = fields.iter().position(|f| f.name == name.node) else {
            let record_name = &self.cx.records[record].name;
            let help = match nearest(&name.node, fields.iter().map(|f| f.name.as_str())) {
                Some(n) => format!("did you mean `{n}`?"),
                None => format!("its fields are {}", list(fields.iter().map(|f| f.name.as_str()))),
            };
            self.error(
                "E0205",
                name.span,
                format!("record `{record_name}` has no field `{}`", name.node),
                "unknown field",
            )
            .help = Some(help);
            return None;
        };
        let ty = fields[i].ty.clone();
        // A reference is followed.
        if let Type::Record(_) = base_expr.ty
            && let Some(value) = field_of_constant(&base_expr, i, &ty)
        {
            return Some(Expr { span: self.at(span), ..value });
        }
        let place = self.base_place(base_expr, base.span)?;
        Some(extend(place, Projection::Field(i), ty, span))
    }

    /// The place that a record or array value lives in; what a reference points to.
    fn base_place(&mut self, e: Expr, span: Span) -> Option<Place> {
        if let Type::Ref(record) = e.ty {
            let span = e.span;
            return Some(Place {
                base: Base::Heap(e.into(), record),
                path: Vec::new(),
                ty: Type::Record(record),
                span,
            });
        }
        match e.kind {
            ExprKind::Read(place) => Some(place),
            _ => {
                self.error("E0304", span, "this value is not stored anywhere", "not a variable").help =
                    Some("bind it first: `let t = ..;`".into());
                None
            }
        }
    }

    pub(super) fn index(&mut self, base: &ast::Expr, index: &ast::Expr, span: Span) -> Option<Expr> {
        let before = self.before;
        let base_expr = self.any_expr(base, None);
        let Some(base_expr) = base_expr else {
            self.expr(index, None);
            return None;
        };
        // The array is read when its index is known.
        self.before = match &base_expr.kind {
            ExprKind::Read(place) => before + super::super::access::count_in_place(place, &self.cx.globals),
            _ => before,
        };
        if self.collection_of(&base_expr.ty).is_some() {
            return self.element_of_sequence(base_expr, index, span);
        }
        let Type::Array { index: key, lo, len, element } = base_expr.ty.clone() else {
            let shown = self.show(&base_expr.ty);
            self.error("E0310", base.span, format!("a value of type `{shown}` has no elements"), "not an array");
            return None;
        };
        let index = self.expr_of(index, &key)?;
        if let ExprKind::Const(Value::Tuple(parts)) = base_expr.kind {
            return self.element_of_constant(parts, base_expr.ty, index, span);
        }
        let place = self.base_place(base_expr, base.span)?;
        Some(extend(place, Projection::Index { index: index.into(), lo, len }, *element, span))
    }

    /// The place that an expression names.
    pub(in crate::analysis) fn place(&mut self, e: &ast::Expr) -> Option<Place> {
        let typed = self.any_expr(e, None)?;
        match typed.kind {
            ExprKind::Read(place) => Some(place),
            _ => {
                self.error("E0304", e.span, "only variables can be assigned", "not a variable");
                None
            }
        }
    }

    /// Whether a place lies in an element of a sequence, which is a copy.
    pub(in crate::analysis) fn is_in_sequence(&mut self, e: &ast::Expr) -> bool {
        match &strip(e).node {
            ast::ExprKind::Field(base, _) => self.is_in_sequence(base),
            ast::ExprKind::Index(base, _) => self.is_sequence(base) || self.is_in_sequence(base),
            _ => false,
        }
    }

    /// Whether an expression is a sequence.
    pub(in crate::analysis) fn is_sequence(&mut self, e: &ast::Expr) -> bool {
        if self.cx.collections.is_empty() {
            return false;
        }
        let (known, before) = (self.diagnostics.len(), self.before);
        let mut typed = None;
        let _ = self.block_of(|c| typed = c.any_expr(e, None));
        self.diagnostics.truncate(known);
        self.before = before;
        let collection = typed.and_then(|e| self.collection_of(&e.ty).cloned());
        collection.is_some_and(|known| known.kind == ast::Collection::Sequence)
    }

    /// Says that an element of a sequence is not changed in its place.
    pub(in crate::analysis) fn not_in_place(&mut self, span: Span) {
        self.error("E0304", span, "an element of a sequence is not changed in its place", "a copy").help =
            Some("store a whole element: `q[i] = e;`".into());
    }

    /// The place that an assignment stores to.
    pub(in crate::analysis) fn target(&mut self, e: &ast::Expr) -> Option<Place> {
        if let ast::ExprKind::Name(name) = &strip(e).node {
            let is_variable = self.scopes.iter().any(|s| s.contains_key(name)) || self.cx.global_ids.contains_key(name);
            if !is_variable && self.cx.consts.contains_key(name) {
                self.error("E0304", e.span, format!("constant `{name}` cannot be assigned"), "a constant").help =
                    Some("declare it with `var` to change it".into());
                return None;
            }
        }
        if self.is_in_sequence(e) {
            self.not_in_place(e.span);
            return None;
        }
        let place = self.place(e)?;
        match place.base {
            Base::Local(id) if !self.mutable[id] && self.expansion.is_none() => {
                let name = self.locals[id].name.clone();
                self.error(
                    "E0304",
                    e.span,
                    format!("`{name}` cannot be assigned again"),
                    "declared with `let` or `for`",
                )
                .help = Some(format!("declare it with `var {name}`"));
                None
            }
            _ => Some(place),
        }
    }
}

/// A field of a constant, or of one of several constants: `A[i].f`. `None` for what stands in a variable.
fn field_of_constant(e: &Expr, field: usize, ty: &Type) -> Option<Expr> {
    match &e.kind {
        ExprKind::Const(Value::Tuple(parts)) => Some(constant(parts[field].clone(), ty, e.span)),
        ExprKind::IfElse(c, a, b) => {
            let part = |e: &Expr| match &e.kind {
                // Where the index is outside of the constant: see `element_of_constant`.
                ExprKind::Read(place) if matches!(place.base, Base::Local(_)) => {
                    Some(extend(place.clone(), Projection::Field(field), widen(ty), place.span))
                }
                _ => field_of_constant(e, field, ty),
            };
            let kind = ExprKind::IfElse(c.clone(), part(a)?.into(), part(b)?.into());
            Some(Expr { kind, ty: widen(ty), span: e.span })
        }
        _ => None,
    }
}

/// What a constant of type `int` is.
fn number_of(value: &Value) -> i128 {
    match value {
        Value::Int(n) => *n as i128,
        Value::Tuple(_) => 0,
    }
}

pub(super) fn extend(mut place: Place, step: Projection, ty: Type, span: Span) -> Expr {
    place.path.push(step);
    place.ty = ty.clone();
    place.span = span;
    Expr { kind: ExprKind::Read(place), ty, span }
}
