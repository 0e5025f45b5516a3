//! Which loops of `main` that start threads without an end are taken as any number of threads.

mod common;

use common::{Folder, HEAD, read_as};
use fabius_c::{Creation, Options};
use fabius_lang::program::Type;

const STDIO: &str = "#include <stdio.h>";

/// How many processes of any number a program has; none if it is not taken so.
fn of_any_number(declarations: &str, main: &str) -> Option<usize> {
    let text = format!(
        "{HEAD}#include <unistd.h>\nint n; extern int __VERIFIER_nondet_int(void); void *run(void *p) {{ n = 1; return 0; }} \
         void *other(void *p) {{ return 0; }}\n{declarations}\nint main(void) {{ {main} }}"
    );
    let folder = Folder::new();
    let options = Options { creation: Creation::AnyNumber, ..Options::default() };
    let loaded = read_as(&[&folder.file("x.c", &text)], &options).unwrap_or_else(|refused| panic!("{refused}"));
    let any = loaded.program.processes.iter().filter(|p| p.count.is_none()).count();
    assert_eq!(loaded.starts_without_end, any > 0);
    loaded.starts_without_end.then_some(any)
}

#[test]
fn threads_that_a_loop_starts_are_any_number() {
    let again = "while (1) pthread_create(&t, 0, run, 0);";
    for (declarations, main, many) in [
        ("", format!("pthread_t t; {again}"), 1),
        ("pthread_t t;", again.into(), 1),
        // Others of that name.
        ("pthread_t t; void *by(void *p) { int t = 3; return (void *)(long)t; }", again.into(), 1),
        ("pthread_t t; int by(int t) { return t; }", again.into(), 1),
        ("struct s { int t; } x;", format!("pthread_t t; puts_t: x.t = 1; {again}"), 1),
        ("", format!("pthread_t t; for (int t = 0; t < 2; t++) n = t; {again}"), 1),
        ("", format!("pthread_t t, unused, more[3]; /* t, t */ {again}"), 1),
        ("#include <stdio.h>", format!("pthread_t t; printf(\"t\"); {again}"), 1),
        // Handles of the loop.
        ("", "while (1) { pthread_t t; pthread_create(&t, 0, run, 0); }".into(), 1),
        ("", "for (;;) { pthread_t t, u; pthread_create(&t, 0, run, 0); pthread_create(&u, 0, other, 0); }".into(), 2),
        ("", "pthread_t t; while (1) { pthread_create(&t, 0, run, 0); pthread_detach(t); sleep(1); }".into(), 1),
        ("", "pthread_t t; while (1) { if (pthread_create(&t, 0, run, 0) != 0) return 1; }".into(), 1),
        ("", "pthread_t t; while (__VERIFIER_nondet_int()) (void)pthread_create(&t, 0, run, 0); return 0;".into(), 1),
        // What is done where a thread is not created.
        (STDIO, "pthread_t t; while (1) { int r = pthread_create(&t, 0, run, 0); if (r) { perror(\"no\"); exit(r); } }".into(), 1),
        ("", "pthread_t t; int r; while (1) { r = pthread_create(&t, 0, run, 0); assert(r == 0); pthread_detach(t); }".into(), 1),
        ("", "pthread_t t; int r; while (1) if ((r = pthread_create(&t, 0, run, 0)) != 0) return 1;".into(), 1),
        (STDIO, "pthread_t t; for (;;) { if (!pthread_create(&t, 0, run, 0)) { printf(\"one\"); } else { n = 2; } }".into(), 1),
        ("", "pthread_t t; while (pthread_create(&t, 0, run, 0) == 0); return 0;".into(), 1),
        // First elements, and jumps back.
        ("", "pthread_t t[2]; while (1) pthread_create(&t[0], 0, run, 0);".into(), 1),
        ("", "while (1) { pthread_t t[1]; pthread_create(&t[0], 0, run, 0); pthread_detach(t[0]); }".into(), 1),
        ("", "pthread_t t; n = 4; more: pthread_create(&t, 0, run, 0); goto more;".into(), 1),
        ("", "pthread_t t; more:; pthread_create(&t, 0, run, 0); if (__VERIFIER_nondet_int()) goto more; return 0;".into(), 1),
        // Functions that start threads.
        ("static void start(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_detach(t); }", "while (1) start();".into(), 1),
        (
            "static void start(pthread_t *t, void *(*f)(void *), void *p) { int r = pthread_create(t, 0, f, p); if (r != 0) exit(1); }
             static void both(pthread_t *t) { start(t, run, 0); start(t, other, &n); }",
            "pthread_t t; while (1) both(&t);".into(),
            2,
        ),
        ("typedef void *body(void *); static int start(body f) { pthread_t t; pthread_create(&t, 0, f, 0); return 0; }", "while (1) start(run);".into(), 1),
        ("", "pthread_attr_t a; pthread_t t; pthread_attr_init(&a); while (1) pthread_create(&t, &a, run, 0);".into(), 1),
    ] {
        assert_eq!(of_any_number(declarations, &main), Some(many), "{declarations} {main}");
    }
}

#[test]
fn threads_that_somebody_may_wait_for_are_not() {
    for (declarations, main) in [
        ("", "pthread_t t; while (1) { pthread_create(&t, 0, run, 0); pthread_join(t, 0); }"),
        ("pthread_t t; void *by(void *p) { pthread_join(t, 0); return 0; }", "while (1) pthread_create(&t, 0, by, 0);"),
        ("pthread_t t, *p = &t;", "while (1) pthread_create(&t, 0, run, 0);"),
        (
            "pthread_t t; void *by(void *p) { extern pthread_t t; pthread_join(t, 0); return 0; }",
            "while (1) pthread_create(&t, 0, by, 0);",
        ),
        (
            "pthread_t t; void *by(void *p) { { int t; (void)t; } pthread_join(t, 0); return 0; }",
            "while (1) pthread_create(&t, 0, by, 0);",
        ),
        (
            "pthread_t t; void *by(void *p) { void (*f)(int t); (void)f; pthread_join(t, 0); return 0; }",
            "while (1) pthread_create(&t, 0, by, 0);",
        ),
        ("", "pthread_t t, *p = &t; while (1) pthread_create(&t, 0, run, 0);"),
        ("", "while (1) { pthread_t t; pthread_create(&t, 0, run, p); pthread_create(&t, 0, other, &t); }"),
        ("", "while (1) { pthread_t t = 0; pthread_create(&t, 0, run, 0); }"),
        ("", "pthread_t t; while (1) { pthread_create(&t, 0, run, 0); n = 2; }"),
        ("", "pthread_t t; while (1) { if (pthread_create(&t, 0, run, 0) == 0) return 1; }"),
        ("", "pthread_t t; while (n < 3) pthread_create(&t, 0, run, 0);"),
        ("", "pthread_t t; while (1) { int r = pthread_create(&t, 0, run, 0); if (r == 0) return 1; }"),
        ("", "pthread_t t; int r = 0; while (1) { if (r == 0) pthread_create(&t, 0, run, 0); r = 1; }"),
        ("", "pthread_t t; int r = 1; while (1) { if (r) break; r = pthread_create(&t, 0, run, 0); }"),
        ("int r; void *by(void *p) { n = r; return 0; }", "pthread_t t; while (1) r = pthread_create(&t, 0, by, 0);"),
        ("", "pthread_t *t; while (1) pthread_create(&t[0], 0, run, 0);"),
        ("", "pthread_t t[2]; while (1) pthread_create(&t[1], 0, run, 0);"),
        ("", "pthread_t t[2]; while (1) { pthread_create(&t[0], 0, run, 0); pthread_join(t[0], 0); }"),
        ("", "pthread_t t; more: pthread_create(&t, 0, run, 0); if (n) goto more;"),
        (
            "static void start(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); }",
            "while (1) start();",
        ),
        ("static void start(void) { pthread_t t; n = 5; pthread_create(&t, 0, run, 0); }", "while (1) start();"),
        // The argument is not the `n` of the file, and a number that does not fit is not what is passed on.
        (
            "static void start(void) { static int n; pthread_t t; pthread_create(&t, 0, run, &n); }",
            "while (1) start();",
        ),
        (
            "static void start(char c) { pthread_t t; pthread_create(&t, 0, run, (void *)(long)c); }",
            "while (1) start(300);",
        ),
        (
            "static void start(void *p) { pthread_t t; pthread_create(&t, 0, run, (void *)(long)(char)(long)p); }",
            "while (1) start((void *)300);",
        ),
    ] {
        let main = main.replace("run, p)", "run, 0)");
        assert_eq!(of_any_number(declarations, &main), None, "{declarations} {main}");
    }
}

/// The range of a global variable of a program of any number of threads, if it has become one of a range.
fn range_of(declarations: &str, global: &str) -> Option<(i64, i64)> {
    let text =
        format!("{HEAD}{declarations}\nint main(void) {{ pthread_t t; while (1) pthread_create(&t, 0, run, 0); }}");
    let folder = Folder::new();
    let options = Options { creation: Creation::AnyNumber, ..Options::default() };
    let loaded = read_as(&[&folder.file("x.c", &text)], &options).unwrap_or_else(|refused| panic!("{refused}"));
    match loaded.program.globals.iter().find(|g| g.name == global).expect("it is there").ty {
        Type::Range(lo, hi) => Some((lo, hi)),
        _ => None,
    }
}

#[test]
fn variables_of_few_values_are_of_a_finite_size() {
    for (declarations, range) in [
        ("int x; void *run(void *p) { x = 42; return 0; }", Some((0, 42))),
        ("int x = 5; void *run(void *p) { x = -3; return 0; }", Some((-3, 5))),
        ("int x; int two(void) { return 2; } void *run(void *p) { x = 1 + two(); return 0; }", Some((0, 3))),
        ("int x; void set(int v) { x = v; } void *run(void *p) { set(1); set(6); return 0; }", Some((0, 6))),
        ("int x, y; void *run(void *p) { y = 4; x = y * y - 1; return 0; }", Some((-1, 15))),
        ("long x; void *run(void *p) { x = 1; return 0; }", Some((0, 1))),
        // What may grow, wrap or be anything is left alone.
        ("int x; void *run(void *p) { x++; return 0; }", None),
        ("int x, y; void *run(void *p) { x = y; y = x + 1; return 0; }", None),
        ("int x; void *run(void *p) { x = rand(); return 0; }", None),
        ("unsigned x; void *run(void *p) { x = -1; return 0; }", None),
        ("int x; void *run(void *p) { int *q = &x; *q = 1000; return 0; }", None),
        ("int x; void *run(void *p) { x = (int)(long)&x; return 0; }", None),
        // Beside what has many values, but is finite, there is nothing to be gained.
        ("unsigned char n; int x; void *run(void *p) { n++; x = 1; return 0; }", None),
    ] {
        assert_eq!(range_of(declarations, "x"), range, "{declarations}");
    }
}
