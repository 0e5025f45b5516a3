//! The facts of asynchronous programs that were computed elsewhere, found again by the machine and by the reference.

use crate::direct::{Facts, Odometer, bounded_by_rounds, finals, of_config, options};
use fabius_explore::dispatcher::{Dispatcher, Seen};
use fabius_explore::system::{Choose, End, Snapshot, StepLog, System, TaskId};
use fabius_machine::Machine;
use fabius_semantics::Reference;
use fabius_semantics::config::Config;
use fabius_trace::{Points, SchedulerKind};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use testkit::oracle::{Case, async_cases};

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
