//! Declarations.

use super::super::ast::*;
use super::super::idioms;
use super::super::lexer::TokenKind as T;
use super::{Dialect, Failed, Parsed, Parser};
use fabius_trace::Span;

/// Words that a declaration begins with.
pub(super) const STARTS: &[&str] = &[
    "const",
    "enum",
    "record",
    "var",
    "sync",
    "data",
    "level",
    "interleave",
    "proc",
    "fn",
    "channel",
    "invariant",
    "property",
    "init",
    "buffer",
    "process",
];

impl Parser<'_> {
    pub(super) fn item(&mut self) -> Item {
        let start = self.span();
        let node = match self.item_kind() {
            Ok(kind) => kind,
            Err(Failed) => {
                self.skip_to_item(start);
                ItemKind::Error
            }
        };
        Spanned { node, span: start.to(self.last_span()) }
    }
    fn skip_to_item(&mut self, start: Span) {
        if self.span() == start {
            self.bump();
        }
        let mut depth = 0;
        loop {
            match self.peek() {
                T::End => return,
                T::LBrace => depth += 1,
                T::RBrace => {
                    depth -= 1;
                    if depth <= 0 {
                        self.bump();
                        self.eat(T::Semi);
                        return;
                    }
                }
                T::Semi if depth == 0 => {
                    self.bump();
                    if self.begins_line() {
                        return;
                    }
                    continue;
                }
                T::Name if depth == 0 && STARTS.contains(&self.text()) && self.span() != start => return,
                _ => {}
            }
            self.bump();
        }
    }
    fn item_kind(&mut self) -> Parsed<ItemKind> {
        if self.peek() != T::Name {
            return self.unexpected("a declaration (`var`, `proc`, `init`, ..)", None);
        }
        match self.text().to_string().as_str() {
            "const" => self.constant(),
            "enum" => {
                self.bump();
                let name = self.name("the name of an enum")?;
                self.expect(T::LBrace, "`{`")?;
                let names = self.list(T::RBrace, |p| p.name("a name"))?;
                Ok(ItemKind::Enum { name, names })
            }
            "record" => {
                self.bump();
                let name = self.name("the name of a record")?;
                self.expect(T::LBrace, "`{`")?;
                let fields = self.list(T::RBrace, Parser::record_field)?;
                Ok(ItemKind::Record { name, fields })
            }
            "var" | "sync" | "data" | "thread" => self.variable(),
            "level" => {
                self.bump();
                let mut names = vec![self.name("the name of a level")?];
                while self.eat(T::Lt) {
                    names.push(self.name("the name of a level")?);
                }
                self.semicolon()?;
                Ok(ItemKind::Levels(names))
            }
            "interleave" => {
                self.bump();
                if !self.eat_word("explicit") {
                    return self.unexpected("`explicit`", None);
                }
                self.semicolon()?;
                Ok(ItemKind::InterleaveExplicit)
            }
            "inline" if self.dialect == Dialect::Prelude => {
                self.bump();
                self.proc(true)
            }
            "proc" => self.proc(false),
            "fn" => self.function(),
            "channel" => self.channel(),
            "invariant" => self.invariant(),
            "property" => self.property(),
            "init" => {
                self.bump();
                Ok(ItemKind::Init(self.block()?))
            }
            "buffer" => {
                self.bump();
                let name = self.name("the name of a buffer")?;
                let kind = if self.eat_word("fifo") { BufferKind::Fifo } else { BufferKind::Bag };
                if self.peek() == T::Name {
                    let help = "tasks run in any order, or in that in which they were posted: `buffer b fifo { .. }`";
                    return self.unexpected("`{`, or `fifo`", Some(help.into()));
                }
                Ok(ItemKind::Buffer { name, kind, body: self.block()? })
            }
            "process" => self.process(),
            _ => self.no_declaration(),
        }
    }
    /// What stands where a declaration should begin, and is often meant as one.
    fn no_declaration(&mut self) -> Parsed<ItemKind> {
        match self.text() {
            "int" | "bool" => {
                let name = if self.peek_at(1) == T::Name { self.text_at(1) } else { "x" };
                let help = format!("variables are declared `var {name}: {};`", self.text());
                self.unexpected("a declaration", Some(help))
            }
            word => match idioms::declaration(word) {
                Some(help) => self.unexpected("a declaration", Some(help.into())),
                None => self.unexpected("a declaration (`var`, `proc`, `init`, ..)", None),
            },
        }
    }
    fn constant(&mut self) -> Parsed<ItemKind> {
        self.bump();
        let name = self.name("the name of a constant")?;
        let ty = if self.eat(T::Colon) { Some(self.ty()?) } else { None };
        self.expect(T::Eq, "`=` and the value of the constant")?;
        let value = self.expr()?;
        self.semicolon()?;
        Ok(ItemKind::Const { name, ty, value })
    }
    fn record_field(&mut self) -> Parsed<Field> {
        let kind = match self.text() {
            "sync" if self.peek_at(1) == T::Name => VarKind::Sync,
            "data" if self.peek_at(1) == T::Name => VarKind::Data,
            _ => VarKind::Inferred,
        };
        if kind != VarKind::Inferred {
            self.bump();
        }
        let name = self.name("the name of a field")?;
        self.expect(T::Colon, "`:` and a type")?;
        let ty = self.ty()?;
        let init = if self.eat(T::Eq) { Some(self.expr()?) } else { None };
        Ok(Field { kind, name, ty, init })
    }
    fn variable(&mut self) -> Parsed<ItemKind> {
        let kind = match self.text() {
            "sync" => VarKind::Sync,
            "data" => VarKind::Data,
            "thread" => VarKind::PerThread,
            _ => VarKind::Inferred,
        };
        if kind != VarKind::Inferred {
            self.bump();
        }
        if !self.eat_word("var") {
            return self.unexpected("`var`", None);
        }
        let name = self.name("the name of a variable")?;
        if self.peek() != T::Colon {
            let help = format!("say its type: `var {}: int = 0;`", name.node);
            return self.unexpected("`:` and the type of the variable", Some(help));
        }
        self.bump();
        let ty = self.ty()?;
        let init = if self.eat(T::Eq) { Some(self.expr()?) } else { None };
        self.semicolon()?;
        Ok(ItemKind::Var { kind, name, ty, init })
    }
    fn process(&mut self) -> Parsed<ItemKind> {
        self.bump();
        let name = self.name("the name of a process")?;
        self.expect(T::LBracket, "`[` and how many copies there are, or `[*]`")?;
        let copies = if self.peek() == T::Star && self.peek_at(1) == T::RBracket {
            self.bump();
            Copies::Any
        } else if self.peek() == T::Name && self.peek_at(1) == T::Colon && self.peek_at(2) == T::Star {
            let name = self.name("the name of the number")?;
            self.bump();
            self.bump();
            Copies::AnyNumbered { name }
        } else if self.peek() == T::Name && self.peek_at(1) == T::Name && self.text_at(1) == "in" {
            self.numbered()?
        } else {
            Copies::Count(self.expr()?)
        };
        self.expect(T::RBracket, "`]`")?;
        Ok(ItemKind::Process { name, copies, body: self.block()? })
    }
    /// `i in 0..2`.
    fn numbered(&mut self) -> Parsed<Copies> {
        let name = self.name("the name of the number")?;
        self.bump();
        if self.peek() == T::Star {
            let help = format!("any number of threads that know their numbers are `[{}: *]`", name.node);
            return self.unexpected("the least number", Some(help));
        }
        let lo = self.bound()?;
        self.expect(T::DotDot, "`..` and the greatest number")?;
        Ok(Copies::Numbered { name, lo, hi: self.bound()? })
    }
    /// `channel c: T[n];`, `channel c[m]: T[n];`.
    fn channel(&mut self) -> Parsed<ItemKind> {
        self.bump();
        let name = self.name("the name of a channel")?;
        let mut count = None;
        if self.eat(T::LBracket) {
            count = Some(self.expr()?);
            self.expect(T::RBracket, "`]`")?;
        }
        let help = "a channel of messages of type `int` with room for 3: `channel c: int[3];`".to_string();
        if !self.eat(T::Colon) {
            return self.unexpected("`:` and the type of the messages", Some(help));
        }
        let ty = self.ty()?;
        // The room behind a range has been read as an index of its upper bound.
        let (element, places) = match ty {
            Spanned { node: TypeKind::Range(lo, hi), span } if self.peek() != T::LBracket => match *hi {
                Spanned { node: ExprKind::Index(hi, places), .. } => {
                    (Spanned { node: TypeKind::Range(lo, hi), span }, *places)
                }
                _ => return self.unexpected("`[`, how many messages it has room for, and `]`", Some(help)),
            },
            element => {
                if !self.eat(T::LBracket) {
                    return self.unexpected("`[`, how many messages it has room for, and `]`", Some(help));
                }
                let places = self.expr()?;
                self.expect(T::RBracket, "`]`")?;
                (element, places)
            }
        };
        let mut kinds = Vec::new();
        while let Some(kind) = ChannelKind::ALL.into_iter().find(|k| self.is_word(k.word()) && !kinds.contains(k)) {
            self.bump();
            kinds.push(kind);
        }
        self.semicolon()?;
        Ok(ItemKind::Channel { name, count, element, places, kinds })
    }
    /// `invariant name: e;`.
    fn invariant(&mut self) -> Parsed<ItemKind> {
        self.bump();
        let name = self.name("the name of an invariant")?;
        if self.peek() != T::Colon {
            let help = "an invariant has a name: `invariant mutex: in_section <= 1;`";
            return self.unexpected("`:` and an expression", Some(help.into()));
        }
        self.bump();
        let condition = self.expr()?;
        self.semicolon()?;
        Ok(ItemKind::Invariant { name, condition })
    }
    /// `property name: eventually e;`
    fn property(&mut self) -> Parsed<ItemKind> {
        self.bump();
        let name = self.name("the name of a property")?;
        if self.peek() != T::Colon {
            let help = "a property has a name: `property served: waiting leads to served;`";
            return self.unexpected("`:` and what every execution must satisfy", Some(help.into()));
        }
        self.bump();
        let formula = self.formula()?;
        let fairness = self.fairness()?;
        self.semicolon()?;
        Ok(ItemKind::Property { name, formula, fairness })
    }
    fn formula(&mut self) -> Parsed<Formula> {
        if self.eat_word("always") {
            if !self.eat_word("eventually") {
                let help = "what holds in every state is `invariant name: e;`";
                return self.unexpected("`eventually`", Some(help.into()));
            }
            return Ok(Formula::AlwaysEventually(self.expr()?));
        }
        if self.eat_word("eventually") {
            let stays = self.eat_word("always");
            let e = self.expr()?;
            return Ok(if stays { Formula::EventuallyAlways(e) } else { Formula::Eventually(e) });
        }
        let first = self.expr()?;
        if !self.eat_word("leads") || !self.eat_word("to") {
            let help = "write `eventually e`, `always eventually e`, `eventually always e` or `e leads to f`; what holds in \
                        every state is `invariant name: e;`";
            return self.unexpected("`leads to`", Some(help.into()));
        }
        Ok(Formula::LeadsTo(first, self.expr()?))
    }
    /// `under strong fairness of p and weak fairness of q`, if it is said.
    fn fairness(&mut self) -> Parsed<Vec<Spanned<FairTo>>> {
        let start = self.span();
        if self.eat_word("without") {
            if !self.eat_word("fairness") {
                return self.unexpected("`fairness`", None);
            }
            let node = FairTo { fairness: Fairness::None, of: Vec::new() };
            return Ok(vec![Spanned { node, span: start.to(self.last_span()) }]);
        }
        let mut all = Vec::new();
        if !self.eat_word("under") {
            return Ok(all);
        }
        loop {
            let start = self.span();
            let fairness = if self.eat_word("weak") {
                Fairness::Weak
            } else if self.eat_word("strong") {
                Fairness::Strong
            } else {
                return self.unexpected("`weak` or `strong`", None);
            };
            if !self.eat_word("fairness") {
                return self.unexpected("`fairness`", None);
            }
            let mut of = Vec::new();
            if self.eat_word("of") {
                loop {
                    let name = self.name("the name of a process")?;
                    let mut number = None;
                    if self.eat(T::LBracket) {
                        number = Some(self.expr()?);
                        self.expect(T::RBracket, "`]`")?;
                    }
                    of.push((name, number));
                    if !self.eat(T::Comma) {
                        break;
                    }
                }
            }
            all.push(Spanned { node: FairTo { fairness, of }, span: start.to(self.last_span()) });
            if !self.eat_word("and") {
                return Ok(all);
            }
        }
    }
    /// `fn f(a: T) -> R { e }`.
    fn function(&mut self) -> Parsed<ItemKind> {
        self.bump();
        let name = self.name("the name of a function")?;
        self.expect(T::LParen, "`(` and parameters")?;
        let params = self.list(T::RParen, Parser::parameter)?;
        if self.peek() != T::Arrow {
            let help = "a function has one value, `fn f(a: int) -> int { a + 1 }`; what does something is a `proc`";
            return self.unexpected("`->` and the type of the value", Some(help.into()));
        }
        self.bump();
        let result = self.ty()?;
        self.expect(T::LBrace, "`{`")?;
        let value = self.expr()?;
        if self.peek() != T::RBrace {
            let help = "a function is one expression; what takes statements is a `proc`";
            return self.unexpected("`}`", Some(help.into()));
        }
        self.bump();
        Ok(ItemKind::Function { name, params, result, value })
    }
    fn proc(&mut self, inline: bool) -> Parsed<ItemKind> {
        self.bump();
        let name = self.name("the name of a procedure")?;
        self.expect(T::LParen, "`(` and parameters")?;
        let params = self.list(T::RParen, Parser::parameter)?;
        let mut results = Vec::new();
        if self.eat(T::Arrow) {
            if self.eat(T::LParen) {
                results = self.list(T::RParen, |p| p.ty())?;
            } else {
                let no_record = std::mem::replace(&mut self.no_record, true);
                let ty = self.ty();
                self.no_record = no_record;
                results.push(ty?);
            }
        }
        if self.peek() == T::Colon {
            return self.unexpected("`{` or `->`", Some("result types follow `->`".into()));
        }
        let body = self.block()?;
        Ok(ItemKind::Proc { inline, name, params, results, body })
    }
    fn parameter(&mut self) -> Parsed<Param> {
        let place = self.dialect == Dialect::Prelude && self.is_word("place") && self.peek_at(1) == T::Name;
        if place {
            self.bump();
        }
        let name = self.name("the name of a parameter")?;
        let ty = if place && self.peek() != T::Colon {
            None
        } else {
            self.expect(T::Colon, "`:` and the type of the parameter")?;
            Some(self.ty()?)
        };
        Ok(Param { place, name, ty })
    }
}
