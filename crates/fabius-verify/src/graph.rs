//! The graph of the states that schedules within a bound reach, with what people read: who does what in each step, and
//! which steps are those of a trace.

use crate::room::within_memory;
use crate::{Plan, options, reason};
use fabius_explore::graph::{self, NoGraph, Target};
use fabius_explore::search::{Bug, Cut, Monitor, Options};
use fabius_lang::program::Program;
use fabius_machine::{Machine, StepLimits};
use fabius_semantics::{Departure, Ending, Settings};
use fabius_trace::{BugKind, ErrorTrace, Lane, Mark, ProgramId, Reason, Schedule, Scope, Step, Turn};
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// States and steps, in the order in which they were found.
#[derive(Clone, Debug, PartialEq)]
pub struct StateGraph {
    /// The states.
    pub nodes: Vec<Node>,
    /// The steps.
    pub edges: Vec<Edge>,
}

/// A state, or what a step that goes wrong ends in.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What is notable about it.
    pub role: Role,
    /// What is wrong in it.
    pub message: Option<String>,
    /// The shared variables that have another value than at the beginning, heap objects apart.
    pub values: BTreeMap<String, String>,
}

/// What a node of a graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Where executions begin.
    Initial,
    /// Where they end.
    Complete,
    /// A bug.
    Error,
    /// Where a limit inside the program cut the search.
    Limit,
    /// On the way.
    Inner,
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The node before, as an index.
    pub from: usize,
    /// The node after, as an index.
    pub to: usize,
    /// Who makes the step; nobody, if the scheduler's pick is delayed.
    pub lane: Option<String>,
    /// The statements.
    pub statements: Vec<String>,
    /// Whether it is a step of the trace.
    pub on_trace: bool,
}

pub use fabius_explore::graph::steps_within;

/// Why there is no graph.
#[derive(Clone, Debug, PartialEq)]
pub enum GraphError {
    /// It has more states or steps than it may have.
    TooLarge,
    /// A limit was hit.
    Cut(Reason),
    /// An engine and the reference semantics disagree: an error of Fabius.
    Internal(String),
}

/// The graph of the states that schedules of cost at most `max` reach, if there are at most `most`, and the way of a trace
/// through it. Data races are only seen as the end of the trace.
///
/// # Errors
/// [`GraphError`].
pub fn graph(
    program: &Program,
    id: &ProgramId,
    plan: &Plan,
    max: Option<u32>,
    trace: Option<&ErrorTrace>,
    most: usize,
    stop: &AtomicBool,
) -> Result<StateGraph, GraphError> {
    let options = Options { max, races: None, ..options(plan, Instant::now()) };
    let way: Vec<(u32, Turn)> = trace.map(|t| t.steps.iter().map(delays_and_turn).collect()).unwrap_or_default();
    let (found, is_full) = within_memory(plan.memory, stop, |stop| {
        let limits = StepLimits { deadline: options.deadline, memory: plan.memory, stop: Some(stop) };
        let engine = Machine::new(program, plan.points).within(limits);
        graph::graph(&engine, &options, &Monitor { stop, progress: &|_| {} }, most, &way)
    });
    let (found, on_trace) = found.map_err(|no_graph| match no_graph {
        NoGraph::TooLarge => GraphError::TooLarge,
        NoGraph::Cut(Cut::Interrupted) if is_full => GraphError::Cut(Reason::Memory),
        NoGraph::Cut(cut) => GraphError::Cut(reason(cut, program)),
    })?;
    if way.iter().any(|(_, turn)| turn.task != Turn::START) && on_trace.is_empty() {
        return Err(GraphError::Internal("the trace is no way through the graph of states".into()));
    }
    let node = |(number, state): (usize, &graph::State)| {
        let stuck = state.is_final && !state.is_complete;
        let (role, message) = match () {
            () if stuck && plan.deadlock => (Role::Error, Some("deadlock".to_string())),
            () if number < found.initial => (Role::Initial, None),
            () if state.is_complete => (Role::Complete, None),
            () => (Role::Inner, None),
        };
        Node { role, message, values: BTreeMap::new() }
    };
    let mut nodes: Vec<Node> = found.states.iter().enumerate().map(node).collect();
    let mut edges = Vec::new();
    let monitor = Monitor { stop, progress: &|_| {} };
    for (number, edge) in found.edges.iter().enumerate() {
        // Each is told from the beginning.
        if let Some(cut) = monitor.cut(&options, || Some(Instant::now())) {
            return Err(GraphError::Cut(reason(cut, program)));
        }
        let told = tell(program, id, plan, &found.states[edge.from].schedule, edge)?;
        let to = match edge.to {
            Target::State(to) => {
                // They are the same on every way.
                nodes[to].values = told.values;
                to
            }
            Target::Bug(_) | Target::Limit => {
                let role = if edge.to == Target::Limit { Role::Limit } else { Role::Error };
                let ending = Node { role, message: told.message, values: BTreeMap::new() };
                let known = nodes[found.states.len()..].iter().position(|n| *n == ending);
                known.map_or_else(
                    || {
                        nodes.push(ending);
                        nodes.len() - 1
                    },
                    |at| found.states.len() + at,
                )
            }
        };
        let on_trace = on_trace.contains(&number);
        edges.push(Edge { from: edge.from, to, lane: told.lane, statements: told.statements, on_trace });
    }
    if let (Some(trace), Some(last)) = (trace, on_trace.last())
        && matches!(trace.kind, BugKind::DataRace | BugKind::Deadlock | BugKind::Livelock | BugKind::Liveness)
    {
        let end = edges[*last].to;
        nodes[end].role = Role::Error;
        nodes[end].message = Some(trace.message.clone());
    }
    name_single_lanes(&mut edges);
    Ok(StateGraph { nodes, edges })
}

fn delays_and_turn(step: &Step) -> (u32, Turn) {
    let delays = match step.mark {
        Some(Mark::Delay(n)) => n,
        _ => 0,
    };
    (delays, step.turn.clone())
}

/// A step, for people.
#[derive(Default)]
struct Told {
    lane: Option<String>,
    statements: Vec<String>,
    message: Option<String>,
    values: BTreeMap<String, String>,
}

/// What the reference semantics says of a step.
fn tell(
    program: &Program,
    id: &ProgramId,
    plan: &Plan,
    before: &Schedule,
    edge: &graph::Edge,
) -> Result<Told, GraphError> {
    let Some(turn) = &edge.turn else { return Ok(Told::default()) };
    let mut schedule = before.clone();
    schedule.push(turn.clone());
    let settings = Settings {
        points: plan.points,
        bound: plan.bound,
        scheduler: plan.scheduler,
        cost: 0,
        delays: Vec::new(),
        ending: Ending::Fault,
    };
    if edge.to == Target::Limit {
        // The rules have no such limits, or others.
        let message = Some("a limit inside the program".into());
        return Ok(Told { lane: Some(format!("task {}", turn.task)), message, ..Told::default() });
    }
    let departs =
        |d: Departure| GraphError::Internal(format!("a step departs from the reference semantics: {}", d.reason));
    let (lanes, steps) = fabius_semantics::steps(program, &schedule, &settings).map_err(departs)?;
    let last = steps.last().expect("a schedule with a turn has a step");
    let name = |lane: &Lane| lane.name.clone();
    let message = match edge.to {
        Target::Bug(Bug::Fault(..)) => {
            Some(fabius_semantics::replay(program, id, &schedule, &settings).map_err(departs)?.message)
        }
        _ => None,
    };
    let statements = last.actions.iter().map(|a| a.text.clone()).collect();
    Ok(Told { lane: lanes.get(last.lane as usize).map(name), statements, message, values: values_after(&steps) })
}

/// The shared variables that have changed, after these steps.
fn values_after(steps: &[Step]) -> BTreeMap<String, String> {
    let mut values: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    let changes = steps.iter().flat_map(|s| &s.actions).flat_map(|a| &a.changes);
    for change in changes.filter(|c| c.scope == Scope::Shared) {
        values.entry(&change.variable).or_insert((&change.old, "")).1 = &change.new;
    }
    let changed = values.into_iter().filter(|(_, (first, now))| first != now);
    changed.map(|(name, (_, now))| (name.to_string(), now.to_string())).collect()
}

/// `p#1` is called `p` if there is no second one anywhere.
fn name_single_lanes(edges: &mut [Edge]) {
    let all: HashSet<String> = edges.iter().filter_map(|e| e.lane.clone()).collect();
    for name in edges.iter_mut().filter_map(|e| e.lane.as_mut()) {
        if let Some(base) = name.strip_suffix("#1")
            && !all.contains(&format!("{base}#2"))
        {
            *name = base.to_string();
        }
    }
}
