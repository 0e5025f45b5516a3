//! Between which values each variable lies, so that numbers get as many bits as they need.
//!
//! A value is passed on at most once by each receive. So after as many rounds over the program as there are receives, every
//! value that a run can have is in its range, even if the ranges still grow.

use crate::ctp::{CommandKind, Ctp, Expr, Operator};
use crate::pairs::Pairs;
use fabius_smt::{Limits, Sort, Term, Terms};
use fabius_trace::Span;

/// Least and greatest value.
type Range = (i128, i128);

/// Of what may leave 64 bits, and of all that is computed from it.
const ANY: Range = (i128::MIN, i128::MAX);

/// Numbers of this size are as good as without limit for a formula.
const FAR: i128 = 1 << 62;

/// What is known of the numbers.
pub struct Numbers {
    /// A variable for each variable of the program.
    pub variables: Vec<Term>,
    /// The first command in which a number may leave 64 bits.
    pub beyond: Option<Span>,
}

/// What is known of the numbers of a program.
pub fn numbers(ctp: &Ctp, pairs: &Pairs, limits: &Limits<'_>, terms: &mut Terms) -> Numbers {
    let ranges = ranges(ctp, pairs, limits);
    let near = |r: &Option<Range>| r.filter(|(lo, hi)| *lo > -FAR && *hi < FAR);
    let variable = |r: &Option<Range>| match (r, near(r)) {
        (None, _) => terms.variable_between(0, 0),
        (_, Some((lo, hi))) => terms.variable_between(lo, hi),
        _ => terms.variable(Sort::Int),
    };
    let leaves = |kind: &CommandKind| match kind {
        CommandKind::Assign(_, e) | CommandKind::Assume(e) | CommandKind::Assert(e, _) => may_leave(e, &ranges),
        CommandKind::Send(s) => may_leave(&ctp.sends[*s].value, &ranges),
        _ => false,
    };
    let beyond = ctp.nodes.iter().flat_map(|n| &n.commands).find(|c| leaves(&c.kind)).map(|c| c.span);
    Numbers { variables: ranges.iter().map(variable).collect(), beyond }
}

/// Whether something in the expression is computed that may leave 64 bits.
fn may_leave(e: &Expr, known: &[Option<Range>]) -> bool {
    match e {
        Expr::Const(_) | Expr::Variable(_) => false,
        Expr::Not(e) => may_leave(e, known),
        Expr::Binary(_, a, b) => range(e, known) == Some(ANY) || may_leave(a, known) || may_leave(b, known),
    }
}

/// `None` for what never gets a value.
fn ranges(ctp: &Ctp, pairs: &Pairs, limits: &Limits<'_>) -> Vec<Option<Range>> {
    let mut known: Vec<Option<Range>> = vec![None; ctp.variables.len()];
    let mut sent: Vec<Option<Range>> = vec![None; ctp.sends.len()];
    for _ in 0..=ctp.receives.len() {
        let mut changed = false;
        for node in &ctp.nodes {
            for command in &node.commands {
                match &command.kind {
                    CommandKind::Assign(x, e) => {
                        let value = range(e, &known);
                        changed |= widen(&mut known[*x], value);
                    }
                    CommandKind::Send(s) => changed |= widen(&mut sent[*s], range(&ctp.sends[*s].value, &known)),
                    _ => {}
                }
            }
        }
        for (r, receive) in ctp.receives.iter().enumerate() {
            if limits.are_hit() {
                return known;
            }
            for s in &pairs.of_receive[r] {
                changed |= widen(&mut known[receive.variable], sent[*s]);
            }
        }
        if !changed {
            break;
        }
    }
    known
}

fn widen(known: &mut Option<Range>, by: Option<Range>) -> bool {
    let Some((lo, hi)) = by else { return false };
    let wider = known.map_or((lo, hi), |(a, b)| (a.min(lo), b.max(hi)));
    let changed = *known != Some(wider);
    *known = Some(wider);
    changed
}

fn range(e: &Expr, known: &[Option<Range>]) -> Option<Range> {
    let (operator, a, b) = match e {
        Expr::Const(v) => return Some((i128::from(*v), i128::from(*v))),
        Expr::Variable(x) => return known[*x],
        Expr::Not(e) => return range(e, known).map(|_| (0, 1)),
        Expr::Binary(operator, a, b) => (*operator, range(a, known)?, range(b, known)?),
    };
    let is_number = matches!(operator, Operator::Add | Operator::Sub | Operator::Mul);
    if is_number && (a == ANY || b == ANY) {
        return Some(ANY);
    }
    let (lo, hi) = match operator {
        Operator::Add => (a.0 + b.0, a.1 + b.1),
        Operator::Sub => (a.0 - b.1, a.1 - b.0),
        Operator::Mul => {
            let all = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
            (all.into_iter().min()?, all.into_iter().max()?)
        }
        _ => (0, 1),
    };
    let fits = i64::try_from(lo).is_ok() && i64::try_from(hi).is_ok();
    Some(if fits { (lo, hi) } else { ANY })
}
