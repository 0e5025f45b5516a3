//! What trace programs do: the interpreter, which is the simulator, what is explored, and what replays every schedule.
//!
//! Paper: Proving MCAPI Executions are Correct, Applying SMT to Message Passing (P4), Figures 5 to 7.
//!
//! Deviations:
//! 1. Queues are first in, first out (as printed they are stacks, which contradicts the paper's own example).
//! 2. The i-th receive posted at an endpoint gets the i-th message that arrives there. So the queues of posted receives and
//!    of arrived messages are never shortened ("get, mark, remove"): the places in them are what matters.
//! 3. A message arrives by a step of its channel, not by a list of moves at a command. Messages that are never received are
//!    allowed.
//! 4. With zero buffering, a message arrives only when a receive has been posted for it, and a wait for a send waits for
//!    that.
//! 5. `mark` and `after`, which the paper does not have, are an order between nodes that no message makes.
//! 6. A run in which a `wait_any` or `test` has another outcome than the recorded one took another path: infeasible.

use crate::ctp::{ChannelId, CommandKind, Ctp, NodeId, Overflow, ReceiveId, Request, SendId};
use fabius_smt::Limits;
use std::collections::{BTreeSet, VecDeque};

/// How much the network holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buffering {
    /// Any number of messages: a send is complete at once.
    #[default]
    Infinite,
    /// Nothing: a send is complete when its message is received.
    Zero,
}

/// What a run has come to. It only gets worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nothing is wrong.
    Success,
    /// An assertion has failed.
    Failure,
    /// The run took another path than the recorded one: it says nothing of this path.
    Infeasible,
    /// A step was made that was not possible.
    Error,
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// How many commands each node has executed.
    pub at: Vec<usize>,
    /// Values of the variables.
    pub values: Vec<i64>,
    /// Values of the messages that were sent.
    pub sent: Vec<i64>,
    /// How many messages of each channel have arrived.
    pub delivered: Vec<usize>,
    /// The messages that have arrived at each endpoint, in this order.
    pub arrived: Vec<Vec<SendId>>,
    /// How many receives of each endpoint have been completed.
    pub received: Vec<usize>,
    /// What it has come to.
    pub status: Status,
    /// The first assertion that failed.
    pub failed: Option<(NodeId, usize)>,
}

/// The state before the first step.
pub fn initial(ctp: &Ctp) -> State {
    State {
        at: vec![0; ctp.nodes.len()],
        values: vec![0; ctp.variables.len()],
        sent: vec![0; ctp.sends.len()],
        delivered: vec![0; ctp.channels.len()],
        arrived: vec![Vec::new(); ctp.endpoints.len()],
        received: vec![0; ctp.endpoints.len()],
        status: Status::Success,
        failed: None,
    }
}

/// A run of the nodes in turn, in which messages arrive when nobody has anything else to do; it may come to no end, and goes on
/// no longer than the limits allow.
pub fn some_run(ctp: &Ctp, buffering: Buffering, limits: &Limits<'_>) -> State {
    let mut state = initial(ctp);
    let mut channels_to: Vec<Vec<ChannelId>> = vec![Vec::new(); ctp.endpoints.len()];
    ctp.channels.iter().enumerate().for_each(|(c, channel)| channels_to[channel.to].push(c));
    let mut waiting: Vec<Vec<NodeId>> = vec![Vec::new(); ctp.marks.len()];
    for (node, _, mark) in ctp.orders() {
        if let Some(CommandKind::Mark(id)) = ctp.nodes[mark.node].commands.get(mark.at).map(|c| &c.kind) {
            waiting[*id].push(node);
        }
    }
    // Nodes that may go on, and channels of which a message may arrive.
    let mut nodes: VecDeque<NodeId> = (0..ctp.nodes.len()).collect();
    let mut channels: BTreeSet<ChannelId> = BTreeSet::new();
    while !limits.are_hit() {
        if let Some(node) = nodes.pop_front() {
            while !limits.are_hit() && state.can_execute(ctp, buffering, node) {
                let at = state.at[node];
                // Numbers beyond 64 bits end the node's part.
                if state.execute(ctp, buffering, node).is_err() {
                    break;
                }
                match ctp.command(node, at) {
                    CommandKind::Send(s) => drop(channels.insert(ctp.sends[*s].channel)),
                    CommandKind::Receive(r) if buffering == Buffering::Zero => {
                        channels.extend(&channels_to[ctp.receives[*r].endpoint]);
                    }
                    CommandKind::Mark(mark) => nodes.extend(&waiting[*mark]),
                    _ => {}
                }
            }
            continue;
        }
        let Some(channel) = channels.pop_first() else { break };
        if state.can_deliver(ctp, buffering, channel) {
            let sent = state.deliver(ctp, buffering, channel);
            channels.insert(channel);
            nodes.extend(ctp.endpoints[ctp.channels[channel].to].owner);
            nodes.extend(sent.map(|s| ctp.sends[s].node));
        }
    }
    state
}

impl State {
    /// Whether a send has been executed.
    pub fn is_sent(&self, ctp: &Ctp, s: SendId) -> bool {
        ctp.sends[s].at < self.at[ctp.sends[s].node]
    }

    /// Whether the node has executed everything.
    pub fn is_finished(&self, ctp: &Ctp, node: NodeId) -> bool {
        self.at[node] == ctp.nodes[node].commands.len()
    }

    /// Whether every node has.
    pub fn is_complete(&self, ctp: &Ctp) -> bool {
        (0..ctp.nodes.len()).all(|n| self.is_finished(ctp, n))
    }

    /// How many receives have been posted at an endpoint.
    fn posted(&self, ctp: &Ctp, endpoint: usize) -> usize {
        let of = &ctp.endpoints[endpoint];
        of.owner.map_or(0, |owner| of.receives.partition_point(|r| ctp.receives[*r].at < self.at[owner]))
    }

    /// Whether the request is completed: its message has arrived.
    pub fn is_filled(&self, ctp: &Ctp, buffering: Buffering, request: Request) -> bool {
        match request {
            Request::Receive(r) => self.arrived[ctp.receives[r].endpoint].len() > ctp.receives[r].rank,
            Request::Send(_) if buffering == Buffering::Infinite => true,
            Request::Send(s) => self.delivered[ctp.sends[s].channel] > ctp.sends[s].rank,
        }
    }

    /// Whether the next command of the node can be executed.
    pub fn can_execute(&self, ctp: &Ctp, buffering: Buffering, node: NodeId) -> bool {
        match ctp.nodes[node].commands.get(self.at[node]).map(|c| &c.kind) {
            None => false,
            Some(CommandKind::Wait(request)) => self.is_filled(ctp, buffering, *request),
            Some(CommandKind::WaitAny { requests, .. }) => requests.iter().any(|r| self.is_filled(ctp, buffering, *r)),
            Some(CommandKind::After(mark)) => self.at[ctp.marks[*mark].node] > ctp.marks[*mark].at,
            Some(_) => true,
        }
    }

    /// Whether the next message of the channel can arrive.
    pub fn can_deliver(&self, ctp: &Ctp, buffering: Buffering, channel: ChannelId) -> bool {
        let of = &ctp.channels[channel];
        let waits = of.sends.get(self.delivered[channel]).is_some_and(|s| self.is_sent(ctp, *s));
        let fits = buffering == Buffering::Infinite || self.arrived[of.to].len() < self.posted(ctp, of.to);
        waits && fits
    }

    /// Makes the next message of the channel arrive, and says which one it is.
    pub fn deliver(&mut self, ctp: &Ctp, buffering: Buffering, channel: ChannelId) -> Option<SendId> {
        if !self.can_deliver(ctp, buffering, channel) {
            self.status = Status::Error;
            return None;
        }
        let of = &ctp.channels[channel];
        let s = of.sends[self.delivered[channel]];
        self.delivered[channel] += 1;
        self.arrived[of.to].push(s);
        Some(s)
    }

    /// Executes the next command of the node, and says which receives it completes.
    ///
    /// # Errors
    /// A number beyond 64 bits; the state is then as it was.
    pub fn execute(&mut self, ctp: &Ctp, buffering: Buffering, node: NodeId) -> Result<Vec<ReceiveId>, Overflow> {
        let mut received = Vec::new();
        if !self.can_execute(ctp, buffering, node) {
            self.status = Status::Error;
            return Ok(received);
        }
        let at = self.at[node];
        let value = |e: &crate::ctp::Expr| e.value(&|x| self.values[x]);
        match ctp.command(node, at) {
            CommandKind::Send(s) => self.sent[*s] = value(&ctp.sends[*s].value)?,
            CommandKind::Receive(_) | CommandKind::Mark(_) | CommandKind::After(_) => {}
            CommandKind::Wait(request) => self.complete(ctp, *request, &mut received),
            CommandKind::WaitAny { chosen, .. } => {
                if self.is_filled(ctp, buffering, *chosen) {
                    self.complete(ctp, *chosen, &mut received);
                } else {
                    self.status = self.status.max(Status::Infeasible);
                }
            }
            CommandKind::Test { request, answer } => {
                if self.is_filled(ctp, buffering, *request) != *answer {
                    self.status = self.status.max(Status::Infeasible);
                } else if *answer {
                    self.complete(ctp, *request, &mut received);
                }
            }
            CommandKind::Assume(e) => {
                if value(e)? == 0 {
                    self.status = self.status.max(Status::Infeasible);
                }
            }
            CommandKind::Assert(e, _) => {
                if value(e)? == 0 {
                    self.status = self.status.max(Status::Failure);
                    self.failed.get_or_insert((node, at));
                }
            }
            CommandKind::Assign(x, e) => {
                let v = value(e)?;
                self.values[*x] = v;
            }
        }
        self.at[node] += 1;
        Ok(received)
    }

    /// All receives up to this one get the messages in their places.
    fn complete(&mut self, ctp: &Ctp, request: Request, completed: &mut Vec<ReceiveId>) {
        let Request::Receive(r) = request else { return };
        let endpoint = ctp.receives[r].endpoint;
        for place in self.received[endpoint]..=ctp.receives[r].rank {
            let r = ctp.endpoints[endpoint].receives[place];
            self.values[ctp.receives[r].variable] = self.sent[self.arrived[endpoint][place]];
            completed.push(r);
        }
        self.received[endpoint] = self.received[endpoint].max(ctp.receives[r].rank + 1);
    }

    /// Which message each completed receive got.
    pub fn matching(&self, ctp: &Ctp) -> Matching {
        self.pairs(ctp, |endpoint| self.received[endpoint])
    }

    /// Which message each receive gets, also where nobody has seen it yet.
    pub fn arrivals(&self, ctp: &Ctp) -> Matching {
        self.pairs(ctp, |endpoint| self.arrived[endpoint].len())
    }

    /// The first receives and messages of each endpoint, so many.
    fn pairs(&self, ctp: &Ctp, count: impl Fn(usize) -> usize) -> Matching {
        let mut all = Matching::new();
        for (number, endpoint) in ctp.endpoints.iter().enumerate() {
            let pairs = endpoint.receives.iter().copied().zip(self.arrived[number].iter().copied());
            all.extend(pairs.take(count(number)));
        }
        all.sort_unstable();
        all
    }

    /// The messages that were sent and not received.
    pub fn unmatched(&self, ctp: &Ctp) -> Vec<SendId> {
        let mut is_matched = vec![false; ctp.sends.len()];
        self.matching(ctp).iter().for_each(|(_, s)| is_matched[*s] = true);
        (0..ctp.sends.len()).filter(|s| self.is_sent(ctp, *s) && !is_matched[*s]).collect()
    }
}

/// Pairs of a receive and the send whose message it gets, in order of the receives.
pub type Matching = Vec<(ReceiveId, SendId)>;
