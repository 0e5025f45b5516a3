//! Arrays of functions whose length is known only when the program runs (C11 6.7.6.2): there is room for as many elements as are
//! followed, and a variable beside each says how many there are.

use crate::core::*;
use crate::lower::*;
use crate::memory::{Direct, ObjectId, Part, Parts, Pool};
use crate::places::{self, At};
use crate::refusal::{Refusal, Result, unsupported};
use crate::types::CType;
use fabius_lang::program::*;
use fabius_trace::Span;
use lang_c::ast::Expression;
use lang_c::span::Node;

impl<'a> Lower<'a, '_> {
    /// A declarator of a variable, with its lengths from the outermost: those that are not constant.
    pub fn lengths_of(
        &mut self,
        span: Span,
        read: impl FnOnce(&mut Self) -> Result<(String, CType)>,
    ) -> Result<(String, CType, Vec<Option<Expr>>)> {
        let outer = self.body.lengths.replace(Vec::new());
        let named = read(self);
        let lengths = std::mem::replace(&mut self.body.lengths, outer).unwrap_or_default();
        let (name, ty) = named?;
        if lengths.iter().all(Option::is_none) {
            return Ok((name, ty, Vec::new()));
        }
        let mut arrays = 0;
        let mut inner = &ty;
        while let CType::Array(of, _) = inner {
            (inner, arrays) = (of, arrays + 1);
        }
        match arrays >= lengths.len() {
            true => Ok((name, ty, lengths.into_iter().rev().collect())),
            false => elsewhere(span),
        }
    }

    /// Where the lengths of a local array are, as the pass before found that it has them.
    pub fn follow_lengths(&mut self, id: ObjectId) {
        let object = &self.objects[id];
        let Some(variable) = self.session.facts.lengths.get(&object.key).cloned() else { return };
        if self.lengths.contains_key(&id) {
            return;
        }
        let (key, pool) = (object.key.clone(), object.pool);
        let is_local = matches!(object.parts, Parts::Locals(_));
        let mut all = Vec::new();
        for (i, variable) in variable.into_iter().enumerate() {
            all.push(variable.then(|| {
                if is_local {
                    self.body.locals.push(Local { name: format!("$length.{key}.{i}"), ty: INT });
                    return Base::Local(self.body.locals.len() - 1);
                }
                let dims: Vec<u32> = pool.map(|p| p.slots).into_iter().collect();
                let (ty, init) = array_of(INT, Value::Int(0), &dims);
                Base::Global(self.hidden(&format!("$length.{key}.{i}"), ty, init, Class::Data, false))
            }));
        }
        self.lengths.insert(id, all);
    }

    /// A local array is declared that has these lengths.
    pub fn has_lengths(&mut self, id: ObjectId, lengths: Vec<Option<Expr>>, span: Span) {
        if lengths.is_empty() {
            return;
        }
        let variable = lengths.iter().map(Option::is_some).collect();
        self.found.lengths.insert(self.objects[id].key.clone(), variable);
        self.follow_lengths(id);
        let Some(bases) = self.lengths.get(&id).cloned() else { return };
        let At::Direct(Direct { slot, .. }) = self.whole(id, span).at else { return };
        for (base, length) in bases.into_iter().zip(lengths) {
            if let (Some(base), Some(length)) = (base, length) {
                let place = self.length_at(id, base, slot.clone(), span);
                self.push(StmtKind::Assign(place, cast(length, &INT)), span);
            }
        }
    }

    /// The size of a variable that has a length that is not constant.
    pub fn size_by_lengths(&mut self, e: &Node<Expression>, ty: &CType, span: Span) -> Option<places::Value> {
        let Expression::Identifier(name) = &e.node else { return None };
        let Some(Entity::Object(id)) = self.entity(&name.node.name) else { return None };
        let size_type = self.types().size_type();
        let Some(bases) = self.lengths.get(&id).cloned() else {
            // The pass after this one has them.
            let is_found = self.found.lengths.contains_key(&self.objects[id].key);
            return is_found.then(|| places::Value::scalar(constant(0, size_type.core(), span), size_type));
        };
        let At::Direct(Direct { slot, .. }) = self.whole(id, span).at else { return None };
        let (mut of, mut size) = (ty, constant(1, ADDRESS, span));
        for base in bases {
            let CType::Array(element, length) = of else { return None };
            let length = match base {
                Some(base) => cast(read(self.length_at(id, base, slot.clone(), span)), &ADDRESS),
                None => constant((*length)?.into(), ADDRESS, span),
            };
            (of, size) = (element, binary(BinaryOp::Mul, size, length));
        }
        let each = constant(self.types().size(of)?, ADDRESS, span);
        Some(places::Value::scalar(cast(binary(BinaryOp::Mul, size, each), &size_type.core()), size_type))
    }

    fn length_at(&self, id: ObjectId, base: Base, slot: Option<Expr>, span: Span) -> Place {
        let path = match (self.objects[id].pool, slot) {
            (Some(Pool { slots, .. }), Some(slot)) => {
                vec![Projection::Index { index: index_of(slot).into(), lo: 0, len: slots }]
            }
            _ => Vec::new(),
        };
        Place { base, path, ty: INT, span }
    }

    /// That an array has the element of a place.
    pub fn is_within(&mut self, d: &Direct, span: Span) {
        let Some(bases) = self.lengths.get(&d.object).cloned() else { return };
        for (i, (base, part)) in bases.into_iter().zip(&d.parts).enumerate() {
            let (Some(base), Part::Index(index)) = (base, part) else { continue };
            let length = cast(read(self.length_at(d.object, base, d.slot.clone(), span)), &ADDRESS);
            let index = cast(index.clone(), &ADDRESS);
            let above = binary(BinaryOp::Le, constant(0, ADDRESS, span), index.clone());
            let there = and(above, binary(BinaryOp::Lt, index, length));
            match i {
                0 => self.check(there, Check::OutOfBounds, "beyond the end of the array", span),
                // It may be an element of the next row.
                _ => self.check(there, Check::Bound, "an element behind the end of its row", span),
            }
        }
    }

    /// Where rows have lengths that are not constant, they do not lie where C has them.
    pub fn has_addresses(&self, id: ObjectId, span: Span) -> Result<()> {
        match self.session.facts.lengths.get(&self.objects[id].key) {
            Some(variable) if variable.iter().skip(1).any(|v| *v) => {
                unsupported(span, "the address of an array whose rows have no constant length is not taken")
                    .map_err(|e: Refusal| e.help("make the rows of a constant length"))
            }
            _ => Ok(()),
        }
    }
}

/// A length that is not constant stands in another place than in an array that is a variable of a function.
pub(crate) fn elsewhere<T>(span: Span) -> Result<T> {
    unsupported(span, "a length that is not constant is taken of arrays that are variables of functions only")
        .map_err(|e: Refusal| e.help("give it a constant length, or pass a pointer to the first element"))
}
