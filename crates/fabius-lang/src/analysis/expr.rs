//! Expressions: names, types, no side effects.
//!
//! Length: one function for each kind of expression, most of it the wording of what is wrong.

use super::checker::{Binding, Checker, has_library_object};
use super::constant::{constant, is_int_like, is_integer, limits, widen};
use super::names::nearest;
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

    fn any_expr(&mut self, e: &ast::Expr, hint: Option<&Type>) -> Option<Expr> {
        let span = self.at(e.span);
        let make = |kind, ty| Some(Expr { kind, ty, span });
        match &e.node {
            ast::ExprKind::Int(n) => self.literal(*n, e.span, hint),
            ast::ExprKind::Bool(b) => Some(constant(Value::Int(*b as i64), &Type::Bool, span)),
            ast::ExprKind::Null => match hint {
                Some(ty @ (Type::Ref(_) | Type::Thread)) => Some(constant(Value::Int(0), ty, span)),
                Some(ty) => {
                    let shown = self.show(ty);
                    self.error("E0301", e.span, "mismatched types", format!("expected `{shown}`, found `null`"));
                    None
                }
                None => {
                    self.error("E0309", e.span, "the type of this `null` is not known", "null of what?").help =
                        Some("declare the type: `let p: ref R = null;`".into());
                    None
                }
            },
            ast::ExprKind::SelfHandle if self.constant => {
                self.not_constant(e.span);
                None
            }
            ast::ExprKind::SelfHandle => make(ExprKind::SelfHandle, Type::Thread),
            ast::ExprKind::Name(name) => self.name(name, e.span, hint),
            ast::ExprKind::Field(base, name) => self.field(base, name, span),
            ast::ExprKind::Index(base, index) => self.index(base, index, span),
            ast::ExprKind::Unary(op, a) => self.unary(*op, a, e.span, hint),
            ast::ExprKind::Binary(op, a, b) => self.binary(*op, a, b, e.span, hint),
            ast::ExprKind::IfElse(c, a, b) => {
                let c = self.condition(c);
                let sides = self.operands(a, b, hint);
                let (c, (a, b)) = (c?, sides?);
                match common(&a.ty, &b.ty) {
                    Some(ty) => make(ExprKind::IfElse(c.into(), a.into(), b.into()), ty),
                    None => {
                        let (a, b) = (self.show(&a.ty), self.show(&b.ty));
                        self.error("E0301", e.span, "the two sides differ in type", format!("`{a}` and `{b}`"));
                        None
                    }
                }
            }
            ast::ExprKind::Cast(a, ty) => self.cast(a, ty, span),
            ast::ExprKind::Record(name, fields) => {
                let record = self.record_named(name)?;
                let parts = self.record_parts(record, fields, e.span)?;
                Some(tuple(parts, Type::Record(record), span))
            }
            ast::ExprKind::Array(items) => self.array(items, e.span, hint),
            ast::ExprKind::Repeat(value, count) => self.repeat(value, count, e.span, hint),
            ast::ExprKind::Paren(inner) => self.any_expr(inner, hint),
            ast::ExprKind::Method(set, name, args) if matches!(name.node.as_str(), "contains" | "is_empty") => {
                self.set_query(set, name, args, span)
            }
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

    fn literal(&mut self, n: i128, span: Span, hint: Option<&Type>) -> Option<Expr> {
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

    fn name(&mut self, name: &str, span: Span, hint: Option<&Type>) -> Option<Expr> {
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
                true => self.literal(c.value as i128, span, hint),
                false => Some(constant(Value::Int(c.value), &c.ty, at)),
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
            _ if self.cx.procs.contains_key(name) => Some(format!("`{name}` is a procedure: call it, `{name}(..)`")),
            _ => None,
        };
        let help = help.or_else(|| nearest(name, self.known_values()).map(|n| format!("did you mean `{n}`?")));
        self.error("E0202", span, format!("there is no variable or constant `{name}`"), "unknown name").help = help;
    }

    /// `Colour.Red`, or a field of a record.
    fn field(&mut self, base: &ast::Expr, name: &ast::Name, span: Span) -> Option<Expr> {
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

    fn index(&mut self, base: &ast::Expr, index: &ast::Expr, span: Span) -> Option<Expr> {
        let base_expr = self.any_expr(base, None);
        let Some(base_expr) = base_expr else {
            self.expr(index, None);
            return None;
        };
        let Type::Array { index: key, lo, len, element } = base_expr.ty.clone() else {
            let shown = self.show(&base_expr.ty);
            self.error("E0310", base.span, format!("a value of type `{shown}` has no elements"), "not an array");
            return None;
        };
        let index = self.expr_of(index, &key)?;
        let place = self.base_place(base_expr, base.span)?;
        Some(extend(place, Projection::Index { index: index.into(), lo, len }, *element, span))
    }

    fn unary(&mut self, op: UnaryOp, a: &ast::Expr, span: Span, hint: Option<&Type>) -> Option<Expr> {
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
        let (first, second) = if self.wants_hint(a) && !self.wants_hint(b) { (b, a) } else { (a, b) };
        let one = self.expr(first, hint);
        let other_hint = one.as_ref().map(|e| e.ty.clone());
        if one.is_none() && self.wants_hint(second) {
            return None;
        }
        let two = self.expr(second, other_hint.as_ref().or(hint));
        let (one, two) = (one?, two?);
        Some(if std::ptr::eq(first, a) { (one, two) } else { (two, one) })
    }

    /// Whether an expression takes its type from its surroundings.
    fn wants_hint(&self, e: &ast::Expr) -> bool {
        match &e.node {
            ast::ExprKind::Int(_) | ast::ExprKind::Null => true,
            ast::ExprKind::Array(_) | ast::ExprKind::Repeat(..) => true,
            ast::ExprKind::Name(name) => {
                if self.scopes.iter().any(|s| s.contains_key(name)) || self.cx.global_ids.contains_key(name) {
                    return false;
                }
                self.cx.consts.get(name).is_none_or(|c| c.as_ref().is_some_and(|c| c.literal))
            }
            ast::ExprKind::Paren(e) | ast::ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, e) => self.wants_hint(e),
            ast::ExprKind::Binary(op, a, b) => is_arithmetic(*op) && self.wants_hint(a) && self.wants_hint(b),
            ast::ExprKind::IfElse(_, a, b) => self.wants_hint(a) && self.wants_hint(b),
            _ => false,
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &ast::Expr, b: &ast::Expr, span: Span, hint: Option<&Type>) -> Option<Expr> {
        let sides = match op {
            BinaryOp::And | BinaryOp::Or => {
                let (a, b) = (self.expr(a, Some(&Type::Bool)), self.expr(b, Some(&Type::Bool)));
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
            let help = match (op, &left.ty, &right.ty) {
                (BinaryOp::And | BinaryOp::Or, ..) if is_integer(&left.ty) || is_integer(&right.ty) => {
                    Some("both sides are Boolean; compare numbers, for instance with `!= 0`".to_string())
                }
                (BinaryOp::BitAnd, Type::Bool, Type::Bool) => Some("write `&&`".into()),
                (BinaryOp::BitOr, Type::Bool, Type::Bool) => Some("write `||`".into()),
                (BinaryOp::BitXor, Type::Bool, Type::Bool) => Some("write `!=`".into()),
                (BinaryOp::Shl | BinaryOp::Shr, Type::Int | Type::Range(..), _) => {
                    Some("shifts are on fixed widths: convert it first, for instance `(..) as u8`".into())
                }
                (_, l_ty, r_ty) if is_integer(l_ty) && is_integer(r_ty) => {
                    let to = if is_int_like(l_ty) { &r } else { &l };
                    Some(format!("convert one side: `(..) as {to}`"))
                }
                _ => None,
            };
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

    fn cast(&mut self, a: &ast::Expr, ty: &ast::Type, span: Span) -> Option<Expr> {
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

    pub(super) fn record_named(&mut self, name: &ast::Name) -> Option<RecordId> {
        let ty = ast::Type { node: ast::TypeKind::Named(name.node.clone()), span: name.span };
        match self.unsized_ty(&ty)? {
            Type::Record(r) => Some(r),
            other => {
                let shown = self.show(&other);
                self.error("E0301", name.span, format!("`{shown}` is not a record"), "expected a record");
                None
            }
        }
    }

    /// One value for every field, in order.
    pub(super) fn record_parts(
        &mut self,
        record: RecordId,
        fields: &[(ast::Name, ast::Expr)],
        span: Span,
    ) -> Option<Vec<Expr>> {
        let declared = &self.cx.records[record].fields;
        let mut parts: Vec<Option<Expr>> = vec![None; declared.len()];
        let mut given = vec![false; declared.len()];
        let mut fine = true;
        for (name, value) in fields {
            let Some(i) = declared.iter().position(|f| f.name == name.node) else {
                let record_name = &self.cx.records[record].name;
                let help = match nearest(&name.node, declared.iter().map(|f| f.name.as_str())) {
                    Some(n) => format!("did you mean `{n}`?"),
                    None => format!("its fields are {}", list(declared.iter().map(|f| f.name.as_str()))),
                };
                let message = format!("record `{record_name}` has no field `{}`", name.node);
                self.error("E0205", name.span, message, "unknown field").help = Some(help);
                self.expr(value, None);
                fine = false;
                continue;
            };
            if std::mem::replace(&mut given[i], true) {
                self.error("E0201", name.span, format!("field `{}` is given twice", name.node), "again");
                fine = false;
            }
            parts[i] = self.expr_of(value, &declared[i].ty);
            fine &= parts[i].is_some();
        }
        let span = self.at(span);
        fine.then(|| {
            parts
                .into_iter()
                .zip(declared)
                .map(|(part, field)| part.unwrap_or_else(|| constant(field.init.clone(), &field.ty, span)))
                .collect()
        })
    }

    fn array(&mut self, items: &[ast::Expr], span: Span, hint: Option<&Type>) -> Option<Expr> {
        let at = self.at(span);
        match hint {
            Some(Type::ThreadSet) if items.is_empty() => Some(constant(Value::Int(0), &Type::ThreadSet, at)),
            Some(ty @ Type::Array { len, element, .. }) => {
                let parts: Vec<_> = items.iter().map(|e| self.expr_of(e, element)).collect();
                if items.len() as u64 != *len as u64 {
                    let shown = self.show(ty);
                    let found = items.len();
                    self.error(
                        "E0301",
                        span,
                        "mismatched types",
                        format!("expected `{shown}`, found {found} elements"),
                    );
                    return None;
                }
                Some(tuple(parts.into_iter().collect::<Option<_>>()?, ty.clone(), at))
            }
            _ => {
                let Some((first, rest)) = items.split_first() else {
                    self.error("E0309", span, "the type of this empty array is not known", "array of what?");
                    return None;
                };
                let first = self.expr(first, None);
                let element = widen(&first.as_ref()?.ty);
                let mut parts = vec![first];
                parts.extend(rest.iter().map(|e| self.expr_of(e, &element)));
                let len = parts.len() as u32;
                let ty = Type::Array { index: Type::Int.into(), lo: 0, len, element: element.into() };
                let parts = parts.into_iter().collect::<Option<_>>()?;
                self.check_size(&ty, span).then(|| tuple(parts, ty, at))
            }
        }
    }

    fn repeat(&mut self, value: &ast::Expr, count: &ast::Expr, span: Span, hint: Option<&Type>) -> Option<Expr> {
        let at = self.at(span);
        let n = self.integer(count);
        let (typed, ty) = match hint {
            Some(ty @ Type::Array { element, .. }) => (self.expr_of(value, element), Some(ty.clone())),
            _ => (self.expr(value, None), None),
        };
        let (typed, n) = (typed?, n?);
        let shared = self.reads_shared(&typed);
        if shared {
            self.error("E0401", value.span, "what is repeated cannot read shared state", "reads a shared variable")
                .help = Some("bind it first: `let t = ..;`".into());
            return None;
        }
        if n < 1 || n as u64 > super::checker::MAX_SCALARS {
            self.error("E0307", count.span, format!("an array cannot have {n} elements"), "not a possible length");
            return None;
        }
        let found = Type::Array { index: Type::Int.into(), lo: 0, len: n as u32, element: widen(&typed.ty).into() };
        let ty = match ty {
            Some(Type::Array { len, .. }) if len as i64 != n => {
                self.must_fit(&found, hint?, span);
                return None;
            }
            Some(ty) => ty,
            None => found,
        };
        self.check_size(&ty, span).then(|| tuple(vec![typed; n as usize], ty, at))
    }

    /// `set.contains(t)`, `set.is_empty()`.
    fn set_query(&mut self, set: &ast::Expr, name: &ast::Name, args: &[ast::Expr], span: Span) -> Option<Expr> {
        let set_expr = self.any_expr(set, Some(&Type::ThreadSet));
        let wanted = usize::from(name.node == "contains");
        let args: Vec<_> = args.iter().map(|a| self.expr_of(a, &Type::Thread)).collect();
        let set_expr = set_expr?;
        if set_expr.ty != Type::ThreadSet {
            let shown = self.show(&set_expr.ty);
            let message = format!("`{}` is an operation of `thread_set`", name.node);
            self.error("E0206", name.span, message, format!("this is of type `{shown}`"));
            return None;
        }
        if args.len() != wanted {
            self.error(
                "E0303",
                name.span,
                format!("`{}` wants {}", name.node, count(wanted, "argument")),
                "wrong number",
            );
            return None;
        }
        let args: Option<Vec<_>> = args.into_iter().collect();
        let kind = match args?.pop() {
            Some(arg) => ExprKind::SetContains(set_expr.into(), arg.into()),
            None => ExprKind::SetIsEmpty(set_expr.into()),
        };
        Some(Expr { kind, ty: Type::Bool, span })
    }

    /// The place that an expression names.
    pub(super) fn place(&mut self, e: &ast::Expr) -> Option<Place> {
        let typed = self.any_expr(e, None)?;
        match typed.kind {
            ExprKind::Read(place) => Some(place),
            _ => {
                self.error("E0304", e.span, "only variables can be assigned", "not a variable");
                None
            }
        }
    }

    /// The place that an assignment stores to.
    pub(super) fn target(&mut self, e: &ast::Expr) -> Option<Place> {
        if let ast::ExprKind::Name(name) = &strip(e).node {
            let is_variable = self.scopes.iter().any(|s| s.contains_key(name)) || self.cx.global_ids.contains_key(name);
            if !is_variable && self.cx.consts.contains_key(name) {
                self.error("E0304", e.span, format!("constant `{name}` cannot be assigned"), "a constant").help =
                    Some("declare it with `var` to change it".into());
                return None;
            }
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

    /// Whether an expression reads shared state.
    pub(super) fn reads_shared(&self, e: &Expr) -> bool {
        super::access::count(e, &self.cx.globals) > 0
    }
}

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

/// The type of a value that may come from either.
fn common(a: &Type, b: &Type) -> Option<Type> {
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

/// A record or array; a constant if all its parts are.
fn tuple(parts: Vec<Expr>, ty: Type, span: Span) -> Expr {
    let values: Option<Vec<Value>> = parts
        .iter()
        .map(|p| match &p.kind {
            ExprKind::Const(v) => Some(v.clone()),
            _ => None,
        })
        .collect();
    match values {
        Some(values) => Expr { kind: ExprKind::Const(Value::Tuple(values)), ty, span },
        None => Expr { kind: ExprKind::Tuple(parts), ty, span },
    }
}

fn extend(mut place: Place, step: Projection, ty: Type, span: Span) -> Expr {
    place.path.push(step);
    place.ty = ty.clone();
    place.span = span;
    Expr { kind: ExprKind::Read(place), ty, span }
}

/// `1 argument`, `2 arguments`.
pub(super) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Names for a sentence.
pub(super) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}
