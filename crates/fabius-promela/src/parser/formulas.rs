//! `ltl` formulas, with the precedences of SPIN: `->` and `<->` are loosest, then `||`, `&&`, and `U`, `W`, `V`; all of them go
//! from left to right.

use super::Parser;
use super::expressions::WITHOUT_LOGIC;
use crate::ast::*;
use crate::lexer::Kind;
use crate::refusal::{Result, strange, unsupported, wrong};

/// Most parts of a formula.
const MOST_PARTS: usize = 1000;

impl Parser {
    pub(super) fn ltl(&mut self, file: &mut File) -> Result<()> {
        let word = self.next();
        let name = if self.is("{") { Name { text: "ltl".into(), span: word.span } } else { self.name()? };
        self.expect("{")?;
        let from = self.at;
        self.parts = 0;
        let formula = self.implication()?;
        let span = self.since(from);
        if !self.is("}") {
            return Err(strange(self.peek().span, "the formula does not go on like this"));
        }
        self.next();
        file.formulas.push(Formula { name, span, formula });
        Ok(())
    }

    /// Counts parts of a formula.
    fn more_parts(&mut self, count: usize) -> Result<()> {
        self.parts += count;
        match self.parts > MOST_PARTS {
            false => Ok(()),
            true => Err(unsupported(self.peek().span, format!("a formula of more than {MOST_PARTS} parts"))
                .help("make several formulas of it; `<->` and `W` repeat what stands beside them")),
        }
    }

    fn implication(&mut self) -> Result<Ltl> {
        let before = self.parts;
        let mut left = self.deeper(Self::disjunction)?;
        loop {
            if self.take("->") || self.take("implies") {
                let right = self.deeper(Self::disjunction)?;
                left = Ltl::Or(Ltl::Not(left.into()).into(), right.into());
            } else if self.is("<") && self.ahead(1).is("->") || self.is("equivalent") {
                self.at += if self.is("<") { 2 } else { 1 };
                let right = self.deeper(Self::disjunction)?;
                self.more_parts(self.parts - before)?;
                let both = Ltl::And(left.clone().into(), right.clone().into());
                let none = Ltl::And(Ltl::Not(left.into()).into(), Ltl::Not(right.into()).into());
                left = Ltl::Or(both.into(), none.into());
            } else {
                return Ok(left);
            }
        }
    }

    fn disjunction(&mut self) -> Result<Ltl> {
        let mut left = self.conjunction()?;
        while self.take("||") || self.take("or") {
            left = Ltl::Or(left.into(), self.conjunction()?.into());
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Ltl> {
        let mut left = self.until()?;
        while self.take("&&") || self.take("and") {
            left = Ltl::And(left.into(), self.until()?.into());
        }
        Ok(left)
    }

    fn until(&mut self) -> Result<Ltl> {
        let mut left = self.temporal()?;
        loop {
            if self.take("U") || self.take("until") || self.take("stronguntil") {
                left = Ltl::Until(left.into(), self.temporal()?.into());
            } else if self.take("V") || self.take("release") {
                left = Ltl::Release(left.into(), self.temporal()?.into());
            } else if self.take("W") || self.take("weakuntil") {
                let before = self.parts;
                let right = self.temporal()?;
                self.more_parts(self.parts - before)?;
                left = Ltl::Release(right.clone().into(), Ltl::Or(left.into(), right.into()).into());
            } else {
                return Ok(left);
            }
        }
    }

    fn temporal(&mut self) -> Result<Ltl> {
        self.more_parts(1)?;
        let span = self.peek().span;
        if self.is("[") && self.ahead(1).is("]") {
            self.at += 2;
            return Ok(Ltl::Always(self.operand()?.into()));
        }
        if self.take("always") {
            return Ok(Ltl::Always(self.operand()?.into()));
        }
        if self.take("<>") || self.take("eventually") {
            return Ok(Ltl::Eventually(self.operand()?.into()));
        }
        if self.is("X") || self.is("next") {
            return Err(
                unsupported(span, "next in a formula").help("SPIN takes it only where it is built with `-DNXT`")
            );
        }
        let from = self.at;
        if self.is("!") || self.is("(") {
            // An expression, if that is all there is to it.
            let why = match self.binary(WITHOUT_LOGIC) {
                Ok(e) => return Ok(Ltl::State(e)),
                Err(why) => (self.at, why),
            };
            self.at = from + 1;
            let inner = if self.tokens[from].is("!") {
                self.deeper(Self::temporal).map(|inner| Ltl::Not(inner.into()))
            } else {
                self.deeper(Self::implication).and_then(|inner| self.expect(")").map(|_| inner))
            };
            // Of the two refusals the one that comes later.
            return inner.map_err(|later| if why.0 > self.at { why.1 } else { later });
        }
        Ok(Ltl::State(self.binary(WITHOUT_LOGIC)?))
    }

    /// What `[]` or `<>` speaks of, which for SPIN is the next operand alone.
    fn operand(&mut self) -> Result<Ltl> {
        let from = self.at;
        let operand = self.deeper(Self::temporal)?;
        match &operand {
            Ltl::State(Expr { kind: ExprKind::Binary(..), span }) if !self.is_enclosed(from) => {
                Err(wrong(*span, "of this SPIN takes the beginning alone to belong to the operator in front of it")
                    .help("put it into parentheses"))
            }
            _ => Ok(operand),
        }
    }

    /// Whether the tokens since one of them are one pair of parentheses.
    fn is_enclosed(&self, from: usize) -> bool {
        let mut depth = 0;
        let closes = self.tokens[from..self.at].iter().position(|token| {
            depth += match token.kind {
                Kind::Sign("(") => 1,
                Kind::Sign(")") => -1,
                _ => 0,
            };
            depth == 0
        });
        closes.is_some_and(|n| from + n + 1 == self.at)
    }
}
