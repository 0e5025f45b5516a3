//! Any number of threads that take locks: those of C, and those that a model writes by hand.

use crate::common::{expect, fabius, folder};

/// Each right and, with `WRONG`, wrong; of the last two the right ones take a minute in a test.
#[test]
fn any_number_of_threads_of_c_take_locks() {
    let head = "#include <assert.h>\n#include <pthread.h>\n#include <fabius.h>\n";
    let inside = "inside++; assert(inside == 1); inside--;";
    for (name, text, versions) in [
        (
            "mutex",
            format!(
                "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; unsigned char inside;\n\
                 #ifdef WRONG\n#define EARLY pthread_mutex_unlock(&m);\n#define LATE\n\
                 #else\n#define EARLY\n#define LATE pthread_mutex_unlock(&m);\n#endif\n\
                 void w(void) {{ pthread_mutex_lock(&m); EARLY {inside} LATE }}\n\
                 int main(void) {{ fabius_spawn_any(w); return 0; }}\n"
            ),
            &[("", 0, "`--incremental`"), ("WRONG", 1, "inside == 1")][..],
        ),
        (
            "trylock",
            format!(
                "pthread_mutex_t m; unsigned char inside;\n#ifdef WRONG\n#define FAILS(e) e; if (0)\n#else\n#define FAILS(e) if (e)\n#endif\n\
                 void w(void) {{ FAILS(pthread_mutex_trylock(&m)) return; {inside} pthread_mutex_unlock(&m); }}\n\
                 int main(void) {{ pthread_mutex_init(&m, 0); fabius_spawn_any(w); return 0; }}\n"
            ),
            &[("", 0, "no bug"), ("WRONG", 1, "bug: ")],
        ),
        (
            "spin",
            format!(
                "pthread_spinlock_t s; unsigned char inside;\n#ifndef WRONG\n#define WRONG\n#endif\n\
                 void w(void) {{ pthread_spin_lock(&s); {inside} pthread_spin_unlock(&s); WRONG; }}\n\
                 int main(void) {{ pthread_spin_init(&s, 0); fabius_spawn_any(w); return 0; }}\n"
            ),
            &[("", 0, "no bug"), ("WRONG=pthread_spin_unlock(&s)", 1, "that the thread does not hold")],
        ),
        (
            "initialized",
            "pthread_mutex_t m;\nvoid w(void) { pthread_mutex_init(&m, 0); pthread_mutex_lock(&m); }\n\
             int main(void) { fabius_spawn_any(w); return 0; }\n"
                .into(),
            &[("", 2, "initialize it in front of all threads")],
        ),
        (
            "order",
            "pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;\n\
             void both(pthread_mutex_t *x, pthread_mutex_t *y) { pthread_mutex_lock(x); pthread_mutex_lock(y);\n\
             pthread_mutex_unlock(y); pthread_mutex_unlock(x); }\n\
             void v(void) { both(&a, &b); }\nvoid w(void) { both(&b, &a); }\n\
             int main(void) { fabius_spawn_any(v); fabius_spawn_any(w); return 0; }\n"
                .into(),
            &[("WRONG", 1, "deadlock")],
        ),
        (
            "readers",
            "pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; unsigned char x, y;\n\
             void r(void) { pthread_rwlock_rdlock(&l); assert(x == y); pthread_rwlock_unlock(&l); }\n\
             void w(void) { pthread_rwlock_rdlock(&l); x = !x; y = x; pthread_rwlock_unlock(&l); }\n\
             int main(void) { fabius_spawn_any(r); fabius_spawn_any(w); return 0; }\n"
                .into(),
            &[("WRONG", 1, "x == y")],
        ),
    ] {
        let file = folder("any_locks_of_c").join(format!("{name}.c"));
        std::fs::write(&file, format!("{head}{text}")).expect("it can be written");
        let path = file.display().to_string();
        for (defined, code, said) in versions {
            let defined = format!("-D{}", if defined.is_empty() { "RIGHT" } else { defined });
            expect(&fabius(&["verify", &path, "--rounds", "2", &defined]), *code, &[said]);
        }
    }
}

#[test]
fn a_mutex_counts_how_often_it_is_held_only_where_some_are_recursive() {
    for (kind, counts) in [("PTHREAD_MUTEX_ERRORCHECK", false), ("PTHREAD_MUTEX_RECURSIVE", true)] {
        let text = format!(
            "#include <pthread.h>\npthread_mutex_t m;\n\
             int main(void) {{ pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, {kind});\n\
             pthread_mutex_init(&m, &a); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return 0; }}\n"
        );
        let file = folder("depth_of_mutexes").join(format!("{kind}.c"));
        std::fs::write(&file, text).expect("it can be written");
        let run = fabius(&["translate", &file.display().to_string(), "--to", "fab"]);
        let said = String::from_utf8_lossy(&run.stdout);
        assert_eq!(said.contains("m_depth + 1"), counts, "{said}");
    }
}

#[test]
fn any_number_of_threads_take_locks_written_by_hand() {
    for (name, source, code, text) in [
        (
            "holder",
            "var l: thread;\nvar x: 0..1;\nprocess p[*] { atomic { await l == null; l = self; } x = 1; assert x == 1; x = 0; \
             atomic { assert l == self; l = null; } }\n",
            0,
            "verified",
        ),
        (
            "two-steps",
            "var l: thread;\nprocess p[*] { await l == null; l = self; atomic { if l == self { l = null; } } }\n",
            2,
            "a thread that may take a lock over",
        ),
        (
            "other",
            "var l: [thread; 2];\nprocess p[*] { var i: 0..1 = 0; atomic { await l[i] == null; i = 1; l[i] = self; } }\n",
            2,
            "a thread that may take a lock over",
        ),
    ] {
        let file = folder("any_locks_by_hand").join(format!("{name}.fab"));
        std::fs::write(&file, source).expect("it can be written");
        let path = file.display().to_string();
        expect(&fabius(&["verify", &path, "--threads", "any", "--rounds", "2", "--incremental"]), code, &[text]);
    }
}

#[test]
fn a_loop_without_an_end_starts_any_number_of_threads() {
    let folder = folder("without_an_end");
    let text = "extern void reach_error(void);\n#include <pthread.h>\n\
        pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int x;\n\
        #ifdef WRONG\n#define LOCK(e)\n#else\n#define LOCK(e) e\n#endif\n\
        void *w(void *u) { LOCK(pthread_mutex_lock(&m);) x = 1; x = 0; if (x != 0) reach_error(); LOCK(pthread_mutex_unlock(&m);) return 0; }\n\
        int main(void) { pthread_t t; while (1) pthread_create(&t, 0, w, 0); }\n";
    let file = folder.join("loop.c");
    std::fs::write(&file, text).expect("it can be written");
    let file = file.to_str().expect("paths of tests are text");
    let asked = ["verify", file, "--threads", "any"];
    expect(&fabius(&asked), 0, &["any number of w"]);
    expect(&fabius(&[&asked[..], &["-DWRONG"]].concat()), 1, &["assertion failed: reach_error"]);
    // `main` may be stuck in front of the loop, and is not asked about it.
    let proof = [&asked[..], &["--incremental"]].concat();
    expect(&fabius(&proof), 0, &["verified, but", "deadlocks were not looked for"]);
    // Another variable of that name, and one that nobody uses, are no handles.
    let others = text.replace(
        "int main(void) { pthread_t t;",
        "int f(int t) { return t; } int main(void) { pthread_t t, unused; f(1);",
    );
    std::fs::write(file, others).expect("it can be written");
    expect(&fabius(&proof), 0, &["verified, but", "deadlocks were not looked for"]);
    // Who waits for each of them has no more than one.
    let joined = text.replace("pthread_create(&t, 0, w, 0);", "{ pthread_create(&t, 0, w, 0); pthread_join(t, 0); }");
    std::fs::write(file, joined).expect("it can be written");
    expect(&fabius(&asked), 2, &["no process of this program is of any number"]);
}

/// Where `main` may return before it starts any number of threads, the process is over there; where it starts them for ever, it does
/// not come to its end.
#[test]
fn main_that_returns_before_starts_no_threads() {
    let head = "#include <pthread.h>\n#include <stdlib.h>\nextern int __VERIFIER_nondet_int(void);\nextern void reach_error(void);\n\
                int x = 1; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
                void *w(void *p) { pthread_mutex_lock(&m); if (x != 1) reach_error(); pthread_mutex_unlock(&m); return 0; }\n";
    for (name, main, property, said) in [
        ("early", "if (__VERIFIER_nondet_int()) { x = 2; return 0; }", "unreach-call", "true"),
        // What is no part of the property goes wrong nowhere, which an invariant says.
        ("locked", "pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m);", "unreach-call", "true"),
        ("late", "if (__VERIFIER_nondet_int()) { x = 2; }", "unreach-call", "false(unreach-call)"),
        (
            "lost",
            "int *p = malloc(sizeof *p); *p = 1; if (__VERIFIER_nondet_int()) return 0;",
            "valid-memsafety",
            "false(valid-memtrack)",
        ),
        ("kept", "int *p = malloc(sizeof *p); *p = 1;", "valid-memsafety", "unknown"),
    ] {
        let text = format!("{head}int main(void) {{ {main} pthread_t t; while (1) pthread_create(&t, 0, w, 0); }}\n");
        let file = folder("returns_before").join(format!("{name}.c"));
        std::fs::write(&file, text).expect("it can be written");
        let path = file.display().to_string();
        let run = fabius(&["verify", &path, "--threads", "any", "--incremental", "--property", property, "--svcomp"]);
        let out = String::from_utf8_lossy(&run.stdout);
        assert_eq!(out.lines().last(), Some(said), "{name}: {out}");
    }
}
