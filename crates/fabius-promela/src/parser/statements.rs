//! Statements, and the calls of inline macros.

use super::{C, MOST_CALLS, Parser};
use crate::ast::*;
use crate::lexer::{Kind, Token};
use crate::macros::{arguments, substituted};
use crate::refusal::{Result, strange, unsupported, wrong};
use fabius_trace::Span;

impl Parser {
    /// Statements up to the end of what they stand in.
    pub(super) fn sequence(&mut self) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        loop {
            while self.take(";") || self.take("->") {}
            if self.is_at_end() || ["}", "::", "fi", "od"].iter().any(|end| self.is(end)) {
                return Ok(out);
            }
            let statement = self.deeper(Self::statement)?;
            let statement = match self.is("unless") {
                true => self.unless(statement)?,
                false => statement,
            };
            let closed = self.at > 0 && self.tokens[self.at - 1].is("}");
            out.push(statement);
            let over = [";", "->", "}", "::", "fi", "od"].iter().any(|end| self.is(end));
            if !over && !closed && !self.is_at_end() {
                return Err(self.unexpected("`;`"));
            }
        }
    }

    fn statement(&mut self) -> Result<Stmt> {
        let mut labels = Vec::new();
        while self.is_label() {
            labels.push(self.name()?);
            self.next();
        }
        if let Some(label) = labels.first()
            && (self.is("}") || self.is("::") || self.is("fi") || self.is("od"))
        {
            return Err(wrong(label.span, "a label stands in front of a statement").help("write `skip` behind it"));
        }
        self.written_out()?;
        let from = self.at;
        let token = self.peek().clone();
        let kind = self.kind(&token)?;
        let span = match kind {
            // All of it would be a page.
            StmtKind::If(_)
            | StmtKind::Do(_)
            | StmtKind::Atomic(_)
            | StmtKind::DStep(_)
            | StmtKind::Block(_)
            | StmtKind::For(..)
            | StmtKind::ForIn(..) => token.span,
            _ => self.since(from),
        };
        Ok(Stmt { kind, span, labels })
    }

    /// Whether a label stands here, and no `mtype:kind` or `P:x`.
    fn is_label(&self) -> bool {
        let word = self.peek().word().filter(|_| self.ahead(1).is(":"));
        word.is_some_and(|word| word != "mtype" && !self.proctypes.iter().any(|p| p == word))
    }

    fn kind(&mut self, token: &Token) -> Result<StmtKind> {
        Ok(match token.word().unwrap_or_default() {
            "if" => StmtKind::If(self.options("fi")?),
            "do" => StmtKind::Do(self.options("od")?),
            "atomic" => {
                self.next();
                StmtKind::Atomic(self.block()?)
            }
            "d_step" => {
                self.next();
                StmtKind::DStep(self.block()?)
            }
            "goto" => {
                self.next();
                StmtKind::Goto(self.name()?)
            }
            "break" => {
                self.next();
                StmtKind::Break
            }
            "else" => {
                self.next();
                StmtKind::Else
            }
            "assert" => {
                self.next();
                StmtKind::Assert(self.expr()?)
            }
            "printf" => {
                self.next();
                self.expect("(")?;
                if self.next().kind != Kind::Text {
                    self.at -= 1;
                    return Err(self.unexpected("a string"));
                }
                let args = if self.take(",") { self.list()? } else { Vec::new() };
                self.expect(")")?;
                StmtKind::Print(args)
            }
            "printm" => {
                self.next();
                self.expect("(")?;
                let value = self.expr()?;
                self.expect(")")?;
                StmtKind::Print(vec![value])
            }
            "select" if self.ahead(1).is("(") => {
                self.next();
                let (place, low, high) = self.range()?;
                StmtKind::Select(place, low, high)
            }
            "for" => {
                self.next();
                if let Some((place, array)) = self.range_of_array()? {
                    return Ok(StmtKind::ForIn(place, array, self.block()?));
                }
                let (place, low, high) = self.range()?;
                StmtKind::For(place, low, high, self.block()?)
            }
            // It tells SPIN what it may leave out.
            "xr" | "xs" => {
                self.next();
                self.list()?;
                StmtKind::Declare(Vec::new())
            }
            word if C.contains(&word) => return Err(unsupported(token.span, "C inside of Promela")),
            _ if token.is("{") => StmtKind::Block(self.block()?),
            _ if self.begins_declaration() => StmtKind::Declare(self.declarations()?),
            _ => self.plain()?,
        })
    }

    /// What stands behind a statement that is left for something else.
    fn unless(&mut self, main: Stmt) -> Result<Stmt> {
        let span = self.next().span;
        let escape = self.deeper(Self::statement)?;
        if self.is("unless") {
            return Err(strange(self.peek().span, "a second `unless`").help("put the first one into `{ .. }`"));
        }
        Ok(Stmt { kind: StmtKind::Unless(main.into(), escape.into()), span, labels: Vec::new() })
    }

    fn block(&mut self) -> Result<Vec<Stmt>> {
        self.expect("{")?;
        let body = self.sequence()?;
        self.expect("}")?;
        Ok(body)
    }

    /// `( x in a )`, if that is what stands here.
    fn range_of_array(&mut self) -> Result<Option<(Lvalue, Name)>> {
        let from = self.at;
        self.expect("(")?;
        let place = self.lvalue()?;
        if !self.take("in") {
            self.at = from;
            return Ok(None);
        }
        let array = self.name()?;
        if !self.is(")") {
            return Err(unsupported(self.peek().span, "a loop over a field").help("write `for (i : 0 .. n - 1)`"));
        }
        self.next();
        Ok(Some((place, array)))
    }

    /// `( x : a .. b )`.
    fn range(&mut self) -> Result<(Lvalue, Expr, Expr)> {
        self.expect("(")?;
        let place = self.lvalue()?;
        self.expect(":")?;
        let low = self.expr()?;
        self.expect("..")?;
        let high = self.expr()?;
        self.expect(")")?;
        Ok((place, low, high))
    }

    fn options(&mut self, end: &str) -> Result<Vec<Vec<Stmt>>> {
        let open = self.next().span;
        let mut options = Vec::new();
        while self.take("::") {
            let option = self.sequence()?;
            if option.is_empty() {
                return Err(strange(self.peek().span, "an option without a statement").help("write `:: skip`"));
            }
            options.push(option);
        }
        if options.is_empty() || !self.is(end) {
            return Err(strange(open, format!("options that do not end: `::` or `{end}` should stand behind them")));
        }
        self.next();
        Ok(options)
    }

    /// An assignment, an operation of a channel or an expression.
    fn plain(&mut self) -> Result<StmtKind> {
        let from = self.at;
        if matches!(self.peek().kind, Kind::Word(_))
            && let Ok(place) = self.lvalue()
        {
            let sign = self.peek().clone();
            match sign.kind {
                Kind::Sign("=") => {
                    self.next();
                    return Ok(StmtKind::Assign(place, self.expr()?));
                }
                Kind::Sign(twice @ ("++" | "--")) => {
                    self.next();
                    let span = self.since(from);
                    let read = Expr { kind: ExprKind::Read(place.clone()), span };
                    let one = Expr { kind: ExprKind::Number(1), span };
                    let kind = ExprKind::Binary(if twice == "++" { "+" } else { "-" }, read.into(), one.into());
                    return Ok(StmtKind::Assign(place, Expr { kind, span }));
                }
                Kind::Sign("!" | "!!") => {
                    self.next();
                    return Ok(StmtKind::Send(place, sign.is("!!"), self.message()?));
                }
                Kind::Sign("?" | "??") if !self.ahead(1).is("[") => {
                    self.next();
                    let stays = self.take("<");
                    // Behind what stays a `>` would compare.
                    let args = if stays { self.copied()? } else { self.message()? };
                    return Ok(StmtKind::Receive(place, Taking { any: sign.is("??"), stays }, args));
                }
                _ => self.at = from,
            }
        }
        self.at = from;
        Ok(StmtKind::Expr(self.expr()?))
    }

    /// What stands between `<` and `>`.
    fn copied(&mut self) -> Result<Vec<Expr>> {
        let (mut depth, begin) = (0, self.at);
        let end = (begin..self.tokens.len()).find(|n| {
            let token = &self.tokens[*n];
            depth += i32::from(token.is("(") || token.is("[")) - i32::from(token.is(")") || token.is("]"));
            depth == 0 && token.is(">")
        });
        let end = end.ok_or_else(|| strange(self.peek().span, "what is received does not end").help("add `>`"))?;
        let behind = self.tokens.split_off(end);
        let args = self.message();
        let all = self.at == self.tokens.len();
        self.tokens.extend(behind);
        let args = args?;
        if !all {
            return Err(self.unexpected("`,` or `>`"));
        }
        self.next();
        Ok(args)
    }

    /// Replaces the call of an inline macro, if one stands here, by its body.
    fn written_out(&mut self) -> Result<()> {
        while self.ahead(1).is("(") {
            let token = self.peek().clone();
            let Some((params, body)) =
                token.word().and_then(|w| self.inlines.get(w)).map(|i| (i.params.clone(), i.body.clone()))
            else {
                return Ok(());
            };
            self.calls += 1;
            if self.calls > MOST_CALLS {
                return Err(unsupported(token.span, format!("more than {MOST_CALLS} calls of inline macros"))
                    .help("does it call itself?"));
            }
            let (args, end) = arguments(&self.tokens, self.at + 1)?;
            let given = if args.len() == 1 && args[0].is_empty() { 0 } else { args.len() };
            if given != params.len() {
                return Err(wrong(token.span, format!("{} arguments are wanted, and {given} given", params.len())));
            }
            let sign = |text, span: Span| Token { kind: Kind::Sign(text), span };
            let mut written = vec![sign("{", token.span)];
            written.extend(substituted(&body, &params, &args));
            written.push(sign("}", token.span));
            self.tokens.splice(self.at..end, written);
        }
        Ok(())
    }
}
