//! Replay: what a schedule tells, and where it departs from the rules.

use crate::world::{World, compiled};
use fabius_semantics::{Departure, Ending, Settings, replay};
use fabius_trace::{
    Action, Bound, BugKind, Change, ErrorTrace, LaneKind, Mark, Points, ProgramId, SchedulerKind, Scope, Turn,
};

fn settings(ending: Ending) -> Settings {
    Settings {
        points: Points::All,
        bound: Bound::Preemptions,
        scheduler: SchedulerKind::Bag,
        cost: 1,
        delays: Vec::new(),
        ending,
    }
}

fn turn(task: u32, choices: &[u32]) -> Turn {
    Turn { task, choices: choices.to_vec() }
}

fn run(source: &str, turns: &[Turn], ending: Ending) -> Result<ErrorTrace, Departure> {
    let id = ProgramId {
        file: "p.fab".into(),
        hash: "0".into(),
        consts: Vec::new(),
        instances: Vec::new(),
        args: Vec::new(),
    };
    replay(&compiled(source), &id, &turns.to_vec(), &settings(ending))
}

/// Turns without choices.
fn turns(tasks: &[u32]) -> Vec<Turn> {
    tasks.iter().map(|t| turn(*t, &[])).collect()
}

fn shown(source: &str, tasks: &[u32], ending: Ending) -> ErrorTrace {
    run(source, &turns(tasks), ending).unwrap_or_else(|d| panic!("{d:?}"))
}

fn departs(source: &str, tasks: &[u32], ending: Ending) -> (usize, String) {
    match run(source, &turns(tasks), ending) {
        Err(Departure { turn, reason }) => (turn, reason),
        Ok(trace) => panic!("it does not depart: {}", trace.message),
    }
}

fn actions(trace: &ErrorTrace) -> impl Iterator<Item = &Action> {
    trace.steps.iter().flat_map(|s| &s.actions)
}

/// All changes of a variable, as `old -> new`.
fn changes(trace: &ErrorTrace, variable: &str) -> Vec<String> {
    let all = actions(trace).flat_map(|a| &a.changes);
    all.filter(|c| c.variable == variable).map(|c| format!("{} -> {}", c.old, c.new)).collect()
}

const LOST: &str = "const N = 2;
var x: int = 0;
proc add() { x = x + 1; }
init {
    let a = spawn add();
    let b = spawn add();
    join a;
    join b;
    assert x == N;
}
";

#[test]
fn a_lost_update_step_by_step() {
    let trace = shown(LOST, &[0, 0, 1, 2, 2, 1, 0, 0, 0], Ending::Fault);
    assert_eq!(trace.kind, BugKind::Assertion);
    assert_eq!(trace.message, "assertion failed: `x == N` (`x` is 1)");
    assert_eq!(trace.span.text(LOST).trim_end_matches(';'), "assert x == N");
    assert_eq!((trace.bound, trace.cost, trace.cycle), (Bound::Preemptions, 1, None));
    let lanes: Vec<&str> = trace.lanes.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(lanes, ["init", "add#1", "add#2"]);
    assert!(trace.lanes.iter().all(|l| l.kind == LaneKind::Thread));
    let columns: Vec<u32> = trace.steps.iter().map(|s| s.lane).collect();
    assert_eq!(columns, [0, 0, 1, 2, 2, 1, 0, 0, 0]);
    let marks: Vec<Option<Mark>> = trace.steps.iter().map(|s| s.mark).collect();
    let (p, s) = (Some(Mark::Preemption), Some(Mark::Switch));
    assert_eq!(marks, [None, None, s, p, None, s, s, None, None]);
    assert_eq!(changes(&trace, "x"), ["0 -> 1"], "the second store changes nothing");
    let first = &trace.steps[2].actions[0];
    assert_eq!((first.text.as_str(), first.at.line, first.at.column), ("x", 3, 18));
    assert_eq!(first.stack, ["add"]);
    assert_eq!(trace.steps[5].actions[0].text, "x = x + 1");
    assert_eq!(trace.schedule(), turns(&[0, 0, 1, 2, 2, 1, 0, 0, 0]));
    let again = run(LOST, &trace.schedule(), Ending::Fault);
    assert_eq!(again, Ok(trace), "a trace replays to itself");
}

#[test]
fn delays_of_the_caller_are_the_marks() {
    let id = ProgramId {
        file: "p.fab".into(),
        hash: "0".into(),
        consts: Vec::new(),
        instances: Vec::new(),
        args: Vec::new(),
    };
    let settings = Settings { delays: vec![0, 0, 2], bound: Bound::Delays, ..settings(Ending::Fault) };
    let schedule = turns(&[0, 0, 1, 2, 2, 1, 0, 0, 0]);
    let trace = replay(&compiled(LOST), &id, &schedule, &settings).unwrap_or_else(|d| panic!("{d:?}"));
    assert_eq!(trace.steps[2].mark, Some(Mark::Delay(2)));
    assert_eq!(trace.steps[3].mark, Some(Mark::Preemption));
}

#[test]
fn variables_have_the_names_and_values_of_the_source() {
    let source = "enum Colour { Red, Green }
record Node { value: u64 = 0, next: ref Node }
var a: [Node; 3];
var c: Colour;
var head: ref Node;
var h: thread;
var m: map[Colour] bool;
proc twice(n: int) -> int { return n * 2; }
proc work(k: int) {
    var t: int = 0;
    c = Green;
    t = twice(k);
    a[k].value = 18446744073709551615;
    m[Green] = true;
    head = new Node { value: 7 };
    a[2].next = head;
    print(t, c, h, head);
    c = Red;
    c = Green;
    { var t: int = 1; t = t + 1; }
}
init {
    h = spawn work(1);
    join h;
    assert c == Red, \"colours\";
}
";
    let trace = shown(source, &[0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0], Ending::Fault);
    assert_eq!(changes(&trace, "c"), ["Red -> Green", "Green -> Red", "Red -> Green"]);
    assert_eq!(changes(&trace, "a[1].value"), ["0 -> 18446744073709551615"]);
    assert_eq!(changes(&trace, "m[Green]"), ["false -> true"]);
    assert_eq!(changes(&trace, "head"), ["null -> Node@0"]);
    assert_eq!(changes(&trace, "a[2].next"), ["null -> Node@0"]);
    assert_eq!(changes(&trace, "h"), ["null -> work"], "the only one of its name");
    assert_eq!(changes(&trace, "t"), ["0 -> 2", "0 -> 1", "1 -> 2"], "also what a return stores; two variables `t`");
    let notes: Vec<&str> = actions(&trace).filter_map(|a| a.note.as_deref()).collect();
    assert_eq!(notes, ["printed (2, Green, work, Node@0)"]);
    let inner = actions(&trace).find(|a| a.text == "return n * 2").expect("the call is told");
    assert_eq!(inner.stack, ["work", "twice"]);
    assert_eq!(
        inner.changes,
        [Change { variable: "t".into(), scope: Scope::Frame(0), old: "0".into(), new: "2".into() }]
    );
    assert_eq!(trace.message, "assertion failed: colours: `c == Red` (`c` is Green)");
}

#[test]
fn text_is_on_one_line() {
    let source = "var x: int;\nprocess p[1] {\n    x = 1\n        + 2;\n    if x\n        == 3 {\n        assert false;\n    }\n}\n";
    let trace = shown(source, &[0, 0], Ending::Fault);
    let texts: Vec<&str> = actions(&trace).map(|a| a.text.as_str()).collect();
    assert_eq!(texts, ["x = 1 + 2", "if x == 3", "assert false"]);
    assert_eq!(trace.lanes[0].name, "p");
}

#[test]
fn messages_of_all_faults() {
    let d = "record R { f: int } var x: 0..3; var a: [int; 2]; var r: ref R; var z: int; var m: lock; var i: int = 2; \
             const T = [1, 2];";
    let cases = [
        ("x = 4;", 1, BugKind::RangeOverflow, "a value outside the range of its variable: `x = 4`"),
        ("a[i] = 1;", 2, BugKind::IndexOutOfBounds, "index out of bounds: `a[i]` (`i` is 2"),
        ("r.f = 1;", 2, BugKind::NullDereference, "`null` has no fields and no end: `r.f` (`r` is null"),
        ("let j = z + 1; assert T[j] == 1;", 1, BugKind::Assertion, "assertion failed: `T[j] == 1` (`j` is 1)"),
        ("let t = 1 / z;", 1, BugKind::DivisionByZero, "division by zero"),
        (
            "m.release();",
            1,
            BugKind::SyncMisuse,
            "misuse of a synchronization object: a lock is released by its holder",
        ),
        (
            "assert z == 1 && i == 2, \"why\";",
            1,
            BugKind::Assertion,
            "assertion failed: why: `z == 1 && i == 2` (`z` is 0, `i` is 2)",
        ),
    ];
    for (body, steps, kind, message) in cases {
        let source = format!("{d} process p[1] {{ {body} }}");
        let at_most = (1..=steps).find_map(|n| run(&source, &turns(&vec![0; n]), Ending::Fault).ok());
        let trace = at_most.unwrap_or_else(|| panic!("{body}: {:?}", departs(&source, &vec![0; steps], Ending::Fault)));
        assert_eq!(trace.kind, kind, "{body}");
        assert!(trace.message.starts_with(message), "{}", trace.message);
    }
}

const LOCKS: &str = "var a: lock;
var b: lock;
proc p() { a.acquire(); b.acquire(); b.release(); a.release(); }
proc q() { b.acquire(); a.acquire(); a.release(); b.release(); }
init { spawn p(); spawn q(); }
";

#[test]
fn a_deadlock_says_who_waits_where() {
    let trace = shown(LOCKS, &[0, 0, 1, 2], Ending::Deadlock);
    assert_eq!(trace.kind, BugKind::Deadlock);
    assert_eq!(trace.message, "deadlock: p waits at 3:25, q waits at 4:25");
    assert_eq!(trace.span.text(LOCKS).trim_end_matches(';'), "b.acquire()");
    let (turn, reason) = departs(LOCKS, &[0, 0, 1], Ending::Deadlock);
    assert_eq!((turn, reason.as_str()), (3, "p can still go on"));
    let done = "var x: int; process p[1] { x = 1; }";
    let (turn, reason) = departs(done, &[0], Ending::Deadlock);
    assert_eq!((turn, reason.as_str()), (1, "all have finished, or may stay where they are: there is no deadlock"));
}

#[test]
fn a_turn_that_the_rules_do_not_allow_is_a_departure() {
    let fault = |tasks: &[u32]| departs(LOST, tasks, Ending::Fault);
    assert_eq!(fault(&[0, 2]), (1, "there is no task 2 yet".into()));
    assert_eq!(fault(&[0, 0, 1, 1, 1]), (4, "task 1 has finished".into()));
    assert_eq!(fault(&[0, 0, 0]), (2, "init waits and cannot go on".into()));
    assert_eq!(fault(&[0, 0, 1]), (3, "the schedule ends without the bug".into()));
    assert_eq!(fault(&[Turn::START - 1]).0, 0);
    let (turn, reason) = fault(&[0, 0, 1, 2, 2, 1, 0, 0, 0, 0]);
    assert_eq!(turn, 8);
    assert!(reason.ends_with("but the schedule goes on"), "{reason}");
    let (turn, reason) = departs(LOST, &[0, 0, 1, 2, 2, 1, 0, 0, 0], Ending::Deadlock);
    assert_eq!(turn, 8);
    assert!(reason.ends_with("which is not what the trace claims"), "{reason}");
    let right = [0, 0, 1, 1, 2, 2, 0, 0, 0];
    assert_eq!(departs(LOST, &right, Ending::Fault), (9, "the schedule ends without the bug".into()));
}

#[test]
fn the_choices_must_be_those_that_are_asked_for() {
    let source = "var x: int; process p[1] { x = 1; let t = any 1..3; assert t != 2; }";
    let with = |choices: &[u32]| run(source, &[turn(0, choices)], Ending::Fault).map_err(|d| d.reason);
    assert!(with(&[1]).is_ok_and(|t| t.message == "assertion failed: `t != 2` (`t` is 2)"));
    assert_eq!(with(&[0]).unwrap_err(), "the schedule ends without the bug");
    assert_eq!(with(&[3]).unwrap_err(), "choice 3 is not one of 3 alternatives");
    assert_eq!(with(&[]).unwrap_err(), "a choice of 3 alternatives is not in the schedule");
    assert_eq!(with(&[1, 0]).unwrap_err(), "1 choices are left over");
    let note = "var x: int; process p[1] { x = 1; if * { x = 2; } assert x == 1; }";
    let trace = run(note, &[turn(0, &[0]), turn(0, &[]), turn(0, &[])], Ending::Fault);
    let trace = trace.unwrap_or_else(|d| panic!("{d:?}"));
    assert!(actions(&trace).any(|a| a.note.as_deref() == Some("chose true")));
}

#[test]
fn a_first_turn_holds_the_choices_before_the_first_point() {
    let source = "var x: int; process p[1] { let t = any 1..3; x = t; assert x != 2; }";
    let start = |choices: &[u32]| turn(Turn::START, choices);
    let [a, b] = [turn(0, &[]), turn(0, &[])];
    let trace = run(source, &[start(&[1]), a.clone(), b.clone()], Ending::Fault).unwrap_or_else(|d| panic!("{d:?}"));
    assert_eq!(trace.steps.len(), 3);
    assert_eq!(run(source, &trace.schedule(), Ending::Fault).as_ref(), Ok(&trace));
    let reason = |turns: &[Turn]| run(source, turns, Ending::Fault).map_err(|d| (d.turn, d.reason)).unwrap_err();
    assert_eq!(reason(&[a.clone(), b.clone()]), (0, "a choice of 3 alternatives is not in the schedule".into()));
    assert_eq!(reason(&[start(&[1, 1]), a.clone()]), (0, "1 choices are left over".into()));
    assert_eq!(reason(&[start(&[1]), start(&[]), a.clone()]).0, 1);
    let at_once = "process p[1] { if * { assert false; } }";
    assert!(run(at_once, &[start(&[0])], Ending::Fault).is_ok());
    let wrong = |turns: &[Turn], ending| run(at_once, turns, ending).map_err(|d| d.turn);
    assert_eq!(wrong(&[start(&[0])], Ending::Deadlock), Err(0));
    assert_eq!(wrong(&[start(&[0]), a], Ending::Fault), Err(0));
    assert_eq!(wrong(&[start(&[1])], Ending::Fault), Err(1));
    let dropped = run("process p[1] { assume false; }", &[], Ending::Fault);
    assert_eq!(dropped.map_err(|d| d.turn), Err(0));
}

#[test]
fn dropped_executions_and_limits_are_no_bugs() {
    let source = "var x: int; process p[1] { x = 1; assume x == 2; x = 3; }";
    let (turn, reason) = departs(source, &[0, 0], Ending::Fault);
    assert_eq!((turn, reason.as_str()), (1, "an assumption fails, which drops the execution"));
    let endless = "var x: int; process p[1] { x = 1; while true { } }";
    let (turn, reason) = departs(endless, &[0], Ending::Fault);
    assert_eq!((turn, reason.as_str()), (0, "a limit is hit: EndlessStep"));
}

#[test]
fn tasks_in_buffers_have_names_and_levels() {
    let source = "level LOW < HIGH; var x: int; proc h() { x = x + 1; } proc t() { yield; assert x == 0; } \
                  buffer cpu { post t(); post t(); post @HIGH h(); x = 2; }";
    let trace = shown(source, &[0, 3, 0, 2, 1, 1], Ending::Fault);
    assert_eq!(trace.lanes.len(), 1);
    assert_eq!((trace.lanes[0].name.as_str(), trace.lanes[0].kind), ("cpu", LaneKind::Buffer));
    let names: Vec<&str> = trace.steps.iter().filter_map(|s| s.task_name.as_deref()).collect();
    assert_eq!(names, ["cpu", "h", "cpu", "t#2", "t#1", "t#1"]);
    assert_eq!(trace.steps[1].mark, Some(Mark::Interrupt));
    let (turn, reason) = departs(source, &[0, 0], Ending::Fault);
    assert_eq!((turn, reason.as_str()), (1, "a task of a higher level runs before cpu"));
    let (turn, reason) = departs(source, &[0, 1], Ending::Fault);
    assert_eq!((turn, reason.as_str()), (1, "a task of a higher level runs before t#1"));
}

#[test]
fn another_buffer_goes_on_only_where_control_is_handed_over() {
    let source = "interleave explicit; var x: int; proc t() { x = 3; } \
                  buffer b { x = 1; yield; x = 2; zield; post t(); } buffer c { assert x == 2; x = 5; zield; assert x == 5; }";
    assert!(departs(source, &[1], Ending::Fault).1.ends_with("is not on the buffer that begins"));
    let (turn, reason) = departs(source, &[0, 1], Ending::Fault);
    assert_eq!(turn, 1);
    assert_eq!(reason, "c is on another buffer, and b has not given up control");
    assert_eq!(departs(source, &[0, 0, 0, 1], Ending::Fault).0, 3, "its posted task has control");
    let trace = shown(source, &[0, 0, 1, 0, 2, 1], Ending::Fault);
    assert_eq!(trace.message, "assertion failed: `x == 5` (`x` is 3)");
}

#[test]
fn a_race_names_both_accesses() {
    let source = "data var d: int;\nsync var s: int;\nprocess p[2] { s = 1; d = 1; s = 2; }\n";
    let at = |points, schedule: &[u32]| {
        let id = ProgramId {
            file: "p.fab".into(),
            hash: "0".into(),
            consts: Vec::new(),
            instances: Vec::new(),
            args: Vec::new(),
        };
        let settings = Settings { points, ..settings(Ending::Race) };
        replay(&compiled(source), &id, &turns(schedule), &settings)
    };
    // The second thread's step to `s` follows the first one's `d` unordered only if nothing lies between.
    let trace = at(Points::All, &[0, 1, 0, 1]).unwrap_or_else(|d| panic!("{d:?}"));
    assert_eq!(trace.kind, BugKind::DataRace);
    assert_eq!(trace.message, "data race on `d`: nothing orders p#1 at 3:23 and p#2 at 3:23");
    let ordered = at(Points::All, &[0, 0, 0, 1, 1, 1]).map_err(|d| d.reason);
    assert_eq!(ordered.unwrap_err(), "the schedule ends without a data race");
    let further = at(Points::All, &[0, 1, 0, 1, 1]).map_err(|d| (d.turn, d.reason));
    assert_eq!(further.unwrap_err(), (3, "there is a data race, but the schedule goes on".into()));
}

#[test]
fn a_livelock_is_a_fair_cycle_without_progress() {
    let source = "var a: bool; var b: bool; \
                  process p[2] { while true { atomic { await !a; b = !b; } atomic { await b || !b; b = !b; } } }";
    let cycle = |tasks: &[u32], from| run(source, &turns(tasks), Ending::Livelock(from)).map_err(|d| d.reason);
    let trace = cycle(&[0, 0, 1, 1], 0).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!((trace.kind, trace.cycle), (BugKind::Livelock, Some(0)));
    assert_eq!(trace.message, "livelock: p#1, p#2 go on for ever without progress");
    assert!(cycle(&[0, 1, 0, 1], 0).is_ok());
    assert_eq!(cycle(&[0, 0, 1, 1, 0, 0, 1, 1], 4).map(|t| t.cycle), Ok(Some(4)));
    assert_eq!(cycle(&[0, 0], 0).unwrap_err(), "the cycle is not fair: p#2 could always go on");
    assert_eq!(cycle(&[0, 1, 0], 0).unwrap_err(), "the schedule does not end where its cycle begins");
    assert_eq!(cycle(&[0, 0, 1, 1], 4).unwrap_err(), "the schedule ends before its cycle begins");
    let progresses = source.replacen("atomic {", "progress; atomic {", 1);
    let reason = run(&progresses, &turns(&[0, 0, 1, 1]), Ending::Livelock(0)).map_err(|d| d.reason);
    assert_eq!(reason.unwrap_err(), "there is progress in the cycle");
    // Who has to wait in some state of the cycle is not treated unfairly.
    let turned_away = "var busy: bool; process p[1] { while true { busy = true; busy = false; } } process q[1] { await !busy; await false; }";
    assert!(run(turned_away, &turns(&[0, 0]), Ending::Livelock(0)).is_ok());
}

#[test]
fn a_violation_of_a_property_is_a_fair_cycle_or_an_end() {
    let program = |property: &str| {
        format!(
            "var x: 0..2; var b: bool; process p[1] {{ while true {{ b = !b; }} }} process q[1] {{ x = 1; x = 2; }} \
             property wanted: {property};"
        )
    };
    let said = |property: &str, tasks: &[u32], cycle| {
        let ending = Ending::Property { number: 0, cycle };
        run(&program(property), &turns(tasks), ending).map(|t| (t.cycle, t.message)).map_err(|d| d.reason)
    };
    // Each round of `p` is two steps: it reads `b`, and writes it.
    let violated = |what: &str| Ok::<_, String>(format!("property `wanted` is violated: {what}; p goes on for ever"));
    let message = |said: Result<(Option<u32>, String), String>| said.map(|(_, message)| message);
    let alone = said("eventually x == 1 without fairness", &[0, 0, 0, 0], Some(0));
    assert_eq!(alone.as_ref().map(|(cycle, _)| *cycle), Ok(Some(0)));
    assert_eq!(message(alone), violated("`x == 1` never holds"));
    let unfair = message(said("eventually x == 1", &[0, 0, 0, 0], Some(0)));
    assert_eq!(unfair, Err("the cycle is not fair: q could always go on".into()));
    let strongly = message(said("eventually x == 1 under strong fairness", &[0, 0, 0, 0], Some(0)));
    assert_eq!(strongly, Err("the cycle is not fair: q could again and again go on".into()));
    let open = message(said("eventually x == 1 without fairness", &[0, 0], Some(0)));
    assert_eq!(open, Err("the schedule does not end where its cycle begins".into()));
    let both = [1, 1, 0, 0, 0, 0];
    assert_eq!(
        message(said("eventually x == 1", &both, Some(2))),
        Err("the execution satisfies property `wanted`".into())
    );
    assert_eq!(
        message(said("always eventually x == 1", &both, Some(2))),
        violated("from some step on `x == 1` never holds")
    );
    assert_eq!(
        message(said("x == 1 leads to x == 0", &both, Some(2))),
        violated("`x == 1` holds, and `x == 0` never after it")
    );
    assert_eq!(message(said("eventually always b", &both, Some(2))), violated("`b` does not hold for good"));
    assert_eq!(message(said("always eventually x == 1", &both, None)), Err("somebody can still go on".into()));
    // What begins in the middle of the cycle begins again in its next round.
    let inside = message(said("x == 2 && b leads to x == 2 && !b", &both, Some(2)));
    assert_eq!(inside, Err("the execution satisfies property `wanted`".into()));
    let ends = "var x: 0..2; process p[1] { x = 1; x = 2; } property wanted: always eventually x == 1;";
    let ended = |tasks: &[u32]| run(ends, &turns(tasks), Ending::Property { number: 0, cycle: None });
    let trace = ended(&[0, 0]).unwrap_or_else(|d| panic!("{d:?}"));
    assert_eq!((trace.kind, trace.property.as_deref()), (BugKind::Liveness, Some("wanted")));
    assert_eq!(ended(&[0]).unwrap_err().reason, "somebody can still go on");
    let other = run(ends, &turns(&[0, 0]), Ending::Property { number: 1, cycle: None });
    assert_eq!(other.unwrap_err().reason, "there is no such property");
}

#[test]
fn a_race_on_a_part_is_named_with_the_part() {
    let source = "record R { f: int, g: [int; 2] } data var r: R; process p[2] { r.g[1] = 1; }";
    let trace = shown(source, &[0, 1], Ending::Race);
    assert!(trace.message.starts_with("data race on `r.g[1]`"), "{}", trace.message);
}

#[test]
fn two_threads_on_their_own_lanes_keep_their_columns_when_numbers_are_used_again() {
    let source = "var x: int; proc p() { x = x + 1; } init { spawn p(); x = 0; spawn p(); assert x == 9; }";
    let trace = shown(source, &[0, 1, 1, 0, 0, 2, 0], Ending::Fault);
    let w = World::new(source);
    assert_eq!(w.tasks.len(), 1);
    let lanes: Vec<&str> = trace.lanes.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(lanes, ["init", "p#1", "p#2"]);
    assert_eq!(trace.steps.iter().map(|s| s.lane).collect::<Vec<_>>(), [0, 1, 1, 0, 0, 2, 0]);
}

#[test]
fn who_stands_in_a_queue_runs_in_its_order() {
    let source = "var x: int; proc t(n: int) { x = x + n; } buffer b fifo { post t(1); post t(2); x = 9; } process p[1] { x = 0; }";
    // After so many steps of who posts.
    let too_early =
        |source: &str, steps: usize| departs(source, &[vec![0; steps], vec![3]].concat(), Ending::Deadlock).1;
    let in_line = "a task that came earlier runs before t#2";
    assert_eq!((1..5).filter(|n| too_early(source, *n) == in_line).count(), 1);
    assert_eq!((1..5).filter(|n| too_early(&source.replace("fifo ", ""), *n) == in_line).count(), 0);
}

#[test]
fn records_inside_of_others_are_shown_with_the_names_of_their_fields() {
    let source =
        "record P { a: int, b: bool } var s: seq[P; 2]; process w[1] { s.push(P { a: 1, b: true }); assert false; }";
    let trace = (1..9).find_map(|n| run(source, &turns(&vec![0; n]), Ending::Fault).ok()).expect("it fails at last");
    assert_eq!(changes(&trace, "s"), ["[] -> [P { a: 1, b: true }]"]);
}
