//! From a model of a formula to a schedule, and from a schedule to a trace: both by the interpreter. A model that is no run
//! comes back with the reason.

use crate::Property;
use crate::ctp::{ChannelId, CommandKind, Ctp, Expr, NodeId, ReceiveId, Request, SendId, VariableId};
use crate::semantics::{Buffering, Matching, State, Status, initial};
use crate::syntax::on_one_line;
use fabius_trace::{
    Action, After, Bound, BugKind, Change, ErrorTrace, Lane, LaneKind, LineCol, Link, LinkKind, Mark, Points,
    ProgramId, SchedulerKind, Scope, Span, Step, TRACE_VERSION, Turn,
};
use std::collections::HashMap;

/// What a formula says of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Which message each receive gets.
    pub matching: Matching,
    /// For messages that may be received where nothing is said: from which place on.
    pub not_before: Vec<Option<usize>>,
    /// How many commands each node executes.
    pub stops: Vec<usize>,
}

/// One move of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A node executes its next command.
    Execute(NodeId),
    /// The next message of a channel arrives.
    Deliver(ChannelId),
}

/// The node that somebody waits for, and the receive and the message for which it does.
type Wanted = (NodeId, Option<(ReceiveId, SendId)>);

/// Why a model is no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spurious {
    /// In a sentence.
    pub reason: String,
    /// The pairs that cannot be matches together.
    pub pairs: Matching,
}

/// The schedule of a model: messages arrive as late as they can, in the order of the receives.
///
/// # Errors
/// [`Spurious`]: there is none.
pub fn schedule(
    ctp: &Ctp,
    buffering: Buffering,
    property: Option<Property>,
    model: &Model,
) -> Result<Vec<Move>, Spurious> {
    let mut run = Run {
        ctp,
        buffering,
        model,
        state: initial(ctp),
        moves: Vec::new(),
        sender: vec![None; ctp.receives.len()],
        receiver: vec![None; ctp.sends.len()],
        incomplete: ctp.found_incomplete(),
    };
    for (r, s) in &model.matching {
        run.sender[*r] = Some(*s);
        run.receiver[*s] = Some(*r);
    }
    loop {
        let before = run.moves.len();
        for node in 0..ctp.nodes.len() {
            while run.state.at[node] < model.stops[node] && run.advance(node) {}
        }
        if run.moves.len() == before {
            break;
        }
    }
    if (0..ctp.nodes.len()).any(|n| run.state.at[n] < model.stops[n]) {
        return Err(run.stuck());
    }
    if property == Some(Property::Deadlock) {
        // What can still arrive does: first what the model says, also where nobody waits for it.
        for endpoint in &ctp.endpoints {
            if let Some(last) = endpoint.receives.iter().rev().find(|r| run.sender[**r].is_some()) {
                run.fill(*last);
            }
        }
        while let Some(channel) = (0..ctp.channels.len()).find(|c| run.state.can_deliver(ctp, buffering, *c)) {
            run.make(Move::Deliver(channel));
        }
    }
    let wrong = match property {
        _ if run.state.status == Status::Error => Some("a number leaves 64 bits"),
        _ if run.state.status >= Status::Infeasible => Some("the run takes another path"),
        Some(Property::Assert) if run.state.failed.is_none() => Some("no assertion fails"),
        Some(Property::Unmatched) if run.state.unmatched(ctp).is_empty() => Some("every message is received"),
        Some(Property::Deadlock) if !is_deadlock(ctp, buffering, &run.state) => Some("somebody can go on"),
        _ => None,
    };
    match wrong {
        None => Ok(run.moves),
        Some(reason) => Err(Spurious { reason: reason.into(), pairs: model.matching.clone() }),
    }
}

/// Whether somebody has not finished, and nobody can go on.
pub fn is_deadlock(ctp: &Ctp, buffering: Buffering, state: &State) -> bool {
    !state.is_complete(ctp)
        && !(0..ctp.nodes.len()).any(|n| state.can_execute(ctp, buffering, n))
        && !(0..ctp.channels.len()).any(|c| state.can_deliver(ctp, buffering, c))
}

struct Run<'a> {
    ctp: &'a Ctp,
    buffering: Buffering,
    model: &'a Model,
    state: State,
    moves: Vec<Move>,
    sender: Vec<Option<SendId>>,
    receiver: Vec<Option<ReceiveId>>,
    /// What must not be complete at some commands.
    incomplete: Vec<(NodeId, usize, Request)>,
}

impl Run<'_> {
    /// Makes a move; a number beyond 64 bits is an error that shows in the status.
    fn make(&mut self, mv: Move) {
        match mv {
            Move::Execute(node) => {
                if self.state.execute(self.ctp, self.buffering, node).is_err() {
                    self.state.status = Status::Error;
                    self.state.at[node] += 1;
                }
            }
            Move::Deliver(channel) => {
                self.state.deliver(self.ctp, self.buffering, channel);
            }
        }
        self.moves.push(mv);
    }

    /// Lets messages arrive that the next command of the node waits for, and executes it; whether that was possible.
    fn advance(&mut self, node: NodeId) -> bool {
        let needed = self.ctp.completes(node, self.state.at[node]);
        let last = match needed {
            Some(Request::Receive(r)) => Some(r),
            Some(Request::Send(s)) if self.buffering == Buffering::Zero => match self.receiver[s] {
                Some(r) => Some(r),
                None => return false,
            },
            _ => None,
        };
        if last.is_some_and(|r| !self.fill(r)) {
            return false;
        }
        let is_wait = matches!(
            self.ctp.command(node, self.state.at[node]),
            CommandKind::Wait(_) | CommandKind::WaitAny { .. } | CommandKind::After(_)
        );
        if is_wait && !self.state.can_execute(self.ctp, self.buffering, node) {
            return false;
        }
        self.make(Move::Execute(node));
        true
    }

    /// Makes the messages of all receives up to this one arrive.
    fn fill(&mut self, r: ReceiveId) -> bool {
        let endpoint = self.ctp.receives[r].endpoint;
        while self.state.arrived[endpoint].len() <= self.ctp.receives[r].rank {
            let next = self.ctp.endpoints[endpoint].receives[self.state.arrived[endpoint].len()];
            let channel = match self.sender[next] {
                Some(s) => self.can_arrive(next, s),
                None => self.any_for(next),
            };
            let Some(channel) = channel else { return false };
            self.make(Move::Deliver(channel));
        }
        true
    }

    /// The channel of a message that may come now, for a receive of which nothing is said.
    fn any_for(&self, r: ReceiveId) -> Option<ChannelId> {
        let place = self.ctp.receives[r].rank;
        let may = |s: &SendId| {
            let from = self.model.not_before[*s];
            self.receiver[*s].is_none() && from.is_some_and(|from| from <= place) && self.can_arrive(r, *s).is_some()
        };
        let incoming = &self.ctp.endpoints[self.ctp.receives[r].endpoint].incoming;
        incoming.iter().find(|s| may(s)).map(|s| self.ctp.sends[*s].channel)
    }

    /// The channel of a message, if that is the next to arrive from it, and nobody is still to find it missing.
    fn can_arrive(&self, r: ReceiveId, s: SendId) -> Option<ChannelId> {
        let is_early = |(node, at, request): &(NodeId, usize, Request)| {
            let comes = (self.state.at[*node]..self.model.stops[*node]).contains(at);
            comes && (*request == Request::Receive(r) || *request == Request::Send(s))
        };
        if self.incomplete.iter().any(is_early) {
            return None;
        }
        let channel = self.ctp.sends[s].channel;
        let is_next = self.state.delivered[channel] == self.ctp.sends[s].rank;
        (is_next && self.state.can_deliver(self.ctp, self.buffering, channel)).then_some(channel)
    }

    /// Why the nodes cannot go on: a message that must overtake another, or waits that wait for each other.
    fn stuck(&self) -> Spurious {
        let ctp = self.ctp;
        let whole = |reason: String| Spurious { reason, pairs: self.model.matching.clone() };
        let mut waiting: Vec<Option<Wanted>> = vec![None; ctp.nodes.len()];
        for (node, waits) in waiting.iter_mut().enumerate() {
            if self.state.at[node] >= self.model.stops[node] {
                continue;
            }
            if let CommandKind::After(mark) = ctp.command(node, self.state.at[node]) {
                *waits = Some((ctp.marks[*mark].node, None));
                continue;
            }
            let Some(Request::Receive(last)) = ctp.completes(node, self.state.at[node]) else {
                return whole("a send waits for a receive that comes too late".into());
            };
            let endpoint = ctp.receives[last].endpoint;
            let Some(r) = ctp.endpoints[endpoint].receives.get(self.state.arrived[endpoint].len()) else {
                return whole("more messages arrive than are received".into());
            };
            let Some(s) = self.sender[*r] else {
                return whole(format!("{} gets no message", ctp.receives[*r].name));
            };
            let send = &ctp.sends[s];
            if self.state.is_sent(ctp, s) {
                // It is not the next one of its channel.
                let first = ctp.channels[send.channel].sends[self.state.delivered[send.channel]];
                let reason = format!("{} would overtake {}", send.name, ctp.sends[first].name);
                return match self.receiver[first] {
                    Some(other) if first != s => Spurious { reason, pairs: vec![(*r, s), (other, first)] },
                    _ => whole(reason),
                };
            }
            *waits = Some((send.node, Some((*r, s))));
        }
        // Each waits for a node that waits: follow until one comes again.
        let Some(start) = waiting.iter().position(Option::is_some) else { return whole("nobody can go on".into()) };
        let mut path: Vec<NodeId> = vec![start];
        loop {
            let node = path[path.len() - 1];
            let Some((next, _)) = waiting[node] else { return whole("a message is sent too late".into()) };
            if let Some(begin) = path.iter().position(|n| *n == next) {
                let pairs: Matching = path[begin..].iter().filter_map(|n| waiting[*n]?.1).collect();
                if pairs.is_empty() {
                    return whole("marks wait for each other".into());
                }
                let names: Vec<String> = pairs
                    .iter()
                    .map(|(r, s)| format!("{} waits for {}", ctp.receives[*r].name, ctp.sends[*s].name))
                    .collect();
                return Spurious { reason: format!("in a circle: {}", names.join(", ")), pairs };
            }
            path.push(next);
        }
    }
}

/// Runs a schedule from the beginning and tells what happens.
///
/// # Errors
/// In a sentence, if the schedule is not possible or does not end in such a bug.
pub fn trace(
    ctp: &Ctp,
    id: &ProgramId,
    buffering: Buffering,
    property: Property,
    moves: &[Move],
) -> Result<ErrorTrace, String> {
    let mut state = initial(ctp);
    let mut steps: Vec<Step> = Vec::new();
    let mut links: Vec<Link> = Vec::new();
    let mut sent_in: Vec<u32> = vec![0; ctp.sends.len()];
    let places = places(ctp);
    let action = |span: Span| action(ctp, span, places[&span.start]);
    for (number, mv) in moves.iter().enumerate() {
        let step = match *mv {
            Move::Execute(node) => {
                let command = ctp.nodes[node].commands.get(state.at[node]).ok_or("a node has nothing left to do")?;
                let received =
                    state.execute(ctp, buffering, node).map_err(|_| "a number has more than 64 bits".to_string())?;
                let received = received.iter().map(|r| ctp.receives[*r].variable);
                let assigned = match command.kind {
                    CommandKind::Assign(x, _) => Some(x),
                    _ => None,
                };
                let change = |x: VariableId| Change {
                    variable: ctp.variables[x].clone(),
                    scope: Scope::Lane,
                    old: "?".into(),
                    new: state.values[x].to_string(),
                };
                let action = Action {
                    changes: received.chain(assigned).map(change).collect(),
                    note: (state.failed == Some((node, state.at[node] - 1))).then(|| "fails".into()),
                    ..action(command.span)
                };
                let waits = !state.can_execute(ctp, buffering, node);
                let after = match state.is_finished(ctp, node) {
                    true => Some(After::Finished),
                    false => waits.then_some(After::Waits),
                };
                if let CommandKind::Send(s) = command.kind {
                    sent_in[s] = steps.len() as u32;
                }
                match steps.last_mut() {
                    Some(last) if command.kind.is_local() && last.turn.task == node as u32 => {
                        last.actions.push(action);
                        last.after = after;
                        continue;
                    }
                    _ => {}
                }
                let (turn, actions) = (turn(node), vec![action]);
                Step { turn, lane: node as u32, task_name: None, mark: None, level: None, actions, after }
            }
            Move::Deliver(channel) => {
                let known = channel < ctp.channels.len();
                let s = known.then(|| state.deliver(ctp, buffering, channel)).flatten();
                let s = s.ok_or("no message can arrive")?;
                let (send, of) = (&ctp.sends[s], &ctp.channels[channel]);
                let span = ctp.nodes[send.node].commands[send.at].span;
                let text = format!("{} = {}", send.name, state.sent[s]);
                let to = ctp.endpoints[of.to].owner.unwrap_or(send.node);
                let (from, now) = (sent_in[s], steps.len() as u32);
                links.push(Link { kind: LinkKind::Message, from, to: now, label: Some(text.clone()) });
                let action = Action { text, ..action(span) };
                Step {
                    turn: turn(ctp.nodes.len() + channel),
                    lane: to as u32,
                    task_name: None,
                    mark: Some(Mark::Message { from: send.node as u32 }),
                    level: None,
                    actions: vec![action],
                    after: None,
                }
            }
        };
        if state.status >= Status::Infeasible {
            return Err(format!("move {} is not possible on this path", number + 1));
        }
        steps.push(step);
    }
    let (kind, message, span) = ending(ctp, buffering, property, &state)?;
    let lanes = ctp.nodes.iter().map(|n| Lane { name: n.name.clone(), kind: LaneKind::Node }).collect();
    Ok(ErrorTrace {
        version: TRACE_VERSION,
        stale: 0,
        data_points: Vec::new(),
        program: id.clone(),
        kind,
        message,
        span,
        bound: Bound::None,
        cost: 0,
        scheduler: SchedulerKind::Bag,
        points: Points::All,
        property: None,
        cycle: None,
        lanes,
        steps,
        links,
    })
}

fn turn(task: usize) -> Turn {
    Turn { task: task as u32, choices: Vec::new() }
}

/// Where each command begins, for people.
fn places(ctp: &Ctp) -> HashMap<u32, LineCol> {
    let mut starts: Vec<u32> = ctp.nodes.iter().flat_map(|n| &n.commands).map(|c| c.span.start).collect();
    starts.sort_unstable();
    starts.dedup();
    let (mut line, mut column) = (1, 1);
    let mut next = starts.into_iter().peekable();
    let mut places = HashMap::new();
    for (at, c) in ctp.source.char_indices() {
        if next.next_if_eq(&(at as u32)).is_some() {
            places.insert(at as u32, LineCol { line, column });
        }
        (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    places
}

fn action(ctp: &Ctp, span: Span, at: LineCol) -> Action {
    Action { span, at, file: None, text: text_of(ctp, span), stack: Vec::new(), changes: Vec::new(), note: None }
}

/// A command on one line.
fn text_of(ctp: &Ctp, span: Span) -> String {
    on_one_line(span.text(&ctp.source))
}

/// The bug that the state has come to.
fn ending(
    ctp: &Ctp,
    buffering: Buffering,
    property: Property,
    state: &State,
) -> Result<(BugKind, String, Span), String> {
    let span = |node: NodeId, at: usize| ctp.nodes[node].commands[at].span;
    match property {
        Property::Assert => {
            let (node, at) = state.failed.filter(|_| state.is_complete(ctp)).ok_or("no assertion fails")?;
            let CommandKind::Assert(e, why) = ctp.command(node, at) else { return Err("no assertion fails".into()) };
            let why = why.as_ref().map_or(String::new(), |w| format!(": {w}"));
            let text = text_of(ctp, span(node, at));
            Ok((
                BugKind::Assertion,
                format!("assertion failed{why}: `{text}`{}", values(ctp, state, e)),
                span(node, at),
            ))
        }
        Property::Unmatched => {
            let lost = state.unmatched(ctp);
            let s = *lost.first().filter(|_| state.is_complete(ctp)).ok_or("every message is received")?;
            let send = &ctp.sends[s];
            let more = match lost.len() {
                1 => String::new(),
                n => format!(" ({} more)", n - 1),
            };
            let message = format!("message {} from {} is never received{more}", send.name, ctp.nodes[send.node].name);
            Ok((BugKind::Unmatched, message, span(send.node, send.at)))
        }
        Property::Deadlock => {
            if !is_deadlock(ctp, buffering, state) {
                return Err("somebody can go on".into());
            }
            let stuck = |n: &NodeId| !state.is_finished(ctp, *n);
            let who: Vec<NodeId> = (0..ctp.nodes.len()).filter(stuck).collect();
            let wait =
                |n: &NodeId| format!("{} waits at `{}`", ctp.nodes[*n].name, text_of(ctp, span(*n, state.at[*n])));
            let text: Vec<String> = who.iter().map(wait).collect();
            Ok((BugKind::Deadlock, format!("deadlock: {}", text.join(", ")), span(who[0], state.at[who[0]])))
        }
    }
}

/// ` (a = 1, b = 4)`.
fn values(ctp: &Ctp, state: &State, e: &Expr) -> String {
    let mut all: Vec<VariableId> = Vec::new();
    e.each_variable(&mut |x| {
        if !all.contains(&x) {
            all.push(x);
        }
    });
    let texts: Vec<String> = all.iter().map(|x| format!("{} = {}", ctp.variables[*x], state.values[*x])).collect();
    if texts.is_empty() { String::new() } else { format!(" ({})", texts.join(", ")) }
}

/// Runs the schedule of a saved trace again.
///
/// # Errors
/// In a sentence, if something else happens than the trace says, with any network.
pub fn again(ctp: &Ctp, id: &ProgramId, saved: &ErrorTrace) -> Result<ErrorTrace, String> {
    let property = match saved.kind {
        BugKind::Deadlock => Property::Deadlock,
        BugKind::Unmatched => Property::Unmatched,
        _ => Property::Assert,
    };
    let moves: Vec<Move> = saved.steps.iter().flat_map(|step| moves_of(ctp, step)).collect();
    let mut wrong = String::new();
    // The trace does not say which network it was.
    for buffering in [Buffering::Infinite, Buffering::Zero] {
        match trace(ctp, id, buffering, property, &moves) {
            // The file may be elsewhere; all else is the same.
            Ok(again) if again == ErrorTrace { program: again.program.clone(), ..saved.clone() } => return Ok(again),
            Ok(_) => wrong = "the trace shows something else than what happens".into(),
            Err(reason) => wrong = reason,
        }
    }
    Err(wrong)
}

fn moves_of(ctp: &Ctp, step: &Step) -> Vec<Move> {
    let task = step.turn.task as usize;
    match task.checked_sub(ctp.nodes.len()) {
        None => vec![Move::Execute(task); step.actions.len()],
        Some(channel) => vec![Move::Deliver(channel)],
    }
}
