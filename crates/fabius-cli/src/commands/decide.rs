//! `fabius decide`, or `fabius FILE`: all engines that fit, side by side.

use crate::answers::checked::Question;
use crate::answers::decided::{engines, others};
use crate::answers::{documents, give, svcomp, text};
use crate::args::common::ProgramArgs;
use crate::args::decide::DecideArgs;
use crate::failure::{self, Failure, input};
use crate::outputs::refuse_losses;
use crate::paint::Style;
use crate::program::{for_reading, load};
use crate::progress::Board;
use crate::{c, files, stop};
use fabius_c::Property;
use fabius_lang::Choices;
use fabius_lang::program::Program;
use fabius_trace::{Points, ProgramId, Reason};
use fabius_verify::portfolio::{self, Ask, Larger, Member, MemberError};
use fabius_verify::prove::{Budget, most_of_available};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Runs the command; returns the exit code.
pub fn run(args: &DecideArgs) -> Result<u8, Failure> {
    let began = Instant::now();
    refuse_losses(&[args.file.as_path()], &args.outputs())?;
    svcomp::refuse_what_cannot_be_given(&args.file, &args.program, &args.svcomp)?;
    let stop = stop::on_interrupt();
    let budget = Budget { time: args.time, memory: for_reading(args.memory), stop: &stop };
    let loaded = load(&args.file, &args.program, Choices::Unbounded, budget)?;
    let is_c = c::is_c(Path::new(&loaded.id.file));
    // Data races are bugs of C.
    let races = is_c && c::property(&loaded.id).is_none_or(|p| p == Property::NoDataRace);
    let has_races = races && loaded.program.as_ref().map_or(true, |program| !c::has_one_thread(program));
    let points = if has_races { Points::Sync } else { Points::All };
    let program = match &loaded.program {
        Ok(program) => program,
        Err(reason) => {
            return give::unread(reason, question(Member::Exploration, points), began, &loaded, &args.answer);
        }
    };
    // Of the choices of C those values are tried that matter.
    let is_explorable = is_c || !program.has_unbounded_choice();
    // Who is alone and never waits ends, or goes on for ever: there are no deadlocks to look for.
    let is_sequential = is_c && c::has_one_thread(program) && c::goes_on(program);
    let program = &Program { may_be_vacuous: program.may_be_vacuous || is_sequential, ..program.clone() };
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let ask = Ask {
        only: args.engine.map(Into::into),
        is_explorable,
        points,
        deadlock: c::property(&loaded.id).is_none() && !is_sequential,
        // Reading the program is part of the time.
        time: args.time.map(|time| time.saturating_sub(began.elapsed())),
        memory: args.memory.or_else(most_of_available),
        jobs: args.jobs.map_or_else(processors, |n| n as usize),
        larger: larger(args, is_c),
        any_number: loaded.starts_without_end.then(|| of_any_number(args)).flatten(),
    };
    let board = Board::new(!args.answer.json, args.time.is_none());
    let outcome = portfolio::decide(program, &loaded.id, &ask, &stop, &mut |member, now| {
        board.tell(member, &now);
    });
    board.clear();
    let mut decided = outcome.map_err(|error| match error {
        MemberError::Check(error) => failure::of_check(error),
        MemberError::Proof(error) => failure::of_proof(error, &loaded.source, &loaded.id.file),
        MemberError::Unfit(why) => input(why).help("ask all engines that fit: leave out `--engine`"),
    })?;
    loaded.qualify(&mut decided.report);
    let question = question(decided.by, points);
    let document = documents::Answer::of(&decided.report, question, &loaded.id).with_engines(engines(&decided));
    let code = give::answer(&decided.report, question, &loaded, &args.answer, text::statistics, &document)?;
    svcomp::give(&decided.report, &loaded, &args.svcomp)?;
    if !args.answer.json && !args.svcomp.svcomp {
        let style = Style::of_stdout(args.answer.output.color);
        files::print_in(style.paint, &others(&decided))?;
    }
    Ok(code)
}

/// How a C program is read with larger limits, unless its user has said how large they are.
fn larger(args: &DecideArgs, is_c: bool) -> Larger {
    if !is_c || args.program.allocations.is_some() || args.file == Path::new(files::STDIN) {
        return Larger::default();
    }
    let (file, program) = (args.file.clone(), args.program.clone());
    Larger(Some(Arc::new(move |reason, before| {
        let is_raised = matches!(reason, Reason::Program { message } if message.contains(fabius_c::RAISED));
        let allocations = Some(*c::LARGER.get(before as usize).filter(|_| is_raised)?);
        let program = ProgramArgs { allocations, ..program.clone() };
        let budget = Budget { time: None, memory: None, stop: &Arc::default() };
        let loaded = load(&file, &program, Choices::Unbounded, budget).ok()?;
        Some((loaded.program.ok()?, loaded.id))
    })))
}

/// How a C program is read that starts threads in a loop without an end.
fn of_any_number(args: &DecideArgs) -> Option<Arc<(Program, ProgramId)>> {
    let budget = Budget { time: None, memory: None, stop: &Arc::default() };
    let loaded = load(&args.file, &c::of_any_number(&args.program), Choices::Unbounded, budget).ok()?;
    Some(Arc::new((loaded.program.ok()?, loaded.id)))
}

fn question(member: Member, points: Points) -> Question {
    let (bound, scheduler, least) = member.cost();
    Question { bound, scheduler, points, least }
}
