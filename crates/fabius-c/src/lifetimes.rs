//! How long local variables live whose address is taken: from their declaration to the end of their block, those of `main` itself until
//! the process ends; and variables that each thread has one of, until it ends. What a pointer then means that is used later is no object.
//!
//! A variable beside each says in which threads it lives. Behind `break` and `continue` they end with the loop or the
//! `switch` that is left; where a block is entered again, the variable of the last time is taken for that of this time.

use crate::core::*;
use crate::lower::*;
use crate::memory::{Direct, ObjectId, Pool};
use crate::places::At;
use fabius_lang::program::*;
use fabius_trace::Span;

const ENDED: &str = "the variable's block, or its thread, has ended";

const TOGETHER: &str = "a variable whose address is taken is that of two tasks of one thread at once";

impl Lower<'_, '_> {
    /// Has the lifetime of a local be followed.
    pub fn follow_lifetime(&mut self, id: ObjectId) {
        self.follow_from(id, 0);
    }

    /// Has the lifetime of a variable that each thread has one of be followed: it ends with the thread.
    pub fn follow_thread(&mut self, id: ObjectId) {
        self.follow_from(id, 1);
    }

    /// The running thread ends, and what is its own with it.
    pub fn ends_with_thread(&mut self, span: Span) {
        let of_threads = self.session.known.iter().filter(|(_, known)| known.kind == Kind::Thread);
        let ids: Vec<ObjectId> = of_threads.filter_map(|(key, _)| self.by_key.get(key).copied()).collect();
        for id in ids.into_iter().filter(|id| self.lives.contains_key(id)).collect::<Vec<_>>() {
            self.set_lives(id, 0, span);
        }
    }

    /// Has the lifetime of a local be followed whatever is asked: several tasks of one thread that have it are not told apart.
    pub fn follow_tasks(&mut self, id: ObjectId) {
        self.of_tasks.insert(id);
        self.follow_from(id, 0);
    }

    fn follow_from(&mut self, id: ObjectId, first: i64) {
        if self.lives.contains_key(&id) {
            return;
        }
        let dims: Vec<u32> = self.objects[id].pool.map(|p| p.slots).into_iter().collect();
        let (ty, init) = array_of(INT, Value::Int(first), &dims);
        let lives = self.hidden(&format!("$lives.{}", self.objects[id].key), ty, init, Class::Data, false);
        self.lives.insert(id, lives);
    }

    fn lives(&self, id: ObjectId, slot: Option<Expr>, span: Span) -> Option<Place> {
        let base = Base::Global(*self.lives.get(&id)?);
        let path = match (self.objects[id].pool, slot) {
            (Some(Pool { slots, .. }), Some(slot)) => {
                vec![Projection::Index { index: index_of(slot).into(), lo: 0, len: slots }]
            }
            _ => Vec::new(),
        };
        Some(Place { base, path, ty: INT, span })
    }

    /// A local begins or ends in the running thread.
    fn set_lives(&mut self, id: ObjectId, value: i64, span: Span) {
        let At::Direct(Direct { slot, .. }) = self.whole(id, span).at else { return };
        if let Some(place) = self.lives(id, slot, span) {
            self.push(StmtKind::Assign(place, constant(value, INT, span)), span);
        }
    }

    /// A local is declared here.
    pub fn begins(&mut self, id: ObjectId, span: Span) {
        if self.lives.contains_key(&id) {
            if let (true, At::Direct(Direct { slot, .. })) = (self.of_tasks.contains(&id), self.whole(id, span).at) {
                let place = self.lives(id, slot, span).expect("it is followed");
                let free = binary(BinaryOp::Eq, read(place), constant(0, INT, span));
                self.check(free, Check::Bound, TOGETHER, span);
            }
            self.set_lives(id, 1, span);
            self.body.alive.push(id);
        }
    }

    /// The locals that were declared behind the mark end here.
    pub fn ends_from(&mut self, mark: usize, span: Span) {
        let ends = |s: &Stmt| matches!(s.kind, StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue);
        if self.body.out.last().is_some_and(ends) {
            return;
        }
        for id in self.body.alive.get(mark..).unwrap_or_default().to_vec() {
            self.set_lives(id, 0, span);
        }
    }

    /// The locals of the scopes inside of so many end, which a jump leaves.
    pub fn ends_in_scopes(&mut self, outer: usize, span: Span) {
        let left = self.scopes[outer..].iter().flat_map(|scope| scope.names.values());
        let ids: Vec<ObjectId> =
            left.filter_map(|e| if let Entity::Object(id) = e { Some(*id) } else { None }).collect();
        for id in self.body.alive.clone().into_iter().filter(|id| ids.contains(id)) {
            self.set_lives(id, 0, span);
        }
    }

    /// A local that is named is there, even if a jump has passed over its declaration.
    pub fn is_named(&mut self, id: ObjectId, span: Span) {
        if self.body.jump.is_some() && self.body.alive.contains(&id) {
            self.set_lives(id, 1, span);
        }
    }

    /// That the local that a pointer means has not ended.
    pub fn still_lives(&mut self, d: &Direct, span: Span) {
        if let Some(place) = self.lives(d.object, d.slot.clone(), span) {
            let here = binary(BinaryOp::Ne, read(place), constant(0, INT, span));
            self.check(here, Check::Memory, ENDED, span);
        }
    }

    /// The body of a function, in front of whose ends its locals end, and what it has from `alloca`.
    pub fn ending(&mut self, body: Block, span: Span) -> Block {
        if self.body.alive.is_empty() && self.body.allocas.is_empty() {
            return body;
        }
        self.body.out = Block::new();
        self.ends_allocas(span);
        // Other threads may use those of `main` until the process ends.
        if self.body.function != "main" {
            self.ends_from(0, span);
        }
        let ends = std::mem::take(&mut self.body.out);
        let mut body = in_front_of_returns(body, &ends);
        if !matches!(body.last(), Some(Stmt { kind: StmtKind::Return(_), .. })) {
            body.extend(ends);
        }
        body
    }
}

fn in_front_of_returns(block: Block, ends: &Block) -> Block {
    let mut out = Block::new();
    for mut s in block {
        match &mut s.kind {
            StmtKind::Return(_) => out.extend(ends.iter().cloned()),
            StmtKind::If(_, a, b) => {
                *a = in_front_of_returns(std::mem::take(a), ends);
                *b = in_front_of_returns(std::mem::take(b), ends);
            }
            StmtKind::While(_, b) | StmtKind::Atomic(b) => *b = in_front_of_returns(std::mem::take(b), ends),
            _ => {}
        }
        out.push(s);
    }
    out
}
