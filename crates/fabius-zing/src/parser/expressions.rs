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
    &["<", "<=", ">", ">=", "in"],
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
            let Some(sign) = operators.iter().find(|sign| self.is(sign)) else { return Ok(left) };
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
        let from = self.at;
        if self.take("out") {
            let place = self.expr()?;
            return Ok(Expr { kind: ExprKind::Out(place.into()), span: self.since(from) });
        }
        self.expr()
    }

    fn primary(&mut self) -> Result<Expr> {
        let from = self.at;
        let token = self.peek().clone();
        let kind = match &token.kind {
            Kind::Number(n, suffix) => {
                self.next();
                ExprKind::Number(*n, *suffix)
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
                    let of = self.expr()?;
                    self.expect(")")?;
                    ExprKind::Choose(of.into())
                }
                "new" => {
                    self.next();
                    let of = self.name("a type")?;
                    if self.take("[") {
                        let len = self.expr()?;
                        self.expect("]")?;
                        self.lengths.push((of.text.clone(), len.clone()));
                        ExprKind::NewArray(of, len.into())
                    } else {
                        ExprKind::New(of)
                    }
                }
                "self" | "typeof" => {
                    return Err(
                        unsupported(token.span, format!("`{word}`")).help("give processes numbers as arguments")
                    );
                }
                _ => ExprKind::Name(self.name("an expression")?.text),
            },
            Kind::Text(text) => {
                self.next();
                let texts = self.texts.get_or_insert_default();
                if !texts.contains(text) {
                    texts.push(text.clone());
                }
                ExprKind::Text(text.clone())
            }
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(Expr { kind, span: self.since(from) })
    }
}
