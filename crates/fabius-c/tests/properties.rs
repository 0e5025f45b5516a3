//! What is asked about a program decides which of its faults are bugs.

mod common;

use common::{Folder, Found, check_as};
use fabius_c::{DataModel, Options, Property};

const PROGRAM: &str = "#include <pthread.h>\n#include <stdlib.h>\n#include <limits.h>\nvoid reach_error(void) {}\nint x;\n\
    void *run(void *p) { x = 1; return p; }\n";

fn with(property: Option<Property>) -> Options {
    Options { property, ..Options::default() }
}

/// What is said of a program whose `main` this is.
fn said(main: &str, points: &str, options: &Options) -> String {
    let folder = Folder::new();
    let file = folder.file("x.c", &format!("{PROGRAM}int main(void) {{ {main} }}"));
    match check_as(&[&file], points, options) {
        Found::Verified => "verified".into(),
        Found::Bug(kind, ..) => kind,
        Found::Other(other) if other.contains("more than is followed") => "not followed".into(),
        Found::Other(other) => other,
    }
}

#[test]
fn other_faults_than_those_asked_about_are_none() {
    let race = "pthread_t t; pthread_create(&t, 0, run, 0); x = 2; pthread_join(t, 0); return 0;";
    let error = "if (x == 0) reach_error(); return 0;";
    let null = "int *p = 0; *p = 1; return 0;";
    let twice = "int *p = malloc(sizeof(int)); free(p); free(p); return 0;";
    let kept = "int *p = malloc(sizeof(int)); *p = 1; return 0;";
    let freed = "int *p = malloc(sizeof(int)); *p = 1; free(p); return 0;";
    let overflow = "int y = INT_MAX - x; y = y + 1; return y;";
    let aborts = "if (x == 0) abort(); reach_error(); return 0;";
    use Property::*;
    for (main, points, property, expected) in [
        (race, "sync", None, "DataRace"),
        (race, "sync", Some(NoDataRace), "DataRace"),
        (race, "all", Some(UnreachCall), "verified"),
        (error, "all", None, "Assertion"),
        (error, "all", Some(UnreachCall), "Assertion"),
        (error, "all", Some(NoOverflow), "verified"),
        (error, "sync", Some(NoDataRace), "verified"),
        (null, "all", None, "NullDereference"),
        (null, "all", Some(ValidMemsafety), "NullDereference"),
        (null, "all", Some(UnreachCall), "verified"),
        (twice, "all", Some(ValidMemsafety), "Memory"),
        // What a second `free` does is not known.
        (twice, "all", Some(UnreachCall), "not followed"),
        (kept, "all", None, "verified"),
        (kept, "all", Some(ValidMemcleanup), "Leak"),
        (kept, "all", Some(ValidMemsafety), "Leak"),
        (freed, "all", Some(ValidMemcleanup), "verified"),
        (freed, "all", Some(ValidMemsafety), "verified"),
        (overflow, "all", None, "verified"),
        (overflow, "all", Some(NoOverflow), "RangeOverflow"),
        (aborts, "all", None, "Assertion"),
        (aborts, "all", Some(UnreachCall), "verified"),
    ] {
        assert_eq!(said(main, points, &with(property)), expected, "{main} {property:?}");
    }
}

#[test]
fn atomic_operations_wrap() {
    let options = with(Some(Property::NoOverflow));
    for (work, expected) in [
        ("__atomic_fetch_add(&a, 1, __ATOMIC_SEQ_CST); if (a != INT_MIN) x = INT_MAX + a", "verified"),
        ("__sync_fetch_and_add(&x, INT_MAX); __sync_fetch_and_add(&x, 1)", "verified"),
        ("__atomic_fetch_sub(&a, -1, __ATOMIC_RELAXED)", "verified"),
        ("__atomic_fetch_add(&a, x + INT_MAX + 1, __ATOMIC_SEQ_CST)", "RangeOverflow"),
        ("a -= 1; a += 1", "verified"),
        // Of operators C does not say so.
        ("a += 1", "not followed"),
        ("a++", "not followed"),
    ] {
        let main = format!("static _Atomic int a = INT_MAX; {work}; return 0;");
        assert_eq!(said(&main, "all", &options), expected, "{work}");
    }
}

#[test]
fn results_that_just_fit_do_not_overflow() {
    let options = Options { overflow: true, ..Options::default() };
    for (expression, fits) in [
        ("INT_MAX - 1 + one", true),
        ("INT_MAX + one", false),
        ("INT_MIN + one", true),
        ("INT_MIN - one", false),
        ("-(INT_MIN + one)", true),
        ("-(INT_MIN + one - 1)", false),
        ("46340 * (46340 * one)", true),
        ("46341 * (46341 * one)", false),
        ("INT_MIN / -one", false),
        ("INT_MAX / -one", true),
        ("LONG_MAX - 1 + one", true),
        ("LONG_MAX + one", false),
        ("LONG_MIN - one", false),
        ("LONG_MAX - -one", false),
        ("LONG_MIN - -one", true),
        ("3037000499 * (3037000499 * one)", true),
        ("3037000500 * (3037000500 * one)", false),
        ("LONG_MIN * -one", false),
        ("LONG_MIN * one", true),
        ("-4611686018427387904 * (2 * one)", true),
        ("UINT_MAX + one", true),
        ("(char)(127 + one)", true),
        ("abs(INT_MIN + one)", true),
        ("abs(INT_MIN + one - 1)", false),
        ("labs(LONG_MIN + one - 1)", false),
        ("one << 30", true),
        ("one << 31", false),
        ("-(one << 30) << 1", true),
        ("-(one << 30) << 2", false),
        ("(one - 1) << 31", true),
        ("(1L << 60) * 3 << one", true),
        ("(1L << 61) * 3 << one", false),
        ("1u * one << 31", true),
    ] {
        let main = format!("int one = x + 1; long y = {expression}; return y == 0;");
        let expected = if fits { "verified" } else { "RangeOverflow" };
        assert_eq!(said(&main, "all", &options), expected, "{expression}");
    }
}

#[test]
fn the_data_model_says_how_wide_long_is() {
    let main = "if (sizeof(long) == 4 && sizeof(char *) == 4 && sizeof(long long) == 8 && (1UL << 31) * 2 == 0) reach_error();";
    let narrow = Options { model: DataModel::Ilp32, ..Options::default() };
    assert_eq!(said(main, "all", &narrow), "Assertion");
    assert_eq!(said(main, "all", &Options::default()), "verified");
    let laid_out = "struct d { int a; double d; }; struct l { char a; long long l; }; struct i { char c; struct d d; }; \
                    struct f { char c; long double d; }; struct s { char c; _Atomic long long l; }; \
                    if (sizeof(struct d) == 12 && sizeof(struct l) == 12 && sizeof(struct i) == 16 && sizeof(struct f) == 16 \
                    && sizeof(struct s) == 16) reach_error();";
    assert_eq!(said(laid_out, "all", &narrow), "Assertion");
    assert_eq!(said(laid_out, "all", &Options::default()), "verified");
}

#[test]
fn property_files_are_read() {
    for property in Property::ALL {
        assert_eq!(Property::of_text(property.specification()), Some(property));
        assert_eq!(Property::of_name(property.name()), Some(property));
    }
    let memsafety = "CHECK( init(main()), LTL(G valid-free) )\nCHECK( init(main()), LTL(G valid-deref) )\n\
                     CHECK( init(main()), LTL(G valid-memtrack) )\n\n";
    assert_eq!(Property::of_text(memsafety), Some(Property::ValidMemsafety));
    assert_eq!(
        Property::of_text("CHECK( init(main()), LTL(G ! call(__VERIFIER_error())) )"),
        Some(Property::UnreachCall)
    );
    assert_eq!(Property::of_text("CHECK( init(main()), LTL(F end) )"), None);
    assert_eq!(Property::of_text(""), None);
}

#[test]
fn what_is_shifted_by_too_much_is_not_followed() {
    for amount in ["32 * one", "-one"] {
        let main = format!("int one = x + 1; return 1 << ({amount});");
        assert_eq!(said(&main, "all", &with(Some(Property::NoOverflow))), "not followed", "{amount}");
    }
}

#[test]
fn a_variable_is_no_memory_behind_its_block() {
    let is = |head: &str, main: &str| {
        let folder = Folder::new();
        let file = folder.file("x.c", &format!("{PROGRAM}int *g;\n{head}\nint main(void) {{ {main} return 0; }}"));
        // Whatever is asked about.
        let [safe, all] =
            [Some(Property::ValidMemsafety), None].map(|property| match check_as(&[&file], "all", &with(property)) {
                Found::Verified => "verified".into(),
                Found::Bug(kind, _, message, _) if message.contains("has ended") => kind,
                other => format!("{other:?}"),
            });
        assert_eq!(safe, all, "{head} {main}");
        safe
    };
    assert_eq!(is("int *f(void) { int x = 3; int *p = &x; return p; }", "int *p = f(); *p = 1;"), "Memory");
    assert_eq!(is("int f(void) { int x = 3; g = &x; return *g; }", "f(); f();"), "verified");
    assert_eq!(is("int f(void) { int x = 3; g = &x; if (x) return 1; return 2; }", "f(); *g = 1;"), "Memory");
    assert_eq!(is("void f(int n) { g = &n; }", "f(1); *g = 1;"), "Memory");
    assert_eq!(is("", "{ int y = 3; g = &y; *g = 1; } *g = 1;"), "Memory");
    assert_eq!(is("", "{ int y = 3; g = &y; } { int y = 4; g = &y; *g = 1; }"), "verified");
    assert_eq!(is("", "for (int i = 0; i < 2; i++) { int y = i; g = &y; *g = 1; if (i) break; }"), "verified");
    assert_eq!(is("", "for (int i = 0; i < 2; i++) { int y = i; g = &y; if (i) break; } *g = 1;"), "Memory");
    assert_eq!(is("", "switch (x) { case 0: { int y = 1; g = &y; break; } } *g = 1;"), "Memory");
    assert_eq!(is("struct s { int a; };", "{ g = &(struct s){ 1 }.a; *g = 2; } *g = 1;"), "Memory");
    assert_eq!(is("", "{ int y = 3; g = &y; goto out; } out: *g = 1;"), "Memory");
    assert_eq!(is("", "int y = 3; if (x == 0) { g = &y; goto out; } out: *g = 1;"), "verified");
    assert_eq!(is("", "goto in; { int y; in: y = 3; g = &y; *g = 1; }"), "verified");
    assert_eq!(is("", "goto in; int y; in: y = 3; g = &y; *g = 1;"), "verified");
    assert_eq!(is("", "int *p = ({ int y = 1; &y; }); *p = 1;"), "Memory");
    assert_eq!(is("", "int z = ({ int y = 1; g = &y; *g; }); x = z;"), "verified");
    let thread = "void *f(void *p) { int y = 1; g = &y; *(int *)p = *g; return 0; }";
    let main = "pthread_t t; int r; pthread_create(&t, 0, f, &r); pthread_join(t, 0);";
    assert_eq!(is(thread, &format!("{main} r = 2;")), "verified");
    assert_eq!(is(thread, &format!("{main} *g = 2;")), "Memory");
    // What each thread has one of ends with it.
    let thread = "__thread int y; void *f(void *p) { y = 1; g = &y; *g = 2; return 0; }";
    assert_eq!(is(thread, &format!("{main} *g = 2;")), "Memory");
    assert_eq!(is(thread, &format!("g = &y; *g = 1; {main} g = &y; *g = 2;")), "verified");
    // Those of `main` are there until the process ends.
    let thread = "void *f(void *p) { *(int *)p = 1; return 0; }";
    assert_eq!(is(thread, "pthread_t t; int r; pthread_create(&t, 0, f, &r);"), "verified");
}

#[test]
fn what_has_no_body_is_not_called_later_without_a_word() {
    let options = with(Some(Property::UnreachCall));
    let refused = [
        "void (*f)(void) = reach_error; f(); return 0;",
        "atexit(reach_error); return 0;",
        "atexit((void (*)(void))random); return 0;",
        "pthread_key_t k; pthread_key_create(&k, (void (*)(void *))random); return 0;",
    ];
    for main in refused {
        assert!(!matches!(said(main, "all", &options).as_str(), "verified" | "Assertion"), "{main}");
    }
    assert_eq!(said("atexit(abort); return 0;", "all", &options), "verified");
    assert_eq!(said("pthread_key_t k; pthread_key_create(&k, free); return 0;", "all", &options), "verified");
}
