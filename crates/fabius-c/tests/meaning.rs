//! What constructs of C with threads mean, one small program each.

mod common;

use common::{Folder, Found, check, check_text};

const HEAD: &str = "#include <assert.h>\n#include <pthread.h>\n#include <stdlib.h>\n#include <string.h>\n";

/// What is said of a program of these declarations and this `main`.
fn said(declarations: &str, main: &str) -> String {
    match check_text(&format!("{HEAD}{declarations}\nint main(void) {{ {main} return 0; }}"), "sync") {
        Found::Verified => "verified".into(),
        Found::Bug(kind, ..) => kind,
        Found::Other(other) if other.contains("more than is followed") => "not followed".into(),
        Found::Other(other) => other,
    }
}

const TWO: &str = "pthread_t a, b; pthread_create(&a, 0, run, 0); pthread_create(&b, 0, run, 0); pthread_join(a, 0); pthread_join(b, 0);";

#[test]
fn atomic_sections_are_ordered_with_each_other_and_with_nothing_else() {
    let function = "int x; void __VERIFIER_atomic_add(void) { x = x + 1; } void *run(void *p) { __VERIFIER_atomic_add(); return 0; }";
    assert_eq!(said(function, &format!("{TWO} assert(x == 2);")), "verified");
    let section = "void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void); int x; static void add(void) { x = x + 1; }\
                   void *run(void *p) { __VERIFIER_atomic_begin(); add(); __VERIFIER_atomic_end(); return 0; }";
    assert_eq!(said(section, &format!("{TWO} assert(x == 2);")), "verified");
    let beside = format!("{section} void *other(void *p) {{ x = 5; return 0; }}");
    let main = "pthread_t a, b; pthread_create(&a, 0, run, 0); pthread_create(&b, 0, other, 0); pthread_join(a, 0); pthread_join(b, 0);";
    assert_eq!(said(&beside, main), "DataRace");
}

#[test]
fn an_atomic_function_may_wait_by_an_assumption_or_fail() {
    let lock = "void __VERIFIER_assume(int); int m, x; static void check(void) { assert(m == 0); }\
                void __VERIFIER_atomic_acquire(void) { __VERIFIER_assume(m == 0); check(); m = 1; }\
                void __VERIFIER_atomic_release(void) { m = 0; }\
                void *run(void *p) { __VERIFIER_atomic_acquire(); x = x + 1; __VERIFIER_atomic_release(); return 0; }";
    assert_eq!(said(lock, &format!("{TWO} assert(x == 2); check();")), "verified");
    assert_eq!(said(&lock.replace("m = 1;", ""), &format!("{TWO} assert(x == 2);")), "DataRace");
    let waits = "pthread_mutex_t l; void __VERIFIER_atomic_f(void) { pthread_mutex_lock(&l); }";
    assert!(said(waits, "__VERIFIER_atomic_f();").contains("may wait"));
}

#[test]
fn memory_that_is_used_as_another_type_is_not_followed() {
    let main = "char *p = (char *)malloc(40); int *q = (int *)p; *q = 5;";
    assert_eq!(said("", main), "not followed");
    assert_eq!(said("struct s { int a; char b; } s;", "char *p = (char *)&s; *p = 1;"), "not followed");
}

#[test]
fn a_function_without_a_prototype_takes_what_its_definition_says() {
    let f = "int f(int x) { return x + 1; } int g(char *s) { return s[0]; }";
    assert_eq!(said(f, "int (*h)() = f; assert(h(1) == 2);"), "verified");
    assert_eq!(said(f, "int (*h)(int) = (int (*)(int))g; h(1);"), "not followed");
    assert_eq!(said(f, "int (*h)(int) = 0; h(1);"), "NullDereference");
}

#[test]
fn strings_are_those_of_the_c_library() {
    let main = r#"
        char a[8] = "abc", b[8];
        assert(strlen(a) == 3 && strlen("") == 0);
        strcpy(b, a);
        assert(strcmp(a, b) == 0 && strcmp("a", "b") < 0 && strcmp("b", "a") > 0 && strcmp("ab", "a") > 0);
        strcat(b, "de");
        assert(strcmp(b, "abcde") == 0 && strncmp(b, a, 3) == 0 && strncmp(b, a, 4) > 0);
        strncpy(b, "x", 4);
        assert(b[0] == 'x' && b[1] == 0 && b[3] == 0 && b[4] == 'e');
        assert(strchr(a, 'c') == a + 2 && strchr(a, 'z') == 0 && strchr(a, 0) == a + 3);
        assert(memcmp(a, "abd", 2) == 0 && memcmp(a, "abd", 3) < 0);
        assert(atoi(" -42x") == -42 && atoi("7") == 7 && atoi("") == 0);
        assert(strcmp("\x80", "a") > 0);
    "#;
    assert_eq!(said("", main), "verified");
    assert_eq!(said("", "char a[3]; a[0] = 'a'; a[1] = 'b'; a[2] = 'c'; assert(strlen(a) == 3);"), "Memory");
    assert_eq!(said("", "char a[2]; strcpy(a, \"ab\");"), "Memory");
}

#[test]
fn memory_that_grows_keeps_its_values_and_moves() {
    let grow = "int n = 2; int *p = malloc(n * sizeof(int)); p[0] = 7; p[1] = 8; int *q = realloc(p, 3 * sizeof(int)); q[2] = 9;";
    assert_eq!(said("", &format!("{grow} assert(q[0] == 7 && q[1] == 8 && q[2] == 9); free(q);")), "verified");
    assert_eq!(said("", &format!("{grow} return p[0];")), "Memory");
    assert_eq!(said("", &format!("{grow} q[3] = 1;")), "IndexOutOfBounds");
    let shrink = "int *p = malloc(3 * sizeof(int)); p[0] = 7; p = realloc(p, sizeof(int)); assert(p[0] == 7);";
    assert_eq!(said("", shrink), "verified");
    assert_eq!(said("", &format!("{shrink} p[1] = 1;")), "IndexOutOfBounds");
    assert_eq!(said("", "int *p = realloc(0, 2 * sizeof(int)); p[1] = 1; free(p);"), "verified");
    assert_eq!(said("", "int *p = malloc(sizeof(int)); free(p); p = realloc(p, 8);"), "Memory");
}

#[test]
fn a_random_number_below_another_one_is_one_of_so_many() {
    assert_eq!(said("", "int n = rand() % 3; assert(n >= 0 && n < 3);"), "verified");
    assert_eq!(said("", "int n = rand() % 3; assert(n != 2);"), "Assertion");
}

#[test]
fn what_would_silently_do_nothing_is_refused() {
    for (head, main, words) in [
        ("void f(void) {}", "atexit(f);", "`atexit` is not taken"),
        ("#include <signal.h>\nvoid f(int n) {}", "signal(2, f);", "`signal` is not taken"),
        ("int a[2000], b[2000];", "memset(a, 0, sizeof a);", "more than 1024 values at once"),
        ("union u { int a; char b[4]; } u;", "u.a = 1;", "`union u` is not taken"),
        ("struct s { unsigned a : 3; } s;", "s.a = 1;", "a bit-field is not taken"),
    ] {
        let said = said(head, main);
        assert!(said.contains(words), "{main}: {said}");
    }
    assert_eq!(said("#include <signal.h>", "signal(SIGPIPE, SIG_IGN);"), "verified");
}

#[test]
fn the_string_functions_stand_behind_the_program() {
    let folder = Folder::new();
    let text = format!("{HEAD}int main(void) {{\n    char *s = 0;\n    return (int)strlen(s);\n}}\n");
    let file = folder.file("x.c", &text);
    let Found::Bug(kind, _, _, line) = check(&[&file], "all") else { panic!("there is a bug") };
    assert_eq!(kind, "NullDereference");
    assert!(line as usize > text.lines().count(), "{line}");
}
