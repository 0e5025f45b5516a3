//! All engines agree on random programs, and on all programs of a small size. Every bug that `check` reports has been
//! replayed in the reference semantics.

use fabius_explore::search::{Bug, Monitor, Options, Outcome};
use fabius_explore::stateful;
use fabius_explore::system::Snapshot;
use fabius_machine::Machine;
use fabius_semantics::Reference;
use fabius_trace::{Bound, BugKind, Points, SchedulerKind, Verdict};
use fabius_verify::{Plan, Report, Strategy, check, program_id};
use std::sync::atomic::AtomicBool;
use testkit::generate::{Model, Shape, all_small, random, random_with_waits_midway};

fn run(source: &str, plan: &Plan) -> Result<Report, String> {
    let program = fabius_lang::compile(source, &Default::default()).map_err(|d| format!("{d:?}"))?;
    let id = program_id("random.fab", source, &[], &[]);
    check(&program, &id, plan, &AtomicBool::new(false), &|_| {}).map_err(|e| format!("{plan:?}: {e:?}"))
}

fn search<S>(system: &S, options: &Options) -> Outcome
where
    S: Snapshot + Sync,
    S::State: Send,
{
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    stateful::search(system, options, &monitor, &|_| {})
}

/// What two searches must have in common.
fn shape_of(outcome: &Outcome) -> String {
    let bug = outcome.bug.as_ref().map(|b| match b.what {
        // Two engines may find different races of the same cost and length.
        Bug::Race(_) => ("race".to_string(), b.cost, 0),
        what => (format!("{what:?}"), b.cost, b.schedule.len()),
    });
    let cut = outcome.cut.is_some();
    format!("{bug:?} {:?} {:?} {cut} {}", outcome.levels, outcome.completed, outcome.exhausted)
}

/// Whether there is a bug, and what the cheapest one costs.
fn least(report: &Report) -> Option<Option<u32>> {
    match &report.verdict {
        Verdict::Bug { trace } => Some(Some(trace.cost)),
        Verdict::Verified => Some(None),
        Verdict::NoBugWithinBounds { .. } | Verdict::Unknown { .. } => None,
    }
}

fn agree(source: &str, stateless: bool) -> Result<(), String> {
    let program = fabius_lang::compile(source, &Default::default()).map_err(|d| format!("{d:?}"))?;
    let differ = |what: &str, a: &dyn std::fmt::Debug, b: &dyn std::fmt::Debug| Err(format!("{what}:\n{a:?}\n{b:?}"));
    let bounds = [
        (Bound::None, SchedulerKind::Bag),
        (Bound::Contexts, SchedulerKind::Bag),
        (Bound::Preemptions, SchedulerKind::Bag),
        (Bound::Delays, SchedulerKind::RoundRobin),
        (Bound::Delays, SchedulerKind::DepthFirst),
        (Bound::Depth, SchedulerKind::Bag),
    ];
    let mut with_bug = Vec::new();
    for (bound, scheduler) in bounds {
        let options = Options { bound, scheduler, ..Options::default() };
        let (machine, reference) = (Machine::new(&program, Points::All), Reference::new(&program, Points::All));
        let (m, r) = (search(&machine, &options), search(&reference, &options));
        if shape_of(&m) != shape_of(&r) {
            return differ(&format!("machine and reference, {bound:?} {scheduler:?}"), &shape_of(&m), &shape_of(&r));
        }
        // Few states are few executions only if none are left out.
        let plan = Plan { bound, scheduler, reduction: false, ..Plan::default() };
        let one = run(source, &plan)?;
        let two = run(source, &Plan { jobs: 2, ..plan.clone() })?;
        if (&one.levels, least(&one)) != (&two.levels, least(&two)) {
            return differ("one job and two", &one.levels, &two.levels);
        }
        with_bug.push(least(&one).map(|l| l.is_some()));
        if scheduler != SchedulerKind::Bag || bound == Bound::Depth {
            continue;
        }
        let depth_first = run(source, &Plan { strategy: Strategy::DepthFirst, ..plan.clone() })?;
        if least(&depth_first).map(|l| l.is_some()) != least(&one).map(|l| l.is_some()) {
            return differ("iterative and depth-first", &one.verdict, &depth_first.verdict);
        }
        if stateless && one.levels.last().is_some_and(|l| l.states < 60) {
            let executions = run(source, &Plan { stateless: true, ..plan.clone() })?;
            let both = run(source, &Plan { stateless: true, jobs: 2, ..plan })?;
            if bound != Bound::None && least(&executions) != least(&one) {
                return differ("with and without states", &one.verdict, &executions.verdict);
            }
            if executions.levels != both.levels {
                return differ("without states, one job and two", &executions.levels, &both.levels);
            }
        }
    }
    // With an unlimited bound it does not matter what is bounded.
    if with_bug.windows(2).any(|w| w[0].is_some() && w[1].is_some() && w[0] != w[1]) {
        return differ("bounds", &with_bug, &());
    }
    for points in [Points::All, Points::Sync] {
        let options = Options { races: Some(Default::default()), ..Options::default() };
        let m = search(&Machine::new(&program, points), &options);
        let r = search(&Reference::new(&program, points), &options);
        if shape_of(&m) != shape_of(&r) {
            return differ(&format!("with races, {points:?}"), &shape_of(&m), &shape_of(&r));
        }
        let with_races = run(source, &Plan { points, races: true, ..Plan::default() })?;
        let plain = run(source, &Plan::default())?;
        let wrong = match (&with_races.verdict, least(&plain)) {
            (Verdict::Verified, Some(Some(_))) => true,
            (Verdict::Bug { trace }, Some(None)) => trace.kind != BugKind::DataRace,
            _ => false,
        };
        if wrong {
            return differ(&format!("with and without races, {points:?}"), &with_races.verdict, &plain.verdict);
        }
    }
    Ok(())
}

fn on_random_programs(random: fn(u64, Shape) -> Model, seeds: std::ops::Range<u64>) {
    for shape in [Shape::Threads, Shape::Spawned, Shape::Tasks, Shape::Buffers, Shape::Queues] {
        for seed in seeds.clone().filter(|seed| shape != Shape::Queues || seed % 3 == 0) {
            let fails = |m: &Model| agree(&m.source(), true).is_err();
            let model = random(seed, shape);
            if fails(&model) {
                let source = model.shrink(fails).source();
                panic!("{shape:?} {seed}: {}\n{source}", agree(&source, true).expect_err("it still fails"));
            }
        }
    }
}

#[test]
fn engines_agree_on_random_programs() {
    on_random_programs(random, 0..9);
}

#[test]
fn engines_agree_on_atomic_blocks_that_wait_midway() {
    on_random_programs(random_with_waits_midway, 0..6);
}

#[test]
#[ignore = "takes minutes"]
fn engines_agree_on_many_random_programs() {
    let seeds = testkit::seeds(1000, 3000);
    on_random_programs(random, seeds.clone());
    on_random_programs(random_with_waits_midway, seeds);
}

/// What would be next is delayed while `b2` waits, and then `b2` could go on and is behind it.
#[test]
fn who_waits_and_could_go_on_since_stays_behind_what_was_delayed() {
    let source = "var x: 0..3; var y: int; var a: [0..3; 2]; \
                  proc follow(n: 0..3) { x = n; yield; y = y + x; } \
                  buffer b0 { x = count i in 0..1: a[i] == x; } \
                  buffer b1 { choose { x = 0; } or { } } \
                  buffer b2 { var t: 0..3; post follow(x); await x == t || y > 0; }";
    agree(source, true).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn engines_agree_on_all_programs_of_two_instructions_in_sum() {
    for source in all_small(1) {
        agree(&source, true).unwrap_or_else(|e| panic!("{e}\n{source}"));
    }
}

#[test]
#[ignore = "takes minutes"]
fn engines_agree_on_all_programs_of_four_instructions_in_sum() {
    for source in all_small(2) {
        agree(&source, true).unwrap_or_else(|e| panic!("{e}\n{source}"));
    }
}

#[test]
fn loops_of_choices_inside_of_a_step_are_followed_once_around() {
    let plans = [
        Plan::default(),
        Plan { stateless: true, ..Plan::default() },
        Plan { strategy: Strategy::DepthFirst, ..Plan::default() },
    ];
    let said = |source: &str, plan: &Plan| run(source, plan).map(|r| least(&r).map(|cost| cost.is_some()));
    let around =
        "var x: 0..3; process w[1] { var n: 0..3 = 0; while * { n = (n + 3) % 4; if * { n = 0; } } x = n; assert x != ";
    let cases = [
        ("var x: bool; process w[1] { while * { } x = true; }".to_string(), Some(false)),
        ("var x: bool; process w[1] { x = true; while * { } x = false; assert x; }".into(), Some(true)),
        (format!("{around}1; }}"), Some(true)),
        (format!("{around}4; }}"), Some(false)),
        // A loop without choices has no end, which is said.
        ("var x: bool; process w[1] { x = *; while true { } }".into(), None),
        // What a thread does when it is born stands inside of its parent's step.
        ("var x: 0..2; proc c() { while * { } x = 1; } init { if * { spawn c(); x = 2; } else { spawn c(); assert x != 1; } }".into(), Some(true)),
    ];
    for (source, wanted) in &cases {
        for plan in &plans {
            assert_eq!(said(source, plan), Ok(*wanted), "{plan:?}\n{source}");
        }
    }
    // The way around accesses more than the way that leaves at once.
    let race = "var d: int; process w[2] { while * { d = 0; } }";
    for plan in &plans {
        let plan = Plan { points: Points::Sync, ..plan.clone() };
        assert_eq!(said(race, &plan), Ok(Some(true)), "{plan:?}");
    }
    // More outcomes than anybody can wait for end with the time.
    let many = "var x: bool; proc f() { if * { f(); f(); } } process w[2] { f(); x = true; }";
    for plan in &plans {
        let plan = Plan { time: Some(std::time::Duration::from_millis(300)), ..plan.clone() };
        assert_eq!(said(many, &plan), Ok(None), "{plan:?}");
    }
}

#[test]
fn rounds_of_more_threads_than_a_word_has_bits_are_counted() {
    // The last thread begins, and each waits for the one that was made after it: a round for each but the first.
    let source = "var turn: 0..70 = 70; \
                  proc p(me: 0..70) { await turn == me; turn = me - 1; assert me != 66; } \
                  init { for i in 1..70 { spawn p(i); } }";
    let plan = Plan { bound: Bound::Rounds, ..Plan::default() };
    let report = run(source, &plan).expect("it is explored");
    assert_eq!(least(&report), Some(Some(4)));
    let states = report.levels.last().map(|level| (level.states, level.transitions));
    let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
    let options = Options { bound: Bound::Rounds, ..Options::default() };
    let reference = search(&Reference::new(&program, Points::All), &options);
    assert_eq!(reference.levels.last().map(|level| (level.states, level.transitions)), states);
    for (max, found) in [(3, false), (4, true)] {
        let plan = Plan { strategy: Strategy::DepthFirst, max: Some(max), ..plan.clone() };
        let verdict = run(source, &plan).expect("it is explored").verdict;
        assert_eq!(matches!(verdict, Verdict::Bug { .. }), found, "{max}");
    }
}
