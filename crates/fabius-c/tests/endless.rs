//! Which loops of `main` that start threads without an end are taken as any number of threads.

mod common;

use common::{Folder, HEAD, read_as};
use fabius_c::{Creation, Options};

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
    ] {
        let main = main.replace("run, p)", "run, 0)");
        assert_eq!(of_any_number(declarations, &main), None, "{declarations} {main}");
    }
}
