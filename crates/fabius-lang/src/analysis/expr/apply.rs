//! Functions and constant arrays: what is put in the place of a call or an element.
//!
//! A call is its function's expression, with the arguments in the places of the parameters. An argument that reads shared
//! state is read once, before: outside of one step it goes to a temporary, which can be made only if nothing else has to be
//! read earlier and it is certain that the call is evaluated.

use super::super::checker::{Binding, Checker, Function};
use super::super::constant::{constant, evaluate, is_integer};
use super::super::names::{count, list};
use crate::program::*;
use crate::syntax::ast;
use fabius_trace::Span;
use std::collections::HashMap;

/// Most nodes of what is put in the place of a call, and its greatest height.
const MOST: (usize, usize) = (1 << 16, 400);

impl Checker<'_> {
    pub(in crate::analysis) fn is_function(&self, name: &str) -> bool {
        self.cx.functions.contains_key(name)
    }

    /// Whether a call is one of `len`, which a program may also call a procedure of its own.
    pub(in crate::analysis) fn is_len(&self, name: &str) -> bool {
        name == "len" && !self.cx.procs.contains_key(name)
    }

    /// `len(a)`.
    pub(super) fn len(&mut self, name: &ast::Name, args: &[ast::Expr], span: Span) -> Option<Expr> {
        let [of] = args else {
            self.error("E0303", name.span, "`len` wants 1 argument", format!("{} given", args.len()));
            return None;
        };
        let typed = self.any_expr(of, None)?;
        if let (ExprKind::Read(place), Type::Record(r)) = (&typed.kind, &typed.ty)
            && self.cx.channels.contains_key(r)
        {
            return Some(self.messages(place, self.at(span)));
        }
        if let Some(len) = self.len_of_collection(&typed, self.at(span)) {
            return Some(len);
        }
        match typed.ty {
            Type::Array { len, .. } => Some(constant(Value::Int(len.into()), &Type::Int, self.at(span))),
            other => {
                let shown = self.show(&other);
                let message = format!("a value of type `{shown}` has no elements");
                self.error("E0310", of.span, message, "not an array");
                None
            }
        }
    }

    /// The same of `peek`.
    pub(in crate::analysis) fn is_peek(&self, name: &str) -> bool {
        name == "peek" && !self.cx.procs.contains_key(name)
    }

    /// `peek(c)`.
    pub(super) fn peek(&mut self, name: &ast::Name, args: &[ast::Expr], span: Span) -> Option<Expr> {
        let [of] = args else {
            self.error("E0303", name.span, "`peek` wants 1 argument", format!("{} given", args.len()));
            return None;
        };
        let typed = self.any_expr(of, None)?;
        if let (ExprKind::Read(place), Type::Record(r)) = (&typed.kind, &typed.ty)
            && self.cx.channels.contains_key(r)
        {
            return self.first_message(place, of.span, self.at(span));
        }
        let shown = self.show(&typed.ty);
        self.error("E0310", of.span, format!("a value of type `{shown}` has no messages"), "not a channel");
        None
    }

    /// A call of a function.
    pub(super) fn apply(&mut self, name: &ast::Name, args: &[ast::Expr], span: Span) -> Option<Expr> {
        let known = self.cx.functions.get(&name.node).cloned().flatten();
        let Some(function) = known else {
            args.iter().for_each(|a| drop(self.expr(a, None)));
            return None;
        };
        if self.applied.contains(&name.node) {
            let message = format!("function `{}` calls itself", name.node);
            self.error("E0312", name.span, message, "has no end").help = Some("write a `proc`, with a loop".into());
            return None;
        }
        let mut scope = HashMap::new();
        let mut fine = true;
        for (i, arg) in args.iter().enumerate() {
            let Some((param, ty)) = function.params.get(i) else {
                self.expr(arg, None);
                continue;
            };
            let value = match ty {
                Some(ty) => self.argument(arg, ty),
                None => self.expr(arg, None).and(None),
            };
            fine &= value.is_some();
            scope.insert(param.node.clone(), value.map_or(Binding::Error, Binding::Value));
        }
        if args.len() != function.params.len() {
            self.wrong_arguments(name, args.len(), &function);
            return None;
        }
        fine.then_some(())?;
        let at = self.at(span);
        let (scopes, expansion) = (std::mem::replace(&mut self.scopes, vec![scope]), self.expansion.replace(at));
        self.applied.push(name.node.clone());
        let value = match &function.result {
            Some(ty) => self.expr_of(&function.value, ty).map(|e| within(e, ty)),
            None => None,
        };
        self.applied.pop();
        (self.scopes, self.expansion) = (scopes, expansion);
        let value = value?;
        let (nodes, height) = measure(&value);
        if nodes > MOST.0 || height > MOST.1 {
            self.error("E0307", span, "this call stands for too large an expression", "too large").help =
                Some("bind parts of it first: `let t = ..;`, or write a `proc`".into());
            return None;
        }
        Some(value)
    }

    fn wrong_arguments(&mut self, name: &ast::Name, given: usize, function: &Function) {
        let names = function.params.iter().map(|(n, _)| n.node.as_str());
        let message = format!("`{}` wants {}", name.node, count(function.params.len(), "argument"));
        let help = (!function.params.is_empty()).then(|| format!("its parameters are {}", list(names)));
        let error = self.error("E0303", name.span, message, format!("{given} given"));
        error.help = help;
        error.related.push((function.span, "declared here".into()));
    }

    /// What stands for a parameter of this type.
    fn argument(&mut self, arg: &ast::Expr, ty: &Type) -> Option<Expr> {
        let before = self.before;
        let value = within(self.expr_of(arg, ty)?, ty);
        if let Ok(known) = evaluate(&value) {
            return Some(Expr { kind: ExprKind::Const(known), ..value });
        }
        let value = self.read_first(value, before, arg.span)?;
        self.before = before;
        Some(value)
    }

    /// A value that is used several times: what it reads is read once, before the rest of the statement. `before` is how
    /// often shared state is read by what is evaluated before it.
    pub(in crate::analysis) fn read_first(&mut self, value: Expr, before: usize, span: Span) -> Option<Expr> {
        if self.one_step || self.constant || self.in_atomic() || !self.reads_shared(&value) {
            return Some(value);
        }
        if before > 0 || self.conditional > 0 {
            self.error("E0401", span, "this reads shared state in the middle of an expression", "is read first").help =
                Some("bind it first: `let t = ..;`".into());
            return None;
        }
        let id = self.temporary(&value.ty.clone());
        let place = self.local_place(id, self.at(span));
        self.store(place, value, span);
        Some(self.read_local(id, self.at(span)))
    }

    /// `A[i]` of a constant.
    pub(super) fn element_of_constant(&mut self, parts: Vec<Value>, ty: Type, index: Expr, span: Span) -> Option<Expr> {
        let Type::Array { index: key, lo, len, element } = ty.clone() else { return None };
        let at = self.at(span);
        if let Ok(Value::Int(n)) = evaluate(&index) {
            let Some(value) = usize::try_from(n - lo).ok().and_then(|n| parts.get(n)) else {
                let last = lo + i64::from(len) - 1;
                self.error("E0306", span, format!("this constant has no element {n}"), format!("it has {lo}..{last}"));
                return None;
            };
            return Some(constant(value.clone(), &element, at));
        }
        let before = self.before;
        let index = self.read_first(index, before, span)?;
        let number = |n: i64| Expr { kind: ExprKind::Const(Value::Int(n)), ty: (*key).clone(), span: at };
        let test = |op, n| Expr {
            kind: ExprKind::Binary(op, index.clone().into(), number(n).into()),
            ty: Type::Bool,
            span: at,
        };
        let parts = parts.into_iter().map(|v| constant(v, &element, at)).collect();
        if !is_integer(&key) {
            return Some(one_by_one(parts, lo, &test));
        }
        let found = halves(parts, lo, &test);
        // Outside there is no element: what says so is an array without values that nobody has ever set.
        let id = self.temporary(&ty);
        let mut nothing = self.local_place(id, at);
        nothing.path.push(Projection::Index { index: index.clone().into(), lo, len });
        nothing.ty = (*element).clone();
        let nothing = Expr { ty: found.ty.clone(), kind: ExprKind::Read(nothing), span: at };
        let both = ExprKind::Binary(
            BinaryOp::And,
            test(BinaryOp::Ge, lo).into(),
            test(BinaryOp::Le, lo + i64::from(len) - 1).into(),
        );
        let inside = Expr { kind: both, ty: Type::Bool, span: at };
        let ty = found.ty.clone();
        Some(Expr { kind: ExprKind::IfElse(inside.into(), found.into(), nothing.into()), ty, span: at })
    }
}

/// The part whose number, counted from `lo`, is the one that is tested.
fn halves(mut parts: Vec<Expr>, lo: i64, test: &dyn Fn(BinaryOp, i64) -> Expr) -> Expr {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let upper = parts.split_off(parts.len() / 2);
    let middle = lo + parts.len() as i64;
    let (ty, span) = (upper[0].ty.clone(), upper[0].span);
    let (low, high) = (halves(parts, lo, test), halves(upper, middle, test));
    Expr { kind: ExprKind::IfElse(test(BinaryOp::Lt, middle).into(), low.into(), high.into()), ty, span }
}

/// The same where values have no order: Booleans and those of enums, all of which have a part.
fn one_by_one(parts: Vec<Expr>, lo: i64, test: &dyn Fn(BinaryOp, i64) -> Expr) -> Expr {
    let mut numbered: Vec<(i64, Expr)> = (lo..).zip(parts).collect();
    let (_, last) = numbered.pop().expect("a type has values");
    numbered.into_iter().rev().fold(last, |no, (n, yes)| {
        let (ty, span) = (yes.ty.clone(), yes.span);
        Expr { kind: ExprKind::IfElse(test(BinaryOp::Eq, n).into(), yes.into(), no.into()), ty, span }
    })
}

/// The value where the type is one that it must fit into.
fn within(value: Expr, ty: &Type) -> Expr {
    let Type::Range(lo, hi) = ty else { return value };
    match &value.kind {
        ExprKind::Const(Value::Int(n)) if lo <= n && n <= hi => value,
        _ if value.ty == *ty => value,
        _ => Expr { span: value.span, kind: ExprKind::Cast(value.into()), ty: ty.clone() },
    }
}

/// How many nodes an expression has, and how high it is.
fn measure(e: &Expr) -> (usize, usize) {
    let in_place = |p: &Place| {
        let base = if let Base::Heap(e, _) = &p.base { Some(&**e) } else { None };
        let steps =
            p.path.iter().filter_map(|s| if let Projection::Index { index, .. } = s { Some(&**index) } else { None });
        base.into_iter().chain(steps).map(measure).collect::<Vec<_>>()
    };
    let inside = match &e.kind {
        ExprKind::Const(_) | ExprKind::SelfHandle => Vec::new(),
        ExprKind::Read(p) => in_place(p),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => vec![measure(a)],
        ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => vec![measure(a), measure(b)],
        ExprKind::IfElse(a, b, c) => vec![measure(a), measure(b), measure(c)],
        ExprKind::Tuple(parts) => parts.iter().map(measure).collect(),
    };
    inside.into_iter().fold((1, 1), |(nodes, height), (n, h)| (nodes + n, height.max(h + 1)))
}
