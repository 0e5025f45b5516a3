//! The default: one truth value for each match pair, and an order of points in time that the solver keeps free of cycles.
//!
//! Paper: Proving MCAPI Executions are Correct, Applying SMT to Message Passing (P4), section 4, for what is encoded.
//!
//! Deviations:
//! 1. No clocks: that a message is sent before the wait of its receive is an edge, which holds when the pair is a match.
//!    Edges that can be on no cycle are left out, and with them most commands: only sends and waits that are in a cycle of
//!    possible edges are points.
//! 2. For each message, "received by the i-th candidate or an earlier one" is a truth value. So a message is received once
//!    without a clause for each two receives; and the messages of a channel keep their order by one clause of two literals
//!    for each candidate.
//! 3. The solver first tries the messages in the order of some run, so that what is asked disturbs it as little as possible.
//! 4. Values are passed on only to variables that an assumption or an assertion depends on.
//! 5. Where only a few receives of an endpoint matter, the others have no matches at all: see `cuts.rs`.
//! 6. A sum of all that an endpoint receives is the sum of what is sent to it (`sums.rs`), and in a deadlock as many messages
//!    are received as receives are filled (`counts.rs`): both follow, and a solver would need all matchings to see it.
//! 7. What the paper's rules have wrong is repaired as in [`super::match_pair`].

use super::match_pair::Asserts;
use super::points::Graph;
use super::sums::Sums;
use super::{Encoded, Frame, Question, counts, cuts};
use crate::Property;
use crate::ctp::{CommandKind, Expr, ReceiveId, SendId, VariableId};
use crate::semantics::{Buffering, some_run};
use crate::system::Goal;
use fabius_smt::{Sort, Term, Terms};
use std::collections::HashMap;

/// Encodes a question.
pub fn encode(question: Question<'_>) -> Encoded {
    let ctp = question.ctp;
    let mut frame = Frame::new(question);
    if frame.limits.are_hit() {
        return frame.finish(Vec::new());
    }
    let candidates = frame.pairs.of_send(ctp, frame.limits);
    let mut matched = vec![Terms::FALSE; ctp.sends.len()];
    let mut ladders: Vec<Vec<(ReceiveId, Term)>> = Vec::with_capacity(ctp.sends.len());
    let mut matches = Vec::new();
    let mut of_receive: Vec<Vec<Term>> = vec![Vec::new(); ctp.receives.len()];
    // Some run, to begin with.
    let mut place: Vec<Option<usize>> = vec![None; ctp.sends.len()];
    for (r, s) in some_run(ctp, frame.buffering, frame.limits).arrivals(ctp) {
        place[s] = Some(ctp.receives[r].rank);
    }
    let all_received: Vec<bool> = (0..ctp.endpoints.len()).map(|e| receives_all(&frame, e)).collect();
    frame.sums = Sums::new(ctp, &all_received);
    let graph = Graph::new(ctp, frame.pairs, frame.buffering, frame.limits);
    let needed = needed(&frame);
    let places = cuts::places(&frame, &graph, &needed);
    let mut all_cuts = Vec::new();
    for (endpoint, places) in places.iter().enumerate() {
        if let Some(places) = places {
            all_cuts.push((endpoint, cuts::encode(&mut frame, endpoint, places, &place, &mut matches)));
        }
    }
    for (s, receives) in candidates.iter().enumerate() {
        if frame.limits.are_hit() {
            ladders.push(Vec::new());
            continue;
        }
        if places[ctp.destination(s)].is_some() {
            ladders.push(Vec::new());
            continue;
        }
        let live: Vec<ReceiveId> = receives.iter().copied().filter(|r| frame.filled[*r].is_some()).collect();
        let must = all_received[ctp.destination(s)];
        let ladder = ladder(&mut frame, s, &live, must, &mut matches, &mut of_receive);
        if let Some(place) = place[s] {
            let reached = ladder.iter().filter(|(r, by)| ctp.receives[*r].rank >= place && *by != Terms::TRUE);
            frame.facts.preferred.extend(reached.map(|(_, by)| *by));
        }
        matched[s] = ladder.last().map_or(Terms::FALSE, |(_, by)| *by);
        ladders.push(ladder);
    }
    for r in 0..ctp.receives.len() {
        if frame.limits.are_hit() {
            break;
        }
        let Some(filled) = frame.filled[r].filter(|_| places[ctp.receives[r].endpoint].is_none()) else { continue };
        let mut clause = std::mem::take(&mut of_receive[r]);
        at_most_one(&mut frame, &clause);
        clause.push(frame.terms.not(filled));
        frame.facts.clauses.push(&clause);
        frame.count.matches += 1;
    }
    if frame.goal == Goal::Bug(Property::Deadlock) && frame.buffering == Buffering::Zero {
        (0..ctp.endpoints.len()).for_each(|e| counts::encode(&mut frame, e, &matched));
    }
    for channel in ctp.channels.iter().filter(|c| places[c.to].is_none()) {
        for pair in channel.sends.windows(2) {
            keep_order(&mut frame, &ladders[pair[0]], &ladders[pair[1]]);
        }
    }
    pass_values(&mut frame, &matches, &needed);
    graph.assert(&mut frame, &matches);
    frame.conditions(&matches, &matched, Asserts::Any);
    Encoded { cuts: all_cuts, ..frame.finish(matches) }
}

/// Whether every message to the endpoint is received, in every run that is asked for.
fn receives_all(frame: &Frame<'_>, endpoint: usize) -> bool {
    let of = &frame.ctp.endpoints[endpoint];
    let surely = of.receives.iter().filter(|r| frame.filled[**r] == Some(Terms::TRUE)).count();
    surely == of.incoming.len() && of.incoming.iter().all(|s| frame.is_sent(*s) == Terms::TRUE)
}

/// "Received by this candidate or an earlier one", for each candidate; the differences are the matches.
fn ladder(
    frame: &mut Frame<'_>,
    s: SendId,
    receives: &[ReceiveId],
    must: bool,
    matches: &mut Vec<(ReceiveId, SendId, Term)>,
    of_receive: &mut [Vec<Term>],
) -> Vec<(ReceiveId, Term)> {
    let mut ladder: Vec<(ReceiveId, Term)> = Vec::with_capacity(receives.len());
    let sent = frame.is_sent(s);
    for (i, r) in receives.iter().enumerate() {
        let before = ladder.last().map(|(_, by)| *by);
        let last = i + 1 == receives.len();
        let by = if last && must { Terms::TRUE } else { frame.terms.variable(Sort::Bool) };
        let pair = match before {
            None => by,
            Some(before) if by == Terms::TRUE => frame.terms.not(before),
            Some(before) => {
                let pair = frame.terms.variable(Sort::Bool);
                let (not_by, not_pair) = (frame.terms.not(by), frame.terms.not(pair));
                let not_before = frame.terms.not(before);
                frame.facts.clauses.push(&[not_before, by]);
                frame.facts.clauses.push(&[not_by, before, pair]);
                frame.facts.clauses.push(&[not_pair, by]);
                frame.facts.clauses.push(&[not_pair, not_before]);
                frame.count.distinct += 4;
                pair
            }
        };
        ladder.push((*r, by));
        matches.push((*r, s, pair));
        of_receive[*r].push(pair);
        let not_pair = frame.terms.not(pair);
        let filled = frame.filled[*r].unwrap_or(Terms::TRUE);
        for needed in [filled, sent] {
            if needed != Terms::TRUE {
                frame.facts.clauses.push(&[not_pair, needed]);
                frame.count.matches += 1;
            }
        }
    }
    if must && receives.is_empty() {
        frame.facts.clauses.push(&[]);
    }
    ladder
}

/// At most one of these holds: a counter that goes up once.
fn at_most_one(frame: &mut Frame<'_>, all: &[Term]) {
    let mut before: Option<Term> = None;
    for t in all {
        let not_t = frame.terms.not(*t);
        let so_far = frame.terms.variable(Sort::Bool);
        frame.facts.clauses.push(&[not_t, so_far]);
        frame.count.distinct += 1;
        if let Some(before) = before {
            let not_before = frame.terms.not(before);
            frame.facts.clauses.push(&[not_before, so_far]);
            frame.facts.clauses.push(&[not_before, not_t]);
            frame.count.distinct += 2;
        }
        before = Some(so_far);
    }
}

/// The second message is received only after the first one.
fn keep_order(frame: &mut Frame<'_>, first: &[(ReceiveId, Term)], second: &[(ReceiveId, Term)]) {
    let place = |r: ReceiveId| frame.ctp.receives[r].rank;
    let mut wanted = Vec::new();
    for (r, by) in second {
        let earlier = first.partition_point(|(other, _)| place(*other) < place(*r));
        wanted.push((*by, earlier.checked_sub(1).map_or(Terms::FALSE, |i| first[i].1)));
    }
    for (by, first_by) in wanted {
        if first_by != Terms::TRUE {
            let not_by = frame.terms.not(by);
            frame.facts.clauses.push(&[not_by, first_by]);
            frame.count.fifo += 1;
        }
    }
}

/// Variables that what is asked depends on get the values of their messages.
fn pass_values(frame: &mut Frame<'_>, matches: &[(ReceiveId, SendId, Term)], needed: &[bool]) {
    for (r, s, pair) in matches {
        if frame.limits.are_hit() {
            return;
        }
        let variable = frame.ctp.receives[*r].variable;
        if needed[variable] {
            let value = frame.number(&frame.ctp.sends[*s].value);
            let same = frame.terms.eq(frame.variables[variable], value);
            let not_pair = frame.terms.not(*pair);
            frame.facts.clauses.push(&[not_pair, same]);
            frame.count.matches += 1;
        }
    }
}

/// Which variables an assumption or, where it is asked for, an assertion depends on.
fn needed(frame: &Frame<'_>) -> Vec<bool> {
    let ctp = frame.ctp;
    let mut needed = vec![false; ctp.variables.len()];
    let mut open: Vec<VariableId> = Vec::new();
    let mut received: HashMap<VariableId, ReceiveId> = HashMap::new();
    let mut assigned: HashMap<VariableId, &Expr> = HashMap::new();
    received.extend(ctp.receives.iter().enumerate().map(|(r, receive)| (receive.variable, r)));
    for command in ctp.nodes.iter().flat_map(|n| &n.commands) {
        match &command.kind {
            CommandKind::Assume(e) => frame.sums.each_variable(e, &mut |x| open.push(x)),
            CommandKind::Assert(e, _) if frame.goal == Goal::Bug(Property::Assert) => {
                frame.sums.each_variable(e, &mut |x| open.push(x));
            }
            CommandKind::Assign(x, e) => {
                assigned.insert(*x, e);
            }
            _ => {}
        }
    }
    while let Some(x) = open.pop().filter(|_| !frame.limits.are_hit()) {
        if std::mem::replace(&mut needed[x], true) {
            continue;
        }
        if let Some(e) = assigned.get(&x) {
            e.each_variable(&mut |y| open.push(y));
        }
        if let Some(r) = received.get(&x) {
            for s in &frame.pairs.of_receive[*r] {
                ctp.sends[*s].value.each_variable(&mut |y| open.push(y));
            }
        }
    }
    needed
}
