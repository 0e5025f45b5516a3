//! Loops whose way around depends on few values: from each valuation it is seen where they lead.

use super::ways::{Points, Variable, Ways, each_within, is_point, read_by, read_for, read_in, variable};
use fabius_explore::system::Fault;
use fabius_lang::program::{
    BinaryOp, Block, Expr, ExprKind, Guard, Place, ProcId, Stmt, StmtKind, Type, Value as Constant,
};
use fabius_lang::walk::{statements, written};
use fabius_semantics::arithmetic;
use fabius_semantics::value::Value;
use std::collections::{BTreeMap, BTreeSet};

/// So many valuations are looked at.
const MOST: u64 = 20_000;

/// So many statements are followed, in all.
const STATEMENTS: u32 = 1_000_000;

/// Whether the loop ends from each valuation, or may be left; `false` if that is not known.
pub fn can_be_left(ways: &Ways<'_>, proc: ProcId, (guard, body): (&Guard, &Block), points: Points) -> bool {
    let Some(variables) = deciding(ways, guard, body, points) else { return false };
    let program = ways.program;
    let mut types = Vec::new();
    let mut count = 1u64;
    for v in &variables {
        let ty = match v {
            Variable::Global(g) => &program.globals[*g].ty,
            Variable::Local(l) => &program.procs[proc].locals[*l].ty,
            Variable::Heap => return false,
        };
        let Some((lo, hi)) = ty.finite_range(&program.enums) else { return false };
        count = count.saturating_mul((hi.wrapping_sub(lo) as u64).saturating_add(1));
        types.push((ty.clone(), lo, hi));
    }
    if count > MOST {
        return false;
    }
    let listed = variables.iter().copied().collect();
    let mut follow = Follow { ways, known: variables, variables: listed, types, left: STATEMENTS };
    follow.ends(guard, body, points).unwrap_or(false)
}

/// The variables that decide where ways through the loop lead; `None` if procedures write them.
fn deciding(ways: &Ways<'_>, guard: &Guard, body: &Block, points: Points) -> Option<BTreeSet<Variable>> {
    let mut all = BTreeSet::new();
    if let Guard::Expr(e) = guard {
        all.extend(read_by(e));
    }
    loop {
        let before = all.len();
        let known = all.clone();
        each_within(body, points, &mut |s, points| {
            if decides(s, points, &known) {
                all.extend(read_in(s));
                all.extend(written(s).map(read_for).unwrap_or_default());
            }
        });
        if all.len() == before {
            break;
        }
    }
    let mut calls = Block::new();
    statements(body, &mut |s| calls.extend(matches!(s.kind, StmtKind::Call(..)).then(|| s.clone())));
    ways.written(&calls).is_disjoint(&all).then_some(all)
}

/// Whether a statement decides where ways lead, if these variables do.
fn decides(s: &Stmt, points: Points, known: &BTreeSet<Variable>) -> bool {
    if is_point(s, points) {
        return false;
    }
    let any = |block: &Block, points| block.iter().any(|s| is_point(s, points) || decides(s, points, known));
    match &s.kind {
        StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::Assume(_) => true,
        StmtKind::Await(_) | StmtKind::Join(_) => true,
        StmtKind::If(_, a, b) => any(a, points) || any(b, points),
        StmtKind::While(_, b) => any(b, points),
        StmtKind::Atomic(b) => any(b, Points::Nothing),
        StmtKind::Call(..) => false,
        _ => written(s).is_some_and(|p| known.contains(&variable(p))),
    }
}

/// Where a way has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum To {
    Next,
    LoopAgain,
    LoopEnd,
    /// A scheduling point, the end of the procedure, or a fault.
    Away,
}

/// A value of each variable.
type Valuation = Vec<i64>;
type Ended = BTreeSet<(To, Valuation)>;

/// Why an expression has no value.
enum No {
    Fault,
    /// It is beyond what is followed.
    NotKnown,
}

struct Follow<'a, 'p> {
    ways: &'a Ways<'p>,
    known: BTreeSet<Variable>,
    /// The same, in the order of the values.
    variables: Vec<Variable>,
    types: Vec<(Type, i64, i64)>,
    left: u32,
}

impl Follow<'_, '_> {
    /// Whether no valuation goes around for ever without a way out; `None` if that is not known.
    fn ends(&mut self, guard: &Guard, body: &Block, points: Points) -> Option<bool> {
        let mut all: Vec<Valuation> = vec![Vec::new()];
        for (_, lo, hi) in &self.types {
            let longer = |v: &Valuation| (*lo..=*hi).map(|n| [v.as_slice(), &[n]].concat()).collect::<Vec<_>>();
            all = all.iter().flat_map(longer).collect();
        }
        // Backwards from those that can leave.
        let mut before: BTreeMap<Valuation, Vec<Valuation>> = BTreeMap::new();
        let mut next: BTreeMap<Valuation, BTreeSet<Valuation>> = BTreeMap::new();
        let mut open = Vec::new();
        for v in all {
            let mut around = BTreeSet::new();
            for (to, w) in self.once_around(guard, body, points, &v)? {
                match to {
                    To::Next | To::LoopAgain => {
                        before.entry(w.clone()).or_default().push(v.clone());
                        around.insert(w);
                    }
                    To::LoopEnd | To::Away => open.push(v.clone()),
                }
            }
            next.insert(v, around);
        }
        while let Some(v) = open.pop() {
            if next.remove(&v).is_some() {
                open.extend(before.get(&v).into_iter().flatten().cloned());
            }
        }
        // Those that are left stay, unless each way is dropped.
        loop {
            let stuck: Vec<Valuation> = next
                .iter()
                .filter(|(_, to)| !to.iter().any(|w| next.contains_key(w)))
                .map(|(v, _)| v.clone())
                .collect();
            if stuck.is_empty() {
                return Some(next.is_empty());
            }
            stuck.iter().for_each(|v| drop(next.remove(v)));
        }
    }

    fn once_around(&mut self, guard: &Guard, body: &Block, points: Points, v: &Valuation) -> Option<Ended> {
        let mut all = Ended::new();
        let goes_on = match guard {
            Guard::Star => {
                all.insert((To::LoopEnd, v.clone()));
                true
            }
            Guard::Expr(e) => match self.eval(e, v) {
                Ok(n) => {
                    if n == 0 {
                        all.insert((To::LoopEnd, v.clone()));
                    }
                    n != 0
                }
                Err(No::Fault) => return Some(Ended::from([(To::Away, v.clone())])),
                Err(No::NotKnown) => return None,
            },
        };
        if goes_on {
            all.extend(self.block(body, points, v)?);
        }
        Some(all)
    }

    fn block(&mut self, block: &[Stmt], points: Points, v: &Valuation) -> Option<Ended> {
        let mut all = Ended::new();
        let mut now = BTreeSet::from([v.clone()]);
        for s in block {
            let mut next = BTreeSet::new();
            for v in &now {
                self.left = self.left.checked_sub(1)?;
                for (to, w) in self.statement(s, points, v)? {
                    match to {
                        To::Next => drop(next.insert(w)),
                        _ => drop(all.insert((to, w))),
                    }
                }
            }
            now = next;
        }
        all.extend(now.into_iter().map(|v| (To::Next, v)));
        Some(all)
    }

    fn statement(&mut self, s: &Stmt, points: Points, v: &Valuation) -> Option<Ended> {
        let one = |to| Some(Ended::from([(to, v.clone())]));
        if is_point(s, points) {
            return one(To::Away);
        }
        if !matches!(s.kind, StmtKind::Call(..)) && !decides(s, points, &self.known) {
            return one(To::Next);
        }
        match &s.kind {
            StmtKind::Break => one(To::LoopEnd),
            StmtKind::Continue => one(To::LoopAgain),
            StmtKind::Return(_) => one(To::Away),
            StmtKind::Call(..) => one(if self.ways.through_one(s, points).falls { To::Next } else { To::Away }),
            StmtKind::Atomic(body) => self.block(body, Points::Nothing, v),
            StmtKind::If(Guard::Star, a, b) => {
                let mut all = self.block(a, points, v)?;
                all.extend(self.block(b, points, v)?);
                Some(all)
            }
            StmtKind::If(Guard::Expr(e), a, b) => match self.eval(e, v) {
                Ok(n) => self.block(if n == 0 { b } else { a }, points, v),
                Err(No::Fault) => one(To::Away),
                Err(No::NotKnown) => None,
            },
            StmtKind::While(guard, body) => {
                let (mut all, mut seen, mut open) = (Ended::new(), BTreeSet::new(), vec![v.clone()]);
                while let Some(v) = open.pop() {
                    if !seen.insert(v.clone()) {
                        continue;
                    }
                    for (to, w) in self.once_around(guard, body, points, &v)? {
                        match to {
                            To::Next | To::LoopAgain => open.push(w),
                            To::LoopEnd => drop(all.insert((To::Next, w))),
                            To::Away => drop(all.insert((To::Away, w))),
                        }
                    }
                }
                Some(all)
            }
            StmtKind::Assume(e) => match self.eval(e, v) {
                Ok(0) => Some(Ended::new()),
                Ok(_) => one(To::Next),
                Err(No::Fault) => one(To::Away),
                Err(No::NotKnown) => None,
            },
            StmtKind::Await(e) => match self.eval(e, v) {
                // In `atomic` such a way is none.
                Ok(0) if points == Points::Nothing => Some(Ended::new()),
                Ok(0) | Err(No::Fault) => one(To::Away),
                Ok(_) => one(To::Next),
                Err(No::NotKnown) => None,
            },
            StmtKind::Assign(place, e) => self.store(place, self.eval(e, v), v).map(|w| Ended::from([w])),
            StmtKind::Any(place, lo, hi) => {
                let (Ok(lo), Ok(hi)) = (self.eval(lo, v), self.eval(hi, v)) else { return None };
                let count = u32::try_from(hi.checked_sub(lo)?.max(0)).ok()?;
                self.left = self.left.checked_sub(count)?;
                (lo..=hi).map(|n| self.store(place, Ok(n), v)).collect()
            }
            _ => None,
        }
    }

    fn store(&self, place: &Place, value: Result<i64, No>, v: &Valuation) -> Option<(To, Valuation)> {
        let value = match value {
            Ok(value) => value,
            Err(No::Fault) => return Some((To::Away, v.clone())),
            Err(No::NotKnown) => return None,
        };
        let at = self.variables.iter().position(|known| *known == variable(place)).filter(|_| place.path.is_empty())?;
        let (ty, lo, hi) = &self.types[at];
        match ((*lo..=*hi).contains(&value), ty) {
            (true, _) => {
                let mut w = v.clone();
                w[at] = value;
                Some((To::Next, w))
            }
            (false, Type::Range(..)) => Some((To::Away, v.clone())),
            (false, _) => None,
        }
    }

    fn eval(&self, e: &Expr, v: &Valuation) -> Result<i64, No> {
        let number = |value: Result<Value, Fault>| match value {
            Ok(Value::Number(n)) => Ok(n),
            Ok(_) => Err(No::NotKnown),
            Err(Fault::Bug(..)) => Err(No::Fault),
            Err(Fault::Limit(..)) => Err(No::NotKnown),
        };
        match &e.kind {
            ExprKind::Const(Constant::Int(n)) => Ok(*n),
            ExprKind::Read(place) if place.path.is_empty() => {
                let at = self.variables.iter().position(|known| *known == variable(place)).ok_or(No::NotKnown)?;
                Ok(v[at])
            }
            ExprKind::Unary(op, a) => number(arithmetic::unary(*op, &Value::Number(self.eval(a, v)?), &e.ty, e.span)),
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let first = self.eval(a, v)? != 0;
                if first == (*op == BinaryOp::Or) { Ok(i64::from(first)) } else { self.eval(b, v) }
            }
            ExprKind::Binary(op, a, b) => {
                let [x, y] = [self.eval(a, v)?, self.eval(b, v)?].map(Value::Number);
                number(arithmetic::binary(*op, &x, &y, &arithmetic::operands(a, b), e.span))
            }
            ExprKind::IfElse(c, a, b) => {
                let chosen = if self.eval(c, v)? != 0 { a } else { b };
                self.eval(chosen, v)
            }
            ExprKind::Cast(a) => number(arithmetic::cast(&Value::Number(self.eval(a, v)?), &a.ty, &e.ty, e.span)),
            _ => Err(No::NotKnown),
        }
    }
}
