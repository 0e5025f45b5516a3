//! Recursion without a bound, in a number of threads that is fixed: any number of contexts, and stacks of any height.
//!
//! Two ways to an answer, both from the steps of a thread of whose stack the top alone is known ([`steps`]). What is reachable is
//! covered by finitely many states ([`cover`]), with more and more known of what is beneath a top, until no state that is covered
//! is a bug. And what one context reaches, what two reach and so on is computed exactly ([`contexts`]): until one of them shows a
//! bug, with the fewest contexts, or another one would lead to nothing new. Bugs are shown by an execution ([`witness`]) that the
//! reference semantics replays.

mod contexts;
mod cover;
mod stacks;
mod steps;
mod witness;

use crate::bounds::{cut_by, of_verdict, proof_bounds};
use crate::proof::{ProofError, ProofPlan};
use crate::work::Work;
use crate::{CheckError, Plan, Report, confirm, reason};
use contexts::Reached;
use cover::{Covered, Extent, Failure, Precision, cover};
use fabius_explore::search::{Cut, Options};
use fabius_explore::shrink;
use fabius_explore::system::Fault;
use fabius_lang::program::{Program, StmtKind};
use fabius_lang::waits::Waits;
use fabius_lang::walk::statements;
use fabius_machine::Machine;
use fabius_smt::Limits;
use fabius_trace::{Bound, Bounds, Points, ProgramId, Reason, Schedule, SchedulerKind, Span, Verdict};
use fabius_translate::Unsupported;
use steps::Steps;

/// So many of these are tried before contexts are, with so many words for states: few contexts may show a bug soon.
const FIRST: usize = 3;
const FEW: usize = 1_000_000;

/// The words for states of what is tried last.
const MOST: usize = 60_000_000;

/// What is tried, one after the other.
const PRECISIONS: [Precision; 5] = [
    Precision { control: false, callers: 0 },
    Precision { control: false, callers: 1 },
    Precision { control: true, callers: 1 },
    Precision { control: true, callers: 2 },
    Precision { control: true, callers: 4 },
];

/// Whether this engine is asked beside the others: where calls go round, which they do not follow for ever.
pub fn fits(program: &Program) -> bool {
    is_recursive(program) && unfit(program).is_none()
}

/// Whether calls go round, so that there is no bound on the height of stacks to be seen.
fn is_recursive(program: &Program) -> bool {
    let calls: Vec<Vec<usize>> = program
        .procs
        .iter()
        .map(|proc| {
            let mut callees = Vec::new();
            statements(&proc.body, &mut |s| {
                if let StmtKind::Call(_, callee, _) = s.kind {
                    callees.push(callee)
                }
            });
            callees
        })
        .collect();
    (0..calls.len()).any(|proc| {
        let (mut seen, mut open) = (vec![false; calls.len()], calls[proc].clone());
        while let Some(callee) = open.pop() {
            if !std::mem::replace(&mut seen[callee], true) {
                open.extend(&calls[callee]);
            }
        }
        seen[proc]
    })
}

/// Why the program is none for this engine, if it is none.
pub fn unfit(program: &Program) -> Option<Unsupported> {
    let help = "`fabius check` explores such programs";
    let refuse = |what: &'static str, span: Span| Some(Unsupported { what: what.into(), span, help: help.into() });
    if let Some(process) = program.processes.iter().find(|p| p.count.is_none()) {
        let help = "give their number: `--instances NAME=2`; or leave out `--engine`";
        let (what, span) = ("any number of threads".into(), program.procs[process.proc].span);
        return Some(Unsupported { what, span, help: help.into() });
    }
    if let Some(entry) = program.buffers.first() {
        return refuse("a task buffer", program.procs[entry.proc].span);
    }
    if let Some(rest) = program.rests.first() {
        return refuse("a wait that may last for ever without a deadlock", *rest);
    }
    if let Some(idle) = program.idle {
        return refuse("a wait until nobody else can go on", program.globals[idle].span);
    }
    let waits = Waits::of(program);
    let mut wrong = None;
    for proc in &program.procs {
        statements(&proc.body, &mut |s| {
            let what = match &s.kind {
                StmtKind::Post(..) | StmtKind::Yield => Some("a task"),
                StmtKind::Spawn(..) => Some("a thread that another one starts"),
                StmtKind::New(..) => Some("an object on the heap"),
                StmtKind::Atomic(block) if waits.midway(block).is_some() => Some("a wait inside of an atomic block"),
                _ => None,
            };
            wrong = wrong.take().or_else(|| refuse(what?, s.span));
        });
    }
    wrong
}

/// Decides the executions of a program, whatever the plan says of rounds.
pub fn attempt(program: &Program, id: &ProgramId, plan: &ProofPlan, work: &mut Work<'_>) -> Result<Report, ProofError> {
    if let Some(unsupported) = unfit(program) {
        return Err(ProofError::Unsupported(unsupported));
    }
    let bounds = Bounds { bound: Bound::Contexts, completed: None, ..proof_bounds(plan.sequentialization, id) };
    let unknown = |reason| of_verdict(Verdict::Unknown { reason, bounds: bounds.clone() });
    let mut steps = Steps::new(program);
    let (few, many) = PRECISIONS.split_at(FIRST);
    let (mut open, later) = match covers(&mut steps, few, FEW, plan.deadlock, work) {
        Cover::Safe => return Ok(verified(id, bounds)),
        Cover::Stopped => return Ok(unknown(cut_by(work.limits))),
        Cover::Open(None) => (None, &PRECISIONS[..]),
        Cover::Open(open) => (open, many),
    };
    let reached = contexts::reach(&mut steps, plan.deadlock, work.limits);
    (work.progress)(work.statistics);
    let completed = match reached {
        Reached::All => return Ok(verified(id, bounds)),
        Reached::Fails(_, Failure::Fault(Fault::Limit(limit, span))) => {
            return Ok(unknown(reason(Cut::Program(limit, span), program)));
        }
        Reached::Fails(contexts, _) => {
            let schedule = witness::shown(&mut steps, contexts, plan.deadlock, work.limits);
            return match schedule {
                Some(schedule) => {
                    work.replay(|limits| replayed(program, id, &schedule, contexts, limits)).map(of_verdict)
                }
                None if work.limits.are_hit() => Ok(unknown(cut_by(work.limits))),
                None => Ok(unknown(Reason::Program { message: format!("{} fail, and is not shown", some(contexts)) })),
            };
        }
        Reached::Stopped(contexts) | Reached::TooMuch(contexts) => contexts,
    };
    let bounds = Bounds { completed: completed.checked_sub(2), ..bounds };
    let unknown = |reason| of_verdict(Verdict::Unknown { reason, bounds: bounds.clone() });
    if matches!(reached, Reached::Stopped(_)) {
        return Ok(unknown(cut_by(work.limits)));
    }
    match covers(&mut steps, later, MOST, plan.deadlock, work) {
        Cover::Safe => return Ok(verified(id, bounds)),
        Cover::Stopped => return Ok(unknown(cut_by(work.limits))),
        Cover::Open(later) => open = later.or(open),
    }
    Ok(unknown(why(open, program)))
}

fn some(contexts: u32) -> String {
    format!("an execution of {contexts} {} is known to", if contexts == 1 { "context" } else { "contexts" })
}

enum Cover {
    Safe,
    Stopped,
    /// The last one fails so, or there is too much to cover.
    Open(Option<Failure>),
}

/// Covers with each of these, until nothing fails.
fn covers(steps: &mut Steps<'_>, precisions: &[Precision], words: usize, deadlock: bool, work: &mut Work<'_>) -> Cover {
    let extent = Extent { words, deadlock, limits: work.limits };
    let mut last = None;
    for precision in precisions {
        let (covered, states) = cover(steps, *precision, extent);
        work.statistics.queries += 1;
        work.figures = vec![("states", states as u64), ("callers", precision.callers as u64)];
        (work.progress)(work.statistics);
        match covered {
            Covered::Safe => return Cover::Safe,
            Covered::Stopped => return Cover::Stopped,
            Covered::TooMany => return Cover::Open(None),
            Covered::Fails(failure) => last = Some(failure),
        }
    }
    Cover::Open(last)
}

/// Nothing fails. Whether some execution completes is asked by who asked for this.
fn verified(id: &ProgramId, bounds: Bounds) -> Report {
    of_verdict(match id.instances.is_empty() {
        true => Verdict::Verified,
        false => Verdict::NoBugWithinBounds { bounds: Bounds { bound: Bound::None, completed: Some(0), ..bounds } },
    })
}

/// The bug that a schedule shows, in the reference semantics.
fn replayed(
    program: &Program,
    id: &ProgramId,
    schedule: &Schedule,
    contexts: u32,
    limits: &Limits<'_>,
) -> Result<Verdict, ProofError> {
    let machine = Machine::new(program, Points::All);
    let (bound, scheduler) = (Bound::Contexts, SchedulerKind::Bag);
    let options = Options { bound, scheduler, deadline: limits.deadline, ..Options::default() };
    let internal = |message: &str| ProofError::Internal(message.into());
    let found =
        shrink::find(&machine, &options, schedule).map_err(|_| internal("what contexts show is no execution"))?;
    if found.cost >= contexts.max(1) {
        return Err(internal("what contexts show costs more than they do"));
    }
    let found = shrink::shrink(&machine, &options, &found, limits.stop);
    match confirm(program, id, &Plan { bound, scheduler, ..Plan::default() }, &found) {
        Ok(trace) => Ok(Verdict::Bug { trace: Box::new(trace) }),
        Err(CheckError::Internal(message)) => Err(ProofError::Internal(message)),
        Err(CheckError::Plan(wrong)) => Err(ProofError::Internal(wrong.message)),
    }
}

/// Why nothing is known.
fn why(last: Option<Failure>, program: &Program) -> Reason {
    let message = match last {
        None => "there is too much to cover".into(),
        Some(Failure::Fault(Fault::Limit(limit, span))) => return reason(Cut::Program(limit, span), program),
        Some(Failure::Deadlock) => "it is not known whether there is a state in which nobody can go on".into(),
        Some(Failure::Fault(Fault::Bug(_, span))) => {
            let at = span.line_col(&program.source);
            format!("it is not known whether what is at {}:{} fails, with stacks of any height", at.line, at.column)
        }
    };
    Reason::Program { message }
}
