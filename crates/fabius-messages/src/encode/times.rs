//! Times as numbers: what the encodings with clocks have in common.

use super::Frame;
use crate::ctp::{ReceiveId, Request, SendId};
use fabius_smt::Term;

/// A time for each command of each node, one after the other, and after the marks that they wait for.
pub fn of_commands(frame: &mut Frame<'_>, most: usize) -> Vec<Vec<Term>> {
    let time_of_each = |commands: usize, frame: &mut Frame<'_>| (0..commands).map(|_| frame.time(most)).collect();
    let times: Vec<Vec<Term>> = frame.ctp.nodes.iter().map(|n| time_of_each(n.commands.len(), frame)).collect();
    for pair in times.iter().flat_map(|node| node.windows(2)) {
        let before = frame.terms.lt(pair[0], pair[1]);
        frame.fact(before);
        frame.count.program_order += 1;
    }
    for (node, at, mark) in frame.ctp.orders().filter(|(_, _, mark)| frame.ctp.is_there(mark)) {
        let executed = frame.executed(node, at);
        let before = frame.terms.lt(times[mark.node][mark.at], times[node][at]);
        let fact = frame.terms.implies(executed, before);
        frame.fact(fact);
        frame.count.program_order += 1;
    }
    times
}

/// With zero buffering: a request that was found incomplete is completed later. `arrival` says when the message of a match
/// arrives.
pub fn after_tests(
    frame: &mut Frame<'_>,
    times: &[Vec<Term>],
    matches: &[(ReceiveId, SendId, Term)],
    arrival: impl Fn(ReceiveId, SendId) -> Option<Term>,
) {
    for (node, at, request) in frame.ctp.found_incomplete() {
        if frame.limits.are_hit() {
            return;
        }
        for (r, s, pair) in matches {
            if request != Request::Receive(*r) && request != Request::Send(*s) {
                continue;
            }
            let Some(arrival) = arrival(*r, *s) else { continue };
            let executed = frame.executed(node, at);
            let arrives = frame.terms.and(executed, *pair);
            let later = frame.terms.lt(times[node][at], arrival);
            let fact = frame.terms.implies(arrives, later);
            frame.fact(fact);
            frame.count.progress += 1;
        }
    }
}
