//! Programs with any number of threads: decided round by round, and shown with as few threads as it takes.

use crate::by_horn::{clauses_say, reason_of};
use crate::by_summaries::summarize;
use crate::prove::{
    Engine, Figures, Proof, ProofError, ProofPlan, beyond_64_bits, cut_by, describe, events, follow, found, of_verdict,
    proof_bounds,
};
use crate::{program_id, with_instances};
use fabius_lang::program::Program;
use fabius_sequential::bmc::{Depth, Outcome, Statistics};
use fabius_sequential::horn;
use fabius_sequential::summaries::interfaces::{Composed, Threads, compose};
use fabius_sequential::summaries::views::{self, Invariant, Template};
use fabius_sequential::summaries::{self, Answer};
use fabius_smt::Limits;
use fabius_trace::{ProgramId, Reason, Schedule, Turn, Verdict};
use fabius_translate::explicit::Trace;
use fabius_translate::linear_interface::eager::{eager, threads};
use fabius_translate::linear_interface::{Parameterized, lazy::lazy, parameterized};
use fabius_translate::{Happened, lift, rounds::rounds};
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
    /// A variable has no finite size.
    NotFinite(String),
}

/// Decides the executions of at most `count` rounds of any number of threads.
pub fn attempt(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    count: u32,
    limits: &Limits<'_>,
    progress: &mut dyn FnMut(Statistics),
) -> Result<Proof, ProofError> {
    let source = parameterized(program, Trace::Off).map_err(ProofError::Unsupported)?;
    let mut statistics = Statistics::default();
    let mut numbers = Vec::new();
    let engines: &[Engine] = match plan.engine {
        Engine::Automatic => &[Engine::Interfaces, Engine::Summaries, Engine::Bmc],
        ref one => std::slice::from_ref(one),
    };
    let mut said = None;
    for engine in engines {
        numbers.clear();
        let now = match engine {
            Engine::Interfaces => by_interfaces(&source, count, limits, &mut statistics, &mut numbers, progress)?,
            Engine::Summaries => by_summaries(&source, count, limits, &mut statistics, &mut numbers, progress)?,
            Engine::Horn => by_horn(&source, plan, count, limits, &mut statistics, &mut numbers, progress)?,
            Engine::Bmc | Engine::Automatic => by_bmc(&source, plan, count, limits, &mut statistics, progress)?,
        };
        let is_last = !matches!(now, Said::NotFinite(_) | Said::Unknown(Reason::Memory));
        said = Some(now);
        if is_last {
            break;
        }
    }
    let said = said.expect("some engine is asked");
    let mut bounds = proof_bounds(plan.sequentialization, id);
    bounds.any = any_of(program);
    bounds.limits.clone_from(&source.limits().to_vec());
    let solved = Instant::now();
    let verdict = match said {
        Said::Bug { rounds, threads } => {
            let least = Least { rounds, threads };
            match witness(program, id, plan, least, limits, &mut statistics, progress)? {
                Some(verdict) => verdict,
                None => {
                    bounds.completed = None;
                    Verdict::Unknown { reason: cut_by(limits), bounds }
                }
            }
        }
        Said::NoBug { .. } if plan.incremental && count == CONVERGED && converges(&source, id, limits) => {
            Verdict::Verified
        }
        Said::NoBug { limits } => {
            bounds.limits.extend(limits);
            if program.processes.iter().any(|p| p.count.is_some()) {
                bounds.limits.push("in each round the threads of a declared number run first".into());
            }
            Verdict::NoBugWithinBounds { bounds }
        }
        Said::Unknown(reason) => {
            bounds.completed = None;
            Verdict::Unknown { reason, bounds }
        }
        Said::NotFinite(name) => return Err(ProofError::NotFinite(name)),
    };
    let mut report = of_verdict(verdict);
    report.limits = source.limits().to_vec();
    Ok(Proof { report, statistics, solver: numbers, replaying: solved.elapsed() })
}

/// After so many rounds without a bug, an invariant of all rounds is looked for.
const CONVERGED: u32 = 2;

/// Whether some invariant shows that no number of threads and rounds has a bug; not asked where some numbers are given.
fn converges(source: &Parameterized, id: &ProgramId, limits: &Limits<'_>) -> bool {
    if source.is_cut() || !id.instances.is_empty() {
        return false;
    }
    let (program, declared, any) = source.template();
    let template = Template { program: &program, declared: &declared, any: &any };
    let limits = summaries::Limits { deadline: limits.deadline, stop: limits.stop };
    views::invariant(&template, &limits, &mut |_| {}) == Invariant::Holds
}

/// The processes of any number.
pub fn any_of(program: &Program) -> Vec<String> {
    program.processes.iter().filter(|p| p.count.is_none()).map(|p| p.name.clone()).collect()
}

fn by_summaries(
    source: &Parameterized,
    count: u32,
    limits: &Limits<'_>,
    statistics: &mut Statistics,
    numbers: &mut Figures,
    progress: &mut dyn FnMut(Statistics),
) -> Result<Said, ProofError> {
    let (answer, figures) = summarize(&lazy(source, count).program, limits, statistics, progress)?;
    *numbers = figures;
    Ok(match answer {
        Answer::Reached(reached) if reached.failing.is_empty() => Said::NoBug { limits: Vec::new() },
        Answer::Reached(_) => Said::Bug { rounds: count, threads: None },
        Answer::NotFinite(name) => Said::NotFinite(name),
        Answer::Stopped => Said::Unknown(cut_by(limits)),
        Answer::Memory => Said::Unknown(Reason::Memory),
    })
}

fn by_horn(
    source: &Parameterized,
    plan: &ProofPlan,
    count: u32,
    limits: &Limits<'_>,
    statistics: &mut Statistics,
    numbers: &mut Figures,
    progress: &mut dyn FnMut(Statistics),
) -> Result<Said, ProofError> {
    let translated = lazy(source, count);
    Ok(match clauses_say(&translated.program, plan, limits, statistics, numbers, progress)? {
        horn::Answer::Safe { .. } => Said::NoBug { limits: Vec::new() },
        horn::Answer::Unsafe => Said::Bug { rounds: count, threads: None },
        horn::Answer::Unknown { reason } => Said::Unknown(reason_of(reason, limits)),
    })
}

fn by_interfaces(
    source: &Parameterized,
    count: u32,
    limits: &Limits<'_>,
    statistics: &mut Statistics,
    numbers: &mut Figures,
    progress: &mut dyn FnMut(Statistics),
) -> Result<Said, ProofError> {
    let threads = threads(source, count);
    let of = summaries::Limits { deadline: limits.deadline, stop: limits.stop };
    let before = *statistics;
    let mut tick = |s: &summaries::Statistics| progress(Statistics { queries: s.images, solving: s.time, ..before });
    let composed = compose(
        &Threads {
            program: &threads.program,
            declared: &threads.declared,
            any: threads.any,
            shared: &threads.shared,
            round: threads.round,
            failed: threads.failed,
        },
        &of,
        &mut tick,
    );
    let (composed, done) = composed.map_err(|_| ProofError::Internal("the translation is not sequential".into()))?;
    statistics.solving += done.time;
    statistics.queries += done.images;
    numbers.extend([("bits", u64::from(done.bits)), ("images", done.images), ("nodes", done.nodes as u64)]);
    Ok(match composed {
        Composed::Holds => Said::NoBug { limits: Vec::new() },
        Composed::Fails { rounds, threads } => Said::Bug { rounds, threads: Some(threads) },
        Composed::NotFinite(name) => Said::NotFinite(name),
        Composed::Stopped => Said::Unknown(cut_by(limits)),
        Composed::Memory => Said::Unknown(Reason::Memory),
    })
}

/// The eager translation: one loop over the threads, which is unwound.
fn by_bmc(
    source: &Parameterized,
    plan: &ProofPlan,
    count: u32,
    limits: &Limits<'_>,
    statistics: &mut Statistics,
    progress: &mut dyn FnMut(Statistics),
) -> Result<Said, ProofError> {
    let translated = eager(source, count);
    let depth = Depth { unwind: plan.unwind, recursion: plan.recursion };
    Ok(match follow(&translated, plan, depth, limits, statistics, progress)? {
        Outcome::Bug(_) => Said::Bug { rounds: count, threads: None },
        Outcome::Unknown => Said::Unknown(cut_by(limits)),
        Outcome::Safe { within_64_bits: true, .. } => Said::Unknown(beyond_64_bits()),
        Outcome::Safe { cuts, .. } => {
            let threads = cuts.iter().any(|cut| cut.span == fabius_trace::Span::default());
            let mut limits: Vec<String> = Vec::new();
            if threads {
                limits.push(format!("at most {} threads were followed", plan.unwind));
            }
            let at = cuts.iter().filter(|cut| cut.span != fabius_trace::Span::default());
            limits.extend(at.map(|cut| describe(cut, source.program())));
            Said::NoBug { limits }
        }
    })
}

/// In how many rounds there is a bug, and with how many threads of any number, if that is known.
struct Least {
    rounds: u32,
    threads: Option<u32>,
}

/// The bug with as few threads as it takes; `None` if a limit stops the search.
///
/// There is one, so a search that follows loops, calls and threads further and further ends.
fn witness(
    program: &Program,
    id: &ProgramId,
    plan: &ProofPlan,
    least: Least,
    limits: &Limits<'_>,
    statistics: &mut Statistics,
    progress: &mut dyn FnMut(Statistics),
) -> Result<Option<Verdict>, ProofError> {
    let source = parameterized(program, Trace::On).map_err(ProofError::Unsupported)?;
    // How many threads are ruled out however far loops and calls are followed.
    let mut ruled_out = least.threads.unwrap_or(0);
    for effort in ruled_out.. {
        let fewest = ruled_out;
        for threads in fewest..=least.threads.unwrap_or(effort) {
            let depth = 2u32.saturating_pow((effort - threads).min(12) + 1);
            let depth = Depth { unwind: depth, recursion: depth };
            let translated = rounds(&source.with_threads(threads), least.rounds).map_err(ProofError::Unsupported)?;
            match follow(&translated, plan, depth, limits, statistics, progress)? {
                Outcome::Bug(witness) => {
                    let happened =
                        lift(&events(&witness), translated.nesting).map_err(|e| ProofError::Internal(e.0))?;
                    let mut verdict = as_threads(program, id, plan, &happened)?;
                    if let Verdict::Bug { trace } = &mut verdict {
                        let order: Vec<u32> = happened.processes.iter().filter_map(|(task, _)| *task).collect();
                        trace.cost = new_rounds(&trace.schedule(), &order).min(least.rounds - 1);
                    }
                    return Ok(Some(verdict));
                }
                Outcome::Safe { cuts, .. } if cuts.is_empty() && threads == ruled_out => {
                    if least.threads.is_some() {
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
fn as_threads(program: &Program, id: &ProgramId, plan: &ProofPlan, happened: &Happened) -> Result<Verdict, ProofError> {
    let of = |process: usize| happened.processes.iter().filter(|(_, of)| *of == process).count() as u32;
    let any = program.processes.iter().enumerate().filter(|(_, p)| p.count.is_none());
    let instances: Vec<(String, u32)> = any.map(|(n, p)| (p.name.clone(), of(n))).collect();
    let all = with_instances(program.clone(), &instances).map_err(|e| ProofError::Internal(e.message))?;
    let instances = [id.instances.clone(), instances].concat();
    let id = program_id(&id.file, &program.source, &id.consts, &instances);
    found(&all, &id, plan.sequentialization, &happened.schedule)
}

/// The new rounds of a schedule, if threads run in this order in each.
fn new_rounds(schedule: &Schedule, order: &[u32]) -> u32 {
    let place = |turn: &Turn| order.iter().position(|task| *task == turn.task);
    schedule.windows(2).filter(|turns| place(&turns[1]) < place(&turns[0])).count() as u32
}
