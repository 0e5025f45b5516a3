//! `match`, as a statement and as an expression.

use super::super::ast::*;
use super::super::lexer::TokenKind as T;
use super::{Parsed, Parser};

/// The branches and what is behind `else`.
type Arms<T> = (Vec<(Vec<Pattern>, T)>, Option<T>);

impl Parser<'_> {
    pub(super) fn match_stmt(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let value = self.guard()?;
        let (arms, otherwise) = self.arms(Self::block)?;
        Ok(StmtKind::Match { value, arms, otherwise })
    }
    pub(super) fn match_expr(&mut self) -> Parsed<ExprKind> {
        self.bump();
        let value = self.guard()?.into();
        let no_record = std::mem::replace(&mut self.no_record, false);
        let arms = self.arms(|p| {
            p.expect(T::LBrace, "`{` and a value")?;
            let value = p.expr()?;
            p.expect(T::RBrace, "`}`")?;
            Ok(value)
        });
        self.no_record = no_record;
        let (arms, otherwise) = arms?;
        Ok(ExprKind::Match { value, arms, otherwise: otherwise.map(Box::new) })
    }
    fn arms<B>(&mut self, body: fn(&mut Self) -> Parsed<B>) -> Parsed<Arms<B>> {
        self.expect(T::LBrace, "`{`")?;
        let arms = self.arms_inside(body);
        if arms.is_err() {
            self.skip_to_end_of_arms();
        }
        arms
    }
    /// After a mistake: the branches that follow are not looked at.
    fn skip_to_end_of_arms(&mut self) {
        let mut depth = 1;
        while depth > 0 && self.peek() != T::End {
            match self.peek() {
                T::LBrace => depth += 1,
                T::RBrace => depth -= 1,
                _ => {}
            }
            self.bump();
        }
    }
    fn arms_inside<B>(&mut self, body: fn(&mut Self) -> Parsed<B>) -> Parsed<Arms<B>> {
        let (mut arms, mut otherwise) = (Vec::new(), None);
        while self.peek() != T::RBrace && otherwise.is_none() {
            if self.eat_word("else") {
                otherwise = Some(body(self)?);
                continue;
            }
            let mut patterns = vec![self.pattern()?];
            while self.eat(T::Comma) {
                patterns.push(self.pattern()?);
            }
            if self.peek() != T::LBrace {
                let help = "branches are written `match x { 0 { .. } 1, 2 { .. } else { .. } }`";
                return self.unexpected("`{` or `,`", Some(help.into()));
            }
            arms.push((patterns, body(self)?));
        }
        self.expect(T::RBrace, "a constant, `else` or `}`")?;
        Ok((arms, otherwise))
    }
    fn pattern(&mut self) -> Parsed<Pattern> {
        let no_record = std::mem::replace(&mut self.no_record, true);
        let pattern = (|| {
            let lo = self.bound()?;
            let hi = if self.eat(T::DotDot) { Some(self.bound()?) } else { None };
            Ok(Pattern { lo, hi })
        })();
        self.no_record = no_record;
        pattern
    }
}
