//! `fabius.h`: tasks, levels, buffers, yields, any number of threads.

use super::strip_casts;
use crate::core::*;
use crate::entries::calls;
use crate::expressions::Ex;
use crate::lower::{Item, Lower};
use crate::places::Value;
use crate::refusal::{Result, unsupported, wrong};
use crate::types::{CType, LONG};
use fabius_lang::program::{Expr, Level, Proc, ProcId, Process, StmtKind};
use fabius_trace::Span;
use lang_c::ast::{BlockItem, Expression, Statement, UnaryOperator};

/// How many threads run a function.
#[derive(Clone, Copy)]
pub(super) enum Many {
    One,
    Any,
}

impl<'a> Lower<'a, '_> {
    pub(super) fn tasks(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Option<Value>> {
        match name {
            "fabius_yield" => self.push(StmtKind::Yield, span),
            "fabius_zield" => self.push(StmtKind::Zield, span),
            "fabius_any_int" => {
                let (lo, hi) = (self.number(args, 0, &LONG, span)?, self.number(args, 1, &LONG, span)?);
                let id = self.temp(LONG.core());
                let place = self.local(id, span);
                self.push(StmtKind::Any(place, lo, hi), span);
                return Ok(Some(Value::scalar(self.read_local(id, span), LONG)));
            }
            "fabius_post" => {
                let name = self.function_name(self.argument(args, 0, span)?, span)?;
                self.found.posted.insert(name);
                let (proc, values) = self.task(args, 0, span)?;
                self.push(StmtKind::Post(None, None, proc, values), span);
            }
            "fabius_post_at" => {
                let level = self.number(args, 0, &LONG, span)?;
                let level = match value_of(&level) {
                    Some(n) => Level::try_from(n).ok().filter(|n| *n < 16),
                    None => None,
                };
                let Some(level) = level else { return wrong(span, "the level is a constant from 0 to 15") };
                self.levels = self.levels.max(level + 1);
                let name = self.function_name(self.argument(args, 1, span)?, span)?;
                self.found.posted.insert(name);
                let (proc, values) = self.task(args, 1, span)?;
                self.push(StmtKind::Post(None, Some(level), proc, values), span);
            }
            "fabius_buffer" => {
                // A thread is a buffer of its own, and what it posts runs on it.
                let name = self.function_name(self.argument(args, 0, span)?, span)?;
                let (proc, values) = self.task(args, 0, span)?;
                match self.session.facts.numbers {
                    true => self.spawn_numbered(&name, values.into_iter().next(), None, span)?,
                    false => self.push(StmtKind::Spawn(None, proc, values), span),
                }
                self.found.threads += self.at_once();
            }
            "fabius_spawn_any" => {
                if self.body.function != "main" {
                    return unsupported(span, "any number of threads are started by `main` alone");
                }
                if !self.stands_at_the_end_of_main(span) {
                    return unsupported(
                        span,
                        "any number of threads begin when `main` has done all that it does: nothing but other calls of \
                         `fabius_spawn_any` and a `return` may stand behind this one, and it stands in no block of `main`",
                    );
                }
                let function = self.argument(args, 0, span)?;
                self.start_at_the_end(function, None, Many::Any, span)?;
            }
            _ => return Ok(None),
        }
        Ok(Some(Value::void()))
    }

    /// Threads that run a function, all with the same argument, once `main` has done all that it does.
    pub(super) fn start_at_the_end(
        &mut self,
        function: &'a Ex,
        argument: Option<&'a Ex>,
        many: Many,
        span: Span,
    ) -> Result<()> {
        self.threads_begin(span);
        let name = self.function_name(function, span)?;
        let signature = self.functions[&name].signature.clone();
        let given = match argument {
            Some(argument) if !signature.params.is_empty() => Some(self.given(argument, span)?),
            _ => None,
        };
        let values = self.passed(&name, given, span)?;
        self.found.roots.insert(name.clone());
        self.found.any_number.insert(name.clone());
        let called = self.proc_of(&name);
        let results = signature.result.is_scalar().then_some(None);
        let call = stmt(StmtKind::Call(results.into_iter().collect(), called, values), span);
        let does_the_same =
            |p: &Process| self.procs[p.proc].as_ref().is_some_and(|proc| proc.body[0].kind == call.kind);
        if let Some(n) = self.processes.iter().position(does_the_same) {
            let count = &mut self.processes[n].count;
            *count = count.filter(|_| matches!(many, Many::One)).map(|count| count + 1);
            return Ok(());
        }
        let others = self.processes.iter().filter(|p| p.name.strip_prefix(&name).is_some_and(is_a_number)).count();
        let name = if others == 0 { name } else { format!("{name}_{}", others + 1) };
        let body = vec![call];
        let proc = Proc { name: name.clone(), locals: Vec::new(), params: 0, results: Vec::new(), body, span };
        self.procs.push(Some(proc));
        let count = match many {
            Many::One => Some(1),
            Many::Any => None,
        };
        self.processes.push(Process { name, proc: self.procs.len() - 1, count, number: None });
        Ok(())
    }

    /// Whether a call of `fabius_spawn_any` is one of those with which `main` ends.
    fn stands_at_the_end_of_main(&self, call: Span) -> bool {
        let Some(main) = self.functions.get("main").and_then(|main| main.definition) else { return false };
        let Statement::Compound(items) = &main.node.statement.node else { return false };
        let mut last =
            items.iter().rev().skip_while(|item| returns(item)).take_while(|item| calls(item, &["fabius_spawn_any"]));
        last.any(|item| {
            let span = self.span(item.span);
            span.start <= call.start && call.end <= span.end
        })
    }

    fn function_name(&mut self, e: &'a Ex, span: Span) -> Result<String> {
        let e = strip_casts(e);
        let e = match &e.node {
            Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Address => &u.node.operand,
            _ => e,
        };
        match &e.node {
            Expression::Identifier(n) if self.functions.get(&n.node.name).is_some_and(|f| f.definition.is_some()) => {
                Ok(n.node.name.clone())
            }
            _ => unsupported(span, "the name of a function is expected here"),
        }
    }

    /// The procedure of a task, and its argument.
    fn task(&mut self, args: &'a [Ex], n: usize, span: Span) -> Result<(ProcId, Vec<Expr>)> {
        let name = self.function_name(self.argument(args, n, span)?, span)?;
        let v = self.value(self.argument(args, n + 1, span)?)?;
        let v = self.convert(v, &CType::Void.pointer(), span)?;
        self.found.roots.insert(name.clone());
        let signature = self.functions[&name].signature.clone();
        let proc = self.proc_of(&name);
        if signature.result != CType::Void {
            return wrong(span, format!("`{name}` returns a value, and a task has none"));
        }
        Ok((proc, self.passed(&name, Some(v.parts[0].clone()), span)?))
    }

    /// What the function of a thread or a task is given of a pointer.
    fn passed(&self, name: &str, pointer: Option<Expr>, span: Span) -> Result<Vec<Expr>> {
        match (self.functions[name].signature.params.as_slice(), pointer) {
            ([], _) => Ok(Vec::new()),
            ([ty], Some(pointer)) if ty.is_scalar() && !ty.is_float() => Ok(vec![cast(pointer, &ty.core())]),
            (_, None) => wrong(span, format!("`{name}` takes a parameter, and any number of threads have none")),
            _ => wrong(span, format!("`{name}` does not take one pointer, as a thread's function does")),
        }
    }
}

/// Whether that is what stands behind the name of those that run the same function with other arguments.
fn is_a_number(rest: &str) -> bool {
    rest.is_empty() || rest.strip_prefix('_').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether an item leaves `main` and does nothing else.
pub(super) fn returns(item: &Item) -> bool {
    matches!(&item.node, BlockItem::Statement(s) if matches!(&s.node, Statement::Return(value)
        if value.as_ref().is_none_or(|value| matches!(value.node, Expression::Constant(_)))))
}
