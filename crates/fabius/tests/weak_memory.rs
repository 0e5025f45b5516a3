//! Operations on atomics under weak memory: exactly the outcomes and races that RC11 (without load buffering) allows, each at
//! its least cost, of litmus tests and random programs. The facts were computed by two implementations of the axioms that
//! share nothing with this one.

#[path = "weak_memory/program.rs"]
mod program;
#[path = "weak_memory/run.rs"]
mod run;

use fabius::{Config, Report, Verdict};
use program::{Facts, Front, Program, read};
use std::collections::BTreeSet;
use std::sync::Mutex;

const LITMUS: &str = include_str!("weak_memory/litmus.txt");
const RANDOM: &str = include_str!("weak_memory/random.txt");

/// Random programs of which outcomes were lost, by a step that was given up because its usual outcome was known, or by a store in the
/// class that was never made.
const LOST: &str = include_str!("weak_memory/lost.txt");

/// The outcomes of the executions that were explored, and the answer.
fn explored(config: &Config, program: &Program) -> (BTreeSet<String>, Report) {
    let seen = Mutex::new(BTreeSet::new());
    let report = config.clone().spurious_failures().max_steps(2_000).explore(|| {
        let outcome = run::run(program);
        // What is cut is run to its end, and would hide what the search has not come to.
        if !fabius::extend::is_cut() {
            seen.lock().unwrap().insert(outcome);
        }
    });
    (seen.into_inner().unwrap(), report)
}

/// What a deviation costs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Price {
    Preemption,
    Nothing,
}

/// The least total of a front with so many deviations at most.
fn least(front: &Front, deviations: u32, price: Price) -> Option<u32> {
    let cost = |(d, p): &(u32, u32)| if price == Price::Nothing { *p } else { d + p };
    front.iter().filter(|(d, _)| *d <= deviations).map(cost).min()
}

/// What is wrong with the outcomes at a bound, with so many deviations at most of this price.
fn differs(base: &Config, of: (&Program, &Facts), (deviations, price): Deviations, bound: u32) -> Option<String> {
    let (program, facts) = of;
    let within = |front: &Front| least(front, deviations, price).is_some_and(|total| total <= bound);
    let config = base.clone().stale(deviations).preemptions(bound);
    let config = if price == Price::Nothing { config.free_stale_reads() } else { config };
    let (seen, report) = explored(&config, program);
    let fails = within(&facts.race) || within(&facts.blocked);
    if fails != report.is_bug() {
        return Some(format!("{:?} where it is {fails} that it fails", report.verdict));
    }
    let expected: BTreeSet<String> =
        facts.outcomes.iter().filter(|(_, front)| within(front)).map(|(outcome, _)| outcome.clone()).collect();
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
    let (too_many, missing) = (only(&seen, &expected), only(&expected, &seen));
    if fails || too_many.is_empty() && missing.is_empty() {
        return None;
    }
    Some(format!("missing {missing:?}, too many {too_many:?}"))
}

/// How many deviations there may be, and what each costs.
type Deviations = (u32, Price);

/// Bounds on the sum of deviations and preemptions, with limits on deviations.
const TOGETHER: [Deviations; 4] =
    [(u32::MAX, Price::Preemption), (0, Price::Preemption), (1, Price::Preemption), (2, Price::Preemption)];

/// Bounds on preemptions alone.
const APART: [Deviations; 2] = [(u32::MAX, Price::Nothing), (1, Price::Nothing)];

/// Compares all programs within each bound.
fn check(base: &Config, text: &str, all: &[Deviations]) {
    let mut wrong = Vec::new();
    for (program, facts) in read(text) {
        let highest = facts.outcomes.values().chain([&facts.race, &facts.blocked]).flatten();
        let highest = highest.map(|(d, p)| d + p).max().unwrap_or(0);
        for deviations in all {
            for bound in 0..=highest + 1 {
                if let Some(what) = differs(base, (&program, &facts), *deviations, bound) {
                    wrong.push(format!("{}, {deviations:?} deviations, bound {bound}: {what}", program.name));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn litmus_tests_have_exactly_their_outcomes_at_their_least_costs() {
    check(&Config::new(), LITMUS, &TOGETHER);
    check(&Config::new(), LITMUS, &APART[..1]);
}

#[test]
fn reduction_changes_nothing() {
    check(&Config::new().without_reduction(), LITMUS, &TOGETHER[..2]);
}

#[test]
fn random_programs_have_exactly_their_outcomes_at_their_least_costs() {
    check(&Config::new(), RANDOM, &TOGETHER[..2]);
}

#[test]
fn what_was_lost_is_found() {
    check(&Config::new(), LOST, &TOGETHER);
    check(&Config::new(), LOST, &APART);
}

#[test]
#[ignore = "takes minutes: cargo test --release -p fabius --test weak_memory -- --ignored within_all"]
fn within_all_bounds_random_programs_have_exactly_their_outcomes_and_reduction_changes_nothing() {
    for text in [LITMUS, RANDOM] {
        for all in [TOGETHER.as_slice(), APART.as_slice()] {
            check(&Config::new(), text, all);
            check(&Config::new().without_reduction(), text, all);
        }
    }
}

#[test]
fn all_outcomes_are_found_without_a_bound() {
    for (program, facts) in read(LITMUS).chain(read(RANDOM)).filter(|(_, f)| f.race.is_empty() && f.blocked.is_empty())
    {
        let (seen, report) = explored(&Config::new().exhaustive(), &program);
        let expected: BTreeSet<String> = facts.outcomes.into_keys().collect();
        assert_eq!(seen, expected, "{}", program.name);
        assert_eq!(report.verdict, Verdict::Verified, "{}", program.name);
    }
}

#[test]
#[ignore = "needs an oracle: WEAK_ORACLE=FOLDER [WEAK_SEED=N] cargo test -p fabius --test weak_memory -- --ignored"]
fn fresh_random_programs_have_exactly_their_outcomes_at_their_least_costs() {
    let oracle = std::env::var("WEAK_ORACLE").expect("WEAK_ORACLE names the folder of weak.py");
    let seed = std::env::var("WEAK_SEED").unwrap_or_else(|_| "1".into());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/weak_memory/fresh.py");
    let output = std::process::Command::new("python3").args([script, &oracle, &seed, "300"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    check(&Config::new(), &text, &TOGETHER);
    check(&Config::new(), &text, &APART);
    check(&Config::new().without_reduction(), &text, &TOGETHER);
}
