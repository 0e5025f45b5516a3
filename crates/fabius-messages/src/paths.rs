//! The other sides of the branches of a recorded path: whether some order of the messages takes them, and which one, so that
//! a run of the program can be asked for that does.
//!
//! Paper: DART: Directed Automated Random Testing (PLDI 2005), section 2.2.
//!
//! Deviations:
//! 1. What decides a branch is the order of messages, not an input: so what is handed to the program is who gets what.
//! 2. A branch is also a `wait_any` that reports another request, and a `test` with the other answer.
//! 3. The other nodes need not follow the recorded path any further than the branch depends on them.

use crate::ctp::{Command, CommandKind, Ctp, Expr, NodeId, Request};
use crate::decide::{Error, Plan, Reached, reach};
use crate::replay::Move;
use crate::semantics::{State, initial};
use crate::syntax::negated;
use fabius_smt::{Limits, Watch};
use fabius_trace::Span;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A side of a branch that the recorded run did not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The command.
    pub span: Span,
    /// What happens there instead, as a command.
    pub instead: String,
    /// Whether some order of the messages takes it.
    pub taken: Taken,
}

/// Whether a side is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// By a run that does this.
    By(Guide),
    /// By none.
    Never,
    /// A limit was hit before it was known.
    Unknown,
}

/// What a run must do to take a side, by names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guide {
    /// For each endpoint, where its first messages come from.
    pub arrivals: Vec<(String, Vec<String>)>,
    /// For each node, what its first `wait_any` and `test` say: the number of the request, or 1 for yes.
    pub outcomes: Vec<(String, Vec<usize>)>,
}

/// All other sides of the recorded path, of every node in order. The time of the plan is for all of them.
///
/// # Errors
/// [`Error`].
pub fn other_sides(ctp: &Ctp, plan: &Plan, stop: &Arc<AtomicBool>) -> Result<Vec<Side>, Error> {
    let mut all = Vec::new();
    let watch = Watch::begin(stop, plan.memory);
    let limits = Limits { deadline: plan.time.and_then(|t| Instant::now().checked_add(t)), stop: &watch.stop };
    for node in 0..ctp.nodes.len() {
        for at in 0..ctp.nodes[node].commands.len() {
            for (kind, instead) in alternatives(ctp, node, at) {
                let span = ctp.nodes[node].commands[at].span;
                if limits.are_hit() {
                    all.push(Side { span, instead, taken: Taken::Unknown });
                    continue;
                }
                let other = ctp.cut(node, at, Command { span, kind });
                let taken = match reach(&other, node, plan, &limits)? {
                    Reached::By(moves) => Taken::By(guide(&other, plan, &moves)),
                    Reached::Never => Taken::Never,
                    Reached::Unknown => Taken::Unknown,
                };
                all.push(Side { span, instead, taken });
            }
        }
    }
    Ok(all)
}

/// What else a command could have said.
fn alternatives(ctp: &Ctp, node: NodeId, at: usize) -> Vec<(CommandKind, String)> {
    let name = |request: &Request| match request {
        Request::Send(s) => ctp.sends[*s].name.clone(),
        Request::Receive(r) => ctp.receives[*r].name.clone(),
    };
    match ctp.command(node, at) {
        CommandKind::Assume(e) => {
            let instead = negated(ctp.nodes[node].commands[at].span.text(&ctp.source));
            vec![(CommandKind::Assume(Expr::Not(Box::new(e.clone()))), instead)]
        }
        CommandKind::Test { request, answer } => {
            let kind = CommandKind::Test { request: *request, answer: !answer };
            vec![(kind, format!("test {} is {}", name(request), !answer))]
        }
        CommandKind::WaitAny { requests, chosen } => {
            let names: Vec<String> = requests.iter().map(name).collect();
            let other = |r: &Request| {
                let kind = CommandKind::WaitAny { requests: requests.clone(), chosen: *r };
                (kind, format!("wait_any {} is {}", names.join(", "), name(r)))
            };
            requests.iter().filter(|r| *r != chosen).map(other).collect()
        }
        _ => Vec::new(),
    }
}

/// What happens in these moves, by names.
fn guide(ctp: &Ctp, plan: &Plan, moves: &[Move]) -> Guide {
    let mut state: State = initial(ctp);
    let mut guide = Guide::default();
    for node in &ctp.nodes {
        guide.outcomes.push((node.name.clone(), Vec::new()));
    }
    for mv in moves {
        match mv {
            Move::Execute(node) => {
                match ctp.command(*node, state.at[*node]) {
                    CommandKind::WaitAny { requests, chosen } => {
                        let which = requests.iter().position(|r| r == chosen);
                        guide.outcomes[*node].1.extend(which);
                    }
                    CommandKind::Test { answer, .. } => guide.outcomes[*node].1.push(usize::from(*answer)),
                    _ => {}
                }
                // It was possible before.
                let _ = state.execute(ctp, plan.buffering, *node);
            }
            Move::Deliver(channel) => {
                state.deliver(ctp, plan.buffering, *channel);
            }
        }
    }
    for (endpoint, arrived) in ctp.endpoints.iter().zip(&state.arrived) {
        let source = |s: &usize| ctp.endpoints[ctp.channels[ctp.sends[*s].channel].from].name.clone();
        guide.arrivals.push((endpoint.name.clone(), arrived.iter().map(source).collect()));
    }
    guide
}

/// Runs a program on all of its paths: `record` runs it under a guide and gives the trace; every other side that some order
/// of the messages takes is asked for, until nothing is new. Calls `decide` with the trace of each path.
///
/// # Errors
/// What `record` or `decide` says, and [`other_sides`].
pub fn cover(
    plan: &Plan,
    stop: &Arc<AtomicBool>,
    record: &mut dyn FnMut(&Guide) -> Result<String, String>,
    decide: &mut dyn FnMut(&Ctp) -> Result<(), String>,
) -> Result<BTreeSet<String>, Error> {
    let mut paths = BTreeSet::new();
    let mut asked: BTreeSet<Guide> = BTreeSet::new();
    let mut open = vec![Guide::default()];
    while let Some(guide) = open.pop() {
        let trace = record(&guide).map_err(Error::Internal)?;
        if paths.contains(&trace) {
            continue;
        }
        let wrong =
            |d: Vec<fabius_trace::Diagnostic>| Error::Internal(format!("a recorded trace is wrong: {}", d[0].message));
        let ctp = crate::parse(&trace).map_err(wrong)?;
        decide(&ctp).map_err(Error::Internal)?;
        paths.insert(trace);
        for side in other_sides(&ctp, plan, stop)? {
            match side.taken {
                Taken::By(guide) if asked.insert(guide.clone()) => open.push(guide),
                Taken::By(_) | Taken::Never => {}
                Taken::Unknown => {
                    return Err(Error::Internal(format!("it is not known whether `{}` is taken", side.instead)));
                }
            }
        }
    }
    Ok(paths)
}
