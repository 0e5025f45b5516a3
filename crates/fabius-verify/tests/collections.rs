//! Sets, bags, sequences and maps of threads: what operations mean, against a plain model of them; and random programs of
//! several threads, in the machine, the reference and `verify`.

use fabius_explore::search::{Bug, Cut, Monitor, Options, Outcome};
use fabius_explore::stateful;
use fabius_explore::system::Snapshot;
use fabius_lang::program::Program;
use fabius_machine::Machine;
use fabius_semantics::Reference;
use fabius_trace::{Bound, BugKind, ErrorTrace, Points, Verdict};
use fabius_verify::prove::{Engine, ProofError, ProofPlan, Sequentialization, SolverChoice, prove};
use fabius_verify::{Plan, check, program_id};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn compiled(source: &str) -> Program {
    fabius_lang::compile(source, &fabius_lang::Options::default()).unwrap_or_else(|d| panic!("{d:?}\n{source}"))
}

fn verdict(source: &str) -> Verdict {
    let (program, id) = (compiled(source), program_id("test.fab", source, &[], &[]));
    let report = check(&program, &id, &Plan::default(), &AtomicBool::new(false), &|_| {});
    report.unwrap_or_else(|e| panic!("{e:?}\n{source}")).verdict
}

fn bug(source: &str) -> Option<ErrorTrace> {
    match verdict(source) {
        Verdict::Bug { trace } => Some(*trace),
        Verdict::Verified => None,
        other => panic!("{other:?}\n{source}"),
    }
}

/// What the collections of a program hold.
#[derive(Clone, Default)]
struct Model {
    set: BTreeMap<i64, i64>,
    bag: BTreeMap<i64, i64>,
    seq: Vec<i64>,
}

const ROOM: usize = 3;

impl Model {
    /// A random operation as a line of source; what goes wrong with it.
    fn step(&mut self, rng: &mut fastrand::Rng) -> (String, Option<BugKind>) {
        let e = rng.i64(0..4);
        let beyond = (self.seq.len() >= ROOM).then_some(BugKind::RangeOverflow);
        let none = self.seq.is_empty().then_some(BugKind::IndexOutOfBounds);
        let i = rng.usize(..ROOM);
        let outside = (i >= self.seq.len()).then_some(BugKind::IndexOutOfBounds);
        let full = (self.bag.values().sum::<i64>() >= ROOM as i64).then_some(BugKind::RangeOverflow);
        // What is known is written down, and what is read from a variable.
        let (how, what) = if rng.bool() { (String::new(), e.to_string()) } else { (format!("n = {e}; "), "n".into()) };
        let (text, wrong) = match rng.u32(..15) {
            0 | 1 => {
                self.set.insert(e, 1);
                (format!("s.insert({what});"), None)
            }
            2 => {
                self.set.remove(&e);
                (format!("s.remove({what});"), None)
            }
            3 | 4 => {
                if full.is_none() {
                    *self.bag.entry(e).or_insert(0) += 1;
                }
                (format!("b.insert({what});"), full)
            }
            5 => {
                if let Some(times) = self.bag.get_mut(&e) {
                    *times -= 1;
                }
                self.bag.retain(|_, times| *times > 0);
                (format!("b.remove({what});"), None)
            }
            6 | 7 => {
                if beyond.is_none() {
                    self.seq.push(e);
                }
                (format!("q.push({what});"), beyond)
            }
            8 => {
                if beyond.is_none() {
                    self.seq.insert(0, e);
                }
                (format!("q.push_front({what});"), beyond)
            }
            9 => match self.seq.pop() {
                Some(last) => (format!("r = q.pop(); assert r == {last};"), None),
                None => ("r = q.pop();".into(), none),
            },
            10 if none.is_none() => (format!("r = q.pop_front(); assert r == {};", self.seq.remove(0)), None),
            10 => ("r = q.pop_front();".into(), none),
            11 => {
                if let Some(at) = self.seq.get_mut(i) {
                    *at = e;
                }
                (format!("q[{i}] = {what};"), outside)
            }
            12 => {
                if outside.is_none() {
                    self.seq.remove(i);
                }
                (format!("q.remove_at({i});"), outside)
            }
            13 => match self.seq.get(i) {
                Some(e) => (format!("r = q[{i}]; assert r == {e};"), None),
                None => (format!("r = q[{i}];"), outside),
            },
            _ => {
                let clear = ["s", "b", "q"][rng.usize(..3)];
                match clear {
                    "s" => self.set.clear(),
                    "b" => self.bag.clear(),
                    _ => self.seq.clear(),
                }
                (format!("{clear}.clear();"), None)
            }
        };
        (how + &text, wrong)
    }

    /// What can be asked, and the answers.
    fn facts(&self) -> Vec<String> {
        let size: i64 = self.bag.values().sum();
        let mut facts = vec![
            format!("len(s) == {} && len(b) == {size} && len(q) == {}", self.set.len(), self.seq.len()),
            format!("s.is_empty() == {} && b.is_empty() == {}", self.set.is_empty(), size == 0),
            format!("s == {:?}", self.set.keys().collect::<Vec<_>>()),
            format!("q == {:?}", self.seq),
            format!("b == {:?}", self.bag.iter().flat_map(|(e, n)| vec![e; *n as usize]).collect::<Vec<_>>()),
            format!("(sum v in s: v) == {}", self.set.keys().sum::<i64>()),
            format!("(sum v in b: v + 1) == {}", self.bag.iter().map(|(e, n)| (e + 1) * n).sum::<i64>()),
            format!("(sum v in q: v) == {}", self.seq.iter().sum::<i64>()),
            format!(
                "(count v in b: v > 1) == {}",
                self.bag.iter().filter(|(e, _)| **e > 1).map(|(_, n)| n).sum::<i64>()
            ),
            format!("(forall v in q: v != 2) == {}", self.seq.iter().all(|e| *e != 2)),
            format!("(exists v in s: v > 1) == {}", self.set.keys().any(|e| *e > 1)),
            format!("(forall v in s: b.contains(v)) == {}", self.set.keys().all(|e| self.bag.contains_key(e))),
        ];
        for e in -1..5 {
            let is = [self.set.contains_key(&e), self.bag.contains_key(&e), self.seq.contains(&e)];
            let times = self.bag.get(&e).unwrap_or(&0);
            facts.push(format!(
                "s.contains({e}) == {} && b.contains({e}) == {} && q.contains({e}) == {}",
                is[0], is[1], is[2]
            ));
            facts.push(format!("b.count({e}) == {times}"));
        }
        facts
    }
}

#[test]
fn operations_do_what_those_of_a_plain_model_do() {
    let mut rng = fastrand::Rng::with_seed(2100);
    let mut wrong_ones = BTreeMap::new();
    for program in 0..150 {
        // Shared ones and local ones mean the same.
        let (outside, inside) = if program % 2 == 0 { ("", "") } else { ("", "/* local */") };
        let declared =
            format!("var s: set[0..3]; var b: bag[0..3; {ROOM}]; var q: seq[0..3; {ROOM}]; var r: int; var n: int;");
        let (outside, mut body) = match inside {
            "" => (declared, String::from(outside)),
            _ => (String::new(), declared),
        };
        let mut model = Model::default();
        let mut expected = None;
        for _ in 0..rng.usize(4..14) {
            let before = model.clone();
            let (line, wrong) = model.step(&mut rng);
            // Most of what goes wrong is left out, so that more is done before.
            if wrong.is_some() && rng.u32(..8) > 0 {
                model = before;
                continue;
            }
            body += &line;
            body.push('\n');
            if wrong.is_some() {
                expected = wrong;
                break;
            }
            if rng.u32(..3) == 0 {
                let facts = model.facts();
                body += &format!("assert {};\n", facts[rng.usize(..facts.len())]);
            }
        }
        if expected.is_none() {
            model.facts().iter().for_each(|fact| body += &format!("assert {fact};\n"));
        }
        let source = format!("{outside}\ninit {{ {body} }}");
        let found = bug(&source);
        assert_eq!(found.as_ref().map(|trace| trace.kind), expected, "{:?}\n{source}", found.map(|t| t.message));
        *wrong_ones.entry(expected).or_insert(0) += 1;
        // An answer that is wrong is found.
        if expected.is_none() {
            let facts = model.facts();
            let turned = format!("assert !({});", facts[rng.usize(..facts.len())]);
            let trace = bug(&format!("{outside}\ninit {{ {body} {turned} }}")).expect("it does not hold");
            assert_eq!(trace.kind, BugKind::Assertion);
        }
    }
    assert!(wrong_ones.len() == 3 && wrong_ones[&None] > 50, "{wrong_ones:?}");
}

#[test]
fn any_member_may_be_picked_and_nothing_else() {
    let program = |rest: &str| {
        format!("var s: set[0..4] = [1, 3, 4]; var b: bag[0..4; 4] = [2, 2, 0]; var r: 0..4; init {{ {rest} }}")
    };
    for e in 0..5 {
        let picked = bug(&program(&format!("r = s.pick(); assert r != {e} && len(s) == 3;"))).is_some();
        assert_eq!(picked, [1, 3, 4].contains(&e));
        let taken = bug(&program(&format!("r = s.take(); assert r != {e};"))).is_some();
        assert_eq!(taken, [1, 3, 4].contains(&e));
        let counted = bug(&program(&format!("r = b.take(); assert r != {e};"))).is_some();
        assert_eq!(counted, [0, 2].contains(&e));
    }
    assert_eq!(bug(&program("r = s.take(); assert !s.contains(r) && len(s) == 2;")), None);
    assert_eq!(bug(&program("r = b.take(); assert b.count(2) + b.count(0) == 2 && len(b) == 2;")), None);
    assert_eq!(bug(&program("s.clear(); r = s.take();")).map(|t| t.kind), Some(BugKind::Deadlock));
    assert_eq!(
        bug(&program("select { when r = s.take() { assert r > 0; } or when r = b.pick() { assert r != 1; } }")),
        None
    );
    let waits = "var s: set[0..3]; var done: bool; process p[1] { let e = s.take(); assert e == 2; done = true; }
        process q[1] { s.insert(2); }";
    assert_eq!(bug(waits), None);
}

/// A random program of two or three threads.
fn random(rng: &mut fastrand::Rng) -> String {
    let shared = [
        "s.insert(t);",
        "s.insert(x);",
        "s.remove(t);",
        "t = s.take();",
        "t = s.pick();",
        "if s.contains(t) { x = t; }",
        "await !s.contains(t);",
        "b.insert(t);",
        "b.remove(x);",
        "t = b.take();",
        "if b.count(t) > 1 { x = 0; }",
        "q.push(t);",
        "q.push_front(x);",
        "t = q.pop();",
        "if len(q) > 0 { t = q.pop_front(); }",
        "atomic { if len(q) > 0 { t = q[0]; } }",
        "atomic { await len(q) > 0; t = q.pop_front(); }",
        "if len(q) > 1 { q[1] = t; }",
        "x = t;",
        "t = any 0..2;",
        "select { when t = s.take() { x = t; } or when b.contains(x) { s.insert(x); } else { t = 1; } }",
        "assert (count v in s: v > 0) < 2 || len(b) == 0;",
        "assert !(exists v in q: v == 2) || x != 1;",
        "marks[self] = t;",
        "x = marks[self];",
        "marks[self] = 0;",
        "if h != null { marks[h] = x; }",
        "if h != null { t = marks[h]; }",
        "h = self;",
        "assert (sum v in marks: v) != 3;",
        "assert h == null || marks[h] != 2;",
    ];
    let mut source = String::from(
        "var s: set[0..2]; var b: bag[0..2; 2]; var q: seq[0..2; 2]; var x: 0..2; var h: thread; var marks: map[thread] 0..2;\n",
    );
    let body = |rng: &mut fastrand::Rng| {
        let lines: Vec<&str> = (0..rng.usize(1..4)).map(|_| shared[rng.usize(..shared.len())]).collect();
        format!("var t: 0..2 = {}; {}", rng.u32(..3), lines.join(" "))
    };
    if rng.bool() {
        for thread in 0..rng.usize(2..4) {
            source += &format!("process p{thread}[1] {{ {} }}\n", body(rng));
        }
    } else {
        source += &format!("proc p() {{ {} }} proc r() {{ {} }}\n", body(rng), body(rng));
        let spawns = ["h = spawn p();", "spawn r();", "spawn p();", "let c = spawn r(); join c;", "spawn r();"];
        let spawned: Vec<&str> = (0..2).map(|_| spawns[rng.usize(..spawns.len())]).collect();
        source += &format!("init {{ {} {} }}\n", spawned.join(" "), if rng.bool() { body(rng) } else { String::new() });
    }
    source.replace("let c = spawn r(); join c; let c = spawn r(); join c;", "let c = spawn r(); join c;")
}

fn search<S>(system: &S, options: &Options) -> Outcome
where
    S: Snapshot + Sync,
    S::State: Send,
{
    let monitor = Monitor { stop: &AtomicBool::new(false), progress: &|_| {} };
    stateful::search(system, options, &monitor, &|_| {})
}

fn said(outcome: &Outcome) -> String {
    let bug = outcome.bug.as_ref().map(|b| {
        let what = match b.what {
            Bug::Fault(..) => "fault",
            Bug::Deadlock => "deadlock",
            _ => "other",
        };
        (what, b.cost, b.schedule.len())
    });
    let states = outcome.levels.last().map(|level| level.states).filter(|_| bug.is_none());
    format!("{bug:?} {states:?} {}", outcome.exhausted)
}

#[test]
fn random_programs_mean_the_same_to_the_machine_the_reference_and_verify() {
    let mut rng = fastrand::Rng::with_seed(2121);
    let (mut bugs, mut none, mut proved) = (0, 0, [0, 0]);
    for program_number in 0..150 {
        let source = random(&mut rng);
        let (program, id) = (compiled(&source), program_id("random.fab", &source, &[], &[]));
        let (machine, reference) = (Machine::new(&program, Points::All), Reference::new(&program, Points::All));
        let options = Options { bound: Bound::Preemptions, memory: Some(20_000_000), ..Options::default() };
        let (some, all) = (search(&machine, &options), search(&reference, &options));
        if some.cut.is_some_and(Cut::is_final) || all.cut.is_some_and(Cut::is_final) {
            continue;
        }
        assert_eq!(said(&some), said(&all), "{source}");
        // With all that makes it faster, and with the replay of what is found.
        let found = matches!(verdict(&source), Verdict::Bug { .. });
        assert_eq!(found, all.bug.is_some(), "{source}");
        *(if found { &mut bugs } else { &mut none }) += 1;
        if program_number % 5 != 0 {
            continue;
        }
        let rounds = Sequentialization::Rounds(1);
        let (bound, scheduler) = rounds.cost();
        let plan = Plan { bound, scheduler, max: Some(rounds.most()), ..Plan::default() };
        let stop = Arc::new(AtomicBool::new(false));
        let explored = check(&program, &id, &plan, &stop, &|_| {}).expect("the plan is fine").verdict;
        let answer = match prove(&program, &id, &proof_plan(rounds), &stop, &|_| {}) {
            Ok(proof) => proof.report.verdict,
            Err(ProofError::Unsupported(_)) => continue,
            Err(error) => panic!("{error:?}\n{source}"),
        };
        let is_bug = |verdict: &Verdict| matches!(verdict, Verdict::Bug { .. });
        assert_eq!(is_bug(&explored), is_bug(&answer), "{explored:?}\n{answer:?}\n{source}");
        proved[usize::from(is_bug(&answer))] += 1;
    }
    assert!(bugs > 20 && none > 20 && proved.iter().all(|n| *n > 3), "{bugs} {none} {proved:?}");
}

fn proof_plan(sequentialization: Sequentialization) -> ProofPlan {
    ProofPlan {
        sequentialization,
        unwind: Some(6),
        recursion: Some(4),
        tasks: None,
        objects: None,
        incremental: false,
        engine: Engine::Bmc,
        deadlock: true,
        properties: true,
        solver: SolverChoice::Embedded,
        time: None,
        memory: None,
    }
}

#[test]
fn an_entry_of_a_thread_that_has_ended_is_kept() {
    // The numbers of threads are used again, unless somebody knows of them; an entry is enough.
    let source = "var m: map[thread] 0..3; proc p(n: 0..3) { m[self] = n; }
        init { var i: 0..4; while i < 3 { let c = spawn p(1); join c; i = i + 1; } assert (count v in m: v == 1) == 3; }";
    assert_eq!(bug(source), None);
    let forgets = source.replace("join c;", "join c; m[c] = 0;").replace("== 3; }", "== 0; }");
    assert_eq!(bug(&forgets), None);
    let null = bug("var m: map[thread] int; var h: thread; init { m[h] = 1; }").expect("nobody has an entry");
    assert_eq!(null.kind, BugKind::IndexOutOfBounds);
    // More threads than there are entries for.
    let many = "var m: map[thread] bool; proc p() { m[self] = true; }
        init { var i: 0..100; while i < 70 { let c = spawn p(); join c; i = i + 1; } }";
    assert!(matches!(verdict(many), Verdict::Unknown { .. }));
    // A property that holds of the threads that are meant.
    let named = "var x: bool; property set: eventually x under weak fairness of p;
        proc p() { x = true; } proc q() { loop { skip; x = x; } } init { spawn p(); spawn q(); }";
    assert_eq!(bug(named), None);
    assert!(bug(&named.replace("of p;", "of q;")).is_some());
}

#[test]
fn verification_asks_the_entries_of_all_threads_with_init_and_without() {
    let bodies = [
        ("m[self] = 1; assert !(exists v in m: v > 0);", true),
        ("m[self] = 1; assert exists v in m: v > 0;", false),
        ("atomic { m[self] = 2; assert (count v in m: v == 2) < 2; }", true),
        ("atomic { m[self] = 2; assert (count v in m: v == 2) < 3; }", false),
    ];
    for (body, fails) in bodies {
        let count = if body.contains("atomic") { 2 } else { 1 };
        for init in ["", "init { skip; }"] {
            let source = format!("var m: map[thread] int; process p[{count}] {{ {body} }} {init}");
            let (program, id) = (compiled(&source), program_id("map.fab", &source, &[], &[]));
            let plan = proof_plan(Sequentialization::Rounds(1));
            let proof = prove(&program, &id, &plan, &Arc::default(), &|_| {}).expect("an answer");
            let verdict = proof.report.verdict;
            assert_eq!(matches!(verdict, Verdict::Bug { .. }), fails, "{source}: {verdict:?}");
            assert_eq!(bug(&source).is_some(), fails, "{source}");
        }
    }
}

#[test]
fn traces_show_collections_as_what_they_are() {
    let source = "enum Colour { Red, Green } var s: set[Colour]; var b: bag[0..2; 3]; var q: seq[Colour; 2]; var m: map[thread] 0..1;
        process p[1] { s.insert(Green); b.insert(1); b.insert(1); q.push(Red); m[self] = 1; assert q[0] == Green; }";
    let trace = bug(source).expect("it is red");
    let changes = trace.steps.iter().flat_map(|s| &s.actions).flat_map(|a| &a.changes);
    let shown: Vec<String> = changes.map(|c| format!("{}: {} -> {}", c.variable, c.old, c.new)).collect();
    let wanted = ["s: {} -> {Green}", "b: {} -> {1}", "b: {1} -> {1, 1}", "q: [] -> [Red]", "m[p]: 0 -> 1"];
    assert_eq!(shown, wanted);
}
