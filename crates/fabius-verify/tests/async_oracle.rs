//! The facts of asynchronous programs that were computed elsewhere, found again by the machine and by the reference.
//!
//! `levels_Y_K_..` facts bound the rounds of each level activation by K and fix the order of its tasks. That is the bounded
//! semantics of translations to sequential programs and no scheduler of the explorer, so it is written out here, over the
//! steps of the reference.

use fabius_explore::dispatcher::{Dispatcher, Seen};
use fabius_explore::search::{Monitor, Options};
use fabius_explore::stateful;
use fabius_explore::system::{Choose, End, Snapshot, StepLog, System, TaskId};
use fabius_machine::Machine;
use fabius_semantics::Reference;
use fabius_semantics::config::Config;
use fabius_trace::{Bound, Points, SchedulerKind};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use testkit::oracle::{Case, async_cases};

type Facts = BTreeSet<Vec<i64>>;

/// What a kind of facts asks of the search.
fn options(kind: &str) -> Option<Options> {
    let (bound, max, scheduler) = match kind.rsplit_once('_') {
        _ if kind == "bag" || kind == "direct" => (Bound::None, None, SchedulerKind::Bag),
        Some(("rr", k)) => (Bound::Delays, Some(k), SchedulerKind::RoundRobin),
        Some(("dfs", k)) => (Bound::Delays, Some(k), SchedulerKind::DepthFirst),
        // K rounds are K - 1 passages to an earlier buffer.
        Some(("rounds_M", k)) => (Bound::Rounds, Some(k), SchedulerKind::Bag),
        _ => return None,
    };
    let max = max.map(|k| k.parse::<u32>().expect("a number") - u32::from(bound == Bound::Rounds));
    Some(Options { bound, max, scheduler, deadlock: false, ..Options::default() })
}

fn finals<S>(system: &S, options: &Options, globals: impl Fn(&S::State) -> Vec<i64> + Sync) -> Facts
where
    S: Snapshot + Sync,
    S::State: Send,
{
    let facts = Mutex::new(Facts::new());
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let outcome = stateful::search(system, options, &monitor, &|visit| {
        if visit.is_complete {
            facts.lock().expect("no worker has panicked").insert(globals(visit.state));
        }
    });
    assert!(outcome.bug.is_none() && outcome.cut.is_none(), "{outcome:?}");
    facts.into_inner().expect("no worker has panicked")
}

fn of_config(config: &Config) -> Vec<i64> {
    config.globals.iter().map(|v| v.number()).collect()
}

/// Goes through all outcomes of choices.
#[derive(Default)]
struct Odometer {
    taken: Vec<(u32, u32)>,
    at: usize,
}

impl Choose for Odometer {
    fn choose(&mut self, alternatives: u32) -> u32 {
        if self.at == self.taken.len() {
            self.taken.push((0, alternatives));
        }
        self.at += 1;
        self.taken[self.at - 1].0
    }
}

impl Odometer {
    fn advance(&mut self) -> bool {
        self.taken.truncate(self.at);
        self.at = 0;
        while let Some((chosen, of)) = self.taken.pop() {
            if chosen + 1 < of {
                self.taken.push((chosen + 1, of));
                return true;
            }
        }
        false
    }
}

fn view_of<'a>(reference: &'a Reference, state: &'a Config) -> Seen<'a, Reference> {
    Seen { system: reference, state, compare: Some(Reference::compare_anonymous) }
}

/// The facts of all configurations on the way, complete or not: every statement of every step counts.
fn partial(reference: &Reference) -> Facts {
    let mut log = StepLog::default();
    let config = reference.initial(&mut Odometer::default(), &mut log).expect("the programs start");
    let mut dispatcher = Dispatcher::new(SchedulerKind::Bag, true);
    dispatcher.start(&log.born, &view_of(reference, &config));
    let mut facts = Facts::from([of_config(&config)]);
    let mut seen = HashSet::new();
    let mut open = vec![(config, dispatcher)];
    while let Some((config, dispatcher)) = open.pop() {
        let mut picks = Vec::new();
        dispatcher.runs(&view_of(reference, &config), &mut picks);
        for pick in picks {
            let mut odometer = Odometer::default();
            loop {
                let (mut next, mut after) = (config.clone(), dispatcher.clone());
                let level = after.take(pick, &view_of(reference, &config));
                log.clear();
                let watched =
                    reference.watched_step(&mut next.clone(), pick.task, &mut Replay(&odometer, 0), &mut |c| {
                        facts.insert(of_config(c));
                    });
                let end =
                    reference.step(&mut next, pick.task, &mut odometer, &mut log).expect("the programs do not fail");
                assert_eq!(watched, Ok(end));
                if end != End::Dropped {
                    after.born(&log.born, Some(pick.buffer), &view_of(reference, &next));
                    after.give_back(pick, level, end, &view_of(reference, &next));
                    let mut tasks: Vec<TaskId> = Vec::new();
                    after.tasks(&mut tasks);
                    let mut key = format!("{after:?}").into_bytes();
                    reference.encode(&next, &mut key);
                    if seen.insert(key) {
                        open.push((next, after));
                    }
                }
                if !odometer.advance() {
                    break;
                }
            }
        }
    }
    facts
}

/// One task of an activation.
#[derive(Clone, Debug)]
struct Entry {
    task: TaskId,
    /// The round in which it was posted, as long as it has not run.
    fresh: Option<u32>,
    /// Its place in the tree of posts, and how many it has posted.
    label: Vec<u32>,
    posted: u32,
}

/// The tasks of a level since that level became active.
#[derive(Clone, Debug)]
struct Activation {
    level: u8,
    round: u32,
    /// Which one runs.
    running: usize,
    entries: Vec<Entry>,
}

/// What may run next in an activation, at or behind `from` in this round, or anywhere in a later one.
fn next_in(activation: &Activation, from: usize, yielded: Option<usize>, rounds: u32) -> Vec<Activation> {
    let entries = &activation.entries;
    let none_fresh = |range: std::ops::Range<usize>| entries[range].iter().all(|e| e.fresh.is_none());
    let mut out = Vec::new();
    for (running, entry) in entries.iter().enumerate() {
        let mut add = |round: u32| {
            if entry.fresh.is_none_or(|posted| posted == round) {
                let mut next = Activation { round, running, ..activation.clone() };
                next.entries[running].fresh = None;
                out.push(next);
            }
        };
        if yielded == Some(running) || running >= from && none_fresh(from..running) {
            add(activation.round);
        }
        if none_fresh(0..entries.len()) {
            (activation.round + 1..rounds).for_each(&mut add);
        }
    }
    out
}

/// Where a new task may be put among the entries behind the running one.
fn slots(activation: &Activation, label: &[u32], preorder: bool) -> std::ops::RangeInclusive<usize> {
    let behind = activation.running + 1;
    if !preorder {
        return behind..=activation.entries.len();
    }
    let earlier = activation.entries[behind..].iter().take_while(|e| e.label.as_slice() < label).count();
    behind + earlier..=behind + earlier
}

/// The facts with at most `rounds` rounds of each activation.
fn bounded_by_rounds(reference: &Reference, rounds: u32, preorder: bool) -> Facts {
    let mut log = StepLog::default();
    let config = reference.initial(&mut Odometer::default(), &mut log).expect("the programs start");
    let main = Entry { task: log.born[0].task, fresh: None, label: Vec::new(), posted: 0 };
    // Innermost last.
    let acts = vec![Activation { level: 0, round: 0, running: 0, entries: vec![main] }];
    let (mut facts, mut seen, mut open) = (Facts::new(), HashSet::new(), vec![(config, acts)]);
    while let Some((config, acts)) = open.pop() {
        let Some(active) = acts.last() else {
            facts.insert(of_config(&config));
            continue;
        };
        let task = active.entries[active.running].task;
        let mut odometer = Odometer::default();
        loop {
            let mut next = config.clone();
            log.clear();
            let end = reference.step(&mut next, task, &mut odometer, &mut log).expect("the programs do not fail");
            let after = if end == End::Dropped { Vec::new() } else { advanced(&acts, &log, end, rounds, preorder) };
            for acts in after {
                let mut key = format!("{acts:?}").into_bytes();
                reference.encode(&next, &mut key);
                if seen.insert(key) {
                    open.push((next.clone(), acts));
                }
            }
            if !odometer.advance() {
                break;
            }
        }
    }
    facts
}

/// The activations after a step of the running task, in all orders that are allowed.
fn advanced(acts: &[Activation], log: &StepLog, end: End, rounds: u32, preorder: bool) -> Vec<Vec<Activation>> {
    let mut all = vec![acts.to_vec()];
    let runner = acts.len() - 1;
    for born in &log.born {
        all = all
            .into_iter()
            .flat_map(|mut acts| {
                let active = &mut acts[runner];
                let poster = &mut active.entries[active.running];
                let label = [poster.label.as_slice(), &[poster.posted]].concat();
                poster.posted += 1;
                let entry = Entry { task: born.task, fresh: None, label, posted: 0 };
                if born.level > active.level {
                    acts.push(Activation { level: born.level, round: 0, running: 0, entries: vec![entry] });
                    return vec![acts];
                }
                let of_level = acts.iter().position(|a| a.level == born.level).expect("the level is active");
                let put = |slot: usize| {
                    let mut acts = acts.clone();
                    let fresh = Some(acts[of_level].round);
                    acts[of_level].entries.insert(slot, Entry { fresh, ..entry.clone() });
                    acts
                };
                slots(&acts[of_level], &entry.label, preorder).map(put).collect()
            })
            .collect();
    }
    let next = |mut acts: Vec<Activation>| {
        if end == End::Interrupted {
            return vec![acts];
        }
        let mut active = acts.pop().expect("the running task has an activation");
        let running = active.running;
        let nexts = match end {
            End::Finished => {
                active.entries.remove(running);
                if active.entries.is_empty() {
                    return vec![acts];
                }
                next_in(&active, running, None, rounds)
            }
            End::Yield => next_in(&active, running + 1, Some(running), rounds),
            other => panic!("a program with one buffer has no {other:?}"),
        };
        nexts.into_iter().map(|a| [acts.as_slice(), &[a]].concat()).collect()
    };
    all.into_iter().flat_map(next).collect()
}

/// The choices of an odometer without moving it.
struct Replay<'a>(&'a Odometer, usize);

impl Choose for Replay<'_> {
    fn choose(&mut self, _: u32) -> u32 {
        self.1 += 1;
        self.0.taken.get(self.1 - 1).map_or(0, |(chosen, _)| *chosen)
    }
}

fn check(number: usize, case: &Case, wrong: &mut Vec<String>, checked: &mut BTreeMap<String, usize>) {
    let program = fabius_lang::compile(&case.source, &Default::default());
    let program = program.unwrap_or_else(|d| panic!("{number}: {d:?}\n{}", case.source));
    let machine = Machine::new(&program, Points::All);
    let reference = Reference::new(&program, Points::All);
    for (kind, expected) in &case.expected {
        let found = match options(kind) {
            Some(options) => {
                let of_reference = finals(&reference, &options, of_config);
                let of_machine = finals(&machine, &options, |s| machine.globals(s).to_vec());
                assert_eq!(of_machine, of_reference, "{number} {kind}\n{}", case.source);
                of_machine
            }
            None if kind == "direct_partial" => partial(&reference),
            None => {
                let (rounds, order) =
                    kind.strip_prefix("levels_Y_").and_then(|k| k.split_once('_')).expect("a known kind");
                bounded_by_rounds(&reference, rounds.parse().expect("a number"), order == "pre")
            }
        };
        *checked.entry(kind.clone()).or_default() += 1;
        if found != *expected {
            wrong.push(format!("{number} {kind}: found {found:?}, expected {expected:?}\n{}", case.source));
        }
    }
}

#[test]
fn facts_computed_elsewhere_are_found() {
    let cases = async_cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let (mut wrong, mut checked) = (Vec::new(), BTreeMap::new());
    for (number, case) in cases.iter().enumerate() {
        check(number, case, &mut wrong, &mut checked);
    }
    let kinds: BTreeMap<&str, usize> = checked.iter().map(|(k, n)| (k.as_str(), *n)).collect();
    assert_eq!((kinds["direct"], kinds["direct_partial"], kinds["bag"], kinds["rounds_M_3"]), (160, 160, 21, 58));
    assert_eq!((kinds["levels_Y_3_any"], kinds["levels_Y_3_pre"]), (102, 102));
    assert!(wrong.is_empty(), "{} entries differ:\n{}", wrong.len(), wrong[..wrong.len().min(3)].join("\n"));
}
