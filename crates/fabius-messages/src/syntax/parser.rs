//! Our form: `node NAME { command; .. }`.

use super::build::{Build, Typed, unquoted};
use super::lexer::TokenKind;
use super::{DEEPEST, Lost, Tokens, Word};
use crate::ctp::Operator;
use fabius_trace::Span;

const COMMANDS: &str =
    "commands are send_i, send, recv_i, recv, wait, wait_any, test, assume, assert, mark, after and `x = e`";

struct Parser<'a> {
    tokens: Tokens<'a>,
    build: Build,
    depth: usize,
}

pub(super) fn parse(tokens: Tokens<'_>, build: Build) -> Build {
    let mut parser = Parser { tokens, build, depth: 0 };
    while parser.tokens.kind() != TokenKind::End {
        if parser.node().is_err() {
            // To the next node.
            while parser.tokens.kind() != TokenKind::End && parser.tokens.text() != "node" {
                parser.tokens.take();
            }
        }
    }
    parser.build
}

impl Parser<'_> {
    fn lost<T>(&mut self, wanted: &str, help: Option<&str>) -> Result<T, Lost> {
        self.build.report(self.tokens.unexpected(wanted, help));
        Err(Lost)
    }

    fn expect(&mut self, kind: TokenKind, wanted: &str) -> Result<(), Lost> {
        if self.tokens.accept(kind) { Ok(()) } else { self.lost(wanted, None) }
    }

    fn name(&mut self, wanted: &str) -> Result<Word, Lost> {
        if self.tokens.kind() == TokenKind::Name { Ok(self.tokens.word()) } else { self.lost(wanted, None) }
    }

    fn keyword(&mut self, word: &str) -> Result<(), Lost> {
        if self.tokens.text() == word {
            self.tokens.take();
            return Ok(());
        }
        self.lost(&format!("`{word}`"), None)
    }

    fn node(&mut self) -> Result<(), Lost> {
        if self.tokens.text() != "node" {
            return self.lost("`node`", Some("a trace is a list of `node NAME { .. }`"));
        }
        self.tokens.take();
        let name = self.name("the name of a node")?;
        self.build.node(&name);
        self.expect(TokenKind::LBrace, "`{`")?;
        loop {
            match self.tokens.kind() {
                TokenKind::RBrace => {
                    self.tokens.take();
                    return Ok(());
                }
                TokenKind::End => return self.lost("`}`", Some("the commands of a node end with `}`")),
                _ => {}
            }
            if self.command().is_err() {
                // To the next command.
                while !matches!(self.tokens.kind(), TokenKind::Semi | TokenKind::RBrace | TokenKind::End) {
                    self.tokens.take();
                }
                self.tokens.accept(TokenKind::Semi);
            }
        }
    }

    /// The end of a command that began there.
    fn end(&mut self, start: Span) -> Result<Span, Lost> {
        let span = Span { start: start.start, end: self.tokens.end_of_last() };
        if self.tokens.accept(TokenKind::Semi) {
            return Ok(span);
        }
        let mut missing = self.tokens.unexpected("`;`", Some("every command ends with `;`"));
        if self.tokens.kind() == TokenKind::RBrace {
            missing.span = Span { start: span.end.saturating_sub(1), end: span.end };
        }
        self.build.report(missing);
        Err(Lost)
    }

    fn command(&mut self) -> Result<(), Lost> {
        if self.tokens.kind() != TokenKind::Name {
            return self.lost("a command", Some(COMMANDS));
        }
        let first = self.tokens.word();
        let start = first.span;
        if self.tokens.accept(TokenKind::Eq) {
            let value = self.expression()?;
            let span = self.end(start)?;
            self.build.assign(span, &first, value);
            return Ok(());
        }
        match first.text.as_str() {
            "send_i" | "send" => {
                let name = self.name("a name for the send")?;
                let from = self.endpoint()?;
                self.expect(TokenKind::Arrow, "`->`")?;
                let to = self.endpoint()?;
                self.expect(TokenKind::Colon, "`:` and the value")?;
                let value = self.expression()?;
                let span = self.end(start)?;
                self.build.send(span, &name, &from, &to, value);
                if first.text == "send" {
                    self.build.wait(span, &name);
                }
            }
            "recv_i" | "recv" => {
                let name = self.name("a name for the receive")?;
                let endpoint = self.endpoint()?;
                self.expect(TokenKind::Arrow, "`->` and a variable")?;
                let variable = self.name("a variable")?;
                let span = self.end(start)?;
                self.build.receive(span, &name, &endpoint, &variable);
                if first.text == "recv" {
                    self.build.wait(span, &name);
                }
            }
            "wait" => {
                let name = self.name("the name of a request")?;
                let span = self.end(start)?;
                self.build.wait(span, &name);
            }
            "wait_any" => {
                let mut names = vec![self.name("the name of a request")?];
                while self.tokens.accept(TokenKind::Comma) {
                    names.push(self.name("the name of a request")?);
                }
                self.keyword("is")?;
                let chosen = self.name("the request that was completed")?;
                let span = self.end(start)?;
                self.build.wait_any(span, &names, &chosen);
            }
            "test" => {
                let name = self.name("the name of a request")?;
                self.keyword("is")?;
                let answer = match self.tokens.text() {
                    "true" => true,
                    "false" => false,
                    _ => return self.lost("`true` or `false`", None),
                };
                self.tokens.take();
                let span = self.end(start)?;
                self.build.test(span, &name, answer);
            }
            "mark" | "after" => {
                let name = self.name("the name of a mark")?;
                let span = self.end(start)?;
                if first.text == "mark" { self.build.mark(span, &name) } else { self.build.after(span, &name) }
            }
            "assume" => {
                let condition = self.expression()?;
                let span = self.end(start)?;
                self.build.assume(span, condition);
            }
            "assert" => {
                let condition = self.expression()?;
                let mut why = None;
                if self.tokens.accept(TokenKind::Comma) {
                    if self.tokens.kind() != TokenKind::Text {
                        return self.lost("a text in quotes", None);
                    }
                    why = Some(unquoted(&self.tokens.word().text));
                }
                let span = self.end(start)?;
                self.build.assert(span, condition, why);
            }
            _ => {
                self.tokens.next -= 1;
                return self.lost("a command", Some(COMMANDS));
            }
        }
        Ok(())
    }

    fn endpoint(&mut self) -> Result<Word, Lost> {
        self.expect(TokenKind::At, "an endpoint, for instance `@0`")?;
        match self.tokens.kind() {
            TokenKind::Name | TokenKind::Number => Ok(self.tokens.word()),
            _ => self.lost("the number or name of an endpoint", None),
        }
    }

    fn expression(&mut self) -> Result<Typed, Lost> {
        self.binary(0)
    }

    fn binary(&mut self, least: u8) -> Result<Typed, Lost> {
        let mut left = self.operand()?;
        while let Some((operator, level)) = operator(self.tokens.kind()).filter(|(_, level)| *level >= least) {
            self.tokens.take();
            let right = self.binary(level + 1)?;
            left = self.build.binary(operator, left, right);
            if level == COMPARISON && operator_level(self.tokens.kind()) == Some(COMPARISON) {
                return self.lost("`&&` or the end of the comparison", Some("comparisons are joined by `&&`"));
            }
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Typed, Lost> {
        if self.depth >= DEEPEST {
            return self.lost("a simpler expression", Some("give parts of it a variable of their own"));
        }
        self.depth += 1;
        let result = self.operand_inside();
        self.depth -= 1;
        result
    }

    fn operand_inside(&mut self) -> Result<Typed, Lost> {
        let token = self.tokens.token();
        let text = self.tokens.text().to_string();
        match token.kind {
            TokenKind::Number => {
                self.tokens.take();
                Ok(self.build.number(&text, token.span))
            }
            TokenKind::Text => {
                self.tokens.take();
                Ok(self.build.text(&text, token.span))
            }
            TokenKind::Name if text == "true" || text == "false" => {
                self.tokens.take();
                Ok(self.build.truth(text == "true", token.span))
            }
            TokenKind::Name => {
                let name = self.tokens.word();
                Ok(self.build.variable(&name))
            }
            TokenKind::LParen => {
                self.tokens.take();
                let inside = self.expression()?;
                self.expect(TokenKind::RParen, "`)`")?;
                Ok(inside)
            }
            TokenKind::Bang => {
                self.tokens.take();
                let operand = self.operand()?;
                let span = token.span.to(operand.span);
                Ok(self.build.not(operand, span))
            }
            TokenKind::Minus => {
                self.tokens.take();
                if self.tokens.kind() == TokenKind::Number {
                    let number = self.tokens.word();
                    return Ok(self.build.number(&format!("-{}", number.text), token.span.to(number.span)));
                }
                let operand = self.operand()?;
                let span = token.span.to(operand.span);
                Ok(self.build.negative(operand, span))
            }
            _ => self.lost("an expression", None),
        }
    }
}

const COMPARISON: u8 = 2;

fn operator_level(kind: TokenKind) -> Option<u8> {
    operator(kind).map(|(_, level)| level)
}

fn operator(kind: TokenKind) -> Option<(Operator, u8)> {
    Some(match kind {
        TokenKind::OrOr => (Operator::Or, 0),
        TokenKind::AndAnd => (Operator::And, 1),
        TokenKind::EqEq => (Operator::Eq, COMPARISON),
        TokenKind::NotEq => (Operator::Ne, COMPARISON),
        TokenKind::Lt => (Operator::Lt, COMPARISON),
        TokenKind::Le => (Operator::Le, COMPARISON),
        TokenKind::Gt => (Operator::Gt, COMPARISON),
        TokenKind::Ge => (Operator::Ge, COMPARISON),
        TokenKind::Plus => (Operator::Add, 3),
        TokenKind::Minus => (Operator::Sub, 3),
        TokenKind::Star => (Operator::Mul, 4),
        _ => return None,
    })
}
