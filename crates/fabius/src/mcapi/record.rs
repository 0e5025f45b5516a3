//! Runs of a program in the language of traces.

use super::{Domain, Guide, Mode};
use crate::config::Config;
use crate::report::Report;
use crate::rt::{self, Op, Order, Rt};
use fabius_trace::{Bound, Bounds, Points, Reason, SchedulerKind, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::panic::Location;
use std::sync::{Mutex, PoisonError};

/// What a node did.
#[derive(Default)]
pub(super) struct Written {
    pub name: String,
    commands: Vec<String>,
    requests: usize,
    values: usize,
}

impl Written {
    pub fn new(name: &str) -> Written {
        Written { name: name.into(), ..Written::default() }
    }

    /// The name, and the number of the next request.
    pub fn next_request(&mut self) -> (String, usize) {
        self.requests += 1;
        (self.name.clone(), self.requests - 1)
    }

    /// The name of the next value that is computed.
    pub fn next_value(&mut self) -> String {
        self.values += 1;
        format!("{}_v{}", self.name, self.values - 1)
    }

    pub fn push(&mut self, command: String) {
        self.commands.push(command);
    }
}

/// The nodes in the order of their names, with the orders between them.
fn text(nodes: &[Written], orders: &BTreeMap<(usize, usize), Vec<Order>>) -> String {
    let mut after: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    let mark = |node: usize, executed: usize| format!("{}_m{executed}", nodes[node].name);
    for ((other, executed), orders) in orders {
        for order in orders {
            after.entry((order.node, order.at)).or_default().push(mark(*other, *executed));
        }
    }
    let mut sorted: Vec<usize> = (0..nodes.len()).collect();
    sorted.sort_by_key(|n| &nodes[*n].name);
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| text.write_fmt(line).expect("text grows");
    for n in sorted {
        line(format_args!("node {} {{\n", nodes[n].name));
        for at in 0..=nodes[n].commands.len() {
            if orders.contains_key(&(n, at)) {
                line(format_args!("    mark {};\n", mark(n, at)));
            }
            for mark in after.get(&(n, at)).into_iter().flatten() {
                line(format_args!("    after {mark};\n"));
            }
            if let Some(command) = nodes[n].commands.get(at) {
                line(format_args!("    {command};\n"));
            }
        }
        line(format_args!("}}\n"));
    }
    text
}

/// Runs a program once, and writes the run down for `fabius trace`. Claims that do not hold are written down as well: the
/// trace may be decided.
///
/// The record has what messages decide, and what spawning and joining orders. What else the nodes have to do with each other
/// (locks, atomics, channels, time, [`any`](crate::any)) may come out differently in another run with the same messages, so
/// such a run is refused.
///
/// # Errors
/// What ended the run early: a deadlock, or a panic. If the verdict of the report is unknown: why the run is refused.
#[track_caller]
pub fn record<F: Fn(&Domain) + Sync>(program: F) -> Result<String, Box<Report>> {
    record_guided(&Guide::default(), program)
}

/// The same for a run that does what the guide says.
///
/// # Errors
/// What ended the run early: a deadlock (also if the guide asks for what cannot be), or a panic; or why it is refused.
#[track_caller]
pub fn record_guided<F: Fn(&Domain) + Sync>(guide: &Guide, program: F) -> Result<String, Box<Report>> {
    let (mut traces, report) = record_all(&Config::new().random(1), guide, program);
    traces.pop_last().filter(|_| !report.is_bug()).ok_or_else(|| Box::new(report))
}

/// Runs a program under every schedule that the configuration asks for, and writes down a run of every path: traces that
/// differ in what was decided by messages. The report says whether a run ended early, and whether there may be other paths.
/// If one run is refused, none is written down, and the report says why.
#[track_caller]
pub fn record_paths<F: Fn(&Domain) + Sync>(config: &Config, program: F) -> (BTreeSet<String>, Report) {
    record_all(config, &Guide::default(), program)
}

unsafe fn is_alone(_: *const (), rt: &Rt, thread: usize) -> bool {
    rt.threads.iter().enumerate().all(|(id, other)| id == thread || other.finished)
}

#[track_caller]
fn record_all<F: Fn(&Domain) + Sync>(config: &Config, guide: &Guide, program: F) -> (BTreeSet<String>, Report) {
    rt::must_be_outside("fabius::mcapi::record");
    let (traces, refused) = (Mutex::new(BTreeSet::new()), Mutex::new(None));
    let at = Location::caller();
    let mut report = config.explore(|| {
        let domain = Domain::guided(Mode::Record, guide.clone());
        rt::must(Rt::record_orders);
        program(&domain);
        // What threads do that nobody joins is part of the run.
        rt::point(Op::local("end of the record", at).when(&(), is_alone).waits_for_more());
        let nodes = domain.0.record.borrow();
        match rt::must(|rt| rt.orders.take()).expect("it is recorded").finish() {
            Ok(orders) => {
                traces.lock().unwrap_or_else(PoisonError::into_inner).insert(text(&nodes, &orders));
            }
            Err(why) => drop(refused.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why)),
        }
    });
    let mut traces = traces.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(why) = refused.into_inner().unwrap_or_else(PoisonError::into_inner) {
        traces.clear();
        if !report.is_bug() {
            let message = format!("a run that cannot be recorded: {why}. {REFUSED}");
            report.verdict = Verdict::Unknown { reason: Reason::Program { message }, bounds: none() };
        }
    }
    (traces, report)
}

const REFUSED: &str =
    "A record knows what messages decide and what spawning and joining orders; explore the program instead";

fn none() -> Bounds {
    Bounds {
        bound: Bound::None,
        completed: None,
        scheduler: SchedulerKind::Bag,
        points: Points::Sync,
        instances: Vec::new(),
        any: Vec::new(),
        limits: Vec::new(),
    }
}
