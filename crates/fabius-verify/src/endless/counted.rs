//! Loops that count: with each way around a variable grows, or falls, and that cannot go on for ever.

use super::ways::{Points, Variable, Ways, is_point, leaves, read_by, says, variable};
use fabius_lang::program::{
    BinaryOp, Block, Expr, ExprKind, Guard, Place, Projection, Stmt, StmtKind, Type, UnaryOp, Value,
};
use fabius_lang::walk::{statements, written};

/// A comparison of a place with something, on the left of which the place stands.
pub struct Comparison<'p> {
    pub place: &'p Place,
    pub op: BinaryOp,
    pub with: &'p Expr,
}

/// Whether a loop ends because it counts.
pub fn counts(ways: &Ways<'_>, guard: &Guard, body: &Block, points: Points) -> bool {
    let tests = tests(ways, guard, body, points);
    let mut places: Vec<&Place> = Vec::new();
    statements(body, &mut |s| places.extend(written(s).filter(|p| counted_by(s, p).is_some())));
    places.iter().any(|place| {
        steps_of(ways, body, place).is_some_and(|steps| {
            is_counted(ways, body, points, place)
                && (ends(ways, &tests, body, place, steps) || is_tested(body, place, ways))
        })
    })
}

/// How a place is counted: all steps go one way, by no more than this.
#[derive(Clone, Copy)]
struct Steps {
    is_up: bool,
    most: i128,
    /// Once on each way around.
    once: bool,
}

/// What is known of a place that is only counted; `None` if it is written in another way.
fn steps_of(ways: &Ways<'_>, body: &Block, place: &Place) -> Option<Steps> {
    let mut all = Vec::new();
    let mut other = false;
    statements(body, &mut |s| match written(s).filter(|p| may_be_part(p, place)) {
        Some(p) if is_same(p, place) => match counted_by(s, place) {
            Some(n) => all.push(n),
            None => other = true,
        },
        Some(_) => other = true,
        None => {}
    });
    // What procedures write, and results.
    let mut others = Block::new();
    statements(body, &mut |s| others.extend(written(s).is_none().then(|| without_nested(s)).flatten()));
    if other || ways.written(&others).contains(&variable(place)) {
        return None;
    }
    let is_up = *all.first()? > 0;
    let most = all.iter().map(|n| n.abs()).max()?;
    let once = all.len() == 1 && shallow(body).iter().any(|s| counted_by(s, place).is_some());
    all.iter().all(|n| (*n > 0) == is_up).then_some(Steps { is_up, most, once })
}

/// A statement that may write without saying where.
fn without_nested(s: &Stmt) -> Option<Stmt> {
    matches!(s.kind, StmtKind::Call(..) | StmtKind::Spawn(..) | StmtKind::Post(..)).then(|| s.clone())
}

/// The statements that are in no loop inside.
fn shallow(block: &Block) -> Vec<&Stmt> {
    let mut all = Vec::new();
    for s in block {
        all.push(s);
        match &s.kind {
            StmtKind::If(_, a, b) => all.extend(shallow(a).into_iter().chain(shallow(b))),
            StmtKind::Atomic(b) => all.extend(shallow(b)),
            _ => {}
        }
    }
    all
}

/// By how much a statement counts this place.
fn counted_by(s: &Stmt, place: &Place) -> Option<i128> {
    let StmtKind::Assign(to, e) = &s.kind else { return None };
    match is_same(to, place) && plain(place) {
        true => change_of(e, place).filter(|n| *n != 0),
        false => None,
    }
}

/// The number that an expression adds to a place.
pub fn change_of(e: &Expr, place: &Place) -> Option<i128> {
    let is_place = |e: &Expr| matches!(&e.kind, ExprKind::Read(p) if is_same(p, place));
    let number = |e: &Expr| match e.kind {
        ExprKind::Const(Value::Int(n)) => Some(i128::from(n)),
        _ => None,
    };
    match &e.kind {
        ExprKind::Binary(BinaryOp::Add, a, b) if is_place(a) => number(b),
        ExprKind::Binary(BinaryOp::Add, a, b) if is_place(b) => number(a),
        ExprKind::Binary(BinaryOp::Sub, a, b) if is_place(a) => number(b).map(|n| -n),
        _ => None,
    }
}

/// Whether no index is on the way to a place, and no object.
fn plain(place: &Place) -> bool {
    !matches!(variable(place), Variable::Heap) && place.path.iter().all(|step| matches!(step, Projection::Field(_)))
}

fn is_same(a: &Place, b: &Place) -> bool {
    a.base == b.base && a.path == b.path
}

/// Whether writing one place may write the other.
fn may_be_part(a: &Place, b: &Place) -> bool {
    let apart =
        |(a, b): (&Projection, &Projection)| matches!((a, b), (Projection::Field(a), Projection::Field(b)) if a != b);
    variable(a) == variable(b) && !a.path.iter().zip(&b.path).any(apart)
}

/// What holds on each way around that goes on, where it is tested.
fn tests<'p>(ways: &Ways<'_>, guard: &'p Guard, body: &'p Block, points: Points) -> Vec<Comparison<'p>> {
    let mut all = Vec::new();
    if let Guard::Expr(e) = guard {
        compared(e, true, &mut all);
    }
    for s in body {
        if let StmtKind::If(Guard::Expr(e), a, b) = &s.kind {
            match (leaves(a, points), leaves(b, points)) {
                (true, _) => compared(e, false, &mut all),
                (_, true) => compared(e, true, &mut all),
                _ => {}
            }
        }
        if ways.through_one(s, points).continues {
            break;
        }
    }
    all
}

/// The comparisons that hold if the expression is `holds`.
pub fn compared<'p>(e: &'p Expr, holds: bool, all: &mut Vec<Comparison<'p>>) {
    use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
    match &e.kind {
        ExprKind::Unary(UnaryOp::Not, a) => compared(a, !holds, all),
        ExprKind::Binary(And, a, b) if holds => [a, b].into_iter().for_each(|e| compared(e, holds, all)),
        ExprKind::Binary(Or, a, b) if !holds => [a, b].into_iter().for_each(|e| compared(e, holds, all)),
        ExprKind::Binary(op, a, b) => {
            let not = |op| match op {
                Lt => Some(Ge),
                Le => Some(Gt),
                Gt => Some(Le),
                Ge => Some(Lt),
                Eq => Some(Ne),
                Ne => Some(Eq),
                _ => None,
            };
            let turned = |op| match op {
                Lt => Gt,
                Le => Ge,
                Gt => Lt,
                Ge => Le,
                same => same,
            };
            let op = if holds { not(*op).map(|_| *op) } else { not(*op) };
            let Some(op) = op else { return };
            if let ExprKind::Read(place) = &a.kind {
                all.push(Comparison { place, op, with: b });
            }
            if let ExprKind::Read(place) = &b.kind {
                all.push(Comparison { place, op: turned(op), with: a });
            }
        }
        _ => {}
    }
}

/// Whether such steps come to an end, by what is tested on each way around.
fn ends(ways: &Ways<'_>, tests: &[Comparison<'_>], body: &Block, place: &Place, steps: Steps) -> bool {
    if matches!(place.ty, Type::Range(..)) {
        // A step out of it is a fault.
        return true;
    }
    let written = ways.written(body);
    let stays = |test: &&Comparison<'_>| is_same(test.place, place) && read_by(test.with).is_disjoint(&written);
    tests.iter().filter(stays).any(|test| is_limit(test, steps.is_up, steps.most, steps.once))
}

/// Whether a place of which this holds before each step cannot make steps for ever: up or down, and of at most so much.
pub fn is_limit(test: &Comparison<'_>, is_up: bool, most: i128, once: bool) -> bool {
    let (bits, signed) = match test.place.ty {
        Type::Range(..) => return true,
        Type::Int if is_up => return matches!(test.op, BinaryOp::Lt | BinaryOp::Le),
        Type::Int => return matches!(test.op, BinaryOp::Gt | BinaryOp::Ge),
        Type::Fixed { bits, signed } => (u32::from(bits), signed),
        _ => return false,
    };
    let (lo, hi) = if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    let with = match test.with.kind {
        ExprKind::Const(Value::Int(n)) if bits == 64 && !signed => Some(i128::from(n as u64)),
        ExprKind::Const(Value::Int(n)) => Some(i128::from(n)),
        _ => None,
    };
    // It must not go around from the greatest value to the least.
    let fits = |n: i128| with.is_some_and(|with| (lo..=hi).contains(&(with + n)));
    once && match (test.op, is_up) {
        (BinaryOp::Lt, true) => most == 1 || fits(most - 1),
        (BinaryOp::Le, true) => fits(most),
        (BinaryOp::Gt, false) => most == 1 || fits(1 - most),
        (BinaryOp::Ge, false) => fits(-most),
        (BinaryOp::Ne, _) => most == 1,
        _ => false,
    }
}

/// Whether each step is one by one and leaves the loop instead where the place has a certain value, as `for` does.
fn is_tested(body: &Block, place: &Place, ways: &Ways<'_>) -> bool {
    let written = ways.written(body);
    let mut limits: Vec<&Expr> = Vec::new();
    let tested = each_is_tested(body, place, &mut limits);
    let Type::Fixed { .. } = place.ty else { return false };
    tested && limits.iter().all(|e| read_by(e).is_disjoint(&written) && e.kind == limits[0].kind)
}

fn each_is_tested<'p>(block: &'p Block, place: &Place, limits: &mut Vec<&'p Expr>) -> bool {
    let mut before: Option<&Stmt> = None;
    for s in block {
        let nested = match &s.kind {
            StmtKind::If(_, a, b) => each_is_tested(a, place, limits) && each_is_tested(b, place, limits),
            StmtKind::While(_, b) | StmtKind::Atomic(b) => each_is_tested(b, place, limits),
            _ => true,
        };
        if !nested {
            return false;
        }
        if let Some(n) = counted_by(s, place) {
            let limit = before.and_then(|before| match &before.kind {
                StmtKind::If(Guard::Expr(e), a, _) if matches!(a.as_slice(), [Stmt { kind: StmtKind::Break, .. }]) => {
                    let mut all = Vec::new();
                    compared(e, true, &mut all);
                    all.into_iter().find(|c| c.op == BinaryOp::Eq && is_same(c.place, place)).map(|c| c.with)
                }
                _ => None,
            });
            match limit {
                Some(limit) if n.abs() == 1 => limits.push(limit),
                _ => return false,
            }
        }
        before = Some(s);
    }
    true
}

/// Whether the place is counted on each way around that comes to no point.
fn is_counted(ways: &Ways<'_>, body: &Block, points: Points, place: &Place) -> bool {
    let all = on_ways(ways, body, points, place, false);
    all.falls != Some(false) && all.continues != Some(false)
}

/// Whether the place is counted on all ways that end so; `None` if there are none.
#[derive(Clone, Copy, Default)]
struct Counted {
    falls: Option<bool>,
    continues: Option<bool>,
    breaks: Option<bool>,
}

fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a && b),
        (a, b) => a.or(b),
    }
}

fn on_ways(ways: &Ways<'_>, block: &[Stmt], points: Points, place: &Place, before: bool) -> Counted {
    let mut all = Counted { falls: Some(before), ..Counted::default() };
    for s in block {
        let Some(now) = all.falls else { break };
        let one = on_ways_of_one(ways, s, points, place, now);
        let (continues, breaks) = (both(all.continues, one.continues), both(all.breaks, one.breaks));
        all = Counted { falls: one.falls, continues, breaks };
    }
    all
}

fn on_ways_of_one(ways: &Ways<'_>, s: &Stmt, points: Points, place: &Place, now: bool) -> Counted {
    let nowhere = Counted::default();
    if is_point(s, points) {
        return nowhere;
    }
    match &s.kind {
        StmtKind::If(guard, a, b) => {
            let side = |block: &[Stmt], when: bool| match says(guard) == Some(!when) {
                true => nowhere,
                false => on_ways(ways, block, points, place, now),
            };
            let (a, b) = (side(a, true), side(b, false));
            Counted {
                falls: both(a.falls, b.falls),
                continues: both(a.continues, b.continues),
                breaks: both(a.breaks, b.breaks),
            }
        }
        StmtKind::While(guard, body) => {
            let inside = on_ways(ways, body, points, place, now);
            let at_once = (says(guard) != Some(true)).then_some(now);
            Counted { falls: both(at_once, inside.breaks), ..nowhere }
        }
        StmtKind::Atomic(body) => on_ways(ways, body, Points::Nothing, place, now),
        StmtKind::Break => Counted { breaks: Some(now), ..nowhere },
        StmtKind::Continue => Counted { continues: Some(now), ..nowhere },
        _ if !ways.through_one(s, points).falls => nowhere,
        _ => Counted { falls: Some(now || counted_by(s, place).is_some()), ..nowhere },
    }
}
