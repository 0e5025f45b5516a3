//! From tokens to the syntax tree: declarations.

mod expressions;
mod formulas;
mod statements;

use crate::ast::*;
use crate::lexer::{Kind, Token};
use crate::refusal::{Refusal, Result, strange, unsupported};
use fabius_trace::Span;
use std::collections::HashMap;

/// How deep statements and expressions may stand inside of each other.
const DEEPEST: usize = 200;
/// Most operands of one expression next to each other.
const LONGEST: usize = 1000;
/// How many calls of inline macros are written out.
const MOST_CALLS: usize = 20_000;

/// Words that C begins with.
const C: [&str; 5] = ["c_code", "c_decl", "c_expr", "c_state", "c_track"];

struct Inline {
    params: Vec<String>,
    body: Vec<Token>,
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    end: Token,
    inlines: HashMap<String, Inline>,
    typedefs: Vec<String>,
    /// The names of all process types.
    proctypes: Vec<String>,
    calls: usize,
    depth: usize,
    /// The parts of the formula that is being read, those that are repeated as often as they are.
    parts: usize,
}

/// The syntax tree of a program.
///
/// # Errors
/// What does not parse, or is never taken.
pub fn parse(tokens: Vec<Token>) -> Result<File> {
    let last = tokens.last().map_or(Span::default(), |t| Span { start: t.span.end, end: t.span.end });
    let end = Token { kind: Kind::End, span: last };
    let named = tokens.windows(2).filter(|two| two[0].is("proctype"));
    let proctypes = named.filter_map(|two| two[1].word().map(String::from)).collect();
    let (inlines, typedefs) = (HashMap::new(), Vec::new());
    let mut parser = Parser { tokens, at: 0, end, inlines, typedefs, proctypes, calls: 0, depth: 0, parts: 0 };
    let mut file = File::default();
    while !parser.is_at_end() {
        parser.unit(&mut file)?;
    }
    Ok(file)
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&self.end)
    }

    fn ahead(&self, n: usize) -> &Token {
        self.tokens.get(self.at + n).unwrap_or(&self.end)
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn is(&self, text: &str) -> bool {
        self.peek().is(text)
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.is(text);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, text: &str) -> Result<Span> {
        if self.is(text) { Ok(self.next().span) } else { Err(self.unexpected(&format!("`{text}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> Refusal {
        let token = self.peek();
        let found = match &token.kind {
            Kind::Word(word) => format!("`{word}`"),
            Kind::Number(n) => format!("`{n}`"),
            Kind::Text => "a string".into(),
            Kind::Sign(sign) => format!("`{sign}`"),
            Kind::End => "the end of the text".into(),
        };
        strange(token.span, format!("{wanted} should stand here, and not {found}"))
    }

    fn name(&mut self) -> Result<Name> {
        match &self.peek().kind {
            Kind::Word(_) => {
                let token = self.next();
                Ok(Name { text: token.word().unwrap_or_default().into(), span: token.span })
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    /// From a token to the one before the next.
    fn since(&self, from: usize) -> Span {
        let first = self.tokens.get(from).unwrap_or(&self.end).span;
        let last = self.tokens[..self.at.min(self.tokens.len())].last().map_or(first, |t| t.span);
        // Behind an inline macro another part of the text goes on.
        if last.end >= first.start && self.at > from { first.to(last) } else { first }
    }

    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEEPEST {
            let refused = unsupported(self.peek().span, format!("more than {DEEPEST} levels inside of each other"));
            return Err(refused.help("does an inline macro call itself?"));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }

    fn unit(&mut self, file: &mut File) -> Result<()> {
        let token = self.peek().clone();
        match token.word().unwrap_or_default() {
            "mtype" if self.ahead(1).is("=") || self.ahead(1).is("{") => self.mtype(file),
            "mtype" if self.ahead(1).is(":") && (self.ahead(3).is("=") || self.ahead(3).is("{")) => self.mtype(file),
            "typedef" => self.typedef(file),
            "inline" => self.inline(),
            "active" | "proctype" | "D_proctype" | "init" => {
                let proctype = self.proctype()?;
                file.proctypes.push(proctype);
                Ok(())
            }
            "ltl" => self.ltl(file),
            "never" => self.claim(file),
            word @ ("trace" | "notrace") => {
                Err(unsupported(token.span, format!("`{word}`")).help("write a formula: `ltl p { [] <> e }`"))
            }
            word if C.contains(&word) => Err(unsupported(token.span, "C inside of Promela")),
            _ if self.take(";") => Ok(()),
            _ if self.begins_declaration() => {
                let decls = self.declarations()?;
                file.globals.extend(decls);
                Ok(())
            }
            _ => Err(self.unexpected("a declaration, `proctype`, `init` or `ltl`")),
        }
    }

    fn claim(&mut self, file: &mut File) -> Result<()> {
        let word = self.next();
        let name = if self.is("{") { Name { text: "never".into(), span: word.span } } else { self.name()? };
        self.expect("{")?;
        let body = self.sequence()?;
        self.expect("}")?;
        file.claims.push(Claim { name, body });
        Ok(())
    }

    fn mtype(&mut self, file: &mut File) -> Result<()> {
        self.next();
        let kind = self.kind_of_mtype()?;
        self.take("=");
        self.expect("{")?;
        let mut names = vec![self.name()?];
        while self.take(",") {
            names.push(self.name()?);
        }
        self.expect("}")?;
        file.mtypes.push((kind, names));
        Ok(())
    }

    /// `:kind` behind `mtype`, if it stands here.
    fn kind_of_mtype(&mut self) -> Result<String> {
        Ok(if self.take(":") { self.name()?.text } else { String::new() })
    }

    fn typedef(&mut self, file: &mut File) -> Result<()> {
        self.next();
        let name = self.name()?;
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.take("}") {
            fields.extend(self.declarations()?);
            while self.take(";") || self.take(",") {}
        }
        self.typedefs.push(name.text.clone());
        file.typedefs.push(Typedef { name, fields });
        Ok(())
    }

    fn inline(&mut self) -> Result<()> {
        self.next();
        let name = self.name()?;
        let open = self.at;
        self.expect("(")?;
        let (params, end) = crate::macros::arguments(&self.tokens, open)?;
        self.at = end;
        let open = self.expect("{")?;
        let (mut depth, begin) = (1, self.at);
        while depth > 0 {
            let token = self.next();
            match token.kind {
                Kind::Sign("{") => depth += 1,
                Kind::Sign("}") => depth -= 1,
                Kind::End => return Err(strange(open, "a body that does not end").help("add `}`")),
                _ => {}
            }
        }
        let body = self.tokens[begin..self.at - 1].to_vec();
        let params = params.iter().flatten().filter_map(Token::word).map(String::from).collect();
        self.inlines.insert(name.text, Inline { params, body });
        Ok(())
    }

    fn proctype(&mut self) -> Result<Proctype> {
        let mut active = None;
        if self.is("active") {
            let span = self.next().span;
            active = Some(Expr { kind: ExprKind::Number(1), span });
            if self.take("[") {
                active = Some(self.expr()?);
                self.expect("]")?;
            }
        }
        let what = self.next();
        let mut params = Vec::new();
        let name = if what.is("init") {
            active = Some(Expr { kind: ExprKind::Number(1), span: what.span });
            Name { text: "init".into(), span: what.span }
        } else if what.is("proctype") || what.is("D_proctype") {
            let name = self.name()?;
            self.expect("(")?;
            while !self.take(")") {
                params.extend(self.declarations()?);
                while self.take(";") || self.take(",") {}
            }
            name
        } else {
            self.at -= 1;
            return Err(self.unexpected("`proctype`"));
        };
        if self.is("priority") {
            return Err(self.no_priority());
        }
        let mut provided = None;
        if self.take("provided") {
            self.expect("(")?;
            provided = Some(self.expr()?);
            self.expect(")")?;
        }
        self.expect("{")?;
        let body = self.sequence()?;
        self.expect("}")?;
        self.take(";");
        Ok(Proctype { name, active, params, provided, body })
    }

    fn no_priority(&self) -> Refusal {
        unsupported(self.peek().span, "`priority`").help("leave it out: every process may be next")
    }

    /// Whether a type stands here.
    fn begins_declaration(&self) -> bool {
        let Some(word) = self.peek().word() else { return false };
        match word {
            "bit" | "bool" | "byte" | "pid" | "short" | "int" | "unsigned" | "chan" | "hidden" | "show" | "local" => {
                true
            }
            "mtype" => true,
            _ => self.typedefs.iter().any(|t| t == word) && matches!(self.ahead(1).kind, Kind::Word(_)),
        }
    }

    fn ty(&mut self) -> Result<Ty> {
        let name = self.name()?;
        Ok(match name.text.as_str() {
            "bit" | "bool" => Ty::Bit,
            "byte" | "pid" => Ty::Byte,
            "short" => Ty::Short,
            "int" => Ty::Int,
            "mtype" => Ty::Mtype(self.kind_of_mtype()?),
            "chan" => Ty::Chan,
            "unsigned" => Ty::Unsigned(0),
            known if self.typedefs.iter().any(|t| t == known) => Ty::Named(name.text),
            other => return Err(strange(name.span, format!("`{other}` is no type"))),
        })
    }

    /// `byte a = 1, b[2]`.
    fn declarations(&mut self) -> Result<Vec<Decl>> {
        // What SPIN prints of them, and whether they are part of its states.
        while self.take("hidden") || self.take("show") || self.take("local") {}
        let ty = self.ty()?;
        let mut decls = Vec::new();
        loop {
            let (name, mut ty) = (self.name()?, ty.clone());
            if ty == Ty::Unsigned(0) {
                self.expect(":")?;
                let bits = self.next();
                ty = match bits.kind {
                    Kind::Number(n @ 1..=31) => Ty::Unsigned(n as u8),
                    _ => return Err(unsupported(bits.span, "an unsigned number has 1 to 31 bits")),
                };
            }
            let mut len = None;
            if self.take("[") {
                len = Some(self.expr()?);
                self.expect("]")?;
            }
            let init = if self.take("=") { Some(self.init()?) } else { None };
            decls.push(Decl { ty, name, len, init });
            // In parameters a comma may be followed by a type.
            let more = self.is(",") && matches!(self.ahead(1).kind, Kind::Word(_)) && !self.declares_behind_comma();
            if !more {
                return Ok(decls);
            }
            self.next();
        }
    }

    fn declares_behind_comma(&mut self) -> bool {
        self.at += 1;
        let declares = self.begins_declaration();
        self.at -= 1;
        declares
    }

    fn init(&mut self) -> Result<Init> {
        if self.take("{") {
            let list = self.list()?;
            self.expect("}")?;
            return Ok(Init::List(list));
        }
        if self.take("[") {
            let room = self.expr()?;
            self.expect("]")?;
            self.expect("of")?;
            self.expect("{")?;
            let mut types = vec![self.ty()?];
            while self.take(",") {
                types.push(self.ty()?);
            }
            self.expect("}")?;
            return Ok(Init::Channel(room, types));
        }
        Ok(Init::Value(self.expr()?))
    }

    /// Expressions between commas.
    fn list(&mut self) -> Result<Vec<Expr>> {
        let mut list = vec![self.expr()?];
        while self.take(",") {
            list.push(self.expr()?);
        }
        Ok(list)
    }
}
