//! Threads that are waited for all together: their handles are kept for nothing but to join one after the other.
//!
//! ```text
//! for i in 1..n { t[i] = spawn work(); }        let a = spawn work();
//! for i in 1..n { join t[i]; }                  let b = spawn work();
//!                                               join a; join b;
//! ```
//!
//! Where the first `join` waits until all of them have finished, it does not matter which thread stands in which place.

use crate::layout::words_of;
use fabius_lang::program::{
    Base, BinaryOp, Expr, ExprKind, Guard, Interleave, LocalId, Place, Proc, ProcId, Program, Projection, Stmt,
    StmtKind, Value,
};
use fabius_lang::walk::{each, expressions, statements, written};

/// The handles that a procedure joins in a row.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) proc: ProcId,
    /// The variables in which they are kept.
    kept: Vec<LocalId>,
    joins: Vec<*const Stmt>,
}

impl Gathered {
    /// Whether this statement is one of those that join.
    pub(super) fn has(&self, stmt: &Stmt) -> bool {
        self.joins.contains(&std::ptr::from_ref(stmt))
    }

    /// The procedure, and the words of its frame in which the handles are; each local begins at its offset.
    pub(super) fn words(&self, program: &Program, offsets: &[u32]) -> (ProcId, Vec<u32>) {
        let of = |local: &LocalId| {
            let first = offsets[*local];
            first..first + words_of(program, &program.procs[self.proc].locals[*local].ty) as u32
        };
        (self.proc, self.kept.iter().flat_map(of).collect())
    }
}

/// All groups of a program.
pub(super) fn gathered(program: &Program) -> Vec<Gathered> {
    // Who waits until nobody else can go on sees whether a `join` is open.
    if program.interleave != Interleave::Implicit || program.idle.is_some() {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (number, proc) in program.procs.iter().enumerate() {
        let mut at = 0;
        while at < proc.body.len() {
            let (joins, length) = joins_in_a_row(&proc.body[at..]);
            if joins.is_empty() {
                at += 1;
                continue;
            }
            let rests = joins.iter().any(|join| program.rests.contains(&join.stmt.span));
            let is_one = matches!(joins[..], [Join { range: None, .. }]);
            if !rests && !is_one && joins.iter().all(|join| is_for_nothing_else(proc, &proc.body[..at], join)) {
                let kept = joins.iter().map(|join| join.of).collect();
                let joins = joins.iter().map(|join| std::ptr::from_ref(join.stmt)).collect();
                all.push(Gathered { proc: number, kept, joins });
            }
            at += length;
        }
    }
    all
}

/// A `join` of a variable, or of all elements of an array with these numbers.
struct Join<'p> {
    of: LocalId,
    range: Option<(i64, i64)>,
    stmt: &'p Stmt,
}

/// The joins that a block begins with, and of how many statements they are.
fn joins_in_a_row(block: &[Stmt]) -> (Vec<Join<'_>>, usize) {
    let (mut joins, mut at) = (Vec::new(), 0);
    while let Some(stmt) = block.get(at) {
        if let StmtKind::Join(Expr { kind: ExprKind::Read(place), .. }) = &stmt.kind
            && let Some(of) = local(place)
        {
            joins.push(Join { of, range: None, stmt });
            at += 1;
        } else if let Some(counted) = Counted::at(&block[at..])
            && let [stmt @ Stmt { kind: StmtKind::Join(Expr { kind: ExprKind::Read(place), .. }), .. }] = counted.body
            && let Some(of) = element(place, counted.counter)
        {
            joins.push(Join { of, range: Some(counted.range), stmt });
            at += counted.statements;
        } else if is_constant(stmt) && !joins.is_empty() {
            // Of a temporary, that is no longer needed.
            at += 1;
        } else {
            break;
        }
    }
    (joins, at)
}

/// Whether a statement gives a constant to a local.
fn is_constant(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Assign(place, value) => local(place).is_some() && number(value).is_some(),
        _ => false,
    }
}

/// Whether each handle that is joined is that of a thread that was made for this place, once, and is read nowhere else.
fn is_for_nothing_else(proc: &Proc, before: &[Stmt], join: &Join<'_>) -> bool {
    let filled = |counted: Counted<'_>| {
        let fills = join.range == Some(counted.range) && times(counted.body, join.of, counted.counter) == Some(1);
        fills.then(|| mentions(counted.body, join.of))
    };
    // How often what stands here names the variable, if it fills it.
    let made = |at: usize| match &before[at].kind {
        _ if join.range.is_none() => gets_thread(&before[at], join.of).then_some(1),
        StmtKind::Atomic(block) => (0..block.len()).find_map(|at| Counted::at(&block[at..]).and_then(filled)),
        _ => Counted::at(&before[at..]).and_then(filled),
    };
    let Some((at, stores)) = (0..before.len()).find_map(|at| made(at).map(|stores| (at, stores))) else { return false };
    // What a variable begins as.
    let is_first = |stmt: &&Stmt| match &stmt.kind {
        StmtKind::Assign(place, Expr { kind: ExprKind::Const(value), .. }) => {
            local(place) == Some(join.of) && *value == proc.locals[join.of].ty.default_value(&[])
        }
        _ => false,
    };
    let first = before[..at].iter().filter(is_first).count();
    join.of >= proc.params && mentions(&proc.body, join.of) == first + stores + 1
}

/// `for counter in lo..hi { body }`, with numbers that are known.
struct Counted<'p> {
    counter: LocalId,
    range: (i64, i64),
    body: &'p [Stmt],
    /// Of how many statements it is.
    statements: usize,
}

impl<'p> Counted<'p> {
    /// The loop that a block begins with.
    fn at(block: &'p [Stmt]) -> Option<Counted<'p>> {
        let assigned = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Assign(place, value) => Some((local(place)?, number(value)?)),
            _ => None,
        };
        let last = assigned(block.first()?)?;
        let of = |first: (LocalId, i64), limit: Option<(LocalId, i64)>, stmt: &'p Stmt, statements: usize| {
            let StmtKind::While(Guard::Expr(test), body) = &stmt.kind else { return None };
            let ExprKind::Binary(BinaryOp::Le, left, right) = &test.kind else { return None };
            let hi = match (&right.kind, limit) {
                (ExprKind::Read(place), Some((limit, hi))) if local(place) == Some(limit) => hi,
                _ => number(right)?,
            };
            let ExprKind::Read(counter) = &left.kind else { return None };
            let (next, body) = body.split_last()?;
            let StmtKind::Assign(place, Expr { kind: ExprKind::Binary(BinaryOp::Add, a, b), .. }) = &next.kind else {
                return None;
            };
            let ExprKind::Read(from) = &a.kind else { return None };
            let is_next = local(place) == Some(first.0) && local(from) == Some(first.0) && number(b) == Some(1);
            let mut is_kept = true;
            each_statement(body, &mut |stmt| {
                let leaves = matches!(stmt.kind, StmtKind::Break | StmtKind::Continue | StmtKind::Return(_));
                let changes = |local| sets(stmt, local);
                is_kept &= !leaves && !changes(first.0) && !limit.is_some_and(|(limit, _)| changes(limit));
            });
            let fits = local(counter) == Some(first.0) && is_next && is_kept;
            fits.then_some(Counted { counter: first.0, range: (first.1, hi), body, statements })
        };
        match of(last, None, block.get(1)?, 2) {
            None => of(assigned(block.get(1)?)?, Some(last), block.get(2)?, 3),
            counted => counted,
        }
    }
}

/// How often a block puts the handle of a new thread into the element of this number, if that is the same on every way and nothing
/// else is done with the array.
fn times(block: &[Stmt], array: LocalId, counter: LocalId) -> Option<usize> {
    let mut sum = 0;
    for (at, stmt) in block.iter().enumerate() {
        sum += match &stmt.kind {
            StmtKind::Assign(place, Expr { kind: ExprKind::Read(from), .. })
                if element(place, counter) == Some(array) =>
            {
                let handle = local(from)?;
                at.checked_sub(1).filter(|before| gets_thread(&block[*before], handle)).map(|_| 1)?
            }
            StmtKind::Atomic(block) => times(block, array, counter)?,
            StmtKind::If(Guard::Expr(_), yes, no) => {
                let [yes, no] = [yes, no].map(|block| times(block, array, counter));
                yes.filter(|_| yes == no)?
            }
            _ if mentions(std::slice::from_ref(stmt), array) > 0 => return None,
            _ => 0,
        };
    }
    Some(sum)
}

fn gets_thread(stmt: &Stmt, of: LocalId) -> bool {
    matches!(stmt.kind, StmtKind::Spawn(Some(to), ..) if to == of)
}

/// How often statements, nested ones included, name a local.
fn mentions(block: &[Stmt], of: LocalId) -> usize {
    let mut count = 0;
    each_statement(block, &mut |stmt| {
        count += usize::from(sets(stmt, of));
        for expr in expressions(stmt) {
            each(expr, &mut |e| {
                let is_it = matches!(&e.kind, ExprKind::Read(Place { base: Base::Local(it), .. }) if *it == of);
                count += usize::from(is_it);
            });
        }
    });
    count
}

/// Whether a statement, without those inside, changes a local or a part of it.
fn sets(stmt: &Stmt, of: LocalId) -> bool {
    let gets_result = match &stmt.kind {
        StmtKind::Call(results, ..) => results.contains(&Some(of)),
        StmtKind::Spawn(to, ..) | StmtKind::Post(to, ..) => *to == Some(of),
        _ => false,
    };
    gets_result || written(stmt).is_some_and(|place| matches!(place.base, Base::Local(local) if local == of))
}

/// The local that a place is, as a whole.
fn local(place: &Place) -> Option<LocalId> {
    match (&place.base, &place.path[..]) {
        (Base::Local(local), []) => Some(*local),
        _ => None,
    }
}

/// The local array of which a place is the element that a counter numbers.
fn element(place: &Place, counter: LocalId) -> Option<LocalId> {
    match (&place.base, &place.path[..]) {
        (Base::Local(array), [Projection::Index { index, .. }]) => match &index.kind {
            ExprKind::Read(index) if local(index) == Some(counter) => Some(*array),
            _ => None,
        },
        _ => None,
    }
}

/// A number that is computed from constants.
fn number(e: &Expr) -> Option<i64> {
    match &e.kind {
        ExprKind::Const(Value::Int(n)) => Some(*n),
        ExprKind::Binary(BinaryOp::Add, a, b) => number(a)?.checked_add(number(b)?),
        ExprKind::Binary(BinaryOp::Sub, a, b) => number(a)?.checked_sub(number(b)?),
        _ => None,
    }
}

/// Calls `f` for every statement, nested ones included.
fn each_statement<'p>(block: &'p [Stmt], f: &mut dyn FnMut(&'p Stmt)) {
    for stmt in block {
        f(stmt);
        match &stmt.kind {
            StmtKind::If(_, yes, no) => [yes, no].into_iter().for_each(|block| statements(block, f)),
            StmtKind::While(_, body) | StmtKind::Atomic(body) => statements(body, f),
            _ => {}
        }
    }
}
