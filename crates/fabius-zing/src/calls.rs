//! Calls of methods, and processes.

use crate::ast::{Expr, ExprKind, Method, Name, StmtKind as Said};
use crate::lower::{Body, Bound, Version};
use crate::refusal::{Result, unsupported, wrong};
use crate::types::Ty;
use fabius_lang::build::*;
use fabius_lang::program as core;
use fabius_lang::program::{LocalId, StmtKind};
use fabius_trace::Span;
use std::collections::HashMap;

/// A class, a method of it, and the object that it is called of.
type Callee = (usize, usize, Option<(core::Expr, Ty)>);

/// What a call names: the method, and its arguments with the object in front.
struct Called {
    class: usize,
    method: usize,
    args: Vec<(core::Expr, Ty)>,
    outs: Vec<(Expr, Ty)>,
}

/// What a call has given back: where it is, and where it goes.
pub struct Given {
    pub result: Option<(LocalId, Ty)>,
    pub outs: Vec<(Expr, LocalId, Ty)>,
}

impl<'a> Body<'_, 'a> {
    /// Whose method a call names, and the object that it is of.
    fn callee(&mut self, callee: &Expr) -> Result<Callee> {
        let (class, name, of): (usize, &Name, Option<&Expr>) = match &callee.kind {
            ExprKind::Name(text) => {
                let name = Name { text: text.clone(), span: callee.span };
                let method = self.method_of(self.class, &name)?;
                if self.cx.method(self.class, method).is_static {
                    return Ok((self.class, method, None));
                }
                let this = self.value(&Expr { kind: ExprKind::This, span: callee.span })?;
                return Ok((self.class, method, Some(this)));
            }
            ExprKind::Member(of, name) => match &of.kind {
                ExprKind::Name(class) if self.names_class(class) => {
                    (self.cx.class_named(class).expect("it names one"), name, None)
                }
                _ => (usize::MAX, name, Some(of)),
            },
            _ => return Err(wrong(callee.span, "this cannot be called")),
        };
        let Some(of) = of else {
            let method = self.method_of(class, name)?;
            if !self.cx.method(class, method).is_static {
                return Err(wrong(name.span, format!("`{}` is a method of objects", name.text)));
            }
            return Ok((class, method, None));
        };
        let (object, ty) = self.value(of)?;
        let class = if let Ty::Object(record) = ty { self.cx.class_of(record) } else { None };
        let class = class.ok_or_else(|| wrong(of.span, format!("`{}` has no methods", self.cx.types.show(&ty))))?;
        let method = self.method_of(class, name)?;
        let is_static = self.cx.method(class, method).is_static;
        Ok((class, method, (!is_static).then_some((object, ty))))
    }

    fn names_class(&self, name: &str) -> bool {
        let is_field = self.cx.file.classes[self.class].fields.iter().any(|f| f.name.text == name);
        self.find(name).is_none() && !is_field && self.cx.class_named(name).is_some()
    }

    fn method_of(&self, class: usize, name: &Name) -> Result<usize> {
        let known = self.cx.file.classes[class].methods.iter().position(|m| m.name.text == name.text);
        known.ok_or_else(|| {
            let of = &self.cx.file.classes[class].name.text;
            wrong(name.span, format!("`{of}` has no method `{}`", name.text))
        })
    }

    fn called(&mut self, call: &Expr) -> Result<Called> {
        let ExprKind::Call(callee, args) = &call.kind else { return Err(wrong(call.span, "this is no call")) };
        let (class, method, this) = self.callee(callee)?;
        let m: &'a Method = self.cx.method(class, method);
        if m.params.len() != args.len() {
            let wants = m.params.len();
            return Err(wrong(
                call.span,
                format!("`{}` wants {wants} arguments, and gets {}", m.name.text, args.len()),
            ));
        }
        let is_object = this.is_some();
        let mut all: Vec<(core::Expr, Ty)> = this.into_iter().collect();
        let mut outs = Vec::new();
        for (param, arg) in m.params.iter().zip(args) {
            let ty = self.cx.types.named(&param.ty)?;
            match &arg.kind {
                ExprKind::Out(place) if param.is_out => outs.push(((**place).clone(), ty)),
                _ if param.is_out => {
                    let said = format!("`{}` is an `out` parameter", param.name.text);
                    return Err(wrong(arg.span, said).help("write `out` in front of the variable"));
                }
                _ => all.push((self.value_of(arg, &ty)?, ty)),
            }
        }
        debug_assert_eq!(is_object, !m.is_static);
        Ok(Called { class, method, args: all, outs })
    }

    /// A call; its results go to locals. Says which.
    pub fn call(&mut self, call: &Expr, wants: bool) -> Result<Given> {
        let Called { class, method, args, outs } = self.called(call)?;
        let m: &'a Method = self.cx.method(class, method);
        let result = m.result.as_ref().map(|ty| self.cx.types.named(ty)).transpose()?;
        if wants && result.is_none() {
            return Err(wrong(call.span, format!("`{}` returns nothing", m.name.text)));
        }
        let id = self.cx.version(Version { class, method, in_atomic: self.in_atomic, is_bottom: false });
        let is_shared = args.iter().any(|(e, _)| self.is_shared(e));
        let args = if is_shared && !self.in_atomic {
            // The arguments are a step of their own.
            let held: Vec<LocalId> =
                args.iter().map(|(_, ty)| self.temporary("argument", self.cx.types.core(ty))).collect();
            self.step(call.span, |b| {
                for (id, (value, _)) in held.iter().zip(args) {
                    let place = b.local(*id, call.span);
                    b.set(place, value, call.span);
                }
                Ok(())
            })?;
            held.into_iter().map(|id| read(self.local(id, call.span))).collect()
        } else {
            args.into_iter().map(|(e, _)| e).collect()
        };
        let give = |(place, ty)| (place, self.temporary("out", self.cx.types.core(&ty)), ty);
        let outs: Vec<_> = outs.into_iter().map(give).collect();
        let result = result.map(|ty| (self.temporary("result", self.cx.types.core(&ty)), ty));
        let mut results: Vec<Option<LocalId>> = outs.iter().map(|(_, id, _)| Some(*id)).collect();
        results.extend(result.iter().map(|(id, _)| wants.then_some(*id)));
        let raises = self.cx.exceptions.leave.contains(&m.name.text);
        let raised = raises.then(|| self.temporary("raised", self.exception_type()));
        results.extend(raised.map(Some));
        self.push(StmtKind::Call(results, id, args), call.span);
        self.at_beginning = false;
        if let Some(raised) = raised {
            self.raised(raised, call.span)?;
        }
        Ok(Given { result, outs })
    }

    /// A call whose result nobody wants.
    pub fn call_alone(&mut self, call: &Expr) -> Result<()> {
        let Given { outs, .. } = self.call(call, false)?;
        self.step(call.span, |b| b.give(outs, call.span))
    }

    /// Stores what `out` parameters were.
    pub fn give(&mut self, outs: Vec<(Expr, LocalId, Ty)>, span: Span) -> Result<()> {
        for (target, id, ty) in outs {
            let (place, wanted) = self.place(&target)?;
            let value = self.fit(read(self.local(id, span)), &ty, &wanted, target.span)?;
            self.set(place, value, span);
        }
        Ok(())
    }

    /// `async f(..);`: the call is a process of its own.
    pub fn start(&mut self, call: &Expr, span: Span) -> Result<()> {
        self.step(span, |b| {
            let Called { class, method, args, .. } = b.called(call)?;
            let is_bottom = b.cx.exceptions.leave.contains(&b.cx.method(class, method).name.text);
            let id = b.cx.version(Version { class, method, in_atomic: false, is_bottom });
            let args = args.into_iter().map(|(e, _)| e).collect();
            b.push(StmtKind::Spawn(None, id, args), span);
            Ok(())
        })
    }

    /// A call in a condition: a method that only returns a value is written out.
    pub fn apply(&mut self, callee: &Expr, args: &[Expr], span: Span) -> Result<(core::Expr, Ty)> {
        let call = Expr { kind: ExprKind::Call(callee.clone().into(), args.to_vec()), span };
        let Called { class, method, args, outs } = self.called(&call)?;
        if let Some((place, _)) = outs.first() {
            return Err(wrong(place.span, "what is called in a condition has no `out` parameters"));
        }
        let m: &'a Method = self.cx.method(class, method);
        let version = Version { class, method, in_atomic: true, is_bottom: false };
        let value = match &m.body[..] {
            [only] => match (&only.kind, &m.result) {
                (Said::Return(Some(value)), Some(ty)) if !self.applied.contains(&version) => Some((value, ty)),
                _ => None,
            },
            _ => None,
        };
        let Some((value, ty)) = value else {
            return Err(unsupported(span, "a call in a condition of a method that does more than to return a value")
                .help("write the condition out"));
        };
        let ty = self.cx.types.named(ty)?;
        let mut scope = HashMap::new();
        let mut args = args.into_iter();
        if !m.is_static {
            let (object, ty) = args.next().expect("the object stands in front");
            scope.insert("this".to_string(), Bound::Value(object, ty));
        }
        for (param, (value, ty)) in m.params.iter().zip(args) {
            scope.insert(param.name.text.clone(), Bound::Value(value, ty));
        }
        let outer = (std::mem::replace(&mut self.scopes, vec![scope]), std::mem::replace(&mut self.class, class));
        self.applied.push(version);
        let applied = self.value_of(value, &ty);
        self.applied.pop();
        (self.scopes, self.class) = outer;
        Ok((applied?, ty))
    }
}
