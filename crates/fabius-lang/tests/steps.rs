//! The granularity rule: which steps a statement becomes, and that no step outside `atomic` touches shared state twice.

use fabius_lang::program::{
    Access, Base, Block, Check, Class, Expr, ExprKind, Guard, Place, Program, Projection, Stmt,
};
use fabius_lang::program::{StmtKind as S, Type};
use fabius_lang::{Options, compile};
use testkit::corpus::programs;

fn compiled(source: &str) -> Program {
    compile(source, &Options { choices: fabius_lang::Choices::Unbounded, ..Default::default() })
        .unwrap_or_else(|d| panic!("{source}\n{d:?}"))
}

/// How often shared state is touched in one evaluation.
fn in_expr(p: &Program, e: &Expr) -> usize {
    match &e.kind {
        ExprKind::Const(_) | ExprKind::SelfHandle => 0,
        ExprKind::Read(place) => in_place(p, place) + shared(p, place),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) | ExprKind::SetIsEmpty(a) => in_expr(p, a),
        ExprKind::Binary(_, a, b) | ExprKind::SetContains(a, b) => in_expr(p, a) + in_expr(p, b),
        ExprKind::IfElse(a, b, c) => in_expr(p, a) + in_expr(p, b).max(in_expr(p, c)),
        ExprKind::Tuple(parts) => parts.iter().map(|e| in_expr(p, e)).sum(),
    }
}

fn in_place(p: &Program, place: &Place) -> usize {
    let base = if let Base::Heap(e, _) = &place.base { in_expr(p, e) } else { 0 };
    let index = |step: &Projection| if let Projection::Index { index, .. } = step { in_expr(p, index) } else { 0 };
    base + place.path.iter().map(index).sum::<usize>()
}

fn shared(p: &Program, place: &Place) -> usize {
    match place.base {
        Base::Global(g) => usize::from(!p.globals[g].per_thread),
        Base::Local(_) => 0,
        Base::Heap(..) => 1,
    }
}

fn touched(p: &Program, s: &Stmt) -> usize {
    let all = |es: &[Expr]| es.iter().map(|e| in_expr(p, e)).sum::<usize>();
    let stored = |place: &Place| in_place(p, place) + shared(p, place);
    match &s.kind {
        S::Assign(to, e) | S::SetInsert(to, e) | S::SetRemove(to, e) => in_expr(p, e) + stored(to),
        S::Any(to, a, b) => in_expr(p, a) + in_expr(p, b) + stored(to),
        S::New(to, _, es) => all(es) + stored(to),
        S::If(Guard::Expr(e), ..) | S::While(Guard::Expr(e), _) | S::Join(e) => in_expr(p, e),
        S::Call(_, _, es) | S::Return(es) | S::Spawn(_, _, es) | S::Post(_, _, _, es) => all(es),
        S::SetRemoveAny(to) | S::SetClear(to) => stored(to),
        // These evaluate in one step, however much they read.
        _ => 0,
    }
}

/// Every statement outside `atomic`, with those in it.
fn each<'a>(block: &'a Block, f: &mut dyn FnMut(&'a Stmt)) {
    for s in block {
        f(s);
        match &s.kind {
            S::If(_, a, b) => {
                each(a, f);
                each(b, f);
            }
            S::While(_, b) => each(b, f),
            _ => {}
        }
    }
}

/// The visible steps of `init`, by what they are.
fn steps(source: &str) -> String {
    let p = compiled(source);
    let mut out = Vec::new();
    each(&p.procs[p.init.expect("there is an init")].body, &mut |s| {
        if s.access != Access::Local {
            out.push(match &s.kind {
                S::Assign(to, _) | S::New(to, ..) | S::Any(to, ..) if shared(&p, to) == 1 => "write",
                S::Assign(..) | S::Any(..) => "read",
                S::If(..) => "if",
                S::While(..) => "while",
                S::Call(..) => "call",
                S::Spawn(..) => "spawn",
                S::Post(..) => "post",
                S::Join(_) => "join",
                S::Atomic(_) => "atomic",
                S::Await(_) => "await",
                S::Assert(..) => "assert",
                S::Assume(_) => "assume",
                S::Print(_) => "print",
                S::Return(_) => "return",
                S::SetInsert(..) | S::SetRemove(..) | S::SetRemoveAny(_) | S::SetClear(_) => "set",
                other => panic!("not a visible step: {other:?}"),
            });
        }
    });
    out.join(" ")
}

#[test]
fn statements_become_the_steps_that_the_language_says() {
    let globals = "const N = 3; enum Colour { Red, Green } record Node { value: int = 0, next: ref Node }
        var x: int; var y: int; var b: bool; var i: 0..2; var a: [int; 3]; var m: map[Colour] int; var r: ref Node;
        var c: Colour; var t: thread; var small: u8; var pair: Node; thread var own: int; var l: lock; var s: thread_set;
        proc p(k: int) -> int { return k; } proc two() -> (int, bool) { return (1, true); } ";
    for (body, wanted) in [
        ("x = 1;", "write"),
        ("x = x + y;", "read read write"),
        ("x += 1;", "read write"),
        ("let k = x;", "read"),
        ("let k = x + y;", "read read"),
        ("own = own + 1;", ""),
        ("own = x;", "read"),
        ("var k: int; k = k + 1;", ""),
        ("a[i] = x;", "read read write"),
        ("a[0] = a[1];", "read write"),
        ("m[Green] = 2;", "write"),
        ("c = Green;", "write"),
        ("c = Colour.Red;", "write"),
        ("r = new Node { value: x };", "read write"),
        ("r.value = 1;", "read write"),
        ("r.next.value = 1;", "read read write"),
        ("let q = r; q.value = q.value + 1;", "read read write"),
        ("pair = Node { value: 2 };", "write"),
        ("a = [0; 3]; a = [x, y, 1];", "write read read write"),
        ("small = x as u8;", "read write"),
        ("x = small as int + 1;", "read write"),
        ("x = x as 0..N - 1;", "read write"),
        ("if b { x = 1; } else { y = 1; }", "if write write"),
        ("if x == y { skip; }", "read if"),
        ("if b && x == 1 { skip; }", "read read"),
        ("x = if b { 1 } else { 2 };", "read write"),
        ("while b { x = 1; }", "while write"),
        ("while x != y { skip; }", "read if"),
        ("for k in 1..N { x = k; }", "write"),
        ("loop { if b { break; } }", "if"),
        ("choose { x = 1; } or { y = 1; } or { b = true; }", "write write write"),
        ("b = *;", "write"),
        ("i = any 0..2;", "write"),
        ("let k = any x..y;", "read read"),
        ("if * { x = 1; }", "write"),
        ("x = p(y);", "call write"),
        ("x = p(x + y);", "read call write"),
        ("(x, b) = two();", "write write"),
        ("let (k, _) = two();", ""),
        ("t = spawn p(x);", "read spawn write"),
        ("join t;", "read join"),
        ("post p(1);", "post"),
        ("atomic { x = x + y; y = 2; }", "atomic"),
        ("await x == y;", "await"),
        ("assert x == y;", "assert"),
        ("assume x == y;", "assume"),
        ("print(x, y);", "print"),
        ("l.acquire(); l.release();", "atomic atomic"),
        ("if l.try_acquire() { skip; }", "atomic"),
        ("let done = cas(x, 0, 1);", "atomic"),
        ("y = fetch_add(x, 1);", "atomic write"),
        ("y = exchange(x, y);", "read atomic write"),
        ("s.insert(self); s.remove_any(); s.clear();", "set set set"),
        ("yield; zield; progress; skip;", ""),
    ] {
        assert_eq!(steps(&format!("{globals} init {{ {body} }}")), wanted, "{body}");
    }
}

#[test]
fn no_step_of_any_program_touches_shared_state_twice() {
    let mut seen = 0;
    for file in programs(&["corpus", "examples", "bench/models"]) {
        let p = compiled(&std::fs::read_to_string(&file).expect("the file can be read"));
        for proc in &p.procs {
            each(&proc.body, &mut |s| {
                seen += 1;
                let n = touched(&p, s);
                assert!(n <= 1, "{}: {n} accesses in {s:?}", file.display());
                assert!((n == 0) || s.access != Access::Local, "{}: called local: {s:?}", file.display());
            });
        }
    }
    assert!(seen > 1000, "{seen} statements");
}

#[test]
fn every_object_of_the_library_expands_with_the_span_of_the_call() {
    let source = "var a: lock; var b: reentrant_lock; var c: rw_lock; var d: condition; var e: semaphore = semaphore { count: 2 };
        var f: manual_event; var g: auto_event; var h: barrier = barrier { parties: 3 };
        init {
            a.acquire(); let x = a.try_acquire(); a.release();
            b.acquire(); let y = b.try_acquire(); b.release();
            c.acquire_read(); c.release_read(); c.acquire_write(); c.release_write();
            d.wait(a); d.notify_one(); d.notify_all();
            e.acquire(); let z = e.try_acquire(); e.release();
            f.set(); f.reset(); f.wait(); g.set(); g.reset(); g.wait(); h.wait();
        }";
    let p = compiled(source);
    assert!(p.globals.iter().all(|g| g.class == Class::Sync));
    let mut visible = 0;
    let body = &p.procs[p.init.expect("there is an init")].body;
    each(body, &mut |s| {
        let text = s.span.text(source);
        assert!(text.contains('(') && text.contains('.') || s.access == Access::Local, "{text}: {s:?}");
        visible += usize::from(s.access == Access::Sync);
    });
    // One step for each of the 23 calls, and a second one for `condition.wait` and `barrier.wait`.
    assert_eq!(visible, 25);
    let misuse = |s: &Stmt| matches!(s.kind, S::Assert(_, Check::SyncMisuse, _));
    assert!(p.any_stmt(misuse) && !p.any_stmt(|s| matches!(s.kind, S::Assert(_, Check::Assertion, _))));
}

#[test]
fn classes_are_declared_or_inferred() {
    let p = compiled(
        "record R { plain: int, awaited: int, data said: int } sync var a: int; data var b: int; var c: int; var d: int;
         var e: int; var f: int; var g: lock; var r: ref R; proc in_atomic() { f = 1; }
         init { atomic { b = 1; c = 1; in_atomic(); } await d == 0; let k = cas(e, 0, 1); let q = r;
                await q.awaited == 0; atomic { q.said = 1; } q.plain = 1; }
         var untouched: int;",
    );
    let class = |name: &str| p.globals.iter().find(|g| g.name == name).expect("a global").class;
    for (name, wanted) in [("a", true), ("b", false), ("c", true), ("d", true), ("e", true), ("f", true), ("g", true)] {
        assert_eq!(class(name) == Class::Sync, wanted, "{name}");
    }
    assert_eq!(class("untouched"), Class::Data);
    let record = p.records.iter().find(|r| r.name == "R").expect("the record");
    let fields: Vec<_> = record.fields.iter().map(|f| f.class).collect();
    assert_eq!(fields, [Class::Data, Class::Sync, Class::Data]);
}

#[test]
fn the_counter_of_a_loop_holds_its_bounds_and_does_not_wrap() {
    let p = compiled("init { for i in 5..3 { skip; } for j in 0..9 { skip; } }");
    let counters: Vec<_> = p.procs[0].locals.iter().filter(|l| !l.name.starts_with('$')).map(|l| &l.ty).collect();
    assert_eq!(counters, [&Type::Range(3, 5), &Type::Range(0, 10)]);
    let p = compiled("init { let last: u8 = 255; for i in 0 as u8..last { skip; } }");
    let mut breaks = 0;
    each(&p.procs[0].body, &mut |s| breaks += usize::from(s.kind == S::Break));
    assert_eq!(breaks, 1, "it ends before the counter wraps");
}
