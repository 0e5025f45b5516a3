//! Exact reachability in sequential programs with finite data and unbounded recursion.
//!
//! Paper: Reps, Horwitz, Sagiv: Precise interprocedural dataflow analysis via graph reachability (POPL 1995); with decision
//! diagrams for sets: Ball, Rajamani: Bebop (SPIN 2000). Delay-Bounded Scheduling (POPL 2011) and Sequentializing
//! Parameterized Programs (2011/12) leave the sequential analysis to tools like it.
//!
//! For each procedure and control point, the set of pairs (state at the procedure's entry, state here) that some execution
//! passes through. A *summary* is that set at the end of a procedure; a call goes on from where the summary says.
//!
//! Deviations:
//! 1. States at entry are kept only for globals that the procedure may change, and for its parameters.
//! 2. Locals that are not needed any more are forgotten at once.
//! 3. Integers without a size begin with a few bits; if a value does not fit, its variable gets more, and the analysis
//!    begins anew.

pub(crate) mod circuit;
pub mod counting;
pub(crate) mod diagram;
pub(crate) mod graph;
pub mod interfaces;
pub(crate) mod layout;
mod reach;
mod steps;
pub(crate) mod values;
pub mod views;

pub use steps::Template;

use diagram::{Diagrams, Set};
use fabius_lang::program::{GlobalId, Program};
use fabius_smt::Limits;
use fabius_trace::Span;
use graph::{Graph, graph};
use layout::{LEAST, Layout};
use reach::{Reach, Stopped};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Nodes of decision diagrams at most: 16 million take about half a gigabyte.
pub const NODES: usize = 1 << 24;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Whether some assertion fails: the first one ends the search.
    Failure,
    /// Everything: an assertion that fails only ends its execution.
    Everything,
}

/// Why nothing is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GaveUp {
    /// A variable of this name has no size, and values need more bits than there are.
    NotFinite(String),
    /// Out of time, or told to stop.
    Stopped,
    /// There is no memory left.
    Memory,
}

/// What executions reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// The assertions that fail.
    pub failing: BTreeSet<Span>,
    /// What each `print` shows; by the order of the statements in the program.
    pub printed: Vec<(Span, BTreeSet<Vec<i64>>)>,
    /// The values of the globals that were asked for, at the end of the program.
    pub ends: BTreeSet<Vec<i64>>,
}

/// How much work it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Bits of all variables.
    pub bits: u32,
    /// Sets of states that were moved along an edge.
    pub images: u64,
    /// Most nodes of diagrams in use.
    pub nodes: usize,
    /// How often integers got more bits.
    pub widened: u32,
    /// Time.
    pub time: Duration,
}

/// Most bits of an integer without a size.
const WIDEST: usize = 6;

/// The statement at this place is not sequential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotSequential(pub Span);

/// What the executions of a program reach. `ends` are the scalar globals whose last values are wanted.
///
/// # Errors
/// [`NotSequential`].
pub fn reach(
    program: &Program,
    question: Question,
    ends: &[GlobalId],
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<(Result<Reached, GaveUp>, Statistics), NotSequential> {
    let began = Instant::now();
    let mut prints = Vec::new();
    let graphs = sequential(program, &mut prints)?;
    Ok(with_enough_bits(program, &graphs, |layout| {
        let Some(d) = Diagrams::new(layout.bits * 4, NODES) else {
            return (Err(Stopped::Memory), Statistics::default());
        };
        let mut reach = Reach::new(program, &graphs, layout, d, question, prints.len());
        let outcome = reach.run(limits, &mut |s| progress(&Statistics { time: began.elapsed(), ..*s }));
        (outcome.and_then(|()| Ok(reach.results(ends, &prints)?)), reach.statistics)
    }))
}

/// The graph of each procedure.
fn graphs<'p>(program: &'p Program, prints: &mut Vec<Span>) -> Result<Vec<Graph<'p>>, NotSequential> {
    program.procs.iter().map(|p| graph(p, prints)).collect::<Result<_, _>>().map_err(NotSequential)
}

/// The same, where nobody waits for others.
fn sequential<'p>(program: &'p Program, prints: &mut Vec<Span>) -> Result<Vec<Graph<'p>>, NotSequential> {
    let graphs = graphs(program, prints)?;
    match graphs.iter().flat_map(|g| &g.waits).next() {
        Some((_, e)) => Err(NotSequential(e.span)),
        None => Ok(graphs),
    }
}

/// Tries this with few bits for each integer without a size, and with more as long as values do not fit.
fn with_enough_bits<T>(
    program: &Program,
    graphs: &[Graph<'_>],
    mut attempt: impl FnMut(Layout) -> (Result<T, Stopped>, Statistics),
) -> (Result<T, GaveUp>, Statistics) {
    let began = Instant::now();
    let mut ints = BTreeMap::new();
    let mut statistics = Statistics::default();
    loop {
        let layout = Layout::new(program, graphs, &ints);
        if let Some(name) = layout.too_wide() {
            return (Err(GaveUp::NotFinite(name.into())), statistics);
        }
        let names = layout.names.clone();
        let (outcome, done) = attempt(layout);
        statistics = Statistics { time: began.elapsed(), widened: statistics.widened, ..done };
        let gave_up = match outcome {
            Ok(found) => return (Ok(found), statistics),
            Err(Stopped::Limit) => GaveUp::Stopped,
            Err(Stopped::Memory) => GaveUp::Memory,
            Err(Stopped::TooNarrow(leaves)) => {
                match leaves.iter().find(|l| ints.get(*l).is_some_and(|bits| *bits >= WIDEST)) {
                    Some(leaf) => GaveUp::NotFinite(names[*leaf].clone()),
                    None => {
                        statistics.widened += 1;
                        for leaf in leaves {
                            let bits = ints.entry(leaf).or_insert(LEAST);
                            *bits = (*bits * 2).min(WIDEST);
                        }
                        continue;
                    }
                }
            }
        };
        return (Err(gave_up), statistics);
    }
}
