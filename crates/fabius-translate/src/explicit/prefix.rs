//! What threads do before others may observe them: it belongs to the step that makes the thread.
//!
//! Statements are *visible* if they touch shared state or hand control over. A thread that finishes before it comes to one
//! is never seen: the step that makes it runs it at once, and it has no turn and no number. If that depends on values, the
//! step guesses it.

use super::{At, Body, Maker, Mode, Origin, code};
use crate::build::*;
use fabius_lang::program::*;
use std::collections::BTreeSet;

/// When a thread finishes that begins with a procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finishes {
    /// Before anything visible.
    AtOnce,
    /// Perhaps so.
    Perhaps,
    /// Not before something visible.
    Later,
}

/// What is known of the procedures of a program.
pub(super) struct Prefixes {
    /// Nothing visible is in it, calls included.
    quiet: Vec<bool>,
    /// It does not return before something visible.
    loud: Vec<bool>,
}

/// Whether others may observe that the statement is executed.
pub(super) fn is_visible(s: &Stmt) -> bool {
    s.access > Access::Local || hands_over(s)
}

pub(super) fn hands_over(s: &Stmt) -> bool {
    matches!(s.kind, StmtKind::Yield | StmtKind::Zield)
}

impl Prefixes {
    pub(super) fn of(program: &Program) -> Prefixes {
        let procs = program.procs.len();
        let mut all = Prefixes { quiet: vec![true; procs], loud: vec![false; procs] };
        // Callers mostly stand before or mostly behind those that they call: one of the two ways is short.
        let mut order: Vec<ProcId> = (0..procs).collect();
        loop {
            order.reverse();
            let mut changed = false;
            for p in &order {
                let body = &program.procs[*p].body;
                let now = (all.is_quiet(body), all.is_loud(body));
                changed |= now != (all.quiet[*p], all.loud[*p]);
                (all.quiet[*p], all.loud[*p]) = now;
            }
            if !changed {
                return all;
            }
        }
    }

    pub(super) fn finishes(&self, p: ProcId) -> Finishes {
        match (self.quiet[p], self.loud[p]) {
            (true, _) => Finishes::AtOnce,
            (false, false) => Finishes::Perhaps,
            (false, true) => Finishes::Later,
        }
    }

    /// How many statements a block begins with in which nothing is visible.
    pub(super) fn length(&self, block: &Block) -> usize {
        block.iter().position(|s| !self.is_quiet(std::slice::from_ref(s))).unwrap_or(block.len())
    }

    fn is_quiet(&self, block: &[Stmt]) -> bool {
        let mut quiet = true;
        for s in block {
            quiet &= !is_visible(s)
                && match &s.kind {
                    StmtKind::If(_, a, b) => self.is_quiet(a) && self.is_quiet(b),
                    StmtKind::While(_, b) | StmtKind::Atomic(b) => self.is_quiet(b),
                    StmtKind::Call(_, p, _) => self.quiet[*p],
                    _ => true,
                };
        }
        quiet
    }

    fn is_loud(&self, block: &Block) -> bool {
        for s in block {
            let loud = is_visible(s)
                || match &s.kind {
                    StmtKind::If(_, a, b) => self.is_loud(a) && self.is_loud(b),
                    StmtKind::Call(_, p, _) => self.loud[*p],
                    _ => false,
                };
            let mut returns = false;
            each(std::slice::from_ref(s), &mut |s| returns |= matches!(s.kind, StmtKind::Return(_)));
            if loud || returns {
                return loud;
            }
        }
        false
    }

    /// Whether it depends on values that a thread finishes in its prefix, or where that ends if the statement there is no
    /// scheduling point by itself.
    pub(super) fn depend_on_values(&self, program: &Program, implicit: bool) -> bool {
        let mut spawned = BTreeSet::new();
        for proc in &program.procs {
            each(&proc.body, &mut |s| {
                if let StmtKind::Spawn(_, p, _) = s.kind {
                    spawned.insert(p);
                }
            });
        }
        let ends_within = |p: ProcId| {
            let body = &program.procs[p].body;
            body.get(self.length(body)).is_some_and(|s| !is_visible(s))
        };
        let perhaps = spawned.iter().any(|p| self.finishes(*p) == Finishes::Perhaps);
        let mut threads = program.processes.iter().map(|p| p.proc).chain(program.init).chain(spawned);
        perhaps || threads.any(ends_within) && (!implicit || program.any_stmt(hands_over))
    }
}

impl Maker<'_> {
    /// How many statements of a thread come before a scheduling point that is made for it.
    pub(super) fn prefix(&self, block: &Block) -> usize {
        let length = self.prefixes.length(block);
        let ends = block.get(length).is_some_and(|s| is_visible(s) && (!self.implicit || hands_over(s)));
        if ends { length } else { block.len() }
    }

    /// In front of something visible: here the prefix ends, if it has not ended yet.
    pub(super) fn end_prefix(&mut self, s: &Stmt, body: &mut Body, out: &mut Block) {
        let Some(begun) = self.begun.clone() else { return };
        let mut here = Vec::from_iter(self.has_begun());
        if self.implicit && !hands_over(s) {
            // It is a scheduling point anyway.
            return out.extend(here);
        }
        self.note(code::SEEN, number(0), &mut here);
        here.push(stmt(StmtKind::Zield));
        self.remember(At::Point, body, &mut here);
        out.push(when(not(read(&begun)), here));
        body.at = At::Either;
    }

    /// Where the prefix ends in any case.
    pub(super) fn prefix_has_ended(&mut self, out: &mut Block) {
        self.note(code::SEEN, number(0), out);
        out.push(stmt(StmtKind::Zield));
        out.extend(self.has_begun());
    }

    /// Where execution has stopped, there may be no place for it.
    pub(super) fn has_begun(&self) -> Option<Stmt> {
        let begun = self.begun.as_ref()?;
        Some(when(not(read(&self.stop)), vec![set(begun, boolean(true))]))
    }

    /// Behind a thread that was not taken to finish in its prefix.
    pub(super) fn prefix_must_have_ended(&self, p: ProcId, origin: Origin, out: &mut Block) {
        if let (Origin::Spawned, Finishes::Perhaps, Some(begun)) = (origin, self.prefixes.finishes(p), &self.begun) {
            out.push(assume(or(read(&self.stop), read(begun))));
        }
    }

    /// Runs a thread that finishes in its prefix.
    pub(super) fn run_at_once(
        &mut self,
        p: ProcId,
        args: Vec<Expr>,
        me: Option<Expr>,
        locals: &mut Vec<Local>,
        out: &mut Block,
    ) {
        let callee = self.version(p, Mode::AtOnce, 0);
        let own = super::per_thread(&self.program);
        let mut restored = Vec::new();
        for (variable, init) in own {
            let saved = new_local(locals, "saved", variable.ty.clone());
            out.push(set(&saved, read(&variable)));
            out.push(set(&variable, expr(ExprKind::Const(init), variable.ty.clone())));
            restored.push(set(&variable, read(&saved)));
        }
        let results = self.source.procs[p].results.len();
        let span = self.source.procs[p].span;
        out.push(Stmt { span, ..stmt(StmtKind::Call(vec![None; results], callee, args)) });
        self.finish_task(me, out);
        out.extend(restored);
    }

    /// Makes a thread; `args` has its handle, if handles are used.
    pub(super) fn make_thread(
        &mut self,
        p: ProcId,
        args: Vec<Expr>,
        span: fabius_trace::Span,
        body: &mut Body,
        out: &mut Block,
    ) {
        let me = self.handles.is_some().then(|| args[args.len() - 1].clone());
        let finishes = self.prefixes.finishes(p);
        let mut later = Vec::new();
        if finishes != Finishes::AtOnce {
            let wrapper = self.wrapper(p, Origin::Spawned, 0);
            self.tell(code::SPAWN, number(0), &mut later);
            later.push(Stmt { span, ..stmt(StmtKind::Spawn(None, wrapper, args.clone())) });
        }
        let mut at_once = Vec::new();
        if finishes != Finishes::Later {
            self.run_at_once(p, args, me, &mut body.locals, &mut at_once);
        }
        match finishes {
            Finishes::AtOnce => out.extend(at_once),
            Finishes::Later => out.extend(later),
            Finishes::Perhaps => {
                let guess = new_local(&mut body.locals, "finishes", Type::Bool);
                out.push(any_between(&guess, boolean(false), boolean(true)));
                out.push(either(read(&guess), at_once, later));
            }
        }
    }
}
