//! `return`, `break` and `continue` out of an atomic block: the rest of the block is passed over, and what leaves it comes
//! behind the block, in the same step.
//!
//! Inside of the block a local says how it is left, and a `return` without values marks where. Nothing else puts one there.

use super::checker::{Checker, Frame, Leaving};
use super::constant::constant;
use crate::program::*;
use fabius_trace::Span;

/// How an atomic block is left; 0 is at its end.
const RETURN: i64 = 1;
const BREAK: i64 = 2;
const CONTINUE: i64 = 3;

impl Checker<'_> {
    /// A local for all of the procedure: it is used behind the statement that sets it.
    fn lasting(&mut self, ty: &Type) -> LocalId {
        self.locals.push(Local { name: "$leaves".into(), ty: ty.clone() });
        self.mutable.resize(self.locals.len(), true);
        self.locals.len() - 1
    }

    fn leaving(&mut self) -> &mut Leaving {
        if self.leaving.is_none() {
            let how = self.lasting(&Type::Range(0, CONTINUE));
            self.leaving = Some(Leaving { how, returns: None, breaks: None, continues: None });
        }
        self.leaving.as_mut().expect("it has just been made")
    }

    /// Leaves the atomic block from here.
    fn leave_block(&mut self, way: i64, span: Span) {
        let how = self.leaving().how;
        self.set_number(how, way, span);
        self.push(StmtKind::Return(Vec::new()), span);
    }

    fn set_number(&mut self, local: LocalId, n: i64, span: Span) {
        let at = self.at(span);
        let place = self.local_place(local, at);
        self.push(StmtKind::Assign(place, constant(Value::Int(n), &Type::Int, at)), span);
    }

    /// `return` with these values inside of an atomic block.
    pub(super) fn return_from_atomic(&mut self, values: Vec<Expr>, span: Span) {
        let known = self.leaving().returns.as_ref().map(|(_, locals)| locals.clone());
        let types: Vec<Type> = self.results.iter().flatten().cloned().collect();
        let locals = known.unwrap_or_else(|| types.iter().map(|ty| self.lasting(ty)).collect());
        for (local, value) in locals.iter().zip(values) {
            let place = self.local_place(*local, self.at(span));
            self.store(place, value, span);
        }
        self.leaving().returns.get_or_insert((span, locals));
        self.leave_block(RETURN, span);
    }

    /// `break` or `continue` of a loop around the atomic block. Says whether there is one.
    pub(super) fn leave_loop_from_atomic(&mut self, kind: &StmtKind, span: Span) -> bool {
        let block = self.frames.iter().rposition(|f| *f == Frame::Atomic).expect("it is inside of one");
        if !self.frames[..block].contains(&Frame::Loop) {
            return false;
        }
        let leaving = self.leaving();
        if *kind == StmtKind::Break {
            leaving.breaks.get_or_insert(span);
            self.leave_block(BREAK, span);
        } else {
            leaving.continues.get_or_insert(span);
            self.leave_block(CONTINUE, span);
        }
        true
    }

    /// An atomic block, and behind it what its ways out lead to.
    pub(super) fn atomic_with_ways_out(&mut self, block: Block, leaving: Option<Leaving>, span: Span) {
        let Some(Leaving { how, returns, breaks, continues }) = leaving else {
            return self.push(StmtKind::Atomic(block), span);
        };
        let at = self.at(span);
        let is = |op, n| {
            let left = self.read_local(how, at).into();
            let right = constant(Value::Int(n), &Type::Int, at).into();
            Guard::Expr(Expr { kind: ExprKind::Binary(op, left, right), ty: Type::Bool, span: at })
        };
        let (goes_on, is_left) = (is(BinaryOp::Eq, 0), is(BinaryOp::Ne, 0));
        let ways = [is(BinaryOp::Eq, RETURN), is(BinaryOp::Eq, BREAK), is(BinaryOp::Eq, CONTINUE)];
        let (block, _) = with_ways_out(block, Inside::Block, &goes_on, &is_left);
        self.push(StmtKind::Atomic(block), span);
        let [returned, broken, continued] = ways;
        let exit = |c: &mut Self, guard: Guard, place: Span, way: Block, last: StmtKind| {
            let body = c.block_of(|c| {
                c.set_number(how, 0, place);
                c.out.extend(way);
                c.push(last, place);
            });
            // What leaves is told where it stands.
            let kind = StmtKind::If(guard, body, Block::new());
            c.out.push(Stmt { kind, access: Access::Local, span: Span::default() });
        };
        if let Some((place, locals)) = returns {
            let values = locals.iter().map(|l| self.read_local(*l, self.at(place))).collect();
            exit(self, returned, place, Block::new(), StmtKind::Return(values));
        }
        if let Some(place) = breaks {
            exit(self, broken, place, Block::new(), StmtKind::Break);
        }
        if let Some(place) = continues {
            let step = self.on_continue.last().cloned().unwrap_or_default();
            exit(self, continued, place, step, StmtKind::Continue);
        }
    }
}

/// The atomic block of another front end without its `return`s, which stand behind what makes a Boolean local true and have no
/// values: behind what may have left the block nothing is done.
pub fn without_returns(block: Block, is_left: &Expr) -> Block {
    let kind = ExprKind::Unary(UnaryOp::Not, is_left.clone().into());
    let goes_on = Guard::Expr(Expr { kind, ty: Type::Bool, span: is_left.span });
    with_ways_out(block, Inside::Block, &goes_on, &Guard::Expr(is_left.clone())).0
}

/// Where the marks of a block lead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// To its end.
    Block,
    /// Out of the loop.
    Loop,
}

/// The block without marks: behind what may have left it nothing is done. Says whether it may be left.
fn with_ways_out(block: Block, inside: Inside, goes_on: &Guard, is_left: &Guard) -> (Block, bool) {
    let stmt = |kind| Stmt { kind, access: Access::Local, span: Span::default() };
    let (mut out, mut may) = (Block::new(), false);
    let mut rest = block.into_iter();
    while let Some(mut s) = rest.next() {
        let left = match s.kind {
            StmtKind::Return(_) => {
                if inside == Inside::Loop {
                    out.push(stmt(StmtKind::Break));
                }
                return (out, true);
            }
            StmtKind::If(guard, yes, no) => {
                let (yes, one) = with_ways_out(yes, inside, goes_on, is_left);
                let (no, other) = with_ways_out(no, inside, goes_on, is_left);
                s.kind = StmtKind::If(guard, yes, no);
                may |= one || other;
                // In a loop each side has left it by itself.
                (one || other) && inside == Inside::Block
            }
            StmtKind::While(guard, body) => {
                let (body, left) = with_ways_out(body, Inside::Loop, goes_on, is_left);
                s.kind = StmtKind::While(guard, body);
                left
            }
            _ => false,
        };
        out.push(s);
        if !left {
            continue;
        }
        if inside == Inside::Loop {
            out.push(stmt(StmtKind::If(is_left.clone(), vec![stmt(StmtKind::Break)], Block::new())));
            let (rest, _) = with_ways_out(rest.collect(), inside, goes_on, is_left);
            out.extend(rest);
        } else {
            let (rest, _) = with_ways_out(rest.collect(), inside, goes_on, is_left);
            if !rest.is_empty() {
                out.push(stmt(StmtKind::If(goes_on.clone(), rest, Block::new())));
            }
        }
        return (out, true);
    }
    (out, may)
}
