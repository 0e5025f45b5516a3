//! A search that looks at states as one which differ only in what threads are called says what the plain search of the reference
//! says: under every bound and scheduler the same kind of bug at the same least cost in as many steps, or as much explored. Every
//! bug that `check` reports has been replayed in the reference.

use fabius_explore::search::{Bug, Cut, Monitor, Options, Outcome};
use fabius_explore::system::{Snapshot, TaskId};
use fabius_explore::{flat, stateful, stateful_depth_first, symmetry};
use fabius_machine::{Alike, Machine, State};
use fabius_semantics::Reference;
use fabius_trace::{Bound, Points, SchedulerKind, Verdict};
use fabius_verify::{Plan, Strategy, Symmetry, check, program_id};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::generate::{Model, Shape, random, random_with_waits_midway};

const WAYS: [(Bound, SchedulerKind); 7] = [
    (Bound::None, SchedulerKind::Bag),
    (Bound::Contexts, SchedulerKind::Bag),
    (Bound::Preemptions, SchedulerKind::Bag),
    (Bound::Depth, SchedulerKind::Bag),
    (Bound::Rounds, SchedulerKind::Bag),
    (Bound::Delays, SchedulerKind::RoundRobin),
    (Bound::Delays, SchedulerKind::DepthFirst),
];

fn search<S>(system: &S, options: &Options) -> Outcome
where
    S: Snapshot + Sync,
    S::State: Send,
{
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    stateful::search(system, options, &monitor, &|_| {})
}

/// What two searches must have in common.
fn said(outcome: &Outcome) -> String {
    let bug = outcome.bug.as_ref().map(|b| {
        let what = match b.what {
            // There may be several of the same cost and length.
            Bug::Fault(..) => "fault",
            Bug::Deadlock => "deadlock",
            Bug::Race(_) => "race",
            _ => "infinite",
        };
        (what, b.cost, b.schedule.len())
    });
    // Where everything has been seen it does not matter up to which bound.
    let completed = outcome.completed.filter(|_| !outcome.exhausted);
    format!("{bug:?} {completed:?} {} {}", outcome.exhausted, outcome.cut.is_some())
}

/// Whether the first one says as much as the second. A thread that is like another one may have done within the bound what that one
/// does only beyond it.
fn says(some: &Outcome, all: &Outcome) -> bool {
    said(some) == said(all) || all.bug.is_none() && all.cut.is_none() && some.exhausted
}

/// Two of the ways, others for each number.
fn some_ways(number: u64) -> [(Bound, SchedulerKind); 2] {
    [number, number + 3].map(|way| WAYS[way as usize % WAYS.len()])
}

/// How the search with symmetry differs in some of these ways, if it does; otherwise states without and with it.
fn compare(source: &str, ways: &[(Bound, SchedulerKind)]) -> Result<(u64, u64), String> {
    let program = fabius_lang::compile(source, &Default::default()).map_err(|d| format!("{d:?}"))?;
    let (machine, reference) = (Machine::new(&program, Points::All), Reference::new(&program, Points::All));
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    // Where both are alike, each alone.
    let kinds = [Alike::Threads, Alike::Values];
    let are_both = kinds.iter().all(|alike| machine.has_alike(*alike));
    let alone: Vec<Machine<'_>> = kinds
        .into_iter()
        .filter(|_| are_both)
        .map(|alike| Machine::new(&program, Points::All).telling_apart(alike))
        .collect();
    let mut counted = (0, 0);
    for (bound, scheduler) in ways.iter().copied() {
        let plain = Options { bound, scheduler, memory: Some(3_000_000), ..Options::default() };
        let all = search(&reference, &plain);
        if all.cut.is_some_and(Cut::is_final) {
            continue;
        }
        let reduced = Options { symmetry: true, memory: None, ..plain };
        let states = |outcome: &Outcome| outcome.levels.last().map_or(0, |level| level.states);
        for jobs in [1, 2] {
            let options = Options { jobs, ..reduced.clone() };
            let mut found = Vec::new();
            for machine in [&machine].into_iter().chain(alone.iter().filter(|_| jobs == 1)) {
                found.push(search(machine, &options));
                if flat::answers(machine, &options) {
                    found.push(flat::search(machine, &options, &monitor));
                }
            }
            for some in found {
                if !says(&some, &all) {
                    return Err(format!("{bound:?} {scheduler:?} jobs {jobs}: {} | {}", said(&some), said(&all)));
                }
                if all.bug.is_none() && states(&some) > states(&all) {
                    return Err(format!("{bound:?} {scheduler:?}: {} states of {}", states(&some), states(&all)));
                }
                if jobs == 1 && symmetry::applies(&machine, &options) {
                    counted = (counted.0 + states(&all), counted.1 + states(&some));
                }
            }
        }
        let limited = |symmetry| Options { symmetry, max: Some(1), ..reduced.clone() };
        if bound != Bound::None {
            let (some, all) = (search(&machine, &limited(true)), search(&machine, &limited(false)));
            if !says(&some, &all) {
                return Err(format!("{bound:?} at most 1: {} | {}", said(&some), said(&all)));
            }
        }
        if scheduler == SchedulerKind::Bag && !matches!(bound, Bound::Depth | Bound::Rounds) {
            // A few programs with a bug nearby are searched for minutes before it is met.
            let [some, all] = [true, false].map(|symmetry| {
                let deadline = Some(Instant::now() + Duration::from_secs(2));
                let limited = Options { symmetry, deadline, ..reduced.clone() };
                stateful_depth_first::search(&machine, &limited, &monitor, &|_| {})
            });
            let is_over = [&some, &all].iter().any(|outcome| outcome.cut == Some(Cut::Time));
            if !is_over && (some.bug.is_some(), some.exhausted) != (all.bug.is_some(), all.exhausted) {
                return Err(format!("{bound:?} depth first: {} | {}", said(&some), said(&all)));
            }
        }
        // What is found is replayed.
        for strategy in [Strategy::Iterative, Strategy::DepthFirst] {
            if strategy == Strategy::DepthFirst && bound == Bound::Depth {
                continue;
            }
            let time = (strategy == Strategy::DepthFirst).then_some(Duration::from_secs(2));
            let plan = Plan { bound, scheduler, strategy, time, ..Plan::default() };
            let id = program_id("random.fab", source, &[], &[]);
            let report = check(&program, &id, &plan, &AtomicBool::new(false), &|_| {})
                .map_err(|e| format!("{bound:?} {strategy:?} {e:?}"))?;
            if time.is_some() && matches!(report.verdict, Verdict::Unknown { .. }) {
                continue;
            }
            if matches!(report.verdict, Verdict::Bug { .. }) != all.bug.is_some() {
                return Err(format!("{bound:?} {strategy:?}: {:?} | {}", report.verdict, said(&all)));
            }
        }
    }
    Ok(counted)
}

fn agree(
    random: fn(u64, Shape) -> Model,
    seeds: std::ops::Range<u64>,
    ways: impl Fn(u64) -> Vec<(Bound, SchedulerKind)>,
) -> (u64, u64) {
    let mut sum = (0, 0);
    for seed in seeds {
        let model = random(seed, Shape::Alike);
        let ways = ways(seed);
        match compare(&model.source(), &ways) {
            Ok(counted) => sum = (sum.0 + counted.0, sum.1 + counted.1),
            Err(_) => {
                let fails = |m: &Model| {
                    fabius_lang::compile(&m.source(), &Default::default()).is_ok()
                        && compare(&m.source(), &ways).is_err()
                };
                let small = model.shrink(fails).source();
                panic!("{seed}: {:?}\n{small}", compare(&small, &ways));
            }
        }
    }
    sum
}

#[test]
fn random_programs_of_alike_threads_have_the_answers_of_the_plain_search() {
    let (all, some) = agree(random, 0..500, |seed| some_ways(seed).to_vec());
    assert!(some * 10 < all * 9, "{some} states of {all}");
}

#[test]
fn atomic_blocks_that_wait_midway_have_the_answers_of_the_plain_search() {
    agree(random_with_waits_midway, 0..20, |_| WAYS.to_vec());
}

#[test]
#[ignore = "takes hours"]
fn many_random_programs_of_alike_threads_have_the_answers_of_the_plain_search() {
    let (all, some) = agree(random, testkit::seeds(1000, 100_000), |_| WAYS.to_vec());
    println!("{some} states of {all}");
}

#[test]
fn a_step_that_makes_threads_which_end_at_once_is_shown_under_the_names_that_they_have() {
    let source = "var x: 0..3; var y: int; var a: [0..3; 2]; var hs: [thread; 2]; proc nothing() { }
        proc p(n: 0..3) { var t: 0..3; select { when y > 0 { } or when a[0] == x { t = 3; } } }
        init {
            { let f = spawn p(1); let g = spawn p(1); join f; join g; }
            atomic { hs[1] = spawn nothing(); }
            spawn p(2);
            a[0] = count i in 0..1: a[i] == x;
        }";
    let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
    let id = program_id("threads.fab", source, &[], &[]);
    let report = check(&program, &id, &Plan::default(), &AtomicBool::new(false), &|_| {}).expect("an answer");
    assert!(matches!(report.verdict, Verdict::Bug { .. }), "{:?}", report.verdict);
}

/// All orders of some threads.
fn orders(of: &[TaskId]) -> Vec<Vec<TaskId>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let first = |i: usize| {
        let rest: Vec<TaskId> = of.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, id)| *id).collect();
        orders(&rest).into_iter().map(move |order| [vec![of[i]], order].concat())
    };
    (0..of.len()).flat_map(first).collect()
}

#[test]
fn states_that_differ_by_names_alone_have_one_form() {
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    let renamed = std::sync::atomic::AtomicU32::new(0);
    for seed in 0..150 {
        let source = random(seed, Shape::Alike).source();
        let program = fabius_lang::compile(&source, &Default::default()).expect("random programs compile");
        let machine = Machine::new(&program, Points::All);
        let form = |state: &State| {
            let (mut state, mut names, mut bytes) = (state.clone(), Vec::new(), Vec::new());
            if machine.canonical_names(&state, &mut names) {
                machine.rename(&mut state, &names);
            }
            machine.encode(&state, &mut bytes);
            bytes
        };
        let options = Options { bound: Bound::None, memory: Some(2_000_000), ..Options::default() };
        stateful::search(&machine, &options, &monitor, &|visit| {
            let known = machine.known_threads(visit.state);
            if known.len() > 4 {
                return;
            }
            let wanted = form(visit.state);
            for order in orders(&known) {
                // The first thread may be the one that starts the others when it finishes.
                if known.contains(&0) && order[0] != 0 {
                    continue;
                }
                let names: Vec<(TaskId, TaskId)> = known.iter().copied().zip(order).collect();
                let mut other = visit.state.clone();
                machine.rename(&mut other, &names);
                assert_eq!(form(&other), wanted, "seed {seed}, {names:?}\n{source}");
                renamed.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    assert!(renamed.into_inner() > 10_000);
}

fn counted(source: &str, plan: &Plan) -> (Option<u64>, bool) {
    let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
    let id = program_id("threads.fab", source, &[], &[]);
    let report = check(&program, &id, plan, &AtomicBool::new(false), &|_| {}).expect("an answer");
    (report.total_states, report.symmetry != Symmetry::OFF)
}

#[test]
fn alike_threads_are_counted() {
    // Each of n threads is in front of one of two writes, or has finished: as many states as there are ways to part n into three,
    // times what `x` is and how far `init` is.
    let source = |n: u32| {
        format!(
            "var x: bool; proc p() {{ x = true; x = true; }} init {{ atomic {{ for i in 1..{n} {{ spawn p(); }} }} }}"
        )
    };
    let none = Plan { bound: Bound::None, reduction: false, ..Plan::default() };
    let all = Plan { symmetry: Symmetry::OFF, ..none.clone() };
    let two = |plan| counted(&source(2), plan);
    // In front of `init`; then nobody has begun (and `x` is false), or somebody has: 9 ways for two threads, 6 without their names.
    assert_eq!((two(&all), two(&none)), ((Some(10), false), (Some(7), true)));
    // 1 + 102 * 101 / 2.
    assert_eq!(counted(&source(100), &none), (Some(1 + 5151), true));
    assert_eq!(counted(&source(100), &Plan { reduction: false, ..Plan::default() }), (Some(1 + 5151), true));
}

#[test]
fn threads_that_are_told_apart_stay_apart() {
    let states = |source: &str| {
        [Symmetry::ON, Symmetry::OFF].map(|symmetry| {
            counted(source, &Plan { bound: Bound::None, symmetry, reduction: false, ..Plan::default() }).0
        })
    };
    // By their arguments, by who has a handle of them, and by what is nowhere said twice.
    for source in [
        "var x: int; proc p(n: int) { x = n; x = n; } init { atomic { spawn p(1); spawn p(2); } }",
        "var x: int; var hs: [thread; 2]; proc p() { x = 1; x = 2; } init { atomic { hs[0] = spawn p(); hs[1] = spawn p(); } }",
    ] {
        let [some, all] = states(source);
        assert!(some.is_some() && some == all, "{some:?} {all:?} {source}");
    }
}

#[test]
fn each_symmetry_is_switched_off_alone() {
    let counted = |source: &str, symmetry: Symmetry| {
        let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
        let id = program_id("threads.fab", source, &[], &[]);
        let plan = Plan { bound: Bound::None, symmetry, reduction: false, ..Plan::default() };
        let report = check(&program, &id, &plan, &AtomicBool::new(false), &|_| {}).expect("an answer");
        assert_eq!(report.verdict, Verdict::Verified, "{source}");
        (report.total_states.expect("all are counted"), report.symmetry)
    };
    // In front of the choice, or with one of three numbers, or at the end with the last one: with names of threads and values 1 state
    // in front of both, and so on.
    let both = "var x: 0..3; process p[2] { let v = any 1..3; x = v; x = v; }";
    let joined = "var x: bool; proc p() { x = true; } init { let a = spawn p(); let b = spawn p(); join a; join b; }";
    let with = |threads, values, joined| Symmetry { threads, values, joined };
    let of = |source, symmetry| {
        let (states, was_on) = counted(source, symmetry);
        (states, [was_on.threads, was_on.values, was_on.joined])
    };
    let [all, no_values, no_threads, none] =
        [(true, true), (true, false), (false, true), (false, false)].map(|(t, v)| of(both, with(t, v, true)));
    assert_eq!([all.1, no_values.1], [[true, true, false], [true, false, false]]);
    assert_eq!([no_threads.1, none.1], [[false, true, false], [false, false, false]]);
    assert!(
        all.0 < no_values.0 && all.0 < no_threads.0 && no_values.0 < none.0 && no_threads.0 < none.0,
        "{all:?} {no_values:?} {no_threads:?} {none:?}"
    );
    let [all, not_joined, none] =
        [with(true, true, true), with(true, true, false), with(false, true, true)].map(|symmetry| of(joined, symmetry));
    assert_eq!([all.1, not_joined.1, none.1], [[true, false, true], [true, false, false], [false; 3]]);
    assert!(all.0 < not_joined.0 && not_joined.0 <= none.0, "{all:?} {not_joined:?} {none:?}");
}

#[test]
fn where_names_matter_they_are_kept() {
    let source = "var x: bool; proc p() { x = true; x = true; } init { spawn p(); spawn p(); }";
    let kept = [
        Plan { races: true, ..Plan::default() },
        Plan { points: Points::Sync, ..Plan::default() },
        Plan { livelock: true, ..Plan::default() },
        Plan { bound: Bound::Rounds, ..Plan::default() },
        Plan { bound: Bound::Delays, scheduler: SchedulerKind::RoundRobin, ..Plan::default() },
        Plan { bound: Bound::None, scheduler: SchedulerKind::BoundedBag(4), ..Plan::default() },
        Plan { stateless: true, ..Plan::default() },
    ];
    for plan in kept {
        assert!(!counted(source, &plan).1, "{plan:?}");
    }
    assert!(counted(source, &Plan::default()).1);
    let alone = "var x: bool; proc p() { x = true; } proc q() { x = false; } init { spawn p(); spawn q(); }";
    assert!(!counted(alone, &Plan::default()).1, "nobody is like another one");
    let posted = "var x: bool; proc p() { x = true; } init { post p(); post p(); spawn p(); spawn p(); }";
    assert!(!counted(posted, &Plan::default()).1, "tasks have forms of their own");
}

fn least(source: &str, plan: &Plan) -> Option<u32> {
    let program = fabius_lang::compile(source, &Default::default()).expect("it compiles");
    let id = program_id("threads.fab", source, &[], &[]);
    match check(&program, &id, plan, &AtomicBool::new(false), &|_| {}).expect("an answer").verdict {
        Verdict::Bug { trace } => Some(trace.cost),
        _ => None,
    }
}

#[test]
fn whoever_ran_last_goes_on_at_no_cost_though_another_one_is_alike() {
    // Both threads have counted when one looks: that takes one preemption. Whose name comes first depends on the number.
    for number in 0..16 {
        let source = format!(
            "var n: int; proc p(k: int) {{ fetch_add(n, 1); assert n != 2 || k < 0; fetch_add(n, -1); }} init {{ spawn p({number}); spawn p({number}); }}"
        );
        assert_eq!(least(&source, &Plan::default()), Some(1), "{number}");
        assert_eq!(least(&source, &Plan { symmetry: Symmetry::OFF, ..Plan::default() }), Some(1), "{number}");
    }
}

#[test]
fn a_member_of_a_set_is_chosen_by_its_real_name() {
    // The first thread to be made is `q`, which no choice may take for one of `p`.
    let source = "var ts: thread_set; var n: 0..3; sync var go: bool;
        proc p() { atomic { ts.insert(self); n = n + 1; } await go; assert ts.contains(self); }
        proc q() { atomic { ts.insert(self); n = n + 1; } await go; }
        init { spawn q(); spawn p(); spawn p(); atomic { await n == 3; ts.remove_any(); } go = true; }";
    for bound in [Bound::None, Bound::Preemptions, Bound::Contexts] {
        assert!(least(source, &Plan { bound, ..Plan::default() }).is_some(), "{bound:?}");
    }
}

#[test]
fn threads_that_somebody_knows_or_that_know_something_themselves_make_steps_of_their_own() {
    // Only if whoever nobody knows is first, or whoever has the larger number.
    let known = "var x: bool; var h: thread; proc p() { atomic { if h != self { assert x; } x = true; } }
        init { atomic { h = spawn p(); spawn p(); } }";
    let numbered = |number: u32| {
        format!(
            "var x: bool; thread var mine: 0..9; proc p(k: 0..9) {{ mine = k; atomic {{ if mine > 1 {{ assert x; }} x = true; }} }}
            init {{ atomic {{ spawn p(1); spawn p(1); spawn p({number}); }} }}"
        )
    };
    for source in (2..9).map(numbered).chain([known.to_string()]) {
        for bound in [Bound::None, Bound::Preemptions] {
            assert!(least(&source, &Plan { bound, ..Plan::default() }).is_some(), "{bound:?} {source}");
        }
    }
}

/// A random program whose threads copy, choose and compare values, which now and then are numbers after all.
fn with_values(seed: u64) -> String {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut body = String::new();
    let most = rng.u32(2..=3);
    let is_number = rng.u32(..4) == 0;
    let mut depth = 0;
    for _ in 0..rng.u32(3..7) {
        let mut word = || ["g", "h", "x", "y", "a[0]", "a[i]", "r.value", "mine"][rng.usize(..8)];
        let [to, from, other] = [word(), word(), word()];
        let constant = rng.u32(0..=most + 1);
        body += &match rng.u32(..12) {
            0..3 => format!("{to} = any 1..{most}; "),
            3..5 => format!("{to} = {from}; "),
            5 => format!("{to} = same({from}, {other}); "),
            6 => format!("assume {to} != {from}; "),
            7 => format!("await {to} == {from}; "),
            8 => format!("assert {to} != {from}; "),
            9 if is_number => format!("if {to} < {from} {{ n = 1; }} "),
            9 => format!("{to} = {constant}; "),
            10 => format!("i = 1 - i; if {to} == {from} {{ assert n == 0; n = 1; n = 0; }} "),
            _ => {
                depth += 1;
                format!("if {to} == {from} {{ ")
            }
        };
    }
    body += &"} ".repeat(depth);
    let threads = rng.u32(1..=2);
    let other = rng.bool();
    let other = if other { "process q[1] { var v: int = any 1..2; g = v; assert h != v; }" } else { "" };
    format!(
        "record R {{ value: int = 0, next: ref R }} var g: int; var h: int; var a: [int; 2]; var n: int; thread var mine: int;
        proc same(v: int, w: int) -> int {{ if v == w {{ return v; }} return w; }}
        process p[{threads}] {{ var x: int; var y: int; var i: 0..1; var r = new R {{ value: 0 }}; {body} }} {other}"
    )
}

fn values_agree(seeds: std::ops::Range<u64>, ways: impl Fn(u64) -> Vec<(Bound, SchedulerKind)>) -> (u64, u64) {
    let mut sum = (0, 0);
    for seed in seeds {
        let source = with_values(seed);
        let counted = compare(&source, &ways(seed)).unwrap_or_else(|why| panic!("{seed}: {why}\n{source}"));
        sum = (sum.0 + counted.0, sum.1 + counted.1);
    }
    sum
}

#[test]
fn random_programs_of_values_have_the_answers_of_the_plain_search() {
    let (all, some) = values_agree(0..500, |seed| some_ways(seed).to_vec());
    assert!(some * 10 < all * 8, "{some} states of {all}");
}

#[test]
#[ignore = "takes hours"]
fn many_random_programs_of_values_have_the_answers_of_the_plain_search() {
    let (all, some) = values_agree(testkit::seeds(1000, 100_000), |_| WAYS.to_vec());
    println!("{some} states of {all}");
}

#[test]
fn values_that_are_only_compared_are_alike() {
    let states = |source: &str| {
        [Symmetry::ON, Symmetry::OFF].map(|symmetry| {
            counted(source, &Plan { bound: Bound::None, symmetry, reduction: false, ..Plan::default() }).0
        })
    };
    // Nothing is chosen yet; what was chosen is one of 100, or any, in front of the copy, within it and behind it.
    let one = "var x: int; process p[1] { x = any 1..100; x = x; }";
    assert_eq!(states(one), [Some(4), Some(1 + 300)]);
    // What is never compared is never alike: there is nothing to tell.
    let apart = "var x: int; var y: int; var z: int; process p[1] { x = any 1..9; y = any 1..9; z = any 1..9; }";
    assert_eq!(states(apart), [Some(4), Some(1 + 9 + 81 + 729)]);
    // A second value is the first one or not, a third one is one of these or not: 1, 2 and 5 ways, the last in front of the question
    // whether they are compared, and behind it.
    let compared = apart.replace("z = any 1..9;", "z = any 1..9; if w { assert x == y && y == z; }");
    let [some, all] = states(&format!("var w: bool; {compared}"));
    assert_eq!([some, all], [Some(1 + 1 + 2 + 5 + 5), Some(1 + 9 + 81 + 729 + 729)]);
    // More threads than there are entries for, and a local array of several dimensions.
    let many = "var m: map[thread] int; var x: int; var y: int; proc w() { m[self] = 1; }
        init { for i in 0..66 { spawn w(); } let v = any 1..2; x = v; y = v; assert x == y; }";
    let plan = Plan { bound: Bound::None, memory: Some(1 << 22), ..Plan::default() };
    assert_eq!(least(many, &plan), None);
    let array = "var x: int; process p[1] { let v = any 1..2; let i = any 0..1; var l: [[int; 2]; 2] = [[v, v], [v, v]]; \
        let w = l[i][i]; x = v; assert w == x; }";
    assert_eq!(least(array, &Plan::default()), None);
    // Which choices are meant depends on what values are really called; all others meet.
    let meet = "var n: 0..40; var w: int; var y: int; var x: int;
        process p[1] {
            x = any 1..4; y = any 1..4;
            atomic { w = any 1..4; n = 0; for i in 1..20 { if * { skip; } else { n = n + 1; } } }
            assert !(n == 20 && w == x && x != y);
        }";
    assert_eq!(least(meet, &Plan { bound: Bound::None, ..Plan::default() }), Some(0));
    // Values are of one sort that meet in a comparison alone, or by way of a procedure.
    let meet = [
        "var x: int; var y: int; var b: bool; process p[1] { x = any 1..3; y = any 1..3; b = x == y; assert b; }",
        "var h: int; var g: int; proc same(v: int, w: int) -> int { if v == w { return v; } return w; }
        process p[1] { h = any 1..3; g = any 1..3; let r = same(g, g); assert r == h; }",
    ];
    for source in meet {
        assert_eq!(least(source, &Plan { bound: Bound::None, ..Plan::default() }), Some(0), "{source}");
    }
    // Constants are told apart.
    let constants = "var x: int; process p[1] { x = any 0..9; assert x != 3; if x == 4 { x = 5; } }";
    assert_eq!(least(constants, &Plan::default()), Some(0));
    // Orders, sums and indexes tell all apart.
    for tells in ["assert x < 10", "y = x + 1", "a[x] = 1", "y = x % 2"] {
        let source =
            format!("var x: int; var y: int; var a: [int; 10]; process p[1] {{ x = any 1..9; {tells}; x = x; }}");
        let [some, all] = states(&source);
        assert!(some.is_some() && some == all, "{some:?} {all:?} {source}");
    }
}
