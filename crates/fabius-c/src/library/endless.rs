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
use crate::expressions::Ex;
use crate::lower::{Creation, Entity, Item, Lower};
use crate::memory::Parts;
use crate::mentions;
use crate::refusal::{Result, unsupported};
use crate::types::CType;
use fabius_lang::program::*;
use fabius_lang::walk::{each, expressions, of_place, statements, written};
use fabius_trace::Span;
use lang_c::ast::{
    BinaryOperator, BlockItem, Constant, Declaration, DeclarationSpecifier, Declarator, DeclaratorKind, Expression,
    ForInitializer, InitDeclarator, Statement, TypeSpecifier, UnaryOperator,
};
use lang_c::span::Node;

/// A call of `pthread_create` whose handle is nowhere else.
struct Created<'a> {
    handle: &'a str,
    function: &'a Ex,
    argument: &'a Ex,
    span: lang_c::span::Span,
}

/// What a loop does.
#[derive(Default)]
struct Started<'a> {
    created: Vec<Created<'a>>,
    /// Handles that are declared in it.
    own: Vec<&'a str>,
    /// Handles that are given to `pthread_detach`, which does nothing here.
    detached: Vec<&'a str>,
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
        let once: Vec<Created<'a>> = items.iter().map_while(|item| created_by(statement(item)?)).collect();
        let Some(last) = items.get(once.len()).and_then(statement) else { return Ok(false) };
        let Some((over, again)) = self.endless(last) else { return Ok(false) };
        let is_over = items[once.len() + 1..].iter().all(super::tasks::returns);
        if over == Over::AtAnyTime && !is_over || !self.nobody_looks_at(&once, &again, last) {
            return Ok(false);
        }
        self.starts_without_end = true;
        if self.options.creation == Creation::OneByOne {
            return Ok(false);
        }
        let all = once.iter().map(|one| (one, Many::One)).chain(again.created.iter().map(|one| (one, Many::Any)));
        for (Created { function, argument, span, .. }, many) in all {
            let span = self.span(*span);
            self.start_at_the_end(function, Some(argument), many, span)?;
        }
        self.forget_handles();
        Ok(true)
    }

    /// Whether these are what the body of `main` ends with.
    fn are_the_last(&self, items: &[Item]) -> bool {
        let main = self.functions.get("main").and_then(|main| main.definition);
        let body = main.map(|main| &main.node.statement.node);
        matches!(body, Some(Statement::Compound(all)) if all.as_ptr_range().end == items.as_ptr_range().end)
    }

    /// What a loop starts that does nothing else.
    fn endless(&mut self, s: &'a Node<Statement>) -> Option<(Over, Started<'a>)> {
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
        let mut all = Started::default();
        (creates_only(body, &mut all) && !all.created.is_empty()).then_some((over, all))
    }

    /// Whether the variables that the handles are written to are named nowhere else.
    fn nobody_looks_at(&self, once: &[Created<'a>], again: &Started<'a>, last: &Node<Statement>) -> bool {
        let functions = || self.functions.values().filter_map(|f| f.definition);
        let first_values = || self.declared.iter().filter_map(|d| d.init);
        let main = self.functions["main"].definition.expect("it is being read");
        let Statement::Compound(body) = &main.node.statement.node else { return false };
        let count = |all: &[Created<'a>], handle: &str| all.iter().filter(|one| one.handle == handle).count();
        let in_loop = |handle: &str| {
            let detached = again.detached.iter().filter(|other| **other == handle).count();
            count(&again.created, handle) + detached
        };
        let is_own = |handle: &str| again.own.contains(&handle);
        let others = once.iter().chain(again.created.iter().filter(|one| !is_own(one.handle)));
        let handles = others.map(|one| one.handle).chain(again.detached.iter().copied().filter(|name| !is_own(name)));
        let alone = |handle: &str| {
            let known = count(once, handle) + if is_own(handle) { 0 } else { in_loop(handle) };
            let all = match self.is_local(handle) {
                true => mentions::in_body(body, handle),
                false => {
                    let named = functions().map(|f| mentions::in_function(&f.node, handle));
                    named.chain(first_values().map(|value| mentions::in_value(&value.node, handle))).sum()
                }
            };
            all == known
        };
        again.own.iter().all(|handle| mentions::in_statement(last, handle) == in_loop(handle))
            && handles.into_iter().all(alone)
    }

    fn is_local(&self, name: &str) -> bool {
        matches!(self.entity(name), Some(Entity::Object(id)) if matches!(self.objects[id].parts, Parts::Locals(_)))
    }

    /// Handles that no statement has are those of no thread.
    fn forget_handles(&mut self) {
        for local in 0..self.body.locals.len() {
            if holds_threads(&self.body.locals[local].ty) && !is_named(&self.body.out, local) {
                self.body.locals[local].ty = Type::Bool;
            }
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
fn creates_only<'a>(s: &'a Node<Statement>, all: &mut Started<'a>) -> bool {
    match &s.node {
        Statement::Compound(items) => items.iter().all(|item| match &item.node {
            BlockItem::Statement(s) => creates_only(s, all),
            BlockItem::Declaration(d) => declares_handles(&d.node, &mut all.own),
            BlockItem::StaticAssert(_) => true,
        }),
        Statement::If(i) if is_any(&i.node.condition) => {
            creates_only(&i.node.then_statement, all)
                && i.node.else_statement.as_ref().is_none_or(|s| creates_only(s, all))
        }
        // To create a thread does not fail.
        Statement::If(i) if let Some(one) = failed(&i.node.condition) => {
            all.created.push(one);
            i.node.else_statement.as_ref().is_none_or(|s| creates_only(s, all))
        }
        Statement::Expression(None) => true,
        Statement::Expression(Some(e)) if let Some(handle) = detached(e) => {
            all.detached.push(handle);
            true
        }
        Statement::Expression(Some(e)) if gives_way(e) => true,
        _ => created_by(s).map(|one| all.created.push(one)).is_some(),
    }
}

/// Whether a declaration is one of handles without a value; their names.
fn declares_handles<'a>(d: &'a Declaration, own: &mut Vec<&'a str>) -> bool {
    let is_handle = |s: &Node<DeclarationSpecifier>| {
        matches!(&s.node, DeclarationSpecifier::TypeSpecifier(ty)
            if matches!(&ty.node, TypeSpecifier::TypedefName(name) if name.node.name == "pthread_t"))
    };
    let name = |d: &'a Node<InitDeclarator>| match &d.node.declarator.node {
        Declarator { kind, derived, .. } if derived.is_empty() && d.node.initializer.is_none() => match &kind.node {
            DeclaratorKind::Identifier(name) => Some(name.node.name.as_str()),
            _ => None,
        },
        _ => None,
    };
    let names: Option<Vec<&str>> = d.declarators.iter().map(name).collect();
    own.extend(names.iter().flatten());
    d.specifiers.len() == 1 && d.specifiers.iter().all(is_handle) && names.is_some()
}

fn created_by(s: &Node<Statement>) -> Option<Created<'_>> {
    let Statement::Expression(Some(e)) = &s.node else { return None };
    created(strip_casts(e))
}

/// The thread of which a condition says that it was not created.
fn failed(condition: &Ex) -> Option<Created<'_>> {
    let is_zero = |e: &Ex| match &strip_casts(e).node {
        Expression::Constant(c) => {
            matches!(&c.node, Constant::Integer(n) if n.number.chars().all(|digit| digit == '0'))
        }
        _ => false,
    };
    match &condition.node {
        Expression::BinaryOperator(b) if is_zero(&b.node.rhs) => match b.node.operator.node {
            BinaryOperator::NotEquals | BinaryOperator::Less | BinaryOperator::Greater => created(&b.node.lhs),
            _ => None,
        },
        _ => created(condition),
    }
}

fn called(e: &Ex) -> Option<(&str, &[Ex])> {
    let Expression::Call(c) = &strip_casts(e).node else { return None };
    let Expression::Identifier(name) = &c.node.callee.node else { return None };
    Some((&name.node.name, c.node.arguments.as_slice()))
}

fn detached(e: &Ex) -> Option<&str> {
    match called(e)? {
        ("pthread_detach", [Node { node: Expression::Identifier(handle), .. }]) => Some(&handle.node.name),
        _ => None,
    }
}

/// Whether an expression only lets others go on.
fn gives_way(e: &Ex) -> bool {
    match called(e) {
        Some(("sched_yield", [])) => true,
        Some(("sleep" | "usleep", [time])) => matches!(time.node, Expression::Constant(_)),
        _ => false,
    }
}

fn created(e: &Ex) -> Option<Created<'_>> {
    let ("pthread_create", [handle, attributes, function, argument]) = called(e)? else { return None };
    let Expression::UnaryOperator(u) = &handle.node else { return None };
    match (&u.node.operator.node, &u.node.operand.node) {
        (UnaryOperator::Address, Expression::Identifier(handle)) if is_plain(attributes) => {
            Some(Created { handle: &handle.node.name, function, argument, span: e.span })
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

fn holds_threads(ty: &Type) -> bool {
    match ty {
        Type::Thread => true,
        Type::Array { element, .. } => holds_threads(element),
        _ => false,
    }
}

/// Whether one of these statements has a variable.
fn is_named(block: &Block, local: LocalId) -> bool {
    let is_it = |place: &Place| matches!(place.base, Base::Local(l) if l == local);
    let mut any = false;
    statements(block, &mut |s| {
        let mut look = |e: &Expr| any |= matches!(&e.kind, ExprKind::Read(place) if is_it(place));
        expressions(s).into_iter().for_each(|e| each(e, &mut look));
        written(s).into_iter().flat_map(of_place).for_each(|e| each(e, &mut look));
        any |= written(s).is_some_and(is_it);
        any |= match &s.kind {
            StmtKind::Call(results, ..) => results.contains(&Some(local)),
            StmtKind::Spawn(handle, ..) | StmtKind::Post(handle, ..) => *handle == Some(local),
            _ => false,
        };
    });
    any
}
