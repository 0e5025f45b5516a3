//! Which statements touch shared state, and how: the classes of variables, and [`Stmt::access`].

use super::checker::report;
use crate::diagnostic::Diagnostic;
use crate::program::*;
use crate::waits::Waits;
use crate::walk::statements;
use std::collections::HashSet;

/// Whether a place is shared by itself (its indexes aside).
pub(super) fn is_shared(place: &Place, globals: &[Global]) -> bool {
    match &place.base {
        Base::Global(id) => !globals[*id].per_thread,
        Base::Local(_) => false,
        Base::Heap(..) => true,
    }
}

/// How many reads of shared places stand in an expression.
pub(super) fn count(e: &Expr, globals: &[Global]) -> usize {
    let mut n = 0;
    each_read(e, &mut |p| n += usize::from(is_shared(p, globals)));
    n
}

/// How many reads of shared places it takes to find a place.
pub(super) fn count_in_place(place: &Place, globals: &[Global]) -> usize {
    let mut n = 0;
    each_read_in_place(place, &mut |p| n += usize::from(is_shared(p, globals)));
    n
}

/// Calls `f` with every place that the expression reads.
fn each_read(e: &Expr, f: &mut dyn FnMut(&Place)) {
    match &e.kind {
        ExprKind::Const(_) | ExprKind::SelfHandle => {}
        ExprKind::Read(p) => {
            each_read_in_place(p, f);
            f(p);
        }
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => each_read(a, f),
        ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => [a, b].into_iter().for_each(|e| each_read(e, f)),
        ExprKind::IfElse(a, b, c) => [a, b, c].into_iter().for_each(|e| each_read(e, f)),
        ExprKind::Tuple(parts) => parts.iter().for_each(|e| each_read(e, f)),
    }
}

fn each_read_in_place(place: &Place, f: &mut dyn FnMut(&Place)) {
    if let Base::Heap(e, _) = &place.base {
        each_read(e, f);
    }
    for step in &place.path {
        if let Projection::Index { index, .. } = step {
            each_read(index, f);
        }
    }
}

/// Calls `f` with every place that the statement itself (not those nested in it) reads or writes.
fn each_place(s: &Stmt, f: &mut dyn FnMut(&Place)) {
    let written = |p: &Place, f: &mut dyn FnMut(&Place)| {
        each_read_in_place(p, f);
        f(p);
    };
    match &s.kind {
        StmtKind::Assign(p, e) | StmtKind::SetInsert(p, e) | StmtKind::SetRemove(p, e) => {
            each_read(e, f);
            written(p, f);
        }
        StmtKind::Any(p, a, b) => {
            each_read(a, f);
            each_read(b, f);
            written(p, f);
        }
        StmtKind::New(p, _, parts) => {
            parts.iter().for_each(|e| each_read(e, f));
            written(p, f);
        }
        StmtKind::If(Guard::Expr(e), ..) | StmtKind::While(Guard::Expr(e), _) => each_read(e, f),
        StmtKind::Call(_, _, es)
        | StmtKind::Return(es)
        | StmtKind::Spawn(_, _, es)
        | StmtKind::Post(_, _, _, es)
        | StmtKind::Print(es) => es.iter().for_each(|e| each_read(e, f)),
        StmtKind::Join(e) | StmtKind::Assume(e) | StmtKind::Await(e) | StmtKind::Assert(e, ..) => each_read(e, f),
        StmtKind::SetRemoveAny(p) | StmtKind::SetClear(p) => written(p, f),
        StmtKind::If(Guard::Star, ..)
        | StmtKind::While(Guard::Star, _)
        | StmtKind::Atomic(_)
        | StmtKind::Skip
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Yield
        | StmtKind::Zield
        | StmtKind::Progress => {}
    }
}

fn children(s: &Stmt) -> Vec<&Block> {
    match &s.kind {
        StmtKind::If(_, a, b) => vec![a, b],
        StmtKind::While(_, b) | StmtKind::Atomic(b) => vec![b],
        _ => Vec::new(),
    }
}

/// A variable that has a class: a global, or a field of heap records.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Classed {
    Global(GlobalId),
    Field(RecordId, usize),
}

fn classed(place: &Place) -> Option<Classed> {
    match (&place.base, place.path.first()) {
        (Base::Global(id), _) => Some(Classed::Global(*id)),
        (Base::Heap(_, record), Some(Projection::Field(i))) => Some(Classed::Field(*record, *i)),
        _ => None,
    }
}

/// Whose class was declared, and so is not inferred.
#[derive(Default)]
pub(super) struct Declared {
    pub(super) globals: HashSet<GlobalId>,
    pub(super) fields: HashSet<(RecordId, usize)>,
}

/// Makes synchronization variables of those that are accessed inside `atomic` or in `await` somewhere.
pub(super) fn infer_classes(program: &mut Program, declared: &Declared) {
    let mut sync = HashSet::new();
    let mut atomic_procs = HashSet::new();
    for proc in &program.procs {
        collect(&proc.body, false, &mut sync, &mut atomic_procs);
    }
    let mut done = HashSet::new();
    while let Some(proc) = atomic_procs.difference(&done).next().copied() {
        done.insert(proc);
        collect(&program.procs[proc].body, true, &mut sync, &mut atomic_procs);
    }
    for variable in sync {
        match variable {
            Classed::Global(g) if !declared.globals.contains(&g) => program.globals[g].class = Class::Sync,
            Classed::Field(r, i) if !declared.fields.contains(&(r, i)) => {
                program.records[r].fields[i].class = Class::Sync;
            }
            Classed::Global(_) | Classed::Field(..) => {}
        }
    }
}

fn collect(block: &Block, atomic: bool, sync: &mut HashSet<Classed>, atomic_procs: &mut HashSet<ProcId>) {
    for s in block {
        if atomic || matches!(s.kind, StmtKind::Await(_)) {
            each_place(s, &mut |p| sync.extend(classed(p)));
        }
        if let (true, StmtKind::Call(_, proc, _)) = (atomic, &s.kind) {
            atomic_procs.insert(*proc);
        }
        for child in children(s) {
            collect(child, atomic || matches!(s.kind, StmtKind::Atomic(_)), sync, atomic_procs);
        }
    }
}

/// Sets what is true of these procedures for all that reach them, given who calls each.
pub(super) fn reach(callers: &[Vec<ProcId>], reached: &mut [bool]) {
    let mut new: Vec<ProcId> = (0..reached.len()).filter(|p| reached[*p]).collect();
    while let Some(proc) = new.pop() {
        for caller in &callers[proc] {
            if !std::mem::replace(&mut reached[*caller], true) {
                new.push(*caller);
            }
        }
    }
}

/// Who calls each procedure.
pub(super) fn callers(procs: &[Proc]) -> Vec<Vec<ProcId>> {
    let mut callers = vec![Vec::new(); procs.len()];
    for (id, proc) in procs.iter().enumerate() {
        statements(&proc.body, &mut |s| {
            if let StmtKind::Call(_, callee, _) = &s.kind {
                callers[*callee].push(id);
            }
        });
    }
    callers
}

/// Sets [`Stmt::access`] everywhere.
pub(super) fn assign(program: &mut Program) {
    let waits = Waits::of(program);
    let mut procs = std::mem::take(&mut program.procs);
    let look = Look { program, awaited: awaited(&waits, &procs) };
    // What a procedure touches when it is called inside `atomic`.
    let none = vec![Access::Local; procs.len()];
    let alone: Vec<Access> = procs.iter().map(|p| look.deep(&none, &p.body)).collect();
    let callers = callers(&procs);
    let at_least = |least: Access| {
        let mut reached: Vec<bool> = alone.iter().map(|a| *a >= least).collect();
        reach(&callers, &mut reached);
        reached
    };
    let (data, sync) = (at_least(Access::Data), at_least(Access::Sync));
    let touched: Vec<Access> = data
        .iter()
        .zip(sync)
        .map(|(data, sync)| match (*data, sync) {
            (_, true) => Access::Sync,
            (true, false) => Access::Data,
            (false, false) => Access::Local,
        })
        .collect();
    for proc in &mut procs {
        look.block(&touched, &mut proc.body);
    }
    program.procs = procs;
}

/// What an `await` or `join` reads. Its accesses are scheduling points even if it is declared to be data: whoever waits for
/// it makes no access that could race with the others. So is what a block touches that waits elsewhere than at its beginning.
fn awaited(waits: &Waits, procs: &[Proc]) -> HashSet<Classed> {
    let mut awaited = HashSet::new();
    let mut called = Vec::new();
    let mut touched = |block: &Block, called: &mut Vec<ProcId>| {
        statements(block, &mut |s| {
            each_place(s, &mut |p| awaited.extend(classed(p)));
            called.extend(match s.kind {
                StmtKind::Call(_, p, _) => Some(p),
                _ => None,
            });
        });
    };
    for proc in procs {
        statements(&proc.body, &mut |s| {
            if let StmtKind::Atomic(block) = &s.kind
                && waits.midway(block).is_some()
            {
                touched(block, &mut called);
            }
        });
    }
    let mut done = HashSet::new();
    while let Some(p) = called.pop() {
        if done.insert(p) {
            touched(&procs[p].body, &mut called);
        }
    }
    for proc in procs {
        statements(&proc.body, &mut |s| {
            if let StmtKind::Await(e) | StmtKind::Join(e) = &s.kind {
                each_read(e, &mut |p| awaited.extend(classed(p)));
            }
        });
    }
    awaited
}

/// What is looked up to say what a statement touches.
struct Look<'a> {
    program: &'a Program,
    awaited: HashSet<Classed>,
}

impl Look<'_> {
    fn block(&self, touched: &[Access], block: &mut Block) {
        for s in block {
            s.access = match &s.kind {
                StmtKind::Atomic(body) => self.deep(touched, body),
                _ => self.own(s),
            };
            match &mut s.kind {
                StmtKind::If(_, a, b) => {
                    self.block(touched, a);
                    self.block(touched, b);
                }
                StmtKind::While(_, b) | StmtKind::Atomic(b) => self.block(touched, b),
                _ => {}
            }
        }
    }

    fn deep(&self, touched: &[Access], block: &Block) -> Access {
        let mut most = Access::Local;
        statements(block, &mut |s| {
            let called = if let StmtKind::Call(_, proc, _) = &s.kind { touched[*proc] } else { Access::Local };
            most = most.max(self.own(s)).max(called);
        });
        most
    }

    fn own(&self, s: &Stmt) -> Access {
        if matches!(s.kind, StmtKind::Spawn(..) | StmtKind::Post(..) | StmtKind::Join(_) | StmtKind::Await(_)) {
            return Access::Sync;
        }
        let program = self.program;
        let mut access = Access::Local;
        each_place(s, &mut |p| {
            if is_shared(p, &program.globals) {
                let class = match classed(p) {
                    Some(what) if self.awaited.contains(&what) => Class::Sync,
                    Some(Classed::Global(g)) => program.globals[g].class,
                    Some(Classed::Field(r, i)) => program.records[r].fields[i].class,
                    None => Class::Data,
                };
                access = access.max(if class == Class::Sync { Access::Sync } else { Access::Data });
            }
        });
        access
    }
}

/// What procedures that are called inside `atomic` may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// Neither wait nor give up control.
    Nothing,
    /// Wait.
    Waits,
}

/// Reports calls inside `atomic` of procedures that may not be called there.
pub(super) fn check_atomic(program: &Program, inside: Inside, diagnostics: &mut Vec<Diagnostic>) {
    let leaves = |s: &Stmt| match s.kind {
        StmtKind::Yield | StmtKind::Zield => true,
        StmtKind::Await(_) | StmtKind::Join(_) => inside == Inside::Nothing,
        _ => false,
    };
    let mut waits: Vec<bool> = program.procs.iter().map(|p| any(&p.body, &leaves)).collect();
    reach(&callers(&program.procs), &mut waits);
    fn visit(
        program: &Program,
        block: &Block,
        inside: bool,
        (inside_may, waits): (Inside, &[bool]),
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        for s in block {
            if let (true, StmtKind::Call(_, p, _)) = (inside && !diagnostics.iter().any(|d| d.span == s.span), &s.kind)
                && waits[*p]
            {
                let name = &program.procs[*p].name;
                let message = match inside_may {
                    Inside::Waits => format!("`{name}` gives up control, and is called inside `atomic`"),
                    Inside::Nothing => format!("`{name}` may wait, and is called inside `atomic`"),
                };
                report(diagnostics, "E0406", s.span, message, "cannot be left here").help =
                    Some("call it before or after the atomic block".into());
            }
            for child in children(s) {
                let inside = inside || matches!(s.kind, StmtKind::Atomic(_));
                visit(program, child, inside, (inside_may, waits), diagnostics);
            }
        }
    }
    for proc in &program.procs {
        visit(program, &proc.body, false, (inside, &waits), diagnostics);
    }
}

fn any(block: &Block, test: &dyn Fn(&Stmt) -> bool) -> bool {
    block.iter().any(|s| test(s) || children(s).into_iter().any(|b| any(b, test)))
}
