//! The encoding by order alone: every message has a time of arrival, and its place among the arrivals at its endpoint says
//! which receive gets it. It knows no match pairs.
//!
//! Paper: Debugging Support Tool for MCAPI Applications (PADTAD 2010), section 4, as P4 compares with it in section 6.
//!
//! Deviations:
//! 1. The paper says only that it orders all events and derives the matches; its formulas, and so its numbers of clauses,
//!    cannot be had from it. This is the plainest encoding of that kind, made to be compared with.
//! 2. Everything that the other encodings have besides matches (assumptions, deadlocks, zero buffering) is the same here.

use super::match_pair::Asserts;
use super::{Encoded, Frame, Question, times};
use crate::semantics::Buffering;
use fabius_smt::{Op, Sort, Term, Terms};

/// Encodes a question.
pub fn encode(question: Question<'_>) -> Encoded {
    let ctp = question.ctp;
    let mut frame = Frame::new(question);
    let most = ctp.len() + ctp.sends.len();
    let times = times::of_commands(&mut frame, most);
    let arrivals: Vec<Term> = ctp.sends.iter().map(|_| frame.time(most)).collect();
    for (s, send) in ctp.sends.iter().enumerate() {
        let later = frame.terms.lt(times[send.node][send.at], arrivals[s]);
        frame.fact(later);
        frame.count.program_order += 1;
    }
    for pair in ctp.channels.iter().flat_map(|c| c.sends.windows(2)) {
        let before = frame.terms.lt(arrivals[pair[0]], arrivals[pair[1]]);
        frame.fact(before);
        frame.count.fifo += 1;
    }
    let places = places(&mut frame, &arrivals);
    let mut matches = Vec::new();
    let mut matched = vec![Terms::FALSE; ctp.sends.len()];
    for (r, receive) in ctp.receives.iter().enumerate() {
        if frame.limits.are_hit() {
            break;
        }
        let Some(filled) = frame.filled[r] else { continue };
        let place = frame.terms.constant(receive.rank as i128, Sort::Int);
        let mut alternatives = vec![frame.terms.not(filled)];
        for s in &ctp.endpoints[receive.endpoint].incoming {
            let send = &ctp.sends[*s];
            let in_place = frame.terms.eq(places[*s], place);
            let is = frame.terms.and(in_place, frame.is_sent(*s));
            let pair = frame.terms.and(filled, is);
            matches.push((r, *s, pair));
            matched[*s] = frame.terms.or(matched[*s], pair);
            alternatives.push(is);
            let mut parts = Vec::new();
            if let Some(done) = receive.done {
                parts.push(frame.terms.lt(arrivals[*s], times[receive.node][done]));
            }
            if frame.buffering == Buffering::Zero {
                parts.push(frame.terms.lt(times[receive.node][receive.at], arrivals[*s]));
                if let Some(wait) = send.wait {
                    parts.push(frame.terms.lt(arrivals[*s], times[send.node][wait]));
                }
            }
            let value = frame.number(&send.value);
            parts.push(frame.terms.eq(frame.variables[receive.variable], value));
            let gets = frame.terms.all(parts);
            let fact = frame.terms.implies(pair, gets);
            frame.fact(fact);
            frame.count.matches += 1;
        }
        frame.facts.clauses.push(&alternatives);
        frame.count.matches += 1;
    }
    if frame.buffering == Buffering::Zero {
        times::after_tests(&mut frame, &times, &matches, |_, s| Some(arrivals[s]));
    }
    frame.conditions(&matches, &matched, Asserts::Any);
    frame.finish(matches)
}

/// How many messages arrive at the endpoint of each one before it. They all arrive at different times.
fn places(frame: &mut Frame<'_>, arrivals: &[Term]) -> Vec<Term> {
    let none = frame.terms.constant(0, Sort::Int);
    let one = frame.terms.constant(1, Sort::Int);
    let mut places = vec![none; arrivals.len()];
    for endpoint in &frame.ctp.endpoints {
        for (i, first) in endpoint.incoming.iter().enumerate() {
            if frame.limits.are_hit() {
                break;
            }
            for second in &endpoint.incoming[i + 1..] {
                let same = frame.terms.eq(arrivals[*first], arrivals[*second]);
                let differ = frame.terms.not(same);
                frame.fact(differ);
                frame.count.distinct += 1;
                let before = frame.terms.lt(arrivals[*first], arrivals[*second]);
                for (early, late, is) in [(first, second, before), (second, first, frame.terms.not(before))] {
                    let counts = frame.terms.and(is, frame.is_sent(*early));
                    let counts = frame.terms.ite(counts, one, none);
                    places[*late] = frame.terms.arithmetic(Op::Add, places[*late], counts);
                }
            }
        }
    }
    places
}
