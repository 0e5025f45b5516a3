//! What is said of a bug.

use super::infinite::Cycle;
use super::teller::Teller;
use super::{Departure, Replay, Told};
use crate::config::Config;
use crate::run::{may_rest, next_statement};
use crate::show::{Variables, one_line};
use fabius_explore::race::{Party, Race};
use fabius_explore::system::Fault;
use fabius_trace::{BugKind, Span};

impl Replay<'_> {
    pub(super) fn told_race(&self, race: Race) -> Told {
        let variable = Variables::of(self.program).name_of(&self.reference.layout, race.variable);
        let by = |p: Party| {
            let at = p.span.line_col(&self.program.source);
            format!("{} at {}:{}", self.names.of_buffer(p.thread), at.line, at.column)
        };
        let first = race.first.map_or_else(|| "an earlier access".into(), by);
        let message = format!("data race on `{variable}`: nothing orders {first} and {}", by(race.second));
        (BugKind::DataRace, message, race.second.span)
    }

    pub(super) fn deadlock(&self, config: &Config) -> Told {
        let mut parts = Vec::new();
        let mut span = Span::default();
        for (_, task) in config.tasks().filter(|(_, task)| !may_rest(self.program, task)) {
            if let Some(stmt) = next_statement(self.program, task) {
                let at = stmt.span.line_col(&self.program.source);
                parts.push(format!("{} waits at {}:{}", self.names.of_task(task.id), at.line, at.column));
                if span == Span::default() {
                    span = stmt.span;
                }
            }
        }
        (BugKind::Deadlock, format!("deadlock: {}", parts.join(", ")), span)
    }

    pub(super) fn fault(&self, fault: Fault, teller: &Teller<'_>, turn: usize) -> Result<Told, Departure> {
        let (kind, span) = match fault {
            Fault::Bug(kind, span) => (kind, span),
            Fault::Limit(limit, _) => return Err(Departure { turn, reason: format!("a limit is hit: {limit:?}") }),
        };
        let text = one_line(span.text(&self.program.source).trim_end_matches(';'));
        let values = teller.values.as_ref().filter(|v| !v.is_empty()).map(|v| format!(" ({})", v.join(", ")));
        let values = values.unwrap_or_default();
        let said = teller.said.as_ref().map(|s| format!(": {s}")).unwrap_or_default();
        let message = match kind {
            BugKind::Assertion if teller.invariant => {
                let name = teller.said.as_deref().unwrap_or("");
                format!("invariant `{name}` is broken: `{}`{values}", teller.condition.as_deref().unwrap_or(&text))
            }
            BugKind::Assertion => {
                format!("assertion failed{said}: `{}`{values}", teller.condition.as_deref().unwrap_or(&text))
            }
            BugKind::SyncMisuse => format!("misuse of a synchronization object{said}: `{text}`"),
            BugKind::DivisionByZero => format!("division by zero: `{text}`{values}"),
            BugKind::IndexOutOfBounds => format!("index out of bounds{said}: `{text}`{values}"),
            BugKind::NullDereference if teller.said.is_some() => format!("null dereference{said}: `{text}`"),
            BugKind::NullDereference => format!("`null` has no fields and no end: `{text}`{values}"),
            BugKind::Memory => format!("misuse of memory{said}: `{text}`"),
            BugKind::RangeOverflow if teller.said.is_some() => format!("overflow{said}: `{text}`"),
            BugKind::RangeOverflow => format!("a value outside the range of its variable: `{text}`{values}"),
            BugKind::Leak => format!("memory leak{said}"),
            BugKind::Deadlock
            | BugKind::DataRace
            | BugKind::Livelock
            | BugKind::Liveness
            | BugKind::Panic
            | BugKind::Unmatched
            | BugKind::Crash => {
                format!("{kind:?}")
            }
        };
        Ok((kind, message, span))
    }

    pub(super) fn livelock(&self, cycle: &Cycle) -> Told {
        let span = self.steps.last().and_then(|s| s.actions.last()).map_or(Span::default(), |a| a.span);
        let names: Vec<String> = cycle.steps.iter().map(|n| self.names.of_buffer(*n)).collect();
        let goes = if names.len() == 1 { "goes" } else { "go" };
        (BugKind::Livelock, format!("livelock: {} {goes} on for ever without progress", names.join(", ")), span)
    }
}
