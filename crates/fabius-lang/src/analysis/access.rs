//! Which statements touch shared state, and how: the classes of variables, and [`Stmt::access`].

use super::checker::report;
use crate::diagnostic::Diagnostic;
use crate::program::*;
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

/// Sets [`Stmt::access`] everywhere.
pub(super) fn assign(program: &mut Program) {
    let mut procs = std::mem::take(&mut program.procs);
    // What a procedure touches when it is called inside `atomic`.
    let mut touched = vec![Access::Local; procs.len()];
    loop {
        let next: Vec<Access> = procs.iter().map(|p| deep(program, &touched, &p.body)).collect();
        if next == touched {
            break;
        }
        touched = next;
    }
    for proc in &mut procs {
        assign_block(program, &touched, &mut proc.body);
    }
    program.procs = procs;
}

fn assign_block(program: &Program, touched: &[Access], block: &mut Block) {
    for s in block {
        s.access = match &s.kind {
            StmtKind::Atomic(body) => deep(program, touched, body),
            _ => own(program, s),
        };
        match &mut s.kind {
            StmtKind::If(_, a, b) => {
                assign_block(program, touched, a);
                assign_block(program, touched, b);
            }
            StmtKind::While(_, b) | StmtKind::Atomic(b) => assign_block(program, touched, b),
            _ => {}
        }
    }
}

fn deep(program: &Program, touched: &[Access], block: &Block) -> Access {
    let of = |s: &Stmt| {
        let called = if let StmtKind::Call(_, proc, _) = &s.kind { touched[*proc] } else { Access::Local };
        let nested = children(s).into_iter().map(|b| deep(program, touched, b)).max().unwrap_or(Access::Local);
        own(program, s).max(called).max(nested)
    };
    block.iter().map(of).max().unwrap_or(Access::Local)
}

fn own(program: &Program, s: &Stmt) -> Access {
    if matches!(s.kind, StmtKind::Spawn(..) | StmtKind::Post(..) | StmtKind::Join(_) | StmtKind::Await(_)) {
        return Access::Sync;
    }
    let mut access = Access::Local;
    each_place(s, &mut |p| {
        if is_shared(p, &program.globals) {
            let class = match classed(p) {
                Some(Classed::Global(g)) => program.globals[g].class,
                Some(Classed::Field(r, i)) => program.records[r].fields[i].class,
                None => Class::Data,
            };
            access = access.max(if class == Class::Sync { Access::Sync } else { Access::Data });
        }
    });
    access
}

/// Reports calls inside `atomic` of procedures that wait or give up control.
pub(super) fn check_atomic(program: &Program, diagnostics: &mut Vec<Diagnostic>) {
    let leaves = |s: &Stmt| {
        matches!(s.kind, StmtKind::Await(_) | StmtKind::Join(_) | StmtKind::Yield | StmtKind::Zield)
            || matches!(&s.kind, StmtKind::Atomic(b) if b.iter().any(|s| matches!(s.kind, StmtKind::Await(_) | StmtKind::Join(_))))
    };
    let mut waits: Vec<bool> = program.procs.iter().map(|p| any(&p.body, &leaves)).collect();
    loop {
        let calls = |s: &Stmt| matches!(&s.kind, StmtKind::Call(_, p, _) if waits[*p]);
        let next: Vec<bool> = program.procs.iter().zip(&waits).map(|(p, w)| *w || any(&p.body, &calls)).collect();
        if next == waits {
            break;
        }
        waits = next;
    }
    fn visit(program: &Program, block: &Block, inside: bool, waits: &[bool], diagnostics: &mut Vec<Diagnostic>) {
        for s in block {
            if let (true, StmtKind::Call(_, p, _)) = (inside && !diagnostics.iter().any(|d| d.span == s.span), &s.kind)
                && waits[*p]
            {
                let name = &program.procs[*p].name;
                let message = format!("`{name}` may wait, and is called inside `atomic`");
                report(diagnostics, "E0406", s.span, message, "cannot be left here").help =
                    Some("call it before or after the atomic block".into());
            }
            for child in children(s) {
                let inside = inside || matches!(s.kind, StmtKind::Atomic(_));
                visit(program, child, inside, waits, diagnostics);
            }
        }
    }
    for proc in &program.procs {
        visit(program, &proc.body, false, &waits, diagnostics);
    }
}

fn any(block: &Block, test: &dyn Fn(&Stmt) -> bool) -> bool {
    block.iter().any(|s| test(s) || children(s).into_iter().any(|b| any(b, test)))
}
