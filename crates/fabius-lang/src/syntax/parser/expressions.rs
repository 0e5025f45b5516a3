//! Expressions.

use super::super::ast::*;
use super::super::lexer::TokenKind as T;
use super::{Failed, KEYWORDS, Parsed, Parser};

impl Parser<'_> {
    /// A right-hand side or guard: also what may not stand inside an expression.
    pub(super) fn rhs(&mut self) -> Parsed<Expr> {
        self.expr()
    }
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.binary(0)
    }
    pub(super) fn guard(&mut self) -> Parsed<Expr> {
        let no_record = std::mem::replace(&mut self.no_record, true);
        let guard = self.rhs();
        self.no_record = no_record;
        if guard.is_ok() && self.peek() == T::Eq {
            return self.unexpected("`{`", Some("equality is written `==`".into()));
        }
        guard
    }
    pub(super) fn binary(&mut self, least: u8) -> Parsed<Expr> {
        self.nested(|p| {
            let mut left = p.cast()?;
            while let Some((op, power)) = operator(p.peek()) {
                if power < least.max(1) {
                    break;
                }
                p.bump();
                let right = p.binary(power + 1)?;
                p.link()?;
                let span = left.span.to(right.span);
                left = Spanned { node: ExprKind::Binary(op, Box::new(left), Box::new(right)), span };
                if power == 3 && operator(p.peek()).is_some_and(|(_, next)| next == 3) {
                    let at = p.span();
                    p.report(
                        "E0107",
                        "comparisons cannot be chained".into(),
                        at,
                        "second comparison".into(),
                        Some("join them with `&&`".into()),
                    );
                    return Err(Failed);
                }
            }
            if p.is_word("and") || p.peek() == T::Question {
                return p.unexpected("an operator", p.foreign().map(String::from));
            }
            Ok(left)
        })
    }
    fn cast(&mut self) -> Parsed<Expr> {
        let mut e = self.unary()?;
        while self.eat_word("as") {
            let ty = self.ty()?;
            self.link()?;
            let span = e.span.to(ty.span);
            e = Spanned { node: ExprKind::Cast(Box::new(e), ty), span };
        }
        Ok(e)
    }
    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let op = match self.peek() {
            T::Bang => UnaryOp::Not,
            T::Minus => UnaryOp::Neg,
            T::Tilde => UnaryOp::BitNot,
            _ => return self.postfix(),
        };
        self.bump();
        let operand = self.nested(|p| p.unary())?;
        let span = start.to(operand.span);
        Ok(Spanned { node: ExprKind::Unary(op, Box::new(operand)), span })
    }
    fn postfix(&mut self) -> Parsed<Expr> {
        let mut e = self.primary()?;
        let start = e.span;
        while matches!(self.peek(), T::Dot | T::LBracket) {
            self.link()?;
            let node = if self.eat(T::Dot) {
                let name = if self.peek() == T::Name {
                    let node = self.text().to_string();
                    Spanned { node, span: self.bump() }
                } else {
                    self.name("the name of a field")?
                };
                if self.eat(T::LParen) {
                    ExprKind::Method(Box::new(e), name, self.list(T::RParen, |p| p.expr())?)
                } else {
                    ExprKind::Field(Box::new(e), name)
                }
            } else {
                self.bump();
                let no_record = std::mem::replace(&mut self.no_record, false);
                let index = self.expr()?;
                self.no_record = no_record;
                self.expect(T::RBracket, "`]`")?;
                ExprKind::Index(Box::new(e), Box::new(index))
            };
            e = Spanned { node, span: start.to(self.last_span()) };
        }
        Ok(e)
    }
    fn fields(&mut self) -> Parsed<Vec<(Name, Expr)>> {
        self.list(T::RBrace, |p| {
            let name = p.name("the name of a field")?;
            p.expect(T::Colon, "`:` and a value")?;
            Ok((name, p.expr()?))
        })
    }
    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let node = match self.peek() {
            T::Number => self.number(),
            T::Star => {
                self.bump();
                ExprKind::Star
            }
            T::LParen => {
                self.bump();
                let no_record = std::mem::replace(&mut self.no_record, false);
                let e = self.expr()?;
                self.no_record = no_record;
                self.expect(T::RParen, "`)`")?;
                ExprKind::Paren(Box::new(e))
            }
            T::LBracket => self.array()?,
            T::Name => self.word()?,
            _ => return self.unexpected("an expression", self.foreign().map(String::from)),
        };
        Ok(Spanned { node, span: start.to(self.last_span()) })
    }
    fn number(&mut self) -> ExprKind {
        let text = self.text().replace('_', "");
        let (digits, radix) = match text.get(..2) {
            Some("0x" | "0X") => (&text[2..], 16),
            Some("0b" | "0B") => (&text[2..], 2),
            _ => (&text[..], 10),
        };
        let value = i128::from_str_radix(digits, radix).ok().filter(|v| *v <= u64::MAX as i128);
        let span = self.bump();
        if let Some(value) = value {
            return ExprKind::Int(value);
        }
        self.report("E0108", "not a number that fits in 64 bits".into(), span, "here".into(), None);
        ExprKind::Error
    }
    /// `[a, b]` or `[value; count]`.
    fn array(&mut self) -> Parsed<ExprKind> {
        self.bump();
        let no_record = std::mem::replace(&mut self.no_record, false);
        let mut parts = Vec::new();
        let mut node = None;
        while self.peek() != T::RBracket {
            let e = self.expr()?;
            if parts.is_empty() && self.eat(T::Semi) {
                node = Some(ExprKind::Repeat(Box::new(e), Box::new(self.expr()?)));
                break;
            }
            parts.push(e);
            if !self.eat(T::Comma) {
                break;
            }
        }
        self.no_record = no_record;
        self.expect(T::RBracket, "`,` or `]`")?;
        Ok(node.unwrap_or(ExprKind::Array(parts)))
    }
    /// What begins with a word.
    fn word(&mut self) -> Parsed<ExprKind> {
        let literal = match self.text() {
            "true" => Some(ExprKind::Bool(true)),
            "false" => Some(ExprKind::Bool(false)),
            "null" => Some(ExprKind::Null),
            "self" => Some(ExprKind::SelfHandle),
            _ => None,
        };
        if let Some(literal) = literal {
            self.bump();
            return Ok(literal);
        }
        if let Some(what) = self.quantifier() {
            return self.quantified(what);
        }
        match self.text() {
            "if" => self.if_else(),
            "match" => self.nested(Self::match_expr),
            "any" => self.any(),
            "new" => {
                self.bump();
                let name = self.name("the name of a record")?;
                self.expect(T::LBrace, "`{` and fields")?;
                Ok(ExprKind::New(name, self.fields()?))
            }
            "spawn" => {
                self.bump();
                let name = self.name("the name of a procedure")?;
                self.expect(T::LParen, "`(` and arguments")?;
                Ok(ExprKind::Spawn(name, self.list(T::RParen, |p| p.expr())?))
            }
            "post" => {
                self.bump();
                let level = if self.eat(T::At) { Some(self.name("the name of a level")?) } else { None };
                let name = self.name("the name of a procedure")?;
                self.expect(T::LParen, "`(` and arguments")?;
                Ok(ExprKind::Post(level, name, self.list(T::RParen, |p| p.expr())?))
            }
            "not" if self.peek_at(1) == T::Name && self.text_at(1) != "as" => {
                self.unexpected("an expression", Some("negation is written `!`".into()))
            }
            _ => self.named(),
        }
    }
    /// `if c { a } else { b }`.
    fn if_else(&mut self) -> Parsed<ExprKind> {
        self.bump();
        let condition = self.guard()?;
        self.expect(T::LBrace, "`{`")?;
        let no_record = std::mem::replace(&mut self.no_record, false);
        let then = self.expr()?;
        self.expect(T::RBrace, "`}`")?;
        if !self.eat_word("else") {
            return self.unexpected("`else`", Some("an `if` that is a value needs both sides".into()));
        }
        let start = self.span();
        let otherwise = if self.is_word("if") {
            let node = self.nested(|p| p.if_else())?;
            Spanned { node, span: start.to(self.last_span()) }
        } else {
            self.expect(T::LBrace, "`{`")?;
            let otherwise = self.expr()?;
            self.expect(T::RBrace, "`}`")?;
            otherwise
        };
        self.no_record = no_record;
        Ok(ExprKind::IfElse(Box::new(condition), Box::new(then), Box::new(otherwise)))
    }
    /// The quantifier that begins here: a word in front of a name and `in`.
    fn quantifier(&self) -> Option<Quantifier> {
        if self.peek_at(1) != T::Name || self.peek_at(2) != T::Name || self.text_at(2) != "in" {
            return None;
        }
        Quantifier::ALL.into_iter().find(|q| q.word() == self.text())
    }
    /// `forall i in 0..3: e`, `forall v in a: e`.
    fn quantified(&mut self, what: Quantifier) -> Parsed<ExprKind> {
        self.bump();
        let name = self.name("the name of a variable")?;
        self.bump();
        let no_record = std::mem::replace(&mut self.no_record, true);
        let first = self.bound();
        self.no_record = no_record;
        let over = match (first?, self.eat(T::DotDot)) {
            (lo, true) => Over::Range(lo, self.bound()?),
            (of, false) => Over::Elements(of),
        };
        self.expect(T::Colon, "`:` and an expression")?;
        let body = self.nested(|p| p.expr())?;
        Ok(ExprKind::Quantified { what, name, over: over.into(), body: body.into() })
    }
    /// `any u8` or `any lo..hi`.
    fn any(&mut self) -> Parsed<ExprKind> {
        self.bump();
        let builtin = KEYWORDS.contains(&self.text());
        let goes_on = matches!(
            self.peek_at(1),
            T::DotDot | T::Plus | T::Minus | T::Star | T::Dot | T::LBracket | T::Slash | T::Percent
        );
        if self.peek() == T::Name && (builtin || !goes_on) {
            return Ok(ExprKind::Any(self.ty()?));
        }
        let lo = self.bound()?;
        self.expect(T::DotDot, "`..`")?;
        Ok(ExprKind::AnyRange(Box::new(lo), Box::new(self.bound()?)))
    }
    /// A call, a record or a variable.
    fn named(&mut self) -> Parsed<ExprKind> {
        let name = self.name("an expression")?;
        if self.eat(T::LParen) {
            return Ok(ExprKind::Call(name, self.list(T::RParen, |p| p.expr())?));
        }
        if self.peek() == T::LBrace && !self.no_record {
            self.bump();
            return Ok(ExprKind::Record(name, self.fields()?));
        }
        Ok(ExprKind::Name(name.node))
    }
}

/// An operator and how tightly it binds.
fn operator(token: T) -> Option<(BinaryOp, u8)> {
    Some(match token {
        T::OrOr => (BinaryOp::Or, 1),
        T::AndAnd => (BinaryOp::And, 2),
        T::EqEq => (BinaryOp::Eq, 3),
        T::NotEq => (BinaryOp::Ne, 3),
        T::Lt => (BinaryOp::Lt, 3),
        T::Le => (BinaryOp::Le, 3),
        T::Gt => (BinaryOp::Gt, 3),
        T::Ge => (BinaryOp::Ge, 3),
        T::Or => (BinaryOp::BitOr, 4),
        T::Caret => (BinaryOp::BitXor, 5),
        T::And => (BinaryOp::BitAnd, 6),
        T::Shl => (BinaryOp::Shl, 7),
        T::Shr => (BinaryOp::Shr, 7),
        T::Plus => (BinaryOp::Add, 8),
        T::Minus => (BinaryOp::Sub, 8),
        T::Star => (BinaryOp::Mul, 9),
        T::Slash => (BinaryOp::Div, 9),
        T::Percent => (BinaryOp::Rem, 9),
        _ => return None,
    })
}
