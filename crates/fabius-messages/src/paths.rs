//! The other sides of the branches of a recorded path: whether some order of the messages takes them, and which one, so that
//! a run of the program can be asked for that does.
//!
//! Paper: DART: Directed Automated Random Testing (PLDI 2005), section 2.2.
//!
//! Deviations:
//! 1. What decides a branch is the order of messages, not an input: so what is handed to the program is who gets what.
//! 2. A branch is also a `wait_any` that reports another request, and a `test` with the other answer.
//! 3. The other nodes need not follow the recorded path any further than the branch depends on them. To cover all paths, a
//!    side is asked for again after everything that they may have decided before: a path is a side of each node.
//! 4. A branch may have more than two sides, where a program takes the number itself: those that are known are excluded.

use crate::ctp::{Command, CommandKind, Ctp, Expr, NodeId, Operator, Request, VariableId};
use crate::decide::{Error, Plan, Reached, reach};
use crate::replay::Move;
use crate::semantics::{State, initial};
use crate::syntax::negated;
use fabius_smt::{Limits, Watch};
use fabius_trace::Span;
use std::collections::{BTreeMap, BTreeSet};
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
                let taken = match reach(&other, node, &[], plan, &limits)? {
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

/// A path that is known.
struct Path {
    ctp: Ctp,
    /// For each node, by name, its branches.
    branches: BTreeMap<String, Vec<usize>>,
}

impl Path {
    fn new(ctp: Ctp) -> Path {
        let is_branch = |c: &Command| {
            matches!(c.kind, CommandKind::Assume(_) | CommandKind::Test { .. } | CommandKind::WaitAny { .. })
        };
        let of = |commands: &[Command]| (0..commands.len()).filter(|at| is_branch(&commands[*at])).collect();
        let branches = ctp.nodes.iter().map(|node| (node.name.clone(), of(&node.commands))).collect();
        Path { ctp, branches }
    }

    fn branches(&self, node: &str) -> &[usize] {
        self.branches.get(node).map_or(&[], Vec::as_slice)
    }

    fn node(&self, name: &str) -> Option<NodeId> {
        self.ctp.nodes.iter().position(|node| node.name == name)
    }

    /// What a node's branch said.
    fn said(&self, node: &str, number: usize) -> Option<&str> {
        let at = *self.branches(node).get(number)?;
        Some(self.ctp.nodes[self.node(node)?].commands[at].span.text(&self.ctp.source))
    }

    /// Whether the first branches of a node say the same on another path.
    fn agrees(&self, other: &Path, node: &str, branches: usize) -> bool {
        (0..branches).all(|n| self.said(node, n).is_some_and(|said| other.said(node, n) == Some(said)))
    }

    /// What a node has assumed there, in the variables of another path that the node took up to there.
    fn assumed(&self, node: &str, number: usize, other: &Path) -> Option<Expr> {
        let at = *self.branches(node).get(number)?;
        let (own, theirs) = (self.node(node)?, other.node(node)?);
        let CommandKind::Assume(e) = self.ctp.command(own, at) else { return None };
        renamed(e, &variables(&self.ctp, own), &variables(&other.ctp, theirs))
    }
}

/// The variables of a node, in the order in which they are named.
fn variables(ctp: &Ctp, node: NodeId) -> Vec<VariableId> {
    let of = |command: &Command| match &command.kind {
        CommandKind::Receive(r) => Some(ctp.receives[*r].variable),
        CommandKind::Assign(x, _) => Some(*x),
        _ => None,
    };
    ctp.nodes[node].commands.iter().filter_map(of).collect()
}

fn renamed(e: &Expr, from: &[VariableId], to: &[VariableId]) -> Option<Expr> {
    Some(match e {
        Expr::Const(n) => Expr::Const(*n),
        Expr::Variable(x) => Expr::Variable(*to.get(from.iter().position(|y| y == x)?)?),
        Expr::Not(e) => Expr::Not(Box::new(renamed(e, from, to)?)),
        Expr::Binary(operator, a, b) => {
            Expr::Binary(*operator, Box::new(renamed(a, from, to)?), Box::new(renamed(b, from, to)?))
        }
    })
}

/// What is asked: another side of a branch of a node, after what the other nodes have decided.
struct Asked<'a> {
    path: &'a Path,
    node: NodeId,
    number: usize,
    kind: &'a CommandKind,
    instead: &'a str,
}

impl Asked<'_> {
    /// The side as a command, without what known paths say there that decide the same before. `None`: that is all of it.
    /// And whether there are such paths.
    fn open_part(&self, known: &[Path], decided: &[usize]) -> (Option<CommandKind>, bool) {
        let Asked { path, node, number, kind, instead } = *self;
        let nodes = &path.ctp.nodes;
        let name = &nodes[node].name;
        let own = path.said(name, number);
        let same = |n: usize| if n == node { number } else { decided[n] };
        let mut open = kind.clone();
        let mut some = false;
        for other in known.iter().filter(|o| (0..nodes.len()).all(|n| path.agrees(o, &nodes[n].name, same(n)))) {
            let Some(said) = other.said(name, number).filter(|said| Some(*said) != own) else { continue };
            match &mut open {
                // `get` of a value has more than two sides.
                CommandKind::Assume(e) => {
                    let opposite = said == instead || Some(negated(said).as_str()) == own;
                    let Some(assumed) = other.assumed(name, number, path).filter(|_| !opposite) else {
                        return (None, true);
                    };
                    let before = Box::new(std::mem::replace(e, Expr::Const(1)));
                    *e = Expr::Binary(Operator::And, before, Box::new(Expr::Not(Box::new(assumed))));
                    some = true;
                }
                CommandKind::WaitAny { .. } if said != instead => {}
                _ => return (None, true),
            }
        }
        (Some(open), some)
    }
}

/// The other sides of a path that no known path takes, each after everything that the other nodes may have decided on this
/// path by then. That a side is taken by some known path is not enough: a program may do something else on two sides
/// together.
fn new_sides(
    path: &Path,
    plan: &Plan,
    stop: &Arc<AtomicBool>,
    known: &[Path],
    found: &mut dyn FnMut(Guide),
) -> Result<(), Error> {
    let watch = Watch::begin(stop, plan.memory);
    let limits = Limits { deadline: plan.time.and_then(|t| Instant::now().checked_add(t)), stop: &watch.stop };
    let ctp = &path.ctp;
    let branches: Vec<&[usize]> = ctp.nodes.iter().map(|n| path.branches(&n.name)).collect();
    for node in 0..ctp.nodes.len() {
        for (number, at) in branches[node].iter().enumerate() {
            for (kind, instead) in alternatives(ctp, node, *at) {
                let span = ctp.nodes[node].commands[*at].span;
                let asked = Asked { path, node, number, kind: &kind, instead: &instead };
                // How many branches each node has decided as on this path, at least; more and more.
                let mut open = vec![vec![0; ctp.nodes.len()]];
                let mut seen: BTreeSet<Vec<usize>> = BTreeSet::new();
                while let Some(decided) = open.pop() {
                    if limits.are_hit() {
                        return Err(not_known(&instead));
                    }
                    let (part, some) = asked.open_part(known, &decided);
                    if let Some(kind) = part {
                        let other = ctp.cut(node, *at, Command { span, kind });
                        let executed = |n: usize| decided[n].checked_sub(1).map_or(0, |last| branches[n][last] + 1);
                        let least: Vec<usize> = (0..decided.len()).map(executed).collect();
                        match reach(&other, node, &least, plan, &limits)? {
                            Reached::By(moves) => found(guide(&other, plan, &moves)),
                            // Nor after even more.
                            Reached::Never if !some => continue,
                            Reached::Never => {}
                            Reached::Unknown => return Err(not_known(&instead)),
                        }
                    }
                    for n in (0..decided.len()).filter(|n| *n != node && decided[*n] < branches[*n].len()) {
                        let mut more = decided.clone();
                        more[n] += 1;
                        if seen.insert(more.clone()) {
                            open.push(more);
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

fn not_known(instead: &str) -> Error {
    Error::Internal(format!("it is not known whether `{instead}` is taken"))
}

/// Runs a program on all of its paths: `record` runs it under a guide and gives the trace; every other side that some order
/// of the messages takes is asked for, after all that the other nodes may have decided by then, until nothing is new. Calls
/// `decide` with the trace of each path.
///
/// # Errors
/// What `record` or `decide` says, and that a limit was hit before it was known whether a side is taken.
pub fn cover(
    plan: &Plan,
    stop: &Arc<AtomicBool>,
    record: &mut dyn FnMut(&Guide) -> Result<String, String>,
    decide: &mut dyn FnMut(&Ctp) -> Result<(), String>,
) -> Result<BTreeSet<String>, Error> {
    let mut paths = BTreeSet::new();
    let mut known: Vec<Path> = Vec::new();
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
        known.push(Path::new(ctp));
        new_sides(&known[known.len() - 1], plan, stop, &known, &mut |guide| {
            if asked.insert(guide.clone()) {
                open.push(guide);
            }
        })?;
    }
    Ok(paths)
}
