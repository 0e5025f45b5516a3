//! Variables that are not `_Atomic` and that atomic operations are used on: plain accesses to them are data, and race.
//!
//! Such a variable is data, and has a second one beside it that every atomic operation accesses in the same step, and nobody else.
//! That orders atomic operations with each other, and with nothing else.

use crate::core::{boolean, read};
use crate::library::assign;
use fabius_lang::program::*;
use fabius_lang::walk::{each, expressions, written};
use std::collections::BTreeMap;

/// What orders the atomic operations of each of these variables: what they access in an atomic block that is no section of the
/// user's, which begins with a store to `sections`.
pub(crate) fn order(program: &mut Program, mixed: &[GlobalId], sections: Option<GlobalId>) {
    let mut clocks = BTreeMap::new();
    for id in mixed {
        let variable = &mut program.globals[*id];
        variable.class = Class::Data;
        let (ty, init) = of_shape(&variable.ty);
        let (name, span) = (format!("$atomic {}", variable.name), variable.span);
        clocks.insert(*id, program.globals.len());
        program.globals.push(Global { name, ty, init, class: Class::Sync, per_thread: false, span });
    }
    for proc in &mut program.procs {
        let seen = proc.locals.len();
        let order = Order { clocks: &clocks, sections, seen };
        order.in_block(&mut proc.body, false);
        proc.locals.push(Local { name: "$atomic".into(), ty: Type::Bool });
    }
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
    sections: Option<GlobalId>,
    /// The local that takes what nobody looks at.
    seen: LocalId,
}

impl Order<'_> {
    fn in_block(&self, block: &mut Block, is_operation: bool) {
        for mut s in std::mem::take(block) {
            let mut behind = Block::new();
            if is_operation {
                for e in expressions(&s) {
                    each(e, &mut |e| {
                        if let ExprKind::Read(place) = &e.kind
                            && let Some(clock) = self.clock(place)
                        {
                            let to = Place { base: Base::Local(self.seen), path: Vec::new(), ..clock.clone() };
                            behind.push(assign(&to, read(clock), s.span));
                        }
                    });
                }
                if let Some(clock) = written(&s).and_then(|place| self.clock(place)) {
                    behind.push(assign(&clock, boolean(true, s.span), s.span));
                }
            }
            match &mut s.kind {
                StmtKind::If(_, a, b) => {
                    self.in_block(a, is_operation);
                    self.in_block(b, is_operation);
                }
                StmtKind::While(_, b) => self.in_block(b, is_operation),
                StmtKind::Atomic(b) => {
                    let is_section = b
                        .first()
                        .and_then(written)
                        .is_some_and(|place| matches!(place.base, Base::Global(id) if Some(id) == self.sections));
                    self.in_block(b, !is_section);
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
