//! Procedures as lists of instructions, so that a place in the program is a number.

use super::layout::Layout;
use fabius_lang::live::Live;
use fabius_lang::program::*;

/// One instruction; jumps go to the index of another one.
pub enum Op<'p> {
    Assign(&'p Place, &'p Expr),
    Any(&'p Place, &'p Expr, &'p Expr),
    /// Goes on if the guard holds, otherwise there.
    Branch(&'p Guard, usize),
    Jump(usize),
    /// The head of a loop.
    Again,
    Call(&'p [Option<LocalId>], ProcId, &'p [Expr]),
    Return(&'p [Expr]),
    Post(Option<Level>, ProcId, &'p [Expr]),
    Yield,
    Zield,
    Assume(&'p Expr),
    /// Who does not go on here is stuck.
    Await(&'p Expr),
    /// An assertion has failed.
    Fail,
    /// Behind a statement in which control may have been taken away: the index of a passage.
    Passage(usize),
    /// Something that is not followed.
    Other,
}

/// A statement in which control may be taken away.
pub struct Passage {
    pub proc: ProcId,
    /// Its number, as [`Live`] counts.
    pub statement: usize,
    /// The scalars that matter behind it.
    pub locals: Vec<LocalId>,
}

/// A procedure.
pub struct Code<'p> {
    pub ops: Vec<Op<'p>>,
    /// The statement that each instruction comes from, for [`Live`].
    statements: Vec<usize>,
    live: Live,
    /// How its locals lie one behind the other.
    pub locals: Layout,
}

/// What is never set, where it is set on the way to a failure, and what is no value.
#[derive(Clone)]
pub struct Known {
    pub failed: GlobalId,
    pub clock: Option<GlobalId>,
    /// The procedures in which control is never taken away.
    pub quiet: Vec<bool>,
}

struct Making<'p> {
    known: &'p Known,
    ops: Vec<Op<'p>>,
    statements: Vec<usize>,
    next: usize,
    /// Of each loop around: its head, and the jumps behind it.
    loops: Vec<(usize, Vec<usize>)>,
    /// Where passages are.
    passes: Vec<usize>,
}

impl<'p> Code<'p> {
    /// A procedure as instructions.
    pub fn of(program: &'p Program, id: ProcId, known: &'p Known, passages: &mut Vec<Passage>) -> Code<'p> {
        let proc = &program.procs[id];
        let mut making =
            Making { known, passes: Vec::new(), ops: Vec::new(), statements: Vec::new(), next: 0, loops: Vec::new() };
        making.block(&proc.body);
        making.emit(usize::MAX, Op::Return(&[]));
        let locals = Layout::of(program, proc.locals.iter().map(|l| &l.ty));
        let live = Live::of(proc);
        for op in making.passes {
            let statement = making.statements[op];
            let matters = |l: &LocalId| match making.ops[op - 1] {
                Op::Call(..) => live.during(statement, *l),
                _ => live.before(Some(statement), *l),
            };
            let scalars = (0..proc.locals.len()).filter(|l| proc.locals[*l].ty.is_scalar());
            let locals = scalars.filter(matters).collect();
            making.ops[op] = Op::Passage(passages.len());
            passages.push(Passage { proc: id, statement, locals });
        }
        Code { ops: making.ops, statements: making.statements, live, locals }
    }

    /// The instruction that is really next.
    pub fn settled(&self, mut at: usize) -> usize {
        while let Op::Jump(to) = self.ops[at] {
            at = to;
        }
        at
    }

    /// Sets what does not matter in front of an instruction, or during the call before it, to nothing.
    pub fn forget(&self, at: usize, during_call: bool, locals: &mut [i64]) {
        for l in 0..self.locals.offsets.len() {
            let matters = match during_call {
                true => self.live.during(self.statements[at - 1], l),
                false => self.live.before(Some(self.statements[at]).filter(|s| *s != usize::MAX), l),
            };
            if !matters {
                locals[self.locals.of_one(l)].fill(0);
            }
        }
    }
}

impl<'p> Making<'p> {
    fn emit(&mut self, statement: usize, op: Op<'p>) -> usize {
        self.ops.push(op);
        self.statements.push(statement);
        self.ops.len() - 1
    }

    fn block(&mut self, block: &'p [Stmt]) {
        block.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, s: &'p Stmt) {
        let n = self.next;
        self.next += 1;
        let op = match &s.kind {
            StmtKind::Assign(p, e) => match p.base {
                Base::Global(g) if g == self.known.failed => Op::Fail,
                Base::Global(g) if Some(g) == self.known.clock => return,
                _ => Op::Assign(p, e),
            },
            StmtKind::Any(p, lo, hi) => Op::Any(p, lo, hi),
            StmtKind::If(guard, a, b) => {
                let branch = self.emit(n, Op::Branch(guard, 0));
                self.block(a);
                let over = self.emit(n, Op::Jump(0));
                let otherwise = self.ops.len();
                self.block(b);
                let Op::Branch(_, to) = &mut self.ops[branch] else { unreachable!("it was just made") };
                *to = otherwise;
                self.ops[over] = Op::Jump(self.ops.len());
                return;
            }
            StmtKind::While(guard, body) => {
                let head = self.emit(n, Op::Again);
                let branch = self.emit(n, Op::Branch(guard, 0));
                self.loops.push((head, Vec::new()));
                self.block(body);
                self.emit(n, Op::Jump(head));
                let end = self.ops.len();
                let (_, breaks) = self.loops.pop().expect("it was just pushed");
                let Op::Branch(_, to) = &mut self.ops[branch] else { unreachable!("it was just made") };
                *to = end;
                breaks.into_iter().for_each(|b| self.ops[b] = Op::Jump(end));
                return;
            }
            StmtKind::Break => {
                let jump = self.emit(n, Op::Jump(0));
                self.loops.last_mut().expect("only inside of a loop").1.push(jump);
                return;
            }
            StmtKind::Continue => Op::Jump(self.loops.last().expect("only inside of a loop").0),
            StmtKind::Call(results, p, es) => Op::Call(results, *p, es),
            StmtKind::Return(es) => Op::Return(es),
            StmtKind::Post(None, level, p, es) => Op::Post(*level, *p, es),
            StmtKind::Yield => Op::Yield,
            StmtKind::Zield => Op::Zield,
            StmtKind::Assume(e) => Op::Assume(e),
            StmtKind::Await(e) => Op::Await(e),
            StmtKind::Atomic(block) => return self.block(block),
            StmtKind::Skip | StmtKind::Progress | StmtKind::Print(_) => return,
            _ => Op::Other,
        };
        let passes = match op {
            Op::Call(_, p, _) => !self.known.quiet[p],
            Op::Post(..) | Op::Zield => true,
            _ => false,
        };
        self.emit(n, op);
        if passes {
            let passage = self.emit(n, Op::Other);
            self.passes.push(passage);
        }
    }
}
