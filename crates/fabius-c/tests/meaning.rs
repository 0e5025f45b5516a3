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
        ("", "int *p = malloc(4); p = realloc(p, 8);", "`realloc` is not taken"),
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
