//! From tokens to the syntax tree: recursive descent for declarations and statements, precedence climbing for expressions.
//!
//! After an error the parser skips to the next place where a statement or declaration can begin, so that one run
//! reports all independent errors.
//!
//! Here is how tokens are read and what is wrong is said; each kind of construct has its file.

mod declarations;
mod expressions;
mod matching;
mod statements;
mod types;

use super::ast::*;
use super::lexer::{Token, TokenKind as T};
use crate::diagnostic::Diagnostic;
use fabius_trace::Span;

/// Deepest nesting of blocks and expressions.
const MAX_DEPTH: u32 = 200;
/// Highest tree of an expression: chains such as `a + b + c` and `p.next.next` nest to the left without recursion here,
/// but what walks the tree afterwards recurses.
const MAX_HEIGHT: u32 = 400;

/// Words that mean something in one place only, and may be names.
pub const CONTEXTUAL: &[&str] = &[
    "bag",
    "buffer",
    "channel",
    "count",
    "data",
    "exists",
    "explicit",
    "fifo",
    "fn",
    "forall",
    "init",
    "interleave",
    "invariant",
    "label",
    "len",
    "level",
    "lossy",
    "peek",
    "process",
    "progress",
    "property",
    "record",
    "select",
    "seq",
    "set",
    "sum",
    "sync",
    "unordered",
    "when",
];

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
    "choose",
    "const",
    "continue",
    "else",
    "enum",
    "false",
    "for",
    "i16",
    "i32",
    "i64",
    "i8",
    "if",
    "in",
    "inline",
    "int",
    "join",
    "let",
    "loop",
    "map",
    "match",
    "new",
    "null",
    "or",
    "post",
    "print",
    "proc",
    "ref",
    "return",
    "self",
    "skip",
    "spawn",
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
    let collections = Vec::new();
    let mut parser =
        Parser { source, tokens, at: 0, depth: 0, height: 0, dialect, diagnostics, no_record: false, collections };
    let mut items = Vec::new();
    while parser.peek() != T::End {
        items.push(parser.item());
    }
    File { items, collections: parser.collections }
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
    /// Types of collections so far.
    collections: Vec<Type>,
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
        if self.peek() == kind { Ok(self.bump()) } else { self.unexpected(what, self.foreign().map(String::from)) }
    }
    fn semicolon(&mut self) -> Parsed<()> {
        if self.eat(T::Semi) {
            return Ok(());
        }
        let end = self.last_span().end;
        // Only where something new begins a semicolon is all that is missing.
        let begins = match self.peek() {
            T::Name => {
                self.begins_line()
                    || declarations::STARTS.contains(&self.text())
                    || statements::STARTS.contains(&self.text())
            }
            T::RBrace | T::End => true,
            _ => self.begins_line() && self.foreign().is_none(),
        };
        let (code, help) = match begins {
            true => ("E0102", Some("add `;` here")),
            false => ("E0101", self.foreign()),
        };
        let span = if begins { Span { start: end, end } } else { self.span() };
        let message = format!("expected `;`, found {}", self.found());
        self.report(code, message, span, "expected `;`".into(), help.map(String::from));
        // On a new line the next statement begins: go on as if the `;` were there.
        let complete = match self.peek() {
            T::Name => self.begins_line(),
            kind => kind == T::RBrace,
        };
        if complete { Ok(()) } else { Err(Failed) }
    }
    /// What to write instead of what stands behind an expression or a statement, if another language writes it so.
    fn foreign(&self) -> Option<&'static str> {
        Some(match (self.peek(), self.peek_at(1)) {
            (T::ColonEq, _) => "assignment is written `=`",
            (T::PlusPlus, _) => "write `+= 1`",
            (T::MinusMinus, _) => "write `-= 1`",
            (T::Eq, T::Gt) => "implication is written `!a || b`",
            (T::Eq, _) => "equality is written `==`; an assignment is no value: write two, or `x, y = 0, 0;`",
            (T::Gt, _) if self.at > 0 && self.tokens[self.at - 1].kind == T::Lt => "write `!=`",
            (T::Question, _) => {
                "a choice between two values is `if c { a } else { b }`; messages are received `let x = c.receive();`"
            }
            (T::Bang, _) => "messages are sent `c.send(e);`",
            (T::Arrow, _) => "waiting for a condition is written `await e;`; among others `select { when e { .. } }`",
            (T::Colon, T::Colon) => "alternatives are written `select { when a { .. } or when b { .. } }`",
            (T::Colon, _) => {
                "every access to shared state is a step, and so is an `atomic { .. }`; a step that touches nothing is `label name;`"
            }
            (T::Text, _) => "text stands in `assert e, \"why\";` alone; values are shown in traces by `print(x);`",
            (T::LBrace, _) => "a block stands behind `if`, `while`, `for`, `loop`, `atomic`, `choose`, or alone",
            (T::Name, _) => match self.text() {
                "and" => "conjunction is written `&&`",
                "or" => "disjunction is written `||`",
                "mod" => "the remainder is written `%`",
                "xor" => "on Booleans write `!=`",
                "then" | "do" | "begin" => "what belongs to it stands in braces: `if e { .. }`, `while e { .. }`",
                "fi" | "od" | "end" => "blocks end with `}`",
                "else" => "`else` follows the `}` of an `if`, or of the branches of a `select`",
                _ => return None,
            },
            _ => return None,
        })
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
}
