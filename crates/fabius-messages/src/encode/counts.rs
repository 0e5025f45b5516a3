//! As many messages of an endpoint are received as receives are filled, counted in unary.
//!
//! With zero buffering it is open in a deadlock which sends are still waited for. That all of them are received where as many
//! receives are filled as there are messages is a pigeonhole problem: a proof by clauses of the matches alone takes
//! exponentially many. With a counter it follows step by step.

use super::Frame;
use crate::ctp::EndpointId;
use fabius_smt::{Sort, Term, Terms};

/// Says of an endpoint that its i-th receive is filled where at least i of its messages are received.
pub fn encode(frame: &mut Frame<'_>, endpoint: EndpointId, matched: &[Term]) {
    let of = &frame.ctp.endpoints[endpoint];
    let filled: Vec<Term> = of.receives.iter().map_while(|r| frame.filled[*r]).collect();
    // At least so many of the messages so far: none of the first none.
    let mut at_least = vec![Terms::FALSE; filled.len() + 2];
    at_least[0] = Terms::TRUE;
    for s in &of.incoming {
        if frame.limits.are_hit() {
            return;
        }
        let this = matched[*s];
        let before = at_least.clone();
        for n in 1..at_least.len() {
            at_least[n] = one_more(frame, this, before[n], before[n - 1]);
        }
    }
    for (n, filled) in filled.iter().enumerate() {
        let is = frame.terms.eq(*filled, at_least[n + 1]);
        frame.fact(is);
    }
    let more = frame.terms.not(at_least[filled.len() + 1]);
    frame.fact(more);
    frame.count.distinct += filled.len() as u64 + 1;
}

/// At least n with this one: at least n without it, or n - 1 without it and this one. A variable, so that terms stay flat.
fn one_more(frame: &mut Frame<'_>, this: Term, n: Term, less: Term) -> Term {
    let with = frame.terms.and(this, less);
    let either = frame.terms.or(n, with);
    if [Terms::FALSE, Terms::TRUE, n].contains(&either) {
        return either;
    }
    let now = frame.terms.variable(Sort::Bool);
    let is = frame.terms.eq(now, either);
    frame.fact(is);
    frame.count.distinct += 1;
    now
}
