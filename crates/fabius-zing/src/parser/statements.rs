//! Statements.

use super::{Parser, WORDS};
use crate::ast::*;
use crate::lexer::Kind;
use crate::refusal::{Result, unsupported, wrong};

impl Parser {
    /// The statements up to the closing brace.
    pub(super) fn block(&mut self) -> Result<Vec<Stmt>> {
        let mut block = Vec::new();
        while !self.take("}") {
            if self.peek().kind == Kind::End {
                return Err(self.unexpected("`}`"));
            }
            block.push(self.statement()?);
        }
        Ok(block)
    }

    fn statement(&mut self) -> Result<Stmt> {
        self.deeper(|p| {
            p.attributes()?;
            let from = p.at;
            let kind = p.statement_kind()?;
            Ok(Stmt { kind, span: p.since(from) })
        })
    }

    fn statement_kind(&mut self) -> Result<StmtKind> {
        let token = self.peek().clone();
        let word = match &token.kind {
            Kind::Sign(";") => {
                self.next();
                return Ok(StmtKind::Empty);
            }
            Kind::Sign("{") => {
                self.next();
                return Ok(StmtKind::Block(self.block()?));
            }
            Kind::Word(word) => word.as_str(),
            _ => return Err(self.unexpected("a statement")),
        };
        self.next();
        Ok(match word {
            "atomic" => {
                self.expect("{")?;
                StmtKind::Atomic(self.block()?)
            }
            "if" => {
                let condition = self.in_parentheses()?;
                let yes = self.statement()?.into();
                let no = if self.take("else") { Some(self.statement()?.into()) } else { None };
                StmtKind::If(condition, yes, no)
            }
            "while" => StmtKind::While(self.in_parentheses()?, self.statement()?.into()),
            "return" => {
                let value = if self.is(";") { None } else { Some(self.expr()?) };
                self.expect(";")?;
                StmtKind::Return(value)
            }
            "assert" => {
                self.expect("(")?;
                let condition = self.expr()?;
                let mut message = None;
                if self.take(",") {
                    let Kind::Text(text) = self.next().kind else {
                        self.at -= 1;
                        return Err(self.unexpected("a string"));
                    };
                    message = Some(text);
                }
                self.ends()?;
                StmtKind::Assert(condition, message)
            }
            "assume" => {
                self.expect("(")?;
                let condition = self.expr()?;
                self.ends()?;
                StmtKind::Assume(condition)
            }
            "send" => {
                self.expect("(")?;
                let channel = self.expr()?;
                self.expect(",")?;
                let message = self.expr()?;
                self.ends()?;
                StmtKind::Send(channel, message)
            }
            "async" => {
                let call = self.postfix()?;
                self.expect(";")?;
                StmtKind::Async(call)
            }
            "trace" | "event" => {
                self.for_traces()?;
                self.expect(";")?;
                StmtKind::Empty
            }
            // Every statement is a step already.
            "yield" => {
                self.expect(";")?;
                StmtKind::Empty
            }
            "select" => StmtKind::Select(self.select()?),
            "goto" => {
                let label = self.name("a label")?;
                self.expect(";")?;
                StmtKind::Goto(label)
            }
            "try" => {
                self.expect("{")?;
                let body = self.block()?;
                self.expect("with")?;
                StmtKind::Try(body, self.handlers()?)
            }
            "raise" => {
                let name = self.name("the name of an exception")?;
                self.expect(";")?;
                StmtKind::Raise(name)
            }
            "foreach" => {
                self.expect("(")?;
                let first = self.ty()?;
                let (ty, name) = if self.is("in") { (None, first) } else { (Some(first), self.name("a name")?) };
                self.expect("in")?;
                let of = self.expr()?;
                self.expect(")")?;
                StmtKind::Foreach(ty, name, of, self.statement()?.into())
            }
            "accept" | "invokeplugin" | "invokescheduler" => return Err(unsupported(token.span, format!("`{word}`"))),
            _ => {
                self.at -= 1;
                return self.declaration_or_assignment();
            }
        })
    }

    /// What is done about exceptions: the first that has the name, `*` last.
    fn handlers(&mut self) -> Result<Vec<Handler>> {
        let open = self.peek().span;
        self.expect("{")?;
        let (mut handlers, mut any) = (Vec::<Handler>::new(), None);
        while !self.take("}") {
            let span = self.peek().span;
            let name = if self.take("*") { None } else { Some(self.name("an exception, `*` or `}`")?) };
            self.expect("->")?;
            let handler = Handler { body: self.statement()?, name };
            match &handler.name {
                None if any.is_some() => return Err(wrong(span, "two handlers of all exceptions")),
                None => any = Some(handler),
                Some(name) if handlers.iter().any(|h| h.name.as_ref().is_some_and(|n| n.text == name.text)) => {
                    return Err(wrong(span, format!("two handlers of `{}`", name.text)));
                }
                Some(_) => handlers.push(handler),
            }
        }
        handlers.extend(any);
        if handlers.is_empty() {
            return Err(wrong(open, "`try` without handlers").help("add one: `with { * -> ; }`"));
        }
        Ok(handlers)
    }

    fn in_parentheses(&mut self) -> Result<Expr> {
        self.expect("(")?;
        let e = self.expr()?;
        self.expect(")")?;
        Ok(e)
    }

    fn ends(&mut self) -> Result<()> {
        self.expect(")")?;
        self.expect(";")
    }

    /// What ZING only shows: its arguments are read and mean nothing.
    fn for_traces(&mut self) -> Result<()> {
        self.expect("(")?;
        self.list(")", |p| match p.peek().kind {
            Kind::Text(_) => {
                p.next();
                Ok(())
            }
            _ => p.expr().map(drop),
        })
        .map(drop)
    }

    fn declaration_or_assignment(&mut self) -> Result<StmtKind> {
        let is_name = |t: &crate::lexer::Token| matches!(&t.kind, Kind::Word(word) if !WORDS.contains(&word.as_str()));
        if is_name(self.peek()) && self.ahead(1).is(":") {
            let label = self.name("a label")?;
            self.expect(":")?;
            return Ok(StmtKind::Labeled(label, self.statement()?.into()));
        }
        if is_name(self.peek()) && is_name(self.ahead(1)) {
            let ty = self.ty()?;
            let name = self.name("a name")?;
            let init = if self.take("=") { Some(self.expr()?) } else { None };
            self.expect(";")?;
            return Ok(StmtKind::Local(Field { ty, name, is_static: false, init }));
        }
        let mut targets = vec![self.postfix()?];
        if self.is(";") && matches!(targets[0].kind, ExprKind::Call(..)) {
            self.next();
            return Ok(StmtKind::Call(targets.remove(0)));
        }
        for (sign, op) in [("++", "+"), ("--", "-"), ("+=", "+"), ("-=", "-")] {
            if self.is(sign) {
                return Err(unsupported(self.peek().span, format!("`{sign}`")).help(format!("write `x = x {op} 1;`")));
            }
        }
        self.expect("=")?;
        loop {
            let value = self.expr()?;
            if self.take("=") {
                targets.push(value);
                continue;
            }
            self.expect(";")?;
            return Ok(StmtKind::Assign(targets, value));
        }
    }

    fn select(&mut self) -> Result<Select> {
        let mut select = Select { first: false, end: false, branches: Vec::new() };
        let mut is_visible = false;
        loop {
            if self.take("first") {
                select.first = true;
            } else if self.take("end") {
                select.end = true;
            } else if self.take("visible") {
                is_visible = true;
            } else {
                break;
            }
        }
        self.expect("{")?;
        while !self.take("}") {
            self.attributes()?;
            let from = self.at;
            let mut joins = vec![self.join()?];
            while self.take("&&") {
                joins.push(self.join()?);
            }
            let span = self.since(from);
            if !is_visible && joins.iter().any(|join| matches!(join, Join::Event)) {
                return Err(
                    wrong(span, "an `event` in a `select` that is not `visible`").help("write `select visible { .. }`")
                );
            }
            self.expect("->")?;
            let body = self.statement()?;
            select.branches.push(Branch { joins, body, span });
        }
        Ok(select)
    }

    fn join(&mut self) -> Result<Join> {
        if self.take("wait") {
            return Ok(Join::Wait(self.in_parentheses()?));
        }
        if self.take("timeout") {
            return Ok(Join::Timeout);
        }
        if self.take("event") {
            self.for_traces()?;
            return Ok(Join::Event);
        }
        if !self.take("receive") {
            return Err(self.unexpected("`wait`, `receive` or `timeout`"));
        }
        self.expect("(")?;
        let channel = self.expr()?;
        self.expect(",")?;
        let to = self.expr()?;
        self.expect(")")?;
        Ok(Join::Receive(channel, to))
    }
}
