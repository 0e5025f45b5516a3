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

use super::assign;
use super::started::{self, Created, Ending, Handle, Over, Started};
use super::tasks::Many;
use crate::core::*;
use crate::expressions::Ex;
use crate::lower::{Creation, Entity, Item, Lower};
use crate::memory::Parts;
use crate::mentions;
use crate::property::Property;
use crate::refusal::{Result, unsupported};
use crate::types::CType;
use fabius_lang::program::*;
use fabius_lang::walk::{each, expressions, of_place, statements, written};
use fabius_trace::Span;
use lang_c::ast::Statement;
use std::collections::{BTreeMap, BTreeSet};

/// Whether `main` has come to where threads of any number begin.
const BEGUN: &str = "$begun";

impl<'a> Lower<'a, '_> {
    /// If these items, which `main` ends with, start threads and then more of them without an end, that is done. Whether it was.
    pub(crate) fn starts_threads_without_end(&mut self, items: &'a [Item]) -> Result<bool> {
        if self.body.function != "main" || !self.are_the_last(items) {
            return Ok(false);
        }
        let Some(ending) = self.endless(items) else { return Ok(false) };
        let Ending { over, once, again } = ending;
        // What is asked about the end of the process is not asked here, where it never comes.
        if matches!(over, Over::AtAnyTime) && (self.asks_about_memory_at_the_end() || self.session.facts.handlers) {
            return Ok(false);
        }
        if !self.nobody_looks_at(&once, &again) {
            return Ok(false);
        }
        self.starts_without_end = true;
        if self.options.creation == Creation::OneByOne {
            return Ok(false);
        }
        let all = once.created.iter().map(|one| (one, Many::One));
        for (Created { function, argument, span }, many) in all.chain(again.created.iter().map(|one| (one, Many::Any)))
        {
            let span = self.span(*span);
            self.start_at_the_end(function, Some(argument), many, span)?;
        }
        Ok(true)
    }

    /// Whether it is asked what becomes of memory at the end of the process, and there is some.
    fn asks_about_memory_at_the_end(&self) -> bool {
        let asks = match self.options.property {
            Some(property) => matches!(property, Property::ValidMemsafety | Property::ValidMemcleanup),
            None => self.options.leaks,
        };
        asks && self.objects.iter().any(|o| o.key.starts_with("heap "))
    }

    /// Whether `main` comes to its end before it has started threads: the process ends there, and is over.
    pub(crate) fn ends_before_threads_begin(&mut self, span: Span) -> Option<Expr> {
        let begun = self.global_names.get(BEGUN).copied()?;
        Some(not(read(self.global(begun, span))))
    }

    /// Notes that threads begin, if `main` may return before.
    pub(super) fn threads_begin(&mut self, span: Span) {
        let main = self.functions["main"].definition.expect("it is being read");
        if mentions::returns_in(&main.node.statement) > 0 {
            let begun = self.hidden(BEGUN, Type::Bool, Value::Int(0), Class::Data, false);
            let begun = self.global(begun, span);
            self.body.out.push(assign(&begun, boolean(true, span), span));
        }
    }

    /// Whether these are what the body of `main` ends with.
    fn are_the_last(&self, items: &[Item]) -> bool {
        let main = self.functions.get("main").and_then(|main| main.definition);
        let body = main.map(|main| &main.node.statement.node);
        matches!(body, Some(Statement::Compound(all)) if all.as_ptr_range().end == items.as_ptr_range().end)
    }

    /// What these items start, if that is all that they do, without an end.
    fn endless(&mut self, items: &'a [Item]) -> Option<Ending<'a>> {
        let function = |name: &str| self.functions.get(name).and_then(|f| f.definition).map(|f| &f.node);
        let is_of_the_file = |name: &str| {
            matches!(self.entity(name), Some(Entity::Global(_) | Entity::Function(_) | Entity::Object(_)))
                && !self.scopes[1..].iter().any(|scope| scope.names.contains_key(name))
        };
        let program = started::Program { function: &function, is_of_the_file: &is_of_the_file };
        let mut ending = started::ending(items, &program)?;
        if let Over::Unless(e) = ending.over {
            self.integer(e).ok().filter(|n| *n != 0)?;
            ending.over = Over::Never;
        }
        Some(ending)
    }

    /// Whether the variables that handles and results are written to are named nowhere else.
    fn nobody_looks_at(&self, once: &Started<'a>, again: &Started<'a>) -> bool {
        let functions = || self.functions.values().filter_map(|f| f.definition);
        let first_values = || self.declared.iter().filter_map(|d| d.init);
        let main = self.functions["main"].definition.expect("it is being read");
        let Statement::Compound(body) = &main.node.statement.node else { return false };
        let mut named: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for handle in once.handles.iter().chain(&again.handles) {
            let Handle::Outer { name, is_array, at } = handle else { continue };
            named.entry(name).or_default().insert(at.start);
            if *is_array && !self.is_array(name) {
                return false;
            }
        }
        let alone = named.iter().all(|(name, places)| {
            let all = match self.is_local(name) {
                true => mentions::in_body(body, name),
                false => {
                    let named = functions().map(|f| mentions::in_function(&f.node, name));
                    named.chain(first_values().map(|value| mentions::in_value(&value.node, name))).sum()
                }
            };
            all == places.len()
        });
        alone && once.results.iter().chain(&again.results).all(|name| self.is_local(name))
    }

    fn is_local(&self, name: &str) -> bool {
        matches!(self.entity(name), Some(Entity::Object(id)) if matches!(self.objects[id].parts, Parts::Locals(_)))
    }

    fn is_array(&self, name: &str) -> bool {
        match self.entity(name) {
            Some(Entity::Object(id)) => matches!(self.objects[id].ty.plain(), CType::Array(..)),
            Some(Entity::Global(n)) => matches!(self.declared[n].ty.plain(), CType::Array(..)),
            _ => false,
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

/// Handles that nothing but constants are written to are those of no thread, where any number of threads begin.
pub(crate) fn forget_handles(program: &mut Program) {
    for proc in &mut program.procs {
        let handles: Vec<LocalId> = (proc.params..proc.locals.len())
            .filter(|local| holds_threads(&proc.locals[*local].ty) && !is_used(&proc.body, *local))
            .collect();
        if !handles.is_empty() {
            forget(&mut proc.body, &handles);
            handles.iter().for_each(|local| proc.locals[*local].ty = Type::Bool);
        }
    }
}

fn holds_threads(ty: &Type) -> bool {
    match ty {
        Type::Thread => true,
        Type::Array { element, .. } => holds_threads(element),
        _ => false,
    }
}

/// Whether a statement writes a constant to one of these.
fn forgets(s: &Stmt, handles: &[LocalId]) -> bool {
    match &s.kind {
        StmtKind::Assign(place, e) => {
            matches!(place.base, Base::Local(l) if handles.contains(&l)) && matches!(e.kind, ExprKind::Const(_))
        }
        _ => false,
    }
}

fn forget(block: &mut Block, handles: &[LocalId]) {
    block.retain(|s| !forgets(s, handles));
    for s in block {
        match &mut s.kind {
            StmtKind::If(_, a, b) => [a, b].into_iter().for_each(|block| forget(block, handles)),
            StmtKind::While(_, block) | StmtKind::Atomic(block) => forget(block, handles),
            _ => {}
        }
    }
}

/// Whether one of these statements has a variable, but to write a constant to it.
fn is_used(block: &Block, local: LocalId) -> bool {
    let is_it = |place: &Place| matches!(place.base, Base::Local(l) if l == local);
    let mut any = false;
    statements(block, &mut |s| {
        let mut look = |e: &Expr| any |= matches!(&e.kind, ExprKind::Read(place) if is_it(place));
        expressions(s).into_iter().for_each(|e| each(e, &mut look));
        written(s).into_iter().flat_map(of_place).for_each(|e| each(e, &mut look));
        any |= written(s).is_some_and(is_it) && !forgets(s, &[local]);
        any |= match &s.kind {
            StmtKind::Call(results, ..) => results.contains(&Some(local)),
            StmtKind::Spawn(handle, ..) | StmtKind::Post(handle, ..) => *handle == Some(local),
            _ => false,
        };
    });
    any
}
