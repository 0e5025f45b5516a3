//! Which locks a thread holds wherever it comes to a statement.
//!
//! A lock is a variable that holds a thread. One that its holder alone gives back, and that others take only when it is free, is
//! held from where it is taken to where it is given back.

use fabius_lang::program::*;
use fabius_lang::walk;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What an atomic step does with a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Waits until it is free, or its own, and has it then.
    Take,
    /// Gives it back, and fails if it is not its own.
    Give,
    /// Takes it if it is free.
    Try,
}

/// The step on a lock that a statement is, and the variable for its holder.
pub fn step(s: &Stmt) -> Option<(Op, &Place)> {
    let StmtKind::Atomic(block) = &s.kind else { return None };
    let mut holder = None;
    walk::statements(block, &mut |s| {
        if let StmtKind::Assign(p, e) = &s.kind
            && p.ty == Type::Thread
            && matches!(e.kind, ExprKind::SelfHandle | ExprKind::Const(_))
            && !matches!(p.base, Base::Local(_))
        {
            holder.get_or_insert(p);
        }
    });
    let holder = holder.filter(|p| stays(p, block))?;
    let (first, others) = block.split_first()?;
    let writes = |block: &[Stmt]| block.iter().any(|s| writes_to(s, holder));
    let takes =
        |s: &Stmt| matches!(&s.kind, StmtKind::Assign(p, e) if same_place(p, holder) && e.kind == ExprKind::SelfHandle);
    match &first.kind {
        StmtKind::Await(e) if is_free_or_mine(e, holder) => {
            let mut own = others.iter().filter(|s| writes_to(s, holder));
            (own.clone().count() == 1 && own.all(takes)).then_some((Op::Take, holder))
        }
        StmtKind::Assert(e, ..) if is_mine(e, holder) => Some((Op::Give, holder)),
        StmtKind::If(Guard::Expr(e), _, otherwise) if is_free_or_mine(e, holder) => {
            (!writes(otherwise) && !writes(others)).then_some((Op::Try, holder))
        }
        _ => None,
    }
}

/// The place of the lock whose holder this is.
pub fn record_of(holder: &Place) -> Option<(&Base, &[Projection])> {
    match holder.path.split_last() {
        Some((Projection::Field(_), record)) => Some((&holder.base, record)),
        _ => None,
    }
}

/// Whether a place is a part of the lock whose holder this is.
pub fn is_part_of(p: &Place, holder: &Place) -> bool {
    let Some((base, record)) = record_of(holder) else { return same_place(p, holder) };
    same_base(&p.base, base)
        && p.path.len() >= record.len()
        && record.iter().zip(&p.path).all(|(a, b)| same_projection(a, b))
}

/// Whether the place is the same at each statement of the block.
fn stays(p: &Place, block: &Block) -> bool {
    let mut locals = BTreeSet::new();
    let mut is_known = true;
    for e in walk::of_place(p) {
        walk::each(e, &mut |e| match &e.kind {
            ExprKind::Read(Place { base: Base::Local(l), path, .. }) if path.is_empty() => drop(locals.insert(*l)),
            ExprKind::Read(_) => is_known = false,
            _ => {}
        });
    }
    walk::statements(block, &mut |s| {
        is_known &= !matches!(&s.kind, StmtKind::Call(..));
        if let Some(Place { base: Base::Local(l), .. }) = walk::written(s) {
            is_known &= !locals.contains(l);
        }
    });
    is_known
}

fn writes_to(s: &Stmt, holder: &Place) -> bool {
    let mut found = false;
    walk::statements(&vec![s.clone()], &mut |s| {
        found |= walk::written(s).is_some_and(|p| p.ty == Type::Thread && same_place(p, holder));
    });
    found
}

fn is_mine(e: &Expr, holder: &Place) -> bool {
    is_held_by(e, holder, &|by| by.kind == ExprKind::SelfHandle)
}

fn is_free(e: &Expr, holder: &Place) -> bool {
    is_held_by(e, holder, &|by| by.kind == ExprKind::Const(Value::Int(0)))
}

fn is_held_by(e: &Expr, holder: &Place, by: &dyn Fn(&Expr) -> bool) -> bool {
    let ExprKind::Binary(BinaryOp::Eq, a, b) = &e.kind else { return false };
    let holds = |e: &Expr| matches!(&e.kind, ExprKind::Read(p) if same_place(p, holder));
    holds(a) && by(b) || holds(b) && by(a)
}

/// Whether nobody else holds the lock if this is true.
pub fn is_free_or_mine(e: &Expr, holder: &Place) -> bool {
    match &e.kind {
        ExprKind::Binary(BinaryOp::And, a, b) => is_free_or_mine(a, holder) || is_free_or_mine(b, holder),
        ExprKind::Binary(BinaryOp::Or, a, b) => is_free_or_mine(a, holder) && is_free_or_mine(b, holder),
        _ => is_free(e, holder) || is_mine(e, holder),
    }
}

fn same_base(a: &Base, b: &Base) -> bool {
    match (a, b) {
        (Base::Global(a), Base::Global(b)) => a == b,
        (Base::Local(a), Base::Local(b)) => a == b,
        (Base::Heap(a, r), Base::Heap(b, s)) => r == s && same_expr(a, b),
        _ => false,
    }
}

fn same_projection(a: &Projection, b: &Projection) -> bool {
    match (a, b) {
        (Projection::Field(a), Projection::Field(b)) => a == b,
        (Projection::Index { index: a, .. }, Projection::Index { index: b, .. }) => same_expr(a, b),
        _ => false,
    }
}

/// Whether two places, written at any places of the text, are the same.
fn same_place(a: &Place, b: &Place) -> bool {
    same_base(&a.base, &b.base)
        && a.path.len() == b.path.len()
        && a.path.iter().zip(&b.path).all(|(a, b)| same_projection(a, b))
}

fn same_expr(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Const(a), ExprKind::Const(b)) => a == b,
        (ExprKind::Read(a), ExprKind::Read(b)) => same_place(a, b),
        (ExprKind::Cast(x), ExprKind::Cast(y)) => a.ty == b.ty && same_expr(x, y),
        (ExprKind::Unary(f, x), ExprKind::Unary(g, y)) => f == g && same_expr(x, y),
        (ExprKind::Binary(f, x, v), ExprKind::Binary(g, y, w)) => f == g && same_expr(x, y) && same_expr(v, w),
        (ExprKind::IfElse(c, x, v), ExprKind::IfElse(d, y, w)) => same_expr(c, d) && same_expr(x, y) && same_expr(v, w),
        _ => false,
    }
}

/// A lock that the text names: a global variable, fields, and elements of constant number.
pub type Lock = (GlobalId, Vec<i64>);

/// The lock with this holder, if the text names it.
fn lock(holder: &Place) -> Option<Lock> {
    let Base::Global(g) = holder.base else { return None };
    let part = |step: &Projection| match step {
        Projection::Field(f) => Some(*f as i64),
        Projection::Index { index, .. } => match index.kind {
            ExprKind::Const(Value::Int(i)) => Some(i),
            _ => None,
        },
    };
    holder.path.iter().map(part).collect::<Option<Vec<i64>>>().map(|path| (g, path))
}

/// The global variables with a thread in them that somebody writes otherwise than by steps on locks.
pub fn unreliable(program: &Program) -> BTreeSet<GlobalId> {
    let mut steps: HashSet<*const Stmt> = HashSet::new();
    let mut all = BTreeSet::new();
    for proc in &program.procs {
        walk::statements(&proc.body, &mut |s| {
            if let (Some((_, holder)), StmtKind::Atomic(block)) = (step(s), &s.kind) {
                walk::statements(block, &mut |s| {
                    if walk::written(s).is_some_and(|p| same_place(p, holder)) {
                        steps.insert(std::ptr::from_ref(s));
                    }
                });
            }
        });
    }
    for proc in &program.procs {
        walk::statements(&proc.body, &mut |s| {
            if let Some(p) = walk::written(s)
                && let Base::Global(g) = p.base
                && holds_a_thread(program, &p.ty)
                && !steps.contains(&std::ptr::from_ref(s))
            {
                all.insert(g);
            }
        });
    }
    all
}

fn holds_a_thread(program: &Program, ty: &Type) -> bool {
    match ty {
        Type::Thread => true,
        Type::Array { element, .. } => holds_a_thread(program, element),
        Type::Record(r) => program.records[*r].fields.iter().any(|f| holds_a_thread(program, &f.ty)),
        _ => false,
    }
}

type Held = BTreeSet<Lock>;

/// The locks that are held at each statement, whoever comes there.
pub struct Locks<'p> {
    program: &'p Program,
    unreliable: BTreeSet<GlobalId>,
    at: HashMap<*const Stmt, Held>,
    /// What is held behind a procedure, by what is held before it; nothing while it is not known.
    behind: BTreeMap<(ProcId, Held), Held>,
}

/// Where control leaves a loop or a procedure: what is held there.
#[derive(Default)]
struct Leaves {
    breaks: Option<Held>,
    continues: Option<Held>,
    returns: Option<Held>,
}

fn meet(a: Option<Held>, b: Option<Held>) -> Option<Held> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.intersection(&b).cloned().collect()),
        (a, b) => a.or(b),
    }
}

impl<'p> Locks<'p> {
    /// Of threads that begin with these procedures.
    pub fn of(program: &'p Program, roots: impl Iterator<Item = ProcId>) -> Locks<'p> {
        let (at, behind) = (HashMap::new(), BTreeMap::new());
        let mut locks = Locks { program, unreliable: unreliable(program), at, behind };
        roots.for_each(|p| drop(locks.call(p, Held::new())));
        locks
    }

    /// What is held at a statement; nobody comes to one that is not known.
    pub fn at(&self, s: &Stmt) -> Option<&Held> {
        self.at.get(&std::ptr::from_ref(s))
    }

    fn call(&mut self, p: ProcId, held: Held) -> Held {
        if let Some(behind) = self.behind.get(&(p, held.clone())) {
            return behind.clone();
        }
        // Of a call within itself nothing is known.
        self.behind.insert((p, held.clone()), Held::new());
        let mut leaves = Leaves::default();
        let end = self.block(&self.program.procs[p].body, Some(held.clone()), &mut leaves);
        let behind = meet(end, leaves.returns).unwrap_or_default();
        self.behind.insert((p, held), behind.clone());
        behind
    }

    fn block(&mut self, block: &'p [Stmt], held: Option<Held>, leaves: &mut Leaves) -> Option<Held> {
        block.iter().fold(held, |held, s| self.stmt(s, held?, leaves))
    }

    fn stmt(&mut self, s: &'p Stmt, mut held: Held, leaves: &mut Leaves) -> Option<Held> {
        let before = self.at.remove(&std::ptr::from_ref(s));
        self.at.insert(std::ptr::from_ref(s), meet(before, Some(held.clone())).expect("it is held here"));
        match &s.kind {
            StmtKind::Break => leaves.breaks = meet(leaves.breaks.take(), Some(held)),
            StmtKind::Continue => leaves.continues = meet(leaves.continues.take(), Some(held)),
            StmtKind::Return(_) => leaves.returns = meet(leaves.returns.take(), Some(held)),
            StmtKind::If(_, a, b) => {
                let one = self.block(a, Some(held.clone()), leaves);
                let other = self.block(b, Some(held), leaves);
                return meet(one, other);
            }
            StmtKind::While(_, body) => loop {
                let mut inner = Leaves { returns: leaves.returns.take(), ..Leaves::default() };
                let end = self.block(body, Some(held.clone()), &mut inner);
                leaves.returns = inner.returns;
                let again = meet(meet(end, inner.continues), Some(held.clone())).expect("it is held before");
                if again == held {
                    return meet(Some(held), inner.breaks);
                }
                held = again;
            },
            StmtKind::Atomic(block) => {
                let step = step(s);
                held = self.block(block, Some(held), leaves)?;
                match step {
                    Some((Op::Take, holder)) => held.extend(lock(holder).filter(|(g, _)| !self.unreliable.contains(g))),
                    Some((Op::Give, Place { base: Base::Global(g), .. })) => held.retain(|(of, _)| of != g),
                    _ => {}
                }
                return Some(held);
            }
            StmtKind::Call(_, p, _) => return Some(self.call(*p, held)),
            _ => return Some(held),
        }
        None
    }
}
