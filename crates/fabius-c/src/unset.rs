//! Integers and pointers of functions that are declared without a value: where an integer is read that nothing was written to,
//! it may be anything; a pointer is then no object.
//!
//! Most are written before they are read on every way, and nothing is changed. For the other integers a Boolean beside the variable
//! says whether something was written; a read in front of that chooses a value, which the variable then has.

use crate::birth::UNSET;
use crate::core::*;
use crate::types::CType;
use fabius_lang::program::*;
use fabius_lang::walk::statements;
use fabius_lang::walk::{each, expressions, of_place, written};
use fabius_trace::Span;
use std::collections::BTreeMap;

/// A variable.
#[derive(Clone, Copy)]
pub(crate) struct Unset {
    pub local: LocalId,
    pub kind: Kind,
}

/// What a variable without a value is.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// With the least and the largest of its values.
    Integer(i64, i64),
    Pointer,
    /// A floating-point number, of which nothing is known.
    Number,
    /// A part of a variable, which says itself whether it has a value.
    Part,
}

/// A function in which something has become of all reads in front of a write.
pub(crate) struct Chosen {
    pub block: Block,
    /// Whether pointers are read so.
    pub pointers: bool,
    /// The parts that are not read so.
    pub written: Vec<LocalId>,
}

/// A variable of a type without a value, if it is a single integer or pointer.
pub(crate) fn unset(local: LocalId, ty: &CType) -> Option<Unset> {
    let kind = match ty.plain() {
        CType::Bool => Kind::Integer(0, 1),
        CType::Int { bits: 64, .. } => Kind::Integer(i64::MIN, i64::MAX),
        CType::Int { bits, signed: true } => Kind::Integer(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        CType::Int { bits, signed: false } => Kind::Integer(0, (1 << bits) - 1),
        CType::Pointer(_) => Kind::Pointer,
        CType::Float(_) => Kind::Number,
        _ => return None,
    };
    Some(Unset { local, kind })
}

/// Stands for the declaration of a variable without a value, until it is known what becomes of it.
pub(crate) fn declaration(local: LocalId, span: Span) -> Stmt {
    stmt(StmtKind::Assert(boolean(true, span), Check::Bound, Some(words(local))), span)
}

fn words(local: LocalId) -> String {
    format!("$declared {local}")
}

/// Has what is read before it is written be any value, also where a jump has passed over the declaration. The jump under way is in
/// a variable, if there are jumps.
pub(crate) fn choose(block: Block, locals: &mut Vec<Local>, all: &[Unset], jump: Option<LocalId>) -> Chosen {
    let (mut pointers, mut written) = (false, Vec::new());
    let block = all.iter().fold(block, |block, Unset { local: unset, kind }| {
        let (unset, kind) = (*unset, *kind);
        let mut look = Look { unset, jump, reads: false };
        look.block(&block, Known::from([(Some(0), true)]), &mut Exits::default());
        if matches!(kind, Kind::Pointer | Kind::Number) {
            pointers |= look.reads && kind == Kind::Pointer;
            return no_object(block, unset, look.reads);
        }
        if kind == Kind::Part && !look.reads {
            written.push(unset);
        }
        let written_to = match look.reads && kind != Kind::Part {
            true => {
                let name = format!("$has.{}", locals[unset].name);
                locals.push(Local { name, ty: Type::Bool });
                Some(locals.len() - 1)
            }
            false => None,
        };
        Change { unset, kind, written_to, locals }.block(block)
    });
    Chosen { block, pointers, written }
}

/// A pointer is no object at first, and where it is declared, if it is read so.
fn no_object(block: Block, pointer: LocalId, is_read: bool) -> Block {
    let first = |span: Span| {
        let place = Place { base: Base::Local(pointer), path: Vec::new(), ty: ADDRESS, span };
        is_read.then(|| stmt(StmtKind::Assign(place, constant(UNSET, ADDRESS, span)), span))
    };
    let at = block.first().map_or(Span::default(), |s| s.span);
    first(at).into_iter().chain(at_declarations(block, pointer, &first)).collect()
}

fn at_declarations(block: Block, local: LocalId, first: &dyn Fn(Span) -> Option<Stmt>) -> Block {
    let inside = |block: &mut Block| *block = at_declarations(std::mem::take(block), local, first);
    let mut out = Block::new();
    for mut s in block {
        if declares(&s, local) {
            out.extend(first(s.span));
            continue;
        }
        match &mut s.kind {
            StmtKind::If(_, a, b) => [a, b].into_iter().for_each(inside),
            StmtKind::While(_, body) | StmtKind::Atomic(body) => inside(body),
            _ => {}
        }
        out.push(s);
    }
    out
}

fn declares(s: &Stmt, local: LocalId) -> bool {
    matches!(&s.kind, StmtKind::Assert(_, _, Some(said)) if *said == words(local))
}

fn is(place: &Place, local: LocalId) -> bool {
    matches!(place.base, Base::Local(l) if l == local) && place.path.is_empty()
}

/// Whether a statement itself, without those in it, reads the variable.
fn reads(s: &Stmt, local: LocalId) -> bool {
    let mut any = false;
    let mut look = |e: &Expr| any |= matches!(&e.kind, ExprKind::Read(place) if is(place, local));
    expressions(s).into_iter().for_each(|e| each(e, &mut look));
    written(s).into_iter().flat_map(of_place).for_each(|e| each(e, &mut look));
    any
}

/// Whether one of these statements reads the variable.
pub(crate) fn is_read(block: &[Stmt], local: LocalId) -> bool {
    let mut any = false;
    statements(&block.to_vec(), &mut |s| any |= reads(s, local));
    any
}

fn writes(s: &Stmt, local: LocalId) -> bool {
    match &s.kind {
        StmtKind::Call(results, ..) => results.contains(&Some(local)),
        StmtKind::Spawn(handle, ..) | StmtKind::Post(handle, ..) => *handle == Some(local),
        _ => written(s).is_some_and(|place| is(place, local)),
    }
}

/// What is known at a place: with which jumps under way somebody comes there, and whether without having written to the variable.
type Known = BTreeMap<Option<i64>, bool>;

fn join(mut a: Known, b: Known) -> Known {
    for (jump, unset) in b {
        *a.entry(jump).or_default() |= unset;
    }
    a
}

fn all(known: &Known, unset: bool) -> Known {
    known.keys().map(|jump| (*jump, unset)).collect()
}

/// What is known where a loop is left, and where it begins again.
#[derive(Default)]
struct Exits {
    breaks: Known,
    continues: Known,
}

/// Whether some way comes to a read without a write behind the declaration.
struct Look {
    unset: LocalId,
    jump: Option<LocalId>,
    reads: bool,
}

impl Look {
    fn block(&mut self, block: &[Stmt], known: Known, exits: &mut Exits) -> Known {
        block.iter().fold(known, |known, s| self.stmt(s, known, exits))
    }

    fn stmt(&mut self, s: &Stmt, mut known: Known, exits: &mut Exits) -> Known {
        let local = self.unset;
        if known.values().any(|unset| *unset) && reads(s, local) {
            self.reads = true;
            known = all(&known, false);
        }
        match &s.kind {
            _ if known.is_empty() => known,
            _ if declares(s, self.unset) => all(&known, true),
            _ if writes(s, local) => all(&known, false),
            StmtKind::Assign(place, e) if self.jump.is_some_and(|jump| is(place, jump)) => {
                Known::from([(value_of(e), known.into_values().any(|unset| unset))])
            }
            StmtKind::If(guard, a, b) => {
                let (yes, no) = self.split(&known, guard);
                let a = self.block(a, yes, exits);
                join(a, self.block(b, no, exits))
            }
            StmtKind::While(guard, body) => {
                let mut head = known;
                loop {
                    let mut inside = Exits::default();
                    let (yes, no) = self.split(&head, guard);
                    let end = self.block(body, yes, &mut inside);
                    let again = join(head.clone(), join(end, inside.continues));
                    if again == head {
                        return join(no, inside.breaks);
                    }
                    head = again;
                }
            }
            StmtKind::Atomic(body) => self.block(body, known, exits),
            StmtKind::Break => {
                exits.breaks = join(std::mem::take(&mut exits.breaks), known);
                Known::new()
            }
            StmtKind::Continue => {
                exits.continues = join(std::mem::take(&mut exits.continues), known);
                Known::new()
            }
            StmtKind::Return(_) => Known::new(),
            _ => known,
        }
    }

    /// Who goes on where a guard holds, and who where it does not.
    fn split(&self, known: &Known, guard: &Guard) -> (Known, Known) {
        let (mut yes, mut no) = (Known::new(), Known::new());
        for (jump, unset) in known {
            let holds = match guard {
                Guard::Expr(e) => self.value(e, *jump),
                _ => None,
            };
            if holds != Some(0) {
                yes.insert(*jump, *unset);
            }
            if holds.is_none_or(|holds| holds == 0) {
                no.insert(*jump, *unset);
            }
        }
        (yes, no)
    }

    /// The value of a comparison with the jump under way.
    fn value(&self, e: &Expr, jump: Option<i64>) -> Option<i64> {
        match &e.kind {
            ExprKind::Read(place) if self.jump.is_some_and(|variable| is(place, variable)) => jump,
            ExprKind::Binary(BinaryOp::Eq, a, b) => Some(i64::from(self.value(a, jump)? == self.value(b, jump)?)),
            ExprKind::Binary(BinaryOp::Or, a, b) => match (self.value(a, jump), self.value(b, jump)) {
                (Some(0), other) | (other, Some(0)) => other,
                (one, other) => one.and(other),
            },
            _ => value_of(e),
        }
    }
}

/// Writes what is found out into the program.
struct Change<'a> {
    unset: LocalId,
    kind: Kind,
    /// The Boolean that says whether something was written, if that matters.
    written_to: Option<LocalId>,
    locals: &'a mut Vec<Local>,
}

impl Change<'_> {
    fn block(&mut self, block: Block) -> Block {
        let mut out = Block::new();
        for mut s in block {
            let (local, span) = (self.unset, s.span);
            if declares(&s, self.unset) {
                out.extend(self.mark(false, span));
                continue;
            }
            if reads(&s, local) {
                out.extend(self.chosen(span));
            }
            match &mut s.kind {
                StmtKind::If(_, a, b) => {
                    *a = self.block(std::mem::take(a));
                    *b = self.block(std::mem::take(b));
                }
                StmtKind::While(_, body) | StmtKind::Atomic(body) => *body = self.block(std::mem::take(body)),
                _ => {}
            }
            let writes = writes(&s, local);
            out.push(s);
            if writes {
                out.extend(self.mark(true, span));
            }
        }
        out
    }

    fn place(&self, local: LocalId, span: Span) -> Place {
        Place { base: Base::Local(local), path: Vec::new(), ty: self.locals[local].ty.clone(), span }
    }

    fn mark(&self, value: bool, span: Span) -> Option<Stmt> {
        let id = self.written_to?;
        Some(stmt(StmtKind::Assign(self.place(id, span), boolean(value, span)), span))
    }

    /// A value, if nothing was written.
    fn chosen(&mut self, span: Span) -> Option<Stmt> {
        let id = self.written_to?;
        let Type::Fixed { bits, signed } = self.locals[self.unset].ty.clone() else { return None };
        // A choice is made among signed codes.
        let ty = if bits == 64 { ADDRESS } else { Type::Fixed { bits, signed } };
        let Kind::Integer(lo, hi) = self.kind else { return None };
        self.locals.push(Local { name: format!("$any.{}", self.locals[self.unset].name), ty: ty.clone() });
        let any = self.place(self.locals.len() - 1, span);
        let target = self.place(self.unset, span);
        let value = cast_to(read(any.clone()), &target.ty);
        let zero = constant(0, ty.clone(), span);
        let mut block = vec![
            stmt(StmtKind::Any(any.clone(), constant(lo, ty.clone(), span), constant(hi, ty, span)), span),
            stmt(StmtKind::Assign(target, value), span),
            stmt(StmtKind::Assign(any, zero), span),
        ];
        block.extend(self.mark(true, span));
        let missing = not(read(self.place(id, span)));
        Some(stmt(StmtKind::If(Guard::Expr(missing), block, Vec::new()), span))
    }
}
