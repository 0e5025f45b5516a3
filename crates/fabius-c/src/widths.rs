//! Variables that only ever hold few values, as ranges of these: what solves for data of a finite size can then take them.
//!
//! For each variable an interval is computed that holds whatever any statement stores in it, in whatever order statements run, and
//! however often. A variable whose interval is small becomes one of a range. A store outside of a range is a fault, so
//! that an interval that is too small would be a bug that is found, and no wrong proof.

use crate::core::*;
use fabius_lang::program::*;
use fabius_lang::walk::{each, expressions, statements, written};
use std::collections::BTreeSet;

/// So many values may a variable have: more are too many states for who needs a finite size.
const MOST: i64 = 64;

/// So often may an interval grow before it grows to the next constant of the program.
const PATIENCE: u32 = 4;

/// The least and the largest value; of a variable that is not looked at nothing is known.
type Interval = Option<(i64, i64)>;

/// A variable, or a result of a procedure.
#[derive(Clone, Copy)]
enum Key {
    Global(GlobalId),
    Local(ProcId, LocalId),
    Result(ProcId, usize),
}

/// Gives variables of few values the ranges of these.
pub(crate) fn narrow(program: &mut Program) {
    if !program.conditions.is_empty() || program.processes.iter().any(|p| p.number.is_some()) {
        return;
    }
    let mut known = Known::of(program);
    while known.pass(program) {}
    // Who needs a finite size would take long for these, and says at once that others are not finite.
    let takes_long = |(id, g): (usize, &Global)| {
        let few = known.globals[id].is_some_and(|(lo, hi)| hi.checked_sub(lo).is_some_and(|most| most < MOST));
        matches!(leaf(&g.ty), Some(Type::Fixed { bits: 8 | 16, .. })) && !few
    };
    if program.globals.iter().enumerate().any(takes_long) {
        return;
    }
    known.rewrite(program);
}

/// The values of a type, where they are ordered as their codes are.
fn all_of(ty: &Type) -> Interval {
    match ty {
        Type::Bool => Some((0, 1)),
        Type::Fixed { bits: 64, signed: true } => Some((i64::MIN, i64::MAX)),
        Type::Fixed { bits: 64, signed: false } => None,
        Type::Fixed { bits, signed: true } => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        Type::Fixed { bits, signed: false } => Some((0, (1 << bits) - 1)),
        _ => None,
    }
}

/// The integers that a variable of a type holds, in an array perhaps.
fn leaf(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Fixed { .. } => Some(ty),
        Type::Array { index, element, .. } if **index == Type::Int => leaf(element),
        _ => None,
    }
}

/// The same type of other integers.
fn with_leaf(ty: &Type, new: &Type) -> Type {
    match ty {
        Type::Array { index, lo, len, element } => {
            Type::Array { index: index.clone(), lo: *lo, len: *len, element: with_leaf(element, new).into() }
        }
        _ => new.clone(),
    }
}

fn join(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The values in an initial value.
fn values(value: &Value, into: &mut Vec<i64>) {
    match value {
        Value::Int(n) => into.push(*n),
        Value::Tuple(all) => all.iter().for_each(|value| values(value, into)),
    }
}

struct Known {
    globals: Vec<Interval>,
    locals: Vec<Vec<Interval>>,
    results: Vec<Vec<Interval>>,
    /// How often each has grown.
    grown: [Vec<Vec<u32>>; 3],
    constants: BTreeSet<i64>,
}

impl Known {
    /// What variables hold at first.
    fn of(program: &Program) -> Known {
        let is_known = |ty: &Type| leaf(ty).and_then(all_of).is_some();
        let global = |g: &Global| {
            let mut all = Vec::new();
            values(&g.init, &mut all);
            let least = all.iter().copied().min().zip(all.iter().copied().max());
            least.filter(|_| is_known(&g.ty))
        };
        let zero = |ty: &Type| is_known(ty).then_some((0, 0));
        let mut constants: BTreeSet<i64> = [-128, -1, 0, 1, 127, 255, -32768, 32767, 65535].into();
        for proc in &program.procs {
            statements(&proc.body, &mut |s| {
                let mut look = |e: &Expr| {
                    constants.extend(
                        value_of(e).map(|n| [n.saturating_sub(1), n, n.saturating_add(1)]).into_iter().flatten(),
                    )
                };
                expressions(s).into_iter().for_each(|e| each(e, &mut look));
            });
        }
        let locals: Vec<Vec<Interval>> =
            program.procs.iter().map(|p| p.locals.iter().map(|l| zero(&l.ty)).collect()).collect();
        let results: Vec<Vec<Interval>> = program.procs.iter().map(|p| p.results.iter().map(zero).collect()).collect();
        let count = |all: &[Vec<Interval>]| all.iter().map(|each| vec![0; each.len()]).collect();
        let grown = [vec![vec![0; program.globals.len()]], count(&locals), count(&results)];
        let mut known =
            Known { globals: program.globals.iter().map(global).collect(), locals, results, grown, constants };
        // What is copied whole, or chosen between bounds that are not known, is left alone.
        for (id, proc) in program.procs.iter().enumerate() {
            statements(&proc.body, &mut |s| {
                let mut whole = |place: &Place| {
                    if let (Some(key), false) = (key_of(place, id), place.ty.is_scalar()) {
                        *known.at(key) = None;
                    }
                };
                let mut look = |e: &Expr| {
                    if let ExprKind::Read(place) = &e.kind {
                        whole(place);
                    }
                };
                expressions(s).into_iter().for_each(|e| each(e, &mut look));
                written(s).into_iter().for_each(&mut whole);
            });
        }
        known
    }

    fn at(&mut self, key: Key) -> &mut Interval {
        match key {
            Key::Global(id) => &mut self.globals[id],
            Key::Local(proc, id) => &mut self.locals[proc][id],
            Key::Result(proc, n) => &mut self.results[proc][n],
        }
    }

    fn grown(&mut self, key: Key) -> &mut u32 {
        match key {
            Key::Global(id) => &mut self.grown[0][0][id],
            Key::Local(proc, id) => &mut self.grown[1][proc][id],
            Key::Result(proc, n) => &mut self.grown[2][proc][n],
        }
    }

    /// Something is stored; whether that is new.
    fn store(&mut self, key: Key, value: Interval) -> bool {
        let Some(old) = *self.at(key) else { return false };
        let Some(value) = value else {
            *self.at(key) = None;
            return true;
        };
        let (mut lo, mut hi) = join(old, value);
        if (lo, hi) == old {
            return false;
        }
        *self.grown(key) += 1;
        if *self.grown(key) > PATIENCE {
            lo = if lo < old.0 { self.constants.range(..=lo).next_back().copied().unwrap_or(i64::MIN) } else { lo };
            hi = if hi > old.1 { self.constants.range(hi..).next().copied().unwrap_or(i64::MAX) } else { hi };
        }
        *self.at(key) = Some((lo, hi));
        true
    }

    /// Two hold the same; whether that is new.
    fn same(&mut self, a: Key, b: Key) -> bool {
        let (x, y) = (*self.at(a), *self.at(b));
        self.store(a, y) | self.store(b, x)
    }

    /// Looks at each statement once; whether something was new.
    fn pass(&mut self, program: &Program) -> bool {
        let mut new = false;
        for (id, proc) in program.procs.iter().enumerate() {
            statements(&proc.body, &mut |s| match &s.kind {
                StmtKind::Assign(place, e) => {
                    if let Some(key) = key_of(place, id) {
                        let value = self.value(e, id);
                        new |= self.store(key, value);
                    }
                }
                StmtKind::Any(place, lo, hi) => {
                    if let Some(key) = key_of(place, id) {
                        let value = value_of(lo).zip(value_of(hi)).filter(|(lo, hi)| lo <= hi);
                        new |= self.store(key, value);
                    }
                }
                StmtKind::Call(_, callee, args)
                | StmtKind::Spawn(_, callee, args)
                | StmtKind::Post(_, _, callee, args) => {
                    for (n, e) in args.iter().enumerate() {
                        let value = self.value(e, id);
                        new |= self.store(Key::Local(*callee, n), value);
                    }
                    if let StmtKind::Call(results, ..) = &s.kind {
                        for (n, local) in results.iter().enumerate() {
                            if let Some(local) = local {
                                new |= self.same(Key::Local(id, *local), Key::Result(*callee, n));
                            }
                        }
                    }
                }
                StmtKind::Return(es) => {
                    for (n, e) in es.iter().enumerate() {
                        let value = self.value(e, id);
                        new |= self.store(Key::Result(id, n), value);
                    }
                }
                _ => {}
            });
        }
        new
    }

    /// What an expression may be.
    fn value(&mut self, e: &Expr, proc: ProcId) -> Interval {
        let all = all_of(&e.ty)?;
        let fits = |(lo, hi): (i128, i128)| {
            let (least, most) = (i128::from(all.0), i128::from(all.1));
            if least <= lo && hi <= most { (lo as i64, hi as i64) } else { all }
        };
        Some(match &e.kind {
            ExprKind::Const(Value::Int(n)) => (*n, *n),
            ExprKind::Read(place) => match key_of(place, proc) {
                Some(key) => (*self.at(key)).unwrap_or(all),
                None => all,
            },
            ExprKind::Cast(a) => match self.value(a, proc) {
                Some((lo, hi)) => fits((lo.into(), hi.into())),
                None => all,
            },
            ExprKind::Unary(UnaryOp::Neg, a) => match self.value(a, proc) {
                Some((lo, hi)) => fits((-i128::from(hi), -i128::from(lo))),
                None => all,
            },
            ExprKind::IfElse(_, a, b) => match (self.value(a, proc), self.value(b, proc)) {
                (Some(a), Some(b)) => join(a, b),
                _ => all,
            },
            ExprKind::Binary(op, a, b) if matches!(e.ty, Type::Fixed { .. }) => {
                let (Some((a, b)), Some((c, d))) = (self.value(a, proc), self.value(b, proc)) else { return Some(all) };
                let [a, b, c, d] = [a, b, c, d].map(i128::from);
                match op {
                    BinaryOp::Add => fits((a + c, b + d)),
                    BinaryOp::Sub => fits((a - d, b - c)),
                    BinaryOp::Mul => {
                        let all = [a * c, a * d, b * c, b * d];
                        fits((*all.iter().min().expect("four"), *all.iter().max().expect("four")))
                    }
                    BinaryOp::Rem if c == d && c > 0 => {
                        fits((if a < 0 { 1 - c } else { 0 }, if b > 0 { c - 1 } else { 0 }))
                    }
                    BinaryOp::BitAnd if c == d && c >= 0 => fits((0, c)),
                    _ => all,
                }
            }
            _ => all,
        })
    }

    /// The range that something becomes, if it becomes one.
    fn range(&mut self, key: Key, ty: &Type) -> Option<Type> {
        let (lo, hi) = (*self.at(key))?;
        let is_wide = matches!(leaf(ty)?, Type::Fixed { bits: 32 | 64, .. });
        (is_wide && hi.checked_sub(lo)? < MOST).then_some(Type::Range(lo, hi))
    }

    fn rewrite(mut self, program: &mut Program) {
        let globals: Vec<Option<Type>> =
            program.globals.iter().enumerate().map(|(id, g)| self.range(Key::Global(id), &g.ty)).collect();
        let procs = || program.procs.iter().enumerate();
        let mut locals = Vec::new();
        let mut results = Vec::new();
        for (id, proc) in procs() {
            let mine = proc.locals.iter().enumerate();
            locals.push(mine.map(|(n, l)| self.range(Key::Local(id, n), &l.ty)).collect::<Vec<_>>());
            let mine = proc.results.iter().enumerate();
            results.push(mine.map(|(n, ty)| self.range(Key::Result(id, n), ty)).collect::<Vec<_>>());
        }
        for (global, new) in program.globals.iter_mut().zip(&globals) {
            if let Some(new) = new {
                global.ty = with_leaf(&global.ty, new);
            }
        }
        for (id, proc) in program.procs.iter_mut().enumerate() {
            for (local, new) in proc.locals.iter_mut().zip(&locals[id]) {
                if let Some(new) = new {
                    local.ty = with_leaf(&local.ty, new);
                }
            }
            for (ty, new) in proc.results.iter_mut().zip(&results[id]) {
                if let Some(new) = new {
                    *ty = new.clone();
                }
            }
            Change { globals: &globals, locals: &locals, results: &results, proc: id }.block(&mut proc.body);
        }
        let is_left = |variable: &Variable| match *variable {
            Variable::Global(id) => globals[id].is_none(),
            Variable::Local(proc, id) => locals[proc][id].is_none(),
        };
        program.shown = program
            .shown
            .iter()
            .filter(|(v, _)| is_left(v))
            .map(|(v, s)| (*v, *s))
            .collect::<std::collections::BTreeMap<_, _>>()
            .into();
    }
}

/// The variable that a place is in.
fn key_of(place: &Place, proc: ProcId) -> Option<Key> {
    match place.base {
        Base::Global(id) => Some(Key::Global(id)),
        Base::Local(id) => Some(Key::Local(proc, id)),
        Base::Heap(..) => None,
    }
}

/// Has statements read and write variables as what they have become.
struct Change<'a> {
    globals: &'a [Option<Type>],
    locals: &'a [Vec<Option<Type>>],
    results: &'a [Vec<Option<Type>>],
    proc: ProcId,
}

impl Change<'_> {
    fn block(&self, block: &mut Block) {
        block.iter_mut().for_each(|s| self.stmt(&mut s.kind));
    }

    fn stmt(&self, s: &mut StmtKind) {
        match s {
            StmtKind::Assign(place, e) => {
                self.expr(e);
                self.place(place);
                self.becomes(e, &place.ty);
            }
            StmtKind::Any(place, lo, hi) => {
                self.place(place);
                for bound in [lo, hi] {
                    self.expr(bound);
                    self.becomes(bound, &place.ty);
                }
            }
            StmtKind::New(place, _, es) => {
                self.place(place);
                es.iter_mut().for_each(|e| self.expr(e));
            }
            StmtKind::SetInsert(place, e) | StmtKind::SetRemove(place, e) => {
                self.place(place);
                self.expr(e);
            }
            StmtKind::SetRemoveAny(place) | StmtKind::SetClear(place) => self.place(place),
            StmtKind::If(guard, a, b) => {
                self.guard(guard);
                self.block(a);
                self.block(b);
            }
            StmtKind::While(guard, body) => {
                self.guard(guard);
                self.block(body);
            }
            StmtKind::Atomic(body) => self.block(body),
            StmtKind::Call(_, callee, args) | StmtKind::Spawn(_, callee, args) | StmtKind::Post(_, _, callee, args) => {
                for (e, new) in args.iter_mut().zip(&self.locals[*callee]) {
                    self.expr(e);
                    if let Some(new) = new {
                        self.becomes(e, new);
                    }
                }
            }
            StmtKind::Return(es) => {
                for (e, new) in es.iter_mut().zip(&self.results[self.proc]) {
                    self.expr(e);
                    if let Some(new) = new {
                        self.becomes(e, new);
                    }
                }
            }
            StmtKind::Print(es) => es.iter_mut().for_each(|e| self.expr(e)),
            StmtKind::Join(e) | StmtKind::Assume(e) | StmtKind::Await(e) | StmtKind::Assert(e, ..) => self.expr(e),
            StmtKind::Skip
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Yield
            | StmtKind::Zield
            | StmtKind::Progress => {}
        }
    }

    fn guard(&self, guard: &mut Guard) {
        if let Guard::Expr(e) = guard {
            self.expr(e);
        }
    }

    fn becomes(&self, e: &mut Expr, ty: &Type) {
        if e.ty != *ty {
            *e = cast(e.clone(), ty);
        }
    }

    fn place(&self, place: &mut Place) {
        for step in &mut place.path {
            if let Projection::Index { index, .. } = step {
                self.expr(index);
            }
        }
        let new = match &mut place.base {
            Base::Global(id) => &self.globals[*id],
            Base::Local(id) => &self.locals[self.proc][*id],
            Base::Heap(e, _) => {
                self.expr(e);
                return;
            }
        };
        if let Some(new) = new {
            place.ty = new.clone();
        }
    }

    fn expr(&self, e: &mut Expr) {
        match &mut e.kind {
            ExprKind::Const(_) | ExprKind::SelfHandle => {}
            ExprKind::Read(place) => {
                self.place(place);
                let ty = place.ty.clone();
                if ty != e.ty {
                    let old = std::mem::replace(&mut e.ty, ty);
                    *e = cast(e.clone(), &old);
                }
            }
            ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => self.expr(a),
            ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => [a, b].into_iter().for_each(|x| self.expr(x)),
            ExprKind::IfElse(a, b, c) => [a, b, c].into_iter().for_each(|x| self.expr(x)),
            ExprKind::Tuple(es) => es.iter_mut().for_each(|x| self.expr(x)),
        }
    }
}
