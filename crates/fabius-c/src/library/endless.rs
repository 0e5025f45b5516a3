//! Loops without an end that start threads, as any number of threads.
//!
//! Paper: Model-Checking Parameterized Concurrent Programs Using Linear Interfaces (CAV 2010), section 2: any number of threads.
//!
//! `main` ends with `while (1) pthread_create(&t, 0, f, 0);`: at each time it has started finitely many threads, as many as one likes,
//! and a thread that was started and has made no step is one that nobody sees. So what threads can do together is what any
//! number of them can. `main` is never stuck in the loop, where all threads of that number may be: deadlocks are not asked about.
//!
//! Deviations:
//! 1. In the paper all threads are there from the beginning. Here they begin when `main` has done all that it does but to start
//!    them: whatever a thread does before another one is started it can do as well before that one makes its first step.
//! 2. A loop may also ask `__VERIFIER_nondet_..()` whether to go on: `main` may then return, which stops all threads, so that
//!    an execution of this program is the beginning of one of that without an end.

use super::{strip_casts, tasks::Many};
use crate::attributes::is_word;
use crate::core::INT;
use crate::expressions::Ex;
use crate::lower::{Creation, Entity, Item, Lower};
use crate::memory::Parts;
use crate::refusal::{Result, unsupported};
use crate::types::CType;
use fabius_trace::Span;
use lang_c::ast::{BlockItem, Expression, ForInitializer, Statement, UnaryOperator};
use lang_c::span::Node;

/// A call of `pthread_create` whose handle is nowhere else.
struct Created<'a> {
    handle: &'a str,
    function: &'a Ex,
    argument: &'a Ex,
    span: lang_c::span::Span,
}

/// When a loop is over.
#[derive(Clone, Copy, PartialEq)]
enum Over {
    Never,
    AtAnyTime,
}

impl<'a> Lower<'a, '_> {
    /// If these items, which `main` ends with, start threads and then more of them without an end, that is done. Whether it was.
    pub(crate) fn starts_threads_without_end(&mut self, items: &'a [Item]) -> Result<bool> {
        if self.body.function != "main" || !self.are_the_last(items) {
            return Ok(false);
        }
        let once: Vec<Created<'a>> = items.iter().map_while(|item| created(statement(item)?)).collect();
        let Some(last) = items.get(once.len()).and_then(statement) else { return Ok(false) };
        let Some((over, again)) = self.endless(last) else { return Ok(false) };
        let is_over = items[once.len() + 1..].iter().all(super::tasks::returns);
        if over == Over::AtAnyTime && !is_over || !self.nobody_looks_at(once.iter().chain(&again)) {
            return Ok(false);
        }
        self.starts_without_end = true;
        if self.options.creation == Creation::OneByOne {
            return Ok(false);
        }
        let all = once.iter().map(|one| (one, Many::One)).chain(again.iter().map(|one| (one, Many::Any)));
        for (Created { handle, function, argument, span }, many) in all {
            self.forget(handle);
            let span = self.span(*span);
            self.start_at_the_end(function, Some(argument), many, span)?;
        }
        Ok(true)
    }

    /// Whether these are what the body of `main` ends with.
    fn are_the_last(&self, items: &[Item]) -> bool {
        let main = self.functions.get("main").and_then(|main| main.definition);
        let body = main.map(|main| &main.node.statement.node);
        matches!(body, Some(Statement::Compound(all)) if all.as_ptr_range().end == items.as_ptr_range().end)
    }

    /// What a loop starts that does nothing else.
    fn endless(&mut self, s: &'a Node<Statement>) -> Option<(Over, Vec<Created<'a>>)> {
        let (condition, body) = match &s.node {
            Statement::While(w) => (Some(&*w.node.expression), &w.node.statement),
            Statement::DoWhile(d) => (Some(&*d.node.expression), &d.node.statement),
            Statement::For(f) => match (&f.node.initializer.node, &f.node.step) {
                (ForInitializer::Empty, None) => (f.node.condition.as_deref(), &f.node.statement),
                _ => return None,
            },
            _ => return None,
        };
        let over = match condition {
            None => Over::Never,
            Some(e) if is_any(e) => Over::AtAnyTime,
            Some(e) if matches!(e.node, Expression::Constant(_)) && self.integer(e).is_ok_and(|n| n != 0) => {
                Over::Never
            }
            Some(_) => return None,
        };
        let mut all = Vec::new();
        (creates_only(body, &mut all) && !all.is_empty()).then_some((over, all))
    }

    /// Whether the variables that the handles are written to are named nowhere else.
    fn nobody_looks_at<'b>(&self, all: impl Iterator<Item = &'b Created<'a>> + Clone) -> bool
    where
        'a: 'b,
    {
        let mentions = |span: lang_c::span::Span, word: &str| mentions(&self.lines.text()[span.start..span.end], word);
        let functions = || self.functions.values().filter_map(|f| f.definition).map(|d| d.span);
        let first_values = || self.declared.iter().filter_map(|d| d.init).map(|init| init.span);
        let main = self.functions["main"].definition.expect("it is being read").span;
        all.clone().all(|one| {
            let created = all.clone().filter(|other| other.handle == one.handle).count();
            match self.is_local(one.handle) {
                // Once more where it is declared.
                true => mentions(main, one.handle) == created + 1,
                false => {
                    let all: usize = functions().chain(first_values()).map(|span| mentions(span, one.handle)).sum();
                    all == created
                }
            }
        })
    }

    fn is_local(&self, name: &str) -> bool {
        matches!(self.entity(name), Some(Entity::Object(id)) if matches!(self.objects[id].parts, Parts::Locals(_)))
    }

    /// A local variable that no statement has is one of no thread.
    fn forget(&mut self, handle: &str) {
        if let Some(Entity::Object(id)) = self.entity(handle)
            && let Parts::Locals(locals) = &self.objects[id].parts
        {
            locals.iter().for_each(|local| self.body.locals[*local].ty = INT);
        }
    }

    /// The value that a thread is given: a constant or the address of what is always there.
    pub(super) fn given(&mut self, argument: &'a Ex, span: Span) -> Result<fabius_lang::program::Expr> {
        match self.constant_value(argument).and_then(|v| self.convert(v, &CType::Void.pointer(), span)) {
            Ok(value) => Ok(value.parts[0].clone()),
            Err(_) => unsupported(span, "any number of threads are all given the same constant or address"),
        }
    }
}

fn statement(item: &Item) -> Option<&Node<Statement>> {
    match &item.node {
        BlockItem::Statement(s) => Some(s),
        _ => None,
    }
}

/// Collects what a statement starts; whether it does nothing else, and has no choice but one of any value.
fn creates_only<'a>(s: &'a Node<Statement>, all: &mut Vec<Created<'a>>) -> bool {
    match &s.node {
        Statement::Compound(items) => items.iter().all(|item| statement(item).is_some_and(|s| creates_only(s, all))),
        Statement::If(i) if is_any(&i.node.condition) => {
            creates_only(&i.node.then_statement, all)
                && i.node.else_statement.as_ref().is_none_or(|s| creates_only(s, all))
        }
        Statement::Expression(None) => true,
        _ => created(s).map(|one| all.push(one)).is_some(),
    }
}

fn created(s: &Node<Statement>) -> Option<Created<'_>> {
    let Statement::Expression(Some(e)) = &s.node else { return None };
    let Expression::Call(c) = &e.node else { return None };
    let (Expression::Identifier(name), [handle, attributes, function, argument]) =
        (&c.node.callee.node, c.node.arguments.as_slice())
    else {
        return None;
    };
    let Expression::UnaryOperator(u) = &handle.node else { return None };
    match (&u.node.operator.node, &u.node.operand.node) {
        (UnaryOperator::Address, Expression::Identifier(handle))
            if name.node.name == "pthread_create" && is_plain(attributes) =>
        {
            Some(Created { handle: &handle.node.name, function, argument, span: s.span })
        }
        _ => None,
    }
}

/// Whether to evaluate an expression does nothing: a constant, a variable, an address of one.
fn is_plain(e: &Ex) -> bool {
    match &strip_casts(e).node {
        Expression::Constant(_) | Expression::Identifier(_) => true,
        Expression::UnaryOperator(u) => u.node.operator.node == UnaryOperator::Address && is_plain(&u.node.operand),
        _ => false,
    }
}

/// Whether an expression may be anything: zero or not.
fn is_any(e: &Ex) -> bool {
    match &strip_casts(e).node {
        Expression::Call(c) if c.node.arguments.is_empty() => {
            matches!(&c.node.callee.node, Expression::Identifier(n) if n.node.name.starts_with("__VERIFIER_nondet_"))
        }
        _ => false,
    }
}

/// How often a word stands in a text.
fn mentions(text: &str, word: &str) -> usize {
    let is_whole = |at: &usize| {
        let before = text[..*at].bytes().next_back().is_some_and(is_word);
        !before && !text[at + word.len()..].bytes().next().is_some_and(is_word)
    };
    text.match_indices(word).map(|(at, _)| at).filter(is_whole).count()
}
