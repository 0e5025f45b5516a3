//! Atomic blocks that wait elsewhere than at their beginning: they wait as a whole, and what comes before is undone.

use crate::world::{World, bug};
use End::{Dropped, Finished, Point};
use fabius_explore::system::End;
use fabius_semantics::value::Value;
use fabius_trace::BugKind;

#[test]
fn what_comes_before_a_wait_is_undone() {
    let source = "var x: int; var y: int; process p[1] { atomic { x = x + 1; await y == 1; y = x; } } \
                  process q[1] { x = 4; y = 1; }";
    let mut w = World::new(source);
    assert!(!w.ready(0));
    assert_eq!(w.go(1), Point);
    assert!(!w.ready(0));
    assert_eq!(w.number("x"), 4, "nothing of the block has happened");
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.go(0), Finished);
    assert_eq!((w.number("x"), w.number("y")), (5, 5));
    let (x, y) = (0, 1);
    assert_eq!(
        w.touched(),
        [(x, 'r', 's'), (x, 'w', 's'), (y, 'r', 's'), (x, 'r', 's'), (y, 'w', 's')],
        "only what is done is an access"
    );
}

#[test]
fn a_block_may_wait_for_what_it_does_itself() {
    let mut w = World::new("var x: int; process p[1] { atomic { x = 1; await x == 1; x = 2; await x == 2; } }");
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.number("x"), 2);
}

#[test]
fn one_open_way_is_enough_and_the_others_are_no_steps() {
    let source = "var x: int; var y: int; process p[1] { atomic { choose { await y == 1; x = 1; } or { await y > 0; x = 2; } } } \
                  process q[1] { y = 2; }";
    let mut w = World::new(source);
    assert!(!w.ready(0));
    assert_eq!(w.go(1), Finished);
    assert!(w.ready(0));
    let before = w.state.clone();
    assert_eq!(w.step(0, &[0]), Ok(Dropped));
    w.state = before;
    assert_eq!(w.step(0, &[1]), Ok(Finished));
    assert_eq!(w.number("x"), 2);
}

#[test]
fn a_way_to_an_error_is_open_and_so_is_one_that_is_dropped() {
    let mut w = World::new("var x: int; process p[1] { atomic { assert x == 1; await x == 1; } }");
    assert_eq!(bug(w.step(0, &[])), BugKind::Assertion);
    let mut w = World::new("var x: int; process p[1] { atomic { x = 1 / x; await x == 1; } }");
    assert_eq!(bug(w.step(0, &[])), BugKind::DivisionByZero);
    let mut w = World::new("var x: int; process p[1] { atomic { assume x == 1; await x == 1; } }");
    assert_eq!(w.go(0), Dropped);
    let w = World::new("var x: int; process p[1] { atomic { await x == 1; assert false; } }");
    assert!(!w.ready(0), "it does not come to the error");
}

#[test]
fn ways_without_number_that_come_back_are_not_gone() {
    let source = "var x: 0..3; var y: int; process p[1] { atomic { while * { x = (x + 1) % 4; } await x == y; } } \
                  process q[1] { y = 7; y = 3; }";
    let mut w = World::new(source);
    assert!(w.ready(0));
    assert_eq!(w.go(1), Point);
    assert!(!w.ready(0), "no number of rounds makes 7 of it");
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.step(0, &[0, 0, 0, 1]), Ok(Finished));
    assert_eq!(w.number("x"), 3);
}

#[test]
fn locks_semaphores_channels_and_joins_may_stand_anywhere() {
    let source = "var m: lock; var n: lock; var x: int; process p[1] { atomic { m.acquire(); n.acquire(); x = 1; } } \
                  process q[1] { n.acquire(); n.release(); }";
    let mut w = World::new(source);
    assert!(w.ready(0));
    assert_eq!(w.go(1), Point);
    assert!(!w.ready(0), "it takes both or none");
    assert_eq!(w.global("m"), Value::Tuple(vec![Value::Handle(None)]), "it has not taken the first one");
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.go(0), Finished);

    let source = "channel c: int[1]; channel d: int[1]; var x: int; \
                  process p[1] { atomic { x = c.receive(); d.send(x); } } process q[1] { d.send(1); c.send(2); x = d.receive(); }";
    let mut w = World::new(source);
    assert_eq!(w.go(1), Point);
    assert!(!w.ready(0));
    assert_eq!(w.go(1), Point);
    assert!(!w.ready(0), "there is a message, and no room to hand it on");
    w.go(1);
    assert!(w.ready(0));

    let source = "var x: int; proc r() { x = 1; } init { let h = spawn r(); atomic { x = 2; join h; x = 3; } }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), Point);
    assert!(!w.ready(0));
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.number("x"), 3);
}

#[test]
fn a_procedure_that_waits_may_be_called_inside() {
    let source = "var x: int; var y: int; proc take(n: int) -> int { await y >= n; y = y - n; return y; } \
                  process p[1] { atomic { x = 5; let left = take(2); x = left; } } process q[1] { y = 1; y = 4; }";
    let mut w = World::new(source);
    assert!(!w.ready(0));
    w.go(1);
    assert!(!w.ready(0));
    w.go(1);
    assert_eq!(w.go(0), Finished);
    assert_eq!((w.number("x"), w.number("y")), (2, 2));
}

#[test]
fn a_task_in_front_of_such_a_block_waits_in_its_buffer() {
    let source = "var x: int; var y: int; proc other() { y = 1; } \
                  buffer b { post other(); x = 1; atomic { x = 2; await y == 1; x = 3; } }";
    let mut w = World::new(source);
    assert_eq!(w.go(0), End::Wait);
    assert_eq!(w.number("x"), 1);
    assert!(!w.ready(0));
    assert_eq!(w.go(1), Finished);
    assert_eq!(w.go(0), Finished);
    assert_eq!(w.number("x"), 3);
}
