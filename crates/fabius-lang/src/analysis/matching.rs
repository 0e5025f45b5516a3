//! `match`: alternatives by the value of an enum, a number or a Boolean. It becomes comparisons one after the other of a value
//! that is evaluated once.

use super::checker::Checker;
use super::constant::{constant, evaluate, is_integer};
use super::expr::common;
use crate::program::*;
use crate::syntax::ast::{self, Pattern};
use fabius_trace::Span;

/// Most branches.
const MOST: usize = 256;
/// Values that are named of those that are left out.
const NAMED: usize = 3;

/// Numbers from one to another that a pattern stands for, and where it stands.
type Range = (i128, i128, Span);

impl Checker<'_> {
    pub(super) fn match_stmt(
        &mut self,
        value: &ast::Expr,
        arms: &[(Vec<Pattern>, ast::Block)],
        otherwise: Option<&ast::Block>,
        span: Span,
    ) {
        let head = Span { start: span.start, end: value.span.end };
        let mark = self.temporaries.mark();
        let effect = self.is_effect(value);
        let typed = if effect { self.produce(value, 1).map(|v| v[0].clone()) } else { self.expr(value, None) };
        let held = typed.map(|v| self.hold(v, head));
        let resets = self.block_of(|c| c.reset_since(mark, head));
        self.temporaries.release(mark);
        let ranges = held.as_ref().and_then(|v| self.ranges(&v.ty, arms, otherwise.is_some(), head));
        let with_resets = |c: &mut Self, block| resets.iter().cloned().chain(c.nested(block)).collect::<Block>();
        let mut bodies: Vec<Block> = arms.iter().map(|(_, block)| with_resets(self, block)).collect();
        let last = otherwise.map(|block| with_resets(self, block));
        let (Some(value), Some(mut ranges)) = (held, ranges) else { return };
        let last = last.unwrap_or_else(|| {
            ranges.pop();
            bodies.pop().expect("a match without `else` has branches for all values")
        });
        // Comparisons are told nowhere: what is matched is.
        let stmt = |kind| Stmt { kind, access: Access::Local, span: Span::default() };
        let all = bodies.into_iter().zip(&ranges).rev().fold(last, |no, (yes, ranges)| {
            let guard = Guard::Expr(is_one_of(&value, ranges));
            vec![stmt(StmtKind::If(guard, yes, no))]
        });
        self.out.extend(all);
    }

    pub(super) fn match_expr(
        &mut self,
        value: &ast::Expr,
        arms: &[(Vec<Pattern>, ast::Expr)],
        otherwise: Option<&ast::Expr>,
        span: Span,
        hint: Option<&Type>,
    ) -> Option<Expr> {
        let before = self.before;
        let typed = self.expr(value, None);
        let held = typed.and_then(|v| self.read_first(v, before, value.span));
        let ranges = held.as_ref().and_then(|v| self.ranges(&v.ty, arms, otherwise.is_some(), span));
        let all: Vec<&ast::Expr> = arms.iter().map(|(_, e)| e).chain(otherwise).collect();
        let typed = self.perhaps(|c| c.alternatives(&all, hint));
        let (value, mut ranges, mut values) = (held?, ranges?, typed?);
        let ty = values.iter().skip(1).try_fold(values[0].ty.clone(), |ty, v| common(&ty, &v.ty));
        let Some(ty) = ty else {
            let types: Vec<String> = values.iter().map(|v| format!("`{}`", self.show(&v.ty))).collect();
            self.error("E0301", span, "the branches differ in type", types.join(", "));
            return None;
        };
        let last = values.pop()?;
        ranges.truncate(values.len());
        let at = self.at(span);
        let choose = |no: Expr, (yes, ranges): (Expr, &Vec<Range>)| {
            let test = is_one_of(&value, ranges);
            Expr { kind: ExprKind::IfElse(test.into(), yes.into(), no.into()), ty: ty.clone(), span: at }
        };
        Some(values.into_iter().zip(&ranges).rev().fold(last, choose))
    }

    /// The values of the branches: those first that have a type by themselves.
    fn alternatives(&mut self, all: &[&ast::Expr], hint: Option<&Type>) -> Option<Vec<Expr>> {
        let mut hint = hint.cloned();
        let mut typed: Vec<Option<Expr>> = vec![None; all.len()];
        for later in [false, true] {
            for (e, typed) in all.iter().zip(&mut typed) {
                if self.wants_hint(e) == later {
                    *typed = self.expr(e, hint.as_ref());
                    hint = hint.or_else(|| typed.as_ref().map(|e| e.ty.clone()));
                }
            }
        }
        typed.into_iter().collect()
    }

    /// What each branch stands for, if no value is left out and none is there twice.
    fn ranges<B>(
        &mut self,
        ty: &Type,
        arms: &[(Vec<Pattern>, B)],
        has_else: bool,
        span: Span,
    ) -> Option<Vec<Vec<Range>>> {
        if !matches!(ty, Type::Bool | Type::Enum(_)) && !is_integer(ty) {
            let shown = self.show(ty);
            let message = format!("a value of type `{shown}` cannot be matched");
            self.error("E0301", span, message, "not a number, a Boolean or a name of an enum");
            return None;
        }
        if arms.len() > MOST {
            self.error("E0307", span, format!("a match has at most {MOST} branches"), format!("{} here", arms.len()));
            return None;
        }
        let mut known: Vec<Range> = Vec::new();
        let mut all = Vec::new();
        let mut fine = true;
        for (patterns, _) in arms {
            let mut ranges = Vec::new();
            for pattern in patterns {
                let Some(range) = self.range(pattern, ty) else {
                    fine = false;
                    continue;
                };
                if let Some(first) = known.iter().find(|r| r.0 <= range.1 && range.0 <= r.1) {
                    let related = (first.2, "first here".into());
                    let error = self.error("E0316", range.2, "this is matched twice", "matched before");
                    error.related.push(related);
                    fine = false;
                }
                known.push(range);
                ranges.push(range);
            }
            all.push(ranges);
        }
        (fine && (has_else || self.is_complete(known, ty, span))).then_some(all)
    }

    /// What a pattern stands for.
    fn range(&mut self, pattern: &Pattern, ty: &Type) -> Option<Range> {
        let span = pattern.hi.as_ref().map_or(pattern.lo.span, |hi| pattern.lo.span.to(hi.span));
        if pattern.hi.is_some() && !is_integer(ty) {
            self.error("E0301", span, "only numbers have an order", "not between numbers").help =
                Some("write the values one by one: `A, B { .. }`".into());
            return None;
        }
        let lo = self.number_of(&pattern.lo, ty)?;
        let hi = pattern.hi.as_ref().map_or(Some(lo), |hi| self.number_of(hi, ty))?;
        if lo > hi {
            self.error("E0306", span, "there is no number between these", "empty");
            return None;
        }
        Some((lo, hi, span))
    }

    /// The number that a constant is.
    fn number_of(&mut self, e: &ast::Expr, ty: &Type) -> Option<i128> {
        let plain = if let Type::Range(..) = ty { &Type::Int } else { ty };
        let outer = std::mem::replace(&mut self.constant, true);
        let typed = self.expr_of(e, plain);
        self.constant = outer;
        let Ok(Value::Int(n)) = evaluate(&typed?) else {
            self.not_constant(e.span);
            return None;
        };
        let n = meaning(n, ty);
        if let Some((lo, hi)) = self.limits_of(ty)
            && !(lo..=hi).contains(&n)
        {
            let shown = self.show(ty);
            self.error("E0306", e.span, format!("{n} is no value of `{shown}`"), format!("`{shown}` is {lo}..{hi}"));
            return None;
        }
        Some(n)
    }

    /// The least and the greatest value of a type, if it has such.
    fn limits_of(&self, ty: &Type) -> Option<(i128, i128)> {
        match ty {
            Type::Fixed { bits: 64, signed: true } => Some((i64::MIN.into(), i64::MAX.into())),
            Type::Fixed { bits: 64, signed: false } => Some((0, u64::MAX.into())),
            _ => ty.finite_range(&self.cx.enums).map(|(lo, hi)| (lo.into(), hi.into())),
        }
    }

    /// Whether every value is matched.
    fn is_complete(&mut self, mut known: Vec<Range>, ty: &Type, span: Span) -> bool {
        let mut missing: Vec<i128> = Vec::new();
        known.sort_unstable_by_key(|r| r.0);
        let limits = self.limits_of(ty);
        if let Some((lo, hi)) = limits {
            let mut next = lo;
            for (from, to, _) in known.into_iter().chain([(hi + 1, hi + 1, span)]) {
                missing.extend((next..from).take(NAMED + 1 - missing.len().min(NAMED + 1)));
                next = next.max(to + 1);
            }
            if missing.is_empty() {
                return true;
            }
        }
        let mut names: Vec<String> =
            missing.iter().take(NAMED).map(|n| format!("`{}`", self.name_of(*n, ty))).collect();
        if missing.len() > NAMED || limits.is_none() {
            names.push("others".into());
        }
        let message = format!("this match leaves out {}", names.join(", "));
        self.error("E0315", span, message, "not for all values").help =
            Some("add branches for them, or `else { .. }`".into());
        false
    }

    fn name_of(&self, n: i128, ty: &Type) -> String {
        match ty {
            Type::Bool => (n == 1).to_string(),
            Type::Enum(e) => self.cx.enums[*e].names[n as usize].clone(),
            _ => n.to_string(),
        }
    }
}

/// The number that a code means.
fn meaning(n: i64, ty: &Type) -> i128 {
    if let Type::Fixed { bits: 64, signed: false } = ty { (n as u64).into() } else { n.into() }
}

/// Whether the value is one of these.
fn is_one_of(value: &Expr, ranges: &[Range]) -> Expr {
    let span = value.span;
    let ty = if let Type::Range(..) = value.ty { &Type::Int } else { &value.ty };
    let compare = |op, n: i128| Expr {
        kind: ExprKind::Binary(op, value.clone().into(), constant(Value::Int(n as i64), ty, span).into()),
        ty: Type::Bool,
        span,
    };
    let both = |op, a: Expr, b: Expr| Expr { kind: ExprKind::Binary(op, a.into(), b.into()), ty: Type::Bool, span };
    let tests = ranges.iter().map(|(lo, hi, _)| match lo == hi {
        true => compare(BinaryOp::Eq, *lo),
        false => both(BinaryOp::And, compare(BinaryOp::Ge, *lo), compare(BinaryOp::Le, *hi)),
    });
    tests.reduce(|a, b| both(BinaryOp::Or, a, b)).expect("a branch has a pattern")
}
