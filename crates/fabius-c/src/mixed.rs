//! Variables that are not `_Atomic` and that atomic operations are used on: plain accesses to them are data, and race.
//!
//! Such a variable is data, and has a second one beside it that every atomic operation accesses in the same step, and nobody else.
//! That orders atomic operations with each other, and with nothing else.

use crate::core::{boolean, read, stmt};
use crate::library::assign;
use fabius_lang::program::*;
use fabius_lang::walk::{each, expressions, written};
use fabius_trace::Span;
use std::collections::{BTreeMap, BTreeSet};

/// What orders the atomic operations of each of these variables: what they access in an atomic block that [`operation`] begins.
/// Where nobody accesses one in another way it is as good as `_Atomic`. Says whether any are left.
pub(crate) fn order(program: &mut Program, mixed: &[GlobalId]) -> bool {
    let mut plain = BTreeSet::new();
    program.procs.iter().for_each(|proc| plainly(&proc.body, &mut plain));
    let mut clocks = BTreeMap::new();
    for id in mixed.iter().filter(|id| plain.contains(id)) {
        let variable = &mut program.globals[*id];
        variable.class = Class::Data;
        let (ty, init) = of_shape(&variable.ty);
        let (name, span) = (format!("$atomic {}", variable.name), variable.span);
        clocks.insert(*id, program.globals.len());
        program.globals.push(Global { name, ty, init, class: Class::Sync, per_thread: false, span });
    }
    for proc in &mut program.procs {
        let seen = proc.locals.len();
        let order = Order { clocks: &clocks, seen };
        order.in_block(&mut proc.body, false);
        proc.locals.push(Local { name: "$atomic".into(), ty: Type::Bool });
    }
    !clocks.is_empty()
}

/// What the block of an atomic operation on a variable begins with that is not atomic by its type.
pub(crate) fn operation(span: Span) -> Stmt {
    stmt(StmtKind::Skip, span)
}

fn is_operation(block: &Block) -> bool {
    block.first().is_some_and(|s| matches!(s.kind, StmtKind::Skip))
}

/// Variables that are accessed outside of atomic operations.
fn plainly(block: &Block, found: &mut BTreeSet<GlobalId>) {
    for s in block {
        for place in read_in(s).iter().chain(written(s)) {
            if let Base::Global(id) = place.base {
                found.insert(id);
            }
        }
        match &s.kind {
            StmtKind::If(_, a, b) => {
                plainly(a, found);
                plainly(b, found);
            }
            StmtKind::While(_, b) => plainly(b, found),
            StmtKind::Atomic(b) if !is_operation(b) => plainly(b, found),
            _ => {}
        }
    }
}

/// The places that a statement reads.
fn read_in(s: &Stmt) -> Vec<Place> {
    let mut all = Vec::new();
    for e in expressions(s) {
        each(e, &mut |e| {
            if let ExprKind::Read(place) = &e.kind {
                all.push(place.clone());
            }
        });
    }
    all
}

/// The same arrays of Booleans that are all true.
fn of_shape(ty: &Type) -> (Type, Value) {
    match ty {
        Type::Array { index, lo, len, element } => {
            let (inner, init) = of_shape(element);
            let ty = Type::Array { index: index.clone(), lo: *lo, len: *len, element: Box::new(inner) };
            (ty, Value::Tuple(vec![init; *len as usize]))
        }
        _ => (Type::Bool, Value::Int(1)),
    }
}

struct Order<'a> {
    clocks: &'a BTreeMap<GlobalId, GlobalId>,
    /// The local that takes what nobody looks at.
    seen: LocalId,
}

impl Order<'_> {
    fn in_block(&self, block: &mut Block, operates: bool) {
        for mut s in std::mem::take(block) {
            let mut behind = Block::new();
            if operates {
                for clock in read_in(&s).iter().filter_map(|place| self.clock(place)) {
                    let to = Place { base: Base::Local(self.seen), path: Vec::new(), ..clock.clone() };
                    behind.push(assign(&to, read(clock), s.span));
                }
                if let Some(clock) = written(&s).and_then(|place| self.clock(place)) {
                    behind.push(assign(&clock, boolean(true, s.span), s.span));
                }
            }
            match &mut s.kind {
                StmtKind::If(_, a, b) => {
                    self.in_block(a, operates);
                    self.in_block(b, operates);
                }
                StmtKind::While(_, b) => self.in_block(b, operates),
                StmtKind::Atomic(b) => {
                    let operates = operates || is_operation(b);
                    self.in_block(b, operates);
                }
                _ => {}
            }
            block.push(s);
            // It is the last access of the step: what is in front of it belongs to the same event.
            block.extend(behind);
        }
    }

    /// What stands beside a variable.
    fn clock(&self, place: &Place) -> Option<Place> {
        let Base::Global(id) = place.base else { return None };
        let clock = *self.clocks.get(&id)?;
        Some(Place { base: Base::Global(clock), path: place.path.clone(), ty: Type::Bool, span: place.span })
    }
}
