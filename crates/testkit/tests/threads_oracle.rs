//! The figures of thread programs that were computed elsewhere, found again by the machine and by the reference, with
//! and without stored states.

use fabius_explore::race::Conflict;
use fabius_explore::search::{Bug, Monitor, Options, Outcome};
use fabius_explore::system::{Snapshot, System};
use fabius_explore::{stateful, stateless};
use fabius_lang::program::Program;
use fabius_machine::Machine;
use fabius_semantics::Reference;
use fabius_trace::Points;
use std::collections::HashSet;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use testkit::oracle::threads::{Case, cases};

/// Programs with more executions than this are for the machine alone: the reference is slow.
const FEW: u64 = 400;

fn with_states<S>(system: &S, options: &Options) -> Outcome
where
    S: Snapshot + Sync,
    S::State: Send,
{
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    stateful::search(system, options, &monitor, &|_| {})
}

/// Complete executions by cost, and the number of their happens-before relations.
fn executions<S: System + Sync>(system: &S, options: &Options) -> (Vec<u64>, u64) {
    let counts = Mutex::new(Vec::new());
    let relations = Mutex::new(HashSet::new());
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let outcome = stateless::search(system, options, &monitor, &|complete| {
        assert!(complete.is_complete, "nothing blocks for ever");
        let mut counts = counts.lock().expect("no worker has panicked");
        let cost = complete.cost as usize;
        if counts.len() <= cost {
            counts.resize(cost + 1, 0);
        }
        counts[cost] += 1;
        relations.lock().expect("no worker has panicked").insert(complete.signature.expect("it is counted"));
    });
    assert!(outcome.bug.is_none() && outcome.cut.is_none() && outcome.exhausted, "{outcome:?}");
    let relations = relations.into_inner().expect("no worker has panicked").len() as u64;
    (counts.into_inner().expect("no worker has panicked"), relations)
}

fn without_trailing(mut numbers: Vec<u64>, by: impl Fn(&[u64]) -> bool) -> Vec<u64> {
    while by(&numbers) {
        numbers.pop();
    }
    numbers
}

/// Executions: no level beyond the last that has any.
fn executed(numbers: &[u64]) -> Vec<u64> {
    without_trailing(numbers.to_vec(), |n| n.last() == Some(&0))
}

/// States: no level beyond the first that has all.
fn reached(numbers: &[u64]) -> Vec<u64> {
    without_trailing(numbers.to_vec(), |n| n.len() > 1 && n[n.len() - 1] == n[n.len() - 2])
}

/// The cost of the cheapest race.
fn race(outcome: &Outcome) -> Option<u32> {
    outcome.bug.as_ref().map(|bug| {
        assert!(matches!(bug.what, Bug::Race(_)), "{bug:?}");
        bug.cost
    })
}

struct Report<'a> {
    number: usize,
    case: &'a Case,
    wrong: Vec<String>,
    checked: usize,
}

impl Report<'_> {
    fn same<T: PartialEq + Debug>(&mut self, what: &str, found: &T, expected: &T) {
        self.checked += 1;
        if found != expected {
            let source = &self.case.source;
            self.wrong.push(format!("{} {what}: found {found:?}, expected {expected:?}\n{source}", self.number));
        }
    }

    fn check<S>(&mut self, engine: &str, new: impl Fn(&Program, Points) -> S, read: &Program, written: &Program)
    where
        S: Snapshot + Sync,
        S::State: Send,
    {
        let case = self.case;
        let (all, sync) = (&new(read, Points::All), &new(read, Points::Sync));
        let plain = Options::default();
        let racy = Options { races: Some(Conflict::All), ..Options::default() };
        let states: Vec<u64> = with_states(all, &plain).levels.iter().map(|l| l.states).collect();
        self.same(&format!("{engine} states"), &reached(&states), &reached(&case.states));
        self.same(&format!("{engine} executions"), &executions(all, &plain).0, &executed(&case.executions));
        self.same(&format!("{engine} observable"), &executions(sync, &plain).0, &executed(&case.observable));
        self.same(&format!("{engine} race"), &race(&with_states(all, &racy)), &case.race);
        self.same(&format!("{engine} observable race"), &race(&with_states(sync, &racy)), &case.observable_race);
        if case.race.is_none() {
            // A program with a race is not explored beyond it: its executions without one are not counted.
            for points in [Points::All, Points::Sync] {
                let found = executions(&new(written, points), &racy).1;
                self.same(&format!("{engine} relations {points:?}"), &found, &case.relations);
            }
        }
    }
}

#[test]
fn figures_computed_elsewhere_are_found() {
    let cases = cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    let (mut wrong, mut checked, mut by_reference, mut without_race) = (Vec::new(), 0, 0, 0);
    for (number, case) in cases.iter().enumerate() {
        let compile = |source: &str| {
            fabius_lang::compile(source, &Default::default()).unwrap_or_else(|d| panic!("{number}: {d:?}\n{source}"))
        };
        let (read, written) = (compile(&case.source), compile(&case.written));
        let mut report = Report { number, case, wrong: Vec::new(), checked: 0 };
        report.check("machine", Machine::new, &read, &written);
        if case.executions.iter().sum::<u64>() <= FEW {
            report.check("reference", Reference::new, &read, &written);
            by_reference += 1;
        }
        without_race += usize::from(case.race.is_none());
        checked += report.checked;
        wrong.append(&mut report.wrong);
    }
    assert_eq!((by_reference, without_race, checked), (126, 127, 1902));
    assert!(wrong.is_empty(), "{} of {checked} differ:\n{}", wrong.len(), wrong[..wrong.len().min(3)].join("\n"));
}
