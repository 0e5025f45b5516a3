//! Calls: how a procedure is entered and left, its summary, and calls that are taken in place.

use super::{Reach, Stopped};
use crate::summaries::Set;
use crate::summaries::diagram::{Done, and_exists, without};
use crate::summaries::graph::{Action, ENTRY, Graph};
use crate::summaries::layout::{Copy, Leaf, count};
use crate::summaries::values::Scalars;
use fabius_lang::program::*;
use fabius_trace::Span;
use oxidd::{BooleanFunction, BooleanFunctionQuant};
use std::collections::BTreeSet;

impl Reach<'_> {
    /// Puts the arguments of a call that is taken in place.
    pub fn enter_in_place(&mut self, p: ProcId, q: ProcId, args: &[Expr], set: &Set) -> Result<Set, Stopped> {
        let locals = (0..self.program.procs[q].locals.len()).flat_map(|l| self.local_leaves(q, l));
        let old = self.d.cube(locals.flat_map(|l| self.layout.variables(l, Copy::Now)).collect::<Vec<_>>())?;
        let mut now = set.exists(&old)?;
        for (i, e) in args.iter().enumerate() {
            let values = self.evaluator(p).value(e)?;
            let to: Vec<Leaf> = self.local_leaves(q, i).collect();
            now = self.set_leaves(q, &to, &values, &[], &now)?;
        }
        self.with_locals(q, &now)
    }

    /// Puts the results of a call that is taken in place.
    pub fn leave_in_place(
        &mut self,
        q: ProcId,
        values: &[Expr],
        p: ProcId,
        results: &[Option<LocalId>],
        set: &Set,
    ) -> Result<Set, Stopped> {
        let mut now = set.clone();
        for (i, l) in results.iter().enumerate().filter_map(|(i, l)| l.map(|l| (i, l))) {
            let default = || {
                let ty = self.program.procs[q].results[i].clone();
                let value = ty.default_value(&self.program.records);
                Expr { kind: ExprKind::Const(value), ty, span: Span::default() }
            };
            let value = values.get(i).cloned().unwrap_or_else(default);
            let values = self.evaluator(q).value(&value)?;
            let to: Vec<Leaf> = self.local_leaves(p, l).collect();
            now = self.set_leaves(p, &to, &values, &[], &now)?;
        }
        Ok(now)
    }

    /// The results are these; those that are not given have their defaults.
    pub(super) fn results_are(&mut self, p: ProcId, values: &[Expr], set: &Set) -> Result<Set, Stopped> {
        let mut now = set.clone();
        for (i, ty) in self.program.procs[p].results.iter().enumerate() {
            let first = self.layout.result(p, i);
            let scalars = match values.get(i) {
                Some(e) => self.evaluator(p).value(e)?,
                None => {
                    let default = ty.default_value(&self.program.records);
                    let default = Expr { kind: ExprKind::Const(default), ty: ty.clone(), span: Span::default() };
                    self.evaluator(p).value(&default)?
                }
            };
            for (n, value) in scalars.iter().enumerate() {
                self.fits(first + n, value, set)?;
                now = now.and(&self.evaluator(p).leaf_is(first + n, Copy::Now, value)?)?;
            }
        }
        Ok(now)
    }

    /// With the arguments of a call.
    pub(super) fn call(&mut self, p: ProcId, q: ProcId, args: &[Expr], set: &Set) -> Result<Set, Stopped> {
        let mut now = set.clone();
        for (i, e) in args.iter().enumerate() {
            let first = self.layout.local(q, i);
            let values = self.evaluator(p).value(e)?;
            for (n, value) in values.iter().enumerate() {
                self.fits(first + n, value, set)?;
                now = now.and(&self.evaluator(p).leaf_is(first + n, Copy::Argument, value)?)?;
            }
        }
        Ok(now)
    }

    /// The states in which a procedure is entered: (now, argument).
    pub(super) fn enter(&self, p: ProcId, called: &Set) -> Done<Set> {
        let entries = self.changes[p].iter().flat_map(|g| self.global_leaves(*g)).chain(self.parameter_leaves(p));
        let entries: Vec<u32> = entries.flat_map(|l| self.layout.variables(l, Copy::Entry)).collect();
        let locals = (0..self.program.procs[p].locals.len()).flat_map(|l| self.local_leaves(p, l));
        let locals = locals.flat_map(|l| self.layout.variables(l, Copy::Now));
        called.exists(&self.d.cube(entries.into_iter().chain(locals))?)
    }

    pub(super) fn parameter_leaves(&self, p: ProcId) -> impl Iterator<Item = Leaf> {
        (0..self.program.procs[p].params).flat_map(move |l| self.local_leaves(p, l))
    }

    /// Enters a procedure.
    pub(super) fn begin(&mut self, q: ProcId, inputs: &Set) -> Result<(), Stopped> {
        let parameters: Vec<Leaf> = self.parameter_leaves(q).collect();
        let mut now = self.renaming(parameters.iter().copied(), Copy::Argument, Copy::Now)?.of(inputs)?;
        let changed = self.changed(q);
        for leaf in parameters.into_iter().chain(changed) {
            let entry = self.evaluator(q).leaf(leaf, Copy::Entry)?;
            now = now.and(&self.evaluator(q).leaf_is(leaf, Copy::Now, &entry)?)?;
        }
        // A parameter that nobody reads matters no more.
        let dead = (0..self.program.procs[q].params).filter(|l| !self.graphs[q].live[ENTRY][*l]);
        let dead = dead.flat_map(|l| self.local_leaves(q, l)).flat_map(|l| self.layout.variables(l, Copy::Now));
        let now = now.exists(&self.d.cube(dead)?)?;
        let now = self.with_locals(q, &now)?;
        self.add(q, ENTRY, &now)
    }

    /// Where a call comes back, as a summary says.
    pub(super) fn behind(
        &mut self,
        p: ProcId,
        results: &[Option<LocalId>],
        q: ProcId,
        called: &Set,
        summary: &Set,
    ) -> Result<Set, Stopped> {
        if !summary.satisfiable() {
            return Ok(self.d.none.clone());
        }
        let changed = self.changed(q);
        let arguments = self.parameter_leaves(q).flat_map(|l| self.layout.variables(l, Copy::Argument));
        let old = changed.iter().flat_map(|l| self.layout.variables(*l, Copy::Now));
        let old: Vec<u32> = old.chain(arguments).collect();
        let now = and_exists(called, summary, &self.d.cube(old)?)?;
        let mut now = self.renaming(changed.into_iter(), Copy::Next, Copy::Now)?.of(&now)?;
        let mut gone = Vec::new();
        for (i, ty) in self.program.procs[q].results.iter().enumerate() {
            let (first, size) = (self.layout.result(q, i), count(self.program, ty));
            if let Some(l) = results.get(i).copied().flatten() {
                let values = (first..first + size).map(|r| self.evaluator(p).leaf(r, Copy::Now));
                let values = values.collect::<Done<Scalars>>()?;
                let to: Vec<Leaf> = self.local_leaves(p, l).collect();
                now = self.set_leaves(p, &to, &values, &[], &now)?;
            }
            gone.extend((first..first + size).flat_map(|r| self.layout.variables(r, Copy::Now)));
        }
        Ok(now.exists(&self.d.cube(gone)?)?)
    }

    /// A procedure has come to its end: its summary grows, and all its callers go on.
    pub(super) fn finish(&mut self, p: ProcId, set: &Set) -> Result<(), Stopped> {
        let locals = (0..self.program.procs[p].locals.len()).flat_map(|l| self.local_leaves(p, l));
        let locals: Vec<u32> = locals.flat_map(|l| self.layout.variables(l, Copy::Now)).collect();
        let set = set.exists(&self.d.cube(locals)?)?;
        let changed = self.changed(p);
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        let mut rename = |leaf: Leaf, from: Copy, to: Copy| {
            pairs.extend(self.layout.variables(leaf, from).zip(self.layout.variables(leaf, to)));
        };
        for leaf in changed {
            rename(leaf, Copy::Now, Copy::Next);
            rename(leaf, Copy::Entry, Copy::Now);
        }
        self.parameter_leaves(p).for_each(|leaf| rename(leaf, Copy::Entry, Copy::Argument));
        let summary = self.d.renaming(pairs)?.of(&set)?;
        let new = without(&summary, &self.summaries[p])?;
        if !new.satisfiable() {
            return Ok(());
        }
        self.summaries[p] = self.summaries[p].or(&new)?;
        for (caller, at, e) in self.callers[p].clone() {
            let edge = &self.graphs[caller].edges[at][e];
            let Action::Call(results, q, args) = &edge.action else { unreachable!("a caller calls") };
            let called = self.call(caller, *q, args, &self.reached[caller][at].clone())?;
            let after = self.behind(caller, results, *q, &called, &new)?;
            let after = self.forget(caller, at, edge, &after)?;
            self.add(caller, edge.to, &after)?;
        }
        Ok(())
    }
}

/// The globals that each procedure may change, and what it calls.
pub fn changes(graphs: &[Graph<'_>]) -> Vec<BTreeSet<GlobalId>> {
    let mut all: Vec<BTreeSet<GlobalId>> = vec![BTreeSet::new(); graphs.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (p, graph) in graphs.iter().enumerate() {
            let mut here = all[p].clone();
            for edge in graph.edges.iter().flatten() {
                match &edge.action {
                    Action::Assign(place, _) | Action::Any(place, ..) => {
                        if let Base::Global(g) = place.base {
                            here.insert(g);
                        }
                    }
                    Action::Call(_, q, _) => here.extend(&all[*q]),
                    _ => {}
                }
            }
            if here != all[p] {
                all[p] = here;
                changed = true;
            }
        }
    }
    all
}

/// Callees before callers.
pub fn ranks(graphs: &[Graph<'_>]) -> Vec<usize> {
    let mut rank = vec![usize::MAX; graphs.len()];
    let mut seen = vec![false; graphs.len()];
    let mut next = 0;
    fn visit(p: ProcId, graphs: &[Graph<'_>], seen: &mut Vec<bool>, rank: &mut [usize], next: &mut usize) {
        if std::mem::replace(&mut seen[p], true) {
            return;
        }
        for edge in graphs[p].edges.iter().flatten() {
            if let Action::Call(_, q, _) = edge.action {
                visit(q, graphs, seen, rank, next);
            }
        }
        rank[p] = *next;
        *next += 1;
    }
    (0..graphs.len()).for_each(|p| visit(p, graphs, &mut seen, &mut rank, &mut next));
    rank
}
