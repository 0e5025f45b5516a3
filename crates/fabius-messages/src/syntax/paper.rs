//! The paper's form: a list of threads, each a list of `(location command)`.
//!
//! Paper: Proving MCAPI Executions are Correct, Applying SMT to Message Passing (P4), Figure 3.
//!
//! Deviations:
//! 1. The threads may stand in parentheses of their own or not: `(thread thread ..)` or `thread thread ..`. The form begins
//!    with the word `ctp` or without.
//! 2. Threads have no names in the paper; they are called T0, T1, ..
//! 3. An assignment is `(x := e)` or `(:= x e)`. Expressions are in prefix form; `and`, `or`, `not`, `=` and our operators
//!    are read.
//! 4. The locations only tell commands apart: they are read and forgotten. The `trace` (a list of moves) is not read: all
//!    of them are what is asked for.

use super::build::{Build, Typed};
use super::lexer::TokenKind;
use super::{DEEPEST, Lost, Tokens, Word};
use crate::ctp::Operator;
use fabius_trace::Span;

struct Parser<'a> {
    tokens: Tokens<'a>,
    build: Build,
    threads: usize,
}

pub(super) fn parse(tokens: Tokens<'_>, build: Build) -> Build {
    let mut parser = Parser { tokens, build, threads: 0 };
    // An error in parentheses loses the rest of them, not more.
    let _ = parser.file();
    parser.build
}

impl Parser<'_> {
    fn lost<T>(&mut self, wanted: &str, help: Option<&str>) -> Result<T, Lost> {
        self.build.report(self.tokens.unexpected(wanted, help));
        Err(Lost)
    }

    fn open(&mut self, wanted: &str) -> Result<Span, Lost> {
        let span = self.tokens.token().span;
        if self.tokens.accept(TokenKind::LParen) { Ok(span) } else { self.lost(wanted, None) }
    }

    fn close(&mut self) -> Result<(), Lost> {
        if self.tokens.accept(TokenKind::RParen) { Ok(()) } else { self.lost("`)`", None) }
    }

    /// The kind of the token that is so many further.
    fn ahead(&self, n: usize) -> TokenKind {
        self.tokens.list.get(self.tokens.next + n).map_or(TokenKind::End, |t| t.kind)
    }

    fn file(&mut self) -> Result<(), Lost> {
        let is_ctp = self.ahead(1) == TokenKind::Name && self.tokens.list[1].span.text(self.tokens.source) == "ctp";
        // `((location ..` is a thread, `(((location ..` a list of them.
        let wrapped = is_ctp || self.ahead(1) == TokenKind::LParen && self.ahead(2) == TokenKind::LParen;
        if wrapped {
            self.tokens.take();
            if is_ctp {
                self.tokens.take();
            }
        }
        while self.tokens.kind() == TokenKind::LParen {
            self.thread()?;
        }
        if wrapped {
            self.close()?;
        }
        if self.tokens.kind() != TokenKind::End {
            return self.lost("a thread or the end of the file", None);
        }
        Ok(())
    }

    fn thread(&mut self) -> Result<(), Lost> {
        let span = self.open("a thread")?;
        let name = Word { text: format!("T{}", self.threads), span };
        self.threads += 1;
        self.build.node(&name);
        while self.tokens.kind() == TokenKind::LParen {
            let depth = self.tokens.next;
            if self.command().is_err() {
                self.skip_from(depth);
            }
        }
        self.close()
    }

    /// Goes on behind the parenthesis that closes the one at this token.
    fn skip_from(&mut self, token: usize) {
        let mut open = 0;
        self.tokens.next = token;
        loop {
            match self.tokens.take().kind {
                TokenKind::LParen => open += 1,
                TokenKind::RParen => open -= 1,
                TokenKind::End => return,
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
    }

    fn atom(&mut self, wanted: &str) -> Result<Word, Lost> {
        match self.tokens.kind() {
            TokenKind::Name | TokenKind::Number => Ok(self.tokens.word()),
            _ => self.lost(wanted, None),
        }
    }

    fn name(&mut self, wanted: &str) -> Result<Word, Lost> {
        match self.tokens.kind() {
            TokenKind::Name => Ok(self.tokens.word()),
            _ => self.lost(wanted, None),
        }
    }

    /// `(location command)`.
    fn command(&mut self) -> Result<(), Lost> {
        self.open("`(`")?;
        self.atom("a location")?;
        let start = self.open("a command in parentheses")?.start;
        let first = match self.tokens.kind() {
            TokenKind::Name | TokenKind::ColonEq => self.tokens.word(),
            _ => return self.lost("a command", Some("commands are assume, assert, :=, sndi, rcvi and wait")),
        };
        let span = |p: &Self| Span { start, end: p.tokens.token().span.end };
        match first.text.as_str() {
            "assume" | "assert" => {
                let condition = self.expression(0)?;
                let span = span(self);
                if first.text == "assume" {
                    self.build.assume(span, condition);
                } else {
                    self.build.assert(span, condition, None);
                }
            }
            "sndi" => {
                let name = self.name("the action of a send")?;
                let (from, to) = (self.atom("the source")?, self.atom("the destination")?);
                let value = self.expression(0)?;
                self.build.send(span(self), &name, &from, &to, value);
            }
            "rcvi" => {
                let name = self.name("the action of a receive")?;
                let endpoint = self.atom("the destination")?;
                let variable = self.name("a variable")?;
                self.build.receive(span(self), &name, &endpoint, &variable);
            }
            "wait" => {
                let name = self.name("the action that is waited for")?;
                self.build.wait(span(self), &name);
            }
            ":=" => {
                let variable = self.name("a variable")?;
                let value = self.expression(0)?;
                self.build.assign(span(self), &variable, value);
            }
            _ if self.tokens.accept(TokenKind::ColonEq) => {
                let value = self.expression(0)?;
                self.build.assign(span(self), &first, value);
            }
            _ => {
                self.tokens.next -= 1;
                return self.lost("a command", Some("commands are assume, assert, :=, sndi, rcvi and wait"));
            }
        }
        self.close()?;
        self.close()
    }

    fn expression(&mut self, depth: usize) -> Result<Typed, Lost> {
        if depth > DEEPEST {
            return self.lost("a simpler expression", None);
        }
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
            TokenKind::Minus => {
                self.tokens.take();
                if self.tokens.kind() == TokenKind::Number {
                    let number = self.tokens.word();
                    return Ok(self.build.number(&format!("-{}", number.text), token.span.to(number.span)));
                }
                let operand = self.expression(depth + 1)?;
                let span = token.span.to(operand.span);
                Ok(self.build.negative(operand, span))
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
                self.application(token.span, depth + 1)
            }
            _ => self.lost("an expression", None),
        }
    }

    fn application(&mut self, start: Span, depth: usize) -> Result<Typed, Lost> {
        let word = self.tokens.text().to_string();
        if word == "not" || word == "!" {
            self.tokens.take();
            let operand = self.expression(depth)?;
            let span = start.to(self.tokens.token().span);
            self.close()?;
            return Ok(self.build.not(operand, span));
        }
        let operator = match word.as_str() {
            "+" => Operator::Add,
            "-" => Operator::Sub,
            "*" => Operator::Mul,
            "=" | "==" => Operator::Eq,
            "!=" => Operator::Ne,
            "<" => Operator::Lt,
            "<=" => Operator::Le,
            ">" => Operator::Gt,
            ">=" => Operator::Ge,
            "and" | "&&" => Operator::And,
            "or" | "||" => Operator::Or,
            _ => return self.lost("an operator", Some("operators are + - * = != < <= > >= and or not")),
        };
        self.tokens.take();
        let (a, b) = (self.expression(depth)?, self.expression(depth)?);
        let span = start.to(self.tokens.token().span);
        self.close()?;
        Ok(Typed { span, ..self.build.binary(operator, a, b) })
    }
}
