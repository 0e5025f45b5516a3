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
use crate::ctp::{CommandKind, Ctp, NodeId, ReceiveId, SendId};
use crate::semantics::Buffering;
use crate::system::{Which, outcomes};
use fabius_explore::search::{Cut, Options};
use fabius_smt::Limits;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::Rc;
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

    /// For each send the receives that may get its message, in the order in which they are posted; fewer of them, once a
    /// limit is hit.
    pub fn of_send(&self, ctp: &Ctp, limits: &Limits<'_>) -> Vec<Vec<ReceiveId>> {
        let mut counts = vec![0; ctp.sends.len()];
        self.iter().for_each(|(_, s)| counts[s] += 1);
        let mut all: Vec<Vec<ReceiveId>> = counts.into_iter().map(Vec::with_capacity).collect();
        for (r, sends) in self.of_receive.iter().enumerate().take_while(|_| !limits.are_hit()) {
            sends.iter().for_each(|s| all[*s].push(r));
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

/// All pairs at the same endpoint; fewer of them, once a limit is hit.
pub fn all(ctp: &Ctp, limits: &Limits<'_>) -> Pairs {
    at_same_endpoint(ctp, limits, |_, _| true)
}

/// The pairs whose places allow it; fewer of them, once a limit is hit.
pub fn by_place(ctp: &Ctp, limits: &Limits<'_>) -> Pairs {
    at_same_endpoint(ctp, limits, |r, s| place_allows(ctp, r, s))
}

/// Before a message is received, those sent before it on the same channel are, and at most all of other channels.
pub fn place_allows(ctp: &Ctp, r: ReceiveId, s: SendId) -> bool {
    let (receive, send) = (&ctp.receives[r], &ctp.sends[s]);
    let others = ctp.endpoints[receive.endpoint].incoming.len() - ctp.channels[send.channel].sends.len();
    send.rank <= receive.rank && receive.rank <= send.rank + others
}

fn at_same_endpoint(ctp: &Ctp, limits: &Limits<'_>, keep: impl Fn(ReceiveId, SendId) -> bool) -> Pairs {
    let of_receive = |(r, receive): (ReceiveId, &crate::ctp::Receive)| {
        if limits.are_hit() {
            return Vec::new();
        }
        let incoming = &ctp.endpoints[receive.endpoint].incoming;
        let mut sends: Vec<SendId> = incoming.iter().copied().filter(|s| keep(r, *s)).collect();
        sends.sort_unstable();
        sends
    };
    Pairs { of_receive: ctp.receives.iter().enumerate().map(of_receive).collect() }
}

/// How many commands of other nodes must have been executed: the nodes in order.
type Past = Vec<(NodeId, usize)>;

/// What has been executed of other nodes before each send and each mark, in every run.
#[derive(PartialEq, Eq)]
struct Pasts {
    sends: Vec<Rc<Past>>,
    marks: Vec<Rc<Past>>,
}

/// Numbers in all pasts together, at most. If there are more, the pairs are those whose places allow it.
const MOST: usize = 1 << 24;

/// The pairs whose places and whose order allow it; more of them, once a limit is hit.
pub fn tight(ctp: &Ctp, limits: &Limits<'_>) -> Pairs {
    let mut pairs = by_place(ctp, limits);
    while let Some(pasts) = pasts(ctp, &pairs, limits) {
        let changed = pairs.retain(|r, s| {
            let (receive, send) = (&ctp.receives[r], &ctp.sends[s]);
            let Some(done) = receive.done else { return true };
            // Is the receive complete before the message is sent?
            match receive.node == send.node {
                true => send.at <= done,
                false => executed(&pasts.sends[s], receive.node) <= done,
            }
        });
        if !changed || limits.are_hit() {
            break;
        }
    }
    pairs
}

/// What has been executed before each send and mark, in every run: program order, marks, and what all messages that a
/// completed receive may get have in common. `None` if that is too much, or a limit is hit.
fn pasts(ctp: &Ctp, pairs: &Pairs, limits: &Limits<'_>) -> Option<Pasts> {
    let nothing: Rc<Past> = Rc::default();
    let mut pasts =
        Pasts { sends: vec![nothing.clone(); ctp.sends.len()], marks: vec![nothing.clone(); ctp.marks.len()] };
    // The receives that a command is the first to complete.
    let mut completed: HashMap<(NodeId, usize), Vec<ReceiveId>> = HashMap::new();
    for (r, receive) in ctp.receives.iter().enumerate() {
        if let Some(done) = receive.done {
            completed.entry((receive.node, done)).or_default().push(r);
        }
    }
    loop {
        let (mut changed, mut size) = (false, 0);
        // Receives of the same messages have the same in common; what is out of date is done again in the next round.
        let mut last: Option<(ReceiveId, Past)> = None;
        for node in 0..ctp.nodes.len() {
            let mut now = nothing.clone();
            let learn = |now: &mut Rc<Past>, other: &[(NodeId, usize)]| {
                if other.iter().any(|(n, count)| *n != node && executed(now, *n) < *count) {
                    *now = Rc::new(joined(now, other, node));
                }
            };
            for (at, command) in ctp.nodes[node].commands.iter().enumerate() {
                if limits.are_hit() || size > MOST {
                    return None;
                }
                let known = match command.kind {
                    CommandKind::Send(s) => Some(&mut pasts.sends[s]),
                    CommandKind::Mark(m) => Some(&mut pasts.marks[m]),
                    _ => None,
                };
                if let Some(known) = known
                    && !Rc::ptr_eq(known, &now)
                {
                    changed |= **known != *now;
                    *known = now.clone();
                }
                if let CommandKind::After(mark) = command.kind {
                    let mark = &ctp.marks[mark];
                    if ctp.is_there(mark) {
                        let CommandKind::Mark(id) = *ctp.command(mark.node, mark.at) else { continue };
                        let before = with(&pasts.marks[id], mark.node, mark.at + 1);
                        learn(&mut now, &before);
                        size += now.len();
                    }
                }
                for r in completed.get(&(node, at)).into_iter().flatten() {
                    let sends = &pairs.of_receive[*r];
                    if last.as_ref().is_none_or(|(other, _)| pairs.of_receive[*other] != *sends) {
                        last = Some((*r, in_common(ctp, &pasts.sends, sends)));
                    }
                    if let Some((_, common)) = &last {
                        learn(&mut now, common);
                        size += now.len();
                    }
                }
            }
        }
        if !changed {
            return Some(pasts);
        }
    }
}

fn executed(past: &Past, node: NodeId) -> usize {
    past.binary_search_by_key(&node, |(n, _)| *n).map_or(0, |i| past[i].1)
}

/// A past and so many commands of one more node.
fn with(past: &Past, node: NodeId, count: usize) -> Past {
    let mut past = past.clone();
    match past.binary_search_by_key(&node, |(n, _)| *n) {
        Ok(i) => past[i].1 = past[i].1.max(count),
        Err(i) => past.insert(i, (node, count)),
    }
    past
}

/// Two pasts together, as far as they are of other nodes.
fn joined(a: &Past, b: &[(NodeId, usize)], own: NodeId) -> Past {
    let mut both: Past = a.iter().chain(b).copied().filter(|(n, _)| *n != own).collect();
    both.sort_unstable_by_key(|(n, count)| (*n, Reverse(*count)));
    both.dedup_by_key(|(n, _)| *n);
    both
}

/// What has been executed when one of these messages has been sent, whichever it is.
fn in_common(ctp: &Ctp, pasts: &[Rc<Past>], sends: &[SendId]) -> Past {
    let mut common: Option<Past> = None;
    for s in sends {
        let send = &ctp.sends[*s];
        let least = |n: NodeId| if n == send.node { send.at + 1 } else { executed(&pasts[*s], n) };
        match &mut common {
            None => common = Some(with(&pasts[*s], send.node, send.at + 1)),
            Some(common) => common.retain_mut(|(n, count)| {
                *count = (*count).min(least(*n));
                *count > 0
            }),
        }
        if common.as_ref().is_some_and(Vec::is_empty) {
            break;
        }
    }
    common.unwrap_or_default()
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
