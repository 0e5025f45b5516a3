//! `#define`, `#ifdef` and the like, on tokens: what a macro stands for has the place of its use.

use crate::lexer::{Kind, Token, tokens, without_comments};
use crate::refusal::{Result, strange, unsupported, wrong};
use fabius_trace::Span;
use std::collections::{HashMap, HashSet};

/// Most tokens that macros may make of a text.
const MOST_TOKENS: usize = 1 << 20;

struct Macro {
    /// `None`: it is used without parentheses.
    params: Option<Vec<String>>,
    body: Vec<Token>,
    /// Given from outside: the text's own is passed over.
    given: bool,
}

struct Macros {
    known: HashMap<String, Macro>,
    /// Which of those given were asked for.
    used: HashSet<String>,
}

/// A part of the text that may be left out.
struct Condition {
    active: bool,
    /// Whether some branch has been active.
    taken: bool,
    at: Span,
}

/// The tokens of a text behind its macros; `given` are macros from outside.
///
/// # Errors
/// What of it is wrong or not taken.
pub fn preprocessed(source: &str, given: &[(String, String)]) -> Result<Vec<Token>> {
    let mut macros = Macros { known: HashMap::new(), used: HashSet::new() };
    for (name, value) in given {
        let body = tokens(value, 0).map_err(|_| wrong(Span::default(), format!("`{value}` is no value of a macro")))?;
        macros.known.insert(name.clone(), Macro { params: None, body, given: true });
    }
    let text = without_comments(source)?;
    let (mut out, mut pending) = (Vec::new(), Vec::new());
    let mut conditions: Vec<Condition> = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let active = conditions.iter().all(|c| c.active);
        if line.trim_start().starts_with('#') {
            out.extend(macros.expand(&std::mem::take(&mut pending), &mut Vec::new())?);
            let tokens = tokens(line, offset)?;
            macros.directive(&tokens, active, &mut conditions)?;
        } else if active {
            pending.extend(tokens(line, offset)?);
        }
        if out.len() + pending.len() > MOST_TOKENS {
            return Err(unsupported(Span::new(offset, offset), "macros make more than a million tokens"));
        }
        offset += line.len();
    }
    if let Some(open) = conditions.last() {
        return Err(strange(open.at, "a part of the text that does not end").help("add `#endif`"));
    }
    out.extend(macros.expand(&pending, &mut Vec::new())?);
    if let Some((name, _)) = given.iter().find(|(name, _)| !macros.used.contains(name)) {
        return Err(wrong(Span::default(), format!("the text has no macro `{name}`")));
    }
    Ok(out)
}

impl Macros {
    fn directive(&mut self, line: &[Token], active: bool, conditions: &mut Vec<Condition>) -> Result<()> {
        let Some(what) = line.get(1) else { return Ok(()) };
        let at = what.span;
        let rest = &line[2..];
        let named = || {
            let name = rest.first().and_then(Token::word);
            name.map(String::from).ok_or_else(|| strange(at, "a name should follow"))
        };
        let outer = conditions.iter().rev().skip(1).all(|c| c.active);
        match what.word().unwrap_or_default() {
            kind @ ("ifdef" | "ifndef") => {
                let name = named()?;
                let holds = active && self.is_known(&name) == (kind == "ifdef");
                conditions.push(Condition { active: holds, taken: holds || !active, at });
            }
            "if" => {
                let holds = active && self.condition(rest, at)?;
                conditions.push(Condition { active: holds, taken: holds || !active, at });
            }
            kind @ ("elif" | "else") => {
                let wanted = match conditions.last() {
                    None => return Err(strange(at, format!("`#{kind}` without `#if`"))),
                    Some(c) => outer && !c.taken,
                };
                let holds = wanted && (kind == "else" || self.condition(rest, at)?);
                if let Some(c) = conditions.last_mut() {
                    (c.active, c.taken) = (holds, c.taken || holds);
                }
            }
            "endif" => {
                conditions.pop().ok_or_else(|| strange(at, "`#endif` without `#if`"))?;
            }
            _ if !active => {}
            "define" => self.define(named()?, rest[0].span, &rest[1..])?,
            "undef" => {
                let name = named()?;
                self.known.retain(|known, m| *known != name || m.given);
            }
            "include" => {
                return Err(unsupported(at, "files cannot be included").help("put all of the program into one file"));
            }
            // The compiler of pan may be told something.
            "pragma" => {}
            _ => return Err(strange(at, "no directive of the preprocessor")),
        }
        Ok(())
    }

    fn is_known(&mut self, name: &str) -> bool {
        self.used.insert(name.into());
        self.known.contains_key(name)
    }

    fn define(&mut self, name: String, at: Span, rest: &[Token]) -> Result<()> {
        if self.known.get(&name).is_some_and(|m| m.given) {
            self.used.insert(name);
            return Ok(());
        }
        // `#define f(x)`, but `#define f (x)`.
        let called = rest.first().is_some_and(|t| t.is("(") && t.span.start == at.end);
        let (params, body) = match called {
            false => (None, rest),
            true => {
                let end = rest.iter().position(|t| t.is(")"));
                let end = end.ok_or_else(|| strange(rest[0].span, "parameters that do not end").help("add `)`"))?;
                let names = rest[1..end].iter().filter_map(Token::word).map(String::from).collect();
                (Some(names), &rest[end + 1..])
            }
        };
        self.known.insert(name, Macro { params, body: body.to_vec(), given: false });
        Ok(())
    }

    fn condition(&mut self, line: &[Token], at: Span) -> Result<bool> {
        let mut plain = Vec::new();
        let mut rest = line.iter();
        while let Some(token) = rest.next() {
            if !token.is("defined") {
                plain.push(token.clone());
                continue;
            }
            let name = rest.by_ref().find_map(Token::word).map(String::from);
            let known = self.is_known(&name.ok_or_else(|| strange(token.span, "a name should follow"))?);
            if let Some(Token { kind: Kind::Sign(")"), .. }) = rest.as_slice().first() {
                rest.next();
            }
            plain.push(Token { kind: Kind::Number(known.into()), span: token.span });
        }
        let plain = self.expand(&plain, &mut Vec::new())?;
        value(&plain).ok_or_else(|| {
            unsupported(at, "conditions of the preprocessor are numbers, `defined`, `!`, `==`, `<`, `>`, `&&` and `||`")
        })
    }

    /// The tokens with all macros replaced but those in `inside`.
    fn expand(&mut self, tokens: &[Token], inside: &mut Vec<String>) -> Result<Vec<Token>> {
        let mut out = Vec::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            let known = token.word().filter(|w| !inside.iter().any(|i| i == w)).and_then(|w| self.known.get(w));
            let Some((name, known)) = token.word().zip(known) else {
                out.push(token.clone());
                continue;
            };
            let name = name.to_string();
            let body = match &known.params {
                None => known.body.clone(),
                Some(_) if !tokens.get(at).is_some_and(|t| t.is("(")) => {
                    out.push(token.clone());
                    continue;
                }
                Some(params) => {
                    let (args, end) = arguments(tokens, at)?;
                    if args.len() != params.len() && !(params.is_empty() && args.len() == 1 && args[0].is_empty()) {
                        let message = format!("`{name}` has {} parameters", params.len());
                        return Err(wrong(token.span, message));
                    }
                    at = end;
                    substituted(&known.body, params, &args)
                }
            };
            self.used.insert(name.clone());
            inside.push(name);
            let expanded = self.expand(&body, inside)?;
            inside.pop();
            if out.len() + expanded.len() > MOST_TOKENS {
                return Err(unsupported(token.span, "macros make more than a million tokens"));
            }
            out.extend(expanded.into_iter().map(|t| Token { span: token.span, ..t }));
        }
        Ok(out)
    }
}

/// The arguments behind an opening parenthesis at `open`, and what stands behind them.
///
/// # Errors
/// They do not end.
pub fn arguments(tokens: &[Token], open: usize) -> Result<(Vec<Vec<Token>>, usize)> {
    let (mut args, mut depth) = (vec![Vec::new()], 0usize);
    for (n, token) in tokens.iter().enumerate().skip(open + 1) {
        match token.kind {
            Kind::Sign(")") if depth == 0 => return Ok((args, n + 1)),
            Kind::Sign(",") if depth == 0 => {
                args.push(Vec::new());
                continue;
            }
            Kind::Sign("(" | "[" | "{") => depth += 1,
            Kind::Sign(")" | "]" | "}") => depth = depth.saturating_sub(1),
            _ => {}
        }
        args.last_mut().expect("there is one").push(token.clone());
    }
    Err(strange(tokens[open].span, "arguments that do not end").help("add `)`"))
}

/// The body with the arguments for the parameters.
pub fn substituted(body: &[Token], params: &[String], args: &[Vec<Token>]) -> Vec<Token> {
    let mut out = Vec::new();
    for token in body {
        match params.iter().position(|p| token.word() == Some(p)) {
            Some(n) => out.extend(args.get(n).into_iter().flatten().cloned()),
            None => out.push(token.clone()),
        }
    }
    out
}

/// Whether a condition of numbers holds.
fn value(tokens: &[Token]) -> Option<bool> {
    let split = |sign: &str| {
        let mut depth = 0i32;
        let at = tokens.iter().position(|t| {
            depth += i32::from(t.is("(")) - i32::from(t.is(")"));
            depth == 0 && t.is(sign)
        })?;
        Some((&tokens[..at], &tokens[at + 1..]))
    };
    if let Some((a, b)) = split("||") {
        return Some(value(a)? || value(b)?);
    }
    if let Some((a, b)) = split("&&") {
        return Some(value(a)? && value(b)?);
    }
    let number = |tokens: &[Token]| match tokens {
        [Token { kind: Kind::Number(n), .. }] => Some(*n),
        // A name that is no macro.
        [Token { kind: Kind::Word(_), .. }] => Some(0),
        _ => None,
    };
    type Compare = fn(i64, i64) -> bool;
    let comparisons: [(&str, Compare); 6] = [
        ("==", |a, b| a == b),
        ("!=", |a, b| a != b),
        ("<=", |a, b| a <= b),
        (">=", |a, b| a >= b),
        ("<", |a, b| a < b),
        (">", |a, b| a > b),
    ];
    for (sign, holds) in comparisons {
        if let Some((a, b)) = split(sign) {
            return Some(holds(number(a)?, number(b)?));
        }
    }
    match tokens {
        [first, rest @ ..] if first.is("!") => Some(!value(rest)?),
        [first, inner @ .., last] if first.is("(") && last.is(")") => value(inner),
        _ => number(tokens).map(|n| n != 0),
    }
}
