//! `foreach`: whether there is another element is asked in one step; to look at the element belongs to the first step of the body,
//! as it does for ZING. What is gone through may change meanwhile: it is looked at anew each time.

use crate::ast::{Expr, Name, Stmt};
use crate::lower::{Behind, Body};
use crate::refusal::{Result, unsupported, wrong};
use crate::types::{SIZE, Ty};
use fabius_lang::build::*;
use fabius_lang::program as core;
use fabius_lang::program::{BinaryOp, Block, Guard, Place, StmtKind, Type};
use fabius_trace::Span;

impl Body<'_, '_> {
    pub fn foreach(
        &mut self,
        ty: Option<&Name>,
        name: &Name,
        of: &Expr,
        body: &Stmt,
        behind: Behind,
        span: Span,
    ) -> Result<()> {
        let span = Span { start: span.start, end: span.start + "foreach".len() as u32 };
        self.has_passed_try |= crate::raised::has_try(body);
        let variable = Expr { kind: crate::ast::ExprKind::Name(name.text.clone()), span: name.span };
        if let Some(ty) = ty {
            let ty = self.cx.types.named(ty)?;
            self.declare(name, ty)?;
        }
        let (place, ty) = self.place(&variable)?;
        let (object, record) = self.collection(of)?;
        let element = self.cx.types.elements[&record].0.clone();
        let changes = matches!(self.value(of)?.1, Ty::Set(_)) || self.is_shared(&object);
        if behind == Behind::Element && self.cx.types.is_counted(record) && changes && !self.in_atomic {
            return Err(unsupported(span, "`foreach` whose body begins with a loop")
                .help("begin the body with another statement, as `;`"));
        }
        if ty != element {
            let (ty, element) = (self.cx.types.show(&ty), self.cx.types.show(&element));
            return Err(wrong(name.span, format!("elements are `{element}`, and this is `{ty}`")));
        }
        let at = self.temporary("at", Type::Int);
        self.set_number(at, 0, span);
        let at = self.local(at, span);
        let count = if self.cx.types.is_counted(record) {
            cast(read(self.field_of(object, record, SIZE, span)), &Type::Int)
        } else {
            constant(i64::from(self.cx.types.elements[&record].1), Type::Int, span)
        };
        let more = binary(BinaryOp::Lt, read(at.clone()), count);
        let mut guard = None;
        let mut all = self.block_of(|b| {
            guard = Some(b.looked_at(more, span)?);
            Ok(())
        })?;
        let guard = guard.expect("it has just been made");
        self.at_beginning = false;
        let (object, _) = self.collection(of)?;
        let element = self.element(&object, record, read(at.clone()), span);
        let fetch = vec![stmt(StmtKind::Assign(place, read(element)), span)];
        self.behind = Behind::Element;
        let inner = self.nested(body)?;
        self.behind = Behind::Nothing;
        let inner = self.joined(fetch, inner, body.span)?;
        let next = binary(BinaryOp::Add, read(at.clone()), constant(1, Type::Int, span));
        all.push(stmt(StmtKind::If(guard, Block::new(), vec![stmt(StmtKind::Break, span)]), span));
        all.extend(inner);
        all.push(stmt(StmtKind::Assign(at, next), span));
        self.push(StmtKind::While(Guard::Expr(boolean(true, span)), all), span);
        Ok(())
    }

    /// What can be gone through: arrays, and sets whose elements are in an order.
    fn collection(&mut self, of: &Expr) -> Result<(core::Expr, usize)> {
        let (object, ty) = self.value(of)?;
        match ty {
            Ty::Array(record) => Ok((object, record)),
            Ty::Set(record) => match self.cx.types.elements[&record].0 {
                Ty::Int | Ty::Number(..) | Ty::Bool | Ty::Enum(_) => Ok((object, record)),
                _ => Err(unsupported(of.span, "`foreach` of a set of what has no order that ZING says")
                    .help("hold them in an array, or take one after another with `x = choose(s); s = s - x;`")),
            },
            _ => Err(wrong(of.span, format!("`{}` has no elements to go through", self.cx.types.show(&ty)))),
        }
    }

    /// Statements whose first step does something else before.
    fn joined(&mut self, before: Block, mut rest: Block, span: Span) -> Result<Block> {
        if self.in_atomic || rest.is_empty() {
            return Ok(before.into_iter().chain(rest).collect());
        }
        let mut step = before;
        let first = rest.remove(0);
        let place = first.span;
        match first.kind {
            StmtKind::Atomic(block) => step.extend(block),
            StmtKind::If(Guard::Expr(e), yes, no) if self.is_shared(&e) => {
                let held = self.temporary("condition", Type::Bool);
                let held: Place = self.local(held, place);
                step.push(stmt(StmtKind::Assign(held.clone(), e), place));
                rest.insert(0, stmt(StmtKind::If(Guard::Expr(read(held)), yes, no), place));
            }
            StmtKind::While(..) => {
                return Err(unsupported(span, "`foreach` whose body begins with a loop")
                    .help("begin the body with another statement, as `;`"));
            }
            kind @ (StmtKind::If(..) | StmtKind::Call(..) | StmtKind::Return(_)) => {
                rest.insert(0, stmt(kind, place));
            }
            kind => step.push(stmt(kind, place)),
        }
        let mut out = vec![stmt(StmtKind::Atomic(step), place)];
        out.extend(rest);
        Ok(out)
    }
}
