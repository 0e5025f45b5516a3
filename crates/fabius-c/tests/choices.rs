//! Choices among more values than are tried one by one: those that are tried stand for all, or the answer says that they do not.

mod common;

use common::{Found, check_text};

const HEAD: &str = "#include <assert.h>\nint fabius_any_int(int lo, int hi);\nint __VERIFIER_nondet_int(void);\n\
                    unsigned __VERIFIER_nondet_uint(void);\nlong __VERIFIER_nondet_long(void);\nvoid __VERIFIER_assume(int);\n";

fn said(declarations: &str, main: &str) -> String {
    match check_text(&format!("{HEAD}{declarations}\nint main(void) {{ {main} return 0; }}"), "all") {
        Found::Verified => "verified".into(),
        Found::Bug(kind, ..) => kind,
        Found::Other(other) if other.contains("not all values of a choice were tried") => "not all".into(),
        Found::Other(other) => other,
    }
}

#[test]
fn what_is_only_compared_is_tried_once_between_two_constants() {
    let n = "int n = __VERIFIER_nondet_int();";
    assert_eq!(said("", &format!("{n} assert(n != 123456);")), "Assertion");
    assert_eq!(said("", &format!("{n} if (n > 1000 && n < 1002) assert(n == 1001);")), "verified");
    assert_eq!(said("", &format!("{n} if (n > 1000 && 1003 > n) assert(n == 1001);")), "Assertion");
    assert_eq!(said("", &format!("{n} assert(n < 2147483647);")), "Assertion");
    assert_eq!(said("", &format!("{n} assert(n >= -2147483647 - 1);")), "verified");
    assert_eq!(said("", "unsigned u = __VERIFIER_nondet_uint(); assert(u != 4000000000u);"), "Assertion");
    assert_eq!(said("", "long l = __VERIFIER_nondet_long(); assert(l != 1l << 40);"), "Assertion");
    assert_eq!(said("int x;", "if (__VERIFIER_nondet_int()) x = 1; else x = 2; assert(x == 1 || x == 2);"), "verified");
    assert_eq!(said("int x;", "while (__VERIFIER_nondet_int()) x = 1 - x; assert(x == 0);"), "Assertion");
    let both = "int n = __VERIFIER_nondet_int(), m; if (n) m = n; else m = 5; assert(m != 77);";
    assert_eq!(said("", both), "Assertion");
    let wide = format!("{n} long l = n; assert(l != 40000);");
    assert_eq!(said("", &wide), "Assertion");
}

#[test]
fn what_is_used_otherwise_is_tried_where_it_is_small() {
    let n = "int n = __VERIFIER_nondet_int();";
    assert_eq!(said("int a[4];", &format!("{n} if (n >= 0 && n < 4) a[n] = 1;")), "verified");
    assert_eq!(said("int a[4];", &format!("{n} __VERIFIER_assume(n >= 0); if (n < 5) a[n] = 1;")), "IndexOutOfBounds");
    assert_eq!(said("", &format!("{n} assert(n * n != 49);")), "Assertion");
    assert_eq!(said("", &format!("{n} assert(n * n != 40000);")), "not all");
    assert_eq!(said("int f(int x) { return x; }", &format!("{n} assert(f(n) != 40000);")), "not all");
    assert_eq!(said("int g;", &format!("{n} g = n; assert(g != 40000);")), "not all");
    assert_eq!(said("", &format!("{n} int i; for (i = 0; i < n; i++) {{}} assert(i < 30);")), "not all");
    assert_eq!(
        said("", &format!("{n} if (n >= 0 && n < 4) {{ int i; for (i = 0; i < n; i++) {{}} assert(i < 4); }}")),
        "verified"
    );
    let again = "int i = 0, n = 2; while (i < n) { i++; n = __VERIFIER_nondet_int(); } assert(i != 30);";
    assert_eq!(said("", again), "not all");
    assert_eq!(said("", &format!("{n} int m = __VERIFIER_nondet_int(); assert(n != m + 1000);")), "not all");
    assert_eq!(said("", &format!("{n} n++; assert(n != 40000);")), "not all");
    assert_eq!(said("", "unsigned u = __VERIFIER_nondet_uint(); assert((int)u != -7);"), "not all");
    assert_eq!(
        said("", "assert(__VERIFIER_nondet_int() % 4 < 4); assert(__VERIFIER_nondet_uint() % 4 != 3);"),
        "Assertion"
    );
    assert_eq!(said("", "assert(__VERIFIER_nondet_int() % 4 >= -3);"), "verified");
    assert_eq!(said("", "assert(__VERIFIER_nondet_int() % 4 >= 0);"), "Assertion");
    assert_eq!(said("", "int n = fabius_any_int(100, 1000000); assert(n * 2 != 200);"), "Assertion");
}

/// Statements about a chosen number: it is compared, copied, and used where it is small.
fn block(rng: &mut fastrand::Rng, depth: u32) -> String {
    let mut text = String::new();
    for _ in 0..rng.u32(1..3) {
        let constant = [0, 1, 5, 17, 300, 301, 5000][rng.usize(0..7)];
        let op = ["<", "<=", ">", ">=", "==", "!="][rng.usize(0..6)];
        text += &match rng.u32(0..10) {
            0..5 if depth > 0 => {
                format!("if (a {op} {constant}) {{ {} }} else {{ {} }}", block(rng, depth - 1), block(rng, depth - 1))
            }
            0..6 => format!("{{ int c = a; if (c {op} {constant}) x++; }}"),
            6 => format!("if (a < {}) x += a + 1;", rng.u32(2..18)),
            7 => "x += 3;".into(),
            _ => format!("assert(x != {});", rng.u32(1..20)),
        };
    }
    text
}

#[test]
fn random_programs_say_what_trying_all_values_says() {
    let (mut bugs, mut verified) = (0, 0);
    for seed in 0..30 {
        let body = block(&mut fastrand::Rng::with_seed(seed), 3);
        // A choice that is as wide as can be tried, or wider by one.
        let with = |hi: u32| said("int x;", &format!("int a = fabius_any_int(0, {hi}); {body} assert(x < 2000);"));
        let (few, all) = (with(65536), with(65535));
        assert_eq!(all, few, "seed {seed}: {body}");
        if all == "verified" { verified += 1 } else { bugs += 1 }
    }
    assert!(bugs > 3 && verified > 5, "{bugs} bugs, {verified} verified");
}
