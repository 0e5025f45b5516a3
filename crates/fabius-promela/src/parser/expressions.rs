//! Expressions.

use super::{LONGEST, Parser};
use crate::ast::*;
use crate::lexer::Kind;
use crate::refusal::{Result, strange, unsupported};

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
/// Where `|` stands among them: what a formula is about begins there.
pub(super) const WITHOUT_LOGIC: usize = 2;

/// Names with a meaning that is not taken.
const OTHER: [&str; 9] =
    ["timeout", "np_", "enabled", "pc_value", "get_priority", "set_priority", "_priority", "_last", "STDIN"];

impl Parser {
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.deeper(|p| p.binary(0))
    }

    pub(super) fn binary(&mut self, level: usize) -> Result<Expr> {
        let Some(operators) = BINARY.get(level) else { return self.unary() };
        let from = self.at;
        let mut left = self.binary(level + 1)?;
        let mut operands = 1;
        while let Kind::Sign(sign) = self.peek().kind {
            if !operators.contains(&sign) {
                break;
            }
            operands += 1;
            if operands > LONGEST {
                return Err(unsupported(self.peek().span, format!("more than {LONGEST} operands in a row"))
                    .help("put halves of them into parentheses"));
            }
            self.next();
            let right = self.binary(level + 1)?;
            left = Expr { kind: ExprKind::Binary(sign, left.into(), right.into()), span: self.since(from) };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr> {
        let from = self.at;
        match self.peek().kind {
            Kind::Sign(sign @ ("!" | "~" | "-")) => {
                self.next();
                let inner = self.deeper(Self::unary)?;
                Ok(Expr { kind: ExprKind::Unary(sign, inner.into()), span: self.since(from) })
            }
            Kind::Sign("!!") => {
                self.next();
                let inner = self.deeper(Self::unary)?;
                let span = self.since(from);
                let once = Expr { kind: ExprKind::Unary("!", inner.into()), span };
                Ok(Expr { kind: ExprKind::Unary("!", once.into()), span })
            }
            _ => self.primary(),
        }
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
                if self.take("->") {
                    let yes = self.expr()?;
                    self.expect(":")?;
                    let no = self.expr()?;
                    inner.kind = ExprKind::Conditional(Box::new(inner.clone()), yes.into(), no.into());
                }
                self.expect(")")?;
                inner.kind
            }
            Kind::Word(word) => match word.as_str() {
                "true" | "skip" => {
                    self.next();
                    ExprKind::Bool(true)
                }
                "false" => {
                    self.next();
                    ExprKind::Bool(false)
                }
                "len" | "empty" | "nempty" | "full" | "nfull" if self.ahead(1).is("(") => {
                    self.next();
                    self.next();
                    let channel = self.lvalue()?;
                    self.expect(")")?;
                    ExprKind::OfChannel(word.clone(), channel)
                }
                "run" => {
                    self.next();
                    let name = self.name()?;
                    self.expect("(")?;
                    let args = if self.is(")") { Vec::new() } else { self.list()? };
                    self.expect(")")?;
                    if self.is("priority") {
                        return Err(self.no_priority());
                    }
                    ExprKind::Run(name, args)
                }
                other if OTHER.contains(&other) => {
                    self.next();
                    if self.is("(") {
                        self.at = crate::macros::arguments(&self.tokens, self.at)?.1;
                    }
                    ExprKind::Other(other.into())
                }
                _ => return self.read(),
            },
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(Expr { kind, span: self.since(from) })
    }

    fn read(&mut self) -> Result<Expr> {
        let from = self.at;
        let place = self.lvalue()?;
        let any = self.is("??");
        if (any || self.is("?")) && self.ahead(1).is("[") {
            self.next();
            self.next();
            let args = self.message()?;
            self.expect("]")?;
            return Ok(Expr { kind: ExprKind::Poll(place, any, args), span: self.since(from) });
        }
        if let [(process, index)] = place.parts.as_slice()
            && self.take("@")
        {
            let kind = ExprKind::At(process.clone(), index.clone().map(Box::new), self.name()?);
            return Ok(Expr { kind, span: self.since(from) });
        }
        let looks = self.proctypes.contains(&place.parts[0].0.text);
        if looks && self.is(":") && matches!(self.ahead(1).kind, Kind::Word(_)) {
            return self.look(place, from);
        }
        Ok(Expr { kind: ExprKind::Read(place), span: self.since(from) })
    }

    /// `P:x`, `P[number]:x`: a variable of another process, which is called so from here on.
    fn look(&mut self, process: Lvalue, from: usize) -> Result<Expr> {
        self.expect(":")?;
        let mut place = self.lvalue()?;
        let span = self.since(from);
        let number = match process.parts.as_slice() {
            [(_, None)] => String::new(),
            [(_, Some(Expr { kind: ExprKind::Number(n), .. }))] => format!("[{n}]"),
            _ => {
                return Err(unsupported(span, "a look into a process whose number is computed")
                    .help("write its number, or make a global variable of what is looked at"));
            }
        };
        let of = &mut place.parts[0].0;
        *of = Name { text: format!("{}{number}:{}", process.parts[0].0.text, of.text), span };
        Ok(Expr { kind: ExprKind::Read(Lvalue { span, ..place }), span })
    }

    pub(super) fn lvalue(&mut self) -> Result<Lvalue> {
        let from = self.at;
        let mut parts = Vec::new();
        loop {
            let name = self.name()?;
            let mut index = None;
            if self.take("[") {
                index = Some(self.expr()?);
                self.expect("]")?;
            }
            parts.push((name, index));
            if !self.take(".") {
                return Ok(Lvalue { parts, span: self.since(from) });
            }
        }
    }

    /// What is sent or received: `a, b` or `a(b)`.
    pub(super) fn message(&mut self) -> Result<Vec<Expr>> {
        let mut list = Vec::new();
        loop {
            let from = self.at;
            if self.is("eval") && self.ahead(1).is("(") {
                self.next();
                self.next();
                let inner = self.expr()?;
                self.expect(")")?;
                list.push(Expr { kind: ExprKind::Unary("eval", inner.into()), span: self.since(from) });
            } else {
                list.push(self.expr()?);
            }
            if list.len() == 1 && self.take("(") {
                if !self.is(")") {
                    list.extend(self.message()?);
                }
                self.expect(")")?;
            }
            if !self.take(",") {
                break;
            }
        }
        if list.len() > 100 {
            return Err(strange(self.peek().span, "a message of more than 100 fields"));
        }
        Ok(list)
    }
}
