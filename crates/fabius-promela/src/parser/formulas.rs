//! `ltl` formulas.

use super::Parser;
use super::expressions::WITHOUT_LOGIC;
use crate::ast::*;
use crate::refusal::{Result, strange};

impl Parser {
    pub(super) fn ltl(&mut self, file: &mut File) -> Result<()> {
        let word = self.next();
        let name = if self.is("{") { Name { text: "ltl".into(), span: word.span } } else { self.name()? };
        self.expect("{")?;
        let formula = self.implication()?;
        if !self.is("}") {
            return Err(strange(self.peek().span, "the formula does not go on like this"));
        }
        self.next();
        file.formulas.push((name, formula));
        Ok(())
    }

    fn implication(&mut self) -> Result<Ltl> {
        let left = self.deeper(Self::disjunction)?;
        if self.take("->") || self.take("implies") {
            let right = self.deeper(Self::implication)?;
            return Ok(Ltl::Or(Ltl::Not(left.into()).into(), right.into()));
        }
        let span = self.peek().span;
        for (what, words) in
            [("until", &["U", "until", "W", "weakuntil", "V", "release"][..]), ("`<->`", &["equivalent"])]
        {
            if words.iter().any(|word| self.take(word)) {
                self.deeper(Self::implication)?;
                return Ok(Ltl::Other(span, what));
            }
        }
        if self.is("<") && self.ahead(1).is("->") {
            self.at += 2;
            self.deeper(Self::implication)?;
            return Ok(Ltl::Other(span, "`<->`"));
        }
        Ok(left)
    }

    fn disjunction(&mut self) -> Result<Ltl> {
        let mut left = self.conjunction()?;
        while self.take("||") || self.take("or") {
            left = Ltl::Or(left.into(), self.conjunction()?.into());
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Ltl> {
        let mut left = self.temporal()?;
        while self.take("&&") || self.take("and") {
            left = Ltl::And(left.into(), self.temporal()?.into());
        }
        Ok(left)
    }

    fn temporal(&mut self) -> Result<Ltl> {
        let span = self.peek().span;
        if self.is("[") && self.ahead(1).is("]") {
            self.at += 2;
            return Ok(Ltl::Always(self.deeper(Self::temporal)?.into()));
        }
        if self.take("always") {
            return Ok(Ltl::Always(self.deeper(Self::temporal)?.into()));
        }
        if self.take("<>") || self.take("eventually") {
            return Ok(Ltl::Eventually(self.deeper(Self::temporal)?.into()));
        }
        if self.take("X") || self.take("next") {
            self.deeper(Self::temporal)?;
            return Ok(Ltl::Other(span, "next"));
        }
        if self.take("!") {
            return Ok(Ltl::Not(self.deeper(Self::temporal)?.into()));
        }
        let from = self.at;
        if self.is("(") {
            // An expression, if that is all there is to it.
            if let Ok(e) = self.binary(WITHOUT_LOGIC) {
                return Ok(Ltl::State(e));
            }
            self.at = from + 1;
            let inner = self.deeper(Self::implication)?;
            self.expect(")")?;
            return Ok(inner);
        }
        Ok(Ltl::State(self.binary(WITHOUT_LOGIC)?))
    }
}
