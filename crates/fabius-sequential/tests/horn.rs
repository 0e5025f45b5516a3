//! Horn clauses against bounded model checking, and the check of invariants against ones that are wrong.

use fabius_lang::program::Program;
use fabius_lang::{Choices, Options, compile};
use fabius_sequential::bmc::{Bmc, Depth, Outcome};
use fabius_sequential::horn::{Answer, Checked, Clauses, check, solve};
use fabius_sequential::summaries::{self, Question};
use fabius_smt::{Embedded, Limits, find_solver};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

fn program(source: &str) -> Program {
    let options = Options { choices: Choices::Unbounded, ..Options::default() };
    compile(source, &options).unwrap_or_else(|wrong| panic!("{wrong:?}\n{source}"))
}

fn z3() -> Option<PathBuf> {
    let found = find_solver("z3");
    if found.is_none() {
        eprintln!("skipped: `z3` is not installed");
    }
    found
}

fn ask(program: &Program, z3: &Path) -> Answer {
    let stop = Arc::new(AtomicBool::new(false));
    let limits = Limits { deadline: Some(Instant::now() + Duration::from_secs(20)), stop: &stop };
    let clauses = Clauses::of(program).expect("the program is sequential");
    solve(&clauses, z3, &limits).expect("z3 answers")
}

/// Whether bounded model checking finds a bug at this depth.
fn has_bug(program: &Program, most: u32) -> bool {
    let stop = Arc::new(AtomicBool::new(false));
    let limits = Limits { deadline: None, stop: &stop };
    let depth = Depth { unwind: most, recursion: most };
    let mut bmc = Bmc::new(program, Box::new(Embedded::default()));
    match bmc.check(depth, &limits, &mut |_| {}).expect("the solver is built in") {
        Outcome::Bug(_) => true,
        Outcome::Safe { .. } => false,
        Outcome::Unknown => panic!("there is no limit"),
    }
}

/// Whether summaries find an assertion that fails.
fn fails(program: &Program) -> bool {
    let stop = Arc::new(AtomicBool::new(false));
    let limits = Limits { deadline: None, stop: &stop };
    let answer = summaries::reach(program, Question::Failure, &[], &limits, &mut |_| {});
    !answer.expect("the program is sequential").0.expect("nothing is too large").failing.is_empty()
}

/// What it is about, the program, and whether it is safe.
const PROGRAMS: [(&str, &str, bool); 20] = [
    (
        "a loop without a bound",
        "init { let n = any int; assume n >= 0; var i: int = 0; while i < n { i = i + 1; } assert i == n; }",
        true,
    ),
    (
        "a loop that goes one too far",
        "init { let n = any int; assume n >= 0; var i: int = 0; while i <= n { i = i + 1; } assert i == n; }",
        false,
    ),
    (
        "two loops, the second as far as the first",
        "init { var i: int = 0; var j: int = 0; while * { i = i + 1; } while j < i { j = j + 1; } assert j == i; }",
        true,
    ),
    ("a bug behind many iterations", "init { var i: int = 0; while * { i = i + 1; assert i != 9; } }", false),
    (
        "a loop in a loop, with break and continue",
        "init { var x: int = 0; while * { x = 0; while * { if * { break; } if x >= 3 { continue; } x = x + 1; } assert x <= 3; } assert x <= 3; }",
        true,
    ),
    (
        "the same with one more",
        "init { var x: int = 0; while * { x = 0; while * { if * { break; } if x > 3 { continue; } x = x + 1; } assert x <= 3; } }",
        false,
    ),
    (
        "recursion",
        "proc sum(n: int) -> int { if n <= 0 { return 0; } let rest = sum(n - 1); return rest + 1; } init { let n = any int; assume n >= 0; let s = sum(n); assert s == n; }",
        true,
    ),
    (
        "recursion that is wrong at one depth",
        "proc sum(n: int) -> int { if n <= 0 { return 0; } let rest = sum(n - 1); if n == 4 { return rest; } return rest + 1; } init { let n = any int; assume n >= 0; let s = sum(n); assert s == n; }",
        false,
    ),
    (
        "recursion through each other, over a global",
        "var x: int; proc up() { if * { x = x + 1; down(); } } proc down() { x = x - 1; if * { up(); } } init { up(); assert x == 0; }",
        true,
    ),
    (
        "an assertion in a recursive procedure",
        "var x: int; proc up(n: int) { assert x <= n; if n < 10 { x = x + 1; up(n + 2); } } init { up(0); }",
        true,
    ),
    (
        "an assertion in a recursive procedure that fails",
        "var x: int; proc up(n: int) { assert x < 3; if n < 10 { x = x + 1; up(n + 2); } } init { up(0); }",
        false,
    ),
    ("a byte wraps", "init { var x: u8 = 250; while x != 3 { x = x + 1; assert x >= 250 || x <= 3; } }", true),
    ("a byte wraps to where it must not", "init { var x: u8 = 250; while * { x = x + 2; assert x != 4; } }", false),
    ("signed numbers wrap", "init { var x: i8 = 0; while x >= 0 { x = x + 1; } assert x == -128; }", true),
    (
        "casts and masks",
        "init { var x: int = any int; while * { x = x + 7; } let y = x as u8; let z = y & 15; assert z < 16; let w = (y >> 4) + 1; assert w <= 16; let v: i8 = y as i8; assert v as int <= 127; }",
        true,
    ),
    (
        "division truncates",
        "init { let x = any int; assume x < 0; var n: int = x; while n < -1 { n = n / 2; } assert n <= 0; assert n != -1; }",
        false,
    ),
    (
        "an array with an index that is not known",
        "var a: [int; 3]; init { var i: 0..2 = 0; while * { a[i] = a[i] + 1; i = any 0..2; } assert a[0] >= 0 && a[1] >= 0 && a[2] >= 0; }",
        true,
    ),
    (
        "the same where one goes down",
        "var a: [int; 3]; init { var i: 0..2 = 0; while * { if i == 2 { a[i] = a[i] - 1; } else { a[i] = a[i] + 1; } i = any 0..2; } assert a[0] >= 0 && a[1] >= 0 && a[2] >= 0; }",
        false,
    ),
    (
        "records and enums",
        "enum mode { off, on } record cell { m: mode, n: int } var c: cell; init { while * { if c.m == off { c.m = on; c.n = c.n + 1; } else { c.m = off; c.n = c.n - 1; } } assert c.n == 0 || c.m == on && c.n == 1; }",
        true,
    ),
    (
        "a loop in a procedure that is called twice",
        "var x: int; proc raise(n: int) { var i: int = 0; while i < n { i = i + 1; x = x + 1; } } init { let n = any int; assume n >= 0; raise(n); raise(n); assert x >= n; }",
        true,
    ),
];

#[test]
fn loops_and_recursion_are_decided_without_a_bound() {
    let Some(z3) = z3() else { return };
    let mut wrong = Vec::new();
    for (name, source, is_safe) in PROGRAMS {
        let program = program(source);
        if has_bug(&program, 12) == is_safe {
            wrong.push(format!("{name}: bounded model checking says otherwise"));
        }
        match (ask(&program, &z3), is_safe) {
            (Answer::Safe { .. }, true) | (Answer::Unsafe, false) => {}
            (other, _) => {
                wrong.push(format!("{name}: {other:?}\n{}", fabius_sequential::horn::clauses(&program).unwrap()))
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What an operator gives on two numbers of a fixed width.
fn expected(op: &str, bits: u32, signed: bool, x: i64, y: i64) -> i64 {
    let amount = y.rem_euclid(i64::from(bits));
    let exact = match op {
        "+" => x + y,
        "-" => x - y,
        "*" => x * y,
        "/" => x / y,
        "%" => x % y,
        "&" => x & y,
        "|" => x | y,
        "^" => x ^ y,
        "<<" => x << amount,
        _ => x >> amount,
    };
    let low = exact.rem_euclid(1 << bits);
    if signed && low >= 1 << (bits - 1) { low - (1 << bits) } else { low }
}

#[test]
fn numbers_of_fixed_width_are_computed_exactly() {
    let Some(z3) = z3() else { return };
    for (ty, bits, signed) in [("u8", 8, false), ("i8", 8, true), ("i16", 16, true)] {
        let (least, most) = if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        let pairs = [
            (most, most),
            (least, most),
            (least, 1),
            (most, 3),
            (7, 2),
            (least + 5, 9),
            (100, 200 % most),
            (least, -1),
        ];
        for op in ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"] {
            // Bit vectors of more bits take the solver long.
            if bits > 8 && matches!(op, "&" | "|" | "^") {
                continue;
            }
            for off in [0, 1] {
                let mut checks = String::new();
                for (i, (x, y)) in pairs.into_iter().filter(|(_, y)| *y >= least).enumerate() {
                    let value = expected(op, bits, signed, x, y);
                    // Solvers of Horn clauses divide by numbers only.
                    let divisor = if matches!(op, "/" | "%") { y.to_string() } else { "y".into() };
                    // All are right, or one of them is wrong.
                    let claim = if i == 3 && off == 1 { "!=" } else { "==" };
                    checks += &format!("if x == {x} && y == {y} {{ assert x {op} {divisor} {claim} {value}; }} ");
                }
                let source = format!("init {{ let x = any {ty}; let y = any {ty}; assume y != 0; {checks}}}");
                let answer = ask(&program(&source), &z3);
                let right = if off == 1 { answer == Answer::Unsafe } else { matches!(answer, Answer::Safe { .. }) };
                assert!(right, "{answer:?} for {source}");
            }
        }
    }
}

#[test]
fn wrong_invariants_are_rejected() {
    let Some(z3) = z3() else { return };
    let stop = Arc::new(AtomicBool::new(false));
    let limits = Limits { deadline: None, stop: &stop };
    let clauses = Clauses::of(&program(PROGRAMS[0].1)).expect("the program is sequential");
    let definition = |body: &str| format!("(define-fun loop_0 ((n Int) (i Int)) Bool {body})");
    assert!(clauses.text().contains("(declare-fun loop_0 (Int Int) Bool)"), "{}", clauses.text());
    let asked = |model: &str| check(&clauses, model, &z3, &limits).expect("z3 answers");
    for right in ["(<= i n)", "(and (>= i 0) (<= i n))", "(let ((d (- n i))) (not (< d 0)))"] {
        assert_eq!(asked(&format!("({})", definition(right))), Checked::Holds, "{right}");
    }
    // Too weak for the assertion, not true at first, not true again.
    for wrong in ["true", "(<= i (+ n 1))", "false", "(< i n)", "(and (<= i n) (< i 7))", "(or (= i 0) (= i n))"] {
        let said = asked(&format!("({})", definition(wrong)));
        assert!(matches!(said, Checked::Fails(_)), "{wrong}: {said:?}");
    }
    let right = definition("(<= i n)");
    for model in [
        String::new(),
        "()".into(),
        right.clone(),
        format!("({right} {right})"),
        format!("({}", right),
        format!("({right}) (echo \"unsat\")"),
        format!("({right} (check-sat))"),
        format!("({right} (assert false))"),
        format!("({})", definition("(unheard i n)")),
        format!("({})", right.replace("define-fun ", "define-fun-rec ")),
        "((define-fun loop_0 ((i Int)) Bool (<= i 0)))".into(),
        "((define-fun loop_0 ((i Int) (n Bool)) Bool true))".into(),
        "((define-fun loop_0 ((i Int) (n Int)) Int 0))".into(),
    ] {
        let said = asked(&model);
        assert!(matches!(said, Checked::Fails(_)), "{model}: {said:?}");
    }
}

#[test]
fn invariants_that_were_found_are_rejected_for_other_programs() {
    let Some(z3) = z3() else { return };
    let stop = Arc::new(AtomicBool::new(false));
    let limits = Limits { deadline: None, stop: &stop };
    let mut rejected = 0;
    for (name, source, is_safe) in PROGRAMS {
        let clauses = Clauses::of(&program(source)).expect("the program is sequential");
        if let Answer::Safe { invariant } = ask(&program(source), &z3) {
            assert!(is_safe);
            assert_eq!(check(&clauses, &invariant, &z3, &limits), Ok(Checked::Holds), "{name}");
            // No invariant of it is one of the program whose first assertion is wrong at once.
            let (before, after) = source.split_once("init {").expect("it begins somewhere");
            let broken = format!("{before}init {{ if * {{ assert false; }} {after}");
            let clauses = Clauses::of(&program(&broken)).expect("the program is sequential");
            let said = check(&clauses, &invariant, &z3, &limits).expect("z3 answers");
            assert!(matches!(said, Checked::Fails(_)), "{name}: {said:?}");
            rejected += 1;
        }
    }
    assert!(rejected >= 10);
}

/// Statements of a random program over `x`, `y`, `b`, which calls `p` where it may.
fn statements(next: &mut impl FnMut(u32) -> u32, depth: u32, calls: bool) -> String {
    let mut text = String::new();
    for _ in 0..1 + next(3) {
        let value = next(4);
        text += &match next(if depth == 0 { 7 } else { 10 }) {
            0 => format!("x = {value}; "),
            1 => format!("x = (x + {value}) % 4; "),
            2 => "y = y + 1; ".into(),
            3 => format!("b = x == {value}; "),
            4 if calls => "p(); ".into(),
            4 => "x = y; ".into(),
            5 | 6 => format!("assert x != {value} || b || y > {}; ", next(3)),
            7 => format!(
                "if b {{ {}}} else {{ {}}} ",
                statements(next, depth - 1, calls),
                statements(next, depth - 1, calls)
            ),
            8 => format!("while x != {value} {{ x = any 0..3; {}}} ", statements(next, depth - 1, false)),
            _ => format!("while * {{ {}}} ", statements(next, depth - 1, calls)),
        };
    }
    text
}

#[test]
fn random_programs_are_decided_as_by_bounded_model_checking_and_by_summaries() {
    let Some(z3) = z3() else { return };
    let (mut safe, mut bugs) = (0, 0);
    for seed in 0..40u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66;
        let mut next = |most: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % u64::from(most)) as u32
        };
        let (p, main) = (statements(&mut next, 1, true), statements(&mut next, 1, true));
        let source = format!("var x: 0..3; var y: u8; var b: bool; proc p() {{ if * {{ {p}}} }} init {{ {main}}}")
            .replace("x = y; ", "x = (y % 4) as 0..3; ");
        let program = program(&source);
        match ask(&program, &z3) {
            Answer::Safe { .. } => {
                assert!(!has_bug(&program, 3) && !fails(&program), "{source}");
                safe += 1;
            }
            Answer::Unsafe => {
                assert!([2, 4, 8, 16].iter().any(|depth| has_bug(&program, *depth)) && fails(&program), "{source}");
                bugs += 1;
            }
            Answer::Unknown { reason } => eprintln!("{reason}: {source}"),
        }
    }
    assert!(safe >= 8 && bugs >= 8, "{safe} safe, {bugs} bugs");
}
