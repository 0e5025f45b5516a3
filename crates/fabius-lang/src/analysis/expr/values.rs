//! Values of records and arrays; questions to sets of threads.

use super::super::checker::{Checker, MAX_SCALARS};
use super::super::constant::{constant, widen};
use super::super::names::{count, list, nearest};
use crate::program::*;
use crate::syntax::ast;
use fabius_trace::Span;

impl Checker<'_> {
    pub(super) fn record(&mut self, name: &ast::Name, fields: &[(ast::Name, ast::Expr)], span: Span) -> Option<Expr> {
        let record = self.record_named(name)?;
        let parts = self.record_parts(record, fields, span)?;
        Some(tuple(parts, Type::Record(record), self.at(span)))
    }

    pub(in crate::analysis) fn record_named(&mut self, name: &ast::Name) -> Option<RecordId> {
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
    pub(in crate::analysis) fn record_parts(
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

    pub(super) fn array(&mut self, items: &[ast::Expr], span: Span, hint: Option<&Type>) -> Option<Expr> {
        let at = self.at(span);
        match hint {
            Some(ty) if self.collection_of(ty).is_some() => self.collection_value(items, &ty.clone(), span),
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

    pub(super) fn repeat(
        &mut self,
        value: &ast::Expr,
        count: &ast::Expr,
        span: Span,
        hint: Option<&Type>,
    ) -> Option<Expr> {
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
        if n < 1 || n as u64 > MAX_SCALARS {
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
    pub(super) fn set_query(
        &mut self,
        set: &ast::Expr,
        name: &ast::Name,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<Expr> {
        let before = self.before;
        let set_expr = self.any_expr(set, Some(&Type::ThreadSet));
        if let Some(of) = set_expr.as_ref().filter(|e| self.collection_of(&e.ty).is_some()) {
            // It is read when what is asked is known.
            self.before = match &of.kind {
                ExprKind::Read(place) => before + super::super::access::count_in_place(place, &self.cx.globals),
                _ => before,
            };
            return self.collection_query(of.clone(), name, args, span);
        }
        let wanted = usize::from(name.node == "contains");
        let args: Vec<_> = args.iter().map(|a| self.expr_of(a, &Type::Thread)).collect();
        let set_expr = set_expr?;
        if set_expr.ty != Type::ThreadSet || name.node == "count" {
            let shown = self.show(&set_expr.ty);
            let of = if name.node == "count" { "bags" } else { "sets" };
            let message = format!("`{}` is an operation of {of}", name.node);
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
