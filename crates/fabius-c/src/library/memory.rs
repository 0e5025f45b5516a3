//! The heap.
//!
//! Length: one function for each way to allocate and free.

use super::{assign, strip_casts};
use crate::birth::Birth;
use crate::core::*;
use crate::expressions::Ex;
use crate::lower::{Lower, RAISED};
use crate::memory::{Heap, ObjectId, Pool};
use crate::places::Value;
use crate::refusal::{Refusal, Result, unsupported};
use crate::types::{BYTE, CType, LONG};
use fabius_lang::program::*;
use fabius_trace::Span;
use lang_c::ast::{self, Expression};

const ALLOCATIONS: &[&str] =
    &["malloc", "calloc", "alloca", "__builtin_alloca", "kmalloc", "kzalloc", "aligned_alloc", "realloc"];

/// Those whose memory goes with the function.
const FRAMES: [&str; 2] = ["alloca", "__builtin_alloca"];

const NOT_ALLOCATED: &str = "what is freed was not allocated";
const FREED_TWICE: &str = "the memory is freed twice";
/// What is said of a `free` that is wrong.
pub const WRONG_FREES: [&str; 2] = [NOT_ALLOCATED, FREED_TWICE];

/// What is said to be allocated where nothing is, but a pointer that can be freed.
const EMPTY: i64 = -1;

/// How much is allocated: what, and how many.
struct Wanted {
    ty: CType,
    count: Option<Expr>,
    fixed: Option<i64>,
    /// So many elements are followed at least.
    least: i64,
    /// By `alloca`.
    in_frame: bool,
    /// How many elements the flexible array has.
    length: Expr,
}

impl<'a> Lower<'a, '_> {
    fn allocation_call(&self, e: &'a Ex) -> Option<(&'a str, &'a [Ex])> {
        let Expression::Call(c) = &strip_casts(e).node else { return None };
        let Expression::Identifier(name) = &c.node.callee.node else { return None };
        let name = name.node.name.as_str();
        let defined = self.functions.get(name).is_some_and(|f| f.definition.is_some());
        (ALLOCATIONS.contains(&name) && !defined).then_some((name, c.node.arguments.as_slice()))
    }

    /// Whether the value of an expression is fresh memory.
    pub fn has_allocation(&self, e: &'a Ex) -> bool {
        self.allocation_call(e).is_some()
    }

    /// The value, if the expression is an allocation; `to` is the type of the pointer that it becomes.
    pub fn allocation(&mut self, e: &'a Ex, to: Option<&CType>) -> Result<Option<Value>> {
        let Some((name, args)) = self.allocation_call(e) else { return Ok(None) };
        let span = self.span(e.span);
        // A cast says the type best.
        let mut inner = e;
        let mut said = None;
        while let Expression::Cast(c) = &inner.node {
            let ty = self.type_name(&c.node.type_name.node)?;
            if ty.pointee().is_some_and(|t| *t != CType::Void) {
                said = Some(ty);
            }
            inner = &c.node.expression;
        }
        let to = said.as_ref().or(to);
        let element = to.and_then(|t| t.pointee()).filter(|t| **t != CType::Void).cloned();
        let address = self.fresh(name, args, element, span)?;
        let ty = to.cloned().unwrap_or_else(|| CType::Void.pointer());
        Ok(Some(Value::scalar(address, ty)))
    }

    /// The address that a call of one of the functions gives.
    fn fresh(&mut self, name: &str, args: &'a [Ex], element: Option<CType>, span: Span) -> Result<Expr> {
        if name != "realloc" {
            let birth = if ["calloc", "kzalloc"].contains(&name) { Birth::Set } else { Birth::Unset };
            let sizes = self.sizes(name, args, span)?;
            if element.is_none()
                && !FRAMES.contains(&name)
                && self.said_type(&sizes)?.is_none()
                && let Some(address) = self.asked_for(&sizes, birth, span)?
            {
                return Ok(address);
            }
            let wanted = self.wanted(name, args, element, span)?;
            return self.allocate(wanted, birth, span);
        }
        let old = self.value(strip_casts(self.argument(args, 0, span)?))?;
        let pointee = old.ty.pointee().filter(|t| **t != CType::Void).cloned();
        let old = self.keep(old.parts[0].clone());
        let wanted = self.wanted(name, args, element.or(pointee), span)?;
        let ty = wanted.ty.clone();
        let count = match (&wanted.count, wanted.fixed) {
            (Some(n), _) => n.clone(),
            (None, n) => constant(n.unwrap_or(1), ADDRESS, span),
        };
        let new = self.allocate(wanted, Birth::Unset, span)?;
        self.found.heap.entry(ty.clone()).and_modify(|known| known.single = false);
        self.moved_over(old, new.clone(), count, &ty, span)?;
        Ok(new)
    }

    /// Copies the elements of a block to a new one, as many as both have, and frees the old one, if there is one.
    fn moved_over(&mut self, old: Expr, new: Expr, count: Expr, ty: &CType, span: Span) -> Result<()> {
        let number = |n: i64| constant(n, ADDRESS, span);
        let size = self.types().size(ty).unwrap_or(1);
        let (i, had) = (self.zeroed(ADDRESS, span), self.zeroed(ADDRESS, span));
        let (i, had) = (self.local(i, span), self.local(had, span));
        let (copy, ()) = self.block(|s| {
            if let Some((home, place)) = s.count_of(&old, ty, span) {
                let look = assign(&had, cast(read(place), &ADDRESS), span);
                s.push(StmtKind::If(Guard::Expr(home), vec![look], Vec::new()), span);
            }
            let (round, ()) = s.block(|s| {
                let offset = binary(BinaryOp::Mul, read(i.clone()), number(size));
                let at = |base: &Expr| {
                    Value::scalar(binary(BinaryOp::Add, base.clone(), offset.clone()), ty.clone().pointer())
                };
                let from = s.deref(at(&old), span)?;
                let to = s.deref(at(&new), span)?;
                s.copy(&from, &to, span)?;
                let next = binary(BinaryOp::Add, read(i.clone()), number(1));
                s.body.out.push(assign(&i, next, span));
                Ok(())
            })?;
            let less = |n: Expr| binary(BinaryOp::Lt, read(i.clone()), n);
            let more = and(less(read(had.clone())), less(count));
            s.push(StmtKind::While(Guard::Expr(more), round), span);
            s.free_at(old.clone(), ty, span)
        })?;
        let some = binary(BinaryOp::Ne, old, number(0));
        self.push(StmtKind::If(Guard::Expr(some), copy, Vec::new()), span);
        Ok(())
    }

    /// Whether an address is that of a block of this type, and where it says how many elements the block has.
    fn count_of(&self, address: &Expr, ty: &CType, span: Span) -> Option<(Expr, Place)> {
        let number = |n: i64| constant(n, ADDRESS, span);
        let o = self.objects.iter().find(|o| o.key.starts_with("heap ") && o.ty.same_layout(ty))?;
        let pool = o.pool?;
        let end = o.base + pool.stride * i64::from(pool.slots);
        let above = binary(BinaryOp::Le, number(o.base), address.clone());
        let inside = and(above, binary(BinaryOp::Lt, address.clone(), number(end)));
        let from = binary(BinaryOp::Sub, address.clone(), number(o.base));
        let slot = cast(binary(BinaryOp::Div, from, number(pool.stride)), &Type::Int);
        let index = Projection::Index { index: slot.into(), lo: 0, len: pool.slots };
        Some((inside, Place { base: Base::Global(pool.allocated?), path: vec![index], ty: INT, span }))
    }

    /// The arguments that say how much is allocated.
    fn sizes(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Vec<&'a Ex>> {
        Ok(match name {
            "calloc" => vec![self.argument(args, 0, span)?, self.argument(args, 1, span)?],
            "aligned_alloc" | "realloc" => vec![self.argument(args, 1, span)?],
            "posix_memalign" => vec![self.argument(args, 2, span)?],
            _ => vec![self.argument(args, 0, span)?],
        })
    }

    /// The type that they say.
    fn said_type(&mut self, sizes: &[&'a Ex]) -> Result<Option<CType>> {
        let mut said = None;
        for e in sizes {
            said = said.or(self.sized_type(e)?);
        }
        Ok(said)
    }

    fn wanted(&mut self, name: &str, args: &'a [Ex], element: Option<CType>, span: Span) -> Result<Wanted> {
        let sizes = self.sizes(name, args, span)?;
        let said = self.said_type(&sizes)?;
        // A number of bytes that somebody else knows: what is there is characters, as long as nobody says more.
        let hands_on = self.body.result.as_ref().and_then(CType::pointee) == Some(&CType::Void);
        let is_open = said.is_none() && element.is_none() && !hands_on;
        let is_open = is_open && sizes.iter().any(|e| self.integer(e).is_err());
        let element = element.or(is_open.then_some(BYTE));
        let Some(ty) = element.or(said.clone()) else {
            return unsupported(span, "what is allocated here is not known")
                .map_err(|e: Refusal| e.help("say its type: `(struct node *)malloc(sizeof(struct node))`"));
        };
        let Some(size) = self.types().size(&ty) else {
            return unsupported(span, format!("the size of `{}` is not known", self.types().show(&ty)));
        };
        let counted = said.as_ref() == Some(&ty);
        let mut bytes = constant(1, ADDRESS, span);
        for e in sizes {
            let v = self.value(e)?;
            let v = self.convert(v, &LONG, span)?;
            bytes = binary(BinaryOp::Mul, bytes, v.parts[0].clone());
        }
        if let Some((at, of)) = self.types().flexible_array(&ty)
            && !counted
        {
            let each = self.types().size(of).unwrap_or(1).max(1);
            return self.with_flexible_array(name, ty, bytes, (at, each), span);
        }
        let count = binary(BinaryOp::Div, bytes.clone(), constant(size.max(1), ADDRESS, span));
        let length = constant(0, INT, span);
        // What `realloc` does with nothing is not said.
        let least = i64::from(name == "realloc");
        let in_frame = FRAMES.contains(&name);
        match value_of(&count) {
            Some(0) if least > 0 || value_of(&bytes) != Some(0) => {
                unsupported(span, format!("fewer bytes than a `{}` has are allocated", self.types().show(&ty)))
            }
            Some(n) => Ok(Wanted { ty, count: None, fixed: Some(n), least, in_frame, length }),
            None => {
                let count = self.keep(count);
                Ok(Wanted { ty, count: Some(count), fixed: None, least, in_frame, length })
            }
        }
    }

    /// One struct that ends with a flexible array, which stands at `at`, of elements of `each` bytes: what is left is theirs.
    fn with_flexible_array(
        &mut self,
        name: &str,
        ty: CType,
        bytes: Expr,
        (at, each): (i64, i64),
        span: Span,
    ) -> Result<Wanted> {
        if name == "realloc" {
            return unsupported(span, "`realloc` of a struct with a flexible array is not taken")
                .map_err(|e: Refusal| e.help("allocate a new one and copy it element by element"));
        }
        let number = |n: i64| constant(n, ADDRESS, span);
        let bytes = self.simple(bytes);
        let enough = binary(BinaryOp::Le, number(at), bytes.clone());
        let words = format!("fewer bytes than a `{}` has are allocated", self.types().show(&ty));
        self.check(enough, Check::Bound, &words, span);
        let length = binary(BinaryOp::Div, binary(BinaryOp::Sub, bytes, number(at)), number(each));
        let length = self.simple(length);
        let most = i64::from(self.types().flexible);
        let fits = binary(BinaryOp::Le, length.clone(), number(most));
        self.check(fits, Check::Bound, &format!("a flexible array of more than {most} elements {RAISED}"), span);
        let in_frame = FRAMES.contains(&name);
        Ok(Wanted { ty, count: None, fixed: Some(1), least: 0, in_frame, length: cast(length, &INT) })
    }

    /// The type in a `sizeof` of an expression.
    pub(super) fn sized_type(&mut self, e: &'a Ex) -> Result<Option<CType>> {
        match &e.node {
            Expression::SizeOfTy(t) => Ok(Some(self.type_name(&t.node.0.node)?)),
            Expression::SizeOfVal(v) => Ok(Some(self.type_of(&v.node.0)?)),
            Expression::BinaryOperator(b) if b.node.operator.node == ast::BinaryOperator::Multiply => {
                Ok(self.sized_type(&b.node.lhs)?.or(self.sized_type(&b.node.rhs)?))
            }
            Expression::Cast(c) => self.sized_type(&c.node.expression),
            _ => Ok(None),
        }
    }

    /// The address of one object, or of so many.
    pub(super) fn allocate_some(&mut self, ty: CType, count: Option<Expr>, birth: Birth, span: Span) -> Result<Expr> {
        let (fixed, length) = (count.is_none().then_some(1), constant(0, INT, span));
        self.allocate(Wanted { ty, count, fixed, least: 0, in_frame: false, length }, birth, span)
    }

    /// The address of fresh memory: each thread has places of its own, which are not used again.
    fn allocate(&mut self, wanted: Wanted, birth: Birth, span: Span) -> Result<Expr> {
        let Wanted { ty, count, fixed, least, in_frame, length } = wanted;
        let elements = fixed.unwrap_or(i64::from(self.options.limits.elements));
        let Ok(elements) = u32::try_from(elements) else {
            return unsupported(span, "so much memory is not allocated");
        };
        let known = self.found.heap.entry(ty.clone()).or_insert(Heap { elements: 0, single: true, in_frame: false });
        known.elements = known.elements.max(elements);
        known.single &= elements == 1 && count.is_none();
        known.in_frame |= in_frame;
        self.found.frees |= in_frame;
        let in_threads = self.runs_in_threads(&self.body.function.clone());
        if in_threads {
            self.found.numbers = true;
        }
        let key = format!("heap {ty:?}");
        let Some(id) = self.by_key.get(&key).copied() else {
            // The pass after this one has it.
            return Ok(constant(crate::memory::FIRST, ADDRESS, span));
        };
        let object = self.objects[id].clone();
        let pool = object.pool.expect("the heap is a pool");
        let next = self.next_of(id, span);
        let most = i64::from(self.options.limits.allocations);
        let fits = binary(BinaryOp::Lt, read(next.clone()), constant(most, INT, span));
        let words = format!("more than {most} allocations of `{}` by one thread {RAISED}", self.types().show(&ty));
        self.check(fits, Check::Bound, &words, span);
        if let Some(n) = &count {
            let most = i64::from(pool.elements.unwrap_or(1));
            let some = binary(BinaryOp::Le, constant(least, ADDRESS, span), n.clone());
            let some = and(some, binary(BinaryOp::Le, n.clone(), constant(most, ADDRESS, span)));
            self.check(some, Check::Bound, &format!("more than {most} elements are allocated {RAISED}"), span);
        }
        if in_frame {
            self.goes_with_the_function(id, span);
        }
        let slot = self.next_slot(id, span);
        let slot = self.keep(slot);
        self.body.out.push(assign(&next, binary(BinaryOp::Add, read(next.clone()), constant(1, INT, span)), span));
        let mut block = match birth {
            Birth::Set => self.whole_parts(id, Some(slot.clone()), Birth::Set, span),
            Birth::Unset => Block::new(),
        };
        if let Some(count_of) = pool.allocated {
            let index = Projection::Index { index: cast(slot.clone(), &Type::Int).into(), lo: 0, len: pool.slots };
            let place = Place { base: Base::Global(count_of), path: vec![index], ty: INT, span };
            let n = match count {
                Some(n) => {
                    let none = binary(BinaryOp::Eq, n.clone(), constant(0, ADDRESS, span));
                    if_else(none, constant(EMPTY, INT, span), cast(n, &INT))
                }
                None if elements == 0 => constant(EMPTY, INT, span),
                None => constant(i64::from(elements), INT, span),
            };
            block.push(assign(&place, n, span));
        }
        if let Some(lengths) = pool.lengths {
            let place = at_slot(lengths, &pool, cast(slot.clone(), &Type::Int), INT, span);
            block.push(assign(&place, length, span));
        }
        if let Some(frames) = pool.in_frame {
            let place = at_slot(frames, &pool, cast(slot.clone(), &Type::Int), Type::Bool, span);
            block.push(assign(&place, boolean(in_frame, span), span));
        }
        match block.len() {
            0 | 1 => self.body.out.extend(block),
            _ => self.push(StmtKind::Atomic(block), span),
        }
        let offset = binary(BinaryOp::Mul, cast(slot, &ADDRESS), constant(pool.stride, ADDRESS, span));
        let address = binary(BinaryOp::Add, offset, constant(object.base, ADDRESS, span));
        Ok(self.keep(address))
    }

    /// How many places of a pool the running thread has used.
    fn next_of(&mut self, id: ObjectId, span: Span) -> Place {
        let name = format!("$next.{}", self.objects[id].name.trim_start_matches("heap."));
        let next = self.hidden(&name, INT, fabius_lang::program::Value::Int(0), Class::Data, true);
        self.global(next, span)
    }

    /// The next slot of a pool for the running thread.
    fn next_slot(&mut self, id: ObjectId, span: Span) -> Expr {
        let most = i64::from(self.options.limits.allocations);
        let mine = match self.session.facts.numbers {
            true => {
                let number = self.thread_number(span);
                binary(BinaryOp::Mul, number, constant(most, INT, span))
            }
            false => constant(0, INT, span),
        };
        let next = self.next_of(id, span);
        binary(BinaryOp::Add, mine, read(next))
    }

    /// What `alloca` gives from this pool ends with the running function.
    fn goes_with_the_function(&mut self, id: ObjectId, span: Span) {
        if self.body.allocas.iter().any(|(known, _)| *known == id) {
            return;
        }
        self.body.locals.push(Local { name: format!("$alloca{}", self.body.allocas.len()), ty: INT });
        let first = self.body.locals.len() - 1;
        self.body.allocas.push((id, first));
        let slot = self.next_slot(id, span);
        self.body.first.push(assign(&self.local(first, span), slot, span));
    }

    /// What the running function has from `alloca` ends with it.
    pub fn ends_allocas(&mut self, span: Span) {
        for (id, first) in self.body.allocas.clone() {
            let Some(Pool { allocated: Some(count), in_frame: Some(frames), slots, .. }) = self.objects[id].pool else {
                continue;
            };
            let index = |slot: &Expr| Projection::Index { index: index_of(slot.clone()).into(), lo: 0, len: slots };
            let at = |base, ty, slot: &Expr| Place { base: Base::Global(base), path: vec![index(slot)], ty, span };
            let slot = self.read_local(first, span);
            let ends = assign(&at(count, INT, &slot), constant(0, INT, span), span);
            let mine = Guard::Expr(read(at(frames, Type::Bool, &slot)));
            let further = binary(BinaryOp::Add, slot.clone(), constant(1, INT, span));
            let round = vec![
                stmt(StmtKind::If(mine, vec![ends], Vec::new()), span),
                assign(&self.local(first, span), further, span),
            ];
            let last = self.next_slot(id, span);
            let more = binary(BinaryOp::Lt, slot, last);
            let all = vec![stmt(StmtKind::While(Guard::Expr(more), round), span)];
            self.push(StmtKind::Atomic(all), span);
        }
    }

    pub(super) fn memory_call(&mut self, name: &str, args: &'a [Ex], span: Span) -> Result<Option<Value>> {
        match name {
            _ if ALLOCATIONS.contains(&name) => {
                let address = self.fresh(name, args, None, span)?;
                Ok(Some(Value::scalar(address, CType::Void.pointer())))
            }
            "free" | "kfree" => {
                self.free(args, span)?;
                Ok(Some(Value::void()))
            }
            "posix_memalign" => {
                let to = self.pointed(strip_casts(self.argument(args, 0, span)?), span)?;
                let element = to.ty.pointee().filter(|t| **t != CType::Void).cloned();
                let address = self.fresh(name, args, element, span)?;
                self.store(&to, &Value::scalar(address, to.ty.plain().clone()), span)?;
                Ok(Some(self.zero(span)))
            }
            "memset" | "__builtin_memset" | "bzero" => self.memset(args, name == "bzero", span).map(Some),
            "memcpy" | "memmove" | "__builtin_memcpy" | "__builtin_memmove" => self.memcpy(name, args, span).map(Some),
            "memcmp" | "__builtin_memcmp" | "bcmp" => self.memcmp(args, span),
            _ => Ok(None),
        }
    }

    fn free(&mut self, args: &'a [Ex], span: Span) -> Result<()> {
        self.found.frees = true;
        let v = self.value(strip_casts(self.argument(args, 0, span)?))?;
        let to = v.ty.pointee().cloned().unwrap_or(CType::Void);
        let v = self.convert(v, &CType::Void.pointer(), span)?;
        self.free_at(v.parts[0].clone(), &to, span)
    }

    /// Frees what an address means: a block of this type, more likely than of another, which a cast may have hidden.
    fn free_at(&mut self, address: Expr, to: &CType, span: Span) -> Result<()> {
        self.found.frees = true;
        let address = self.simple(address);
        let (mut rest, ()) = self.block(|s| {
            let null = binary(BinaryOp::Eq, address.clone(), constant(0, ADDRESS, span));
            s.check(null, Check::Memory, NOT_ALLOCATED, span);
            Ok(())
        })?;
        let mut all: Vec<usize> = (0..self.objects.len()).rev().collect();
        all.sort_by_key(|id| self.objects[*id].ty.same_layout(to));
        for id in all {
            let o = &self.objects[id];
            let (Some(pool), true) = (o.pool, o.key.starts_with("heap ")) else { continue };
            let Some(count) = pool.allocated else { continue };
            let number = |n: i64| constant(n, ADDRESS, span);
            let end = o.base + pool.stride * i64::from(pool.slots);
            let inside = and(
                binary(BinaryOp::Le, number(o.base), address.clone()),
                binary(BinaryOp::Lt, address.clone(), number(end)),
            );
            let from = binary(BinaryOp::Sub, address.clone(), number(o.base));
            let first = binary(BinaryOp::Rem, from.clone(), number(pool.stride));
            let here = and(inside, binary(BinaryOp::Eq, first, number(0)));
            let slot = cast(binary(BinaryOp::Div, from.clone(), number(pool.stride)), &Type::Int);
            let place = at_slot(count, &pool, slot, INT, span);
            let there = binary(BinaryOp::Ne, read(place.clone()), constant(0, INT, span));
            let mut block = vec![
                stmt(StmtKind::Assert(there, Check::Memory, Some(FREED_TWICE.into())), span),
                assign(&place, constant(0, INT, span), span),
            ];
            if let Some(frames) = pool.in_frame {
                let slot = cast(binary(BinaryOp::Div, from, number(pool.stride)), &Type::Int);
                let not_here = not(read(at_slot(frames, &pool, slot, Type::Bool, span)));
                block.insert(0, stmt(StmtKind::Assert(not_here, Check::Memory, Some(NOT_ALLOCATED.into())), span));
            }
            let block = vec![stmt(StmtKind::Atomic(block), span)];
            rest = vec![stmt(StmtKind::If(Guard::Expr(here), block, rest), span)];
        }
        self.body.out.extend(rest);
        Ok(())
    }
}

/// What is known of a slot of a pool.
pub(super) fn at_slot(global: GlobalId, pool: &Pool, slot: Expr, ty: Type, span: Span) -> Place {
    let index = Projection::Index { index: slot.into(), lo: 0, len: pool.slots };
    Place { base: Base::Global(global), path: vec![index], ty, span }
}
