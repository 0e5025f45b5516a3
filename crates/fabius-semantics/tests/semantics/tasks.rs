//! Tasks in buffers: posts, yields, levels, interrupts, waiting.
//!
//! Papers: Delay-Bounded Scheduling (POPL 2011), section 3; Asynchronous Programs with Prioritized Task-Buffers
//! (MSR-TR-2012-1), section 3.

use crate::world::{World, bug};
use End::{Finished, Interrupted, Point, Wait, Yield};
use fabius_explore::system::{ANONYMOUS, DECLARED_BUFFER, End, Snapshot};
use fabius_semantics::rules::may_dispatch;
use fabius_trace::BugKind;

#[test]
fn a_posted_task_runs_not_before_it_is_dispatched() {
    let mut w = World::new("var x: int; proc t(n: int) { x = n; } buffer b { post t(1); post t(2); x = 9; }");
    assert_eq!(w.tasks.len(), 1);
    assert_eq!(w.state.buffers[&DECLARED_BUFFER].stack.len(), 0, "the first task is pending, too");
    assert_eq!(w.go(0), Finished, "one buffer: shared accesses and posts to the same level are no points");
    assert_eq!(w.number("x"), 9);
    let born: Vec<(u32, u32, u8)> = w.log.born.iter().map(|b| (b.task, b.buffer, b.level)).collect();
    assert_eq!(born, [(ANONYMOUS | 1, DECLARED_BUFFER, 0), (ANONYMOUS | 2, DECLARED_BUFFER, 0)]);
    assert_eq!(w.go(2), Finished);
    assert_eq!(w.number("x"), 2);
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.number("x"), 1);
    assert!(w.state.buffers.is_empty());
}

#[test]
fn yield_puts_the_task_back_past_the_yield() {
    let mut w = World::new("var x: int; proc t() { x = x + 1; yield; x = x * 10; } buffer b { post t(); post t(); }");
    w.go(0);
    assert_eq!(w.go(1), Yield);
    assert_eq!(w.state.buffers[&DECLARED_BUFFER].stack.len(), 0);
    assert_eq!(w.state.buffers[&DECLARED_BUFFER].pending.len(), 2);
    assert_eq!(w.go(2), Yield);
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.go(2), Finished);
    assert_eq!(w.number("x"), 200);
}

#[test]
fn a_yield_inside_a_procedure_keeps_its_callers() {
    let mut w = World::new(
        "var x: int; proc inner(a: int) -> int { yield; return a + 1; } buffer b { let r = inner(4); x = r; }",
    );
    assert_eq!(w.go(0), Yield);
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.number("x"), 5);
}

#[test]
fn zield_is_nothing_where_there_is_one_buffer() {
    let mut w = World::new("var x: int; buffer b { x = 1; zield; x = 2; }");
    assert_eq!(w.go(0), Finished);
    let mut w = World::new("interleave explicit; var x: int; buffer b { x = 1; zield; x = 2; } buffer c { x = 3; }");
    assert_eq!(w.go(0), Point);
    assert_eq!(w.state.buffers[&DECLARED_BUFFER].stack.len(), 1, "it stays on its buffer");
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.go(0), Finished);
}

#[test]
fn a_post_to_a_higher_level_interrupts_at_once() {
    let source = "level LOW < MID < HIGH; var x: int; proc h() { x = x * 10; } proc m() { x = x + 5; post @HIGH h(); x = x + 1; } \
                  buffer b { x = 1; post @MID m(); x = x + 100; }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), Interrupted, "right after the post");
    assert_eq!(w.number("x"), 1);
    assert_eq!(w.go(1), Interrupted);
    let levels: Vec<u8> = w.state.buffers[&DECLARED_BUFFER].stack.iter().map(|t| t.level).collect();
    assert_eq!(levels, [0, 1], "levels increase towards the innermost");
    assert!(!w.ready(0), "interrupted tasks below another do not go on");
    assert_eq!(w.go(2), Finished);
    assert_eq!(w.number("x"), 60);
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.number("x"), 61);
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.number("x"), 161);
}

#[test]
fn a_post_inside_atomic_interrupts_at_its_end() {
    let source = "level LOW < HIGH; var x: int; proc h() { x = x * 10; } buffer b { atomic { x = 1; post @HIGH h(); x = 2; } x = x + 1; }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), Interrupted);
    assert_eq!(w.number("x"), 2);
    w.go(1);
    w.go(0);
    assert_eq!(w.number("x"), 21);
}

#[test]
fn posts_without_a_level_take_that_of_the_task() {
    let source = "level LOW < HIGH; var x: int; proc t() { x = 1; } proc helper() { post t(); } proc h() { helper(); } \
                  buffer b { post @HIGH h(); post @LOW t(); }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), Interrupted);
    assert_eq!(w.log.born[0].level, 1);
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.log.born[0].level, 1, "also inside a procedure that the task calls");
    assert_eq!(w.go(2), Finished);
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.log.born[0].level, 0);
}

#[test]
fn dispatch_takes_a_task_of_the_highest_pending_level_above_the_interrupted_one() {
    let source = "level LOW < MID < HIGH; var x: int; proc t() { x = 1; } \
                  proc m() { post @LOW t(); post @MID t(); post @HIGH t(); } buffer b { post @MID m(); }";
    let mut w = World::new(source);
    let may = |w: &World| -> Vec<u8> {
        let b = &w.state.buffers[&DECLARED_BUFFER];
        let mut levels: Vec<u8> =
            (0..b.pending.len()).filter(|i| may_dispatch(b, *i)).map(|i| b.pending[i].level).collect();
        levels.sort_unstable();
        levels
    };
    assert_eq!(may(&w), [0]);
    assert_eq!(w.go(0), Interrupted);
    assert_eq!(may(&w), [1], "the only pending task, above the interrupted one");
    assert_eq!(w.go(1), Interrupted);
    assert_eq!(may(&w), [2]);
    assert!(!w.state.buffers[&DECLARED_BUFFER].may_go_on());
    assert_eq!(w.go(4), Finished);
    assert_eq!(may(&w), [0; 0], "a pending task of the interrupted one's level waits for it");
    assert!(w.state.buffers[&DECLARED_BUFFER].may_go_on());
    assert_eq!(w.go(1), Finished);
    assert_eq!(may(&w), [1]);
    assert_eq!(w.go(3), Finished);
    assert_eq!(may(&w), [0; 0], "the first task is still there");
    assert_eq!(w.go(0), Finished);
    assert_eq!(may(&w), [0]);
    assert_eq!(w.go(2), Finished);
}

#[test]
fn dispatch_prefers_the_higher_of_two_levels_above_the_interrupted_task() {
    let source = "level LOW < MID < HIGH; var x: int; proc m() { x = 1; } proc h() { post @MID m(); yield; x = 2; } \
                  buffer b { post @HIGH h(); x = 3; }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), Interrupted);
    assert_eq!(w.go(1), Yield);
    let b = &w.state.buffers[&DECLARED_BUFFER];
    let may: Vec<(u8, bool)> = b.pending.iter().enumerate().map(|(i, t)| (t.level, may_dispatch(b, i))).collect();
    assert_eq!(may, [(1, false), (2, true)]);
}

#[test]
fn a_yield_of_a_task_above_another_leaves_that_one_where_it_is() {
    let source = "level LOW < HIGH; var x: int; proc h() { x = 1; yield; x = 2; } buffer b { post @HIGH h(); x = 3; }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), Interrupted);
    assert_eq!(w.go(1), Yield);
    let b = &w.state.buffers[&DECLARED_BUFFER];
    assert_eq!((b.stack.len(), b.pending.len()), (1, 1));
    assert!(!b.may_go_on(), "it is pending, and higher");
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.number("x"), 3);
}

#[test]
fn a_task_that_meets_a_false_await_waits_as_pending() {
    let source = "var x: int; proc waits() { x = x + 1; await x > 10; x = x + 100; } proc helps() { x = x + 20; } \
                  buffer b { post waits(); post helps(); }";
    let mut w = World::new(source);
    w.go(0);
    assert_eq!(w.go(1), Wait);
    assert_eq!(w.number("x"), 1);
    assert_eq!(w.state.buffers[&DECLARED_BUFFER].stack.len(), 0);
    assert!(!w.ready(1));
    assert_eq!(w.go(2), Finished);
    assert!(w.ready(1));
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.number("x"), 121);
}

#[test]
fn a_task_that_begins_with_a_false_await_is_not_ready() {
    let source =
        "var x: int; proc waits() { skip; atomic { await x == 1; x = 5; } } buffer b { post waits(); yield; x = 1; }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), Yield);
    assert!(!w.ready(1));
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.number("x"), 5);
}

#[test]
fn a_waiting_task_above_keeps_lower_ones_from_running() {
    let source = "level LOW < HIGH; var x: int; proc h() { await x == 1; } buffer b { post @HIGH h(); x = 1; }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), Interrupted);
    assert!(!w.ready(1));
    assert!(!w.state.buffers[&DECLARED_BUFFER].may_go_on(), "it is pending and higher: a deadlock");
}

#[test]
fn with_several_buffers_a_waiting_task_makes_way_for_others_of_its_level() {
    let source =
        "var x: int; proc t() { x = x + 1; } buffer b { post t(); await x == 1; x = 7; } buffer c { await x == 9; }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), Point, "in front of the await, as before every access");
    let own = w.tasks.len() - 1;
    assert_eq!(w.state.buffers[&DECLARED_BUFFER].stack.len(), 1);
    assert!(!w.ready(0));
    assert_eq!(w.go(own), Point, "dispatched: the waiting one becomes pending");
    assert_eq!(w.state.buffers[&DECLARED_BUFFER].pending.len(), 1);
    w.finish(own);
    assert!(w.ready(0));
    w.finish(0);
    assert_eq!(w.number("x"), 7);
}

#[test]
fn a_task_can_be_joined() {
    let source = "var x: int; proc t() { x = 1; } buffer b { let h = post t(); join h; x = x + 1; }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), Wait);
    assert_eq!(w.tasks[1] & ANONYMOUS, 0, "somebody has its handle");
    assert!(!w.ready(0));
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.number("x"), 2);
}

#[test]
fn a_task_that_asks_for_its_handle_is_not_anonymous() {
    let source = "var h: thread; proc ask() { h = self; } proc t() { ask(); } proc u() { h = null; } buffer b { post t(); post u(); }";
    let mut w = World::new(source);
    w.go(0);
    assert_eq!((w.tasks[1] & ANONYMOUS, w.tasks[2] & ANONYMOUS), (0, ANONYMOUS));
    w.go(1);
    assert_eq!(w.global("h"), fabius_semantics::value::Value::Handle(Some(w.tasks[1])));
}

#[test]
fn what_a_thread_posts_runs_on_its_own_buffer_also_when_it_has_finished() {
    let source = "thread var mine: int = 1; var x: int; proc t() { mine = mine + 1; x = x * 10 + mine; } \
                  proc p() { mine = 5; post t(); x = 1; } init { spawn p(); x = 0; }";
    let mut w = World::new(source);
    w.finish(0);
    let thread = w.tasks[1];
    while w.tasks.len() == 2 {
        w.go(1);
    }
    assert_eq!(w.log.born[0].buffer, thread);
    while w.exists(1) {
        w.go(1);
    }
    assert_eq!(w.number("x"), 1);
    assert!(w.state.buffers.contains_key(&thread), "its task is still pending");
    w.finish(2);
    assert_eq!(w.number("x"), 16, "tasks share the copy of the thread they run on");
    assert!(w.state.buffers.is_empty());
}

#[test]
fn yield_of_a_thread_lets_its_own_tasks_run() {
    let mut w = World::new("var x: int; proc t() { x = 1; } init { post t(); yield; x = x + 5; }");
    let last = |w: &mut World| loop {
        let end = w.go(0);
        if end != Point {
            return end;
        }
    };
    assert_eq!(last(&mut w), Yield);
    w.finish(1);
    w.finish(0);
    assert_eq!(w.number("x"), 6);
}

#[test]
fn first_tasks_of_buffers_come_before_processes() {
    let source = "var x: int; process p[1] { x = 1; } buffer b { x = 2; } buffer c { x = 3; }";
    let w = World::new(source);
    let buffers: Vec<u32> = w.log.born.iter().map(|b| b.buffer).collect();
    assert_eq!(buffers[..2], [DECLARED_BUFFER, DECLARED_BUFFER | 1]);
    assert_eq!(buffers[2], w.tasks[2], "a thread is its own buffer");
}

#[test]
fn joining_nobody_inside_a_task_is_a_bug() {
    let mut w = World::new("var h: thread; proc t() { join h; } buffer b { post t(); }");
    w.go(0);
    assert_eq!(bug(w.step(1, &[])), BugKind::NullDereference);
}

#[test]
fn anonymous_tasks_are_compared_renumbered_and_dropped() {
    let mut w = World::new("var x: int; proc t(n: int) { x = n; } buffer b { post t(3); post t(1); post t(3); }");
    w.go(0);
    let (a, b, c) = (w.tasks[1], w.tasks[2], w.tasks[3]);
    assert_eq!(w.reference.anonymous_tasks(&w.state), [a, b, c]);
    assert_eq!(w.reference.compare_anonymous(&w.state, a, c), std::cmp::Ordering::Equal);
    assert_eq!(w.reference.compare_anonymous(&w.state, b, a), std::cmp::Ordering::Less);
    let mut other = w.state.clone();
    w.reference.reorder_anonymous(&mut w.state, &[b, a, c]);
    w.reference.reorder_anonymous(&mut other, &[b, c, a]);
    let mut out = Vec::new();
    w.reference.encode(&other, &mut out);
    assert_eq!(w.encoded(), out, "equal tasks may change places");
    w.reference.reorder_anonymous(&mut w.state, &[ANONYMOUS | 1]);
    assert_eq!(w.reference.anonymous_tasks(&w.state), [ANONYMOUS]);
    w.tasks = vec![ANONYMOUS];
    w.go(0);
    assert_eq!(w.number("x"), 3);
}
