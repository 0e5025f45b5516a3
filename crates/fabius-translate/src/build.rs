//! Makes statements and expressions of core programs.

use crate::Unsupported;
use fabius_lang::program::*;
use fabius_trace::Span;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A statement that touches nothing shared. (In a sequential program nothing is.)
pub fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, access: Access::Local, span: Span::default() }
}

pub fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr { kind, ty, span: Span::default() }
}

pub fn number(v: i64) -> Expr {
    constant(v, Type::Int)
}

/// A scalar constant.
pub fn constant(v: i64, ty: Type) -> Expr {
    expr(ExprKind::Const(Value::Int(v)), ty)
}

pub fn boolean(v: bool) -> Expr {
    constant(i64::from(v), Type::Bool)
}

pub fn global(program: &Program, g: GlobalId) -> Place {
    Place { base: Base::Global(g), path: Vec::new(), ty: program.globals[g].ty.clone(), span: Span::default() }
}

pub fn local(l: LocalId, ty: Type) -> Place {
    Place { base: Base::Local(l), path: Vec::new(), ty, span: Span::default() }
}

/// An element of an array.
pub fn element(mut array: Place, index: Expr) -> Place {
    let Type::Array { lo, len, element, .. } = array.ty else { unreachable!("only arrays have elements") };
    array.path.push(Projection::Index { index: Box::new(index), lo, len });
    Place { ty: *element, ..array }
}

/// A field of a record.
pub fn field(program: &Program, mut record: Place, f: usize) -> Place {
    let Type::Record(r) = record.ty else { unreachable!("only records have fields") };
    record.path.push(Projection::Field(f));
    Place { ty: program.records[r].fields[f].ty.clone(), ..record }
}

/// `[ty; len]`, with indexes from 0.
pub fn array(ty: Type, len: u32) -> Type {
    Type::Array { index: Box::new(Type::Int), lo: 0, len, element: Box::new(ty) }
}

pub fn read(p: &Place) -> Expr {
    let ty = if matches!(p.ty, Type::Range(..)) { Type::Int } else { p.ty.clone() };
    expr(ExprKind::Read(p.clone()), ty)
}

pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let ty = match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => a.ty.clone(),
        _ => Type::Bool,
    };
    expr(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty)
}

pub fn add(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Add, a, b)
}

pub fn sub(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Sub, a, b)
}

pub fn eq(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Eq, a, b)
}

pub fn lt(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Lt, a, b)
}

pub fn le(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Le, a, b)
}

pub fn and(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::And, a, b)
}

pub fn or(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Or, a, b)
}

pub fn not(a: Expr) -> Expr {
    match a.kind {
        ExprKind::Unary(UnaryOp::Not, b) => *b,
        _ => expr(ExprKind::Unary(UnaryOp::Not, Box::new(a)), Type::Bool),
    }
}

pub fn set(p: &Place, e: Expr) -> Stmt {
    stmt(StmtKind::Assign(p.clone(), e))
}

pub fn assume(e: Expr) -> Stmt {
    stmt(StmtKind::Assume(e))
}

/// `if e { then }`.
pub fn when(e: Expr, then: Block) -> Stmt {
    either(e, then, Vec::new())
}

pub fn either(e: Expr, then: Block, otherwise: Block) -> Stmt {
    stmt(StmtKind::If(Guard::Expr(e), then, otherwise))
}

/// `p = any lo..hi`.
pub fn any_between(p: &Place, lo: Expr, hi: Expr) -> Stmt {
    stmt(StmtKind::Any(p.clone(), lo, hi))
}

/// Any value of its type: one choice for each scalar in it.
pub fn guess(program: &Program, p: &Place, out: &mut Block) {
    guess_within(program, p, &mut std::iter::repeat((i64::MIN, i64::MAX)), out);
}

/// Any value of its type of which each scalar is between two numbers; there may be none.
pub fn guess_within(program: &Program, p: &Place, within: &mut dyn Iterator<Item = (i64, i64)>, out: &mut Block) {
    match &p.ty {
        Type::Record(r) => {
            for f in 0..program.records[*r].fields.len() {
                guess_within(program, &field(program, p.clone(), f), within, out);
            }
        }
        Type::Array { index, lo, len, .. } => {
            for i in 0..i64::from(*len) {
                let index = match **index {
                    Type::Range(..) => number(lo + i),
                    ref finite => constant(lo + i, finite.clone()),
                };
                guess_within(program, &element(p.clone(), index), within, out);
            }
        }
        scalar => {
            let (lo, hi) = scalar.finite_range(&program.enums).unwrap_or((i64::MIN, i64::MAX));
            let (least, most) = match (within.next(), scalar) {
                // Its codes are not in the order of its values.
                (None, _) | (_, Type::Fixed { bits: 64, signed: false }) => (lo, hi),
                (Some(within), _) => (lo.max(within.0), hi.min(within.1)),
            };
            let of_type = |value| constant(value, scalar.clone());
            out.push(match (least.cmp(&most), scalar) {
                (Ordering::Greater, _) => assume(boolean(false)),
                (Ordering::Equal, _) => set(p, of_type(least)),
                // There are no intervals of them.
                (Ordering::Less, Type::Enum(_)) => any_between(p, of_type(lo), of_type(hi)),
                (Ordering::Less, _) => any_between(p, of_type(least), of_type(most)),
            });
        }
    }
}

/// Adds a global; returns where it is.
pub fn new_global(program: &mut Program, name: &str, ty: Type) -> Place {
    let init = ty.default_value(&program.records);
    new_global_with(program, name, ty, init)
}

/// Adds a global with an initial value; returns where it is.
pub fn new_global_with(program: &mut Program, name: &str, ty: Type, init: Value) -> Place {
    program.globals.push(Global {
        name: name.into(),
        ty,
        init,
        class: Class::Data,
        per_thread: false,
        span: Span::default(),
    });
    global(program, program.globals.len() - 1)
}

/// Adds a local; returns where it is.
pub fn new_local(locals: &mut Vec<Local>, name: &str, ty: Type) -> Place {
    locals.push(Local { name: name.into(), ty: ty.clone() });
    local(locals.len() - 1, ty)
}

/// Arguments in variables of their own.
pub fn keep(args: Vec<Expr>, types: &[Type], locals: &mut Vec<Local>) -> (Block, Vec<Expr>) {
    let mut out = Vec::new();
    let mut values = Vec::new();
    for (e, ty) in args.into_iter().zip(types) {
        let value = new_local(locals, "argument", ty.clone());
        out.push(set(&value, e));
        values.push(read(&value));
    }
    (out, values)
}

/// The local that a place is.
pub fn local_id(p: &Place) -> LocalId {
    match p.base {
        Base::Local(l) if p.path.is_empty() => l,
        _ => unreachable!("the place is a local variable"),
    }
}

/// The types of the parameters of each procedure.
pub fn parameters(program: &Program) -> Vec<Vec<Type>> {
    program.procs.iter().map(|p| p.locals[..p.params].iter().map(|l| l.ty.clone()).collect()).collect()
}

/// `return` with the default of every result.
pub fn return_default(program: &Program, results: &[Type]) -> Stmt {
    let value = |ty: &Type| expr(ExprKind::Const(ty.default_value(&program.records)), ty.clone());
    stmt(StmtKind::Return(results.iter().map(value).collect()))
}

/// The globals that some statement of the program may change.
pub fn changed_globals(program: &Program) -> std::collections::BTreeSet<GlobalId> {
    let mut all = std::collections::BTreeSet::new();
    for proc in &program.procs {
        each(&proc.body, &mut |s| {
            if let StmtKind::Assign(p, _) | StmtKind::Any(p, ..) = &s.kind
                && let Base::Global(g) = p.base
            {
                all.insert(g);
            }
        });
    }
    all
}

/// The procedures in which, calls included, no statement is one of these.
pub fn without(program: &Program, is_one: impl Fn(&StmtKind) -> bool) -> Vec<bool> {
    let mut quiet = vec![true; program.procs.len()];
    let mut order: Vec<ProcId> = (0..quiet.len()).collect();
    // Callers mostly stand before or mostly behind those that they call: one of the two ways is short.
    loop {
        order.reverse();
        let mut changed = false;
        for p in order.iter().copied().filter(|p| quiet[*p]).collect::<Vec<_>>() {
            let mut stays = true;
            each(&program.procs[p].body, &mut |s| {
                let calls_one = matches!(s.kind, StmtKind::Call(_, p, _) if !quiet[p]);
                stays &= !calls_one && !is_one(&s.kind);
            });
            changed |= !stays;
            quiet[p] = stays;
        }
        if !changed {
            return quiet;
        }
    }
}

/// The level at which each procedure runs. (One that never runs is said to run at the lowest.)
///
/// # Errors
/// A procedure that runs at more than one.
pub fn levels_of(program: &Program) -> Result<Vec<Level>, Unsupported> {
    let mut all = vec![None; program.procs.len()];
    let mut todo: Vec<(ProcId, Level)> = program.init.into_iter().map(|p| (p, 0)).collect();
    for proc in &program.procs {
        each(&proc.body, &mut |s| match s.kind {
            StmtKind::Post(_, Some(m), p, _) => todo.push((p, m)),
            StmtKind::Spawn(_, p, _) => todo.push((p, 0)),
            _ => {}
        });
    }
    while let Some((p, level)) = todo.pop() {
        if all[p].is_some_and(|l| l != level) {
            let help = "write it once for each level";
            return Err(Unsupported::new("a procedure that runs at several levels", program.procs[p].span, help));
        }
        if all[p].replace(level).is_none() {
            each(&program.procs[p].body, &mut |s| {
                if let StmtKind::Call(_, q, _) | StmtKind::Post(_, None, q, _) = s.kind {
                    todo.push((q, level));
                }
            });
        }
    }
    Ok(all.into_iter().map(|l| l.unwrap_or(0)).collect())
}

/// Where the first statement of a kind stands.
pub fn first(program: &Program, is_one: impl Fn(&StmtKind) -> bool) -> Option<Span> {
    let mut found = None;
    for proc in &program.procs {
        each(&proc.body, &mut |s| {
            if is_one(&s.kind) {
                found.get_or_insert(s.span);
            }
        });
    }
    found
}

/// Calls `f` with every statement, nested ones included.
pub fn each(block: &[Stmt], f: &mut impl FnMut(&Stmt)) {
    for s in block {
        f(s);
        match &s.kind {
            StmtKind::If(_, a, b) => {
                each(a, f);
                each(b, f);
            }
            StmtKind::While(_, b) | StmtKind::Atomic(b) => each(b, f),
            _ => {}
        }
    }
}

/// These procedures and all that they call.
pub fn called_from(program: &Program, mut todo: Vec<ProcId>) -> BTreeSet<ProcId> {
    let mut seen = BTreeSet::new();
    while let Some(p) = todo.pop() {
        if seen.insert(p) {
            each(&program.procs[p].body, &mut |s| {
                if let StmtKind::Call(_, q, _) = s.kind {
                    todo.push(q);
                }
            });
        }
    }
    seen
}

/// Puts a block in the place of every statement for which `f` gives one. Nested statements first.
pub fn replace(block: Block, f: &mut impl FnMut(Stmt) -> Block) -> Block {
    let mut out = Vec::new();
    for mut s in block {
        s.kind = match s.kind {
            StmtKind::If(g, a, b) => StmtKind::If(g, replace(a, f), replace(b, f)),
            StmtKind::While(g, b) => StmtKind::While(g, replace(b, f)),
            StmtKind::Atomic(b) => StmtKind::Atomic(replace(b, f)),
            other => other,
        };
        out.extend(f(s));
    }
    out
}

/// Changes the places that an expression reads, and those in their indexes.
pub fn replace_places(e: Expr, f: &mut impl FnMut(Place) -> Place) -> Expr {
    let mut boxed = |e: Box<Expr>| Box::new(replace_places(*e, f));
    let kind = match e.kind {
        ExprKind::Read(mut p) => {
            for step in &mut p.path {
                if let Projection::Index { index, .. } = step {
                    **index = replace_places((**index).clone(), f);
                }
            }
            ExprKind::Read(f(p))
        }
        ExprKind::Unary(op, a) => ExprKind::Unary(op, boxed(a)),
        ExprKind::Binary(op, a, b) => ExprKind::Binary(op, boxed(a), boxed(b)),
        ExprKind::IfElse(a, b, c) => ExprKind::IfElse(boxed(a), boxed(b), boxed(c)),
        ExprKind::Tuple(parts) => ExprKind::Tuple(parts.into_iter().map(|p| replace_places(p, f)).collect()),
        ExprKind::Cast(a) => ExprKind::Cast(boxed(a)),
        other => other,
    };
    Expr { kind, ..e }
}

/// The global that a place is.
pub fn id_of(p: &Place) -> GlobalId {
    match p.base {
        Base::Global(g) if p.path.is_empty() => g,
        _ => unreachable!("the place is a global variable"),
    }
}

/// Makes room for `by` more parameters: all locals from `from` on have numbers greater by that.
pub fn shift_locals(block: Block, from: usize, by: usize) -> Block {
    struct Shift(usize, usize);
    impl Shift {
        fn local(&self, l: &mut LocalId) {
            if *l >= self.0 {
                *l += self.1;
            }
        }
        fn place(&self, p: &mut Place) {
            if let Base::Local(l) = &mut p.base {
                self.local(l);
            }
            for step in &mut p.path {
                if let Projection::Index { index, .. } = step {
                    self.expr(index);
                }
            }
        }
        fn expr(&self, e: &mut Expr) {
            match &mut e.kind {
                ExprKind::Const(_) | ExprKind::SelfHandle => {}
                ExprKind::Read(p) => self.place(p),
                ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => self.expr(a),
                ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => {
                    self.expr(a);
                    self.expr(b);
                }
                ExprKind::IfElse(a, b, c) => [a, b, c].into_iter().for_each(|e| self.expr(e)),
                ExprKind::Tuple(parts) => parts.iter_mut().for_each(|e| self.expr(e)),
            }
        }
        fn block(&self, block: &mut Block) {
            for s in block {
                match &mut s.kind {
                    StmtKind::Assign(p, e) => {
                        self.place(p);
                        self.expr(e);
                    }
                    StmtKind::Any(p, a, b) => {
                        self.place(p);
                        self.expr(a);
                        self.expr(b);
                    }
                    StmtKind::If(g, a, b) => {
                        if let Guard::Expr(e) = g {
                            self.expr(e);
                        }
                        self.block(a);
                        self.block(b);
                    }
                    StmtKind::While(g, b) => {
                        if let Guard::Expr(e) = g {
                            self.expr(e);
                        }
                        self.block(b);
                    }
                    StmtKind::Call(results, _, es) => {
                        results.iter_mut().flatten().for_each(|l| self.local(l));
                        es.iter_mut().for_each(|e| self.expr(e));
                    }
                    StmtKind::Spawn(result, _, es) | StmtKind::Post(result, _, _, es) => {
                        result.iter_mut().for_each(|l| self.local(l));
                        es.iter_mut().for_each(|e| self.expr(e));
                    }
                    StmtKind::Return(es) | StmtKind::Print(es) => es.iter_mut().for_each(|e| self.expr(e)),
                    StmtKind::Assume(e) | StmtKind::Assert(e, ..) | StmtKind::Await(e) => self.expr(e),
                    _ => {}
                }
            }
        }
    }
    let mut block = block;
    Shift(from, by).block(&mut block);
    block
}

/// An `init` that only sets variables becomes their initial values: behind an `init` any buffer may be the first.
pub fn forget_init(program: &mut Program) {
    let Some(main) = program.init else { return };
    let mut values = Vec::new();
    for s in &program.procs[main].body {
        let StmtKind::Assign(Place { base: Base::Global(g), path, .. }, Expr { kind: ExprKind::Const(v), .. }) =
            &s.kind
        else {
            return;
        };
        if !path.is_empty() {
            return;
        }
        values.push((*g, v.clone()));
    }
    values.into_iter().for_each(|(g, v)| program.globals[g].init = v);
    program.init = None;
}
