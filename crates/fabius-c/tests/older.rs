//! What older programs and drivers use: parameters declared behind the parentheses, any number of arguments that nobody looks at,
//! operations that say whether their result fits, clocks.

mod common;

use common::said;

#[test]
fn parameters_are_declared_behind_the_parentheses() {
    let head = "int twice(); int sum(a, b, p) int a, *p; char b; { return a + b + *p; }\n\
                int twice(n) { return 2 * n; } int first(a) int a[]; { return a[0]; }\n\
                int call(f) int (*f)(int); { return f(3); }";
    assert_eq!(said(head, "int x = 5; assert(sum(1, 257, &x) == 7 && twice(4) == 8);"), "verified");
    assert_eq!(said(head, "int a[2] = { 6, 7 }; assert(first(a + 1) == 7 && call(twice) == 6);"), "verified");
    assert!(said(head, "sum(1, 2);").contains("takes 3 arguments"));
    assert!(said("int f(a) int b; { return a; }", "f(1);").contains("`b` is no parameter"));
}

#[test]
fn arguments_that_nobody_looks_at_are_evaluated() {
    let head = "#include <stdarg.h>\n#include <stdio.h>\nint n; int next(void) { return ++n; }\n\
                void say(const char *format, ...) { va_list all, again; va_start(all, format); va_copy(again, all);\n\
                vprintf(format, all); vfprintf(stderr, format, again); va_end(again); va_end(all); }";
    assert_eq!(said(head, "say(\"%d %d\\n\", next(), 2); assert(n == 1);"), "verified");
    assert_eq!(said(head, "void (*f)(const char *, ...) = say; f(\"x\", next(), next()); assert(n == 2);"), "verified");
    let taken = "#include <stdarg.h>\nint n; int next(void) { return ++n; } int first(int n, ...) { va_list all; va_start(all, n); return va_arg(all, int); }";
    assert_eq!(said(taken, "assert(first(1, next()) == 1 && n == 1);"), "verified");
}

#[test]
fn operations_say_whether_their_result_fits() {
    let add = |a: &str, b: &str, to: &str| format!("{to} r; int fails = __builtin_add_overflow({a}, {b}, &r);");
    let is = |start: String, result: &str, fails: u8| {
        said(
            "int one = 1, least = -2147483647 - 1; unsigned most = -1; long far = 1l << 62; unsigned long all = -1;",
            &format!("{start} assert(r == {result} && fails == {fails});"),
        )
    };
    assert_eq!(is(add("one", "2147483647", "int"), "least", 1), "verified");
    assert_eq!(is(add("one", "2147483646", "int"), "2147483647", 0), "verified");
    assert_eq!(is(add("one", "2147483647", "long"), "2147483648", 0), "verified");
    assert_eq!(is(add("one", "most", "unsigned"), "0", 1), "verified");
    assert_eq!(is(add("least", "1", "unsigned"), "2147483649u", 1), "verified");
    assert_eq!(is(add("one", "254", "unsigned char"), "255", 0), "verified");
    assert_eq!(is(add("one", "127", "signed char"), "-128", 1), "verified");
    assert_eq!(is(add("all", "1", "unsigned long"), "0", 1), "verified");
    assert_eq!(is(add("far", "far", "long"), "-far - far", 1), "verified");
    assert_eq!(is(add("far", "far - 1", "long"), "9223372036854775807l", 0), "verified");
    let sub = |a: &str, b: &str, to: &str| add(a, b, to).replace("add", "sub");
    assert_eq!(is(sub("least", "1", "int"), "2147483647", 1), "verified");
    assert_eq!(is(sub("one", "most", "unsigned"), "2", 1), "verified");
    assert_eq!(is(sub("all", "all - 1", "unsigned long"), "1", 0), "verified");
    assert_eq!(is(sub("all - 1", "all", "unsigned long"), "all", 1), "verified");
    let mul = |a: &str, b: &str, to: &str| add(a, b, to).replace("add", "mul");
    assert_eq!(is(mul("most", "most", "unsigned long"), "18446744065119617025ul", 0), "verified");
    assert_eq!(is(mul("most", "most", "long"), "-8589934591l", 1), "verified");
    assert_eq!(is(mul("least", "-1", "int"), "least", 1), "verified");
    assert_eq!(is(mul("far", "2", "long"), "-far - far", 1), "verified");
    assert_eq!(is(mul("all", "2", "unsigned long"), "all - 1", 1), "verified");
    assert_eq!(is(mul("all / 3", "3", "unsigned long"), "all", 0), "verified");
    let same = "int r = 2147483647; int fails = __builtin_sadd_overflow(r, 1, &r);";
    assert_eq!(is(same.into(), "least", 1), "verified");
    assert_eq!(is(same.replace("int r = 2147483647", "unsigned r = -1").replace("sadd", "uadd"), "0", 1), "verified");
    assert!(is(add("all", "far", "long"), "0", 0).contains("do not fit together"));
}

#[test]
fn clocks_write_what_they_tell() {
    let head = "#include <time.h>\n#include <sys/time.h>\n";
    let now = "struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec += 5; assert(t.tv_sec == 5);";
    assert_eq!(said(head, now), "verified");
    assert_eq!(said(head, "time_t t; time(&t); assert(t == 0 && time(NULL) == 0);"), "verified");
    assert_eq!(said(head, "struct timeval t; gettimeofday(&t, NULL); assert(t.tv_usec == 0);"), "verified");
    let old = "int old; pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old); pthread_setcancelstate(old, NULL);";
    assert_eq!(said("", old), "verified");
}

#[test]
fn the_first_value_of_a_mutex_says_of_what_kind_it_is_wherever_it_stands() {
    let macros = |text: &str| {
        text.replace("TWICE", "{ { 0, 0, 0, 0, PTHREAD_MUTEX_RECURSIVE_NP, 0, 0, { 0, 0 } } }")
            .replace("CHECKED", "{ { 0, 0, 0, 0, PTHREAD_MUTEX_ERRORCHECK_NP, 0, 0, { 0, 0 } } }")
            .replace("PLAIN", "PTHREAD_MUTEX_INITIALIZER")
    };
    let said = |head: &str, main: &str| said(&macros(head), &macros(main));
    let twice = |lock: &str| format!("pthread_mutex_lock({lock}); assert(pthread_mutex_lock({lock}) == 0);");
    let is_told = |lock: &str| format!("pthread_mutex_lock({lock}); assert(pthread_mutex_lock({lock}) == 35);");
    let three = "pthread_mutex_t a = TWICE, b = CHECKED, c = PLAIN;";
    assert_eq!(said(three, &(twice("&a") + &is_told("&b"))), "verified");
    assert_eq!(said(three, &twice("&c")), "Deadlock");
    // Names and remarks beside it say nothing.
    assert_eq!(said("pthread_mutex_t m = PLAIN; // not RECURSIVE\n", &twice("&m")), "Deadlock");
    assert_eq!(said("pthread_mutex_t RECURSIVE = PLAIN;", &twice("&RECURSIVE")), "Deadlock");
    let parts = "struct { int n; pthread_mutex_t m; } s = { 3, TWICE }; pthread_mutex_t all[] = { PLAIN, CHECKED };";
    assert_eq!(said(parts, &(twice("&s.m") + &is_told("&all[1]") + "assert(s.n == 3);")), "verified");
    assert_eq!(said(parts, &format!("assert(sizeof all == 2 * sizeof s.m); {}", twice("all"))), "Deadlock");
    assert_eq!(said("", &format!("pthread_mutex_t m = TWICE; {}", twice("&m"))), "verified");
    assert_eq!(said("", &format!("static pthread_mutex_t m = CHECKED; {}", is_told("&m"))), "verified");
}
