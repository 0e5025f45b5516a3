//! The encoding with match pairs: times of commands are numbers, a receive has the number of its message.
//!
//! Paper: Proving MCAPI Executions are Correct, Applying SMT to Message Passing (P4), section 4, Figure 8.
//!
//! Deviations:
//! 1. A message is sent before the nearest enclosing wait of its receive, not before the receive: a request may be posted
//!    long before its message is sent.
//! 2. Messages are ordered for each pair of endpoints, not for each thread.
//! 3. A message is received only if those before it on its channel are. (As printed, a later one may be received while an
//!    earlier one is skipped.)
//! 4. At least one assertion fails. (As printed, all of them.)
//! 5. Receives that nothing completes are left out, but with zero buffering, which the paper does not have: there each
//!    receive has a time of arrival.
//! 6. With deadlocks, which the paper does not have, commands are executed or not.
//!
//! [`Reading`] says how the rules are read; the printed readings are there so that tests can show them to be wrong.

use super::{Encoded, Frame, Question, times};
use crate::ctp::{Ctp, Request, SendId};
use crate::semantics::Buffering;
use fabius_smt::{Sort, Term, Terms};

/// How the rules are read. All but the default are wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What a message is sent before.
    pub sent_before: SentBefore,
    /// Which messages keep their order.
    pub fifo: Fifo,
    /// What holds of a message that is never received.
    pub unmatched: Unmatched,
    /// Which assertions fail.
    pub asserts: Asserts,
}

/// What a message is sent before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SentBefore {
    /// The first wait that completes the receive.
    #[default]
    NearestEnclosingWait,
    /// The wait for the receive itself.
    OwnWait,
    /// The receive.
    Receive,
}

/// Which messages keep their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fifo {
    /// Those of the same pair of endpoints.
    #[default]
    Channel,
    /// All of a thread.
    Thread,
    /// None.
    Nothing,
}

/// What holds of a message that is never received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unmatched {
    /// Those behind it are not received either.
    #[default]
    Closed,
    /// Nothing.
    Free,
}

/// Which assertions fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asserts {
    /// At least one.
    #[default]
    Any,
    /// All.
    All,
}

/// Encodes a question.
pub fn encode(question: Question<'_>, reading: Reading) -> Encoded {
    let ctp = question.ctp;
    let mut frame = Frame::new(question);
    let most = ctp.len() + ctp.receives.len();
    let times = times::of_commands(&mut frame, most);
    let arrivals = arrivals(&mut frame, &times, most);
    // The number of its message, and for each message the time of its receive.
    let numbers: Vec<Term> = ctp.receives.iter().map(|_| frame.time(ctp.sends.len().max(1) - 1)).collect();
    let places: Vec<Term> = ctp.sends.iter().map(|_| frame.time(most)).collect();
    let mut matches = Vec::new();
    let mut matched = vec![Terms::FALSE; ctp.sends.len()];
    for r in 0..ctp.receives.len() {
        if frame.limits.are_hit() {
            break;
        }
        let Some(filled) = frame.filled[r] else { continue };
        let receive = &ctp.receives[r];
        let mut alternatives = vec![frame.terms.not(filled)];
        for s in frame.pairs.of_receive[r].clone() {
            let send = &ctp.sends[s];
            let number = frame.terms.constant(s as i128, Sort::Int);
            let is = frame.terms.eq(numbers[r], number);
            let pair = frame.terms.and(filled, is);
            matches.push((r, s, pair));
            matched[s] = frame.terms.or(matched[s], pair);
            let sent = times[send.node][send.at];
            let mut parts = vec![is, frame.is_sent(s)];
            if let Some(done) = command_after(ctp, r, reading.sent_before) {
                parts.push(frame.terms.lt(sent, times[receive.node][done]));
            }
            if let Some(arrival) = arrivals[r] {
                parts.push(frame.terms.lt(sent, arrival));
                if let Some(wait) = send.wait {
                    parts.push(frame.terms.lt(arrival, times[send.node][wait]));
                }
            }
            parts.push(frame.terms.eq(places[s], times[receive.node][receive.at]));
            let value = frame.number(&send.value);
            parts.push(frame.terms.eq(frame.variables[receive.variable], value));
            alternatives.push(frame.terms.all(parts));
        }
        frame.facts.clauses.push(&alternatives);
        frame.count.matches += 1;
    }
    distinct(&mut frame, &numbers);
    fifo(&mut frame, reading, &places, &matched);
    times::after_tests(&mut frame, &times, &matches, |r, _| arrivals[r]);
    frame.conditions(&matches, &matched, reading.asserts);
    frame.finish(matches)
}

/// The command that a message is sent before.
fn command_after(ctp: &Ctp, r: usize, reading: SentBefore) -> Option<usize> {
    let receive = &ctp.receives[r];
    let own = |at: &usize| ctp.completes(receive.node, *at) == Some(Request::Receive(r));
    match reading {
        SentBefore::NearestEnclosingWait => receive.done,
        SentBefore::OwnWait => (receive.at..ctp.nodes[receive.node].commands.len()).find(own).or(receive.done),
        SentBefore::Receive => Some(receive.at),
    }
}

/// With zero buffering: when the message of each receive arrives. After it is posted, before it is completed, and in order.
fn arrivals(frame: &mut Frame<'_>, times: &[Vec<Term>], most: usize) -> Vec<Option<Term>> {
    let mut all = vec![None; frame.ctp.receives.len()];
    if frame.buffering == Buffering::Infinite {
        return all;
    }
    for endpoint in &frame.ctp.endpoints {
        let mut before = None;
        for r in &endpoint.receives {
            let receive = &frame.ctp.receives[*r];
            let Some(filled) = frame.filled[*r] else { continue };
            let arrival = frame.time(most);
            let mut parts = vec![frame.terms.lt(times[receive.node][receive.at], arrival)];
            if let Some(done) = receive.done {
                parts.push(frame.terms.lt(arrival, times[receive.node][done]));
            }
            if let Some(before) = before {
                parts.push(frame.terms.lt(before, arrival));
            }
            let ordered = frame.terms.all(parts);
            let fact = frame.terms.implies(filled, ordered);
            frame.fact(fact);
            frame.count.program_order += 1;
            (all[*r], before) = (Some(arrival), Some(arrival));
        }
    }
    all
}

/// Two receives of an endpoint get different messages.
fn distinct(frame: &mut Frame<'_>, numbers: &[Term]) {
    for endpoint in &frame.ctp.endpoints {
        for (i, first) in endpoint.receives.iter().enumerate() {
            if frame.limits.are_hit() {
                return;
            }
            for second in &endpoint.receives[i + 1..] {
                let (Some(a), Some(b)) = (frame.filled[*first], frame.filled[*second]) else { continue };
                let both = frame.terms.and(a, b);
                let same = frame.terms.eq(numbers[*first], numbers[*second]);
                let wrong = frame.terms.and(both, same);
                let fact = frame.terms.not(wrong);
                frame.fact(fact);
                frame.count.distinct += 1;
            }
        }
    }
}

/// Messages do not overtake each other.
fn fifo(frame: &mut Frame<'_>, reading: Reading, places: &[Term], matched: &[Term]) {
    let ctp = frame.ctp;
    let chains: Vec<Vec<SendId>> = match reading.fifo {
        Fifo::Channel => ctp.channels.iter().map(|c| c.sends.clone()).collect(),
        Fifo::Thread => {
            (0..ctp.nodes.len()).map(|n| (0..ctp.sends.len()).filter(|s| ctp.sends[*s].node == n).collect()).collect()
        }
        Fifo::Nothing => return,
    };
    for pair in chains.iter().flat_map(|c| c.windows(2)) {
        let (first, second) = (pair[0], pair[1]);
        let mut fact = frame.terms.lt(places[first], places[second]);
        if reading.unmatched == Unmatched::Closed {
            let ordered = frame.terms.and(matched[first], fact);
            fact = frame.terms.implies(matched[second], ordered);
        }
        frame.fact(fact);
        frame.count.fifo += 1;
    }
}
