//! Symbolic execution: one state for all paths, merged where they meet.
//!
//! Paper: Sequentialization in CORRAL's manner, as AsyncChecker uses it (Asynchronous Programs with Prioritized
//! Task-Buffers, MSR-TR-2012-1, section 6).
//!
//! Deviations:
//! 1. Not only calls are opened on demand but also the rest of a loop: both are an [`Open`] with inputs and outputs.
//! 2. What is not recursive is opened at once, as long as the program is small: constants travel further that way.

use super::layout::Leaf;
use super::state::{Halt, Leaves, NotSequential, State};
use super::{Bmc, Event, Open, OpenKind};
use fabius_lang::program::{Block, Expr, LocalId, ProcId, Stmt, StmtKind};
use fabius_smt::{Sort, Term, Terms};
use fabius_trace::Span;
use std::rc::Rc;

/// Who called whom.
#[derive(Debug)]
pub struct Callers {
    /// The procedure.
    pub proc: ProcId,
    /// Who called it.
    pub next: Option<Rc<Callers>>,
}

impl Callers {
    /// How often a procedure is active.
    pub fn count(&self, proc: ProcId) -> u32 {
        let rest = self.next.as_ref().map_or(0, |next| next.count(proc));
        rest + u32::from(self.proc == proc)
    }
}

/// A call under way, and where control leaves it.
pub struct Scope {
    /// The procedure.
    pub proc: ProcId,
    /// The calls that led here.
    pub callers: Rc<Callers>,
    /// Loops, innermost last.
    loops: Vec<LoopExits>,
    /// Where it returns, with the results.
    pub returns: Vec<(State, Leaves)>,
    /// What is printed in it, in order.
    pub told: Vec<Event>,
}

#[derive(Default)]
struct LoopExits {
    breaks: Vec<State>,
    continues: Vec<State>,
}

/// Iterations that are opened at once.
const AT_ONCE: u32 = 2;
/// The limits are looked at once in so many statements.
const OFTEN: u64 = 64;
/// Behind so many statements every call is left open.
const LARGE: u64 = 1_000_000;

impl Scope {
    pub(super) fn new(proc: ProcId, callers: Rc<Callers>) -> Scope {
        Scope { proc, callers, loops: Vec::new(), returns: Vec::new(), told: Vec::new() }
    }
}

type Ran = Result<Option<State>, Halt>;

impl<'p> Bmc<'p> {
    /// Runs statements; `None` if control never gets behind them.
    pub(super) fn block(&mut self, block: &'p [Stmt], mut state: State, scope: &mut Scope) -> Ran {
        for stmt in block {
            match self.stmt(stmt, state, scope)? {
                Some(next) if next.guard != Terms::FALSE => state = next,
                _ => return Ok(None),
            }
        }
        Ok(Some(state))
    }

    fn stmt(&mut self, stmt: &'p Stmt, mut state: State, scope: &mut Scope) -> Ran {
        self.statements += 1;
        if self.statements.is_multiple_of(OFTEN) && self.limits_are_hit() {
            return Err(Halt::Limits);
        }
        let not = |what| Err(Halt::NotSequential(NotSequential { what, span: stmt.span }));
        match &stmt.kind {
            StmtKind::Skip | StmtKind::Progress | StmtKind::Yield | StmtKind::Zield => {}
            StmtKind::Assign(place, e) => {
                let value = self.ev.eval(&state, scope.proc, e)?;
                self.ev.store(&mut state, scope.proc, place, &value)?;
            }
            StmtKind::Any(place, lo, hi) => {
                let sort = self.ev.leaf_sort(&state, scope.proc, place)?;
                let (value, allowed) = self.ev.any(&state, scope.proc, &place.ty, sort, lo, hi)?;
                self.ev.store(&mut state, scope.proc, place, &[value])?;
                state.guard = self.ev.terms.and(state.guard, allowed);
            }
            StmtKind::If(guard, then, otherwise) => {
                let c = self.ev.guard(&state, scope.proc, guard)?;
                return self.branch(c, then, otherwise, state, scope);
            }
            StmtKind::While(..) => return self.iterate(stmt, 0, AT_ONCE, state, scope),
            StmtKind::Break | StmtKind::Continue => {
                let innermost = scope.loops.last_mut().expect("only inside of a loop");
                let list = if stmt.kind == StmtKind::Break { &mut innermost.breaks } else { &mut innermost.continues };
                list.push(state);
                return Ok(None);
            }
            StmtKind::Call(results, proc, arguments) => {
                return self.call(results, *proc, arguments, stmt.span, state, scope);
            }
            StmtKind::Return(es) => {
                let mut values = Vec::new();
                let types = &self.program.procs[scope.proc].results;
                for (e, ty) in es.iter().zip(types) {
                    let value = self.ev.eval(&state, scope.proc, e)?;
                    values.extend(self.ev.in_sorts_of(value, ty));
                }
                scope.returns.push((state, values));
                return Ok(None);
            }
            StmtKind::Atomic(block) => return self.block(block, state, scope),
            StmtKind::Assume(e) | StmtKind::Await(e) => {
                let holds = self.ev.scalar(&state, scope.proc, e)?;
                state.guard = self.ev.terms.and(state.guard, holds);
            }
            StmtKind::Assert(e, ..) => {
                let holds = self.ev.scalar(&state, scope.proc, e)?;
                let fails = self.ev.terms.not(holds);
                let wrong = self.ev.terms.and(state.guard, fails);
                if wrong != Terms::FALSE {
                    self.wrong.push(wrong);
                }
                state.guard = self.ev.terms.and(state.guard, holds);
            }
            StmtKind::Print(es) => {
                let mut values = Vec::new();
                for e in es {
                    values.extend(self.ev.eval(&state, scope.proc, e)?);
                }
                scope.told.push(Event::Printed { guard: state.guard, values });
            }
            StmtKind::New(..) => return not("the heap"),
            StmtKind::Spawn(..) | StmtKind::Post(..) | StmtKind::Join(_) => return not("a thread or task"),
            StmtKind::SetInsert(..) | StmtKind::SetRemove(..) | StmtKind::SetRemoveAny(_) | StmtKind::SetClear(_) => {
                return not("a set of threads");
            }
        }
        Ok(Some(state))
    }

    fn branch(&mut self, c: Term, then: &'p Block, otherwise: &'p Block, state: State, scope: &mut Scope) -> Ran {
        let not_c = self.ev.terms.not(c);
        let yes = self.ev.terms.and(state.guard, c);
        let no = self.ev.terms.and(state.guard, not_c);
        let a = match yes {
            Terms::FALSE => None,
            guard => self.block(then, State { guard, vars: state.vars.clone() }, scope)?,
        };
        let b = match no {
            Terms::FALSE => None,
            guard => self.block(otherwise, State { guard, vars: state.vars }, scope)?,
        };
        Ok(match (a, b) {
            (Some(a), Some(b)) => Some(self.merge(c, a, b)),
            (a, b) => a.or(b),
        })
    }

    /// One state for two: the first where the condition holds.
    fn merge(&mut self, c: Term, a: State, b: State) -> State {
        let guard = self.ev.terms.or(a.guard, b.guard);
        let vars = a.vars.iter().zip(&b.vars).map(|(a, b)| self.ev.terms.ite(c, *a, *b)).collect();
        State { guard, vars }
    }

    /// One state for many whose guards exclude each other.
    pub(super) fn join(&mut self, states: Vec<State>) -> Option<State> {
        states.into_iter().filter(|s| s.guard != Terms::FALSE).rev().reduce(|rest, s| self.merge(s.guard, s, rest))
    }

    /// A loop from iteration `done` on; after `open` iterations the rest is left for later.
    pub(super) fn iterate(&mut self, stmt: &'p Stmt, done: u32, open: u32, mut state: State, scope: &mut Scope) -> Ran {
        let StmtKind::While(guard, body) = &stmt.kind else { unreachable!("only loops are iterated") };
        let mut exits = Vec::new();
        let mut iteration = 0;
        loop {
            let c = self.ev.guard(&state, scope.proc, guard)?;
            let not_c = self.ev.terms.not(c);
            let leaves = self.ev.terms.and(state.guard, not_c);
            exits.push(State { guard: leaves, vars: state.vars.clone() });
            state.guard = self.ev.terms.and(state.guard, c);
            if state.guard == Terms::FALSE {
                break;
            }
            // While all is known there is no reason to stop, up to what is allowed.
            let certain = c == Terms::TRUE && done + iteration < self.unwind;
            if iteration >= open && !certain {
                exits.push(self.leave_loop_open(stmt, done + iteration, state, scope));
                break;
            }
            iteration += 1;
            scope.loops.push(LoopExits::default());
            let next = self.block(body, state, scope)?;
            let LoopExits { breaks, continues } = scope.loops.pop().expect("it was just pushed");
            exits.extend(breaks);
            match self.join(next.into_iter().chain(continues).collect()) {
                Some(next) => state = next,
                None => break,
            }
        }
        Ok(self.join(exits))
    }

    /// The body of a loop, whose guard has been found true, and then the loop.
    pub(super) fn reenter(&mut self, stmt: &'p Stmt, done: u32, state: State, scope: &mut Scope) -> Ran {
        let StmtKind::While(_, body) = &stmt.kind else { unreachable!("only loops are iterated") };
        scope.loops.push(LoopExits::default());
        let next = self.block(body, state, scope)?;
        let LoopExits { breaks, continues } = scope.loops.pop().expect("it was just pushed");
        let mut exits = breaks;
        if let Some(next) = self.join(next.into_iter().chain(continues).collect()) {
            // Twice as many as before, so that long loops take few rounds.
            exits.extend(self.iterate(stmt, done + 1, done.max(1), next, scope)?);
        }
        Ok(self.join(exits))
    }

    fn call(
        &mut self,
        results: &[Option<LocalId>],
        proc: ProcId,
        arguments: &[Expr],
        span: Span,
        state: State,
        scope: &mut Scope,
    ) -> Ran {
        let program = self.program;
        let globals = self.ev.globals.leaves.len();
        let mut vars = state.vars[..globals].to_vec();
        let callee = &program.procs[proc];
        for (e, local) in arguments.iter().zip(&callee.locals) {
            let value = self.ev.eval(&state, scope.proc, e)?;
            vars.extend(self.ev.in_sorts_of(value, &local.ty));
        }
        for local in &callee.locals[callee.params..] {
            vars.extend(self.ev.default_of(&local.ty));
        }
        let inside = State { guard: state.guard, vars };
        let callers = Rc::new(Callers { proc, next: Some(Rc::clone(&scope.callers)) });
        let outcome = if self.statements > LARGE || scope.callers.count(proc) > 0 {
            Some(self.leave_call_open(proc, callers, span, inside, scope))
        } else {
            let mut inner = Scope::new(proc, callers);
            let end = self.block(&callee.body, inside, &mut inner)?;
            let outcome = self.finish_call(end, &mut inner);
            scope.told.append(&mut inner.told);
            outcome
        };
        let Some((after, values)) = outcome else { return Ok(None) };
        let mut next = State { guard: after.guard, vars: after.vars[..globals].to_vec() };
        next.vars.extend_from_slice(&state.vars[globals..]);
        let mut at = 0;
        for (result, ty) in results.iter().zip(&callee.results) {
            let length = super::layout::size(program, ty);
            if let Some(local) = result {
                let offset = globals + self.ev.locals[scope.proc].offsets[*local];
                next.vars[offset..offset + length].copy_from_slice(&values[at..at + length]);
            }
            at += length;
        }
        Ok(Some(next))
    }

    /// Where a call ends, with its results.
    pub(super) fn finish_call(&mut self, end: Option<State>, scope: &mut Scope) -> Option<(State, Leaves)> {
        if let Some(end) = end {
            let types = &self.program.procs[scope.proc].results;
            let values = types.iter().flat_map(|ty| self.ev.default_of(ty)).collect();
            scope.returns.push((end, values));
        }
        // Results are merged as if they were variables.
        let globals = self.ev.globals.leaves.len();
        let states = std::mem::take(&mut scope.returns).into_iter().map(|(mut s, values)| {
            s.vars.truncate(globals);
            s.vars.extend(values);
            s
        });
        let mut all = self.join(states.collect())?;
        let values = all.vars.split_off(globals);
        Some((all, values))
    }

    /// The rest of a loop, with new variables for what it does: behind it, and where it returns.
    fn leave_loop_open(&mut self, stmt: &'p Stmt, done: u32, state: State, scope: &mut Scope) -> State {
        let changes = self.changes_of_loop(stmt, scope.proc);
        let behind = self.fresh_state(&state, &changes.leaves);
        let mut returned = None;
        if changes.returns {
            let mut there = self.fresh_state(&state, &changes.leaves);
            there.vars.truncate(self.ev.globals.leaves.len());
            let values = self.fresh_results(scope.proc);
            let both = self.ev.terms.and(behind.guard, there.guard);
            let not_both = self.ev.terms.not(both);
            self.facts.push(not_both);
            scope.returns.push((there.clone(), values.clone()));
            returned = Some((there, values));
        }
        scope.told.push(Event::Open(self.open.len()));
        self.open.push(Open {
            kind: OpenKind::Loop { stmt, done },
            span: stmt.span,
            proc: scope.proc,
            callers: Rc::clone(&scope.callers),
            changes,
            input: state,
            behind: Some(behind.clone()),
            returned,
            told: None,
        });
        behind
    }

    /// A call, with new variables for what it does.
    fn leave_call_open(
        &mut self,
        proc: ProcId,
        callers: Rc<Callers>,
        span: Span,
        state: State,
        scope: &mut Scope,
    ) -> (State, Leaves) {
        let changes = self.changes_of_call(proc);
        let mut after = self.fresh_state(&state, &changes.leaves);
        after.vars.truncate(self.ev.globals.leaves.len());
        let values = self.fresh_results(proc);
        scope.told.push(Event::Open(self.open.len()));
        self.open.push(Open {
            kind: OpenKind::Call,
            span,
            proc,
            callers,
            changes,
            input: state,
            behind: None,
            returned: Some((after.clone(), values.clone())),
            told: None,
        });
        (after, values)
    }

    fn fresh_results(&mut self, proc: ProcId) -> Leaves {
        let program = self.program;
        let leaves: Vec<Leaf> = program.procs[proc].results.iter().flat_map(|ty| self.ev.leaves(ty)).collect();
        leaves.into_iter().map(|leaf| leaf.variable(&mut self.ev.terms)).collect()
    }

    /// A state of new variables, but for what is not changed. Where control gets there, it was here.
    fn fresh_state(&mut self, from: &State, changed: &[Option<Leaf>]) -> State {
        let guard = self.ev.terms.variable(Sort::Bool);
        let was_here = self.ev.terms.implies(guard, from.guard);
        self.facts.push(was_here);
        let changed = changed.iter().map(Some).chain(std::iter::repeat(None));
        let vars = from.vars.iter().zip(changed).map(|(v, changed)| match changed {
            Some(Some(leaf)) => leaf.variable(&mut self.ev.terms),
            _ => *v,
        });
        State { guard, vars: vars.collect() }
    }
}
