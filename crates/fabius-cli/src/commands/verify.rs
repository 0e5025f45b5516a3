//! `fabius verify`.

use crate::answers::checked::Question;
use crate::answers::{documents, give, svcomp};
use crate::args::verify::{EngineArg, VerifyArgs};
use crate::failure::{self, Failure, input, nothing_written};
use crate::outputs::refuse_losses;
use crate::paint::{Ink, Style};
use crate::program::load;
use crate::progress::Ticker;
use crate::sequential::{program_args, sequentialization};
use crate::{c, files, stop};
use fabius_c::Property;
use fabius_lang::Choices;
use fabius_lang::program::Program;
use fabius_trace::{Bound, Points, SchedulerKind, Verdict};
use fabius_verify::prove::{self, Budget, Dump, Engine, Proof, ProofError, ProofPlan, Sliced};
use std::path::Path;
use std::time::Instant;

/// Runs the command; returns the exit code.
pub fn run(args: &VerifyArgs) -> Result<u8, Failure> {
    let began = Instant::now();
    refuse_losses(&args.inputs(), &args.outputs())?;
    let stop = stop::on_interrupt();
    svcomp::refuse_what_cannot_be_given(&args.file, &args.sequential.program, &args.svcomp)?;
    let budget = Budget { time: args.limits.time, memory: args.limits.memory, stop: &stop };
    let loaded = load(&args.file, &program_args(&args.sequential, &args.file), Choices::Unbounded, budget)?;
    let program = match &loaded.program {
        Ok(program) => program,
        Err(reason) if !args.dump.is_empty() => {
            return Ok(files::unwritten(&nothing_written(reason), args.answer.output.color));
        }
        Err(reason) => {
            let (bound, scheduler, points) = (Bound::None, SchedulerKind::Bag, Points::All);
            let question = Question { bound, scheduler, points, least: false };
            return give::unread(reason, question, began, &loaded, &args.answer);
        }
    };
    let mut plan = plan(args, program)?;
    let asks_for_deadlocks = plan.deadlock && c::property(&loaded.id).is_none();
    // Who starts threads without an end is not stuck by then, though all of these may be.
    plan.deadlock = asks_for_deadlocks && !loaded.starts_without_end;
    // Reading the program is part of the time.
    plan.time = plan.time.map(|time| time.saturating_sub(began.elapsed()));
    let wrong = |e| failure::of_proof(e, &loaded.source, &loaded.id.file);
    if let [format, path] = args.dump.as_slice() {
        return match prove::dump(program, &plan, format_named(format)?, &stop) {
            Ok(text) => files::write_or_print(path, &text).map(|()| 0),
            Err(ProofError::GaveUp(reason)) => {
                Ok(files::unwritten(&nothing_written(&reason), args.answer.output.color))
            }
            Err(error) => Err(wrong(error)),
        };
    }
    let ticker = Ticker::new(!args.answer.json);
    let outcome = prove::prove(program, &loaded.id, &plan, &stop, &|p| ticker.proof(p));
    ticker.clear();
    let mut proof = outcome.map_err(wrong)?;
    loaded.qualify(&mut proof.report);
    // Data races are bugs of C.
    let races =
        c::is_c(Path::new(&loaded.id.file)) && c::property(&loaded.id).is_none_or(|p| p == Property::NoDataRace);
    if races && proof.report.verdict == Verdict::Verified {
        proof.report.limits.push("data races were not looked for".into());
    }
    if asks_for_deadlocks && !plan.deadlock && proof.report.verdict == Verdict::Verified {
        proof.report.limits.push("deadlocks were not looked for".into());
    }
    let (bound, scheduler) = plan.cost();
    let question = Question { bound, scheduler, points: Points::All, least: proof.least };
    let document = documents::Answer::of(&proof.report, question, &loaded.id).with_proof(&proof);
    let code =
        give::answer(&proof.report, question, &loaded, &args.answer, |_, style| table(&proof, style), &document)?;
    svcomp::give(&proof.report, &loaded, &args.svcomp)?;
    Ok(code)
}

fn plan(args: &VerifyArgs, program: &Program) -> Result<ProofPlan, Failure> {
    let sequentialization = sequentialization(&args.sequential, program)?;
    Ok(ProofPlan {
        sequentialization: match args.incremental && args.sequential.is_default() {
            true => sequentialization.widest(),
            false => sequentialization,
        },
        engine: match args.engine {
            EngineArg::Automatic => Engine::Automatic,
            EngineArg::Bmc => Engine::Bmc,
            EngineArg::Summaries => Engine::Summaries,
            EngineArg::Interfaces => Engine::Interfaces,
            EngineArg::Horn => Engine::Horn,
            EngineArg::Convergence => Engine::Convergence,
        },
        unwind: args.unwind,
        recursion: args.recursion,
        tasks: args.sequential.tasks,
        objects: args.sequential.objects,
        incremental: args.incremental,
        deadlock: !args.no_deadlock,
        properties: !args.no_properties,
        solver: args.solver.choice(),
        time: args.limits.time,
        memory: args.limits.memory,
    })
}

fn format_named(name: &str) -> Result<Dump, Failure> {
    match name {
        "fab" => Ok(Dump::Fab),
        "smt2" => Ok(Dump::SmtLib),
        "horn" => Ok(Dump::Horn),
        "boogie" => Ok(Dump::Boogie),
        "c" => Ok(Dump::C),
        _ => Err(input(format!("`{name}` is no format to write")).help("possible formats: smt2, horn, fab, boogie, c")),
    }
}

/// Where the time went, for people.
fn table(proof: &Proof, style: Style) -> String {
    let s = &proof.statistics;
    let mut text = format!("\n{}\n", style.paint.ink(Ink::Strong, "where the time went"));
    let row = |name: &str, seconds: f64, what: String| format!("{name:>10}  {seconds:>9.3} s  {what}\n");
    let Sliced { variables, assignments, points } = proof.sliced;
    text +=
        &format!("{:>10}  {variables} variables, {assignments} assignments, {points} scheduling points\n", "left out");
    let encoded = format!("{} statements, {} terms, {} loops and calls opened", s.statements, s.terms, s.opened);
    text += &row("encoding", s.encoding.as_secs_f64(), encoded);
    let solver: Vec<String> = proof.solver.iter().map(|(name, n)| format!("{n} {name}")).collect();
    text += &row("solving", s.solving.as_secs_f64(), format!("{} queries, {}", s.queries, solver.join(", ")));
    text += &row("replay", proof.replaying.as_secs_f64(), String::new()).replace("  \n", "\n");
    text += &row("all", proof.report.elapsed.as_secs_f64(), String::new()).replace("  \n", "\n");
    text
}
