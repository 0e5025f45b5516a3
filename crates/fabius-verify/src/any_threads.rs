//! Programs with any number of threads: decided round by round, and shown with as few threads as it takes.

use crate::bounds::{NO_DEADLOCKS, beyond_64_bits, cut_by, of_verdict, proof_bounds, solver};
use crate::by_horn::{self, clauses_say};
use crate::by_invariants::holds_always;
use crate::by_summaries::{by_diagrams, no_size, summarize};
use crate::proof::{Engine, ProofError, ProofPlan};
use crate::witness::{events, found};
use crate::work::{Work, cut_off, follow};
use crate::{Report, program_id, with_instances};
use fabius_lang::program::{Program, StmtKind};
use fabius_sequential::bmc::{Depth, Outcome};
use fabius_sequential::horn;
use fabius_sequential::invariants::Found;
use fabius_sequential::summaries::counting::{Counting, Waiting, count, waiting};
use fabius_sequential::summaries::interfaces::{Composed, Threads, Waits, compose};
use fabius_sequential::summaries::views::{Invariant, invariant};
use fabius_sequential::summaries::{GaveUp, NODES, Template};
use fabius_smt::{Embedded, Limits, SatSolver};
use fabius_trace::{ProgramId, Reason, Schedule, Turn, Verdict};
use fabius_translate::explicit::Trace;
use fabius_translate::linear_interface::eager::{eager, threads};
use fabius_translate::linear_interface::{Parameterized, lazy::lazy, parameterized};
use fabius_translate::{Happened, lift, rounds::rounds, strict};
use std::time::Instant;

/// What an engine says of so many rounds.
enum Said {
    /// In so many rounds, and with so many threads of any number, if that is known.
    Bug {
        rounds: u32,
        threads: Option<u32>,
    },
    NoBug {
        limits: Vec<String>,
    },
    Unknown(Reason),
    /// The variable of this name has no finite size.
    NotFinite(String),
}

/// How hard an engine tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// Diagrams of [`FEW_NODES`]; [`FEW_CONFLICTS`], and a quarter of the time.
    Little,
    /// As long as the limits allow.
    All,
}

/// Who is asked if nobody is named. Most programs are decided by the first one; bugs of most others show at once, and need no
/// exactness.
const AUTOMATIC: [(Engine, Effort); 5] = [
    (Engine::Interfaces, Effort::Little),
    (Engine::Bmc, Effort::Little),
    (Engine::Interfaces, Effort::All),
    (Engine::Summaries, Effort::All),
    (Engine::Bmc, Effort::All),
];

const FEW_NODES: usize = 1 << 20;
const FEW_CONFLICTS: u64 = 2_000;

/// Loops, calls and threads are followed so far with little effort.
const SHALLOW: u32 = 3;

/// Decides the executions of at most `count` rounds of any number of threads.
pub fn attempt(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    count: u32,
    work: &mut Work<'_>,
) -> Result<Report, ProofError> {
    let source = parameterized(program, Trace::Off, plan.caps(), plan.deadlocks()).map_err(ProofError::Unsupported)?;
    work.sliced = source.sliced();
    let is_asked = plan.incremental && plan.engine == Engine::Automatic && count == CONVERGED;
    if is_asked && source.is_cut() && id.instances.is_empty() && follows_all(program, plan, work)? {
        return Ok(of_verdict(Verdict::Verified));
    }
    let mut limits = source.limits().to_vec();
    let verdict = decide(program, id, plan, &source, count, &mut limits, work)?;
    Ok(Report { limits, ..of_verdict(verdict) })
}

/// Whether an invariant says that nobody comes to what the front end does not follow, that nothing fails, and that nobody waits for
/// ever.
fn follows_all(program: &Program, plan: &ProofPlan, work: &mut Work<'_>) -> Result<bool, ProofError> {
    let strict = strict(program);
    match parameterized(&strict, Trace::Off, plan.caps(), plan.deadlocks()) {
        Ok(source) if !source.is_cut() => Ok(always(&source, FEW_NODES, work)? == Known::ALL),
        _ => Ok(false),
    }
}

/// `limits` is what is left out whatever the answer is.
fn decide(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    source: &Parameterized,
    count: u32,
    limits: &mut Vec<String>,
    work: &mut Work<'_>,
) -> Result<Verdict, ProofError> {
    let leaves_out = source.is_cut() || !id.instances.is_empty();
    let may_converge = plan.incremental && !leaves_out;
    // Rounds take long, and clauses may take for ever, where all rounds are decided at once.
    let asks_first = match plan.engine {
        Engine::Automatic => !leaves_out && count >= CONVERGED,
        Engine::Horn => may_converge && count == 1,
        Engine::Interfaces | Engine::Summaries | Engine::Bmc | Engine::Convergence => false,
    };
    let mut known = if asks_first { always(source, FEW_NODES, work)? } else { Known::NOTHING };
    // Clauses say nothing of deadlocks.
    let nobody_looks = plan.engine == Engine::Horn;
    if may_converge && known.failing == Always::Holds && (known.waiting == Waiting::Never || nobody_looks) {
        limits.extend((known.waiting != Waiting::Never).then(|| NO_DEADLOCKS.into()));
        return Ok(Verdict::Verified);
    }
    let mut bounds = proof_bounds(plan.sequentialization, id);
    bounds.any = any_of(program);
    bounds.limits.clone_from(&source.limits().to_vec());
    if known == Known::ALL {
        return Ok(Verdict::NoBugWithinBounds { bounds });
    }
    let without = (known.waiting == Waiting::Never).then(|| source.without_deadlocks());
    let source = without.as_ref().unwrap_or(source);
    let said = match known.failing {
        Always::Holds => only_deadlocks(program, plan, source, count, work)?,
        Always::Fails | Always::Open => {
            let one = [(plan.engine, Effort::All)];
            say(program, plan, source, count, if plan.engine == Engine::Automatic { &AUTOMATIC } else { &one }, work)?
        }
    };
    if matches!(said, Said::NoBug { .. }) && may_converge && count == CONVERGED && known == Known::NOTHING {
        known = always(source, NODES, work)?;
    }
    Ok(match said {
        Said::Bug { rounds, threads } => {
            let least = Least { rounds, threads };
            match witness(program, id, plan, least, work)? {
                Some(verdict) => verdict,
                None => {
                    bounds.completed = None;
                    Verdict::Unknown { reason: cut_by(work.limits), bounds }
                }
            }
        }
        Said::NoBug { limits: said } if may_converge && known.failing == Always::Holds => {
            if known.waiting != Waiting::Never {
                let exactly = format!("deadlocks were looked for in {count} rounds alone");
                limits.push(if said.is_empty() { exactly } else { NO_DEADLOCKS.into() });
            }
            Verdict::Verified
        }
        Said::NoBug { limits } => {
            bounds.limits.extend(limits);
            bounds.limits.extend(work.open.clone());
            if program.processes.iter().any(|p| p.count.is_some()) {
                bounds.limits.push("in each round the threads of a declared number run first".into());
            }
            Verdict::NoBugWithinBounds { bounds }
        }
        Said::Unknown(reason) => {
            bounds.completed = None;
            Verdict::Unknown { reason, bounds }
        }
        Said::NotFinite(name) => return Err(ProofError::NotFinite(no_size(&name, program))),
    })
}

/// Where no assertion fails: what is said of deadlocks with little effort.
fn only_deadlocks(
    program: &Program,
    plan: &ProofPlan,
    source: &Parameterized,
    count: u32,
    work: &mut Work<'_>,
) -> Result<Said, ProofError> {
    let asked = [(Engine::Interfaces, Effort::Little), (Engine::Bmc, Effort::Little)];
    Ok(match say(program, plan, source, count, &asked, work)? {
        Said::Unknown(_) | Said::NotFinite(_) => Said::NoBug { limits: not_looked(source) },
        said => said,
    })
}

/// What the engine says that is asked for; or, one after the other, those that might know.
fn say(
    program: &Program,
    plan: &ProofPlan,
    source: &Parameterized,
    count: u32,
    asked: &[(Engine, Effort)],
    work: &mut Work<'_>,
) -> Result<Said, ProofError> {
    // Objects are many variables, of which few matter: too many for exactness.
    let has_heap = program.any_stmt(|s| matches!(s.kind, StmtKind::New(..)));
    let mut said = None;
    for (engine, effort) in asked {
        let exact = matches!(engine, Engine::Interfaces | Engine::Summaries);
        let is_hopeless = match &said {
            Some(Said::NotFinite(_)) => *engine == Engine::Interfaces,
            Some(_) => exact && has_heap,
            None => false,
        };
        if is_hopeless {
            continue;
        }
        work.figures.clear();
        let now = match engine {
            Engine::Interfaces => by_interfaces(source, count, *effort, work)?,
            Engine::Summaries => by_summaries(source, count, work)?,
            Engine::Horn => by_horn(source, plan, count, work)?,
            Engine::Convergence => unreachable!("it is asked of programs as they are"),
            Engine::Bmc | Engine::Automatic => by_bmc(source, plan, count, *effort, work)?,
        };
        let goes_on = match (&now, engine, effort) {
            (Said::Bug { .. }, ..) => false,
            (_, Engine::Bmc, Effort::Little) => true,
            (Said::NoBug { .. }, ..) => false,
            (Said::Unknown(reason), ..) => *reason == Reason::Memory,
            (Said::NotFinite(_), ..) => true,
        };
        if !goes_on {
            return Ok(now);
        }
        if (*engine, *effort) != (Engine::Bmc, Effort::Little) {
            said = Some(now);
        }
    }
    Ok(said.expect("some engine is asked"))
}

/// After so many rounds without a bug, an invariant of all rounds is looked for.
const CONVERGED: u32 = 2;

/// What is known of any number of threads and of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    failing: Always,
    waiting: Waiting,
}

impl Known {
    const NOTHING: Known = Known { failing: Always::Open, waiting: Waiting::Open };
    const ALL: Known = Known { failing: Always::Holds, waiting: Waiting::Never };
}

/// What is known of assertions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Always {
    /// No assertion fails.
    Holds,
    /// Some assertion fails, in some number of rounds.
    Fails,
    Open,
}

/// Looks at all rounds: for assertions, and whether threads wait for ever.
fn always(source: &Parameterized, nodes: usize, work: &mut Work<'_>) -> Result<Known, ProofError> {
    let figures = std::mem::take(&mut work.figures);
    let failing = never_fail(source, nodes, work)?;
    // `init` alone waits as everybody does, but is not counted.
    let is_asked = failing != Always::Fails && !source.init_waits();
    let waiting = match source.waits() {
        false => Waiting::Never,
        true if !is_asked => Waiting::Open,
        true => {
            let (program, declared, any) = source.template();
            let answer = by_diagrams(work, move |limits, progress| {
                waiting(&Template { program: &program, declared: &declared, any: &any }, nodes, limits, progress)
            })?;
            answer.unwrap_or(Waiting::Open)
        }
    };
    // The figures are those of the engine, if one was asked.
    if !figures.is_empty() {
        work.figures = figures;
    }
    Ok(Known { failing, waiting })
}

/// Looks for an invariant over views, and where that is not enough, counts threads; where data is not finite, or procedures are
/// recursive, for views and sums.
fn never_fail(source: &Parameterized, nodes: usize, work: &mut Work<'_>) -> Result<Always, ProofError> {
    let (program, declared, any) = source.template();
    let shared = program.clone();
    let [one, all] = [(declared.clone(), any.clone()), (declared, any)];
    let by_views = by_diagrams(work, move |limits, progress| {
        invariant(&Template { program: &shared, declared: &one.0, any: &one.1 }, nodes, limits, progress)
    })?;
    let answer = match by_views {
        Ok(Invariant::Holds) => Ok(Counting::Holds),
        Ok(Invariant::Recursive) => Ok(Counting::Recursive),
        Err(why @ (GaveUp::Stopped | GaveUp::Memory)) => Err(why),
        Ok(Invariant::Open) | Err(GaveUp::NotFinite(_)) => by_diagrams(work, move |limits, progress| {
            count(&Template { program: &program, declared: &all.0, any: &all.1 }, nodes, limits, progress)
        })?,
    };
    if matches!(answer, Ok(Counting::Recursive | Counting::TooMany) | Err(GaveUp::NotFinite(_))) {
        let most = if nodes < NODES { LITTLE } else { u64::MAX };
        if holds_always(source, most, work)? == Found::Holds {
            return Ok(Always::Holds);
        }
    }
    let why = match answer {
        Ok(Counting::Holds) => return Ok(Always::Holds),
        Ok(Counting::Fails) => return Ok(Always::Fails),
        Ok(Counting::Recursive) => "procedures are recursive".to_string(),
        Ok(Counting::TooMany) => "there are too many states".to_string(),
        Err(GaveUp::NotFinite(name)) => no_size(&name, source.program()),
        Err(GaveUp::Stopped) => "there was no time".into(),
        Err(GaveUp::Memory) => "there was no memory".into(),
    };
    *work.open = Some(format!("no invariant of all rounds was found: {why}"));
    Ok(Always::Open)
}

/// Effort for an invariant of data that is not finite, at first: some seconds.
const LITTLE: u64 = 100_000;

/// The processes of any number.
pub fn any_of(program: &Program) -> Vec<String> {
    program.processes.iter().filter(|p| p.count.is_none()).map(|p| p.name.clone()).collect()
}

fn gave_up(why: GaveUp, limits: &Limits<'_>) -> Said {
    match why {
        GaveUp::NotFinite(name) => Said::NotFinite(name),
        GaveUp::Stopped => Said::Unknown(cut_by(limits)),
        GaveUp::Memory => Said::Unknown(Reason::Memory),
    }
}

/// What those leave out who do not look at waiting.
fn not_looked(source: &Parameterized) -> Vec<String> {
    source.waits().then(|| NO_DEADLOCKS.into()).into_iter().collect()
}

fn by_summaries(source: &Parameterized, count: u32, work: &mut Work<'_>) -> Result<Said, ProofError> {
    match summarize(lazy(source, count).program, work)? {
        Ok(reached) if reached.failing.is_empty() => Ok(Said::NoBug { limits: not_looked(source) }),
        Ok(_) => Ok(Said::Bug { rounds: count, threads: None }),
        Err(why) => Ok(gave_up(why, work.limits)),
    }
}

fn by_horn(source: &Parameterized, plan: &ProofPlan, count: u32, work: &mut Work<'_>) -> Result<Said, ProofError> {
    Ok(match clauses_say(&lazy(source, count).program, plan, work)? {
        horn::Answer::Safe { .. } => Said::NoBug { limits: not_looked(source) },
        horn::Answer::Unsafe => Said::Bug { rounds: count, threads: None },
        horn::Answer::Unknown { reason } => Said::Unknown(by_horn::reason_of(reason, work.limits)),
    })
}

fn by_interfaces(source: &Parameterized, count: u32, effort: Effort, work: &mut Work<'_>) -> Result<Said, ProofError> {
    let of = threads(source, count);
    let nodes = if effort == Effort::Little { FEW_NODES } else { NODES };
    let waits = of.waits.map(|w| Waits { stuck: w.stuck, dropped: w.dropped, last: w.last });
    let composed = by_diagrams(work, move |limits, progress| {
        let threads = Threads {
            program: &of.program,
            declared: &of.declared,
            any: of.any,
            shared: &of.shared,
            round: of.round,
            failed: of.failed,
            waits: waits.as_ref(),
        };
        compose(&threads, nodes, limits, progress)
    })?;
    match composed {
        Ok(Composed::Holds) => Ok(Said::NoBug { limits: Vec::new() }),
        Ok(Composed::Fails { rounds, threads }) => Ok(Said::Bug { rounds, threads: Some(threads) }),
        Err(why) => Ok(gave_up(why, work.limits)),
    }
}

/// The eager translation: one loop over the threads, which is unwound.
fn by_bmc(
    source: &Parameterized,
    plan: &ProofPlan,
    count: u32,
    effort: Effort,
    work: &mut Work<'_>,
) -> Result<Said, ProofError> {
    let translated = eager(source, count);
    let depth = plan.depth();
    let outcome = match effort {
        Effort::All => follow(&translated, solver(&plan.solver)?, depth, work.limits, work)?,
        Effort::Little => {
            let depth = Depth { unwind: depth.unwind.min(SHALLOW), recursion: depth.recursion.min(SHALLOW) };
            let now = Instant::now();
            let deadline = work.limits.deadline.map(|d| now + d.saturating_duration_since(now) / 4);
            let limits = Limits { deadline, ..*work.limits };
            follow(&translated, Box::new(Embedded::with(SatSolver::Few(FEW_CONFLICTS))), depth, &limits, work)?
        }
    };
    Ok(match outcome {
        Outcome::Bug(_) => Said::Bug { rounds: count, threads: None },
        Outcome::Unknown => Said::Unknown(cut_by(work.limits)),
        Outcome::Safe { within_64_bits: true, .. } => Said::Unknown(beyond_64_bits()),
        Outcome::Safe { cuts, .. } => {
            let threads = cuts.iter().any(|cut| cut.span == fabius_trace::Span::default());
            let mut limits: Vec<String> = Vec::new();
            if threads {
                let words = format!("at most {} threads were followed (`--unwind` raises this)", depth.unwind);
                if plan.unwind.is_none() && effort == Effort::All {
                    work.cut.push(words.clone());
                }
                limits.push(words);
            }
            if effort == Effort::All {
                let at = cuts.iter().filter(|cut| cut.span != fabius_trace::Span::default());
                cut_off(plan, at, source.program(), &mut limits, work);
            }
            Said::NoBug { limits }
        }
    })
}

/// In how many rounds there is a bug, and with how many threads of any number, if that is known.
#[derive(Clone, Copy)]
struct Least {
    rounds: u32,
    threads: Option<u32>,
}

/// The bug with as few threads as it takes; `None` if a limit stops the search.
///
/// There is one, so a search that follows loops, calls and threads further and further ends. Whoever knows in how many threads
/// there is one knows no least number: threads are put together round by round, not one by one.
fn witness(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    least: Least,
    work: &mut Work<'_>,
) -> Result<Option<Verdict>, ProofError> {
    let source = parameterized(program, Trace::On, plan.caps(), plan.deadlocks()).map_err(ProofError::Unsupported)?;
    // How many threads are ruled out however far loops and calls are followed.
    let mut ruled_out = 0;
    for effort in 0.. {
        let fewest = ruled_out;
        for threads in fewest..=least.threads.unwrap_or(effort).min(effort) {
            let depth = 2u32.saturating_pow((effort - threads).min(12) + 1);
            let depth = Depth { unwind: depth, recursion: depth };
            let translated = rounds(&source.with_threads(threads), least.rounds).map_err(ProofError::Unsupported)?;
            match follow(&translated, solver(&plan.solver)?, depth, work.limits, work)? {
                Outcome::Bug(witness) => {
                    let happened = || lift(&events(&witness), translated.nesting);
                    let shown = |limits: &Limits<'_>| {
                        let happened = happened().map_err(|e| ProofError::Internal(e.0))?;
                        as_threads(program, id, plan, least, &happened, limits)
                    };
                    return work.replay(shown).map(Some);
                }
                Outcome::Safe { cuts, .. } if cuts.is_empty() && threads == ruled_out => {
                    if least.threads == Some(threads) {
                        return Err(ProofError::Internal("bounded model checking disagrees with interfaces".into()));
                    }
                    ruled_out += 1;
                }
                Outcome::Safe { .. } => {}
                Outcome::Unknown => return Ok(None),
            }
        }
    }
    unreachable!("efforts grow without end")
}

/// Replays what happened with as many threads of each process as take part.
fn as_threads(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    least: Least,
    happened: &Happened,
    limits: &Limits<'_>,
) -> Result<Verdict, ProofError> {
    let of = |process: usize| happened.processes.iter().filter(|(_, of)| *of == process).count() as u32;
    let any = program.processes.iter().enumerate().filter(|(_, p)| p.count.is_none());
    let instances: Vec<(String, u32)> = any.map(|(n, p)| (p.name.clone(), of(n))).collect();
    let all = with_instances(program.clone(), &instances).map_err(|e| ProofError::Internal(e.message))?;
    let instances = [id.instances.clone(), instances].concat();
    let id = program_id(&id.file, &program.source, &id.consts, &instances);
    let mut verdict = found(&all, &id, plan.sequentialization, &happened.schedule, limits)?;
    if let Verdict::Bug { trace } = &mut verdict {
        let order: Vec<u32> = happened.processes.iter().filter_map(|(task, _)| *task).collect();
        trace.cost = new_rounds(&trace.schedule(), &order).min(least.rounds - 1);
    }
    Ok(verdict)
}

/// The new rounds of a schedule, if threads run in this order in each.
fn new_rounds(schedule: &Schedule, order: &[u32]) -> u32 {
    let place = |turn: &Turn| order.iter().position(|task| *task == turn.task);
    schedule.windows(2).filter(|turns| place(&turns[1]) < place(&turns[0])).count() as u32
}
