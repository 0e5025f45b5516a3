//! Which locals matter: those that may be read before they are written as a whole.
//!
//! Nothing else of a program can tell what a dead local holds, so that a state need not remember it. Every branch counts as
//! possible that is not decided by constants alone (see [`decided`]); writing a part of a record or an array is neither a
//! read nor a write of the whole.

use crate::program::{Base, Block, Expr, ExprKind, Guard, LocalId, Place, Proc, Stmt, StmtKind};
use crate::walk::{decided, each, expressions, written};

/// Statements times locals of a procedure above which all its locals are taken to matter everywhere.
pub const MOST: usize = 1 << 24;

/// The locals of one procedure that matter, in front of each of its statements.
///
/// Statements are numbered as they stand in the text, each before those inside of it.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// In front of a statement; empty if the procedure is too large.
    before: Vec<Set>,
    /// While a call is under way.
    during: Vec<Option<Set>>,
    /// How many statements each one is, with those inside of it.
    sizes: Vec<usize>,
}

/// A set of locals, as bits.
type Set = Vec<u64>;

impl Live {
    /// Looks at a procedure.
    pub fn of(proc: &Proc) -> Live {
        let mut sizes = Vec::new();
        measure(&proc.body, &mut sizes);
        let words = proc.locals.len().div_ceil(64);
        if sizes.len().saturating_mul(proc.locals.len()) > MOST {
            return Live { sizes, ..Live::default() };
        }
        let empty = vec![0; words];
        let count = sizes.len();
        let mut look = Look { live: Live { before: vec![empty.clone(); count], during: vec![None; count], sizes } };
        // What a loop needs at its end is what it needs at its head, as far as that is known yet.
        loop {
            let before = look.live.before.clone();
            look.block(&proc.body, 0, empty.clone(), &mut Vec::new());
            if look.live.before == before {
                return look.live;
            }
        }
    }

    /// Whether the local matters to a task that stands in front of the statement; `None` is the end of the body.
    pub fn before(&self, statement: Option<usize>, local: LocalId) -> bool {
        match statement {
            Some(statement) => self.before.get(statement).is_none_or(|set| has(set, local)),
            None => false,
        }
    }

    /// Whether the local matters to a task that waits for the end of the call that the statement is.
    pub fn during(&self, call: usize, local: LocalId) -> bool {
        self.during.get(call).and_then(Option::as_ref).is_none_or(|set| has(set, local))
    }

    /// The number of a statement of a block whose first has this number.
    pub fn number(&self, first: usize, index: usize) -> usize {
        (0..index).fold(first, |number, _| number + self.sizes[number])
    }
}

fn measure(block: &Block, sizes: &mut Vec<usize>) {
    for stmt in block {
        let number = sizes.len();
        sizes.push(0);
        match &stmt.kind {
            StmtKind::If(_, a, b) => {
                measure(a, sizes);
                measure(b, sizes);
            }
            StmtKind::While(_, a) | StmtKind::Atomic(a) => measure(a, sizes),
            _ => {}
        }
        sizes[number] = sizes.len() - number;
    }
}

/// One pass over a procedure, from its end to its beginning.
struct Look {
    live: Live,
}

/// A loop around a statement: the number of its head, and what matters behind it.
type Loops = Vec<(usize, Set)>;

impl Look {
    /// What matters in front of a block, if this does behind it.
    fn block(&mut self, block: &Block, first: usize, after: Set, loops: &mut Loops) -> Set {
        let mut numbers = Vec::with_capacity(block.len());
        let mut number = first;
        for _ in block {
            numbers.push(number);
            number += self.live.sizes[number];
        }
        block.iter().zip(numbers).rev().fold(after, |set, (stmt, number)| {
            let set = self.statement(stmt, number, set, loops);
            self.live.before[number].clone_from(&set);
            set
        })
    }

    fn statement(&mut self, stmt: &Stmt, number: usize, mut set: Set, loops: &mut Loops) -> Set {
        match &stmt.kind {
            StmtKind::If(guard, yes, no) => {
                let no_first = number + 1 + self.count(yes, number + 1);
                let yes = self.block(yes, number + 1, set.clone(), loops);
                let no = self.block(no, no_first, set, loops);
                choose(guard, yes, no)
            }
            StmtKind::While(guard, body) => {
                let again = self.live.before[number].clone();
                loops.push((number, set.clone()));
                let body = self.block(body, number + 1, again, loops);
                loops.pop();
                choose(guard, body, set)
            }
            StmtKind::Atomic(body) => self.block(body, number + 1, set, loops),
            StmtKind::Break => loops.last().map_or(set, |(_, after)| after.clone()),
            StmtKind::Continue => loops.last().map_or(set, |(head, _)| self.live.before[*head].clone()),
            StmtKind::Return(_) => {
                set.fill(0);
                reads(stmt, &mut set);
                set
            }
            StmtKind::Call(results, ..) => {
                results.iter().flatten().for_each(|local| remove(&mut set, *local));
                self.live.during[number] = Some(set.clone());
                reads(stmt, &mut set);
                set
            }
            StmtKind::Spawn(result, ..) | StmtKind::Post(result, ..) => {
                result.iter().for_each(|local| remove(&mut set, *local));
                reads(stmt, &mut set);
                set
            }
            _ => {
                if let Some(place) = written(stmt)
                    && let Base::Local(local) = place.base
                {
                    match stmt.kind {
                        StmtKind::SetInsert(..) | StmtKind::SetRemove(..) | StmtKind::SetRemoveAny(_) => {
                            insert(&mut set, local);
                        }
                        _ if place.path.is_empty() => remove(&mut set, local),
                        _ => {}
                    }
                }
                reads(stmt, &mut set);
                set
            }
        }
    }

    fn count(&self, block: &Block, first: usize) -> usize {
        self.live.number(first, block.len()) - first
    }
}

/// What matters in front of a guard.
fn choose(guard: &Guard, mut yes: Set, no: Set) -> Set {
    let Guard::Expr(e) = guard else { return union(yes, &no) };
    match decided(e) {
        Some(true) => yes,
        Some(false) => no,
        None => {
            yes = union(yes, &no);
            reads_of(e, &mut yes);
            yes
        }
    }
}

fn reads(stmt: &Stmt, set: &mut Set) {
    expressions(stmt).into_iter().for_each(|e| reads_of(e, set));
}

fn reads_of(e: &Expr, set: &mut Set) {
    each(e, &mut |x| {
        if let ExprKind::Read(Place { base: Base::Local(local), .. }) = &x.kind {
            insert(set, *local);
        }
    });
}

fn has(set: &Set, local: LocalId) -> bool {
    set[local / 64] >> (local % 64) & 1 != 0
}

fn insert(set: &mut Set, local: LocalId) {
    set[local / 64] |= 1 << (local % 64);
}

fn remove(set: &mut Set, local: LocalId) {
    set[local / 64] &= !(1 << (local % 64));
}

fn union(mut a: Set, b: &Set) -> Set {
    a.iter_mut().zip(b).for_each(|(a, b)| *a |= b);
    a
}
