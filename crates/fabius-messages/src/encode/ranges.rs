//! Between which values each variable lies, so that numbers get as many bits as they need.
//!
//! A value is passed on at most once by each receive. So after as many rounds over the program as there are receives, every
//! value that a run can have is in its range, even if the ranges still grow.

use crate::ctp::{CommandKind, Ctp, Expr, Operator};
use crate::pairs::Pairs;
use fabius_smt::{Sort, Term, Terms};

/// Least and greatest value.
type Range = (i128, i128);

/// Numbers of this size are taken to be without limit.
const FAR: i128 = 1 << 62;

/// A variable for each variable of the program.
pub fn variables(ctp: &Ctp, pairs: &Pairs, terms: &mut Terms) -> Vec<Term> {
    let ranges = ranges(ctp, pairs);
    let near = |r: &Option<Range>| r.filter(|(lo, hi)| *lo > -FAR && *hi < FAR);
    let variable = |r: &Option<Range>| match (r, near(r)) {
        (None, _) => terms.variable_between(0, 0),
        (_, Some((lo, hi))) => terms.variable_between(lo, hi),
        _ => terms.variable(Sort::Int),
    };
    ranges.iter().map(variable).collect()
}

/// `None` for what never gets a value.
fn ranges(ctp: &Ctp, pairs: &Pairs) -> Vec<Option<Range>> {
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
    // More than 64 bits need not be told apart.
    let far = |v: i128| v.clamp(-FAR, FAR);
    Some(match operator {
        Operator::Add => (far(a.0 + b.0), far(a.1 + b.1)),
        Operator::Sub => (far(a.0 - b.1), far(a.1 - b.0)),
        Operator::Mul => {
            let all = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1].map(far);
            (all.into_iter().min()?, all.into_iter().max()?)
        }
        _ => (0, 1),
    })
}
