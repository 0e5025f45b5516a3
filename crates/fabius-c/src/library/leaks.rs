//! Memory that is still allocated at the end of the process, and whether something points to it.

use super::assign;
use super::memory::at_slot;
use crate::core::*;
use crate::lower::{CHILDREN, Kind, Lower};
use crate::memory::{Object, ObjectId, Parts, Pool};
use crate::property::Property;
use crate::types::{CType, Leaf};
use fabius_lang::program::*;
use fabius_trace::Span;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The variables of `main` are gone.
    MainReturns,
    /// Those of all functions that run are still there.
    Exits,
}

/// A pool of the heap, and which of its blocks are known to be pointed to.
#[derive(Clone, Copy)]
struct Blocks {
    object: ObjectId,
    tracked: LocalId,
}

impl Lower<'_, '_> {
    /// At the end of the process: whether all memory is freed, or pointed to, if that is asked.
    pub(crate) fn look_for_leaks(&mut self, ending: Ending, span: Span) {
        match self.options.property {
            Some(Property::ValidMemsafety) => self.look_for_lost_memory(ending, span),
            Some(Property::ValidMemcleanup) => self.look_for_memory(span),
            None if self.options.leaks => self.look_for_memory(span),
            _ => {}
        }
    }

    fn look_for_memory(&mut self, span: Span) {
        self.found.frees = true;
        for id in self.heap() {
            for n in 0..self.pool(id).slots {
                let freed = not(self.is_taken(id, constant(i64::from(n), Type::Int, span), span));
                let words = format!("a `{}` is not freed at the end", self.types().show(&self.objects[id].ty));
                self.check(freed, Check::Leak, &words, span);
            }
        }
    }

    /// Whether each block is freed, or something points to it that is still there. All in one step.
    fn look_for_lost_memory(&mut self, ending: Ending, span: Span) {
        self.found.frees = true;
        let heap = self.heap();
        if heap.is_empty() {
            return;
        }
        let some = self.zeroed(Type::Bool, span);
        let (search, ()) = self.block_of(|l| {
            let blocks: Vec<Blocks> = heap.iter().map(|id| l.untracked(*id, span)).collect();
            for id in l.statics() {
                l.each_pointer(id, span, &mut |l, e| l.mark(&blocks, e, None, span));
            }
            l.follow(&blocks, span);
            let undecided = l.undecided(ending, &blocks, span);
            for each in &blocks {
                let ty = l.types().show(&l.objects[each.object].ty);
                l.each_block(each.object, span, &mut |l, slot| {
                    let free = not(l.is_taken(each.object, slot.clone(), span));
                    let kept = or(free, read(l.tracked(each, slot, span)));
                    let words = format!("whether something points to a `{ty}` is not known at the end");
                    let known = or(kept.clone(), not(l.read_local(undecided, span)));
                    l.check(known, Check::Bound, &words, span);
                    let words = format!("a `{ty}` is not freed, and nothing points to it at the end");
                    l.check(kept, Check::Leak, &words, span);
                });
            }
        });
        let (mut block, ()) = self.block_of(|l| {
            for id in &heap {
                l.each_block(*id, span, &mut |l, slot| {
                    let e = or(l.read_local(some, span), l.is_taken(*id, slot, span));
                    l.set_local(some, e, span);
                });
            }
        });
        block.push(stmt(StmtKind::If(Guard::Expr(self.read_local(some, span)), search, Vec::new()), span));
        self.push(StmtKind::Atomic(block), span);
    }

    fn block_of<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (Block, T) {
        self.block(|l| Ok(work(l))).expect("nothing is refused here")
    }

    fn heap(&self) -> Vec<ObjectId> {
        let counts = |o: &Object| o.key.starts_with("heap ") && o.pool.is_some_and(|p| p.allocated.is_some());
        (0..self.objects.len()).filter(|id| counts(&self.objects[*id])).collect()
    }

    fn pool(&self, id: ObjectId) -> Pool {
        self.objects[id].pool.expect("the heap is in pools")
    }

    /// Variables that are there until the end.
    fn statics(&self) -> Vec<ObjectId> {
        let is_static = |id: &ObjectId| {
            let o = &self.objects[*id];
            let known = self.session.known.get(&o.key).or(self.found_known.get(&o.key));
            let in_frame = known.is_some_and(|k| matches!(k.kind, Kind::Frame(_)));
            matches!(o.parts, Parts::Globals(_)) && !o.key.starts_with("heap ") && !in_frame
        };
        (0..self.objects.len()).filter(is_static).collect()
    }

    /// No block of a pool is known to be pointed to.
    fn untracked(&mut self, object: ObjectId, span: Span) -> Blocks {
        let (ty, none) = crate::lower::array_of(Type::Bool, Value::Int(0), &[self.pool(object).slots]);
        let tracked = self.temp(ty.clone());
        self.set_local(tracked, Expr { kind: ExprKind::Const(none), ty, span }, span);
        Blocks { object, tracked }
    }

    fn tracked(&self, blocks: &Blocks, slot: Expr, span: Span) -> Place {
        let index = Projection::Index { index: slot.into(), lo: 0, len: self.pool(blocks.object).slots };
        Place { base: Base::Local(blocks.tracked), path: vec![index], ty: Type::Bool, span }
    }

    /// Whether a block is allocated, and has to be freed.
    fn is_taken(&self, id: ObjectId, slot: Expr, span: Span) -> Expr {
        let pool = self.pool(id);
        let count = at_slot(pool.allocated.expect("it is counted"), &pool, slot.clone(), INT, span);
        let some = binary(BinaryOp::Ne, read(count), constant(0, INT, span));
        match pool.in_frame {
            Some(frames) => and(some, not(read(at_slot(frames, &pool, slot, Type::Bool, span)))),
            None => some,
        }
    }

    /// Does `work` for each number below this one.
    fn each_below(&mut self, n: u32, span: Span, work: &mut dyn FnMut(&mut Self, Expr)) {
        let i = self.temp(Type::Int);
        self.set_local(i, constant(0, Type::Int, span), span);
        let (round, ()) = self.block_of(|l| {
            let now = l.read_local(i, span);
            work(l, now.clone());
            l.set_local(i, binary(BinaryOp::Add, now, constant(1, Type::Int, span)), span);
        });
        let more = binary(BinaryOp::Lt, self.read_local(i, span), constant(i64::from(n), Type::Int, span));
        self.push(StmtKind::While(Guard::Expr(more), round), span);
    }

    fn each_block(&mut self, id: ObjectId, span: Span, work: &mut dyn FnMut(&mut Self, Expr)) {
        self.each_below(self.pool(id).slots, span, work);
    }

    /// Does `work` for each cell of a part of an object.
    fn each_cell(&mut self, id: ObjectId, n: usize, span: Span, work: &mut dyn FnMut(&mut Self, Place)) {
        let o = &self.objects[id];
        let Parts::Globals(ids) = &o.parts else { return };
        let place = Place { base: Base::Global(ids[n]), path: Vec::new(), ty: self.globals[ids[n]].ty.clone(), span };
        self.cells_of(place, span, work);
    }

    fn cells_of(&mut self, place: Place, span: Span, work: &mut dyn FnMut(&mut Self, Place)) {
        let Type::Array { lo, len, element, .. } = place.ty.clone() else { return work(self, place) };
        self.each_below(len, span, &mut |l, i| {
            let mut next = place.clone();
            next.path.push(Projection::Index { index: i.into(), lo, len });
            next.ty = (*element).clone();
            l.cells_of(next, span, work);
        });
    }

    /// Does `work` for the value of each pointer in an object.
    fn each_pointer(&mut self, id: ObjectId, span: Span, work: &mut dyn FnMut(&mut Self, Expr)) {
        for n in 0..self.objects[id].leaves.len() {
            if self.objects[id].leaves[n].ty.is_pointer() {
                self.each_cell(id, n, span, &mut |l, place| work(l, read(place)));
            }
        }
    }

    /// The block that an address means is pointed to; if it was not known before, `new` says so.
    fn mark(&mut self, blocks: &[Blocks], address: Expr, new: Option<LocalId>, span: Span) {
        for each in blocks {
            let (here, slot) = self.block_at(each.object, &address, span);
            let place = self.tracked(each, slot.clone(), span);
            let (block, ()) = self.block_of(|l| {
                if let Some(new) = new {
                    let first = or(l.read_local(new, span), not(read(place.clone())));
                    l.set_local(new, first, span);
                }
                l.body.out.push(assign(&place, boolean(true, span), span));
            });
            self.push(StmtKind::If(Guard::Expr(here), block, Vec::new()), span);
        }
    }

    /// Whether an address means a block of this pool, and which one.
    fn block_at(&self, id: ObjectId, address: &Expr, span: Span) -> (Expr, Expr) {
        let (o, pool) = (&self.objects[id], self.pool(id));
        let number = |n: i64| constant(n, ADDRESS, span);
        let above = binary(BinaryOp::Le, number(o.base), address.clone());
        let below = binary(BinaryOp::Lt, address.clone(), number(o.base + pool.stride * i64::from(pool.slots)));
        let from = binary(BinaryOp::Sub, address.clone(), number(o.base));
        let inside = binary(
            BinaryOp::Lt,
            binary(BinaryOp::Rem, from.clone(), number(pool.stride)),
            number(o.size(self.types()).max(1)),
        );
        let slot = cast(binary(BinaryOp::Div, from, number(pool.stride)), &Type::Int);
        (and(and(above, below), inside), slot)
    }

    /// What blocks point to that are pointed to.
    fn follow(&mut self, blocks: &[Blocks], span: Span) {
        let new = self.temp(Type::Bool);
        self.set_local(new, boolean(true, span), span);
        let (round, ()) = self.block_of(|l| {
            l.set_local(new, boolean(false, span), span);
            for each in blocks {
                for n in 0..l.objects[each.object].leaves.len() {
                    if !l.objects[each.object].leaves[n].ty.is_pointer() {
                        continue;
                    }
                    l.each_cell(each.object, n, span, &mut |l, place| {
                        let Some(Projection::Index { index: slot, .. }) = place.path.first().cloned() else { return };
                        let lives = l.is_taken(each.object, (*slot).clone(), span);
                        let from = and(read(l.tracked(each, *slot, span)), lives);
                        let (block, ()) = l.block_of(|l| l.mark(blocks, read(place), Some(new), span));
                        l.push(StmtKind::If(Guard::Expr(from), block, Vec::new()), span);
                    });
                }
            }
        });
        let again = self.read_local(new, span);
        self.push(StmtKind::While(Guard::Expr(again), round), span);
    }

    /// Whether something that is not looked at may point to a block: variables of functions that still run, integers.
    fn undecided(&mut self, ending: Ending, blocks: &[Blocks], span: Span) -> LocalId {
        let undecided = self.zeroed(Type::Bool, span);
        let all: Vec<ObjectId> = self.statics().into_iter().chain(blocks.iter().map(|b| b.object)).collect();
        let hidden = self.global_names.contains_key("$specific");
        if ending == Ending::Exits || hidden || all.iter().any(|id| self.has_small_cells(&self.objects[*id].ty)) {
            self.set_local(undecided, boolean(true, span), span);
            return undecided;
        }
        if let Some(children) = self.global_names.get(CHILDREN).copied() {
            let left = binary(BinaryOp::Ne, read(self.global(children, span)), constant(0, INT, span));
            self.set_local(undecided, left, span);
        }
        if let Some(unjoined) = self.global_names.get("$unjoined").copied() {
            let left = or(self.read_local(undecided, span), read(self.global(unjoined, span)));
            self.set_local(undecided, left, span);
        }
        let word = self.types().word();
        let holds = |leaf: &Leaf| matches!(leaf.ty.plain(), CType::Int { bits, .. } if *bits >= word);
        for id in all {
            for n in 0..self.objects[id].leaves.len() {
                if !holds(&self.objects[id].leaves[n]) {
                    continue;
                }
                self.each_cell(id, n, span, &mut |l, place| {
                    let address = cast(read(place), &ADDRESS);
                    for each in blocks {
                        let (here, _) = l.block_at(each.object, &address, span);
                        let e = or(l.read_local(undecided, span), here);
                        l.set_local(undecided, e, span);
                    }
                });
            }
        }
        undecided
    }

    /// Whether a pointer may be in several cells of a union.
    fn has_small_cells(&self, ty: &CType) -> bool {
        let pointers = |ty: &CType| self.types().leaves(ty).iter().any(|l| l.ty.is_pointer());
        match ty.plain() {
            CType::Array(of, _) => self.has_small_cells(of),
            CType::Struct(id) => {
                let s = &self.types().structs[*id];
                let small = s.cells.is_some_and(|c| c.bytes * 8 < i64::from(self.types().word()));
                let mut fields = s.fields.iter().flatten();
                fields.any(|f| small && pointers(&f.ty) || self.has_small_cells(&f.ty))
            }
            _ => false,
        }
    }
}
