//! Which globals a procedure reads or writes, with all that it calls.

use fabius_lang::program::{Base, Block, Expr, ExprKind, Guard, Place, Program, Projection, StmtKind};
use std::collections::BTreeSet;

/// For each procedure its globals, and the procedures that it calls, directly or not.
pub struct Touched {
    pub globals: BTreeSet<usize>,
    pub calls: BTreeSet<usize>,
}

/// Of all procedures: the least fixed point.
pub fn of_procedures(program: &Program) -> Vec<Touched> {
    let mut all: Vec<Touched> = Vec::new();
    for proc in &program.procs {
        let mut own = Touched { globals: BTreeSet::new(), calls: BTreeSet::new() };
        own.block(&proc.body);
        all.push(own);
    }
    loop {
        let mut grown = false;
        for p in 0..all.len() {
            for q in all[p].calls.clone() {
                let (globals, calls) = (all[q].globals.clone(), all[q].calls.clone());
                let before = (all[p].globals.len(), all[p].calls.len());
                all[p].globals.extend(globals);
                all[p].calls.extend(calls);
                grown |= before != (all[p].globals.len(), all[p].calls.len());
            }
        }
        if !grown {
            return all;
        }
    }
}

impl Touched {
    fn block(&mut self, block: &Block) {
        for stmt in block {
            match &stmt.kind {
                StmtKind::Assign(place, e) => {
                    self.place(place);
                    self.expr(e);
                }
                StmtKind::Any(place, lo, hi) => {
                    self.place(place);
                    self.expr(lo);
                    self.expr(hi);
                }
                StmtKind::If(guard, a, b) => {
                    self.guard(guard);
                    self.block(a);
                    self.block(b);
                }
                StmtKind::While(guard, body) => {
                    self.guard(guard);
                    self.block(body);
                }
                StmtKind::Atomic(body) => self.block(body),
                StmtKind::Call(_, proc, arguments) => {
                    self.calls.insert(*proc);
                    arguments.iter().for_each(|e| self.expr(e));
                }
                StmtKind::Return(es) => es.iter().for_each(|e| self.expr(e)),
                StmtKind::Assume(e) | StmtKind::Await(e) | StmtKind::Assert(e, ..) => self.expr(e),
                // Observations only, and what no sequential program has.
                _ => {}
            }
        }
    }

    fn guard(&mut self, guard: &Guard) {
        if let Guard::Expr(e) = guard {
            self.expr(e);
        }
    }

    fn place(&mut self, place: &Place) {
        if let Base::Global(g) = place.base {
            self.globals.insert(g);
        }
        for step in &place.path {
            if let Projection::Index { index, .. } = step {
                self.expr(index);
            }
        }
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Read(place) => self.place(place),
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => self.expr(a),
            ExprKind::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::IfElse(c, a, b) => {
                self.expr(c);
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Tuple(parts) => parts.iter().for_each(|e| self.expr(e)),
            _ => {}
        }
    }
}
