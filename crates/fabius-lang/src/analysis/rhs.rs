//! What may only stand alone on a right-hand side: choices, calls, `new`, `spawn`, `post`, operations of the library.

use super::Choices;
use super::checker::{Binding, Checker, Frame, Inline, Signature};
use super::constant::{constant, is_integer};
use super::expr::{QUERIES, strip};
use super::names::{count, list, nearest};
use crate::program::*;
use crate::syntax::{ast, idioms};
use fabius_trace::Span;
use std::collections::HashMap;

impl Checker<'_> {
    /// `if` and `while` guards.
    pub(super) fn guard(&mut self, e: &ast::Expr) -> Option<Guard> {
        match &strip(e).node {
            ast::ExprKind::Star => Some(Guard::Star),
            ast::ExprKind::Unary(UnaryOp::Not, inner) if self.is_effect(inner) => {
                let value = self.produce_of(inner, &Type::Bool)?;
                let span = self.at(e.span);
                let kind = ExprKind::Unary(UnaryOp::Not, self.reduce(value, 1).into());
                Some(Guard::Expr(Expr { kind, ty: Type::Bool, span }))
            }
            _ if self.is_effect(e) => {
                let value = self.produce_of(e, &Type::Bool)?;
                Some(Guard::Expr(self.reduce(value, 1)))
            }
            _ => {
                let value = self.condition(e)?;
                Some(Guard::Expr(self.reduce(value, 1)))
            }
        }
    }

    /// Whether what looks like a call is a value: `set.contains(t)`, `set.is_empty()`, `len(a)`, a function of the program.
    pub(super) fn is_query(&self, e: &ast::Expr) -> bool {
        match &strip(e).node {
            ast::ExprKind::Method(_, name, _) => QUERIES.contains(&name.node.as_str()),
            ast::ExprKind::Call(name, _) => {
                self.is_function(&name.node) || self.is_len(&name.node) || self.is_peek(&name.node)
            }
            _ => false,
        }
    }

    /// Whether an expression may only stand alone.
    pub(super) fn is_effect(&self, e: &ast::Expr) -> bool {
        use ast::ExprKind as E;
        match &strip(e).node {
            E::Method(..) | E::Call(..) => !self.is_query(e),
            kind => {
                matches!(kind, E::Star | E::Any(_) | E::AnyRange(..) | E::New(..) | E::Spawn(..) | E::Post(..))
            }
        }
    }

    /// The procedure of the program that is called.
    pub(super) fn signature_of(&self, e: &ast::Expr) -> Option<&Signature> {
        match &strip(e).node {
            ast::ExprKind::Call(name, _) => self.cx.procs.get(&name.node),
            _ => None,
        }
    }

    /// The type that such a right-hand side has by itself.
    pub(super) fn type_of_rhs(&mut self, e: &ast::Expr) -> Option<Type> {
        match &strip(e).node {
            ast::ExprKind::Star => Some(Type::Bool),
            ast::ExprKind::Any(t) => {
                let before = self.diagnostics.len();
                let ty = self.ty(t);
                self.diagnostics.truncate(before);
                ty
            }
            ast::ExprKind::AnyRange(..) => Some(Type::Int),
            ast::ExprKind::New(name, _) => {
                let before = self.diagnostics.len();
                let record = self.record_named(name);
                self.diagnostics.truncate(before);
                record.map(Type::Ref)
            }
            ast::ExprKind::Spawn(..) | ast::ExprKind::Post(..) => Some(Type::Thread),
            ast::ExprKind::Call(..) => match self.signature_of(e)?.results.as_slice() {
                [one] => one.clone(),
                _ => None,
            },
            _ => None,
        }
    }

    /// A statement that is an expression.
    pub(super) fn effect(&mut self, e: &ast::Expr, span: Span) {
        match &strip(e).node {
            ast::ExprKind::Spawn(name, args) => self.spawn(None, name, args, span),
            ast::ExprKind::Post(level, name, args) => self.post(None, level.as_ref(), name, args, span),
            ast::ExprKind::Call(name, args) if self.cx.procs.contains_key(&name.node) => {
                let results = self.cx.procs[&name.node].results.len();
                self.call(name, args, vec![None; results], span);
            }
            ast::ExprKind::Call(..) | ast::ExprKind::Method(..) if !self.is_query(e) => {
                self.library_call(e);
            }
            ast::ExprKind::Error => {}
            _ if self.is_effect(e) => {
                self.error("E0409", e.span, "this value is not used", "no effect").help =
                    Some("store it: `let t = ..;`".into());
            }
            _ => {
                if self.expr(e, None).is_some() {
                    self.error("E0409", e.span, "this expression does nothing", "no effect").help =
                        Some("store its value: `x = ..;`, or check it: `assert ..;`".into());
                }
            }
        }
    }

    /// `place = e`, whatever `e` is. Whether it was fine.
    pub(super) fn assign_rhs(&mut self, place: Place, e: &ast::Expr, span: Span) -> bool {
        // What it takes to find the place is read after this.
        self.before = 0;
        let inner = strip(e);
        match &inner.node {
            ast::ExprKind::Star | ast::ExprKind::Any(_) | ast::ExprKind::AnyRange(..) => {
                let Some((lo, hi)) = self.choice(inner, &place.ty.clone()) else { return false };
                let keep = usize::from(!super::access::is_shared(&place, &self.cx.globals));
                let bounds = self.reduce_all(vec![lo, hi], keep);
                let place = self.reduce_place(place);
                let [lo, hi] = <[Expr; 2]>::try_from(bounds).expect("two bounds stay two");
                self.push(StmtKind::Any(place, lo, hi), span);
                true
            }
            ast::ExprKind::New(name, fields) => {
                let Some(record) = self.record_named(name) else { return false };
                let Some(parts) = self.record_parts(record, fields, inner.span) else { return false };
                if !self.must_fit(&Type::Ref(record), &place.ty.clone(), e.span) {
                    return false;
                }
                let keep = usize::from(!super::access::is_shared(&place, &self.cx.globals));
                let parts = self.reduce_all(parts, keep);
                let place = self.reduce_place(place);
                self.push(StmtKind::New(place, record, parts), span);
                true
            }
            _ if self.is_effect(e) => {
                if let (Some(id), Some(signature)) = (plain_local(&place), self.signature_of(e))
                    && let [Some(ty)] = signature.results.as_slice()
                {
                    let ty = ty.clone();
                    let ast::ExprKind::Call(name, args) = &inner.node else { return false };
                    return self.must_fit(&ty, &place.ty, e.span) && self.call(name, args, vec![Some(id)], span);
                }
                match (&inner.node, plain_local(&place)) {
                    (ast::ExprKind::Spawn(name, args), Some(id)) if place.ty == Type::Thread => {
                        self.spawn(Some(id), name, args, span);
                        return true;
                    }
                    (ast::ExprKind::Post(level, name, args), Some(id)) if place.ty == Type::Thread => {
                        self.post(Some(id), level.as_ref(), name, args, span);
                        return true;
                    }
                    _ => {}
                }
                let Some(value) = self.produce_of(e, &place.ty.clone()) else { return false };
                self.store(place, value, span);
                true
            }
            _ => {
                let Some(value) = self.expr_of(e, &place.ty.clone()) else { return false };
                self.store(place, value, span);
                true
            }
        }
    }

    /// The value of a right-hand side for a place of this type; temporaries hold it.
    pub(super) fn produce_of(&mut self, e: &ast::Expr, ty: &Type) -> Option<Expr> {
        let inner = strip(e);
        match &inner.node {
            ast::ExprKind::Call(..) | ast::ExprKind::Method(..) if self.is_effect(e) => {
                let value = self.produce(e, 1)?.pop()?;
                self.must_fit(&value.ty, ty, e.span).then_some(value)
            }
            ast::ExprKind::Spawn(..) | ast::ExprKind::Post(..) => {
                let value = self.produce(e, 1)?.pop()?;
                self.must_fit(&value.ty, ty, e.span).then_some(value)
            }
            _ => {
                let id = self.temporary(ty);
                let place = self.local_place(id, self.at(e.span));
                self.assign_rhs(place, e, e.span).then(|| self.read_local(id, self.at(e.span)))
            }
        }
    }

    /// The `wanted` results of a right-hand side; temporaries hold them.
    pub(super) fn produce(&mut self, e: &ast::Expr, wanted: usize) -> Option<Vec<Expr>> {
        let inner = strip(e);
        let at = self.at(e.span);
        let values = match &inner.node {
            ast::ExprKind::Call(name, args) if self.cx.procs.contains_key(&name.node) => {
                let results = self.cx.procs[&name.node].results.clone();
                if results.len() != wanted {
                    return self.wrong_count(&name.node, results.len(), wanted, e.span);
                }
                let types: Vec<Type> = results.into_iter().collect::<Option<_>>()?;
                let ids: Vec<LocalId> = types.iter().map(|t| self.temporary(t)).collect();
                self.call(name, args, ids.iter().map(|id| Some(*id)).collect(), e.span);
                ids.into_iter().map(|id| self.read_local(id, at)).collect()
            }
            ast::ExprKind::Call(..) | ast::ExprKind::Method(..) if self.is_effect(e) => {
                let (name, values) = self.library_call(e)?;
                if values.len() != wanted {
                    return self.wrong_count(&name, values.len(), wanted, e.span);
                }
                values
            }
            ast::ExprKind::Spawn(name, args) => {
                let id = self.temporary(&Type::Thread);
                self.spawn(Some(id), name, args, e.span);
                vec![self.read_local(id, at)]
            }
            ast::ExprKind::Post(level, name, args) => {
                let id = self.temporary(&Type::Thread);
                self.post(Some(id), level.as_ref(), name, args, e.span);
                vec![self.read_local(id, at)]
            }
            _ => {
                let ty = self.type_of_rhs(e);
                match ty {
                    Some(ty) => vec![self.produce_of(e, &ty)?],
                    None => vec![self.expr(e, None)?],
                }
            }
        };
        if values.len() != wanted {
            self.error(
                "E0303",
                e.span,
                format!("{} wanted", count(wanted, "value")),
                format!("{} given", values.len()),
            );
            return None;
        }
        Some(values)
    }

    fn wrong_count(&mut self, name: &str, has: usize, wanted: usize, span: Span) -> Option<Vec<Expr>> {
        let message = format!("`{name}` returns {}", count(has, "value"));
        self.error("E0303", span, message, format!("{} wanted here", wanted));
        None
    }

    /// Least and largest value of a choice for a place of this type.
    fn choice(&mut self, e: &ast::Expr, ty: &Type) -> Option<(Expr, Expr)> {
        let at = self.at(e.span);
        let range = |c: &mut Self, of: &Type| match of.finite_range(&c.cx.enums) {
            Some((lo, hi)) => Some((constant(Value::Int(lo), of, at), constant(Value::Int(hi), of, at))),
            None if c.cx.choices == Choices::Unbounded && is_integer(of) => {
                Some((constant(Value::Int(i64::MIN), of, at), constant(Value::Int(i64::MAX), of, at)))
            }
            None => {
                let shown = c.show(of);
                let message = format!("a choice over all of `{shown}` cannot be enumerated");
                c.error("E0311", e.span, message, "unbounded choice").help =
                    Some("choose from a range, for instance `any 0..7`; only `fabius verify` can do without".into());
                None
            }
        };
        match &e.node {
            ast::ExprKind::Star => range(self, ty),
            ast::ExprKind::Any(t) => {
                let of = self.ty(t)?;
                if !self.must_fit(&of, ty, e.span) {
                    return None;
                }
                range(self, &of)
            }
            ast::ExprKind::AnyRange(lo, hi) => {
                let (lo, hi) = (self.expr_of(lo, ty), self.expr_of(hi, ty));
                let (lo, hi) = (lo?, hi?);
                if !is_integer(ty) {
                    let shown = self.show(ty);
                    self.error("E0301", e.span, "mismatched types", format!("expected `{shown}`, found a number"));
                    return None;
                }
                Some((lo, hi))
            }
            _ => None,
        }
    }

    fn procedure(&mut self, name: &ast::Name, what: &str) -> Option<ProcId> {
        if let Some(signature) = self.cx.procs.get(&name.node) {
            return Some(signature.id);
        }
        let known = self.cx.procs.keys().chain(self.cx.inlines.keys()).chain(self.cx.functions.keys());
        let help = match self.is_function(&name.node) {
            true => Some("this is a function, which only has a value; what does something is a `proc`".into()),
            false => match idioms::procedure(&name.node) {
                Some(help) => Some(help.into()),
                None => nearest(&name.node, known.map(String::as_str)).map(|n| format!("did you mean `{n}`?")),
            },
        };
        let message = format!("there is no procedure `{}` to {what}", name.node);
        self.error("E0204", name.span, message, "unknown procedure").help = help;
        None
    }

    fn arguments(&mut self, name: &ast::Name, args: &[ast::Expr], keep: usize) -> Option<Vec<Expr>> {
        let params = self.cx.procs[&name.node].params.clone();
        let typed: Vec<_> = (args.iter().enumerate())
            .map(|(i, a)| match params.get(i) {
                Some((_, Some(ty))) => self.expr_of(a, ty),
                _ => self.expr(a, None),
            })
            .collect();
        if args.len() != params.len() {
            let names = params.iter().map(|(n, _)| n.as_str());
            let message = format!("`{}` wants {}", name.node, count(params.len(), "argument"));
            let help = (!params.is_empty()).then(|| format!("its parameters are {}", list(names)));
            let declared = self.cx.procs[&name.node].span;
            let error = self.error("E0303", name.span, message, format!("{} given", args.len()));
            error.help = help;
            error.related.push((declared, "declared here".into()));
            return None;
        }
        let typed: Vec<Expr> = typed.into_iter().collect::<Option<_>>()?;
        Some(self.reduce_all(typed, keep))
    }

    fn call(&mut self, name: &ast::Name, args: &[ast::Expr], to: Vec<Option<LocalId>>, span: Span) -> bool {
        let Some(proc) = self.procedure(name, "call") else { return false };
        let Some(args) = self.arguments(name, args, 1) else { return false };
        self.push(StmtKind::Call(to, proc, args), span);
        true
    }

    fn spawn(&mut self, to: Option<LocalId>, name: &ast::Name, args: &[ast::Expr], span: Span) {
        let Some(proc) = self.procedure(name, "spawn") else { return };
        let Some(args) = self.arguments(name, args, 0) else { return };
        self.push(StmtKind::Spawn(to, proc, args), span);
    }

    fn post(
        &mut self,
        to: Option<LocalId>,
        level: Option<&ast::Name>,
        name: &ast::Name,
        args: &[ast::Expr],
        span: Span,
    ) {
        let level = level.map(|l| match self.cx.levels.iter().position(|known| *known == l.node) {
            Some(i) => Some(i as Level),
            None => {
                let known = self.cx.levels.iter().map(String::as_str);
                let help = match nearest(&l.node, known) {
                    Some(n) => format!("did you mean `{n}`?"),
                    None => format!("declare it: `level {} < {};`", self.cx.levels[0], l.node),
                };
                let message = format!("there is no priority level `{}`", l.node);
                self.error("E0207", l.span, message, "unknown level").help = Some(help);
                None
            }
        });
        let Some(proc) = self.procedure(name, "post") else { return };
        let Some(args) = self.arguments(name, args, 0) else { return };
        if level != Some(None) {
            self.push(StmtKind::Post(to, level.flatten(), proc, args), span);
        }
    }

    /// An operation of the library or of a set of threads: its name and results.
    fn library_call(&mut self, e: &ast::Expr) -> Option<(String, Vec<Expr>)> {
        match &strip(e).node {
            ast::ExprKind::Call(name, args) => {
                let Some(inline) = self.cx.inlines.get(&name.node).cloned() else {
                    self.procedure(name, "call");
                    return None;
                };
                let values = self.expand(&name.node, &inline, None, args, e.span)?;
                Some((name.node.clone(), values))
            }
            ast::ExprKind::Method(receiver, name, args) => {
                if self.is_in_sequence(receiver) {
                    self.not_in_place(receiver.span);
                    return None;
                }
                let place = self.receiver(receiver)?;
                match place.ty {
                    Type::Record(r) if self.cx.collections.contains_key(&r) => {
                        if name.node != "pick" && matches!(place.base, Base::Local(_)) {
                            self.target(receiver)?;
                        }
                        let values = self.collection_operation(place, name, args, e.span)?;
                        Some((name.node.clone(), values))
                    }
                    Type::ThreadSet => {
                        self.set_operation(place, name, args, e.span)?;
                        Some((name.node.clone(), Vec::new()))
                    }
                    Type::Record(r) if self.cx.channels.contains_key(&r) => {
                        let values = self.channel_operation(place, name, args, e.span)?;
                        Some((name.node.clone(), values))
                    }
                    Type::Record(r) if r < self.cx.library_records => {
                        let prefix = format!("{}_", self.cx.records[r].name);
                        let full = format!("{prefix}{}", name.node);
                        let Some(inline) = self.cx.inlines.get(&full).cloned() else {
                            let mut known: Vec<&str> =
                                self.cx.inlines.keys().filter_map(|k| k.strip_prefix(&prefix)).collect();
                            known.sort_unstable();
                            let help = format!("its operations are {}", list(known.into_iter()));
                            let message = format!("`{}` has no operation `{}`", self.cx.records[r].name, name.node);
                            self.error("E0206", name.span, message, "unknown operation").help = Some(help);
                            return None;
                        };
                        if matches!(full.as_str(), "condition_wait" | "barrier_wait") {
                            self.needs_others(
                                &format!("`{}` of a {}", name.node, prefix.trim_end_matches('_')),
                                e.span,
                            );
                        }
                        let values = self.expand(&full, &inline, Some(place), args, e.span)?;
                        Some((name.node.clone(), values))
                    }
                    other => {
                        let shown = self.show(&other);
                        let message = format!("a value of type `{shown}` has no operations");
                        self.error("E0206", name.span, message, "unknown operation").help =
                            Some("call a procedure: `p(..)`".into());
                        None
                    }
                }
            }
            _ => None,
        }
    }

    /// The object whose operation is called; a reference to one stands for it.
    pub(super) fn receiver(&mut self, e: &ast::Expr) -> Option<Place> {
        let place = self.place(e)?;
        if let Type::Ref(record) = place.ty {
            let span = place.span;
            let reference = Expr { ty: place.ty.clone(), kind: ExprKind::Read(place), span };
            return Some(Place {
                base: Base::Heap(reference.into(), record),
                path: Vec::new(),
                ty: Type::Record(record),
                span,
            });
        }
        Some(place)
    }

    fn set_operation(&mut self, place: Place, name: &ast::Name, args: &[ast::Expr], span: Span) -> Option<()> {
        let wanted = match name.node.as_str() {
            "insert" | "remove" => 1,
            "remove_any" | "clear" => 0,
            _ => {
                let message = format!("`thread_set` has no operation `{}`", name.node);
                self.error("E0206", name.span, message, "unknown operation").help =
                    Some("its operations are `insert`, `remove`, `remove_any`, `clear`, `contains`, `is_empty`".into());
                return None;
            }
        };
        let typed: Vec<_> = args.iter().map(|a| self.expr_of(a, &Type::Thread)).collect();
        if args.len() != wanted {
            let message = format!("`{}` wants {}", name.node, count(wanted, "argument"));
            self.error("E0303", name.span, message, format!("{} given", args.len()));
            return None;
        }
        let typed: Vec<Expr> = typed.into_iter().collect::<Option<_>>()?;
        let mut typed = self.reduce_all(typed, 0);
        let place = self.reduce_place(place);
        let kind = match (name.node.as_str(), typed.pop()) {
            ("insert", Some(arg)) => StmtKind::SetInsert(place, arg),
            ("remove", Some(arg)) => StmtKind::SetRemove(place, arg),
            ("remove_any", _) => StmtKind::SetRemoveAny(place),
            _ => StmtKind::SetClear(place),
        };
        self.push(kind, span);
        Some(())
    }

    /// Puts the body of a procedure of the library in the place of a call.
    fn expand(
        &mut self,
        name: &str,
        inline: &Inline,
        receiver: Option<Place>,
        args: &[ast::Expr],
        span: Span,
    ) -> Option<Vec<Expr>> {
        let params = &inline.params[usize::from(receiver.is_some())..];
        if args.len() != params.len() {
            let message = format!("`{name}` wants {}", count(params.len(), "argument"));
            self.error("E0303", span, message, format!("{} given", args.len()));
            return None;
        }
        let at = self.at(span);
        let mut scope = HashMap::new();
        let mut same = None;
        if let Some(place) = receiver {
            let place = self.reduce_place(place);
            scope.insert(inline.params[0].name.node.clone(), Binding::Place(place));
        }
        for (param, arg) in params.iter().zip(args) {
            let binding = if param.place {
                let place = self.target(arg)?;
                if let Some(ty) = &param.ty {
                    let wanted = self.ty(ty)?;
                    if !self.must_fit(&place.ty, &wanted, arg.span) {
                        return None;
                    }
                }
                same.get_or_insert_with(|| place.ty.clone());
                Binding::Place(self.reduce_place(place))
            } else {
                let outer = (std::mem::replace(&mut self.same, same.clone()), self.expansion);
                self.expansion = Some(at);
                let ty = param.ty.as_ref().and_then(|t| self.ty(t));
                (self.same, self.expansion) = outer;
                let value = self.expr_of(arg, &ty.clone()?)?;
                match value.kind {
                    ExprKind::Const(_) => Binding::Value(value),
                    _ => {
                        let id = self.temporary(&ty?);
                        let place = self.local_place(id, at);
                        self.store(place, value, span);
                        Binding::Value(self.read_local(id, at))
                    }
                }
            };
            scope.insert(param.name.node.clone(), binding);
        }
        let scopes = std::mem::replace(&mut self.scopes, vec![scope]);
        let outer = (self.expansion.replace(at), std::mem::replace(&mut self.same, same), self.returned.take());
        let frames = self.frames.clone();
        if !self.in_atomic() {
            self.frames.push(Frame::Branch);
        }
        // The results live in temporaries, so these are not released before the calling statement is done.
        self.statements(&inline.body);
        self.frames = frames;
        let values = self.returned.take().unwrap_or_default();
        (self.expansion, self.same, self.returned) = outer;
        self.scopes = scopes;
        (values.len() == inline.results.len()).then_some(values)
    }
}

/// The local that a place is, if it is one as a whole.
fn plain_local(place: &Place) -> Option<LocalId> {
    match place.base {
        Base::Local(id) if place.path.is_empty() => Some(id),
        _ => None,
    }
}
