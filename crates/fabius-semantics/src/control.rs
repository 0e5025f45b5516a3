//! Control points: what remains to be executed of a procedure (the `k` of the frames `<loc, k, lev>` of the papers).

use fabius_lang::program::{Block, Guard, Proc, Stmt, StmtKind};
use fabius_lang::walk::{decided, is_nothing};

/// Statements that do nothing, after which a loop of them is supposed.
const NOTHINGS: u32 = 10_000;

/// The way from the body of a procedure down to the next statement; after the last statement, to the end of the body.
///
/// Control never stands at the end of an inner block: it is then after the `if` or `atomic`, or at the `while`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Control(pub Vec<Turnoff>);

/// In each block of the way: the statement, and which of its blocks the way enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Turnoff {
    /// Index of the statement.
    pub index: usize,
    /// Which of its blocks (0, or 1 for `else`); 0 at the end of the way.
    pub block: usize,
}

impl Control {
    /// At the beginning of a procedure.
    pub fn start() -> Control {
        Control(vec![Turnoff { index: 0, block: 0 }])
    }

    /// The next statement; `None` at the end of the body.
    pub fn statement<'p>(&self, proc: &'p Proc) -> Option<&'p Stmt> {
        self.at(proc, self.0.len() - 1)
    }

    /// Whether the next statement lies inside an `atomic` of this procedure.
    pub fn inside_atomic(&self, proc: &Proc) -> bool {
        (0..self.0.len() - 1).any(|d| self.at(proc, d).is_some_and(|s| matches!(s.kind, StmtKind::Atomic(_))))
    }

    /// Past the next statement.
    pub fn advance(&mut self, proc: &Proc) {
        self.last().index += 1;
        self.settle(proc);
    }

    /// Into a block of the next statement.
    pub fn enter(&mut self, proc: &Proc, block: usize) {
        self.last().block = block;
        self.0.push(Turnoff { index: 0, block: 0 });
        self.settle(proc);
    }

    /// To the innermost `while`.
    pub fn to_loop(&mut self, proc: &Proc) {
        loop {
            self.pop();
            if self.statement(proc).is_some_and(|s| matches!(s.kind, StmtKind::While(..))) {
                return;
            }
        }
    }

    /// Past a statement that does nothing (see [`is_nothing`]).
    pub fn pass(&mut self, proc: &Proc) {
        let Some(stmt) = self.statement(proc) else { return };
        match &stmt.kind {
            StmtKind::If(Guard::Expr(e), ..) => self.enter(proc, usize::from(decided(e) == Some(false))),
            StmtKind::While(Guard::Expr(e), _) if decided(e) == Some(true) => self.enter(proc, 0),
            StmtKind::Break => {
                self.to_loop(proc);
                self.advance(proc);
            }
            StmtKind::Continue => self.to_loop(proc),
            _ => self.advance(proc),
        }
    }

    /// Past all statements that do nothing, so that ways that differ in nothing else are one. A loop of them is not entered.
    pub fn pass_all(&mut self, proc: &Proc) {
        let mut control = self.clone();
        for _ in 0..NOTHINGS {
            if !control.statement(proc).is_some_and(is_nothing) {
                *self = control;
                return;
            }
            control.pass(proc);
        }
    }

    /// Leaves blocks whose end is reached.
    fn settle(&mut self, proc: &Proc) {
        while self.0.len() > 1 && self.statement(proc).is_none() {
            self.pop();
            if !self.statement(proc).is_some_and(|s| matches!(s.kind, StmtKind::While(..))) {
                self.last().index += 1;
            }
        }
    }

    fn pop(&mut self) {
        self.0.pop();
        self.last().block = 0;
    }

    fn last(&mut self) -> &mut Turnoff {
        self.0.last_mut().expect("a way is never empty")
    }

    /// A block of the statement at depth `d` of the way.
    pub fn block<'p>(&self, proc: &'p Proc, d: usize, which: usize) -> Option<&'p Block> {
        inner(self.at(proc, d)?, which)
    }

    /// The statement at depth `d` of the way.
    fn at<'p>(&self, proc: &'p Proc, d: usize) -> Option<&'p Stmt> {
        let mut block = &proc.body;
        for turn in &self.0[..d] {
            block = inner(block.get(turn.index)?, turn.block)?;
        }
        block.get(self.0[d].index)
    }
}

/// A block of a statement.
fn inner(stmt: &Stmt, which: usize) -> Option<&Block> {
    match (&stmt.kind, which) {
        (StmtKind::If(_, a, _), 0) => Some(a),
        (StmtKind::If(_, _, b), _) => Some(b),
        (StmtKind::While(_, b) | StmtKind::Atomic(b), _) => Some(b),
        _ => None,
    }
}
