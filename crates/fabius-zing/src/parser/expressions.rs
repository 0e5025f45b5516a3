//! Expressions.

use super::Parser;
use crate::ast::*;
use crate::lexer::Kind;
use crate::refusal::{Result, unsupported};

/// Operators with two sides, loosest first.
const BINARY: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", "<=", ">", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Parser {
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.deeper(|p| p.binary(0))
    }

    fn binary(&mut self, level: usize) -> Result<Expr> {
        let Some(operators) = BINARY.get(level) else { return self.unary() };
        let from = self.at;
        let mut left = self.binary(level + 1)?;
        loop {
            if self.is("in") {
                return Err(unsupported(self.peek().span, "whether something is in a set")
                    .help("an array of `bool`, indexed by a number, says which are in"));
            }
            let Kind::Sign(sign) = self.peek().kind else { return Ok(left) };
            if !operators.contains(&sign) {
                return Ok(left);
            }
            self.next();
            let right = self.binary(level + 1)?;
            left = Expr { kind: ExprKind::Binary(sign, left.into(), right.into()), span: self.since(from) };
        }
    }

    fn unary(&mut self) -> Result<Expr> {
        let from = self.at;
        match self.peek().kind {
            Kind::Sign(sign @ ("!" | "-")) => {
                self.next();
                let inner = self.deeper(Self::unary)?;
                Ok(Expr { kind: ExprKind::Unary(sign, inner.into()), span: self.since(from) })
            }
            Kind::Sign("+") => {
                self.next();
                self.deeper(Self::unary)
            }
            _ => self.postfix(),
        }
    }

    pub(super) fn postfix(&mut self) -> Result<Expr> {
        let from = self.at;
        let mut e = self.primary()?;
        loop {
            let kind = if self.take(".") {
                ExprKind::Member(e.into(), self.name("a field or method")?)
            } else if self.take("[") {
                let index = self.expr()?;
                self.expect("]")?;
                ExprKind::Index(e.into(), index.into())
            } else if self.is("(") && matches!(e.kind, ExprKind::Name(_) | ExprKind::Member(..)) {
                self.next();
                ExprKind::Call(e.into(), self.list(")", Self::argument)?)
            } else {
                return Ok(e);
            };
            e = Expr { kind, span: self.since(from) };
        }
    }

    fn argument(&mut self) -> Result<Expr> {
        if self.is("out") {
            return Err(unsupported(self.peek().span, "an `out` parameter")
                .help("return the value, or store it in a field of an object that is passed"));
        }
        self.expr()
    }

    fn primary(&mut self) -> Result<Expr> {
        let from = self.at;
        let token = self.peek().clone();
        let kind = match &token.kind {
            Kind::Number(n) => {
                self.next();
                ExprKind::Number(*n)
            }
            Kind::Sign("(") => {
                self.next();
                let mut inner = self.expr()?;
                self.expect(")")?;
                inner.span = self.since(from);
                return Ok(inner);
            }
            Kind::Word(word) => match word.as_str() {
                "true" | "false" => {
                    self.next();
                    ExprKind::Bool(word == "true")
                }
                "null" => {
                    self.next();
                    ExprKind::Null
                }
                "this" => {
                    self.next();
                    ExprKind::This
                }
                "sizeof" => {
                    self.next();
                    self.expect("(")?;
                    let of = self.expr()?;
                    self.expect(")")?;
                    ExprKind::Sizeof(of.into())
                }
                "choose" => {
                    self.next();
                    self.expect("(")?;
                    let of = self.name("a type")?;
                    if !self.is(")") {
                        return Err(unsupported(self.since(from), "a choice among the members of an object")
                            .help("choose a number of a `range`, and take the element that it names"));
                    }
                    self.expect(")")?;
                    ExprKind::Choose(of)
                }
                "new" => {
                    self.next();
                    let of = self.name("a type")?;
                    if self.is("[") {
                        return Err(unsupported(self.peek().span, "an array whose length is said when it is made")
                            .help("say it in the declaration: `array A[4] T;`"));
                    }
                    ExprKind::New(of)
                }
                "self" | "typeof" => {
                    return Err(
                        unsupported(token.span, format!("`{word}`")).help("give processes numbers as arguments")
                    );
                }
                _ => ExprKind::Name(self.name("an expression")?.text),
            },
            Kind::Text(_) => return Err(unsupported(token.span, "a string").help("use an `enum`")),
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(Expr { kind, span: self.since(from) })
    }
}
