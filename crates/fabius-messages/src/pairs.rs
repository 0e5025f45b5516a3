//! Match pairs: which receive may get the message of which send.
//!
//! Paper: Proving MCAPI Executions are Correct, Applying SMT to Message Passing (P4), section 5, Lemma 3.
//!
//! Deviations:
//! 1. The number of other messages is that of the destination, not that of the whole program, and the place of a receive is
//!    that at its endpoint, not that in its thread: as sound, and tighter.
//! 2. What must happen before a send is then compared with the wait of the receive: a receive that is complete before the
//!    message is sent gets another one. This is repeated until nothing changes.

use crate::Property;
use crate::ctp::{CommandKind, Ctp, ReceiveId, SendId};
use crate::semantics::Buffering;
use crate::system::{Which, outcomes};
use fabius_explore::search::{Cut, Options};
use fabius_smt::Limits;
use std::sync::atomic::AtomicBool;

/// How precisely pairs are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Whatever has the same endpoint.
    All,
    /// Those whose places allow it, without those that must come too late.
    #[default]
    Tight,
    /// Those of some run: by exploration.
    Exact,
}

/// Pairs of a receive and a send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairs {
    /// For each receive the sends whose message it may get, in order.
    pub of_receive: Vec<Vec<SendId>>,
}

impl Pairs {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.of_receive.iter().map(Vec::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this is one of them.
    pub fn contains(&self, r: ReceiveId, s: SendId) -> bool {
        self.of_receive[r].binary_search(&s).is_ok()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (ReceiveId, SendId)> + '_ {
        self.of_receive.iter().enumerate().flat_map(|(r, sends)| sends.iter().map(move |s| (r, *s)))
    }

    /// For each send the receives that may get its message, in the order in which they are posted.
    pub fn of_send(&self, ctp: &Ctp) -> Vec<Vec<ReceiveId>> {
        let mut all = vec![Vec::new(); ctp.sends.len()];
        for (r, s) in self.iter() {
            all[s].push(r);
        }
        for receives in &mut all {
            receives.sort_unstable_by_key(|r| ctp.receives[*r].rank);
        }
        all
    }

    fn retain(&mut self, mut keep: impl FnMut(ReceiveId, SendId) -> bool) -> bool {
        let before = self.len();
        for (r, sends) in self.of_receive.iter_mut().enumerate() {
            sends.retain(|s| keep(r, *s));
        }
        self.len() < before
    }
}

/// How many pairs have the same endpoint.
pub fn count_all(ctp: &Ctp) -> usize {
    ctp.receives.iter().map(|r| ctp.endpoints[r.endpoint].incoming.len()).sum()
}

/// All pairs at the same endpoint.
pub fn all(ctp: &Ctp) -> Pairs {
    at_same_endpoint(ctp, |_, _| true)
}

/// The pairs whose places allow it.
pub fn by_place(ctp: &Ctp) -> Pairs {
    at_same_endpoint(ctp, |r, s| place_allows(ctp, r, s))
}

/// Before a message is received, those sent before it on the same channel are, and at most all of other channels.
pub fn place_allows(ctp: &Ctp, r: ReceiveId, s: SendId) -> bool {
    let (receive, send) = (&ctp.receives[r], &ctp.sends[s]);
    let others = ctp.endpoints[receive.endpoint].incoming.len() - ctp.channels[send.channel].sends.len();
    send.rank <= receive.rank && receive.rank <= send.rank + others
}

fn at_same_endpoint(ctp: &Ctp, keep: impl Fn(ReceiveId, SendId) -> bool) -> Pairs {
    let of_receive = |(r, receive): (ReceiveId, &crate::ctp::Receive)| {
        let incoming = &ctp.endpoints[receive.endpoint].incoming;
        let mut sends: Vec<SendId> = incoming.iter().copied().filter(|s| keep(r, *s)).collect();
        sends.sort_unstable();
        sends
    };
    Pairs { of_receive: ctp.receives.iter().enumerate().map(of_receive).collect() }
}

/// How many commands of each node must have been executed.
type Past = Box<[u32]>;

/// The pairs whose places and whose order allow it; more of them, once a limit is hit.
pub fn tight(ctp: &Ctp, limits: &Limits<'_>) -> Pairs {
    let mut pairs = by_place(ctp);
    loop {
        let past = pasts(ctp, &pairs, limits);
        let changed = pairs.retain(|r, s| {
            let (receive, send) = (&ctp.receives[r], &ctp.sends[s]);
            let Some(done) = receive.done else { return true };
            // Is the receive complete before the message is sent?
            past[send.node][send.at][receive.node] as usize <= done
        });
        if !changed || limits.are_hit() {
            return pairs;
        }
    }
}

/// For each command of each node, what has been executed when it is over, but for itself, in every run: program order, marks,
/// and what all messages that a completed receive may get have in common.
fn pasts(ctp: &Ctp, pairs: &Pairs, limits: &Limits<'_>) -> Vec<Vec<Past>> {
    let nodes = ctp.nodes.len();
    let nothing: Past = vec![0; nodes].into();
    let mut past: Vec<Vec<Past>> = ctp.nodes.iter().map(|n| vec![nothing.clone(); n.commands.len()]).collect();
    // The receives that a command is the first to complete.
    let mut completed: Vec<Vec<Vec<ReceiveId>>> =
        ctp.nodes.iter().map(|n| vec![Vec::new(); n.commands.len()]).collect();
    for (r, receive) in ctp.receives.iter().enumerate() {
        if let Some(done) = receive.done {
            completed[receive.node][done].push(r);
        }
    }
    loop {
        let mut changed = false;
        // Receives of the same messages have the same in common; what is out of date is done again in the next round.
        let mut last: Option<(ReceiveId, Option<Past>)> = None;
        for node in 0..nodes {
            let mut now = nothing.clone();
            for at in 0..ctp.nodes[node].commands.len() {
                if limits.are_hit() {
                    return past;
                }
                now[node] = at as u32;
                if let CommandKind::After(mark) = ctp.command(node, at) {
                    let mark = &ctp.marks[*mark];
                    if ctp.is_there(mark) {
                        join(&mut now, &past[mark.node][mark.at]);
                        now[mark.node] = now[mark.node].max(mark.at as u32 + 1);
                    }
                }
                changed |= join(&mut past[node][at], &now);
                for r in &completed[node][at] {
                    let sends = &pairs.of_receive[*r];
                    if last.as_ref().is_none_or(|(other, _)| pairs.of_receive[*other] != *sends) {
                        last = Some((*r, in_common(ctp, &past, sends)));
                    }
                    if let Some((_, Some(common))) = &last {
                        join(&mut now, common);
                    }
                }
            }
        }
        if !changed {
            return past;
        }
    }
}

/// What has been executed when one of these messages has been sent, whichever it is.
fn in_common(ctp: &Ctp, past: &[Vec<Past>], sends: &[SendId]) -> Option<Past> {
    let mut common: Option<Past> = None;
    for s in sends {
        let send = &ctp.sends[*s];
        let mut before = past[send.node][send.at].clone();
        before[send.node] = before[send.node].max(send.at as u32 + 1);
        match &mut common {
            None => common = Some(before),
            Some(common) => common.iter_mut().zip(&before).for_each(|(c, b)| *c = (*c).min(*b)),
        }
    }
    common
}

/// Adds what another past has; whether that was anything.
fn join(past: &mut Past, other: &Past) -> bool {
    let mut changed = false;
    for (a, b) in past.iter_mut().zip(other) {
        changed |= *a < *b;
        *a = (*a).max(*b);
    }
    changed
}

/// The pairs of all complete runs, also of those that take another path; where it matters what is not received, all arrivals
/// of all runs.
///
/// # Errors
/// What cut the exploration short.
pub fn exact(
    ctp: &Ctp,
    buffering: Buffering,
    property: Property,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Pairs, Cut> {
    let mut pairs = Pairs { of_receive: vec![Vec::new(); ctp.receives.len()] };
    let arrivals = property == Property::Deadlock || buffering == Buffering::Zero;
    let which = if arrivals { Which::All } else { Which::Complete };
    for (matching, _) in outcomes(ctp, buffering, which, options, stop)? {
        for (r, s) in matching {
            pairs.of_receive[r].push(s);
        }
    }
    for sends in &mut pairs.of_receive {
        sends.sort_unstable();
        sends.dedup();
    }
    Ok(pairs)
}
