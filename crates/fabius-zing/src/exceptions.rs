//! Exceptions: a local says which one is on its way, 0 if none is. What stands behind a statement that may raise one is passed over,
//! as it is behind a `return` inside of `atomic`; a method gives it to its caller as one more result. What nobody catches is a
//! violated assertion.

use crate::ast::{Handler, Name, Stmt};
use crate::lower::{Behind, Body, Leaving, Marks};
use crate::refusal::{Result, unsupported};
use fabius_lang::build::*;
use fabius_lang::program as core;
use fabius_lang::program::{BinaryOp, Block, Check, Guard, StmtKind, Type};
use fabius_trace::Span;

impl Body<'_, '_> {
    /// The type of what says which exception is on its way.
    pub fn exception_type(&self) -> Type {
        Type::Range(0, self.cx.exceptions.names.len() as i64)
    }

    fn exception(&mut self) -> core::LocalId {
        if let Some(id) = self.exception {
            return id;
        }
        let id = self.temporary("exception", self.exception_type());
        *self.exception.insert(id)
    }

    fn is_exception(&mut self, n: i64, span: Span) -> core::Expr {
        let id = self.exception();
        let value = cast(read(self.local(id, span)), &Type::Int);
        binary(BinaryOp::Eq, value, constant(n, Type::Int, span))
    }

    pub fn raise(&mut self, name: &Name, span: Span) {
        let n = self.cx.exceptions.names.iter().position(|n| *n == name.text).map_or(0, |n| n as i64 + 1);
        let id = self.exception();
        self.set_number(id, n, span);
        self.gets_out(span);
    }

    /// Behind a call: what it has raised is on its way here.
    pub fn raised(&mut self, id: core::LocalId, span: Span) -> Result<()> {
        if self.has_passed_try {
            return Err(unsupported(
                span,
                "a call that may raise an exception, behind a `try` that ZING would jump back to",
            )
            .help("put it into a `try` of its own: `try { f(); } with { X -> raise X; }`"));
        }
        let to = self.exception();
        let (to, value) = (self.local(to, span), read(self.local(id, span)));
        self.set(to, value, span);
        self.passes_on(span)
    }

    /// If an exception is on its way, what follows is passed over.
    pub fn passes_on(&mut self, span: Span) -> Result<()> {
        let is_raised = not(self.is_exception(0, span));
        let out = self.block_of(|b| {
            b.gets_out(span);
            Ok(())
        })?;
        self.push(StmtKind::If(Guard::Expr(is_raised), out, Block::new()), span);
        Ok(())
    }

    /// An exception leaves what is around here.
    fn gets_out(&mut self, span: Span) {
        if self.leaves {
            self.marks.raised = true;
            self.push(StmtKind::Return(Vec::new()), span);
            return;
        }
        if self.is_bottom {
            let names = self.cx.exceptions.names.clone();
            for (n, name) in names.iter().enumerate() {
                let is_other = not(self.is_exception(n as i64 + 1, span));
                let said = format!("nobody catches the exception `{name}`");
                self.push(StmtKind::Assert(is_other, Check::Assertion, Some(said)), span);
            }
        }
        let id = self.exception();
        let mut values = self.nothing_returned(span);
        if self.gives_exception {
            values.push(read(self.local(id, span)));
        }
        self.push(StmtKind::Return(values), span);
    }

    /// Statements that may be left in the middle, and behind them what their `return`s lead to. `wrap` says what they are.
    /// Says how they may be left.
    pub fn region(
        &mut self,
        span: Span,
        make: impl FnOnce(&mut Self) -> Result<()>,
        wrap: impl FnOnce(&mut Self, Block, Marks),
    ) -> Result<Marks> {
        let outer = (std::mem::take(&mut self.marks), std::mem::replace(&mut self.leaves, true));
        let body = self.block_of(make);
        let marks = std::mem::replace(&mut self.marks, outer.0);
        self.leaves = outer.1;
        let mut body = body?;
        let returned = self.leaving.filter(|_| marks.returned);
        let mut is_left = returned.map(|l: Leaving| read(self.local(l.left, span)));
        if marks.raised {
            let raised = not(self.is_exception(0, span));
            is_left = Some(is_left.map_or(raised.clone(), |left| or(left, raised)));
        }
        if marks.jumped {
            let jumps = self.is_on_its_way(span);
            is_left = Some(is_left.map_or(jumps.clone(), |left| or(left, jumps)));
        }
        if let Some(is_left) = &is_left {
            body = fabius_lang::without_returns(body, is_left);
        }
        wrap(self, body, marks);
        if let Some(Leaving { left, value }) = returned {
            let is_left = read(self.local(left, span));
            let leave = self.block_of(|b| {
                if b.leaves {
                    b.marks.returned = true;
                    b.push(StmtKind::Return(Vec::new()), span);
                } else {
                    let value = value.map(|v| read(b.local(v, span)));
                    let values = b.returned(value, span);
                    b.push(StmtKind::Return(values), span);
                }
                Ok(())
            })?;
            self.push(StmtKind::If(Guard::Expr(is_left), leave, Block::new()), span);
        }
        Ok(marks)
    }

    pub fn try_(&mut self, body: &[Stmt], handlers: &[Handler], span: Span) -> Result<()> {
        let span = Span { start: span.start, end: span.start + "try".len() as u32 };
        self.has_passed_try = false;
        let caught = self.temporary("caught", self.exception_type());
        let wrap = |b: &mut Self, block: Block, marks: Marks| {
            b.out.extend(block);
            if marks.raised {
                // It is here now, and on its way no more.
                let id = b.exception();
                let (caught, on_its_way) = (b.local(caught, span), read(b.local(id, span)));
                b.set(caught, on_its_way, span);
                b.set_number(id, 0, span);
            }
        };
        let marks = self.region(span, |b| b.statements(body), wrap)?;
        self.jumps_on(marks, span)?;
        self.behind = Behind::Nothing;
        self.handlers(handlers, marks.raised, caught, span)?;
        // ZING does not forget the handlers where their `try` has come to its end.
        self.has_passed_try = true;
        Ok(())
    }

    fn handlers(&mut self, handlers: &[Handler], raises: bool, caught: core::LocalId, span: Span) -> Result<()> {
        let number = cast(read(self.local(caught, span)), &Type::Int);
        let is = |op: BinaryOp, n: i64| binary(op, number.clone(), constant(n, Type::Int, span));
        let mut last = Block::new();
        if raises && handlers.iter().all(|h| h.name.is_some()) {
            last = self.block_of(|b| {
                let (to, value) = (b.exception(), read(b.local(caught, span)));
                let out = b.block_of(|b| {
                    let to = b.local(to, span);
                    b.set(to, value, span);
                    b.gets_out(span);
                    Ok(())
                })?;
                b.push(StmtKind::If(Guard::Expr(is(BinaryOp::Ne, 0)), out, Block::new()), span);
                Ok(())
            })?;
        }
        for handler in handlers.iter().rev() {
            let number = handler.name.as_ref().map(|name| {
                // What nobody raises is not caught, and is wrong all the same if it does not stand as it should.
                self.cx.exceptions.names.iter().position(|n| *n == name.text).map_or(-1, |n| n as i64 + 1)
            });
            self.has_passed_try = false;
            let body = self.block_of(|b| {
                b.at_beginning = false;
                b.statements(std::slice::from_ref(&handler.body))
            })?;
            let goes_here = number.map_or(is(BinaryOp::Ne, 0), |n| is(BinaryOp::Eq, n));
            last = vec![stmt(StmtKind::If(Guard::Expr(goes_here), body, last), handler.body.span)];
        }
        if raises {
            self.out.extend(last);
        }
        Ok(())
    }
}
