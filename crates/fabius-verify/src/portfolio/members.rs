//! How each engine is asked: with bounds that grow by themselves, until it knows or is stopped.

use super::{Ask, Member, MemberError, OFTEN};
use crate::any_values::with_any_values;
use crate::bounds::{NO_DEADLOCKS, unknown};
use crate::convergence;
use crate::few_values::NOT_ALL;
use crate::proof::{Engine, MOST, ProofError, ProofPlan, ProofProgress, Sequentialization};
use crate::prove::{is_parameterized, prove};
use crate::vacuous::is_surely_vacuous;
use crate::{Plan, Progress, Report, Strategy, check, program_id, with_instances};
use fabius_lang::program::Program;
use fabius_smt::SolverChoice;
use fabius_trace::{Bound, BugKind, Points, ProgramId, Reason, Verdict};
use fabius_translate::Caps;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    /// When those begin that are not the first.
    pub others_begin: Instant,
    pub deadline: Option<Instant>,
    pub stop: Arc<AtomicBool>,
    /// Nobody explores any more: random walks need not rest.
    pub others_rest: AtomicBool,
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
        Member::Exploration => explore_in_larger_limits(work, news),
        Member::RandomWalks => walk(work, news),
        Member::BoundedModelChecking => deepen(work, news).map(without_options).map(|r| none_of_races(work, r)),
        Member::AnyThreads if is_parameterized(&work.program) => {
            let report = any_threads(work, &work.program, &work.id, &any_number(work, work.left()), news)?;
            Ok(without_races(work, without_options(report)))
        }
        Member::AnyThreads => match work.ask.any_number.as_deref() {
            Some((program, id)) => without_end(work, program, id, news),
            None => more_of_them(work, news),
        },
        Member::Convergence => Ok(without_races(work, converge(work, news)?)),
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

/// Explores, and again with larger limits as long as those of the program itself are in the way.
fn explore_in_larger_limits(work: &Work, news: &(dyn Fn(Now) + Sync)) -> Result<Report, MemberError> {
    let mut report = explore(work, &work.program, &work.id, news)?;
    for before in 0.. {
        let Verdict::Unknown { reason, .. } = &report.verdict else { break };
        let larger = work.ask.larger.0.as_ref().and_then(|larger| larger(reason, before));
        let Some((program, id)) = larger.filter(|_| !work.stop.load(Ordering::Relaxed)) else { break };
        report = explore(work, &program, &id, news)?;
    }
    let is_cut = matches!(&report.verdict, Verdict::Unknown { reason: Reason::Program { message }, .. } if message.starts_with(NOT_ALL));
    if is_cut
        && !work.ask.deadlock
        && let Some(any) = with_any_values(&work.program)
    {
        let all = explore(work, &any, &work.id, news)?;
        return Ok(if all.verdict == Verdict::Verified { all } else { report });
    }
    Ok(report)
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

/// The first walks take so long beside the others. Later ones take a twentieth of the time.
const FIRST_WALKS: Duration = Duration::from_millis(800);

/// Walks for a while, and rests while others explore: what is found at random at all is mostly found at once.
fn walk(work: &Work, news: &(dyn Fn(Now) + Sync)) -> Result<Report, MemberError> {
    if work.ask.only == Some(Member::RandomWalks) {
        return walk_for(work, work.left(), work.ask.jobs, 0, news);
    }
    let mut length = FIRST_WALKS;
    for seed in 0.. {
        let time = work.left().map_or(length, |left| left.min(length));
        let jobs = if work.others_rest.load(Ordering::Relaxed) { work.ask.jobs } else { 1 };
        let report = walk_for(work, Some(time), jobs, seed, news)?;
        let is_over = !matches!(report.verdict, Verdict::Unknown { reason: Reason::Time, .. });
        if is_over {
            // A small program is decided by who finds the least cost.
            rest(work, work.others_begin);
            return Ok(report);
        }
        if work.left().is_some_and(|left| left.is_zero()) || !rest(work, Instant::now() + length * 19) {
            return Ok(report);
        }
        length += FIRST_WALKS / 8;
    }
    unreachable!("there is always another seed")
}

/// Does nothing while others explore, until then; says whether to go on.
fn rest(work: &Work, until: Instant) -> bool {
    while Instant::now() < until && !work.others_rest.load(Ordering::Relaxed) {
        if work.stop.load(Ordering::Relaxed) || work.left().is_some_and(|left| left.is_zero()) {
            return false;
        }
        std::thread::sleep(OFTEN);
    }
    true
}

fn walk_for(
    work: &Work,
    time: Option<Duration>,
    jobs: usize,
    seed: u64,
    news: &(dyn Fn(Now) + Sync),
) -> Result<Report, MemberError> {
    let plan = Plan {
        bound: Bound::None,
        strategy: Strategy::Random,
        executions: Some(u64::MAX),
        points: work.ask.points,
        deadlock: work.ask.deadlock,
        jobs,
        memory: work.ask.memory,
        time,
        seed,
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
            deadlock: work.ask.deadlock,
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
        Verdict::NoBugWithinBounds { bounds } => {
            Report { verdict: Verdict::Unknown { reason, bounds }, endless: false, ..before }
        }
        _ => before,
    }
}

/// Time to look at more threads of a kind than there are.
const GENERAL: Duration = Duration::from_secs(5);

/// Whether there are several threads of a kind.
pub fn has_equal_threads(program: &Program) -> bool {
    program.processes.iter().any(|p| p.count.is_some_and(|count| count > 1))
}

/// If no number of threads breaks the program, this one does not. What breaks it with another number says nothing.
fn more_of_them(work: &Work, news: &(dyn Fn(Now) + Sync)) -> Result<Report, MemberError> {
    if !has_equal_threads(&work.program) {
        return Err(MemberError::Unfit(
            "no process of this program is of any number, or of more than one thread".into(),
        ));
    }
    let mut general = work.program.clone();
    for process in general.processes.iter_mut().filter(|p| p.count.is_some_and(|count| count > 1)) {
        process.count = None;
    }
    let began = Instant::now();
    let time = work.left().map_or(GENERAL, |left| left.min(GENERAL));
    let proved = match with_or_without_deadlocks(work, &general, time, news) {
        // There may be executions of none of them alone.
        Ok(report) if report.verdict == Verdict::Verified => {
            (!is_surely_vacuous(&work.program, work.deadline, &work.stop)).then_some(report)
        }
        Err(error @ MemberError::Proof(ProofError::Internal(_))) => return Err(error),
        Ok(_) | Err(_) => None,
    };
    let message = "it is not known whether any number of threads of each kind would do".into();
    let open = || nothing_known(Member::AnyThreads, &work.id, Reason::Program { message }, began.elapsed());
    Ok(proved.unwrap_or_else(open))
}

/// As many threads as one likes are started: who starts them is never stuck, so that there is no deadlock.
fn without_end(
    work: &Work,
    program: &Program,
    id: &ProgramId,
    news: &(dyn Fn(Now) + Sync),
) -> Result<Report, MemberError> {
    let plan = ProofPlan { deadlock: false, ..any_number(work, work.left()) };
    let report = any_threads(work, program, id, &plan, news)?;
    Ok(without_races(work, without_options(report)))
}

/// Other numbers of threads than the one that is asked about may wait for ever: then no assertion fails, and that is all.
fn with_or_without_deadlocks(
    work: &Work,
    program: &Program,
    time: Duration,
    news: &(dyn Fn(Now) + Sync),
) -> Result<Report, MemberError> {
    let began = Instant::now();
    let plan = any_number(work, Some(time));
    let report = any_threads(work, program, &work.id, &plan, news)?;
    if !matches!(&report.verdict, Verdict::Bug { trace } if trace.kind == BugKind::Deadlock) {
        return Ok(report);
    }
    let time = Some(time.saturating_sub(began.elapsed()));
    let mut report = any_threads(work, program, &work.id, &ProofPlan { deadlock: false, time, ..plan }, news)?;
    report.limits.push(NO_DEADLOCKS.into());
    Ok(report)
}

/// Any number of contexts of the threads that there are.
fn converge(work: &Work, news: &(dyn Fn(Now) + Sync)) -> Result<Report, MemberError> {
    if let Some(wrong) = convergence::unfit(&work.program) {
        return Err(MemberError::Unfit(format!("this engine does not know {}", wrong.what)));
    }
    let plan = ProofPlan {
        sequentialization: Sequentialization::default_for(&work.program),
        engine: Engine::Convergence,
        incremental: false,
        ..any_number(work, work.left())
    };
    any_threads(work, &work.program, &work.id, &plan, news)
}

fn any_threads(
    work: &Work,
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    news: &(dyn Fn(Now) + Sync),
) -> Result<Report, MemberError> {
    let proof = prove(program, id, plan, &work.stop, &|p| news(Now::Proving(*p)));
    Ok(proof.map_err(MemberError::Proof)?.report)
}

fn any_number(work: &Work, time: Option<Duration>) -> ProofPlan {
    ProofPlan {
        sequentialization: Sequentialization::AnyThreads(MOST),
        engine: Engine::Automatic,
        unwind: None,
        recursion: None,
        tasks: None,
        objects: None,
        incremental: true,
        deadlock: work.ask.deadlock,
        properties: true,
        solver: SolverChoice::Embedded,
        memory: work.ask.memory,
        time,
    }
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

pub const NO_RACES: &str = "data races were not looked for";

/// Only those who explore look for data races.
fn without_races(work: &Work, mut report: Report) -> Report {
    let limits = match &mut report.verdict {
        Verdict::NoBugWithinBounds { bounds } | Verdict::Unknown { bounds, .. } => &mut bounds.limits,
        Verdict::Verified => &mut report.limits,
        Verdict::Bug { .. } => return report,
    };
    if work.ask.points == Points::Sync {
        limits.push(NO_RACES.into());
    }
    report
}

/// The same where those who explore may still look at all that there is.
fn none_of_races(work: &Work, report: Report) -> Report {
    if work.ask.points == Points::Sync && report.verdict == Verdict::Verified {
        let reason = Reason::Program { message: NO_RACES.into() };
        return nothing_known(Member::BoundedModelChecking, &work.id, reason, report.elapsed);
    }
    without_races(work, report)
}

/// Nobody has said anything.
pub fn nothing_known(member: Member, id: &ProgramId, reason: Reason, elapsed: Duration) -> Report {
    let (bound, scheduler, _) = member.cost();
    Report { elapsed, ..unknown(bound, scheduler, id, reason) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Somebody else may find the same with the least cost.
    #[test]
    fn a_bug_that_is_found_at_random_is_told_when_the_others_begin() {
        let source = "init { assert false; }\n";
        let program = fabius_lang::compile(source, &fabius_lang::Options::default()).expect("it is a program");
        let work = Arc::new(Work {
            id: program_id("test.fab", source, &[], &[]),
            program,
            ask: Ask::default(),
            others_begin: Instant::now() + Duration::from_secs(3600),
            deadline: None,
            stop: Arc::default(),
            others_rest: AtomicBool::new(false),
        });
        let walking = std::thread::spawn({
            let work = Arc::clone(&work);
            move || run(Member::RandomWalks, &work, &|_| {})
        });
        std::thread::sleep(Duration::from_millis(100));
        assert!(!walking.is_finished());
        work.stop.store(true, Ordering::Relaxed);
        let found = walking.join().expect("it does not panic").expect("it fits");
        assert!(matches!(found.verdict, Verdict::Bug { .. } | Verdict::Unknown { .. }), "{:?}", found.verdict);
    }

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
