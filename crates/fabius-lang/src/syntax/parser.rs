//! From tokens to the syntax tree: recursive descent for declarations and statements, precedence climbing for expressions.
//!
//! After an error the parser skips to the next place where a statement or declaration can begin, so that one run
//! reports all independent errors.
//!
//! Length: one function for each construct of the grammar, most of it the wording of what was expected.

use super::ast::*;
use super::lexer::{Token, TokenKind as T};
use crate::diagnostic::Diagnostic;
use fabius_trace::Span;

/// Deepest nesting of blocks and expressions.
const MAX_DEPTH: u32 = 200;
/// Highest tree of an expression: chains such as `a + b + c` and `p.next.next` nest to the left without recursion here,
/// but what walks the tree afterwards recurses.
const MAX_HEIGHT: u32 = 400;

/// Words that cannot be names.
pub const KEYWORDS: &[&str] = &[
    "any",
    "as",
    "assert",
    "assume",
    "atomic",
    "await",
    "bool",
    "break",
    "buffer",
    "choose",
    "const",
    "continue",
    "data",
    "else",
    "enum",
    "explicit",
    "false",
    "for",
    "i16",
    "i32",
    "i64",
    "i8",
    "if",
    "in",
    "init",
    "inline",
    "int",
    "interleave",
    "join",
    "let",
    "level",
    "loop",
    "map",
    "new",
    "null",
    "or",
    "post",
    "print",
    "proc",
    "process",
    "progress",
    "record",
    "ref",
    "return",
    "self",
    "skip",
    "spawn",
    "sync",
    "thread",
    "thread_set",
    "true",
    "u16",
    "u32",
    "u64",
    "u8",
    "var",
    "while",
    "yield",
    "zield",
];

/// Which language is parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// What users write.
    User,
    /// With inline procedures and place parameters.
    Prelude,
}

/// Parses `tokens` (without comments, ended by `End`) of `source`.
pub fn parse_tokens(source: &str, tokens: Vec<Token>, dialect: Dialect, diagnostics: &mut Vec<Diagnostic>) -> File {
    let mut parser = Parser { source, tokens, at: 0, depth: 0, height: 0, dialect, diagnostics, no_record: false };
    let mut items = Vec::new();
    while parser.peek() != T::End {
        items.push(parser.item());
    }
    File { items }
}

/// A syntax error has been reported; the caller recovers.
struct Failed;
type Parsed<X> = Result<X, Failed>;

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    /// Height of what has been parsed so far in the innermost call of `nested`.
    height: u32,
    dialect: Dialect,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// In a guard, `name {` begins the block, not a record.
    no_record: bool,
}

impl Parser<'_> {
    fn peek(&self) -> T {
        self.tokens[self.at].kind
    }
    fn peek_at(&self, n: usize) -> T {
        self.tokens.get(self.at + n).map_or(T::End, |t| t.kind)
    }
    fn span(&self) -> Span {
        self.tokens[self.at].span
    }
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }
    fn text(&self) -> &str {
        self.span().text(self.source)
    }
    fn text_at(&self, n: usize) -> &str {
        self.tokens.get(self.at + n).map_or("", |t| t.span.text(self.source))
    }
    fn bump(&mut self) -> Span {
        let span = self.span();
        if self.peek() != T::End {
            self.at += 1;
        }
        span
    }
    fn eat(&mut self, kind: T) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }
    fn is_word(&self, word: &str) -> bool {
        self.peek() == T::Name && self.text() == word
    }
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.bump();
        }
        found
    }
    fn report(&mut self, code: &'static str, message: String, span: Span, label: String, help: Option<String>) {
        if self.diagnostics.last().is_none_or(|d| d.span != span) {
            self.diagnostics.push(Diagnostic { code, message, span, label, related: vec![], help });
        }
    }
    /// Whether the token here is the first of its line.
    fn begins_line(&self) -> bool {
        let (from, to) = (self.last_span().end as usize, self.span().start as usize);
        self.source.get(from..to).is_some_and(|gap| gap.contains('\n'))
    }
    fn found(&self) -> String {
        match self.peek() {
            T::End => "the end of the file".into(),
            _ => format!("`{}`", self.text()),
        }
    }
    fn unexpected<X>(&mut self, expected: &str, help: Option<String>) -> Parsed<X> {
        let (found, span) = (self.found(), self.span());
        self.report("E0101", format!("expected {expected}, found {found}"), span, format!("expected {expected}"), help);
        Err(Failed)
    }
    fn expect(&mut self, kind: T, what: &str) -> Parsed<Span> {
        if self.peek() == kind { Ok(self.bump()) } else { self.unexpected(what, None) }
    }
    fn semicolon(&mut self) -> Parsed<()> {
        if self.eat(T::Semi) {
            return Ok(());
        }
        let end = self.last_span().end;
        let (help, code) = match self.peek() {
            T::ColonEq => ("assignment is written `=`", "E0101"),
            T::PlusPlus => ("write `+= 1`", "E0101"),
            T::MinusMinus => ("write `-= 1`", "E0101"),
            _ => ("add `;` here", "E0102"),
        };
        let span = if code == "E0102" { Span { start: end, end } } else { self.span() };
        let message = format!("expected `;`, found {}", self.found());
        self.report(code, message, span, "expected `;`".into(), Some(help.into()));
        // On a new line the next statement begins: go on as if the `;` were there.
        let complete = match self.peek() {
            T::Name => self.begins_line(),
            kind => kind == T::RBrace,
        };
        if complete { Ok(()) } else { Err(Failed) }
    }
    fn name(&mut self, what: &str) -> Parsed<Name> {
        if self.peek() == T::Name {
            let text = self.text().to_string();
            if KEYWORDS.contains(&text.as_str()) {
                let span = self.span();
                self.report(
                    "E0103",
                    format!("`{text}` is a word of the language and cannot be {what}"),
                    span,
                    "reserved".into(),
                    Some(format!("call it `{text}_`")),
                );
                // Where it can only have been meant as a name, go on with it.
                let meant = matches!(self.peek_at(1), T::Colon | T::Eq | T::Comma | T::Semi | T::LParen | T::RParen);
                return if meant { Ok(Spanned { node: text, span: self.bump() }) } else { Err(Failed) };
            }
            let span = self.bump();
            return Ok(Spanned { node: text, span });
        }
        self.unexpected(what, None)
    }
    fn nested<X>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<X>) -> Parsed<X> {
        if self.depth >= MAX_DEPTH {
            return self.too_deep();
        }
        let before = std::mem::replace(&mut self.height, 0);
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        self.height = before.max(self.height + 1);
        result
    }
    /// One more link of a chain: what has been parsed so far in this `nested` becomes a child.
    fn link(&mut self) -> Parsed<()> {
        if self.height >= MAX_HEIGHT {
            return self.too_deep();
        }
        self.height += 1;
        Ok(())
    }
    /// Gives up on the rest of the file.
    fn too_deep<X>(&mut self) -> Parsed<X> {
        let span = self.span();
        let help = "split it with procedures or temporaries".to_string();
        self.report("E0104", "nested too deeply".into(), span, "here".into(), Some(help));
        self.at = self.tokens.len() - 1;
        Err(Failed)
    }

    // ---- declarations

    fn item(&mut self) -> Item {
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
                T::Name if depth == 0 => {
                    let starts = [
                        "const",
                        "enum",
                        "record",
                        "var",
                        "sync",
                        "data",
                        "level",
                        "interleave",
                        "proc",
                        "init",
                        "buffer",
                        "process",
                    ];
                    if starts.contains(&self.text()) && self.span() != start {
                        return;
                    }
                }
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
            "const" => {
                self.bump();
                let name = self.name("the name of a constant")?;
                let ty = if self.eat(T::Colon) { Some(self.ty()?) } else { None };
                self.expect(T::Eq, "`=` and the value of the constant")?;
                let value = self.expr()?;
                self.semicolon()?;
                Ok(ItemKind::Const { name, ty, value })
            }
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
                let fields = self.list(T::RBrace, |p| {
                    let kind = if p.eat_word("sync") {
                        VarKind::Sync
                    } else if p.eat_word("data") {
                        VarKind::Data
                    } else {
                        VarKind::Inferred
                    };
                    let name = p.name("the name of a field")?;
                    p.expect(T::Colon, "`:` and a type")?;
                    let ty = p.ty()?;
                    let init = if p.eat(T::Eq) { Some(p.expr()?) } else { None };
                    Ok(Field { kind, name, ty, init })
                })?;
                Ok(ItemKind::Record { name, fields })
            }
            "var" | "sync" | "data" | "thread" => {
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
                self.expect(T::Colon, "`:` and the type of the variable")?;
                let ty = self.ty()?;
                let init = if self.eat(T::Eq) { Some(self.expr()?) } else { None };
                self.semicolon()?;
                Ok(ItemKind::Var { kind, name, ty, init })
            }
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
            "init" => {
                self.bump();
                Ok(ItemKind::Init(self.block()?))
            }
            "buffer" => {
                self.bump();
                let name = self.name("the name of a buffer")?;
                Ok(ItemKind::Buffer { name, body: self.block()? })
            }
            "process" => {
                self.bump();
                let name = self.name("the name of a process")?;
                self.expect(T::LBracket, "`[` and how many copies there are, or `[*]`")?;
                let count = if self.peek() == T::Star && self.peek_at(1) == T::RBracket {
                    self.bump();
                    None
                } else {
                    Some(self.expr()?)
                };
                self.expect(T::RBracket, "`]`")?;
                Ok(ItemKind::Process { name, count, body: self.block()? })
            }
            "int" | "bool" => self.unexpected(
                "a declaration",
                Some(format!(
                    "variables are declared `var {}: {};`",
                    if self.peek_at(1) == T::Name { self.text_at(1) } else { "x" },
                    self.text()
                )),
            ),
            "fn" | "def" | "func" | "function" | "void" => self
                .unexpected("a declaration", Some("procedures are declared `proc name(a: int) -> int { .. }`".into())),
            _ => self.unexpected("a declaration (`var`, `proc`, `init`, ..)", None),
        }
    }
    fn proc(&mut self, inline: bool) -> Parsed<ItemKind> {
        self.bump();
        let name = self.name("the name of a procedure")?;
        self.expect(T::LParen, "`(` and parameters")?;
        let params = self.list(T::RParen, |p| {
            let place = p.dialect == Dialect::Prelude && p.is_word("place") && p.peek_at(1) == T::Name;
            if place {
                p.bump();
            }
            let name = p.name("the name of a parameter")?;
            let ty = if place && p.peek() != T::Colon {
                None
            } else {
                p.expect(T::Colon, "`:` and the type of the parameter")?;
                Some(p.ty()?)
            };
            Ok(Param { place, name, ty })
        })?;
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
    /// Items separated by commas, up to and including `close`.
    fn list<X>(&mut self, close: T, mut parse: impl FnMut(&mut Self) -> Parsed<X>) -> Parsed<Vec<X>> {
        let no_record = std::mem::replace(&mut self.no_record, false);
        let mut found = Vec::new();
        while self.peek() != close {
            found.push(parse(self)?);
            if !self.eat(T::Comma) {
                break;
            }
        }
        self.no_record = no_record;
        let what = match close {
            T::RBrace => "`,` or `}`",
            T::RParen => "`,` or `)`",
            _ => "`,` or `]`",
        };
        self.expect(close, what)?;
        Ok(found)
    }

    // ---- types

    fn ty(&mut self) -> Parsed<Type> {
        self.nested(|p| p.ty_unguarded())
    }
    fn ty_unguarded(&mut self) -> Parsed<Type> {
        let start = self.span();
        // `u8 + ..` and `u8..` go on after the type (`x as u8 + 1`); only other names can begin the bound of a range.
        let is_word = KEYWORDS.contains(&self.text());
        let node = if self.peek() == T::Name && (is_word || self.peek_at(1) != T::DotDot) {
            match self.text() {
                "map" => {
                    self.bump();
                    self.expect(T::LBracket, "`[` and the type of the keys")?;
                    let key = self.ty()?;
                    self.expect(T::RBracket, "`]`")?;
                    TypeKind::Map(Box::new(key), Box::new(self.ty()?))
                }
                "ref" => {
                    self.bump();
                    TypeKind::Ref(self.name("the name of a record")?)
                }
                _ if !is_word && matches!(self.peek_at(1), T::Plus | T::Minus | T::Star) => self.range_type()?,
                text => {
                    let builtin =
                        ["bool", "int", "thread", "thread_set", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
                    if KEYWORDS.contains(&text) && !builtin.contains(&text) {
                        return self.unexpected("a type", None);
                    }
                    let text = text.to_string();
                    self.bump();
                    TypeKind::Named(text)
                }
            }
        } else if self.eat(T::LBracket) {
            let element = self.ty()?;
            if !self.eat(T::Semi) {
                return self
                    .unexpected("`;` and the length of the array", Some("an array type is written `[int; 4]`".into()));
            }
            let length = self.expr()?;
            self.expect(T::RBracket, "`]`")?;
            TypeKind::Array(Box::new(element), Box::new(length))
        } else if matches!(self.peek(), T::Number | T::Minus | T::LParen | T::Name) {
            self.range_type()?
        } else {
            return self.unexpected("a type", None);
        };
        Ok(Spanned { node, span: start.to(self.last_span()) })
    }
    fn range_type(&mut self) -> Parsed<TypeKind> {
        let lo = self.bound()?;
        self.expect(T::DotDot, "`..`")?;
        let hi = self.bound()?;
        Ok(TypeKind::Range(Box::new(lo), Box::new(hi)))
    }
    /// A bound of a range: binds tighter than comparisons.
    fn bound(&mut self) -> Parsed<Expr> {
        self.binary(4)
    }

    // ---- statements

    fn block(&mut self) -> Parsed<Block> {
        self.nested(|p| {
            let no_record = std::mem::replace(&mut p.no_record, false);
            let start = p.expect(T::LBrace, "`{`")?;
            let mut stmts = Vec::new();
            while !matches!(p.peek(), T::RBrace | T::End) {
                let from = p.span();
                let node = match p.stmt() {
                    Ok(kind) => kind,
                    Err(Failed) => {
                        p.skip_to_stmt(from);
                        StmtKind::Error
                    }
                };
                stmts.push(Spanned { node, span: from.to(p.last_span()) });
            }
            p.no_record = no_record;
            if p.peek() == T::End {
                let end = p.span();
                // After E0104 the rest of the file was not read.
                if p.diagnostics.last().is_none_or(|d| d.code != "E0104") {
                    p.report(
                        "E0105",
                        "this block is never closed".into(),
                        start,
                        "opened here".into(),
                        Some("add `}`".into()),
                    );
                }
                return Ok(Spanned { node: stmts, span: start.to(end) });
            }
            let end = p.bump();
            Ok(Spanned { node: stmts, span: start.to(end) })
        })
    }
    fn skip_to_stmt(&mut self, from: Span) {
        self.no_record = false;
        let mut depth = 0;
        let mut first = self.span() == from;
        loop {
            match self.peek() {
                T::End => return,
                T::Semi if depth == 0 => {
                    self.bump();
                    return;
                }
                T::LBrace => depth += 1,
                T::RBrace if depth == 0 => return,
                T::RBrace => {
                    depth -= 1;
                    // `else` and `or` go on with the statement that is skipped.
                    if depth == 0 && !(self.peek_at(1) == T::Name && ["else", "or"].contains(&self.text_at(1))) {
                        self.bump();
                        return;
                    }
                }
                T::Name if depth == 0 && !first => {
                    let starts = [
                        "let", "var", "if", "while", "loop", "for", "choose", "return", "assert", "assume", "await",
                        "atomic", "join", "break", "continue", "yield", "zield", "spawn", "post",
                    ];
                    if starts.contains(&self.text()) && self.begins_line() {
                        return;
                    }
                }
                _ => {}
            }
            first = false;
            self.bump();
        }
    }
    fn guard(&mut self) -> Parsed<Expr> {
        let no_record = std::mem::replace(&mut self.no_record, true);
        let guard = self.rhs();
        self.no_record = no_record;
        if guard.is_ok() && self.peek() == T::Eq {
            return self.unexpected("`{`", Some("equality is written `==`".into()));
        }
        guard
    }
    fn stmt(&mut self) -> Parsed<StmtKind> {
        if self.peek() == T::LBrace {
            return Ok(StmtKind::Block(self.block()?));
        }
        let word = if self.peek() == T::Name { self.text().to_string() } else { String::new() };
        let simple = match word.as_str() {
            "break" => Some(StmtKind::Break),
            "continue" => Some(StmtKind::Continue),
            "yield" => Some(StmtKind::Yield),
            "zield" => Some(StmtKind::Zield),
            "skip" => Some(StmtKind::Skip),
            "progress" => Some(StmtKind::Progress),
            _ => None,
        };
        if let Some(kind) = simple {
            self.bump();
            self.semicolon()?;
            return Ok(kind);
        }
        match word.as_str() {
            "let" | "var" => {
                self.bump();
                let names = if self.eat(T::LParen) {
                    self.list(T::RParen, |p| p.name("a name"))?
                } else {
                    vec![self.name("the name of a variable")?]
                };
                let ty = if self.eat(T::Colon) { Some(self.ty()?) } else { None };
                let init = if self.eat(T::Eq) { Some(self.rhs()?) } else { None };
                self.semicolon()?;
                Ok(StmtKind::Local { mutable: word == "var", names, ty, init })
            }
            "return" => {
                self.bump();
                let mut values = Vec::new();
                if self.peek() == T::LParen && self.is_tuple() {
                    self.bump();
                    values = self.list(T::RParen, |p| p.expr())?;
                } else if self.peek() != T::Semi {
                    values.push(self.rhs()?);
                }
                self.semicolon()?;
                Ok(StmtKind::Return(values))
            }
            "if" => self.if_stmt(),
            "while" => {
                self.bump();
                let guard = self.guard()?;
                Ok(StmtKind::While { guard, body: self.block()? })
            }
            "loop" => {
                self.bump();
                Ok(StmtKind::Loop(self.block()?))
            }
            "for" => {
                self.bump();
                let name = self.name("the name of a variable")?;
                if !self.eat_word("in") {
                    return self
                        .unexpected("`in`", Some("write `for i in 0..n - 1 { .. }`; both ends are included".into()));
                }
                let no_record = std::mem::replace(&mut self.no_record, true);
                let bounds = (|| {
                    let lo = self.bound()?;
                    self.expect(T::DotDot, "`..`")?;
                    Ok((lo, self.bound()?))
                })();
                self.no_record = no_record;
                let (lo, hi) = bounds?;
                Ok(StmtKind::For { name, lo, hi, body: self.block()? })
            }
            "choose" => {
                self.bump();
                let mut blocks = vec![self.block()?];
                while self.eat_word("or") {
                    blocks.push(self.block()?);
                }
                Ok(StmtKind::Choose(blocks))
            }
            "atomic" => {
                self.bump();
                Ok(StmtKind::Atomic(self.block()?))
            }
            "join" => self.one_expr(StmtKind::Join),
            "assume" => self.one_expr(StmtKind::Assume),
            "await" => self.one_expr(StmtKind::Await),
            "assert" => {
                self.bump();
                let condition = self.expr()?;
                let mut message = None;
                if self.eat(T::Comma) {
                    if self.peek() != T::Text {
                        return self.unexpected("a message in double quotes", None);
                    }
                    let node = unescape(self.text());
                    message = Some(Spanned { node, span: self.bump() });
                }
                self.semicolon()?;
                Ok(StmtKind::Assert(condition, message))
            }
            "print" => {
                self.bump();
                self.expect(T::LParen, "`(`")?;
                let values = self.list(T::RParen, |p| p.expr())?;
                self.semicolon()?;
                Ok(StmtKind::Print(values))
            }
            _ => self.expr_stmt(),
        }
    }
    fn one_expr(&mut self, make: fn(Expr) -> StmtKind) -> Parsed<StmtKind> {
        self.bump();
        let e = self.expr()?;
        self.semicolon()?;
        Ok(make(e))
    }
    fn if_stmt(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let guard = self.guard()?;
        let then = self.block()?;
        let (mut otherwise, mut else_if) = (None, false);
        if self.eat_word("else") {
            if self.is_word("if") {
                else_if = true;
                let start = self.span();
                let node = self.nested(|p| p.if_stmt())?;
                let span = start.to(self.last_span());
                otherwise = Some(Spanned { node: vec![Spanned { node, span }], span });
            } else {
                otherwise = Some(self.block()?);
            }
        }
        Ok(StmtKind::If { guard, then, otherwise, else_if })
    }
    /// Whether the parenthesis here holds several items.
    fn is_tuple(&self) -> bool {
        let mut depth = 0;
        for token in &self.tokens[self.at..] {
            match token.kind {
                T::LParen | T::LBracket | T::LBrace => depth += 1,
                T::RParen | T::RBracket | T::RBrace => {
                    depth -= 1;
                    if depth == 0 {
                        return false;
                    }
                }
                T::Comma if depth == 1 => return true,
                T::Semi | T::End => return false,
                _ => {}
            }
        }
        false
    }
    fn expr_stmt(&mut self) -> Parsed<StmtKind> {
        let start = self.at;
        if ["int", "bool"].contains(&self.text()) && self.peek_at(1) == T::Name {
            let help = format!("declare it `var {}: {} = ..;`", self.text_at(1), self.text());
            return self.unexpected("a statement", Some(help));
        }
        let targets = if self.peek() == T::LParen && self.is_tuple() {
            self.bump();
            self.list(T::RParen, |p| p.expr())?
        } else {
            if !matches!(self.peek(), T::Name | T::LParen) {
                return self.unexpected("a statement", None);
            }
            vec![self.rhs()?]
        };
        let op = match self.peek() {
            T::Eq => None,
            T::PlusEq => Some(BinaryOp::Add),
            T::MinusEq => Some(BinaryOp::Sub),
            T::StarEq => Some(BinaryOp::Mul),
            T::SlashEq => Some(BinaryOp::Div),
            T::PercentEq => Some(BinaryOp::Rem),
            _ => {
                let mut targets = targets;
                let callable = matches!(
                    targets.last().map(|t| &t.node),
                    Some(
                        ExprKind::Call(..)
                            | ExprKind::Method(..)
                            | ExprKind::Spawn(..)
                            | ExprKind::Post(..)
                            | ExprKind::New(..)
                    )
                );
                if targets.len() == 1 && callable {
                    let node = targets.remove(0);
                    self.semicolon()?;
                    return Ok(StmtKind::Expr(node));
                }
                if matches!(self.peek(), T::ColonEq | T::PlusPlus | T::MinusMinus) {
                    self.semicolon()?;
                }
                if targets.len() > 1 || self.at == start {
                    return self.unexpected("`=`", None);
                }
                if self.peek() == T::Semi {
                    let span = targets[0].span;
                    self.report(
                        "E0106",
                        "this expression has no effect".into(),
                        span,
                        "not a statement".into(),
                        Some("assign it, or remove it".into()),
                    );
                    return Err(Failed);
                }
                return self.unexpected("`=`", None);
            }
        };
        self.bump();
        let value = self.rhs()?;
        self.semicolon()?;
        Ok(StmtKind::Assign { targets, op, value })
    }

    // ---- expressions

    /// A right-hand side or guard: also what may not stand inside an expression.
    fn rhs(&mut self) -> Parsed<Expr> {
        self.expr()
    }
    fn expr(&mut self) -> Parsed<Expr> {
        self.binary(0)
    }
    fn operator(&self) -> Option<(BinaryOp, u8)> {
        Some(match self.peek() {
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
    fn binary(&mut self, least: u8) -> Parsed<Expr> {
        self.nested(|p| {
            let mut left = p.cast()?;
            while let Some((op, power)) = p.operator() {
                if power < least.max(1) {
                    break;
                }
                p.bump();
                let right = p.binary(power + 1)?;
                p.link()?;
                let span = left.span.to(right.span);
                left = Spanned { node: ExprKind::Binary(op, Box::new(left), Box::new(right)), span };
                if power == 3 && p.operator().is_some_and(|(_, next)| next == 3) {
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
            if p.is_word("and") {
                return p.unexpected("an operator", Some("conjunction is written `&&`".into()));
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
            T::Number => {
                let text = self.text().replace('_', "");
                let (digits, radix) = match text.get(..2) {
                    Some("0x" | "0X") => (&text[2..], 16),
                    Some("0b" | "0B") => (&text[2..], 2),
                    _ => (&text[..], 10),
                };
                let value = i128::from_str_radix(digits, radix).ok().filter(|v| *v <= u64::MAX as i128);
                let span = self.bump();
                match value {
                    Some(value) => ExprKind::Int(value),
                    None => {
                        self.report("E0108", "not a number that fits in 64 bits".into(), span, "here".into(), None);
                        ExprKind::Error
                    }
                }
            }
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
            T::LBracket => {
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
                node.unwrap_or(ExprKind::Array(parts))
            }
            T::Name => return self.word(),
            _ => return self.unexpected("an expression", None),
        };
        Ok(Spanned { node, span: start.to(self.last_span()) })
    }
    fn word(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let literal = match self.text() {
            "true" => Some(ExprKind::Bool(true)),
            "false" => Some(ExprKind::Bool(false)),
            "null" => Some(ExprKind::Null),
            "self" => Some(ExprKind::SelfHandle),
            _ => None,
        };
        let node = match (literal, self.text()) {
            (Some(literal), _) => {
                self.bump();
                literal
            }
            (_, "if") => {
                self.bump();
                let condition = self.guard()?;
                self.expect(T::LBrace, "`{`")?;
                let no_record = std::mem::replace(&mut self.no_record, false);
                let then = self.expr()?;
                self.expect(T::RBrace, "`}`")?;
                if !self.eat_word("else") {
                    return self.unexpected("`else`", Some("an `if` that is a value needs both sides".into()));
                }
                self.expect(T::LBrace, "`{`")?;
                let otherwise = self.expr()?;
                self.expect(T::RBrace, "`}`")?;
                self.no_record = no_record;
                ExprKind::IfElse(Box::new(condition), Box::new(then), Box::new(otherwise))
            }
            (_, "any") => {
                self.bump();
                let builtin = KEYWORDS.contains(&self.text());
                if self.peek() == T::Name
                    && (builtin
                        || !matches!(
                            self.peek_at(1),
                            T::DotDot | T::Plus | T::Minus | T::Star | T::Dot | T::LBracket | T::Slash | T::Percent
                        ))
                {
                    ExprKind::Any(self.ty()?)
                } else {
                    let lo = self.bound()?;
                    self.expect(T::DotDot, "`..`")?;
                    ExprKind::AnyRange(Box::new(lo), Box::new(self.bound()?))
                }
            }
            (_, "new") => {
                self.bump();
                let name = self.name("the name of a record")?;
                self.expect(T::LBrace, "`{` and fields")?;
                ExprKind::New(name, self.fields()?)
            }
            (_, "spawn") => {
                self.bump();
                let name = self.name("the name of a procedure")?;
                self.expect(T::LParen, "`(` and arguments")?;
                ExprKind::Spawn(name, self.list(T::RParen, |p| p.expr())?)
            }
            (_, "post") => {
                self.bump();
                let level = if self.eat(T::At) { Some(self.name("the name of a level")?) } else { None };
                let name = self.name("the name of a procedure")?;
                self.expect(T::LParen, "`(` and arguments")?;
                ExprKind::Post(level, name, self.list(T::RParen, |p| p.expr())?)
            }
            (_, "not")
                if matches!(self.peek_at(1), T::Name | T::LParen)
                    && self.text_at(1) != "as"
                    && self.peek_at(1) == T::Name =>
            {
                return self.unexpected("an expression", Some("negation is written `!`".into()));
            }
            (_, "True" | "False" | "TRUE" | "FALSE" | "NULL" | "nil" | "None")
                if !matches!(self.peek_at(1), T::LParen | T::Eq) =>
            {
                let text = self.text();
                let right = match text.to_lowercase().as_str() {
                    "true" => "true",
                    "false" => "false",
                    _ => "null",
                };
                // Such a name may be declared; the analysis reports it if it is not.
                let _ = right;
                let node = text.to_string();
                self.bump();
                ExprKind::Name(node)
            }
            _ => {
                let name = self.name("an expression")?;
                if self.eat(T::LParen) {
                    ExprKind::Call(name, self.list(T::RParen, |p| p.expr())?)
                } else if self.peek() == T::LBrace && !self.no_record {
                    self.bump();
                    ExprKind::Record(name, self.fields()?)
                } else {
                    ExprKind::Name(name.node)
                }
            }
        };
        Ok(Spanned { node, span: start.to(self.last_span()) })
    }
}

/// The text of a string token without quotes and escapes.
fn unescape(token: &str) -> String {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or("");
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}
