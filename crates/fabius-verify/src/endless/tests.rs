//! Each rule, by programs in which a step may not end, and by ones in which it does.

use super::endless;
use crate::{Plan, check, program_id};
use fabius_lang::program::Program;
use fabius_trace::Verdict;
use std::sync::atomic::AtomicBool;

/// Declarations, and what a thread does.
type Body = (&'static str, &'static str);

fn source(declared: &str, threads: u32, body: &str) -> String {
    format!("var y: 0..1; {declared} process a[{threads}] {{ y = 1; if * {{ {body} }} }} process b[1] {{ y = 0; }}")
}

fn program(source: &str) -> Program {
    fabius_lang::compile(source, &Default::default()).unwrap_or_else(|e| panic!("{source}\n{e:?}"))
}

const LOOPS_THAT_MAY_STAY: [Body; 47] = [
    // Ways around.
    ("", "var l: 0..1 = 0; loop { if l == 0 { continue; } break; }"),
    ("", "var l: 0..1 = 0; var k: 0..1 = 0; loop { k = 0; while k < 1 { k = k + 1; } if l == 1 { break; } }"),
    ("", "var l: 0..1 = 0; loop { loop { break; } if l == 1 { break; } }"),
    ("proc g() { h(); } proc h() { skip; }", "loop { g(); }"),
    ("proc g() { return; }", "loop { g(); }"),
    ("proc g() { var l: 0..1 = 0; while l == 0 { skip; } }", "g();"),
    ("", "atomic { while y == 1 { skip; } }"),
    // Choices.
    ("", "var l: 0..1 = 0; loop { if l == 0 { continue; } if * { break; } }"),
    ("", "var l: 0..1 = 1; loop { if * { if l == 0 { break; } } }"),
    ("", "var l: 0..1 = 1; loop { if * { assume l == 0; break; } }"),
    ("", "var l: 0..1 = 0; loop { if * { let n = any l..0; skip; } else { l = 0; } if l == 1 { break; } }"),
    // What is written.
    ("thread var t: 0..3; proc g() { t = 0; }", "while t < 3 { t = t + 1; g(); }"),
    ("thread var t: 0..3; proc g() { h(); } proc h() { t = 0; }", "while t < 3 { t = t + 1; g(); }"),
    ("proc g() -> 0..3 { return 0; }", "var l: 0..3 = 0; while l < 3 { l = l + 1; l = g(); }"),
    ("", "var l: 0..3 = 0; while l < 3 { l = l + 1; l = 0; }"),
    ("record R { a: 0..3, b: 0..3 }", "var r: R; while r.a < 3 { r.a = r.a + 1; r = R { a: 0 }; }"),
    ("", "var a: [u8; 2]; var j: 0..1 = 0; while a[j] < 3 { j = 1 - j; a[j] = a[j] + 1; j = 1 - j; }"),
    // Counting that has no end.
    ("", "var i: i32 = 0; var k: bool; while i < 3 { if k { i = i - 1; k = false; } else { i = i + 1; k = true; } }"),
    ("", "var n: int = 0; while n >= 0 { n = n + 1; }"),
    ("", "var n: int = 0; while n < 3 { n = n - 1; }"),
    ("", "var n: int = 0; var m: int = 3; while n < m { n = n + 1; m = m + 1; }"),
    ("", "var n: int = 0; while n < 3 || n > 1 { n = n + 1; }"),
    ("", "var n: int = 0; while !(n < 3 && n > 5) { n = n + 1; }"),
    ("", "var n: int = 0; while 0 <= n { n = n + 1; }"),
    ("", "var n: int = 0; while n != 9 { n = n + 2; }"),
    ("", "var u: u8 = 0; while u <= 255 { u = u + 1; }"),
    ("", "var u: u8 = 0; while u < 255 { u = u + 2; }"),
    ("", "var u: u8 = 0; while u <= 254 { u = u + 2; }"),
    ("", "var u: u8 = 1; while u > 0 { u = u - 2; }"),
    ("", "var u: u8 = 1; while u >= 1 { u = u - 2; }"),
    ("", "var u: u8 = 0; while u != 7 { u = u + 1; u = u + 1; }"),
    ("", "var i: i8 = 0; while i >= -128 { i = i - 1; }"),
    // Counting that some way leaves out.
    ("", "var n: int = 0; var k: 0..1 = 0; while n < 3 { if k == 1 { n = n + 1; } }"),
    ("", "var n: int = 0; var k: 0..1 = 0; while n < 3 { if k == 0 { continue; } n = n + 1; }"),
    ("", "var n: int = 0; var k: 0..1 = 0; while n < 3 { while k == 1 { n = n + 1; k = 0; } }"),
    ("", "var n: int = 0; var k: 0..1 = 0; while n < 3 { loop { if k == 0 { break; } n = n + 1; k = 0; } }"),
    // Tests that some way leaves out.
    ("", "var n: int = 0; var k: bool; loop { if !k { n = n + 1; continue; } if n >= 3 { break; } n = n + 1; }"),
    ("", "var u: u8 = 0; loop { if u == 7 { break; } u = u + 2; }"),
    ("", "var u: u8 = 0; var m: u8 = 1; loop { if u == m { break; } u = u + 1; m = m + 1; }"),
    (
        "",
        "var u: u8; var k: bool; loop { if k { if u == 4 { break; } u = u + 1; } else { if u == 3 { break; } u = u + 1; } \
         k = !k; }",
    ),
    ("", "var u: u8 = 0; var k: bool = true; loop { if k { skip; } else { if u == 3 { break; } } u = u + 1; }"),
    ("", "var u: u8 = 0; loop { if u == 7 { skip; } u = u + 1; }"),
    ("", "var u: u8 = 0; loop { if u > 255 { break; } u = u + 1; }"),
    (
        "",
        "var u: u8; var k: bool; loop { if u == 7 { break; } u = u + 1; k = true; while k { u = u + 1; k = false; } }",
    ),
    ("", "var n: int = 0; var k: bool; while n < 3 { if !k { n = n + 1; k = true; } else { n = n - 1; k = false; } }"),
    ("", "var l: 0..1 = 0; loop { if * { if l == 0 { assume l == 1; } break; } }"),
    ("proc g() { loop { return; } }", "loop { g(); }"),
];

const VALUATIONS_THAT_STAY: [Body; 7] = [
    ("", "var l: 0..1 = 0; var k: 0..1 = 0; while l == 0 { l = k; }"),
    ("", "var l: 0..1 = 0; var k: 0..1 = 0; while l == 0 { if k == 1 { l = 1; } }"),
    ("", "var l: 0..1 = 0; loop { assume l == 0; }"),
    ("", "var l: 0..1 = 0; while l == 0 { l = any 0..0; }"),
    ("", "var l: 0..3 = 0; while l < 3 { l = if l == 1 { 0 } else { l + 1 }; }"),
    ("", "var l: 0..3 = 1; var k: 0..3 = 0; while l != 0 { k = 0; while k != l { k = (k + 1) % 4; } l = k; }"),
    ("", "var l: 0..3 = 0; var k: 0..1 = 1; while l < 3 { l = (l + 1) % 4; if k == 0 { skip; } else { l = 0; } }"),
];

const CALLS_THAT_MAY_STAY: [Body; 20] = [
    ("proc f(n: int) { f(n + 1); }", "f(0);"),
    ("proc f(n: int) { if n < 0 { return; } f(n + 1); }", "f(0);"),
    ("proc f(n: int) { if n > 5 { f(n + 1); } else { if n < 2 { f(n - 1); } } }", "f(6);"),
    ("proc f(n: 0..3) { if n > 0 { f(n - 1); } f(n); }", "f(1);"),
    ("proc f(n: 0..3) { if n > 0 { f(n - 1); } g(); } proc g() { f(3); }", "f(1);"),
    ("proc f() { f(); if * { return; } }", "f();"),
    ("proc f(n: 0..1) { if n == 0 { f(0); } if * { return; } f(1); }", "f(0);"),
    ("proc f() { while * { skip; } f(); }", "f();"),
    ("proc f() { if * { f(); } else { f(); } }", "f();"),
    ("proc f() { y = 1; f(); }", "atomic { f(); }"),
    ("proc f(n: int) { if n > 0 { skip; } f(n - 1); }", "f(3);"),
    ("proc f(n: int) { if n > 0 { return; } else { skip; } f(n - 1); }", "f(0);"),
    ("proc f(n: int, m: int) { if n < m { f(n + 1, m + 1); } }", "f(0, 1);"),
    ("proc f() { loop { f(); y = 1; } }", "f();"),
    ("proc f() { if y == 0 { skip; } } proc g() { loop { if y == 1 { f(); } h(); } } proc h() { h(); }", "g();"),
    ("proc f(n: u32) { if n != 1 { f(n - 2); } }", "f(0);"),
    ("proc f(n: int, k: bool) { if n < 5 { if k { f(n + 1, false); } else { f(n - 1, true); } } }", "f(0, true);"),
    ("proc f(n: int) { if n < 0 { skip; } else { return; } f(n - 1); }", "f(-1);"),
    ("proc f(n: int) { if n > 0 { skip; } else { f(n - 1); } }", "f(0);"),
    ("proc f(n: int) { if n < 3 { n = -1; f(n + 1); } }", "f(0);"),
];

const LOOPS_THAT_END: [Body; 35] = [
    ("", "var l: 0..1 = 0; while false { l = 0; }"),
    ("", "var l: 0..1 = 0; while l == 0 { return; }"),
    ("", "var l: 0..1 = 0; loop { if l == 0 { break; } else { return; } }"),
    ("", "var l: 0..1 = 0; while l == 0 { if l == 0 { y = 1; } }"),
    ("proc g() { y = 1; }", "loop { g(); if y == 1 { break; } }"),
    ("", "var n: int = 0; while n < 9 { atomic { n = n + 1; } }"),
    ("", "var n: int = 9; while 0 < n { n = n - 2; }"),
    ("", "var n: int = 0; while !(n >= 9) { n = n + 1; }"),
    ("", "var n: int = 0; var k: bool = true; while k && n < 9 { n = n + 1; }"),
    ("", "var n: int = 0; var k: bool; while !(k || n >= 9) { n = n + 1; }"),
    ("", "var n: int = 0; loop { if n > 8 { break; } n = n + 3; }"),
    ("", "var n: int = 0; loop { if n < 9 { n = n + 3; } else { break; } }"),
    ("", "var n: int = 0; var k: bool; while n < 9 { if !k { n = n + 1; k = true; continue; } n = n + 2; }"),
    ("", "var u: u32 = 4294967290; while u < 4294967295 { u = u + 1; }"),
    ("", "var u: u32 = 4294967290; while u <= 4294967293 { u = u + 2; }"),
    ("", "var u: u32 = 9; while u > 0 { u = u - 1; }"),
    ("", "var u: u32 = 9; while u >= 2 { u = u - 2; }"),
    ("", "var u: u32 = 9; while u > 2 { u = u - 3; }"),
    ("", "var u: u32 = 9; while u != 12 { u = u + 1; }"),
    ("", "var i: i32 = -5; while i < 0 { i = i + 1; }"),
    ("", "var u: u64 = 0; while u < 9 { u = u + 2; }"),
    ("", "var u: u32 = 0; let m: u32 = 4; loop { if u == m { break; } u = u + 1; }"),
    ("record R { a: 0..3, b: int }", "var r: R; while r.b < 3 { r.b = r.b + 1; r.a = 0; }"),
    ("", "var l: 0..3 = 0; var k: bool = true; while k { l = (l + 1) % 4; k = l != 0; }"),
    ("", "var l: 0..3 = 3; var k: 0..3 = 0; while l != 0 { k = 0; while k != l { k = (k + 1) % 4; } l = l / 2; }"),
    ("", "var l: 0..3 = 0; loop { if l == 3 { break; } l = (l + 1) % 4; }"),
    ("", "var l: 0..1 = 0; while l == 0 { assume l == 1; }"),
    ("enum C { K, L }", "var e: C = C.K; while e == C.K { e = C.L; }"),
    ("", "var l: 0..3 = 0; while l >= 0 { l = l + 1; }"),
    ("proc g() { skip; }", "var l: 0..3 = 3; while l != 0 { g(); l = l / 2; }"),
    ("", "var l: 0..3 = 1; while l > 0 { l = l * 2; }"),
    ("proc g() { y = 1; }", "loop { g(); }"),
    ("", "let n: u32 = 3; let one: u32 = 1; for i in one..n { if i == 2 { continue; } }"),
    ("", "var k: 0..3 = 0; loop { if k == 3 { if * { break; } } k = (k + 1) % 4; }"),
    ("", "var k: 0..3 = 0; loop { if k == 3 { if * { y = 1; } } k = (k + 1) % 4; }"),
];

const CALLS_THAT_END: [Body; 7] = [
    ("proc f(n: int) { if n < 3 { f(n + 1); } }", "f(0);"),
    ("proc f(n: u32) { if n > 0 { f(n - 1); } }", "f(3);"),
    ("proc f(n: u32) { if n != 1 { f(n - 1); } }", "f(3);"),
    ("proc f(n: int) { if n > 0 { if y == 0 { f(n - 1); } else { f(n - 2); } } }", "f(3);"),
    ("proc f(n: int) { if n <= 0 { return; } f(n - 1); f(n - 2); }", "f(3);"),
    ("proc f(n: 0..3) { if n > 0 { y = 1; g(n - 1); } } proc g(n: 0..3) { f(n); }", "f(3);"),
    ("proc f(n: int) { if n > 0 { skip; } else { return; } f(n - 1); }", "f(3);"),
];

/// By choice numbers may be as large, and recursion as deep, as they like.
const WHAT_CHOICES_END: [Body; 6] = [
    ("", "var n: int = 0; while n < 9 { n = n + 1; while * { n = n + 1; } }"),
    ("", "var n: int = 0; while n < 9 { loop { n = 1 + n; if * { break; } } }"),
    ("proc f() { if * { g(); } } proc g() { f(); }", "f();"),
    ("proc f(n: 0..1) { if n == 0 { if * { return; } f(1); } else { if * { return; } f(0); } }", "f(0);"),
    ("proc f() { let n = any 0..3; if * { return; } f(); f(); }", "f();"),
    ("proc f() { y = 1; f(); }", "f();"),
];

#[test]
fn what_may_stay_for_ever_is_found() {
    for bodies in [LOOPS_THAT_MAY_STAY.as_slice(), &VALUATIONS_THAT_STAY, &CALLS_THAT_MAY_STAY] {
        for (declared, body) in bodies {
            let source = source(declared, 2, body);
            assert!(endless(&program(&source)).is_some(), "{source}");
        }
    }
}

#[test]
fn what_ends_is_no_more_than_that() {
    for bodies in [LOOPS_THAT_END.as_slice(), &CALLS_THAT_END, &WHAT_CHOICES_END] {
        for (declared, body) in bodies {
            let source = source(declared, 2, body);
            assert_eq!(endless(&program(&source)), None, "{source}");
        }
    }
}

/// The lists are right.
#[test]
fn exploration_comes_to_the_end_of_what_ends() {
    for (declared, body) in LOOPS_THAT_END.iter().chain(&CALLS_THAT_END) {
        let source = source(declared, 1, body);
        let id = program_id("test.fab", &source, &[], &[]);
        let said = check(&program(&source), &id, &Plan::default(), &AtomicBool::new(false), &|_| {});
        let verdict = said.unwrap_or_else(|e| panic!("{source}\n{e:?}")).verdict;
        assert!(!matches!(verdict, Verdict::Unknown { .. }), "{source}\n{verdict:?}");
    }
}

#[test]
fn what_is_a_point_depends_on_who_runs() {
    let cases = [
        // Among the tasks of one buffer accesses are no points, and who waits for what holds goes on.
        ("var y: 0..1; proc w() { skip; } buffer b { post w(); while y == 0 { skip; } }", true),
        ("var y: 0..1; proc w() { while y == 0 { skip; } } buffer b { post w(); }", true),
        ("var y: 0..1; proc w() { skip; } buffer b { post w(); while y == 0 { await y == 0; } }", true),
        ("var y: 0..1; proc w() { skip; } buffer b { post w(); while y == 0 { yield; } }", false),
        ("var y: 0..1; buffer b { while y == 0 { skip; } } buffer c { y = 1; }", false),
        ("var y: 0..1; buffer b { while y == 0 { await y == 0; } } buffer c { y = 1; }", false),
        ("interleave explicit; var y: 0..1; process p[2] { while y == 0 { skip; } }", true),
        ("interleave explicit; var y: 0..1; process p[2] { while y == 0 { zield; } }", false),
        // Everybody that runs is looked at.
        ("var y: 0..1; proc w() { var l: 0..1 = 0; while l == 0 { skip; } } init { spawn w(); y = 1; }", true),
        ("var y: 0..1; init { var l: 0..1 = 0; while l == 0 { skip; } } process p[1] { y = 1; }", true),
        ("var y: 0..1; proc w() { var l: 0..1 = 0; while l == 0 { skip; } } process p[2] { y = 1; }", false),
        // How many of these are followed is said.
        ("var y: 0..1; proc w() { y = 1; } init { loop { spawn w(); } }", false),
    ];
    for (source, may_stay) in cases {
        assert_eq!(endless(&program(source)).is_some(), may_stay, "{source}");
    }
}
