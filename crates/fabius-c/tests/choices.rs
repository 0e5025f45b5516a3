//! Choices among more values than are tried one by one: those that are tried stand for all, or the answer says that they do not.

mod common;

use common::{Folder, Found, check_text, read_as};
use fabius_c::{Options, Property};
use fabius_trace::{Bound, Points, Verdict};
use fabius_verify::portfolio::{Ask, Member, decide};
use fabius_verify::{Plan, check, program_id};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

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

/// Through functions, globals and threads.
#[test]
fn what_is_only_compared_anywhere_is_tried_once_between_two_constants() {
    let n = "int n = __VERIFIER_nondet_int();";
    assert_eq!(said("int f(int x) { return x; }", &format!("{n} assert(f(n) != 40000);")), "Assertion");
    assert_eq!(said("int f(int x) { return x > 7; }", &format!("{n} if (f(n)) assert(n > 6);")), "verified");
    assert_eq!(said("int g; int f(void) { return g; }", &format!("{n} g = n; assert(f() != 40000);")), "Assertion");
    let both = "int g; void f(void) { if (g > 100) assert(g > 100); }";
    assert_eq!(said(both, &format!("{n} g = n; f(); g = __VERIFIER_nondet_int(); f();")), "verified");
    let meets = "int g, h; void f(void) { if (g > 100) assert(g != h); }";
    assert_eq!(said(meets, &format!("{n} g = n; h = __VERIFIER_nondet_int(); f();")), "not all");
    let counts = "int g; void f(void) { g++; }";
    assert_eq!(said(counts, &format!("{n} g = n; f(); assert(g != 40000);")), "not all");
    let array = "int a[2]; int f(int i) { return a[i]; }";
    assert_eq!(said(array, &format!("{n} a[1] = n; assert(f(1) != 40000);")), "not all");
    let thread = "#include <pthread.h>\nint g, h; void *see(void *p) { if (g == 40) h = 1; return p; }";
    let starts = format!("{n} g = n; pthread_t t; pthread_create(&t, 0, see, 0); pthread_join(t, 0);");
    assert_eq!(said(thread, &format!("{starts} assert(!h || g == 40);")), "verified");
    assert_eq!(said(thread, &format!("{starts} assert(!h);")), "Assertion");
    let passed = "#include <pthread.h>\nint h; void *see(void *p) { if ((long)p == 40) h = 1; return p; }";
    let starts = format!("{n} pthread_t t; pthread_create(&t, 0, see, (void *)(long)n); pthread_join(t, 0);");
    assert_eq!(said(passed, &format!("{starts} assert(!h);")), "Assertion");
}

/// One value for each remainder, between each two constants.
#[test]
fn remainders_are_tried() {
    let n = "int n = __VERIFIER_nondet_int();";
    assert_eq!(said("int a[2];", "unsigned u = __VERIFIER_nondet_uint(); a[u % 2] = 1;"), "verified");
    assert_eq!(said("int a[2];", &format!("{n} a[n % 2] = 1;")), "IndexOutOfBounds");
    assert_eq!(said("", &format!("{n} if (n > 999 && n < 1002 && n % 3 == 2) assert(n == 1001);")), "verified");
    assert_eq!(said("", &format!("{n} if (n > 999 && n < 1002) assert(n % 3 == 2);")), "Assertion");
    assert_eq!(said("", &format!("{n} if (n > 50 && n % 7 == 3) assert((n & 4) == 0);")), "Assertion");
    assert_eq!(said("", &format!("{n} if (n < 0) assert(n % 5 != -4);")), "Assertion");
    assert_eq!(said("", &format!("{n} assert(n % 5 > -5 && (n & 7) >= 0 && (n & 7) < 8);")), "verified");
    assert_eq!(said("", &format!("{n} assert(n % 255 != 77 || n % 256 != 200);")), "not all");
    // Behind a remainder the number is used in another way, too.
    assert_eq!(said("", &format!("{n} if (n % 3 == 1) assert(n * n != 10000);")), "not all");
    assert_eq!(said("", &format!("{n} if (n % 3 == -1) assert(n * n != 10000);")), "not all");
    assert_eq!(said("int g;", &format!("{n} if (n % 3 == 1) {{ g = n + 1; assert(g != 101); }}")), "not all");
    let unsigned = "unsigned u = __VERIFIER_nondet_uint(); if (u % 2 == 0) assert(u / 2 != 5000);";
    assert_eq!(said("", unsigned), "not all");
}

/// What flows nowhere may have any value.
#[test]
fn what_nobody_asks_about_is_not_tried() {
    let n = "int n = __VERIFIER_nondet_int();";
    assert_eq!(said("int g;", &format!("{n} g = n * 3 + 1; g ^= n;")), "verified");
    assert_eq!(said("int a[4], s;", &format!("{n} a[1] = n; s += a[0] + a[1];")), "verified");
    assert_eq!(said("int g; void f(int x) { g += x; }", &format!("{n} f(n + 1);")), "verified");
    assert_eq!(said("int g, h;", &format!("{n} g = n + 1; h = g; assert(h != 40001);")), "not all");
    assert_eq!(said("int a[4], g;", &format!("{n} g = a[n & 7];")), "IndexOutOfBounds");
    assert_eq!(said("int g;", &format!("{n} g = 5 / (n + 1);")), "DivisionByZero");
    assert_eq!(said("int g, h;", &format!("{n} g = n + 1; h = g; int i; for (i = 0; i < h; i++) {{}} ")), "not all");
}

#[test]
fn what_is_used_otherwise_is_tried_where_it_is_small() {
    let n = "int n = __VERIFIER_nondet_int();";
    assert_eq!(said("int a[4];", &format!("{n} if (n >= 0 && n < 4) a[n] = 1;")), "verified");
    assert_eq!(said("int a[4];", &format!("{n} __VERIFIER_assume(n >= 0); if (n < 5) a[n] = 1;")), "IndexOutOfBounds");
    assert_eq!(said("", &format!("{n} assert(n * n != 49);")), "Assertion");
    assert_eq!(said("", &format!("{n} assert(n * n != 40000);")), "not all");
    assert_eq!(said("int f(int x) { return x + 1; }", &format!("{n} assert(f(n) != 40000);")), "not all");
    assert_eq!(said("int g;", &format!("{n} g = n; g++; assert(g != 40000);")), "not all");
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

#[test]
fn values_that_are_dropped_at_once_are_not_chosen() {
    let n = "g = __VERIFIER_nondet_int(); __VERIFIER_assume(g >= 2 && g < 6);";
    assert_eq!(said("int g, a[6];", &format!("{n} a[g] = 1; assert(g * g < 36);")), "verified");
    assert_eq!(said("int g, a[5];", &format!("{n} a[g] = 1;")), "IndexOutOfBounds");
    // What does not compare with constants is not known.
    assert_eq!(
        said("int g, k = 6;", "g = __VERIFIER_nondet_int(); __VERIFIER_assume(g < k); assert(g < 6);"),
        "not all"
    );
    let fails = "g = __VERIFIER_nondet_int(); assert(g != 40); __VERIFIER_assume(g == 3);";
    assert_ne!(said("int g;", fails), "verified");
    let divides = "g = __VERIFIER_nondet_int(); h = 8 / (g - 40); __VERIFIER_assume(g == 3);";
    assert_ne!(said("int g, h;", divides), "verified");
}

/// Whoever ends the process for a value drops it.
#[test]
fn values_with_which_the_process_ends_at_once_are_not_chosen() {
    let n = "g = __VERIFIER_nondet_int(); if (g < 2 || g >= 6) return 0;";
    assert_eq!(said("int g, a[6];", &format!("{n} a[g] = 1; assert(g * g < 36);")), "verified");
    assert_eq!(said("int g, a[5];", &format!("{n} a[g] = 1;")), "IndexOutOfBounds");
    let exits = "#include <stdlib.h>\nint g, h, a[6];";
    let exit = n.replace("return 0", "exit(1)");
    assert_eq!(said(exits, &format!("{exit} a[g] = 1; assert(g * g < 36);")), "verified");
    let local = "int n = __VERIFIER_nondet_int(); if (!(n > 0 && n < 4)) { return 1; } int i, s = 0; for (i = 0; i < n; i++) s += n;";
    assert_eq!(said("", &format!("{local} assert(s == n * n);")), "verified");
    // Where something happens behind the end, that counts.
    let handler = format!("{exits} void look(void) {{ assert(g != 40); }}");
    assert_ne!(said(&handler, &format!("atexit(look); {n}")), "verified");
    let in_function = "int g; int f(void) { g = __VERIFIER_nondet_int(); if (g < 2 || g >= 6) return 0; return 1; }";
    assert_ne!(said(in_function, "f(); assert(g != 40);"), "verified");
    let writes = "g = __VERIFIER_nondet_int(); h = 8 / (g - 40); if (g != 3) return 0;";
    assert_ne!(said("int g, h;", writes), "verified");
}

/// What others see of a value counts, though it is dropped afterwards.
#[test]
fn values_that_others_may_see_are_chosen() {
    let see = "#include <pthread.h>\nint g, h; void *see(void *p) { assert(g != 40); return p; }";
    let before = "pthread_t t; pthread_create(&t, 0, see, 0);";
    let choose = "g = __VERIFIER_nondet_int(); __VERIFIER_assume(g == 3);";
    assert_eq!(said(see, &format!("{choose} {before}")), "verified");
    assert_ne!(said(see, &format!("{before} {choose}")), "verified");
    assert_ne!(said(see, &format!("for (int i = 0; i < 2; i++) {{ {choose} {before} }}")), "verified");
    let through = format!("{see} void begin(void) {{ {before} }}");
    assert_ne!(said(&through, &format!("begin(); {choose}")), "verified");
    let again = format!("{see} int main(void); void *more(void *p) {{ main(); return p; }}");
    let twice = format!("{choose} pthread_t u; if (!h) {{ h = 1; pthread_create(&u, 0, more, 0); }} {before}");
    assert_ne!(said(&again, &twice), "verified");
}

/// One value after the other, as they are and as the search has them.
#[test]
fn conditions_at_random_drop_what_they_drop() {
    let mut rng = fastrand::Rng::with_seed(7);
    let holds = |op: &str, a: i32, b: i32| match op {
        "<" => a < b,
        "<=" => a <= b,
        "==" => a == b,
        "!=" => a != b,
        ">=" => a >= b,
        _ => a > b,
    };
    let mut wrong = 0;
    for _ in 0..60 {
        let mut part = || {
            let op = ["<", "<=", "==", "!=", ">=", ">"][rng.usize(0..6)];
            (op, rng.i32(-130..130), if rng.bool() { "&&" } else { "||" }, rng.bool())
        };
        let parts: Vec<_> = (0..3).map(|_| part()).collect();
        let text = |of: &[(&str, i32, &str, bool)]| {
            of.iter().fold("1".to_string(), |text, (op, n, and, not)| {
                format!("({text} {and} {}(g {op} {n}))", if *not { "!" } else { "" })
            })
        };
        let truth = |of: &[(&str, i32, &str, bool)], g: i32| {
            of.iter().fold(true, |all, (op, n, and, not)| {
                let one = holds(op, g, *n) != *not;
                if *and == "&&" { all && one } else { all || one }
            })
        };
        let (kept, left) = parts.split_at(2);
        let expected = (-128..128).any(|g| truth(kept, g) && !truth(left, g));
        let main = format!("g = __VERIFIER_nondet_char(); __VERIFIER_assume({}); assert({});", text(kept), text(left));
        let found = said("signed char g; signed char __VERIFIER_nondet_char(void);", &main);
        match found.as_str() {
            // All that were left are dropped.
            "verified" => assert!(!expected, "{main}"),
            "Assertion" => assert!(expected, "{main}"),
            other => assert!(!expected && !(-128..128).any(|g| truth(kept, g)), "{main}: {other}"),
        }
        wrong += u32::from(expected);
    }
    assert!((10..50).contains(&wrong), "{wrong}");
}

/// What exploration says about data races where it is asked beside others.
fn about_races(declarations: &str, work: &str) -> String {
    let folder = Folder::new();
    let text = format!(
        "{HEAD}#include <pthread.h>\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int x, y, a[4];\n{declarations}\n\
         static void lock(void) {{ pthread_mutex_lock(&m); }}\nstatic void unlock(void) {{ pthread_mutex_unlock(&m); }}\n\
         void *run(void *p) {{ int n = __VERIFIER_nondet_int(); {work} return 0; }}\n\
         int main(void) {{ pthread_t t; pthread_create(&t, 0, run, 0); run(0); return 0; }}"
    );
    let options = Options { property: Some(Property::NoDataRace), ..Options::default() };
    let loaded = read_as(&[&folder.file("x.c", &text)], &options).expect("it is taken");
    let id = program_id("x.c", &loaded.source, &[], &[]);
    let ask = Ask {
        only: Some(Member::Exploration),
        points: Points::Sync,
        deadlock: false,
        time: Some(Duration::from_secs(60)),
        ..Ask::default()
    };
    let decided = decide(&loaded.program, &id, &ask, &AtomicBool::new(false), &mut |_, _| {});
    match decided.expect("it can be explored").report.verdict {
        Verdict::Verified => "verified".into(),
        Verdict::Bug { trace } => format!("{:?}", trace.kind),
        other if format!("{other:?}").contains("not all values of a choice were tried") => "not all".into(),
        other => format!("{other:?}"),
    }
}

#[test]
fn what_races_with_no_value_does_not_race() {
    let guarded = "{ lock(); x = 1; unlock(); }";
    for (work, expected) in [
        (format!("if (n * n == 9) {guarded}"), "verified"),
        (format!("int k = n * 3; while (k + n > 5) {{ {guarded} k -= n; }}"), "verified"),
        (format!("__VERIFIER_assume(n * n > 10); {guarded}"), "verified"),
        ("f(n * 5);".into(), "verified"),
        ("if (g(n) > 3) f(1); else f(0);".into(), "verified"),
        ("lock(); x = n * n; if (x + n == 5) y = 1; if (x) y = x; unlock();".into(), "verified"),
        ("lock(); x += n * n; if (x == 123456) a[1] = x; unlock();".into(), "verified"),
        ("lock(); if (n * n == 3) x = 4; else x = 5; if (x == 5) { unlock(); return 0; } unlock();".into(), "verified"),
        // A race, of which it is not known whether it is one.
        ("if (n * 3 == 123456789) x = 1;".into(), "not all"),
        ("lock(); y = n * 3; int k = y; unlock(); if (k == 123456789) x = 1;".into(), "not all"),
        ("f(n * 3 == 123456789 ? 2 : 1);".into(), "not all"),
        // It decides what is accessed, or whether that is defined.
        ("lock(); a[n & 3] = 1; unlock();".into(), "verified"),
        (format!("lock(); a[n * n % 4 & 3] = 1; unlock(); if (n * n == 7) {guarded}"), "not all"),
        (format!("if (100 / (n * 3 - 123456789) == 7) {guarded}"), "not all"),
        (
            format!("int *p = n * 3 == 123456789 ? 0 : &y; lock(); *p = 1; unlock(); if (n * n == 7) {guarded}"),
            "not all",
        ),
        // What is known stays known.
        ("if (n * n == 7) { if (x == 1) y = 1; }".into(), "verified"),
        ("if (n * n == 9 && x == 0) y = 1;".into(), "DataRace"),
    ] {
        let functions = "static void lock(void); static void unlock(void);\n\
            static void f(int k) { if (k == 2) { x = 1; } else if (k == 10) { lock(); unlock(); } }\n\
            static int g(int k) { return k * k; }";
        let guarded = functions.replace("{ x = 1; }", "{ lock(); x = 1; unlock(); }");
        let functions = if expected == "not all" { functions.into() } else { guarded };
        assert_eq!(about_races(&functions, &work), expected, "{work}");
    }
}

/// A few values are tried on packed states, too, also where a step is made again by the other interpreter.
#[test]
fn few_values_are_tried_where_nothing_is_counted() {
    let text = format!(
        "{HEAD}#include <pthread.h>\n#include <stdlib.h>\nint x, y; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         void f(int r) {{ y = 1; if (r == 77777) x = 1; }}\n\
         void *w(void *a) {{ pthread_mutex_lock(&m); int r = rand(); if (r >= 100) f(r); pthread_mutex_unlock(&m); return 0; }}\n\
         int main(void) {{ pthread_t a; pthread_create(&a, 0, w, 0); pthread_join(a, 0); assert(x == 0); return 0; }}"
    );
    let folder = Folder::new();
    let loaded = read_as(&[&folder.file("x.c", &text)], &Options::default()).expect("it is read");
    let id = program_id("x.c", &loaded.source, &[], &[]);
    for bound in [Bound::None, Bound::Preemptions] {
        let plan = Plan { bound, ..Plan::default() };
        let report = check(&loaded.program, &id, &plan, &AtomicBool::new(false), &|_| {}).expect("it can be explored");
        assert!(matches!(report.verdict, Verdict::Bug { .. }), "{bound:?}: {:?}", report.verdict);
    }
}
