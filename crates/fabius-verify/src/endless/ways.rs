//! Ways through statements that come to no scheduling point, as far as the text shows.

use fabius_lang::program::{
    Access, Base, Block, Expr, ExprKind, GlobalId, Guard, Interleave, LocalId, Place, ProcId, Program, Stmt, StmtKind,
};
use fabius_lang::walk::{decided, each, expressions, of_place, statements, written};
use std::collections::{BTreeMap, BTreeSet};

/// What is a scheduling point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Points {
    /// Accesses to shared state, and waits.
    Accesses,
    /// What hands control over.
    HandingOver,
    /// Nothing: inside of `atomic`.
    Nothing,
}

/// Where ways end that come to no point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub falls: bool,
    pub continues: bool,
    pub breaks: bool,
    pub returns: bool,
}

impl Ends {
    fn or(self, other: Ends) -> Ends {
        Ends {
            falls: self.falls || other.falls,
            continues: self.continues || other.continues,
            breaks: self.breaks || other.breaks,
            returns: self.returns || other.returns,
        }
    }
}

const FALLS: Ends = Ends { falls: true, continues: false, breaks: false, returns: false };
const NOWHERE: Ends = Ends { falls: false, ..FALLS };

/// A variable as its procedure sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    Global(GlobalId),
    Local(LocalId),
    /// Any part of any object.
    Heap,
}

/// A program, and the procedures that some way without a point leads through.
pub struct Ways<'p> {
    pub program: &'p Program,
    passed: BTreeSet<(ProcId, Points)>,
    writes: Vec<BTreeSet<Variable>>,
}

impl<'p> Ways<'p> {
    /// The least sets that agree with the text.
    pub fn of(program: &'p Program) -> Ways<'p> {
        let writes = vec![BTreeSet::new(); program.procs.len()];
        let mut ways = Ways { program, passed: BTreeSet::new(), writes };
        let mut grows = true;
        while grows {
            grows = false;
            for (id, proc) in program.procs.iter().enumerate() {
                let written = ways.written(&proc.body).into_iter().filter(|v| !matches!(v, Variable::Local(_)));
                let written: BTreeSet<Variable> = written.collect();
                grows |= written.len() > ways.writes[id].len();
                ways.writes[id] = written;
                for points in [Points::Accesses, Points::HandingOver, Points::Nothing] {
                    let ends = ways.through(&proc.body, points);
                    grows |= (ends.falls || ends.returns) && ways.passed.insert((id, points));
                }
            }
        }
        ways
    }

    /// What is a point where threads and tasks begin.
    pub fn at_first(&self) -> Points {
        match self.program.interleave {
            Interleave::Implicit if !self.program.has_single_buffer() => Points::Accesses,
            _ => Points::HandingOver,
        }
    }

    /// The procedures that run, each with what is a point in it.
    pub fn running(&self) -> BTreeMap<(ProcId, Points), &'p Block> {
        let program = self.program;
        let begin = program.init.into_iter().chain(program.buffers.iter().map(|b| b.proc));
        let mut open: Vec<(ProcId, Points)> =
            begin.chain(program.processes.iter().map(|p| p.proc)).map(|p| (p, self.at_first())).collect();
        let mut all = BTreeMap::new();
        while let Some((proc, points)) = open.pop() {
            if all.insert((proc, points), &program.procs[proc].body).is_none() {
                each_within(&program.procs[proc].body, points, &mut |s, points| match s.kind {
                    StmtKind::Call(_, callee, _) => open.push((callee, points)),
                    StmtKind::Spawn(_, begins, _) | StmtKind::Post(_, _, begins, _) => {
                        open.push((begins, self.at_first()));
                    }
                    _ => {}
                });
            }
        }
        all
    }

    /// Where ways through a block end.
    pub fn through(&self, block: &[Stmt], points: Points) -> Ends {
        let mut all = NOWHERE;
        for s in block {
            let one = self.through_one(s, points);
            all = all.or(Ends { falls: false, ..one });
            if !one.falls {
                return all;
            }
        }
        all.or(FALLS)
    }

    /// Where ways through a statement end.
    pub fn through_one(&self, s: &Stmt, points: Points) -> Ends {
        if is_point(s, points) {
            return NOWHERE;
        }
        match &s.kind {
            StmtKind::If(guard, a, b) => {
                let side = |block: &[Stmt], when: bool| {
                    if says(guard) == Some(!when) { NOWHERE } else { self.through(block, points) }
                };
                side(a, true).or(side(b, false))
            }
            StmtKind::While(guard, _) if says(guard) == Some(false) => FALLS,
            StmtKind::While(guard, body) => {
                let ends = self.through(body, points);
                Ends { falls: says(guard).is_none() || ends.breaks, returns: ends.returns, ..NOWHERE }
            }
            StmtKind::Atomic(body) => self.through(body, Points::Nothing),
            StmtKind::Break => Ends { breaks: true, ..NOWHERE },
            StmtKind::Continue => Ends { continues: true, ..NOWHERE },
            StmtKind::Return(_) => Ends { returns: true, ..NOWHERE },
            StmtKind::Call(_, callee, _) => Ends { falls: self.passed.contains(&(*callee, points)), ..NOWHERE },
            _ => FALLS,
        }
    }

    /// Calls `f` for each statement that a way through a block comes to, with what is a point there.
    pub fn each_reached<'b>(&self, block: &'b [Stmt], points: Points, f: &mut dyn FnMut(&'b Stmt, Points)) {
        for s in block {
            if is_point(s, points) {
                return;
            }
            f(s, points);
            match &s.kind {
                StmtKind::If(guard, a, b) => {
                    for (block, when) in [(a, true), (b, false)] {
                        if says(guard) != Some(!when) {
                            self.each_reached(block, points, f);
                        }
                    }
                }
                StmtKind::While(guard, b) if says(guard) != Some(false) => self.each_reached(b, points, f),
                StmtKind::Atomic(b) => self.each_reached(b, Points::Nothing, f),
                _ => {}
            }
            if !self.through_one(s, points).falls {
                return;
            }
        }
    }

    /// The variables that a block writes, in procedures that it calls as well.
    pub fn written(&self, block: &Block) -> BTreeSet<Variable> {
        let mut all = BTreeSet::new();
        statements(block, &mut |s| {
            all.extend(written(s).map(variable));
            match &s.kind {
                StmtKind::Call(results, callee, _) => {
                    all.extend(results.iter().flatten().map(|l| Variable::Local(*l)));
                    all.extend(&self.writes[*callee]);
                }
                StmtKind::Spawn(Some(l), ..) | StmtKind::Post(Some(l), ..) => {
                    all.insert(Variable::Local(*l));
                }
                _ => {}
            }
        });
        all
    }
}

/// The variable that a place is in.
pub fn variable(place: &Place) -> Variable {
    match place.base {
        Base::Global(g) => Variable::Global(g),
        Base::Local(l) => Variable::Local(l),
        Base::Heap(..) => Variable::Heap,
    }
}

/// The variables that an expression reads.
pub fn read_by(e: &Expr) -> BTreeSet<Variable> {
    let mut all = BTreeSet::new();
    each(e, &mut |e| {
        if let ExprKind::Read(place) = &e.kind {
            all.insert(variable(place));
        }
    });
    all
}

/// The variables that the step of a statement reads.
pub fn read_in(s: &Stmt) -> BTreeSet<Variable> {
    expressions(s).into_iter().flat_map(read_by).collect()
}

/// The variables that decide where a place is.
pub fn read_for(place: &Place) -> BTreeSet<Variable> {
    of_place(place).into_iter().flat_map(read_by).collect()
}

/// What a guard says, if its text decides.
pub fn says(guard: &Guard) -> Option<bool> {
    match guard {
        Guard::Star => None,
        Guard::Expr(e) => decided(e),
    }
}

/// Whether a step ends in front of a statement, or an engine says how many of them it follows.
pub fn is_point(s: &Stmt, points: Points) -> bool {
    match s.kind {
        StmtKind::Spawn(..) | StmtKind::Post(..) => true,
        StmtKind::Yield | StmtKind::Zield => points != Points::Nothing,
        StmtKind::Await(_) | StmtKind::Join(_) => points == Points::Accesses,
        _ => points == Points::Accesses && s.access != Access::Local,
    }
}

/// Calls `f` for every statement, nested ones included, with what is a point there.
pub fn each_within<'b>(block: &'b Block, points: Points, f: &mut dyn FnMut(&'b Stmt, Points)) {
    for s in block {
        f(s, points);
        match &s.kind {
            StmtKind::If(_, a, b) => {
                each_within(a, points, f);
                each_within(b, points, f);
            }
            StmtKind::While(_, b) => each_within(b, points, f),
            StmtKind::Atomic(b) => each_within(b, Points::Nothing, f),
            _ => {}
        }
    }
}

/// Whether a block surely leaves the loop around it, or may do so by a choice of its own.
pub fn leaves(block: &[Stmt], points: Points) -> bool {
    for s in block {
        if is_point(s, points) {
            return true;
        }
        match &s.kind {
            StmtKind::Break | StmtKind::Return(_) => return true,
            StmtKind::If(Guard::Star, a, b) if leaves(a, points) || leaves(b, points) => return true,
            StmtKind::If(_, a, b) if leaves(a, points) && leaves(b, points) => return true,
            StmtKind::If(_, a, b) if a.iter().chain(b).all(is_plain) => {}
            _ if is_plain(s) => {}
            _ => return false,
        }
    }
    false
}

/// Whether what is behind the statement comes next, or something goes wrong.
fn is_plain(s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::If(_, a, b) => a.iter().chain(b).all(is_plain),
        StmtKind::Skip
        | StmtKind::Assign(..)
        | StmtKind::New(..)
        | StmtKind::Assert(..)
        | StmtKind::Print(_)
        | StmtKind::Progress
        | StmtKind::SetInsert(..)
        | StmtKind::SetRemove(..)
        | StmtKind::SetRemoveAny(_)
        | StmtKind::SetClear(_) => true,
        StmtKind::Any(_, lo, hi) => match (&lo.kind, &hi.kind) {
            (ExprKind::Const(lo), ExprKind::Const(hi)) => lo <= hi,
            _ => false,
        },
        _ => false,
    }
}
