//! How each engine is asked: with bounds that grow by themselves, until it knows or is stopped.

use super::{Ask, Member, MemberError};
use crate::bounds::unknown;
use crate::proof::{Engine, MOST, ProofPlan, ProofProgress, Sequentialization};
use crate::prove::{is_parameterized, prove};
use crate::{Plan, Progress, Report, Strategy, check, program_id, with_instances};
use fabius_lang::program::Program;
use fabius_smt::SolverChoice;
use fabius_trace::{Bound, ProgramId, Reason, Verdict};
use fabius_translate::Caps;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How far a member is.
#[derive(Clone, Copy, Debug)]
pub enum Now {
    /// Of exploration and random walks.
    Exploring(Progress),
    /// Of the others.
    Proving(ProofProgress),
}

/// What all members work on.
pub struct Work {
    pub program: Program,
    pub id: ProgramId,
    pub ask: Ask,
    pub deadline: Option<Instant>,
    pub stop: Arc<AtomicBool>,
}

impl Work {
    fn left(&self) -> Option<Duration> {
        self.deadline.map(|d| d.saturating_duration_since(Instant::now()))
    }
}

/// What a member finds out.
pub fn run(member: Member, work: &Work, news: &(dyn Fn(Now) + Sync)) -> Result<Report, MemberError> {
    match member {
        Member::Exploration if !work.ask.is_explorable => Err(cannot_be_tried()),
        Member::RandomWalks if !work.ask.is_explorable => Err(cannot_be_tried()),
        Member::Exploration if is_parameterized(&work.program) => some_of_each(work, news),
        Member::Exploration => explore(work, &work.program, &work.id, news),
        Member::RandomWalks => walk(work, news),
        Member::BoundedModelChecking => deepen(work, news).map(without_options),
        Member::AnyThreads => any_threads(work, news).map(without_options),
    }
}

fn cannot_be_tried() -> MemberError {
    MemberError::Unfit("a choice of any integer cannot be tried value by value".into())
}

fn explore(work: &Work, program: &Program, id: &ProgramId, news: &(dyn Fn(Now) + Sync)) -> Result<Report, MemberError> {
    let Ask { points, deadlock, jobs, memory, .. } = work.ask;
    let plan = Plan { points, deadlock, jobs, memory, time: work.left(), ..Plan::default() };
    check(program, id, &plan, &work.stop, &|p| news(Now::Exploring(*p))).map_err(MemberError::Check)
}

/// So many copies of each process of any number are explored at most.
const COPIES: u32 = 4;

/// Two of each process of any number, then three, then four.
fn some_of_each(work: &Work, news: &(dyn Fn(Now) + Sync)) -> Result<Report, MemberError> {
    let mut finished: Option<Report> = None;
    for count in 2..=COPIES {
        let of_any = work.program.processes.iter().filter(|p| p.count.is_none());
        let instances: Vec<(String, u32)> = of_any.map(|p| (p.name.clone(), count)).collect();
        let unfit = |e: crate::PlanError| MemberError::Check(crate::CheckError::Plan(e));
        let program = with_instances(work.program.clone(), &instances).map_err(unfit)?;
        let instances = [work.id.instances.clone(), instances].concat();
        let id = program_id(&work.id.file, &program.source, &work.id.consts, &instances);
        let report = explore(work, &program, &id, news)?;
        match (&report.verdict, finished) {
            (Verdict::NoBugWithinBounds { .. }, _) => finished = Some(report),
            // What needs more of them is dropped with fewer.
            (verdict, before) if verdict.is_vacuous() && count < COPIES => finished = before,
            (Verdict::Unknown { reason, .. }, Some(before)) => return Ok(until(before, reason.clone())),
            _ => return Ok(report),
        }
    }
    Ok(finished.expect("two of each are explored"))
}

fn walk(work: &Work, news: &(dyn Fn(Now) + Sync)) -> Result<Report, MemberError> {
    let plan = Plan {
        bound: Bound::None,
        strategy: Strategy::Random,
        executions: Some(u64::MAX),
        points: work.ask.points,
        deadlock: work.ask.deadlock,
        jobs: work.ask.jobs,
        memory: work.ask.memory,
        time: work.left(),
        ..Plan::default()
    };
    check(&work.program, &work.id, &plan, &work.stop, &|p| news(Now::Exploring(*p))).map_err(MemberError::Check)
}

/// A round more each time, and loops, calls, threads and objects followed further.
fn deepen(work: &Work, news: &(dyn Fn(Now) + Sync)) -> Result<Report, MemberError> {
    let widest = Sequentialization::default_for(&work.program).widest();
    let caps = Caps::default();
    let mut finished: Option<Report> = None;
    for step in 0..MOST {
        let followed = 2 << step.min(6);
        let plan = ProofPlan {
            sequentialization: widest.raised(step),
            engine: Engine::Bmc,
            unwind: Some(followed),
            recursion: Some(followed.min(32)),
            tasks: Some(caps.tasks + 4 * step),
            objects: Some(caps.objects + 4 * step),
            incremental: false,
            properties: true,
            solver: SolverChoice::Embedded,
            memory: work.ask.memory,
            time: work.left(),
        };
        let proof = prove(&work.program, &work.id, &plan, &work.stop, &|p| news(Now::Proving(*p)));
        let report = proof.map_err(MemberError::Proof)?.report;
        match (&report.verdict, finished) {
            (Verdict::NoBugWithinBounds { .. }, _) => finished = Some(report),
            (Verdict::Unknown { reason, .. }, Some(before)) => return Ok(until(before, reason.clone())),
            _ => return Ok(report),
        }
    }
    Ok(finished.expect("there is a round"))
}

/// What was finished before a limit was hit.
fn until(before: Report, reason: Reason) -> Report {
    match before.verdict {
        Verdict::NoBugWithinBounds { bounds } => Report { verdict: Verdict::Unknown { reason, bounds }, ..before },
        _ => before,
    }
}

fn any_threads(work: &Work, news: &(dyn Fn(Now) + Sync)) -> Result<Report, MemberError> {
    if !is_parameterized(&work.program) {
        return Err(MemberError::Unfit("no process of this program is of any number".into()));
    }
    let plan = ProofPlan {
        sequentialization: Sequentialization::AnyThreads(MOST),
        engine: Engine::Automatic,
        unwind: None,
        recursion: None,
        tasks: None,
        objects: None,
        incremental: true,
        properties: true,
        solver: SolverChoice::Embedded,
        memory: work.ask.memory,
        time: work.left(),
    };
    let proof = prove(&work.program, &work.id, &plan, &work.stop, &|p| news(Now::Proving(*p)));
    Ok(proof.map_err(MemberError::Proof)?.report)
}

/// Bounds grow by themselves here: what is cut names no option that raises it.
fn without_options(mut report: Report) -> Report {
    let plain = |words: &mut String| {
        const END: &str = "` raises this)";
        while let Some(end) = words.find(END) {
            let Some(start) = words[..end].rfind(" (`--") else { break };
            words.replace_range(start..end + END.len(), "");
        }
    };
    report.limits.iter_mut().for_each(plain);
    match &mut report.verdict {
        Verdict::NoBugWithinBounds { bounds } => bounds.limits.iter_mut().for_each(plain),
        Verdict::Unknown { reason, bounds } => {
            bounds.limits.iter_mut().for_each(plain);
            if let Reason::Program { message } = reason {
                plain(message);
            }
        }
        Verdict::Bug { .. } | Verdict::Verified => {}
    }
    report
}

/// Nobody has said anything.
pub fn nothing_known(member: Member, id: &ProgramId, reason: Reason, elapsed: Duration) -> Report {
    let (bound, scheduler, _) = member.cost();
    Report { elapsed, ..unknown(bound, scheduler, id, reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_is_named_that_is_not_there() {
        let id = program_id("test.fab", "", &[], &[]);
        let mut report = nothing_known(Member::BoundedModelChecking, &id, Reason::Time, Duration::ZERO);
        let cut = |option: &str| format!("the loop at 3:5 was followed for 2 iterations (`--{option}` raises this)");
        report.limits = vec![cut("unwind"), Caps::default().words_of_tasks(), Caps::default().words_of_objects()];
        let Verdict::Unknown { reason, bounds } = &mut report.verdict else { panic!("nothing is known") };
        *reason = Reason::Program { message: format!("{}, and {}", cut("unwind"), cut("recursion")) };
        bounds.limits = report.limits.clone();
        let said = format!("{:?}", without_options(report));
        assert!(said.contains("the loop at 3:5 was followed for 2 iterations, and"), "{said}");
        assert!(!said.contains("--"), "{said}");
    }
}
