//! Threads: where their steps begin and end, what they wait for, and what they may choose.

use crate::world::{Choices, World, bug, limit};
use End::{Finished, Point};
use fabius_explore::system::{Access, End, Limit, Snapshot, StepLog, System, end_of};
use fabius_semantics::value::Value;
use fabius_trace::{BugKind, Points};

#[test]
fn a_step_is_one_access_and_the_local_code_after_it() {
    let mut w =
        World::new("var x: int = 3; var y: int = 4; process p[1] { x = x + y; let t = x; let u = t + 1; y = u; }");
    assert_eq!(w.tasks.len(), 1);
    let seen = |w: &World| (w.number("x"), w.number("y"));
    let mut steps = Vec::new();
    while w.exists(0) {
        let end = w.go(0);
        steps.push((end, w.touched(), seen(&w)));
    }
    let (x, y) = (0, 1);
    let expected = vec![
        (Point, vec![(x, 'r', 'd')], (3, 4)),
        (Point, vec![(y, 'r', 'd')], (3, 4)),
        (Point, vec![(x, 'w', 'd')], (7, 4)),
        (Point, vec![(x, 'r', 'd')], (7, 4)),
        (Finished, vec![(y, 'w', 'd')], (7, 8)),
    ];
    assert_eq!(steps, expected);
}

#[test]
fn a_spawned_thread_runs_its_local_prefix_within_the_step_that_spawned_it() {
    let source = "var x: int; proc p(n: int) { var t: int = n; while t < 5 { t = t + 1; } x = t; } \
                  init { spawn p(2); x = 9; }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), Point);
    assert_eq!(w.tasks.len(), 2);
    let (_, task) = w.state.task(w.tasks[1]).expect("it has not finished");
    assert_eq!(task.frames[0].locals[1], Value::Number(5), "the loop is part of the prefix");
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.number("x"), 5);
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.number("x"), 9);
}

#[test]
fn a_thread_without_shared_accesses_is_over_within_the_step_that_spawned_it() {
    let mut w =
        World::new("var x: int; proc p() { var t: int = 1; t = t + 1; } init { let h = spawn p(); join h; x = 1; }");
    assert_eq!(w.go(0), Point);
    assert_eq!(w.log.born, [], "nobody ever schedules it");
    assert!(w.ready(0), "and it can be joined");
    assert_eq!(w.finish(0), [Point, Finished]);
}

#[test]
fn spawns_inside_a_prefix_wait_for_the_prefix_to_come_to_a_point() {
    // `spawn` is visible: the thread stands in front of its own spawn.
    let source = "var x: int; proc q() { x = 2; } proc p() { var t: int = 1; spawn q(); } init { spawn p(); x = 1; }";
    let mut w = World::new(source);
    w.go(0);
    assert_eq!(w.tasks.len(), 2);
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.tasks.len(), 3);
    w.go(2);
    assert_eq!(w.number("x"), 2);
}

#[test]
fn everything_else_is_born_in_the_step_in_which_init_ends() {
    let source = "var x: int; process p[2] { x = 1; } process q[1] { x = 2; } process none[0] { x = 3; } \
                  init { x = 5; x = 6; }";
    let mut w = World::new(source);
    assert_eq!(w.tasks.len(), 1);
    assert_eq!(w.go(0), Point);
    assert_eq!(w.log.born.len(), 0);
    assert_eq!(w.go(0), Finished);
    let born: Vec<(u32, u32, u8)> = w.log.born.iter().map(|b| (b.task, b.buffer, b.level)).collect();
    assert_eq!(born.len(), 3);
    assert!(born.iter().all(|(task, buffer, level)| task == buffer && *level == 0), "threads are buffers of their own");
    let wrote: Vec<i64> = (1..4)
        .map(|t| {
            w.go(t);
            w.number("x")
        })
        .collect();
    assert_eq!(wrote, [1, 1, 2]);
    assert!(w.state.buffers.is_empty());
}

#[test]
fn an_init_of_local_code_is_over_at_once() {
    let mut w = World::new("var x: int; process p[2] { x = 1; } init { var t: int = 0; t = t + 1; }");
    assert_eq!(w.tasks.len(), 2, "only what is unfinished is born");
    assert_eq!(w.finish(1), [Finished]);
    let w = World::new("var x: int; process p[3] { x = 1; }");
    assert_eq!(w.tasks.len(), 3, "without `init` they start at once");
}

#[test]
fn faults_and_choices_before_the_first_point_belong_to_the_initial_state() {
    let start = |source: &str, choices: &[u32]| World::with(source, Points::All, choices);
    let local = "init { var b: bool = *; assert b; }";
    assert_eq!(bug(start(local, &[0]).map(|_| ())), BugKind::Assertion);
    assert_eq!(start(local, &[1]).map(|w| w.asked), Ok(vec![2]));
    assert_eq!(limit(start("init { while true { } }", &[]).map(|_| ())), Limit::EndlessStep);
    let dropped = start("process p[1] { assume false; }", &[]).map(|w| (w.tasks.len(), w.state.buffers.len()));
    assert_eq!(dropped, Ok((0, 0)), "a dropped execution has no tasks");
}

#[test]
fn with_points_at_synchronization_data_accesses_belong_to_the_step_before() {
    let source = "var d: int; sync var s: int; process p[1] { d = 1; s = 1; d = d + 1; d = d + 1; s = 2; d = 9; }";
    let mut all = World::new(source);
    assert_eq!(all.finish(0).len(), 8);
    let mut sync = World::with(source, Points::Sync, &[]).expect("nothing happens at the beginning");
    // What comes before the first point of the thread runs when it is dispatched.
    let mut numbers = Vec::new();
    while sync.exists(0) {
        sync.go(0);
        numbers.push((sync.number("d"), sync.number("s")));
    }
    assert_eq!(numbers, [(1, 0), (3, 1), (9, 2)]);
}

#[test]
fn explicit_interleaving_has_points_at_zield_only() {
    let source = "interleave explicit; var x: int; var y: int; \
                  process p[1] { x = 1; y = 1; zield; x = 2; await x == 2; y = 2; } process q[1] { await y == 1; x = 7; }";
    let mut w = World::new(source);
    assert!(!w.ready(1));
    assert_eq!(w.go(0), Point, "at the zield");
    assert_eq!((w.number("x"), w.number("y")), (1, 1));
    assert!(w.ready(1));
    assert_eq!(w.go(0), Finished, "an await of something true is passed");
    assert_eq!((w.number("x"), w.number("y")), (2, 2));
}

#[test]
fn await_makes_a_thread_wait_and_is_one_step_with_what_follows() {
    let mut w = World::new(
        "var x: int; var y: int; process p[1] { await x == 1 && y == 0; var t: int = 5; y = t; } process q[1] { x = 1; x = 2; }",
    );
    assert!(!w.ready(0));
    assert_eq!(w.reference.next_access(&w.state, w.tasks[0]), None);
    w.go(1);
    assert!(w.ready(0));
    assert_eq!(w.go(0), Point);
    assert_eq!(w.touched(), [(0, 'r', 's'), (1, 'r', 's')], "both in one step");
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.number("y"), 5);
}

#[test]
fn a_thread_that_comes_to_a_false_await_stays_in_front_of_it() {
    let mut w = World::new(
        "interleave explicit; var x: int; process p[1] { x = 1; await x == 2; x = 3; } process q[1] { x = 2; }",
    );
    assert_eq!(w.go(0), Point);
    assert!(!w.ready(0));
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.number("x"), 3);
}

#[test]
fn atomic_is_one_step_with_the_procedures_that_it_calls() {
    let source = "var x: int; var y: int; proc twice() { x = x * 2; y = y + 1; } \
                  process p[1] { atomic { x = 3; twice(); twice(); } y = y + 10; }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), Point);
    assert_eq!((w.number("x"), w.number("y")), (12, 2));
    assert_eq!(w.finish(0), [Point, Finished]);
    assert_eq!(w.number("y"), 12);
}

#[test]
fn an_await_or_join_that_begins_atomic_decides_whether_it_is_enabled() {
    let source = "var m: bool; var x: int; process p[2] { atomic { await !m; m = true; } x = x + 1; m = false; }";
    let mut w = World::new(source);
    assert!(w.ready(0) && w.ready(1));
    assert_eq!(w.go(0), Point);
    assert_eq!(w.number("m"), 1);
    assert!(!w.ready(1), "the test and the assignment are one step");
    w.finish(0);
    assert!(w.ready(1));
    let mut w = World::new(
        "var x: int; proc p() { x = 1; } init { let h = spawn p(); atomic { join h; x = x + 1; x = x * 2; } }",
    );
    w.go(0);
    assert!(!w.ready(0));
    w.go(1);
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.number("x"), 4);
}

#[test]
fn join_waits_for_the_end_of_the_thread() {
    let mut w = World::new("var x: int; proc p() { x = 1; x = 2; } init { let h = spawn p(); join h; join h; x = 7; }");
    w.go(0);
    assert_eq!(w.touched(), [(end_of(w.tasks[1]), 'w', 's')]);
    assert!(!w.ready(0));
    w.go(1);
    assert!(!w.ready(0));
    w.go(1);
    assert!(w.ready(0));
    assert_eq!(w.go(0), Point);
    assert_eq!(w.touched(), [(end_of(w.tasks[1]), 'r', 's')]);
    assert_eq!(w.finish(0), [Point, Finished], "a second join of the same thread goes on at once");
}

#[test]
fn the_number_of_a_finished_thread_is_free_when_no_handle_is_left() {
    let numbers = |first: &str, last: &str| {
        let source = format!("var x: int; proc p() {{ x = 1; }} init {{ {first} x = 2; spawn p(); x = 3; {last} }}");
        let mut w = World::new(&source);
        w.go(0);
        w.finish(1);
        let remembered = w.state.finished.len();
        while w.tasks.len() == 2 {
            w.go(0);
        }
        (remembered, w.tasks[1], w.tasks[2])
    };
    assert_eq!(numbers("spawn p();", ""), (0, 1, 1));
    assert_eq!(numbers("let h = spawn p();", "join h;"), (1, 1, 2), "`h` still names it");
    assert_eq!(numbers("let h = spawn p();", ""), (0, 1, 1), "nobody asks for `h` any more");
}

#[test]
fn choices_are_asked_for_in_order_of_execution() {
    let source = "enum E { A, B, C } var x: int; var e: E; var s: int; \
                  process p[1] { s = 1; var l: int = 2; var t: int = any l..4; var b: bool = *; if * { t = t * 10; } \
                  let one = any 7..7; if b { t = t + one; } x = t; e = *; }";
    let mut w = World::new(source);
    assert_eq!(w.step(0, &[1, 1, 0]), Ok(Point));
    assert_eq!(w.asked, [3, 2, 2], "a single alternative is not asked for");
    w.go(0);
    assert_eq!(w.number("x"), 37, "for a value index 0 is the least one, for a guard it is `true`");
    assert_eq!(w.step(0, &[2]), Ok(Finished));
    assert_eq!(w.asked, [3]);
    assert_eq!(w.number("e"), 2);
}

#[test]
fn choose_takes_one_of_its_blocks() {
    let source = "var x: int; var s: int; process p[1] { s = 1; choose { x = 1; } or { x = 2; } or { x = 3; } }";
    for (choices, x) in [(&[0][..], 1), (&[1], 2), (&[2], 3)] {
        let mut w = World::new(source);
        assert_eq!(w.step(0, choices), Ok(Point));
        assert_eq!(w.finish(0), [Finished]);
        assert_eq!(w.number("x"), x);
    }
}

#[test]
fn assume_and_empty_choices_drop_the_execution() {
    let mut w = World::new("var x: int; process p[1] { x = 1; assume x == 2; x = 3; }");
    w.go(0);
    assert_eq!(w.go(0), End::Dropped);
    let mut w = World::new("var x: int; process p[1] { x = 1; var lo: int = 3; let t = any lo..2; x = t; }");
    assert_eq!(w.go(0), End::Dropped);
    let mut w = World::new("var x: int; process p[1] { x = 1; assume x == 1; x = 3; }");
    assert_eq!(w.finish(0).len(), 3);
}

#[test]
fn per_thread_variables_are_local_and_everybody_has_a_copy() {
    let source = "thread var mine: int = 4; var x: int; \
                  process p[2] { mine = mine + 1; x = x + mine; mine = mine + 1; x = x + mine; }";
    let mut w = World::new(source);
    w.finish(0);
    assert_eq!(w.number("x"), 11);
    assert_eq!(w.finish(1).len(), 4, "accesses to `mine` are no points");
    assert_eq!(w.number("x"), 22);
}

#[test]
fn atomic_operations_are_one_step() {
    let source = "var x: int = 3; var b: bool; var y: int; \
                  process p[1] { let a = cas(x, 3, 5); let c = cas(x, 3, 9); let d = fetch_add(x, 2); let e = exchange(x, 1); \
                  b = a && !c; y = d * 10 + e; }";
    let mut w = World::new(source);
    let steps = w.finish(0);
    assert_eq!(steps.len(), 6);
    assert_eq!((w.number("b"), w.number("y"), w.number("x")), (1, 57, 1));
}

#[test]
fn a_set_of_threads_gives_any_of_its_members() {
    let source = "var m: lock; var c: condition; var woken: int; \
                  process p[3] { m.acquire(); c.wait(m); woken = woken + 1; m.release(); } \
                  process q[1] { m.acquire(); c.notify_one(); m.release(); }";
    for chosen in 0..3 {
        let mut w = World::new(source);
        for t in 0..3 {
            while w.ready(t)
                && !matches!(w.global("c"), Value::Tuple(v) if matches!(&v[0], Value::Set(s) if s.contains(&w.tasks[t])))
            {
                w.go(t);
            }
        }
        assert!((0..3).all(|t| !w.ready(t)), "all wait");
        w.go(3);
        assert_eq!(w.step(3, &[chosen]), Ok(Point));
        assert_eq!(w.asked, [3]);
        w.go(3);
        let ready: Vec<usize> = (0..3).filter(|t| w.ready(*t)).collect();
        assert_eq!(ready, [chosen as usize], "members in increasing order");
    }
}

#[test]
fn misuse_of_the_library_is_a_bug_of_its_own() {
    let mut w = World::new("var m: lock; process p[1] { m.release(); }");
    assert_eq!(bug(w.step(0, &[])), BugKind::SyncMisuse);
}

#[test]
fn accesses_name_parts_of_variables_and_of_objects() {
    let source = "record N { a: int, sync s: int, next: ref N } var g: [int; 4]; var h: ref N; data var d: bool; \
                  process p[1] { g[2] = 1; h = new N { }; h.s = 1; d = true; }";
    let source = source.replace("sync s", "s");
    let mut w = World::new(&source);
    assert_eq!(w.reference.next_access(&w.state, w.tasks[0]).map(|a| (a.variable, a.write)), Some((2, true)));
    let mut touched = Vec::new();
    while w.exists(0) {
        let next = w.reference.next_access(&w.state, w.tasks[0]);
        w.go(0);
        assert_eq!(next, w.log.accesses.first().copied());
        touched.extend(w.touched());
    }
    let fields = touched.iter().filter(|(v, ..)| *v >= 1 << 62).count();
    assert_eq!(fields, 1, "one field of one object: {touched:?}");
    let globals: Vec<u64> = touched.iter().map(|(v, ..)| *v).filter(|v| *v < 1 << 62).collect();
    assert_eq!(globals, [2, 4, 4, 5]);
}

#[test]
fn parts_are_numbered_one_after_the_other_and_fields_of_objects_have_classes() {
    let source = "record R { a: int, b: [int; 2] } record N { d: int, s: int } var g: [R; 3]; var h: ref N = null; \
                  process p[1] { g[2].b[1] = 1; g[1].a = 1; let n = new N { }; n.d = 1; n.s = 1; \
                  atomic { n.s = 2; } let r = g[1]; }";
    let mut w = World::new(source);
    let mut touched = Vec::new();
    while w.exists(0) {
        w.go(0);
        touched.extend(w.touched());
    }
    let object = 1 << 62;
    let expected = [(8, 'w', 'd'), (3, 'w', 'd'), (object, 'w', 'd'), (object + 1, 'w', 's'), (object + 1, 'w', 's')];
    assert_eq!(touched[..5], expected);
    assert_eq!(touched[5..], [(3, 'r', 'd'), (4, 'r', 'd'), (5, 'r', 'd')], "a record is read part by part");
}

#[test]
fn both_branches_lead_to_the_same_control_point() {
    let source = "var x: int; process p[1] { x = 0; if * { x = 1; } else { x = 1; } while x < 2 { x = 2; } x = 3; }";
    let [mut a, mut b] = [World::new(source), World::new(source)];
    assert_eq!(a.step(0, &[0]), b.step(0, &[1]));
    assert_ne!(a.encoded(), b.encoded());
    while a.exists(0) {
        assert_eq!(a.go(0), b.go(0));
        assert_eq!(a.encoded(), b.encoded());
    }
}

#[test]
fn an_object_that_is_lost_leaves_its_number_at_the_end_of_the_step() {
    let mut w = World::new(
        "record N { a: int } var h: ref N; process p[1] { atomic { h = new N { }; h = null; h = new N { }; } h = new N { }; }",
    );
    w.go(0);
    assert_eq!(w.log.fresh.len(), 2);
    let first = w.log.fresh[0].clone();
    assert_ne!(w.log.fresh[1], first);
    assert_eq!(w.state.heap.len(), 1);
    w.go(0);
    assert_eq!(w.log.fresh, [first]);
}

#[test]
fn a_new_object_says_that_its_variables_are_fresh() {
    let mut w = World::new(
        "record N { a: int } var h: ref N; process p[1] { h = new N { }; h.a = 1; h = null; h = new N { }; h.a = 2; }",
    );
    let mut fresh = Vec::new();
    while w.exists(0) {
        w.go(0);
        fresh.extend(w.log.fresh.clone());
    }
    assert_eq!(fresh.len(), 2);
    assert_eq!(fresh[0], fresh[1], "the number of an object that is gone is used again");
}

#[test]
fn states_that_differ_in_garbage_only_are_equal() {
    let source = "record N { a: int, next: ref N } var h: ref N; var x: int; process p[1] { if * { h = new N { a: 1 }; \
                  h = new N { a: 2, next: h }; h = null; } else { x = 0; } x = 1; x = 2; }";
    let mut w = World::with(source, Points::All, &[0]).expect("nothing goes wrong");
    let mut v = World::with(source, Points::All, &[1]).expect("nothing goes wrong");
    while w.number("x") == 0 {
        w.go(0);
    }
    while v.number("x") == 0 {
        v.go(0);
    }
    assert!(w.state.heap.is_empty());
    let mut locals_differ = w.state.clone();
    locals_differ.buffers.clone_from(&v.state.buffers);
    let mut out = Vec::new();
    w.reference.encode(&locals_differ, &mut out);
    assert_eq!(out, v.encoded());
}

#[test]
fn a_state_comes_back_from_its_encoding() {
    let source = "record N { a: u64, next: ref N } thread var t: i8 = -3; var h: ref N; var m: lock; var k: thread; \
                  proc p(n: int) { h = new N { a: 0 - 1, next: h }; m.acquire(); k = self; t = t - 1; } \
                  init { let a = spawn p(1); let b = spawn p(2); join a; join b; }";
    let source = source.replace("0 - 1", "18446744073709551615");
    let mut w = World::new(&source);
    let mut log = StepLog::default();
    let mut other = w.reference.initial(&mut Choices::new(&[]), &mut log).expect("nothing goes wrong");
    for t in [0, 0, 1, 2, 1, 2, 1, 1] {
        w.go(t);
        w.reference.decode(&w.encoded(), &mut other);
        assert_eq!(other.buffers, w.state.buffers);
        assert_eq!((&other.globals, &other.heap), (&w.state.globals, &w.state.heap));
        assert_eq!((&other.finished, other.started), (&w.state.finished, w.state.started));
    }
}

#[test]
fn progress_is_reported_in_the_step_that_passes_it() {
    let mut w = World::new("var x: int; process p[1] { x = 1; progress; x = 2; }");
    w.go(0);
    assert!(w.log.progress);
    w.go(0);
    assert!(!w.log.progress);
}

#[test]
fn print_and_skip_change_nothing() {
    let mut w = World::new("var x: int; var y: int; process p[1] { skip; print(x, y); skip; x = 1; }");
    let before = w.state.globals.clone();
    assert_eq!(w.go(0), Point);
    assert_eq!(w.state.globals, before);
    assert_eq!(w.log.accesses.iter().map(|a: &Access| a.variable).collect::<Vec<_>>(), [0, 1], "in one step");
    assert_eq!(w.go(0), Finished);
}

#[test]
fn a_fault_is_reported_with_its_place() {
    let source = "var x: int; process p[1] { x = 1; assert x == 2; }";
    let mut w = World::new(source);
    w.go(0);
    match w.step(0, &[]) {
        Err(fabius_explore::system::Fault::Bug(BugKind::Assertion, span)) => {
            assert_eq!(span.text(source).trim_end_matches(';'), "assert x == 2");
        }
        other => panic!("{other:?}"),
    }
}
