//! From a trace program and a plan to a verdict: pairs, formula, solver, replay; and again without what did not replay.

use crate::Property;
use crate::ctp::{Ctp, NodeId, ReceiveId, SendId};
use crate::encode::{Count, Encoded, Encoding, Question, encode};
use crate::pairs::{self, Pairs, Precision};
use crate::replay::{self, Model, Spurious};
use crate::semantics::{Buffering, Matching, State, Status, initial, some_run};
use crate::system::Goal;
use fabius_explore::search::{Cut, Options};
use fabius_explore::system::Limit;
use fabius_smt::{Answer, Limits, Model as Values, Solver, SolverChoice, Term, Watch, evaluate};
use fabius_trace::{Bound, Bounds, Points, ProgramId, Reason, SchedulerKind, Span, Verdict};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How to decide.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is a bug.
    pub property: Property,
    /// The network.
    pub buffering: Buffering,
    /// How match pairs are found.
    pub precision: Precision,
    /// The encoding.
    pub encoding: Encoding,
    /// Who solves it.
    pub solver: SolverChoice,
    /// Whether to ask again when what the solver found is no run.
    pub refine: bool,
    /// Whether to find every matching of the complete runs, too.
    pub enumerate: bool,
    /// Time for all of it.
    pub time: Option<Duration>,
    /// Memory for all of it, in bytes; without, most of what is available.
    pub memory: Option<u64>,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            property: Property::default(),
            buffering: Buffering::default(),
            precision: Precision::default(),
            encoding: Encoding::default(),
            solver: SolverChoice::default(),
            refine: true,
            enumerate: false,
            time: None,
            memory: None,
        }
    }
}

/// What was found out.
#[derive(Clone, Debug)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// Which message each receive gets in the run that is a bug.
    pub matching: Option<Matching>,
    /// The matchings of all complete runs, if they were asked for.
    pub enumerated: Option<Enumerated>,
    /// Pairs with the same endpoint.
    pub all_pairs: usize,
    /// Pairs that were encoded.
    pub pairs: usize,
    /// Constraints of the question for a bug.
    pub count: Count,
    /// Terms of it.
    pub terms: usize,
    /// What was found and is no run.
    pub refinements: Vec<Refinement>,
    /// How often the solver was asked.
    pub queries: u64,
    /// What the solver says of its work on the question for a bug.
    pub solver: Vec<(&'static str, u64)>,
    /// Time to find pairs and make the formula.
    pub encoding: Duration,
    /// Time of the solver.
    pub solving: Duration,
    /// All the time.
    pub elapsed: Duration,
}

impl Report {
    /// What there is to say when a limit was hit before the trace was read.
    pub fn unread(reason: Reason) -> Report {
        Report { verdict: unknown(reason), ..Report::new(0) }
    }

    fn new(all_pairs: usize) -> Report {
        Report {
            verdict: Verdict::Verified,
            matching: None,
            enumerated: None,
            all_pairs,
            pairs: 0,
            count: Count::default(),
            terms: 0,
            refinements: Vec::new(),
            queries: 0,
            solver: Vec::new(),
            encoding: Duration::ZERO,
            solving: Duration::ZERO,
            elapsed: Duration::ZERO,
        }
    }
}

/// Something that the solver found and that is no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refinement {
    /// Why it is none.
    pub reason: String,
    /// What was excluded: these pairs together.
    pub pairs: Matching,
}

/// The matchings of the complete runs of this path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumerated {
    /// Each with what the run comes to.
    pub outcomes: BTreeMap<Matching, Status>,
    /// Whether these are all.
    pub complete: bool,
}

/// What went wrong, and is not the trace's fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The solver is not there, or said what is no answer.
    Solver(String),
    /// An error of Fabius.
    Internal(String),
}

/// Decides a trace program.
///
/// # Errors
/// [`Error`].
pub fn decide(ctp: &Ctp, id: &ProgramId, plan: &Plan, stop: &Arc<AtomicBool>) -> Result<Report, Error> {
    let began = Instant::now();
    let deadline = plan.time.and_then(|t| began.checked_add(t));
    let watch = Watch::begin(stop, plan.memory);
    let mut report = decide_within(ctp, id, plan, &Limits { deadline, stop: &watch.stop })?;
    if let Verdict::Unknown { reason: reason @ Reason::Interrupted, .. } = &mut report.verdict
        && watch.is_full()
    {
        *reason = Reason::Memory;
    }
    Ok(report)
}

fn decide_within(ctp: &Ctp, id: &ProgramId, plan: &Plan, limits: &Limits<'_>) -> Result<Report, Error> {
    let began = Instant::now();
    let mut report = Report::new(pairs::count_all(ctp));
    let pairs = match find_pairs(ctp, plan, limits) {
        Ok(pairs) if !limits.are_hit() => pairs,
        found => {
            report.verdict = unknown(found.err().unwrap_or_else(|| cut(limits)));
            report.elapsed = began.elapsed();
            return Ok(report);
        }
    };
    report.pairs = pairs.len();
    let question = Question { ctp, buffering: plan.buffering, goal: Goal::Bug(plan.property), pairs: &pairs, limits };
    let encoded = encode(plan.encoding, question);
    report.encoding = began.elapsed();
    report.count = encoded.count;
    report.terms = encoded.terms.len();
    let mut asked = Asked::new(encoded, plan, limits, &mut report)?;
    report.verdict = match asked.next_run(ctp, plan, Some(plan.property), limits, &mut report)? {
        Next::Run(_, moves) => {
            let trace = replay::trace(ctp, id, plan.buffering, plan.property, &moves);
            let trace = trace.map_err(|e| Error::Internal(format!("what the solver found does not replay: {e}")))?;
            report.matching = Some(run(ctp, plan.buffering, &moves).matching(ctp));
            Verdict::Bug { trace: Box::new(trace) }
        }
        Next::None => Verdict::Verified,
        Next::Cut(reason) => unknown(reason),
    };
    report.solver = asked.solver.statistics();
    drop(asked);
    if report.verdict == Verdict::Verified
        && let Some(reason) = no_run(ctp, plan, &pairs, limits, &mut report)?
    {
        report.verdict = unknown(reason);
    }
    if plan.enumerate {
        report.enumerated = Some(enumerate(ctp, plan, &pairs, limits, &mut report)?);
    }
    report.elapsed = began.elapsed();
    Ok(report)
}

/// The formula as a file for other solvers.
///
/// # Errors
/// Why the pairs were not found.
pub fn dump(ctp: &Ctp, plan: &Plan, stop: &Arc<AtomicBool>) -> Result<String, Reason> {
    let deadline = plan.time.and_then(|t| Instant::now().checked_add(t));
    let watch = Watch::begin(stop, plan.memory);
    let limits = &Limits { deadline, stop: &watch.stop };
    let cut = |limits| if watch.is_full() { Reason::Memory } else { cut(limits) };
    let pairs = find_pairs(ctp, plan, limits)?;
    let question = Question { ctp, buffering: plan.buffering, goal: Goal::Bug(plan.property), pairs: &pairs, limits };
    let encoded = encode(plan.encoding, question);
    if limits.are_hit() { Err(cut(limits)) } else { Ok(encoded.facts.script(&encoded.terms)) }
}

/// Pairs at the same endpoints, at most: they alone take two gigabytes.
const MOST_PAIRS: usize = 1 << 28;

fn find_pairs(ctp: &Ctp, plan: &Plan, limits: &Limits<'_>) -> Result<Pairs, Reason> {
    match plan.precision {
        _ if pairs::count_all(ctp) > MOST_PAIRS => {
            let message =
                format!("{} pairs of a receive and a message, which are more than {MOST_PAIRS}", pairs::count_all(ctp));
            Err(program(&message))
        }
        Precision::All => Ok(pairs::all(ctp, limits)),
        Precision::Tight => Ok(pairs::tight(ctp, limits)),
        Precision::Exact => {
            let options = Options { deadline: limits.deadline, memory: plan.memory, ..Options::default() };
            let found = pairs::exact(ctp, plan.buffering, plan.property, &options, limits.stop);
            found.map_err(|by| match by {
                Cut::Memory => Reason::Memory,
                Cut::Program(Limit::Integer, span) => leaves(ctp, span),
                _ => cut(limits),
            })
        }
    }
}

fn unknown(reason: Reason) -> Verdict {
    let (bound, scheduler, points) = (Bound::None, SchedulerKind::Bag, Points::All);
    let bounds = Bounds {
        bound,
        completed: None,
        scheduler,
        points,
        instances: Vec::new(),
        any: Vec::new(),
        limits: Vec::new(),
    };
    Verdict::Unknown { reason, bounds }
}

/// A number is out of bounds, or may be.
fn leaves(ctp: &Ctp, span: Span) -> Reason {
    let at = span.line_col(&ctp.source);
    program(&format!("a number may leave 64 bits at {}:{}: `{}`", at.line, at.column, span.text(&ctp.source)))
}

fn cut(limits: &Limits<'_>) -> Reason {
    if limits.stop.load(Ordering::Relaxed) { Reason::Interrupted } else { Reason::Time }
}

/// Whether a formula has runs, one after the other.
struct Asked {
    encoded: Encoded,
    solver: Box<dyn Solver>,
    index: HashMap<(ReceiveId, SendId), Term>,
}

/// What a solver said, replayed.
enum Next {
    Run(Model, Vec<replay::Move>),
    None,
    Cut(Reason),
}

impl Asked {
    fn new(encoded: Encoded, plan: &Plan, limits: &Limits<'_>, report: &mut Report) -> Result<Asked, Error> {
        let began = Instant::now();
        let mut solver = plan.solver.start().map_err(Error::Solver)?;
        encoded.facts.give(&encoded.terms, &mut *solver, limits);
        let index = encoded.matches.iter().map(|(r, s, t)| ((*r, *s), *t)).collect();
        report.solving += began.elapsed();
        Ok(Asked { encoded, solver, index })
    }

    /// The next model that is a run.
    fn next_run(
        &mut self,
        ctp: &Ctp,
        plan: &Plan,
        property: Option<Property>,
        limits: &Limits<'_>,
        report: &mut Report,
    ) -> Result<Next, Error> {
        loop {
            // The formula may not be whole then.
            if limits.are_hit() {
                return Ok(Next::Cut(cut(limits)));
            }
            let began = Instant::now();
            report.queries += 1;
            let answer = self.solver.check(&self.encoded.terms, &[], limits).map_err(Error::Solver)?;
            report.solving += began.elapsed();
            match answer {
                Answer::Unsat => {
                    // Exact pairs come of an exploration that has seen all numbers.
                    let beyond = self.encoded.beyond.filter(|_| plan.precision != Precision::Exact);
                    return Ok(beyond.map_or(Next::None, |span| Next::Cut(leaves(ctp, span))));
                }
                // What is no run is out of bounds only where a number may leave them.
                Answer::UnsatWithin64Bits => {
                    return Ok(self.encoded.beyond.map_or(Next::None, |span| Next::Cut(leaves(ctp, span))));
                }
                Answer::Unknown if limits.are_hit() => return Ok(Next::Cut(cut(limits))),
                Answer::Unknown => {
                    let message = format!("{} gave up", self.solver.name());
                    return Ok(Next::Cut(Reason::Solver { message }));
                }
                Answer::Sat => {}
            }
            let model = self.model(ctp)?;
            let Spurious { reason, pairs } = match replay::schedule(ctp, plan.buffering, property, &model) {
                Ok(moves) => return Ok(Next::Run(model, moves)),
                Err(spurious) => spurious,
            };
            if !plan.refine {
                return Ok(Next::Cut(program(&format!("what the solver found is no run: {reason}"))));
            }
            self.exclude(&pairs);
            report.refinements.push(Refinement { reason, pairs });
        }
    }

    /// From now on these pairs are not matches together.
    fn exclude(&mut self, pairs: &Matching) {
        let not = |p| self.encoded.terms.not(self.index[p]);
        let clause: Vec<Term> = pairs.iter().map(not).collect();
        self.solver.assert_any(&self.encoded.terms, &clause);
    }

    fn model(&mut self, ctp: &Ctp) -> Result<Model, Error> {
        let Encoded { terms, matches, passed, cuts, .. } = &self.encoded;
        let mut values = Values::default();
        for variable in terms.variables() {
            if let Some(value) = self.solver.value(terms, *variable).map_err(Error::Solver)? {
                values.insert(*variable, value);
            }
        }
        let mut known = Values::default();
        let mut holds = |t: Term| evaluate(terms, &values, t, &mut known) == 1;
        let mut matching: Matching = Vec::new();
        for (r, s, pair) in matches {
            if holds(*pair) {
                matching.push((*r, *s));
            }
        }
        matching.sort_unstable();
        let mut not_before: Vec<Option<usize>> = vec![None; ctp.sends.len()];
        for (endpoint, cuts) in cuts {
            ctp.endpoints[*endpoint].incoming.iter().for_each(|s| not_before[*s] = Some(0));
            for (s, k, is_before) in cuts {
                if !holds(*is_before) {
                    not_before[*s] = not_before[*s].max(Some(*k));
                }
            }
        }
        let stop = |(node, waits): (usize, &Vec<(usize, Term)>)| {
            let stays = waits.iter().find(|(_, passes)| !holds(*passes));
            stays.map_or(ctp.nodes[node].commands.len(), |(at, _)| *at)
        };
        let stops = passed.iter().enumerate().map(stop).collect();
        Ok(Model { matching, not_before, stops })
    }
}

fn program(message: &str) -> Reason {
    Reason::Program { message: message.into() }
}

/// Why nothing is known of the complete runs of this path: there are none, or a limit was hit before one was found.
fn no_run(
    ctp: &Ctp,
    plan: &Plan,
    pairs: &Pairs,
    limits: &Limits<'_>,
    report: &mut Report,
) -> Result<Option<Reason>, Error> {
    let some = some_run(ctp, plan.buffering, limits);
    if some.is_complete(ctp) && some.status <= Status::Failure {
        return Ok(None);
    }
    let question = Question { ctp, buffering: plan.buffering, goal: Goal::Outcomes, pairs, limits };
    let mut asked = Asked::new(encode(plan.encoding, question), plan, limits, report)?;
    Ok(match asked.next_run(ctp, plan, None, limits, report)? {
        Next::Run(..) => None,
        Next::None => Some(Reason::Vacuous {
            message: "no run completes the recorded path, so that nothing can go wrong in one".into(),
        }),
        Next::Cut(reason) => Some(reason),
    })
}

/// Finds the matchings of all complete runs.
fn enumerate(
    ctp: &Ctp,
    plan: &Plan,
    pairs: &Pairs,
    limits: &Limits<'_>,
    report: &mut Report,
) -> Result<Enumerated, Error> {
    let question = Question { ctp, buffering: plan.buffering, goal: Goal::Outcomes, pairs, limits };
    let mut asked = Asked::new(encode(plan.encoding, question), plan, limits, report)?;
    let mut found = Enumerated { outcomes: BTreeMap::new(), complete: false };
    loop {
        match asked.next_run(ctp, plan, None, limits, report)? {
            Next::Run(model, moves) => {
                let state = run(ctp, plan.buffering, &moves);
                asked.exclude(&model.matching);
                found.outcomes.insert(state.matching(ctp), state.status);
            }
            Next::None => {
                found.complete = true;
                return Ok(found);
            }
            Next::Cut(_) => return Ok(found),
        }
    }
}

/// Whether a node can come to its end.
pub(crate) enum Reached {
    /// With these moves.
    By(Vec<replay::Move>),
    Never,
    /// A limit was hit.
    Unknown,
}

/// Whether a node can come to its end when each of the others has executed so many commands, at least.
///
/// # Errors
/// [`Error`].
pub(crate) fn reach(
    ctp: &Ctp,
    node: NodeId,
    least: &[usize],
    plan: &Plan,
    limits: &Limits<'_>,
) -> Result<Reached, Error> {
    let plan = &Plan { precision: Precision::Tight, ..plan.clone() };
    let pairs = pairs::tight(ctp, limits);
    let question = Question { ctp, buffering: plan.buffering, goal: Goal::Reach(node), pairs: &pairs, limits };
    let mut report = Report::new(0);
    let mut encoded = encode(plan.encoding, question);
    for (passed, least) in encoded.passed.iter().zip(least) {
        encoded.facts.terms.extend(passed.iter().rfind(|(at, _)| at < least).map(|(_, passes)| *passes));
    }
    let mut asked = Asked::new(encoded, plan, limits, &mut report)?;
    match asked.next_run(ctp, plan, None, limits, &mut report)? {
        Next::Run(_, moves) => Ok(Reached::By(moves)),
        Next::None => Ok(Reached::Never),
        Next::Cut(_) => Ok(Reached::Unknown),
    }
}

/// Where moves lead that have been made before.
fn run(ctp: &Ctp, buffering: Buffering, moves: &[replay::Move]) -> State {
    let mut state = initial(ctp);
    for mv in moves {
        match mv {
            replay::Move::Execute(node) => {
                // It was possible before.
                let _ = state.execute(ctp, buffering, *node);
            }
            replay::Move::Deliver(channel) => {
                state.deliver(ctp, buffering, *channel);
            }
        }
    }
    state
}
