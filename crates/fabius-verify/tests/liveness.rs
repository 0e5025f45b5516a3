//! Properties of infinite executions: the search against their definition, on random programs.

use fabius_explore::system::{Choose, End, Snapshot, StepLog, System};
use fabius_lang::program::{Fairness, Formula, Program};
use fabius_semantics::Reference;
use fabius_trace::{Bound, BugKind, ErrorTrace, Points, Reason, SchedulerKind, Verdict};
use fabius_verify::portfolio::{Ask, Member, decide};
use fabius_verify::{CheckError, Plan, Strategy, check, program_id, replay};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn compiled(source: &str) -> Program {
    fabius_lang::compile(source, &fabius_lang::Options::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"))
}

fn verdict(source: &str, plan: &Plan) -> Verdict {
    let (program, id) = (compiled(source), program_id("test.fab", source, &[], &[]));
    let report = check(&program, &id, plan, &AtomicBool::new(false), &|_| {});
    let verdict = report.unwrap_or_else(|e| panic!("{e:?}\n{source}")).verdict;
    if let Verdict::Bug { trace } = &verdict {
        assert_eq!(replay(&program, &id, trace).as_ref(), Ok(&**trace), "{source}");
    }
    verdict
}

/// The trace of the violation, if there is one.
fn violation(source: &str) -> Option<ErrorTrace> {
    match verdict(source, &Plan::default()) {
        Verdict::Bug { trace } => Some(*trace),
        Verdict::Verified => None,
        other => panic!("{other:?}\n{source}"),
    }
}

/// Choices that were given before, and the first alternative behind them.
struct Path {
    choices: Vec<(u32, u32)>,
    at: usize,
}

impl Choose for Path {
    fn choose(&mut self, alternatives: u32) -> u32 {
        if self.at == self.choices.len() {
            self.choices.push((0, alternatives));
        }
        self.at += 1;
        self.choices[self.at - 1].0
    }
}

/// Calls `run` with all outcomes of its choices.
fn for_all_choices(mut run: impl FnMut(&mut Path)) {
    let mut choices: Vec<(u32, u32)> = Vec::new();
    loop {
        let mut path = Path { choices, at: 0 };
        run(&mut path);
        choices = path.choices;
        while choices.last().is_some_and(|(chosen, of)| chosen + 1 == *of) {
            choices.pop();
        }
        match choices.last_mut() {
            Some(last) => last.0 += 1,
            None => return,
        }
    }
}

struct State {
    /// Who could go on if nobody kept control.
    ready: BTreeSet<u32>,
    holds: Vec<bool>,
    steps: Vec<(u32, usize)>,
}

/// All states that the reference reaches, and who leads from one to which. The first ones are initial.
struct Graph {
    states: Vec<State>,
    initial: usize,
    /// How fair executions must be to each thread; they have the numbers of their processes.
    fair: Vec<Fairness>,
}

fn graph(program: &Program) -> Graph {
    let reference = Reference::new(program, Points::All);
    let (mut numbers, mut configs) = (BTreeMap::new(), Vec::new());
    // With the thread that keeps control, if one does.
    let mut number = |config, control: Option<u32>, configs: &mut Vec<_>| {
        let mut bytes = Vec::new();
        reference.encode(&config, &mut bytes);
        *numbers.entry((bytes, control)).or_insert_with(|| {
            configs.push((config, control));
            configs.len() - 1
        })
    };
    let mut log = StepLog::default();
    for_all_choices(|path| {
        log.clear();
        let config = reference.initial(path, &mut log).expect("nothing goes wrong");
        number(config, None, &mut configs);
    });
    let (initial, mut states) = (configs.len(), Vec::new());
    while states.len() < configs.len() {
        let (config, control) = configs[states.len()].clone();
        let ready: BTreeSet<u32> = config.buffers.keys().copied().filter(|t| reference.ready(&config, *t)).collect();
        let mut steps = Vec::new();
        for thread in ready.iter().filter(|t| control.is_none_or(|c| c == **t)) {
            for_all_choices(|path| {
                let mut after = config.clone();
                log.clear();
                match reference.step(&mut after, *thread, path, &mut log).expect("nothing goes wrong") {
                    End::Dropped => {}
                    End::Yield if reference.ready(&after, *thread) => {
                        steps.push((*thread, number(after, Some(*thread), &mut configs)));
                    }
                    _ => steps.push((*thread, number(after, None, &mut configs))),
                }
            });
        }
        let holds = reference.conditions(&config).expect("conditions have values");
        states.push(State { ready, holds, steps });
    }
    let fair = &program.properties[0].fairness;
    let fair = program.processes.iter().map(|process| fair.to(Some(process.proc))).collect();
    Graph { states, initial, fair }
}

type Threads = BTreeSet<u32>;

impl Graph {
    /// The states that are reached from some by steps to allowed ones, those included.
    fn reached(&self, from: impl IntoIterator<Item = usize>, allowed: &dyn Fn(usize) -> bool) -> BTreeSet<usize> {
        let mut todo: Vec<usize> = from.into_iter().filter(|s| allowed(*s)).collect();
        let mut seen: BTreeSet<usize> = todo.iter().copied().collect();
        while let Some(state) = todo.pop() {
            for (_, to) in &self.states[state].steps {
                if allowed(*to) && seen.insert(*to) {
                    todo.push(*to);
                }
            }
        }
        seen
    }

    /// Whether an execution may stay among the allowed states for ever that begins in this one and comes back to it again and
    /// again, or ends in it. All closed walks are looked at by what they have been like: who has stepped, who could always,
    /// who could once, whether a wanted state was passed.
    fn stays(&self, state: usize, allowed: &dyn Fn(usize) -> bool, wanted: &dyn Fn(usize) -> bool) -> bool {
        let ready = &self.states[state].ready;
        if ready.is_empty() {
            return wanted(state);
        }
        let mut todo = vec![(state, Threads::new(), ready.clone(), ready.clone(), wanted(state))];
        let mut seen = BTreeSet::new();
        while let Some((at, stepped, always, ever, passed)) = todo.pop() {
            for (thread, to) in self.states[at].steps.iter().filter(|(_, to)| allowed(*to)) {
                let ready = &self.states[*to].ready;
                let mut stepped = stepped.clone();
                stepped.insert(*thread);
                let walk = (*to, stepped, &always & ready, &ever | ready, passed || wanted(*to));
                let is_fair = (0..).zip(&self.fair).all(|(thread, fair)| match fair {
                    Fairness::None => true,
                    Fairness::Weak => !walk.2.contains(&thread) || walk.1.contains(&thread),
                    Fairness::Strong => !walk.3.contains(&thread) || walk.1.contains(&thread),
                });
                if *to == state && is_fair && walk.4 {
                    return true;
                }
                if seen.insert(walk.clone()) {
                    todo.push(walk);
                }
            }
        }
        false
    }

    /// Whether some execution is fair.
    fn is_fair(&self) -> bool {
        let all = self.reached(0..self.initial, &|_| true);
        all.into_iter().any(|s| self.stays(s, &|_| true, &|_| true))
    }

    /// Whether some fair execution violates the formula.
    fn violates(&self, formula: &Formula) -> bool {
        let holds = |c: usize| move |s: usize| self.states[s].holds[c];
        let all = self.reached(0..self.initial, &|_| true);
        let without = |from: BTreeSet<usize>, c: usize| {
            let avoids = |s: usize| !holds(c)(s);
            self.reached(from, &avoids).into_iter().any(|s| self.stays(s, &avoids, &|_| true))
        };
        match *formula {
            Formula::Eventually(c) => without((0..self.initial).collect(), c),
            Formula::AlwaysEventually(c) => without(all, c),
            Formula::LeadsTo(a, b) => without(all.into_iter().filter(|s| holds(a)(*s)).collect(), b),
            Formula::EventuallyAlways(c) => all.into_iter().any(|s| self.stays(s, &|_| true, &|s| !holds(c)(s))),
            Formula::Never(_) => unreachable!("no property of this language is one"),
        }
    }
}

/// A random program of two or three threads.
fn random(rng: &mut fastrand::Rng) -> String {
    let condition = |rng: &mut fastrand::Rng| {
        ["x == 0", "x == 1", "x != y", "f", "!f", "x + y > 1", "g && x == 0"][rng.usize(..7)].to_string()
    };
    fn block(rng: &mut fastrand::Rng, depth: u32, condition: &dyn Fn(&mut fastrand::Rng) -> String) -> String {
        let mut text = String::new();
        for _ in 0..rng.usize(1..3) {
            let c = condition(rng);
            let inner =
                |rng: &mut fastrand::Rng| if depth == 0 { "skip;".into() } else { block(rng, depth - 1, condition) };
            text += &match rng.u32(..15) {
                0 => "x = 1 - x;".to_string(),
                1 => "y = x;".to_string(),
                2 => "f = !f;".to_string(),
                3 => "g = true;".to_string(),
                4 => format!("await {c};"),
                5 => format!("if {c} {{ {} }}", inner(rng)),
                6 => format!("while {c} {{ {} }}", inner(rng)),
                7 => format!("choose {{ {} }} or {{ {} }}", inner(rng), inner(rng)),
                8 => format!("atomic {{ await {c}; y = 1; f = false; }}"),
                9 => "m.acquire(); x = 0; m.release();".to_string(),
                10 => format!("select {{ when {c} {{ {} }} or when f {{ g = false; }} }}", inner(rng)),
                11 => format!("loop {{ y = 1 - y; {} }}", inner(rng)),
                12 => "yield;".to_string(),
                13 => format!("while {c} {{ yield; {} }}", inner(rng)),
                _ => format!("assume {c};"),
            };
            text.push(' ');
        }
        text
    }
    let mut source = String::from("var x: 0..1; var y: 0..1; var f: bool; var g: bool; var m: lock;\n");
    for thread in 0..rng.usize(2..4) {
        let body = block(rng, 1, &condition);
        let body = if rng.bool() { format!("loop {{ {body}}}") } else { body };
        source += &format!("process p{thread}[1] {{ {body}}}\n");
    }
    source
}

#[test]
fn random_programs_violate_what_some_fair_execution_violates() {
    let mut rng = fastrand::Rng::with_seed(21);
    let formulas = ["eventually A", "always eventually A", "eventually always A", "A leads to B"];
    let kinds = [
        "without fairness",
        "under weak fairness",
        "under strong fairness",
        "under weak fairness of p0",
        "under strong fairness of p1",
        "under weak fairness of p0 and strong fairness of p1",
        "under weak fairness and strong fairness of p1",
    ];
    let mut answers = BTreeMap::new();
    let plan = Plan { deadlock: false, ..Plan::default() };
    for _ in 0..24 {
        let base = random(&mut rng);
        let Verdict::Verified = verdict(&base, &plan) else { continue };
        for formula in formulas {
            let mut condition = || ["x == 1", "y == 1", "f", "!g", "x == y", "x != y && f"][rng.usize(..6)].to_string();
            let formula_text = formula.replace('A', &condition()).replace('B', &condition());
            for fairness in kinds {
                let source = format!("{base}property wanted: {formula_text} {fairness};\n");
                let program = compiled(&source);
                let graph = graph(&program);
                let expected = match (graph.is_fair(), &program.properties[0].formula) {
                    (false, _) => "unknown",
                    (true, formula) if graph.violates(formula) => "bug",
                    (true, _) => "verified",
                };
                let answer = match verdict(&source, &plan) {
                    Verdict::Bug { trace } => {
                        assert_eq!(trace.kind, BugKind::Liveness, "{source}");
                        if rng.u32(..4) == 0 {
                            assert_eq!(Some(*trace), within_the_least_bound(&source, &plan), "{source}");
                        }
                        "bug"
                    }
                    Verdict::Verified => "verified",
                    Verdict::Unknown { reason: Reason::Vacuous { .. }, .. } => "unknown",
                    other => panic!("{other:?}\n{source}"),
                };
                assert_eq!(answer, expected, "{source}");
                *answers.entry((formula, fairness, answer)).or_insert(0) += 1;
            }
        }
    }
    for formula in formulas {
        for fairness in kinds {
            let often = |answer| answers.get(&(formula, fairness, answer)).is_some_and(|n| *n >= 2);
            assert!(often("bug") && often("verified"), "both answers to all kinds of properties: {answers:?}");
        }
    }
    assert!(answers.keys().any(|(.., answer)| *answer == "unknown"), "{answers:?}");
}

/// What is found by bounds that grow.
fn within_the_least_bound(source: &str, plan: &Plan) -> Option<ErrorTrace> {
    (0..20).find_map(|max| match verdict(source, &Plan { max: Some(max), ..plan.clone() }) {
        Verdict::Bug { trace } => Some(*trace),
        _ => None,
    })
}

/// Peterson's algorithm.
const PETERSON: &str = "var wants: [bool; 2]; var turn: 0..1; var inside: [bool; 2];
process p[i in 0..1] {
    loop {
        wants[i] = true;
        turn = 1 - i;
        await !wants[1 - i] || turn == i;
        inside[i] = true;
        inside[i] = false;
        wants[i] = false;
    }
}
";

#[test]
fn fairness_is_that_of_threads() {
    let peterson = |property: &str| violation(&format!("{PETERSON}property served: {property};"));
    assert_eq!(peterson("wants[0] leads to inside[0]"), None);
    assert_eq!(peterson("wants[0] leads to inside[0] under strong fairness"), None);
    let alone = peterson("wants[0] leads to inside[0] without fairness").expect("the other one runs alone");
    let said = "property `served` is violated: `wants[0]` holds, and `inside[0]` never after it; p[1] goes on for ever";
    assert_eq!(alone.message, said);
    assert_eq!(alone.property.as_deref(), Some("served"));
    // A lock that is free again and again: only strong fairness gives it to everybody.
    let lock = "var m: lock; var first: bool;
        process p[1] { loop { m.acquire(); m.release(); } }
        process q[1] { m.acquire(); first = true; m.release(); }
        property in_time: eventually first";
    assert!(violation(&format!("{lock};")).is_some());
    assert!(violation(&format!("{lock} under weak fairness;")).is_some());
    assert_eq!(violation(&format!("{lock} under strong fairness;")), None);
}

#[test]
fn to_keep_control_for_ever_is_not_fair() {
    let holds = [
        "var held: bool = true; var got: bool; property wanted: eventually got;
         process waiter[1] { while held { yield; } got = true; }
         process owner[1] { held = false; }",
        "var x: 0..1; var got: bool; property wanted: eventually got;
         buffer a { post spin(); } proc spin() { x = 1 - x; post spin(); }
         buffer b { got = got; post last(); } proc last() { x = x; got = true; }",
    ];
    for source in holds {
        assert_eq!(violation(source), None);
        let strong = source.replace("eventually got", "eventually got under strong fairness");
        assert_eq!(violation(&strong), None);
        assert!(violation(&source.replace("eventually got", "eventually got without fairness")).is_some());
    }
    // The choice among the tasks of one buffer is not fair.
    let tasks = "var x: 0..1; var got: bool; property wanted: eventually got;
        buffer c { post spin(); post last(); } proc spin() { x = 1 - x; post spin(); } proc last() { got = true; }
        process p[1] { x = x; }";
    assert!(violation(tasks).is_some());
    let plan = Plan { livelock: true, ..Plan::default() };
    let spins = "var held: bool = true; process waiter[1] { while held { yield; } } process owner[1] { held = false; }";
    assert_eq!(verdict(spins, &plan), Verdict::Verified);
    let spins = spins.replace("held = false", "skip");
    assert!(matches!(verdict(&spins, &plan), Verdict::Bug { trace } if trace.kind == BugKind::Livelock));
}

#[test]
fn where_no_execution_is_fair_nothing_is_known() {
    let unknown = [
        "process p[1] { assume x == 1; done = true; } process q[1] { loop { x = 0; } }",
        "process p[1] { x = 1; assume false; } process q[1] { loop { x = 0; } }",
        "buffer p { x = 1; loop { yield; } } process q[1] { await x == 1; done = true; }",
    ];
    let source = |body: &str, wanted: &str| format!("var x: 0..1; var done: bool; property wanted: {wanted}; {body}");
    for body in unknown {
        for wanted in ["eventually done", "always eventually x == 1 under strong fairness"] {
            let said = verdict(&source(body, wanted), &Plan::default());
            assert!(matches!(&said, Verdict::Unknown { reason: Reason::Vacuous { .. }, .. }), "{said:?}\n{body}");
        }
        let said = verdict(&source(body, "eventually x == 0 without fairness"), &Plan::default());
        assert_eq!(said, Verdict::Verified, "{body}");
    }
    // A thread without tasks gives way where it yields.
    let body = "process p[1] { x = 1; loop { yield; } } process q[1] { await x == 1; done = true; }";
    assert_eq!(verdict(&source(body, "eventually done"), &Plan::default()), Verdict::Verified);
    // An execution that is not dropped is enough.
    let body = "process p[1] { assume x == 0; done = true; } process q[1] { loop { x = 0; } }";
    assert_eq!(verdict(&source(body, "eventually done"), &Plan::default()), Verdict::Verified);
}

#[test]
fn a_loop_of_choices_inside_of_a_step_is_a_limit() {
    for body in ["while * { } x = 1;", "z = true; var k: 0..1; while * { k = 1 - k; } x = 1;"] {
        let source = format!("var x: 0..1; var z: bool; property wanted: eventually x == 1; process p[1] {{ {body} }}");
        let said = verdict(&source, &Plan::default());
        assert!(matches!(&said, Verdict::Unknown { reason: Reason::Program { .. }, .. }), "{said:?}");
        let wrong = source.replace("eventually x == 1", "eventually z && x == 0 && !z");
        assert!(violation(&wrong).is_some(), "what is wrong after a way out is found");
    }
}

#[test]
fn an_execution_that_ends_stays_in_its_last_state() {
    let ends = "var x: 0..2; process p[1] { x = 1; x = 2; } property wanted:";
    let said = |property: &str| violation(&format!("{ends} {property};")).map(|t| (t.message, t.cycle));
    assert_eq!(said("eventually x == 1"), None);
    assert_eq!(said("eventually always x == 2"), None);
    assert_eq!(said("x == 1 leads to x == 2"), None);
    let never = "property `wanted` is violated: from some step on `x == 1` never holds; all have finished";
    assert_eq!(said("always eventually x == 1"), Some((never.into(), None)));
    let leads = "property `wanted` is violated: `x == 2` holds, and `x == 0` never after it; all have finished";
    assert_eq!(said("x == 2 leads to x == 0"), Some((leads.into(), None)));
    // The state in which nobody can go on is a last one, too, where a deadlock is none.
    let source = "var x: 0..2; process p[1] { await x == 1; x = 2; } property wanted: eventually x == 2;";
    assert!(matches!(verdict(source, &Plan::default()), Verdict::Bug { trace } if trace.kind == BugKind::Deadlock));
    let plan = Plan { deadlock: false, ..Plan::default() };
    let Verdict::Bug { trace } = verdict(source, &plan) else { panic!("it never holds") };
    assert_eq!(trace.message, "property `wanted` is violated: `x == 2` never holds; nobody can go on");
    // What holds in the first state alone, and what is asked of a program that begins with a choice.
    assert_eq!(said("eventually x == 0"), None);
    let chosen = "var x: 0..2; init { var t: 0..2 = any 0..2; x = t; } property wanted: eventually x == 1;";
    assert!(violation(chosen).is_some());
}

#[test]
fn a_condition_without_a_value_is_a_bug() {
    let source = "var x: 0..3; var a: [bool; 3]; process p[1] { x = 2; x = 3; } property wanted: eventually a[x];";
    let trace = violation(source).expect("the index is out of bounds");
    assert_eq!((trace.kind, trace.steps.len()), (BugKind::IndexOutOfBounds, 2));
    let source = "var x: int; process p[1] { x = 4611686018427387904; } property wanted: eventually 4 * x == 1;";
    let verdict = verdict(source, &Plan::default());
    assert!(matches!(verdict, Verdict::Unknown { reason: Reason::Program { .. }, .. }), "{verdict:?}");
}

#[test]
fn what_is_found_takes_the_least_bound_though_another_is_shorter() {
    let source = "var f: bool; var x: 0..4; var done: bool; property ends: eventually done without fairness;
        process p[1] { f = true; f = false; }
        process q[1] { if f { loop { yield; } } x = 1; x = 2; x = 3; x = 4; loop { yield; } }";
    let costs: Vec<_> = (0..2)
        .map(|max| match verdict(source, &Plan { max: Some(max), ..Plan::default() }) {
            Verdict::Bug { trace } => trace.steps.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    let found = violation(source).expect("it never ends");
    assert!(costs == [found.steps.len(); 2] && found.steps.len() > 5, "{costs:?} {}", found.steps.len());
}

#[test]
fn within_a_bound_what_is_found_is_real_and_nothing_is_verified() {
    let source = |fairness: &str| format!("{PETERSON}property served: wants[0] leads to inside[0] {fairness};");
    let plan = Plan { max: Some(0), ..Plan::default() };
    assert!(matches!(verdict(&source("under weak fairness"), &plan), Verdict::NoBugWithinBounds { .. }));
    let plan = Plan { max: Some(2), ..Plan::default() };
    assert!(matches!(verdict(&source("without fairness"), &plan), Verdict::Bug { .. }));
    for jobs in 1..4 {
        let found = |jobs| verdict(&source("without fairness"), &Plan { jobs, ..Plan::default() });
        assert_eq!(found(jobs), found(1), "the answer does not depend on the jobs");
    }
}

#[test]
fn who_sees_finite_executions_alone_refuses_properties() {
    let source = "var x: 0..1; process p[2] { x = 1; } property wanted: eventually x == 1;";
    let (program, id) = (compiled(source), program_id("test.fab", source, &[], &[]));
    let stop = Arc::new(AtomicBool::new(false));
    let plans = [
        Plan { stateless: true, ..Plan::default() },
        Plan { strategy: Strategy::Random, ..Plan::default() },
        Plan { strategy: Strategy::DepthFirst, ..Plan::default() },
        Plan { points: Points::Sync, ..Plan::default() },
        Plan { bound: Bound::Delays, scheduler: SchedulerKind::RoundRobin, ..Plan::default() },
    ];
    for plan in plans {
        let error = check(&program, &id, &plan, &stop, &|_| {}).expect_err("it is refused");
        assert!(matches!(&error, CheckError::Plan(e) if e.message.contains("properties")), "{error:?}");
        let report = check(&program, &id, &Plan { properties: false, ..plan }, &stop, &|_| {}).expect("it is left out");
        let left_out = "the property `wanted` was not looked at";
        assert!(report.limits.iter().any(|l| l == left_out), "{:?}", report.limits);
    }
    let ask = Ask::default();
    let decided = decide(&program, &id, &ask, &stop, &mut |_, _| {}).expect("exploration decides it");
    assert_eq!((decided.by, decided.report.verdict), (Member::Exploration, Verdict::Verified));
    for only in [Member::BoundedModelChecking, Member::RandomWalks] {
        let decided = decide(&program, &id, &Ask { only: Some(only), ..ask.clone() }, &stop, &mut |_, _| {});
        assert!(decided.is_err(), "{:?} does not look at it", only.name());
    }
    let any = "var x: 0..1; process p[*] { x = 1; } property wanted: always eventually x == 0;";
    let (program, id) = (compiled(any), program_id("test.fab", any, &[], &[]));
    let decided = decide(&program, &id, &ask, &stop, &mut |_, _| {}).expect("exploration decides it");
    assert!(matches!(decided.report.verdict, Verdict::Bug { .. }));
}
