//! Choices among more values than can be tried one by one: a few values stand for all.
//!
//! A local variable that holds what was chosen is compared with constants, or copied: then all values between two neighbouring
//! constants do the same, and one of them is tried. Where it is used in another way, small values are tried, too, and an
//! assertion in front of such a use sees the others: there the search is cut, and what it says is no proof. A use whose result
//! matters nowhere is none.

mod compared;

use crate::needed::{Needed, Node};
use compared::Compared;
use fabius_explore::system::{Choose, StepLog, System, TaskId};
use fabius_lang::program::{
    Access, Base, BinaryOp, Block, Check, Expr, ExprKind, LocalId, Place, Proc, ProcId, Program, Stmt, StmtKind, Type,
    Value,
};
use fabius_lang::walk::{expressions, statements, written};
use fabius_machine::Machine;
use fabius_trace::{Points, Schedule, Span, Turn, parts_of_wide};
use std::collections::{BTreeMap, BTreeSet};

/// The values that are tried where a value is not only compared: from the first to the last.
const SMALL: (i64, i64) = (-1, 16);

/// What the assertions in front of other uses say.
pub const GUARD: &str = "a value that was not tried";

/// What is said where one is seen.
pub const NOT_ALL: &str = "not all values of a choice were tried";

/// The program with the values that are tried of its wide choices; none if its front end asks for no such choices.
pub fn few(program: &Program) -> Option<Program> {
    if program.tried.is_empty() {
        return None;
    }
    let mut few = program.clone();
    let mut tried: BTreeMap<(Span, i64, i64), Vec<i64>> = BTreeMap::new();
    let needed = Needed::of(program);
    let compared = Compared::of(program, &needed);
    for (p, proc) in few.procs.iter_mut().enumerate() {
        let held = Held::of(At { p, needed: &needed, compared: &compared }, proc);
        for (place, values) in held.tried(proc) {
            let all = tried.entry(place).or_default();
            values.into_iter().for_each(|v| {
                if !all.contains(&v) {
                    all.push(v)
                }
            });
        }
        if held.groups.is_empty() {
            continue;
        }
        let body = std::mem::take(&mut proc.body);
        proc.body = held.guarded(body, &BTreeSet::new(), &proc.locals.iter().map(|l| l.ty.clone()).collect::<Vec<_>>());
    }
    few.tried = tried;
    Some(few)
}

/// The locals of which not all values are tried that matter.
pub fn guarded(program: &Program) -> Vec<(ProcId, LocalId)> {
    let mut guarded = Vec::new();
    for (p, proc) in few(program).iter().flat_map(|few| few.procs.iter().enumerate()) {
        statements(&proc.body, &mut |s| {
            if let StmtKind::Assert(e, Check::Bound, Some(words)) = &s.kind
                && words == GUARD
            {
                fabius_lang::walk::each(e, &mut |e| {
                    if let ExprKind::Read(place) = &e.kind {
                        guarded.extend(bare(place).map(|l| (p, l)));
                    }
                });
            }
        });
    }
    guarded
}

/// Whether an assertion at this place says that a value was not tried.
pub fn is_guard(program: &Program, span: Span) -> bool {
    !program.tried.is_empty()
        && program.any_stmt(|s| {
            s.span == span && matches!(&s.kind, StmtKind::Assert(_, Check::Bound, Some(words)) if words == GUARD)
        })
}

/// The local and the bounds of a choice among too many values.
fn wide(s: &Stmt) -> Option<(LocalId, i64, i64)> {
    let StmtKind::Any(place, lo, hi) = &s.kind else { return None };
    let (ExprKind::Const(Value::Int(lo)), ExprKind::Const(Value::Int(hi))) = (&lo.kind, &hi.kind) else { return None };
    Program::is_wide(*lo, *hi).then_some((bare(place)?, *lo, *hi))
}

/// The local that a place is, and not a part of one.
fn bare(place: &Place) -> Option<LocalId> {
    match place.base {
        Base::Local(l) if place.path.is_empty() => Some(l),
        _ => None,
    }
}

/// Values of a type, if 64 bits with a sign hold them all; they are then compared as they are coded.
fn range(ty: &Type) -> Option<(i64, i64)> {
    match ty {
        Type::Int | Type::Fixed { bits: 64, signed: true } => Some((i64::MIN, i64::MAX)),
        Type::Range(lo, hi) => Some((*lo, *hi)),
        Type::Fixed { bits, signed: false } if *bits < 64 => Some((0, (1 << bits) - 1)),
        Type::Fixed { bits, signed: true } => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
        _ => None,
    }
}

/// Locals to which only choices and constants are written, and the least and the largest of these.
type Ranges = BTreeMap<LocalId, (i64, i64)>;

fn ranges(proc: &Proc) -> Ranges {
    let mut ranges = Ranges::new();
    let mut other: BTreeSet<LocalId> = (0..proc.params).collect();
    statements(&proc.body, &mut |s| {
        let constant = match &s.kind {
            StmtKind::Assign(place, Expr { kind: ExprKind::Const(Value::Int(n)), .. }) => {
                bare(place).map(|l| (l, *n, *n))
            }
            _ => None,
        };
        match wide(s).or(constant) {
            Some((local, lo, hi)) => {
                // It begins with 0.
                let all = ranges.entry(local).or_insert((0, 0));
                *all = (all.0.min(lo), all.1.max(hi));
            }
            None => other.extend(others_written(s)),
        }
    });
    ranges.retain(|l, _| !other.contains(l));
    ranges
}

/// The locals that a statement writes, or parts of which.
fn others_written(s: &Stmt) -> Vec<LocalId> {
    match &s.kind {
        StmtKind::Call(results, ..) => results.iter().flatten().copied().collect(),
        StmtKind::Spawn(handle, ..) | StmtKind::Post(handle, ..) => handle.iter().copied().collect(),
        _ => written(s).and_then(of_base).into_iter().collect(),
    }
}

/// The local whose value an expression has.
fn copied(e: &Expr, ranges: &Ranges) -> Option<LocalId> {
    match &e.kind {
        ExprKind::Read(place) => bare(place).filter(|_| range(&e.ty).is_some()),
        ExprKind::Cast(inner) => {
            let local = copied(inner, ranges)?;
            let is_itself = matches!(inner.kind, ExprKind::Read(_));
            let known = ranges.get(&local).filter(|_| is_itself).copied();
            let ((lo, hi), (to_lo, to_hi)) = (known.or(range(&inner.ty))?, range(&e.ty)?);
            (to_lo <= lo && hi <= to_hi).then_some(local)
        }
        _ => None,
    }
}

/// Locals that hold the same chosen values, and what is done with them.
#[derive(Clone, Debug)]
struct Group {
    lo: i64,
    hi: i64,
    constants: BTreeSet<i64>,
    /// What its remainders are looked at for: by this, and by each number that divides it.
    modulus: i64,
    /// Whether it is used in another way.
    is_used: bool,
}

/// A procedure, and what is known of the whole program.
#[derive(Clone, Copy)]
struct At<'a> {
    p: ProcId,
    needed: &'a Needed,
    compared: &'a Compared,
}

impl At<'_> {
    fn node(&self, local: LocalId) -> Node {
        Node::Local(self.p, local)
    }

    /// The local and the bounds of a choice that is used in another way than to compare it.
    fn wide(&self, s: &Stmt) -> Option<(LocalId, i64, i64)> {
        wide(s).filter(|(local, ..)| !self.compared.has(self.node(*local)))
    }
}

/// The locals of a procedure that hold chosen values.
struct Held<'a> {
    at: At<'a>,
    ranges: Ranges,
    /// The group of each local that does.
    of: BTreeMap<LocalId, LocalId>,
    groups: BTreeMap<LocalId, Group>,
}

impl<'a> Held<'a> {
    fn of(at: At<'a>, proc: &Proc) -> Held<'a> {
        // Locals that may hold what was chosen as it is: nothing else is ever written to them but constants.
        let mut other: BTreeSet<LocalId> = (0..proc.params).collect();
        let ranges = ranges(proc);
        other.extend((0..proc.locals.len()).filter(|l| range(&proc.locals[*l].ty).is_none()));
        let mut copies: Vec<(LocalId, LocalId)> = Vec::new();
        let mut chosen: Vec<(LocalId, i64, i64)> = Vec::new();
        statements(&proc.body, &mut |s| match &s.kind {
            StmtKind::Any(..) if at.wide(s).is_some() => chosen.extend(at.wide(s)),
            StmtKind::Assign(place, e) => match (bare(place), copied(e, &ranges), &e.kind) {
                (Some(to), Some(from), _) => copies.push((to, from)),
                (Some(_), None, ExprKind::Const(_)) => {}
                _ => other.extend(of_base(place)),
            },
            _ => other.extend(others_written(s)),
        });
        while let Some((to, _)) = copies.iter().find(|(to, from)| other.contains(from) && !other.contains(to)) {
            other.insert(*to);
        }
        let mut of: BTreeMap<LocalId, LocalId> =
            chosen.iter().map(|c| c.0).filter(|l| !other.contains(l)).map(|l| (l, l)).collect();
        // The least local of a group is its name.
        loop {
            let joins = copies.iter().filter(|(to, _)| !other.contains(to)).find_map(|(to, from)| {
                let from = *of.get(from)?;
                (of.get(to) != Some(&from)).then_some((*to, from))
            });
            let Some((to, from)) = joins else { break };
            match of.get(&to).copied() {
                None => {
                    of.insert(to, from);
                }
                Some(group) => {
                    let least = group.min(from);
                    of.values_mut().filter(|g| **g == group || **g == from).for_each(|g| *g = least);
                }
            }
        }
        let mut held = Held { at, ranges, of, groups: BTreeMap::new() };
        for (local, lo, hi) in chosen {
            // A local that holds other things, too, is looked at where it was chosen.
            let name = *held.of.entry(local).or_insert(local);
            let group = held.groups.entry(name).or_insert(Group {
                lo,
                hi,
                constants: BTreeSet::new(),
                modulus: 1,
                is_used: other.contains(&local) && at.needed.has(at.node(local)),
            });
            (group.lo, group.hi) = (group.lo.min(lo), group.hi.max(hi));
        }
        // Whoever holds nothing but what was chosen is followed further, the others are not.
        let mixed: Vec<LocalId> = held.of.keys().copied().filter(|l| other.contains(l)).collect();
        held.of.retain(|l, _| !mixed.contains(l));
        statements(&proc.body, &mut |s| {
            let (of, groups, ranges) = (&held.of, &mut held.groups, &held.ranges);
            for e in expressions(s) {
                fabius_lang::walk::each(e, &mut |e| {
                    let Some((local, seen)) = seen(e, &|e| copied(e, ranges)) else { return };
                    if let Some(group) = of.get(&local).and_then(|name| groups.get_mut(name)) {
                        group.note(seen);
                    }
                });
            }
        });
        statements(&proc.body, &mut |s| {
            for l in held.uses(s) {
                held.groups.get_mut(&held.of[&l]).expect("it has one").is_used = true;
            }
        });
        held
    }

    /// The locals that a statement itself uses in another way than to compare and copy them.
    fn uses(&self, s: &Stmt) -> BTreeSet<LocalId> {
        let mut used = BTreeSet::new();
        if let StmtKind::Assign(place, e) = &s.kind
            && copied(e, &self.ranges).is_some_and(|from| self.of.contains_key(&from))
            && bare(place).is_some_and(|to| self.of.contains_key(&to))
        {
            return used;
        }
        for e in self.at.needed.matter(self.at.p, s) {
            other_reads(e, &self.ranges, &mut |local, looked| {
                let few = |name| looked == Looked::AtRemainder && self.groups[name].has_few_remainders();
                if self.of.get(&local).is_some_and(|name| !few(name)) {
                    used.insert(local);
                }
            });
        }
        used
    }

    /// The values that are tried of each wide choice.
    fn tried(&self, proc: &Proc) -> Vec<((Span, i64, i64), Vec<i64>)> {
        let mut tried = Vec::new();
        statements(&proc.body, &mut |s| {
            if let Some((local, lo, hi)) = wide(s) {
                let values = self
                    .at
                    .compared
                    .values(self.at.node(local), lo, hi)
                    .unwrap_or_else(|| self.groups[self.of.get(&local).unwrap_or(&local)].values(lo, hi));
                tried.push(((s.span, lo, hi), values));
            }
        });
        tried
    }

    /// The block with assertions in front of other uses. `behind`: locals that are looked at when they are written.
    fn guarded(&self, block: Block, behind: &BTreeSet<LocalId>, types: &[Type]) -> Block {
        let mut out = Block::new();
        for mut s in block {
            let used = self.uses(&s);
            out.extend(used.iter().filter_map(|l| self.guard(*l, types, s.span)));
            let mut inside = behind.clone();
            match &mut s.kind {
                StmtKind::If(_, a, b) => {
                    *a = self.guarded(std::mem::take(a), behind, types);
                    *b = self.guarded(std::mem::take(b), behind, types);
                }
                StmtKind::While(_, b) => {
                    // The guard is evaluated again after each round.
                    inside.extend(&used);
                    *b = self.guarded(std::mem::take(b), &inside, types);
                }
                StmtKind::Atomic(b) => *b = self.guarded(std::mem::take(b), behind, types),
                _ => {}
            }
            let (span, to) = (s.span, written(&s).and_then(bare));
            let mixed = self.at.wide(&s).is_some_and(|(local, ..)| !self.of.contains_key(&local));
            out.push(s);
            if let Some(to) = to.filter(|to| mixed || behind.contains(to)) {
                out.extend(self.guard(to, types, span));
            }
        }
        out
    }

    /// An assertion that a local has a value of those that are all tried.
    fn guard(&self, local: LocalId, types: &[Type], span: Span) -> Option<Stmt> {
        let group = &self.groups[self.of.get(&local).unwrap_or(&local)];
        let (small, ty) = (group.small()?, &types[local]);
        let (least, most) = range(ty)?;
        let expr = |kind, ty: Type| Expr { kind, ty, span };
        let number = |n: i64| Box::new(expr(ExprKind::Const(Value::Int(n.clamp(least, most))), ty.clone()));
        let place = Place { base: Base::Local(local), path: Vec::new(), ty: ty.clone(), span };
        let read = || Box::new(expr(ExprKind::Read(place.clone()), ty.clone()));
        let compare = |op, a, b| Box::new(expr(ExprKind::Binary(op, a, b), Type::Bool));
        let (at_least, at_most) =
            (compare(BinaryOp::Ge, read(), number(small.0)), compare(BinaryOp::Le, read(), number(small.1)));
        let both = expr(ExprKind::Binary(BinaryOp::And, at_least, at_most), Type::Bool);
        let kind = StmtKind::Assert(both, Check::Bound, Some(GUARD.into()));
        Some(Stmt { kind, access: Access::Local, span })
    }
}

/// What is asked of a chosen value.
#[derive(Clone, Copy)]
enum Seen {
    /// How it compares with a constant.
    Compared(i64),
    /// What it leaves when it is divided by a constant, with its sign, or its lowest bits.
    Remainder(i64),
}

/// A constant by which remainders are followed is at most so large, and so is what several have in common.
const MOST_REMAINDERS: i64 = 256;

impl Group {
    /// Whether remainders are followed.
    fn has_few_remainders(&self) -> bool {
        self.modulus <= MOST_REMAINDERS
    }

    fn note(&mut self, seen: Seen) {
        match seen {
            Seen::Compared(constant) => drop(self.constants.insert(constant)),
            Seen::Remainder(by) => {
                self.constants.insert(0);
                let (mut a, mut b) = (self.modulus, by);
                while b != 0 {
                    (a, b) = (b, a % b);
                }
                self.modulus = (self.modulus / a).saturating_mul(by);
            }
        }
    }

    /// All of these values are tried, if it is used in other ways than to compare it.
    fn small(&self) -> Option<(i64, i64)> {
        self.is_used.then(|| (SMALL.0.clamp(self.lo, self.hi), SMALL.1.clamp(self.lo, self.hi)))
    }

    /// The values of a choice between two numbers that stand for all.
    fn values(&self, lo: i64, hi: i64) -> Vec<i64> {
        let mut values: Vec<i64> = Vec::new();
        let mut add = |v: i64| {
            if (lo..=hi).contains(&v) && !values.contains(&v) {
                values.push(v);
            }
        };
        let small = self.small();
        if let Some((first, last)) = small {
            (0.max(first)..=last).chain((first..0).rev()).for_each(&mut add);
        }
        self.constants.iter().copied().for_each(&mut add);
        // One between each two neighbours, that is not among the small ones if there is another.
        let constants = || self.constants.iter().copied();
        let below = std::iter::once(None).chain(constants().map(Some));
        let above = constants().map(Some).chain([None]);
        for (below, above) in below.zip(above) {
            let first = below.map_or(Some(lo), |c| c.checked_add(1)).map(|v| v.max(lo));
            let last = above.map_or(Some(hi), |c| c.checked_sub(1)).map(|v| v.min(hi));
            let (Some(first), Some(last)) = (first, last) else { continue };
            let is_small = |v: i64| small.is_some_and(|(least, most)| least <= v && v <= most);
            let one = [first, last].into_iter().chain(small.and_then(|(_, most)| most.checked_add(1)));
            let near = one.filter(|v| first <= *v && *v <= last && !is_small(*v)).min_by_key(|v| v.unsigned_abs());
            if first <= last {
                near.into_iter().for_each(&mut add);
            }
            // One for each remainder, near to zero; where the small ones are tried, beyond them: what must not happen to others happens
            // behind a remainder, too.
            if self.modulus > 1 && self.has_few_remainders() {
                let parts = match small {
                    None => vec![(first, last)],
                    Some((least, most)) => {
                        vec![(first, last.min(least.saturating_sub(1))), (first.max(most.saturating_add(1)), last)]
                    }
                };
                for (first, last) in parts.into_iter().filter(|(first, last)| first <= last) {
                    let most = last.saturating_sub(first).min(self.modulus - 1);
                    match first >= 0 {
                        true => (first..=first + most).for_each(&mut add),
                        false => (last - most..=last).rev().for_each(&mut add),
                    }
                }
            }
        }
        if values.is_empty() {
            values.push(lo);
        }
        values
    }
}

/// The local that a place is in.
fn of_base(place: &Place) -> Option<LocalId> {
    match place.base {
        Base::Local(l) => Some(l),
        _ => None,
    }
}

/// What is asked of a chosen value in an expression, and of which one.
fn seen<T>(e: &Expr, copied: &dyn Fn(&Expr) -> Option<T>) -> Option<(T, Seen)> {
    let constant = |e: &Expr| match e.kind {
        ExprKind::Const(Value::Int(n)) => Some(n),
        _ => None,
    };
    let small = |n: i64| (2..=MOST_REMAINDERS).contains(&n);
    match &e.kind {
        ExprKind::Binary(BinaryOp::Rem, a, b) => {
            let by = constant(b).filter(|n| small(*n))?;
            Some((copied(a)?, Seen::Remainder(by)))
        }
        ExprKind::Binary(BinaryOp::BitAnd, a, b) => {
            let (value, mask) = copied(a).zip(constant(b)).or_else(|| copied(b).zip(constant(a)))?;
            let by = (0..MOST_REMAINDERS).contains(&mask).then(|| (mask as u64 + 1).next_power_of_two() as i64)?;
            Some((value, Seen::Remainder(by.max(2))))
        }
        ExprKind::Binary(
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge,
            a,
            b,
        ) => {
            let (value, n) = copied(a).zip(constant(b)).or_else(|| copied(b).zip(constant(a)))?;
            Some((value, Seen::Compared(n)))
        }
        _ => None,
    }
}

/// How a chosen value is read that is not compared with a constant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// What it leaves when it is divided by a constant.
    AtRemainder,
    Otherwise,
}

/// Calls `f` for each local that is read in an expression and not compared with a constant.
fn other_reads(e: &Expr, ranges: &Ranges, f: &mut dyn FnMut(LocalId, Looked)) {
    match seen(e, &|e| copied(e, ranges)) {
        Some((_, Seen::Compared(_))) => return,
        Some((local, Seen::Remainder(_))) => return f(local, Looked::AtRemainder),
        None => {}
    }
    match &e.kind {
        ExprKind::Const(_) | ExprKind::SelfHandle => {}
        ExprKind::Read(place) => {
            of_base(place).into_iter().for_each(|local| f(local, Looked::Otherwise));
            fabius_lang::walk::of_place(place).into_iter().for_each(|e| other_reads(e, ranges, f));
        }
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => other_reads(a, ranges, f),
        ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => {
            [a, b].into_iter().for_each(|e| other_reads(e, ranges, f))
        }
        ExprKind::IfElse(a, b, c) => [a, b, c].into_iter().for_each(|e| other_reads(e, ranges, f)),
        ExprKind::Tuple(parts) => parts.iter().for_each(|e| other_reads(e, ranges, f)),
    }
}

/// A schedule of the program with few values as one of the whole program: the numbers of values become the values.
pub fn whole(few: &Program, points: Points, schedule: &Schedule) -> Schedule {
    if few.tried.is_empty() {
        return schedule.clone();
    }
    let machine = Machine::new(few, points);
    let mut log = StepLog::default();
    let (first, rest) = match schedule.split_first() {
        Some((first, rest)) if first.task == Turn::START => (first.choices.as_slice(), rest),
        _ => ([].as_slice(), schedule.as_slice()),
    };
    let mut out = Schedule::new();
    let mut telling = Telling::new(first);
    let initial = machine.initial(&mut telling, &mut log);
    if rest.len() < schedule.len() {
        out.push(Turn { task: Turn::START, choices: telling.told });
    }
    let Ok(mut state) = initial else { return out };
    let mut tasks: Vec<TaskId> = log.born.iter().map(|b| b.task).collect();
    for turn in rest {
        let mut telling = Telling::new(&turn.choices);
        log.clear();
        if let Some(task) = tasks.get(turn.task as usize) {
            // A step that goes wrong is the last one.
            let _ = machine.step(&mut state, *task, &mut telling, &mut log);
        }
        tasks.extend(log.born.iter().map(|b| b.task));
        out.push(Turn { task: turn.task, choices: telling.told });
    }
    out
}

/// Decides as a turn says, and tells what that is in the whole program.
struct Telling<'a> {
    given: &'a [u32],
    told: Vec<u32>,
}

impl<'a> Telling<'a> {
    fn new(given: &'a [u32]) -> Telling<'a> {
        Telling { given, told: Vec::new() }
    }

    fn next(&mut self) -> u32 {
        let (first, rest) = self.given.split_first().map_or((0, self.given), |(first, rest)| (*first, rest));
        self.given = rest;
        first
    }
}

impl Choose for Telling<'_> {
    fn choose(&mut self, alternatives: u32) -> u32 {
        let chosen = self.next();
        self.told.push(chosen);
        chosen.min(alternatives - 1)
    }

    fn choose_among(&mut self, values: &[i64], lo: i64, hi: i64) -> i64 {
        let value = values[(self.next() as usize).min(values.len() - 1)];
        let (chosen, most) = (value.wrapping_sub(lo) as u64, hi.wrapping_sub(lo) as u64);
        match u32::try_from(most) {
            Ok(most) if most < u32::MAX => self.told.push(chosen as u32),
            _ => self.told.extend(parts_of_wide(chosen)),
        }
        value
    }
}
