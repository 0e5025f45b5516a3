//! Endpoints of which only a few receives matter: which messages have arrived before and after those.
//!
//! A receive does not matter if nobody asks for its value, its matches can be on no cycle, and whatever its place allows it may
//! get. Then any message that is left may be its own, and all that has to be said is which messages arrive before the places
//! that matter, and how many. The rest is filled in by the replay.

use super::Frame;
use super::points::Graph;
use crate::Property;
use crate::ctp::{ChannelId, EndpointId, ReceiveId, SendId, VariableId};
use crate::pairs::{Pairs, place_allows};
use crate::semantics::Buffering;
use crate::system::Goal;
use fabius_smt::{Sort, Term, Terms};

/// For each message of such an endpoint, the terms that say that it is among the first so many.
pub type Cut = (SendId, usize, Term);

/// For each endpoint the places that matter, if they are few enough.
pub fn places(frame: &Frame<'_>, graph: &Graph, needed: &[bool]) -> Vec<Option<Vec<usize>>> {
    let ctp = frame.ctp;
    if frame.goal != Goal::Bug(Property::Assert) || frame.buffering == Buffering::Zero {
        return vec![None; ctp.endpoints.len()];
    }
    let pairs: &Pairs = frame.pairs;
    let mut matters = vec![false; ctp.receives.len()];
    graph.receives().for_each(|r| matters[r] = true);
    for (r, receive) in ctp.receives.iter().enumerate() {
        if frame.limits.are_hit() {
            break;
        }
        let variable: VariableId = receive.variable;
        let allowed = |s: &&SendId| place_allows(ctp, r, **s);
        let incoming = &ctp.endpoints[receive.endpoint].incoming;
        let is_free = incoming.iter().filter(allowed).count() == pairs.of_receive[r].iter().filter(allowed).count();
        matters[r] |= needed[variable] || !is_free;
    }
    let few = |endpoint: EndpointId| {
        let of = &ctp.endpoints[endpoint];
        let live: Vec<ReceiveId> = of.receives.iter().copied().filter(|r| frame.filled[*r].is_some()).collect();
        let places: Vec<usize> = live.iter().filter(|r| matters[**r]).map(|r| ctp.receives[*r].rank).collect();
        let (all, sends) = (live.iter().map(|r| pairs.of_receive[*r].len()).sum::<usize>(), of.incoming.len());
        let counted = |k: &usize| sends * sends.saturating_sub(*k).min(*k);
        let cost: usize = cuts(&places).iter().map(counted).sum();
        (sends >= live.len() && cost < all).then_some(places)
    };
    (0..ctp.endpoints.len()).map(few).collect()
}

/// How many messages there are before and after each place.
fn cuts(places: &[usize]) -> Vec<usize> {
    let mut cuts: Vec<usize> = places.iter().flat_map(|p| [*p, *p + 1]).filter(|k| *k > 0).collect();
    cuts.dedup();
    cuts
}

/// Encodes an endpoint; `place` is where each message is in some run.
pub fn encode(
    frame: &mut Frame<'_>,
    endpoint: EndpointId,
    places: &[usize],
    place: &[Option<usize>],
    matches: &mut Vec<(ReceiveId, SendId, Term)>,
) -> Vec<Cut> {
    let ctp = frame.ctp;
    let sends = &ctp.endpoints[endpoint].incoming;
    let mut all: Vec<Cut> = Vec::new();
    // Those that follow each other on a channel, by their places in the list.
    let mut by_channel: Vec<(ChannelId, usize)> =
        sends.iter().enumerate().map(|(i, s)| (ctp.sends[*s].channel, i)).collect();
    by_channel.sort_unstable();
    let mut before: Vec<Term> = vec![Terms::FALSE; sends.len()];
    let mut last = 0;
    for k in cuts(places) {
        if frame.limits.are_hit() {
            break;
        }
        let mut now = before.clone();
        for (i, s) in sends.iter().enumerate() {
            now[i] = frame.terms.variable(Sort::Bool);
            if place[*s].is_some_and(|p| p < k) {
                frame.facts.preferred.push(now[i]);
            }
            all.push((*s, k, now[i]));
            if before[i] != Terms::FALSE {
                let not_before = frame.terms.not(before[i]);
                frame.facts.clauses.push(&[not_before, now[i]]);
                frame.count.distinct += 1;
            }
        }
        for pair in by_channel.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
            let not_second = frame.terms.not(now[pair[1].1]);
            frame.facts.clauses.push(&[not_second, now[pair[0].1]]);
            frame.count.fifo += 1;
        }
        exactly(frame, &now, k);
        if places.binary_search(&last).is_ok() && k == last + 1 {
            let r = ctp.endpoints[endpoint].receives[last];
            let mut clause = Vec::new();
            for (i, s) in sends.iter().enumerate() {
                let not_before = frame.terms.not(before[i]);
                let is = frame.terms.and(now[i], not_before);
                if frame.pairs.contains(r, *s) {
                    matches.push((r, *s, is));
                    clause.push(is);
                } else {
                    let is_not = frame.terms.not(is);
                    frame.facts.clauses.push(&[is_not]);
                    frame.count.matches += 1;
                }
            }
            frame.facts.clauses.push(&clause);
            frame.count.matches += 1;
        }
        (before, last) = (now, k);
    }
    all
}

/// Exactly so many of these hold: they are counted, or those that do not, whichever are fewer.
fn exactly(frame: &mut Frame<'_>, literals: &[Term], n: usize) {
    if 2 * n > literals.len() {
        let negated: Vec<Term> = literals.iter().map(|t| frame.terms.not(*t)).collect();
        return exactly(frame, &negated, literals.len() - n);
    }
    // At least 1, 2, .. n + 1 of those that were looked at.
    let mut at_least: Vec<Term> = vec![Terms::FALSE; n + 1];
    for t in literals {
        if frame.limits.are_hit() {
            return;
        }
        for i in (0..=n).rev() {
            let fewer = if i == 0 { Terms::TRUE } else { at_least[i - 1] };
            let one_more = frame.terms.and(fewer, *t);
            at_least[i] = frame.terms.or(at_least[i], one_more);
        }
    }
    let no_more = frame.terms.not(at_least[n]);
    frame.facts.clauses.push(&[no_more]);
    if n > 0 {
        frame.facts.clauses.push(&[at_least[n - 1]]);
    }
    frame.count.distinct += 2;
}
