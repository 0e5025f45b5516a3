//! Values: arithmetic, ranges, widths, order of evaluation, what goes wrong, and the limits.

use crate::world::{bug, limit, result_of};
use fabius_explore::system::Limit;
use fabius_trace::BugKind;

#[test]
fn operators_on_int() {
    let cases = [
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 % -2", 1),
        ("-7 % 2", -1),
        ("2 - 3 * 4", -10),
        ("12 & 10", 8),
        ("12 | 10", 14),
        ("12 ^ 10", 6),
        ("if 1 < 2 { 5 } else { 1 / 0 }", 5),
        ("if true && !false || 1 / 0 == 1 { 1 } else { 0 }", 1),
        ("if false && 1 / 0 == 1 { 1 } else { 0 }", 0),
    ];
    for (e, value) in cases {
        // With a variable in it as well, so that it is not the front end that computes.
        let spelled: Vec<String> = e
            .split(' ')
            .map(|w| if w.ends_with(|c: char| c.is_ascii_digit()) { format!("({w} + zero)") } else { w.to_string() })
            .collect();
        let spelled = spelled.join(" ");
        let body = format!("var zero: int = 0; x = {spelled};");
        assert_eq!(result_of("var x: int;", &body), Ok(value), "{spelled}");
    }
}

#[test]
fn int_is_exact_or_says_that_it_cannot_be() {
    let max = "var a: int = 9223372036854775807; var m: int = -9223372036854775807 - 1;";
    let at = |e: &str| result_of("var x: int;", &format!("{max} x = {e};"));
    assert_eq!(at("a - 1 + 1"), Ok(i64::MAX));
    for e in ["a + 1", "m - 1", "a * 2", "-m", "m / -1"] {
        assert_eq!(limit(at(e)), Limit::Integer, "{e}");
    }
}

#[test]
fn fixed_widths_wrap() {
    let widths = [
        ("u8", "255", "1", 0),
        ("i8", "127", "1", -128),
        ("u16", "65535", "2", 1),
        ("i16", "32767", "1", -32768),
        ("u32", "4294967295", "1", 0),
        ("i32", "2147483647", "1", -2147483648),
        ("i64", "9223372036854775807", "1", i64::MIN),
        ("u64", "18446744073709551615", "3", 2),
    ];
    for (ty, a, b, sum) in widths {
        let body = format!("var a: {ty} = {a}; var b: {ty} = {b}; x = a + b;");
        assert_eq!(result_of(&format!("var x: {ty};"), &body), Ok(sum), "{ty}");
    }
    assert_eq!(result_of("var x: i8;", "var m: i8 = -128; x = -m;"), Ok(-128));
    assert_eq!(result_of("var x: i8;", "var m: i8 = -128; var n: i8 = -1; x = m / n;"), Ok(-128));
    assert_eq!(result_of("var x: u8;", "var m: u8 = 5; x = ~m;"), Ok(250));
    assert_eq!(result_of("var x: i64;", "var m: i64 = 0; m = m - 9223372036854775807 - 1; x = m / -1;"), Ok(i64::MIN));
}

#[test]
fn shifts_take_the_amount_modulo_the_width() {
    let u8s = |e: &str| result_of("var x: u8;", &format!("var a: u8 = 129; var n: u8 = 9; var k: u8 = 1; x = {e};"));
    assert_eq!(u8s("a << k"), Ok(2));
    assert_eq!(u8s("a << n"), Ok(2));
    assert_eq!(u8s("a >> n"), Ok(64));
    let i8s = |e: &str| result_of("var x: i8;", &format!("var a: i8 = -127; var k: i8 = 1; x = {e};"));
    assert_eq!(i8s("a >> k"), Ok(-64));
    assert_eq!(i8s("a << k"), Ok(2));
}

#[test]
fn u64_is_unsigned_although_coded_in_64_signed_bits() {
    let big = "var a: u64 = 18446744073709551615; var b: u64 = 1;";
    let yes = |e: &str| result_of("var x: bool;", &format!("{big} x = {e};"));
    assert_eq!(yes("a > b"), Ok(1));
    assert_eq!(yes("a <= b"), Ok(0));
    let value = |e: &str| result_of("var x: u64;", &format!("{big} x = {e};"));
    assert_eq!(value("a / (b + b)"), Ok(i64::MAX));
    assert_eq!(value("a % 10"), Ok(5));
    assert_eq!(value("a >> 63"), Ok(1));
    assert_eq!(value("a * a"), Ok(1));
    assert_eq!(value("(b << 63) >> 1"), Ok(1 << 62));
}

#[test]
fn casts_truncate_check_or_are_exact() {
    assert_eq!(result_of("var x: u8;", "var a: int = 257; x = a as u8;"), Ok(1));
    assert_eq!(result_of("var x: i8;", "var a: u8 = 200; x = a as i8;"), Ok(-56));
    assert_eq!(result_of("var x: u64;", "var a: i8 = -1; x = a as u64;"), Ok(-1));
    assert_eq!(result_of("var x: int;", "var a: i8 = -1; x = a as int;"), Ok(-1));
    assert_eq!(result_of("var x: int;", "var a: u64 = 9223372036854775807; x = a as int;"), Ok(i64::MAX));
    let beyond = "var a: u64 = 9223372036854775808;";
    assert_eq!(limit(result_of("var x: int;", &format!("{beyond} x = a as int;"))), Limit::Integer);
    // No 64 bits are needed to see that it is not in the range.
    assert_eq!(bug(result_of("var x: 0..7;", &format!("{beyond} x = a as 0..7;"))), BugKind::RangeOverflow);
    assert_eq!(result_of("var x: 0..7;", "var a: u8 = 7; x = a as 0..7;"), Ok(7));
    assert_eq!(bug(result_of("var x: 0..7;", "var a: u8 = 8; x = a as 0..7;")), BugKind::RangeOverflow);
}

#[test]
fn ranges_are_checked_at_every_store() {
    let d = "record R { f: 0..7 } var x: 0..7; var a: [0..7; 2]; var r: R; proc id(k: 0..7) -> int { return k; } \
             proc out(k: int) -> 0..7 { return k; }";
    let stores = [
        "x = t;",
        "var l: 0..7 = t;",
        "a[1] = t;",
        "r.f = t;",
        "r = R { f: t };",
        "a = [0, t];",
        "let o = new R { f: t };",
        "let o = new R {}; o.f = t;",
        "let y = id(t);",
        "let y = out(t);",
        "spawn id(t);",
        "post id(t);",
    ];
    for store in stores {
        let with = |t: &str| result_of(d, &format!("var t: int = {t}; {store}"));
        assert!(with("7").is_ok() && with("0").is_ok(), "{store}");
        assert_eq!(bug(with("8")), BugKind::RangeOverflow, "{store}");
        assert_eq!(bug(with("-1")), BugKind::RangeOverflow, "{store}");
    }
    // Nothing is stored in between.
    assert_eq!(result_of(d, "var t: int = 9; x = t - 5;"), Ok(4));
}

#[test]
fn bugs_of_expressions() {
    let d = "record R { f: int, next: ref R } var x: int; var a: [int; 3]; var m: map[2..4] int;";
    let cases = [
        ("var z: int = 0; x = 1 / z;", BugKind::DivisionByZero),
        ("var z: u8 = 0; let y = z % z;", BugKind::DivisionByZero),
        ("var i: int = 3; x = a[i];", BugKind::IndexOutOfBounds),
        ("var i: int = -1; a[i] = 1;", BugKind::IndexOutOfBounds),
        ("var r: ref R; x = r.f;", BugKind::NullDereference),
        ("var r: ref R = null; r.f = 1;", BugKind::NullDereference),
        ("let r = new R {}; x = r.next.f;", BugKind::NullDereference),
        ("var h: thread; join h;", BugKind::NullDereference),
        ("x = 1; assert x == 2;", BugKind::Assertion),
        ("var z: int = 0; await 1 / z == 1;", BugKind::DivisionByZero),
    ];
    for (body, kind) in cases {
        assert_eq!(bug(result_of(d, body)), kind, "{body}");
    }
    assert_eq!(result_of(d, "var i: 2..4 = 4; m[i] = 5; m[2] = 6; x = m[4] * 10 + m[2];"), Ok(56));
}

#[test]
fn a_store_evaluates_its_value_before_its_place() {
    let d = "var x: int; var a: [int; 2];";
    let e = "var z: int = 0; var i: int = 5;";
    assert_eq!(bug(result_of(d, &format!("{e} a[i] = 1 / z;"))), BugKind::DivisionByZero);
    assert_eq!(bug(result_of(d, &format!("{e} a[i] = a[0 - i] + 1 / z;"))), BugKind::IndexOutOfBounds);
}

#[test]
fn records_and_arrays_are_values_and_references_are_shared() {
    let d = "record P { a: int = 3, b: [int; 2] } record N { v: int = 7, next: ref N } var x: int; var p: P; var q: P;";
    assert_eq!(result_of(d, "p.b[1] = 5; q = p; p.b[1] = 6; x = q.b[1] * 10 + q.a;"), Ok(53));
    assert_eq!(result_of(d, "p.a = 4; if p == q { x = 1; } else { x = 2; }"), Ok(2));
    assert_eq!(result_of(d, "let n = new N {}; let m = n; m.v = 8; x = n.v;"), Ok(8));
    assert_eq!(result_of(d, "let n = new N {}; let m = new N { v: 1, next: n }; x = m.next.v * 10 + m.v;"), Ok(71));
    assert_eq!(result_of(d, "let n = new N {}; let m = new N {}; if n == m { x = 1; } else { x = 2; }"), Ok(2));
}

#[test]
fn control() {
    let d = "var x: int; proc fac(n: int) -> int { if n < 2 { return 1; } let r = fac(n - 1); return n * r; } \
             proc both(a: int) -> (int, bool) { return (a + 1, a > 0); } proc none() -> int { }";
    assert_eq!(result_of(d, "let r = fac(10); x = r;"), Ok(3_628_800));
    assert_eq!(result_of(d, "let (a, b) = both(4); if b { x = a; }"), Ok(5));
    assert_eq!(result_of(d, "x = 9; let r = none(); x = r;"), Ok(0));
    assert_eq!(result_of(d, "var s: int = 0; for i in 1..4 { s += i; } x = s;"), Ok(10));
    let odd = "var s: int = 0; var i: int = 0; loop { i += 1; if i > 9 { break; } if i % 2 == 0 { continue; } \
               var j: int = 0; while true { j += 1; if j == i { break; } } s += j; } x = s;";
    assert_eq!(result_of(d, odd), Ok(25));
}

#[test]
fn limits_of_one_step() {
    let d = "var x: int; proc deep(n: int) -> int { if n == 0 { return 0; } let r = deep(n - 1); return r; }";
    // `init` and the calls from `deep(4094)` to `deep(0)` are 4096 active procedures.
    assert_eq!(result_of(d, "let r = deep(4094); x = r;"), Ok(0));
    assert_eq!(limit(result_of(d, "let r = deep(4095); x = r;")), Limit::Recursion);
    assert_eq!(limit(result_of(d, "while true { }")), Limit::EndlessStep);
    assert_eq!(limit(result_of(d, "x = 1; while true { skip; }")), Limit::EndlessStep);
}
