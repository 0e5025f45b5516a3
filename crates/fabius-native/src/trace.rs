//! From what was written down of an execution to a trace: lanes, lines, names and values.

use crate::heap::Heap;
use crate::source::Sources;
use crate::symbols::{Place, Symbols};
use fabius_native_protocol::{Event, Failed, RecordedStep, ThreadEnd};
use fabius_trace::{
    Action, After, Bound, BugKind, Change, ErrorTrace, Lane, LaneKind, LineCol, Link, LinkKind, Mark, Points,
    ProgramId, SchedulerKind, Span, Step, TRACE_VERSION, Turn,
};
use std::ffi::OsString;

/// How the trace came about.
pub struct About<'a> {
    /// The program's file.
    pub program: &'a str,
    /// What it was given.
    pub args: &'a [OsString],
    /// What costs something.
    pub bound: Bound,
    /// The scheduler.
    pub scheduler: SchedulerKind,
    /// Where threads may be switched.
    pub points: Points,
    /// And at which data.
    pub data_points: &'a [u64],
}

struct Names<'a> {
    symbols: &'a Symbols,
    sources: Sources,
    heap: Heap<'a>,
    /// The folder to which names of files are shortened.
    here: String,
}

/// The trace of a bug.
pub fn trace(failed: &Failed, symbols: &Symbols, about: &About<'_>) -> ErrorTrace {
    let here = std::env::current_dir().map(|d| format!("{}/", d.display())).unwrap_or_default();
    let mut names = Names { symbols, sources: Sources::default(), heap: Heap::of(&failed.run, symbols), here };
    let run = &failed.run;
    let lanes = run.threads.iter().enumerate().map(|(n, t)| Lane { name: lane(n, t, symbols), kind: LaneKind::Thread });
    let lanes: Vec<Lane> = lanes.collect();
    let mut steps = Vec::new();
    for (number, step) in run.steps.iter().enumerate() {
        let before = number.checked_sub(1).map(|n| run.steps[n].thread);
        let mark = match before {
            _ if failed.delays.get(number).is_some_and(|d| *d > 0) => Some(Mark::Delay(failed.delays[number])),
            Some(before) if before != step.thread && step.preempts => Some(Mark::Preemption),
            Some(before) if before != step.thread => Some(Mark::Switch),
            _ => None,
        };
        let is_last = !run.steps[number + 1..].iter().any(|s| s.thread == step.thread);
        let end = run.threads.get(step.thread as usize).filter(|_| is_last);
        let stuck = matches!(failed.kind, BugKind::Deadlock | BugKind::Livelock);
        let after = match end {
            Some(ThreadEnd { waits: None, .. }) => Some(After::Finished),
            Some(_) if stuck => Some(After::Waits),
            _ => None,
        };
        steps.push(Step {
            turn: Turn { task: step.thread, choices: step.choices.clone() },
            lane: step.thread,
            task_name: None,
            mark,
            level: None,
            actions: actions(step, &mut names),
            after,
        });
    }
    let message = message(failed, &lanes, &mut names);
    let links = run.race.iter().map(|race| Link {
        kind: LinkKind::Race,
        from: race.first.0,
        to: race.second.0,
        label: names.object(race.address, 1),
    });
    ErrorTrace {
        version: TRACE_VERSION,
        stale: 0,
        data_points: about.data_points.to_vec(),
        program: ProgramId {
            file: about.program.into(),
            hash: String::new(),
            consts: Vec::new(),
            instances: Vec::new(),
            args: about.args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        },
        kind: failed.kind,
        message,
        span: Span::default(),
        bound: about.bound,
        cost: failed.cost,
        scheduler: about.scheduler,
        points: about.points,
        property: None,
        cycle: None,
        lanes,
        steps,
        links: links.collect(),
    }
}

fn lane(number: usize, thread: &ThreadEnd, symbols: &Symbols) -> String {
    let function = if number == 0 { Some("main".to_string()) } else { symbols.function(thread.function) };
    let short = function.map(|f| f.split(['(', '<']).next().unwrap_or_default().trim().to_string());
    match short.filter(|f| !f.is_empty() && !f.starts_with("std::")) {
        Some(function) => format!("{function}#{number}"),
        None => format!("thread#{number}"),
    }
}

/// What happened in a step: a row for each line of the source.
fn actions(step: &RecordedStep, names: &mut Names<'_>) -> Vec<Action> {
    let mut actions: Vec<Action> = Vec::new();
    for event in &step.events {
        let action = names.action(event);
        match actions.last_mut().filter(|a| a.at == action.at && a.file == action.file && a.text == action.text) {
            Some(last) => {
                last.changes.extend(action.changes);
                last.note = match (last.note.take(), action.note) {
                    (Some(a), Some(b)) if a != b => Some(format!("{a}, {b}")),
                    (a, b) => a.or(b),
                };
            }
            None => actions.push(action),
        }
    }
    if step.left_out > 0 {
        let text = format!(".. and {} accesses more", step.left_out);
        let at = LineCol { line: 0, column: 0 };
        let (file, note, stack, changes) = (None, None, Vec::new(), Vec::new());
        actions.push(Action { span: Span::default(), at, file, text, stack, changes, note });
    }
    actions
}

impl Names<'_> {
    fn short(&self, file: &str) -> String {
        file.strip_prefix(&self.here).unwrap_or(file).to_string()
    }

    /// The innermost place that is in a file that can be read, and the functions around it, outermost first.
    fn place(&mut self, stack: &[u64]) -> (Place, Vec<String>) {
        let mut places: Vec<Place> = Vec::new();
        for pc in stack.iter().rev() {
            places.extend(self.symbols.places(*pc));
        }
        let own = |p: &Place| p.line > 0 && !p.file.starts_with("/usr/") && !p.file.contains("../sysdeps");
        let at = places.iter().position(own).unwrap_or(0);
        let functions = places.iter().skip(at).rev().map(|p| p.function.clone()).filter(|f| !f.is_empty()).collect();
        (places.get(at).cloned().unwrap_or_default(), functions)
    }

    /// The name of so many bytes; 0: it is not known how many.
    fn object(&mut self, address: u64, bytes: u64) -> Option<String> {
        // The end of a thread, and nothing.
        if address == 0 || address >> 63 != 0 {
            return None;
        }
        Some(self.symbols.variable(address, bytes).unwrap_or_else(|| self.heap.name(address, bytes)))
    }

    fn action(&mut self, event: &Event) -> Action {
        let (place, stack) = self.place(&event.stack);
        let object = self.object(event.address, event.size.into());
        let text = self.sources.line(&place.file, place.line).unwrap_or_else(|| match &object {
            Some(object) => format!("{} {object}", event.name),
            None => event.name.clone(),
        });
        let mut changes = Vec::new();
        let mut note = event.note.clone();
        match (&object, event.old, event.new) {
            (Some(object), Some(old), Some(new)) if old != new => changes.push(Change {
                variable: object.clone(),
                scope: fabius_trace::Scope::Shared,
                old: value(old, event.size),
                new: value(new, event.size),
            }),
            (Some(object), Some(old), _) if !object.starts_with("memory #") => {
                note = Some(format!("{object} = {}", value(old, event.size)))
            }
            _ => {}
        }
        Action {
            span: Span::default(),
            at: LineCol { line: place.line, column: place.column },
            file: Some(self.short(&place.file)),
            text,
            stack,
            changes,
            note,
        }
    }

    /// A place in words.
    fn words(&mut self, stack: &[u64]) -> String {
        let (place, functions) = self.place(stack);
        match (place.line, functions.last()) {
            (0, None) => UNKNOWN.into(),
            (0, Some(function)) => function.clone(),
            (line, _) => format!("{}:{line}", self.short(&place.file)),
        }
    }
}

/// A value as a signed number, or an address.
fn value(bits: u64, size: u32) -> String {
    match size {
        1 => (bits as i8).to_string(),
        2 => (bits as i16).to_string(),
        4 => (bits as i32).to_string(),
        _ if bits > 0xffff_ffff && (bits as i64) > 0 => format!("{bits:#x}"),
        _ => (bits as i64).to_string(),
    }
}

const UNKNOWN: &str = "an unknown place";

/// The type of an exception as in the source.
fn uncaught(message: &str) -> String {
    let words = message.split(' ').map(|word| {
        let name = crate::symbols::demangled(&format!("_ZTS{word}"));
        name.strip_prefix("typeinfo name for ").map_or_else(|| word.to_string(), str::to_string)
    });
    if message.contains("exception") { words.collect::<Vec<_>>().join(" ") } else { message.into() }
}

/// What failed, with the places.
fn message(failed: &Failed, lanes: &[Lane], names: &mut Names<'_>) -> String {
    let run = &failed.run;
    let name = |thread: u32| lanes.get(thread as usize).map_or_else(|| "a thread".to_string(), |l| l.name.clone());
    match failed.kind {
        BugKind::Deadlock | BugKind::Livelock => {
            let mut parts = Vec::new();
            for (number, thread) in run.threads.iter().enumerate() {
                let Some(waits) = &thread.waits else { continue };
                let object =
                    names.object(waits.address, waits.size.into()).map(|o| format!(" {o}")).unwrap_or_default();
                let held = thread.holder.map(|h| format!(", which {} has", name(h)));
                let held = held.filter(|_| !waits.name.contains("join"));
                let place = names.words(&waits.stack);
                let (who, what) = (name(number as u32), &waits.name);
                parts.push(format!("{who} waits in {what}{object} at {place}{}", held.unwrap_or_default()));
            }
            format!("{}: {}", failed.message.trim_end_matches(": no thread can go on"), parts.join("; "))
        }
        BugKind::DataRace => match &run.race {
            Some(race) => {
                let event = |at: (u32, u32)| {
                    let step = run.steps.get(at.0 as usize)?;
                    Some((step.thread, step.events.get(at.1 as usize)?))
                };
                let object = names.object(race.address, 1).unwrap_or_default();
                match (event(race.first), event(race.second)) {
                    (Some((a, first)), Some((b, second))) => {
                        let places = (names.words(&first.stack), names.words(&second.stack));
                        format!(
                            "data race on {object}: {} of {} at {}, and {} of {} at {}",
                            first.name,
                            name(a),
                            places.0,
                            second.name,
                            name(b),
                            places.1
                        )
                    }
                    _ => failed.message.clone(),
                }
            }
            None => failed.message.clone(),
        },
        _ => match (&run.failed_line, run.failed_at.is_empty()) {
            (Some((file, line)), _) => format!("{}, at {}:{line}", failed.message, names.short(file)),
            (None, _) => {
                let last = run.steps.iter().rev().flat_map(|s| s.events.iter().rev()).map(|e| &e.stack);
                let places = std::iter::once(&run.failed_at).chain(last.take(1)).map(|stack| names.words(stack));
                let place = places.filter(|p| p != UNKNOWN).collect::<Vec<_>>();
                let message = uncaught(&failed.message);
                let message = match place.first() {
                    Some(place) => format!("{message}, at {place}"),
                    None => message,
                };
                match &run.ended {
                    Some((thread, stack)) => format!("{message}; {} ended at {}", name(*thread), names.words(stack)),
                    None => message,
                }
            }
        },
    }
}
