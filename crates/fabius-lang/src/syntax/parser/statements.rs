//! Statements.

use super::super::ast::*;
use super::super::idioms;
use super::super::lexer::TokenKind as T;
use super::{Failed, Parsed, Parser};
use fabius_trace::Span;

/// Words that a statement begins with.
pub(super) const STARTS: &[&str] = &[
    "let", "var", "if", "match", "while", "loop", "for", "choose", "return", "assert", "assume", "await", "atomic",
    "join", "select", "break", "continue", "yield", "zield", "spawn", "post",
];

impl Parser<'_> {
    pub(super) fn block(&mut self) -> Parsed<Block> {
        self.nested(|p| {
            let no_record = std::mem::replace(&mut p.no_record, false);
            let start = p.expect(T::LBrace, "`{`")?;
            let mut stmts = Vec::new();
            while !matches!(p.peek(), T::RBrace | T::End) {
                let from = p.span();
                let node = match p.stmt() {
                    Ok(kind) => kind,
                    Err(Failed) => {
                        p.skip_to_stmt(from);
                        StmtKind::Error
                    }
                };
                stmts.push(Spanned { node, span: from.to(p.last_span()) });
            }
            p.no_record = no_record;
            if p.peek() == T::End {
                let end = p.span();
                // After E0104 the rest of the file was not read.
                if p.diagnostics.last().is_none_or(|d| d.code != "E0104") {
                    p.report(
                        "E0105",
                        "this block is never closed".into(),
                        start,
                        "opened here".into(),
                        Some("add `}`".into()),
                    );
                }
                return Ok(Spanned { node: stmts, span: start.to(end) });
            }
            let end = p.bump();
            Ok(Spanned { node: stmts, span: start.to(end) })
        })
    }
    fn skip_to_stmt(&mut self, from: Span) {
        self.no_record = false;
        let mut depth = 0;
        let mut first = self.span() == from;
        loop {
            match self.peek() {
                T::End => return,
                T::Semi if depth == 0 => {
                    self.bump();
                    // What closes an alternative or a loop of Promela goes with it.
                    while self.is_word("fi") || self.is_word("od") {
                        self.bump();
                        self.eat(T::Semi);
                    }
                    return;
                }
                T::LBrace => depth += 1,
                T::RBrace if depth == 0 => return,
                T::RBrace => {
                    depth -= 1;
                    // `else` and `or` go on with the statement that is skipped.
                    if depth == 0 && !(self.peek_at(1) == T::Name && ["else", "or"].contains(&self.text_at(1))) {
                        self.bump();
                        return;
                    }
                }
                T::Name if depth == 0 && !first && STARTS.contains(&self.text()) && self.begins_line() => return,
                _ => {}
            }
            first = false;
            self.bump();
        }
    }
    fn stmt(&mut self) -> Parsed<StmtKind> {
        if self.peek() == T::LBrace {
            return Ok(StmtKind::Block(self.block()?));
        }
        let word = if self.peek() == T::Name { self.text().to_string() } else { String::new() };
        match word.as_str() {
            "break" => self.one_word(StmtKind::Break),
            "continue" => self.one_word(StmtKind::Continue),
            "yield" => self.one_word(StmtKind::Yield),
            "zield" => self.one_word(StmtKind::Zield),
            "skip" => self.one_word(StmtKind::Skip),
            "progress" if self.peek_at(1) == T::Semi => self.one_word(StmtKind::Progress),
            "label" if self.peek_at(1) == T::Name => {
                self.bump();
                let name = self.name("a name")?;
                self.semicolon()?;
                Ok(StmtKind::Label(name))
            }
            "let" | "var" => self.local(word == "var"),
            "return" => self.return_stmt(),
            "if" => self.if_stmt(),
            "match" => self.match_stmt(),
            "while" => {
                self.bump();
                let guard = self.guard()?;
                Ok(StmtKind::While { guard, body: self.block()? })
            }
            "loop" => {
                self.bump();
                Ok(StmtKind::Loop(self.block()?))
            }
            "for" => self.for_stmt(),
            "choose" => {
                self.bump();
                let mut blocks = vec![self.block()?];
                while self.eat_word("or") {
                    blocks.push(self.block()?);
                }
                Ok(StmtKind::Choose(blocks))
            }
            "select" if self.peek_at(1) == T::LBrace => self.select(),
            "atomic" => {
                self.bump();
                Ok(StmtKind::Atomic(self.block()?))
            }
            "join" => self.one_expr(StmtKind::Join),
            "assume" => self.one_expr(StmtKind::Assume),
            "await" => self.one_expr(StmtKind::Await),
            "assert" => self.assert(),
            "print" => {
                self.bump();
                self.expect(T::LParen, "`(`")?;
                let values = self.list(T::RParen, |p| p.expr())?;
                self.semicolon()?;
                Ok(StmtKind::Print(values))
            }
            _ => self.expr_stmt(),
        }
    }
    fn select(&mut self) -> Parsed<StmtKind> {
        self.bump();
        self.bump();
        let (mut branches, mut otherwise) = (Vec::new(), None);
        loop {
            if !self.eat_word("when") {
                let help =
                    "branches begin with `when`: `select { when x > 0 { .. } or when let m = c.receive() { .. } }`";
                return self.unexpected("`when`", Some(help.into()));
            }
            let when = self.when()?;
            branches.push((when, self.block()?));
            if !self.eat_word("or") {
                break;
            }
        }
        if self.eat_word("else") {
            otherwise = Some(self.block()?);
        }
        self.expect(T::RBrace, "`or`, `else` or `}`")?;
        Ok(StmtKind::Select { branches, otherwise })
    }
    /// What stands behind `when`.
    fn when(&mut self) -> Parsed<When> {
        let no_record = std::mem::replace(&mut self.no_record, true);
        let when = self.when_itself();
        self.no_record = no_record;
        when
    }
    fn when_itself(&mut self) -> Parsed<When> {
        let mutable = self.is_word("var");
        if mutable || self.is_word("let") {
            self.bump();
            let name = self.name("the name of a variable")?;
            self.expect(T::Eq, "`=`")?;
            return Ok(When::Let { mutable, name, value: self.rhs()? });
        }
        let target = self.rhs()?;
        Ok(if self.eat(T::Eq) { When::Assign { target, value: self.rhs()? } } else { When::Expr(target) })
    }
    fn one_word(&mut self, kind: StmtKind) -> Parsed<StmtKind> {
        self.bump();
        self.semicolon()?;
        Ok(kind)
    }
    fn one_expr(&mut self, make: fn(Expr) -> StmtKind) -> Parsed<StmtKind> {
        self.bump();
        let e = self.expr()?;
        self.semicolon()?;
        Ok(make(e))
    }
    fn local(&mut self, mutable: bool) -> Parsed<StmtKind> {
        self.bump();
        let names = if self.eat(T::LParen) {
            self.list(T::RParen, |p| p.name("a name"))?
        } else {
            vec![self.name("the name of a variable")?]
        };
        let ty = if self.eat(T::Colon) { Some(self.ty()?) } else { None };
        let init = if self.eat(T::Eq) { Some(self.rhs()?) } else { None };
        self.semicolon()?;
        Ok(StmtKind::Local { mutable, names, ty, init })
    }
    fn return_stmt(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let mut values = Vec::new();
        if self.peek() == T::LParen && self.is_tuple() {
            self.bump();
            values = self.list(T::RParen, |p| p.expr())?;
        } else if self.peek() != T::Semi {
            values.push(self.rhs()?);
        }
        self.semicolon()?;
        Ok(StmtKind::Return(values))
    }
    fn for_stmt(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let help = || Some("write `for i in 0..n - 1 { .. }`; both ends are included".into());
        if self.peek() == T::LParen {
            let refused = self.unexpected("the name of a variable", help());
            // What stands in the parentheses would be refused once more.
            while !matches!(self.peek(), T::RParen | T::LBrace | T::RBrace | T::End) {
                self.bump();
            }
            return refused;
        }
        let name = self.name("the name of a variable")?;
        if !self.eat_word("in") {
            return self.unexpected("`in`", help());
        }
        let no_record = std::mem::replace(&mut self.no_record, true);
        let bounds = (|| {
            let lo = self.bound()?;
            self.expect(T::DotDot, "`..`")?;
            Ok((lo, self.bound()?))
        })();
        self.no_record = no_record;
        let (lo, hi) = bounds?;
        Ok(StmtKind::For { name, lo, hi, body: self.block()? })
    }
    fn assert(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let condition = self.expr()?;
        let mut message = None;
        if self.eat(T::Comma) {
            if self.peek() != T::Text {
                return self.unexpected("a message in double quotes", None);
            }
            let node = unescape(self.text());
            message = Some(Spanned { node, span: self.bump() });
        }
        self.semicolon()?;
        Ok(StmtKind::Assert(condition, message))
    }
    fn if_stmt(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let guard = self.guard()?;
        let then = self.block()?;
        let (mut otherwise, mut else_if) = (None, false);
        if self.eat_word("else") {
            if self.is_word("if") {
                else_if = true;
                let start = self.span();
                let node = self.nested(|p| p.if_stmt())?;
                let span = start.to(self.last_span());
                otherwise = Some(Spanned { node: vec![Spanned { node, span }], span });
            } else {
                otherwise = Some(self.block()?);
            }
        }
        Ok(StmtKind::If { guard, then, otherwise, else_if })
    }
    /// What follows the parentheses behind the word here.
    fn behind_parentheses(&self) -> T {
        let mut depth = 0;
        for (i, token) in self.tokens[self.at..].iter().enumerate().skip(1) {
            match token.kind {
                T::LParen => depth += 1,
                T::RParen if depth == 1 => return self.peek_at(i + 1),
                T::RParen => depth -= 1,
                T::Semi | T::LBrace | T::RBrace => break,
                _ => {}
            }
        }
        T::End
    }
    /// Whether the parenthesis here holds several items.
    fn is_tuple(&self) -> bool {
        let mut depth = 0;
        for token in &self.tokens[self.at..] {
            match token.kind {
                T::LParen | T::LBracket | T::LBrace => depth += 1,
                T::RParen | T::RBracket | T::RBrace => {
                    depth -= 1;
                    if depth == 0 {
                        return false;
                    }
                }
                T::Comma if depth == 1 => return true,
                T::Semi | T::End => return false,
                _ => {}
            }
        }
        false
    }
    fn expr_stmt(&mut self) -> Parsed<StmtKind> {
        let start = self.at;
        if ["int", "bool"].contains(&self.text()) && self.peek_at(1) == T::Name {
            let help = format!("declare it `var {}: {} = ..;`", self.text_at(1), self.text());
            return self.unexpected("a statement", Some(help));
        }
        // A word that other languages begin statements with, unless it is a name that something is done with.
        let named = match self.peek_at(1) {
            T::LParen => self.behind_parentheses() != T::LBrace,
            next => matches!(
                next,
                T::Eq
                    | T::PlusEq
                    | T::MinusEq
                    | T::StarEq
                    | T::SlashEq
                    | T::PercentEq
                    | T::Dot
                    | T::LBracket
                    | T::Comma
            ),
        };
        if let (false, Some(help)) = (named, idioms::statement(self.text())) {
            return self.unexpected("a statement", Some(help.into()));
        }
        let targets = if self.peek() == T::LParen && self.is_tuple() {
            self.bump();
            self.list(T::RParen, |p| p.expr())?
        } else {
            if !matches!(self.peek(), T::Name | T::LParen) {
                return self.unexpected("a statement", self.foreign().map(String::from));
            }
            vec![self.rhs()?]
        };
        if targets.len() == 1 && self.peek() == T::Comma {
            return self.assign_all(targets);
        }
        let op = match self.peek() {
            T::Eq => None,
            T::PlusEq => Some(BinaryOp::Add),
            T::MinusEq => Some(BinaryOp::Sub),
            T::StarEq => Some(BinaryOp::Mul),
            T::SlashEq => Some(BinaryOp::Div),
            T::PercentEq => Some(BinaryOp::Rem),
            _ => return self.no_assignment(targets, start),
        };
        self.bump();
        let value = self.rhs()?;
        self.semicolon()?;
        Ok(StmtKind::Assign { targets, op, value })
    }
    /// `x, y = e, f;` behind the first place.
    fn assign_all(&mut self, mut targets: Vec<Expr>) -> Parsed<StmtKind> {
        while self.eat(T::Comma) {
            targets.push(self.expr()?);
        }
        self.expect(T::Eq, "`=`")?;
        let mut values = vec![self.expr()?];
        while self.eat(T::Comma) {
            values.push(self.expr()?);
        }
        self.semicolon()?;
        Ok(StmtKind::AssignAll { targets, values })
    }
    /// Behind expressions that are not assigned to: a call, or what is wrong.
    fn no_assignment(&mut self, mut targets: Vec<Expr>, start: usize) -> Parsed<StmtKind> {
        let callable = matches!(
            targets.last().map(|t| &t.node),
            Some(
                ExprKind::Call(..)
                    | ExprKind::Method(..)
                    | ExprKind::Spawn(..)
                    | ExprKind::Post(..)
                    | ExprKind::New(..)
            )
        );
        if targets.len() == 1 && callable {
            let node = targets.remove(0);
            if let (ExprKind::Call(name, _), false, false) = (&node.node, self.peek() == T::Semi, self.begins_line())
                && let Some(help) = idioms::statement(&name.node)
            {
                return self.unexpected("`;`", Some(help.into()));
            }
            self.semicolon()?;
            return Ok(StmtKind::Expr(node));
        }
        if self.foreign().is_some() && self.at != start {
            self.semicolon()?;
        }
        if targets.len() == 1 && self.at != start && self.peek() == T::Semi {
            let span = targets[0].span;
            self.report(
                "E0106",
                "this expression has no effect".into(),
                span,
                "not a statement".into(),
                Some("assign it, or remove it".into()),
            );
            return Err(Failed);
        }
        self.unexpected("`=`", self.foreign().map(String::from))
    }
}

/// The text of a string token without quotes and escapes.
fn unescape(token: &str) -> String {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or("");
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}
