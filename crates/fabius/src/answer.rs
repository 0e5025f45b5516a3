//! From what a search or a replay found to the report.

use crate::command;
use crate::config::Config;
use crate::report::Report;
use crate::rerun::{self, Rerun};
use crate::rt::{Limit, Settings};
use fabius_explore::search::Found;
use fabius_trace::{Bound, Bounds, Reason, Schedule, SchedulerKind, Verdict};
use std::panic::Location;

/// How executions are run at first.
pub(crate) fn settings(config: &Config) -> Settings {
    let Config { spurious, deviations, leaks, panics, max_steps, .. } = *config;
    Settings { spurious, deviations, leaks, panics, max_steps, ..Settings::default() }
}

/// An execution could not be run to its end. A step without an end is most likely a mistake of the test, so that is shown
/// like a failure.
pub(crate) fn cannot_go_on(report: &mut Report, limit: &Limit, bounds: Bounds) {
    let message = limit.message();
    if let Limit::EndlessStep(_) = limit {
        report.text = Some(format!("\nfabius: {message}\n"));
    }
    report.verdict = Verdict::Unknown { reason: Reason::Program { message }, bounds };
}

/// Puts what failed into the report; what it costs is what was `asked` for, or else preemptions.
pub(crate) fn show(
    config: &Config,
    report: &mut Report,
    found: Found,
    rerun: Rerun,
    asked: Option<(Bound, SchedulerKind)>,
    at: &'static Location<'static>,
) {
    let schedule = rerun::encode(&found.schedule, rerun.refine);
    let name = command::name_of(config, at);
    let mut trace = rerun::trace(&found, &rerun, at);
    if let Some((bound, scheduler)) = asked {
        (trace.bound, trace.scheduler, trace.cost) = (bound, scheduler, found.cost);
    }
    let text = crate::report::render(&trace, &rerun, &name, &schedule);
    // Which knows nothing of what else the check looks for.
    let fails_there = !(config.leaks || config.panics || config.spurious);
    let or = if fails_there { format!("       or: fabius::replay(\"{schedule}\", || ..)\n") } else { String::new() };
    report.text = Some(text + &or);
    #[cfg(feature = "traces")]
    {
        report.saved = crate::save::save(config, &trace, &name, &schedule);
    }
    report.replay = Some(schedule);
    report.verdict = Verdict::Bug { trace: Box::new(trace) };
}

/// A schedule whose cost nobody has counted.
pub(crate) fn plain(schedule: Schedule) -> Found {
    Found {
        what: fabius_explore::search::Bug::Deadlock,
        cost: 0,
        delays: vec![0; schedule.len()],
        schedule,
        cycle: None,
    }
}
