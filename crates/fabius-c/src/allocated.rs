//! Whether an element of the heap is there: it is not freed, and no further than what was allocated.

use crate::core::*;
use crate::lower::Lower;
use crate::memory::{Direct, Part, Pool};
use crate::types::CType;
use fabius_lang::program::*;
use fabius_trace::Span;

impl Lower<'_, '_> {
    /// The index into a flexible array, if a place is in one.
    fn flexible_index(&self, d: &Direct) -> Option<Expr> {
        let mut ty = self.objects[d.object].ty.clone();
        for part in &d.parts {
            ty = match (part, ty.plain()) {
                (Part::Field(i), CType::Struct(id)) => self.types().structs[*id].fields.as_ref()?.get(*i)?.ty.clone(),
                (Part::Index(e), CType::Array(_, None)) => return Some(e.clone()),
                (Part::Index(_), CType::Array(of, _)) => (**of).clone(),
                _ => return None,
            };
        }
        None
    }

    /// That a flexible array has the element of a place.
    fn has_element(&mut self, d: &Direct, span: Span) {
        let Some(index) = self.flexible_index(d) else { return };
        let (pool, index) = (self.objects[d.object].pool, cast(index, &ADDRESS));
        if pool.is_some_and(|p| p.elements.is_some()) {
            let words = "a flexible array in an array of structs is not followed";
            return self.check(boolean(false, span), Check::Bound, words, span);
        }
        // What is not allocated has none.
        let length = match (pool, &d.slot) {
            (Some(Pool { lengths: Some(lengths), slots, .. }), Some(slot)) => {
                let at = Projection::Index { index: index_of(slot.clone()).into(), lo: 0, len: slots };
                cast(read(Place { base: Base::Global(lengths), path: vec![at], ty: INT, span }), &ADDRESS)
            }
            _ => constant(0, ADDRESS, span),
        };
        let above = binary(BinaryOp::Le, constant(0, ADDRESS, span), index.clone());
        let there = and(above, binary(BinaryOp::Lt, index, length));
        self.check(there, Check::OutOfBounds, "beyond the end of the flexible array", span);
    }

    /// That the object of a place is allocated: checks to be made in the same step.
    pub fn allocated(&mut self, d: &Direct, span: Span) -> Block {
        let checks = self.block(|s| {
            s.is_allocated(d, span);
            s.has_element(d, span);
            s.is_within(d, span);
            Ok(())
        });
        checks.expect("nothing is refused here").0
    }

    fn is_allocated(&mut self, d: &Direct, span: Span) {
        let Some(Pool { allocated: Some(count), slots, elements, .. }) = self.objects[d.object].pool else {
            return;
        };
        let slot = d.slot.clone().unwrap_or_else(|| constant(0, ADDRESS, span));
        let index = Projection::Index { index: index_of(slot).into(), lo: 0, len: slots };
        let there = read(Place { base: Base::Global(count), path: vec![index], ty: INT, span });
        let element = d.element.clone().map_or_else(|| constant(0, INT, span), |e| cast(e, &INT));
        let some = binary(BinaryOp::Ne, there.clone(), constant(0, INT, span));
        self.check(some, Check::Memory, "the memory is freed", span);
        if elements.is_some() {
            let inside = binary(BinaryOp::Lt, element, there);
            self.check(inside, Check::OutOfBounds, "beyond the end of the allocated memory", span);
        }
    }
}
