//! Memory that nothing was written to may hold anything: nothing is verified that depends on it.

mod common;

use common::{Folder, Found, check_as, read_as, said};
use fabius_c::{Options, Property};

const THREADS: &str = "int out; void *see(void *p) { out = *(int *)p; return 0; }\n\
                       void *one(void *p) { return p; }\n\
                       #define BEGIN pthread_t t; pthread_create(&t, 0, one, 0); pthread_join(t, 0);\n";

/// Where a choice is not made, what is said of it may be said of its place.
fn is_unknown(said: &str) -> bool {
    said == "not followed" || said.contains("not all values of a choice were tried")
}

#[test]
fn integers_in_memory_may_be_anything() {
    assert_eq!(said("", "int a[2]; assert(a[1] != 7);"), "Assertion");
    assert_eq!(said("", "int a[2]; a[1] = 3; assert(a[1] == 3);"), "verified");
    assert_eq!(said("", "int a[2]; a[1] = 3; assert(a[0] == 0);"), "Assertion");
    assert_eq!(said("", "int a[2], i; for (i = 0; i < 2; i++) a[i] = i; assert(a[0] == 0 && a[1] == 1);"), "verified");
    assert_eq!(said("", "char a[2]; assert(a[1] == a[1]);"), "verified");
    assert_eq!(said("", "int *p = malloc(4); assert(*p != 8);"), "Assertion");
    assert_eq!(said("", "int *p = calloc(2, 4); assert(p[0] == 0 && p[1] == 0);"), "verified");
    assert_eq!(said("", "int *p = malloc(4); *p = 8; assert(*p == 8);"), "verified");
    assert_eq!(said("", "long *p = malloc(8); assert(*p == 0);"), "Assertion");
    assert_eq!(said("", "_Bool *p = malloc(1); assert(*p == 0 || *p == 1);"), "verified");
    assert_eq!(said("", "_Bool *p = malloc(1); assert(*p == 0);"), "Assertion");
    assert_eq!(said("int f(int *p) { return *p; }", "int x; assert(f(&x) != 7);"), "Assertion");
    assert_eq!(said("int f(int *p) { return *p; }", "int x = 4; assert(f(&x) == 4);"), "verified");
    assert_eq!(said("void f(int *p) { *p = 7; }", "int x; f(&x); assert(x == 7);"), "verified");
    assert_eq!(said("struct s { int x, y; };", "struct s v; v.y = 2; assert(v.x == 0);"), "Assertion");
    assert_eq!(said("struct s { int x, y; };", "struct s v; v.y = 2; assert(v.y == 2);"), "verified");
    assert_eq!(said("struct s { int x, y; };", "struct s v = { 2 }; assert(v.x == 2 && v.y == 0);"), "verified");
    assert_eq!(said("union u { int x; short y[2]; };", "union u v; v.y[0] = 1; assert(v.y[1] == 0);"), "Assertion");
    assert_eq!(said("union u { int x; short y[2]; };", "union u v; v.x = 1; assert(v.y[1] == 0);"), "verified");
    assert_eq!(said("", "_Atomic int x; _Atomic int *p = &x; assert(*p == 0);"), "Assertion");
    assert_eq!(said("int a[2];", "assert(a[1] == 0); static int b[2]; assert(b[1] == 0);"), "verified");
}

#[test]
fn bits_have_values_of_their_own() {
    let head = "struct s { unsigned a : 3, b : 5; int c; };";
    assert_eq!(said(head, "struct s v; v.a = 3; assert(v.a == 3);"), "verified");
    assert_eq!(said(head, "struct s v; v.a = 3; assert(v.b == 0);"), "not followed");
    assert_eq!(said(head, "struct s v, w; v.b = 30; v.a = 9; w = v; assert(w.a == 1 && w.b == 30);"), "verified");
    assert_eq!(said(head, "struct s v, w; v.b = 30; w = v; assert(w.b == 30); assert(w.a == 0);"), "not followed");
    let all =
        "struct t { int a : 32; } v; v.a = -5; assert(v.a == -5); struct t *p = &v; p->a = -1; assert(p->a == -1);";
    assert_eq!(said("", all), "verified");
}

#[test]
fn what_nothing_was_written_to_may_be_copied() {
    let head = "struct s { int x, y; struct s *next; }; struct s g; struct s make(int y) { struct s v; v.y = y; return v; }\n\
                int second(struct s v) { return v.y; } int first(struct s v) { return v.x; }";
    assert_eq!(said(head, "struct s v, w; v.y = 1; w = v; g = w; assert(w.y == 1 && g.y == 1);"), "verified");
    assert_eq!(said(head, "struct s v, w; v.y = 1; w = v; assert(v.x == 0);"), "Assertion");
    // It is the same as in what it is a copy of.
    assert_eq!(said("struct c { char x, y; };", "struct c v, w; v.y = 1; w = v; assert(w.x == v.x);"), "not followed");
    assert!(is_unknown(&said(head, "struct s v; v.y = 1; g = v; assert(g.x == 0);")));
    assert_eq!(said(head, "assert(make(3).y == 3 && second(make(4)) == 4);"), "verified");
    assert!(is_unknown(&said(head, "assert(make(3).x == 0);")));
    assert!(is_unknown(&said(head, "assert(first(make(3)) == 0);")));
    assert_eq!(said("", "char a[4], b[4]; a[1] = 5; memcpy(b, a, 4); assert(b[1] == 5);"), "verified");
    let number = "unsigned char b[4] = {1, 2, 3, 4}; int i;";
    assert_eq!(said("", &format!("{number} memcpy(&i, b, 4); assert(i == 0x04030201);")), "verified");
    assert_eq!(said("", &format!("{number} memcpy(&i, b, sizeof i); assert(i == 0x04030202);")), "Assertion");
    // The byte that is not written may be anything.
    assert_eq!(said("", &format!("{number} memcpy(&i, b, 3); assert(i == 0x030201);")), "Assertion");
    assert!(is_unknown(&said("", "char a[4], b[4]; a[1] = 5; memcpy(b, a, 4); assert(b[2] == 0);")));
    // A copy in a single variable is a value.
    assert_eq!(said("void see(int *p) {}", "int i, j; see(&i); memcpy(&j, &i, 4); assert(j != 5);"), "Assertion");
    assert_eq!(said("", "int a[2], j = 0; memcpy(&j, &a[1], 4); assert(j != 5);"), "Assertion");
    assert_eq!(said("", "long *p = malloc(8), j; memcpy(&j, p, 8); assert(j != 5);"), "Assertion");
    assert_eq!(said("", "int a[2], j; a[1] = 5; memcpy(&j, &a[1], 4); assert(j == 5);"), "verified");
    let grow = "int n = 2; int *p = malloc(n * sizeof(int)); p[0] = 1; p = realloc(p, 4 * sizeof(int)); p[3] = 2;";
    assert_eq!(said("", &format!("{grow} assert(p[0] == 1 && p[3] == 2);")), "verified");
    assert!(is_unknown(&said("", &format!("{grow} assert(p[1] == 0);"))));
    assert_eq!(said("", &format!("{grow} assert(p[2] == 0);")), "Assertion");
}

#[test]
fn bytes_of_an_integer_have_values_of_their_own() {
    let bytes = "unsigned char b[6] = {1, 2, 3, 4, 0, 0xff};";
    let each = format!("{bytes} int i; unsigned char *p = (unsigned char *)&i; int k;");
    assert_eq!(said("", &format!("{each} for (k = 0; k < 4; k++) p[k] = b[k]; assert(i == 0x04030201);")), "verified");
    assert_eq!(
        said("", &format!("{each} for (k = 3; k >= 0; k--) p[k] = b[k + 2]; assert(i == -0xfffbfd);")),
        "verified"
    );
    assert_eq!(said("", &format!("{each} for (k = 0; k < 3; k++) p[k] = b[k]; assert(p[2] == 3);")), "verified");
    assert!(is_unknown(&said("", &format!("{each} for (k = 0; k < 3; k++) p[k] = b[k]; assert(p[3] == 4);"))));
    assert!(is_unknown(&said("", &format!("{each} for (k = 0; k < 3; k++) p[k] = b[k]; assert(i == 0x04030201);"))));
    assert_eq!(said("", &format!("{each} p[1] = 7; i = 3; p[1] = 1; assert(i == 0x103);")), "verified");
    assert!(is_unknown(&said("", &format!("{each} int j; p[1] = 7; memcpy(&j, &i, 4); assert(j == 0x700);"))));
    let short = "short s; char *p = (char *)&s; p[1] = 0xff; p[0] = 0xfe; assert(s == -2);";
    assert_eq!(said("", short), "verified");
    assert_eq!(
        said("", &format!("{bytes} int *p = malloc(4); memcpy(p, b, 4); assert(*p == 0x04030201);")),
        "verified"
    );
    let some = "unsigned n = sizeof(int); int i; memcpy(&i, b, n); assert(i == 0x04030201);";
    assert_eq!(said("", &format!("{bytes} {some}")), "verified");
    let head = "struct h { unsigned short a; unsigned b; } __attribute__((packed));";
    assert_eq!(
        said(head, &format!("{bytes} struct h h; memcpy(&h, b, 6); assert(h.a == 0x201 && h.b == 0xff000403);")),
        "verified"
    );
    let through = "struct s { int a; short b, c; } v = {1, 2, 3}, w; unsigned char c[sizeof v]; \
                   memcpy(c, &v, sizeof v); memcpy(&w, c, sizeof v); assert(w.a == 1 && w.b == 2 && w.c == 3);";
    assert_eq!(said("", through), "verified");
    // Between its fields there is no value.
    let through = "struct s { int a; short b; } v = {1, 2}, w; unsigned char c[sizeof v] = {0}; \
                   memcpy(c, &v, sizeof v); memcpy(&w, c, sizeof v); assert(w.a == 1 && w.b == 2 && c[4] == 2);";
    assert_eq!(said("", through), "verified");
    assert!(is_unknown(&said("", &format!("{through} assert(c[6] == 0);"))));
    // What is copied to bytes is the bytes.
    let set = "void set(int *p) { *p = 0x01020304; }";
    assert_eq!(
        said(set, "int x; set(&x); char *p = (char *)&x, b[4]; memcpy(b, p, 4); assert(b[1] == 3);"),
        "verified"
    );
}

#[test]
fn the_bits_of_a_floating_point_number_are_copied() {
    assert_eq!(said("", "unsigned u; float f = 1.0f; memcpy(&u, &f, 4); assert(u == 0x3f800000);"), "verified");
    assert_eq!(
        said("", "unsigned u; float f = 1; unsigned *p = memcpy(&u, &f, 4); assert(*p == 0x3f800000);"),
        "verified"
    );
    assert_eq!(
        said("", "int u = 0x40490fdb; float f; memcpy(&f, &u, sizeof f); assert(f > 3.14f && f < 3.15f);"),
        "verified"
    );
    assert_eq!(said("", "long u; double d = -1.0; memcpy(&u, &d, 8); assert(u == -0x4010000000000000);"), "verified");
    assert_eq!(said("", "long u = 0x4000000000000000; double d; memcpy(&d, &u, 8); assert(d == 2.0);"), "verified");
    let unset = "long u; double d, *p = &d; memcpy(&u, p, 8); assert(u == 3);";
    assert_eq!(said("", unset), "not followed");
}

#[test]
fn a_variable_is_a_new_one_each_time() {
    let f = "int f(int *p) { return *p; } int g(int set) { int x; if (set) x = 1; return f(&x); }";
    assert_eq!(said(f, "g(1); assert(g(0) == 1);"), "Assertion");
    assert_eq!(said(f, "assert(g(1) == 1); assert(g(1) == 1);"), "verified");
    let again = "for (int i = 0; i < 2; i++) { int x; if (i == 0) x = 4; if (i == 1) assert(f(&x) == 4); }";
    assert_eq!(said(f, again), "Assertion");
    let locals = "for (int i = 0; i < 2; i++) { int a[2]; if (i == 0) a[1] = 4; if (i == 1) assert(a[1] == 4); }";
    assert_eq!(said("", locals), "Assertion");
    let jump = "int i = 0; again: ; int a[2]; if (i == 0) a[1] = 4; else assert(a[1] == 4); if (i++ == 0) goto again;";
    assert_eq!(said("", jump), "Assertion");
    let over = "int i = 0; goto in; { int a[2] = { 1, 1 }; in: assert(a[1] == 0 || i); }";
    assert_eq!(said("", over), "Assertion");
    assert_eq!(
        said("struct s { int x, y; };", &over.replace("int a[2]", "struct s a").replace("a[1]", "a.y")),
        "Assertion"
    );
    assert_eq!(
        said("", "int i = 0; back: ; int a[2] = { 1, 1 }; assert(a[1] == 1); a[1] = 2; if (i++ < 2) goto back;"),
        "verified"
    );
}

/// Where parts of a local are written before they are read, a choice in one of them is tried by the values that matter.
#[test]
fn choices_go_through_parts_of_locals() {
    let head = "struct s { int v, w; }; int __VERIFIER_nondet_int(void);";
    let all = "struct s s; s.v = __VERIFIER_nondet_int(); s.w = 1; struct s t = s; assert(t.v != 77777);";
    assert_eq!(said(head, all), "Assertion");
    assert_eq!(said(head, &all.replace("assert(", "assert(t.v == 77777 || ")), "verified");
    assert_eq!(said(head, "struct s s; if (__VERIFIER_nondet_int()) s.v = 1; assert(s.v == 1);"), "Assertion");
}

#[test]
fn pointers_are_no_objects() {
    let q = "int k = 1; if (argc > 1) p = &k;";
    let main = |declared: &str, rest: &str| format!("int argc = 1; {declared} {q} {rest}");
    assert_eq!(said("", &main("int *p;", "assert(p == 0);")), "not followed");
    assert_eq!(said("", &main("int *p;", "if (p) k = 2;")), "not followed");
    assert_eq!(said("", &main("int *p;", "assert(p[1] == 0);")), "Memory");
    assert_eq!(said("", &main("int *p;", "*p = 2;")), "Memory");
    assert_eq!(said("", &main("int *p;", "p = &k; assert(*p == 1);")), "verified");
    assert_eq!(said("", &main("int *p;", "int *q = p + 1; assert(q != 0);")), "not followed");
    let list = "struct n { int v; struct n *next; }; struct n *push(struct n *l, int v) {\n\
                struct n *n = malloc(sizeof(struct n)); n->v = v; n->next = l; return n; }";
    assert_eq!(said(list, "struct n *l = push(push(0, 1), 2); assert(l->v == 2 && l->next->next == 0);"), "verified");
    assert_eq!(said(list, "struct n *n = malloc(sizeof *n); assert(n->next == 0);"), "not followed");
    assert_eq!(said(list, "struct n *n = calloc(1, sizeof *n); assert(n->next == 0 && n->v == 0);"), "verified");
    assert_eq!(said(list, "struct n *n = malloc(sizeof *n); n->next->v = 1;"), "Memory");
    assert_eq!(said(list, "struct n n; free(n.next);"), "Memory");
    assert_eq!(said("void (*g)(void); void f(void) {}", "void (*h)(void); if (g) h = f; h();"), "Memory");
}

/// The number that stands for nothing is not a user's.
#[test]
fn a_trace_shows_no_value_where_there_is_none() {
    let folder = Folder::new();
    let main = "int *p = malloc(8), *q; int **r = &q; p[0] = 1; q = q; if (p[0]) **r = 5; return 0;";
    let file = folder.file("x.c", &format!("#include <stdlib.h>\nint main(void) {{ {main} }}"));
    let loaded = read_as(&[&file], &Options::default()).expect("it is taken");
    let id = fabius_verify::program_id("x.c", &loaded.source, &[], &[]);
    let plan = fabius_verify::Plan::default();
    let report = fabius_verify::check(&loaded.program, &id, &plan, &Default::default(), &|_| {}).expect("it fits");
    let shown = format!("{:?}", report.verdict);
    assert!(shown.contains("(no value yet)"), "{shown}");
    assert!(!shown.contains("79577070583812192"), "{shown}");
}

/// Integers of 64 bits are shown as they are, also those that would say something else of smaller ones.
#[test]
fn a_trace_shows_all_values_of_long_integers() {
    let folder = Folder::new();
    let main =
        "long n = 0x6E70000100000007; long *p = &n; global = *p + 1; unsigned long u = n; assert(u == 0); return 0;";
    let file = folder.file("x.c", &format!("#include <assert.h>\nlong global;\nint main(void) {{ {main} }}"));
    let loaded = read_as(&[&file], &Options::default()).expect("it is taken");
    let id = fabius_verify::program_id("x.c", &loaded.source, &[], &[]);
    let plan = fabius_verify::Plan::default();
    let report = fabius_verify::check(&loaded.program, &id, &plan, &Default::default(), &|_| {}).expect("it fits");
    let shown = format!("{:?}", report.verdict);
    assert!(shown.contains("7957860545858633735") && shown.contains("7957860545858633736"), "{shown}");
    assert!(!shown.contains("no value yet"), "{shown}");
}

/// Their 64 bits are no user's, nor is how they are computed with.
#[test]
fn a_trace_shows_floating_point_numbers_as_c_writes_them() {
    let folder = Folder::new();
    let text = "#include <assert.h>\n#include <math.h>\ndouble d = 1.5; float f; struct { int n; float x[2]; } s;\n\
                int main(void) {\nd = d + 0.25;\nf = 0.1f;\ns.x[1] = -3;\ndouble big = 1e20;\ndouble r = sqrt(d);\n\
                assert(d < 1);\nreturn 0;\n}\n";
    let file = folder.file("x.c", text);
    let loaded = read_as(&[&file], &Options::default()).expect("it is taken");
    let id = fabius_verify::program_id("x.c", &loaded.source, &[], &[]);
    let plan = fabius_verify::Plan::default();
    let report = fabius_verify::check(&loaded.program, &id, &plan, &Default::default(), &|_| {}).expect("it fits");
    let fabius_trace::Verdict::Bug { trace } = report.verdict else { panic!("1.75 is not less than 1") };
    let changes = trace.steps.iter().flat_map(|s| &s.actions).flat_map(|a| &a.changes);
    let shown: Vec<String> = changes.map(|c| format!("{} {} {}", c.variable, c.old, c.new)).collect();
    let expected = ["d 1.5 1.75", "f 0.0 0.1", "s.x[1] 0.0 -3.0", "big 0.0 1e20", "r 0.0 (not known)"];
    assert_eq!(shown, expected);
}

/// A choice where a value is read would be a write, which races.
#[test]
fn with_threads_it_is_not_followed_where_races_are_asked_about() {
    assert_eq!(said(THREADS, "BEGIN int *p = malloc(4); assert(*p != 8);"), "not followed");
    assert_eq!(said(THREADS, "BEGIN int *p = malloc(4); *p = 1; assert(*p != 8);"), "verified");
    let handed = "pthread_t t; int x; pthread_create(&t, 0, see, &x); pthread_join(t, 0);";
    assert_eq!(said(THREADS, handed), "not followed");
    assert_eq!(said(THREADS, &handed.replace("int x;", "int x; x = 2;")), "verified");
    assert_eq!(said(THREADS, &format!("{} x = 3;", handed.replace("int x;", "int x; x = 2;"))), "verified");
    assert_eq!(
        said(THREADS, "BEGIN int *p = malloc(4); __atomic_fetch_add(p, 1, 5); assert(*p == 1);"),
        "not followed"
    );
    assert_eq!(said(THREADS, "BEGIN int *p = malloc(4); __atomic_store_n(p, 1, 5); assert(*p == 1);"), "verified");
    let twice = "pthread_t t, u; int x; x = 1; pthread_create(&t, 0, see, &x); x = 2; pthread_join(t, 0);";
    assert_eq!(said(THREADS, twice), "DataRace");
    let folder = Folder::new();
    let text = format!("#include <pthread.h>\n#include <stdlib.h>\n{THREADS}void reach_error(void);\n");
    let property = |main: &str| {
        let file = folder.file("x.c", &format!("{text}int main(void) {{ {main} return 0; }}"));
        let options = Options { property: Some(Property::UnreachCall), ..Options::default() };
        match check_as(&[&file], "all", &options) {
            Found::Bug(kind, ..) => kind,
            other => format!("{other:?}"),
        }
    };
    assert_eq!(property("BEGIN int *p = malloc(4); if (*p == 8) reach_error();"), "Assertion");
    assert_eq!(property("BEGIN char *p = malloc(1); if (*p != *p) reach_error();"), "Verified");
    assert_eq!(property(&format!("{handed} if (out == 5) reach_error();")), "Assertion");
}

#[test]
fn what_a_function_returns_without_a_value_may_be_anything() {
    let some = "int f(int x) { if (x > 0) return 5; }\n";
    assert_eq!(said(some, "int y = f(0); assert(y != 7);"), "Assertion");
    assert_eq!(said(some, "int y = f(1); assert(y == 5);"), "verified");
    assert_eq!(said("int f(int x) { if (x > 0) return 5; }", "f(0); (void)f(0);"), "verified");
    // Nobody looks at what the first one returns.
    assert_eq!(said(some, "f(0); assert(f(1) == 5);"), "verified");
    assert_eq!(said("int f(void) { return; }", "assert(f() == 0);"), "Assertion");
    assert_eq!(said("int f(int x) { if (x) return 1; else return 2; }", "assert(f(0) == 2);"), "verified");
    assert_eq!(said(some, "int (*g)(int) = f; assert(g(0) == 0);"), "Assertion");
    assert_eq!(said("int *f(void) { }", "int *p = f(); assert(p == 0);"), "not followed");
    assert_eq!(said("int *f(void) { }", "f();"), "verified");
}

#[test]
fn what_a_thread_returns_without_a_value_may_be_anything() {
    let taken = |function: &str, check: &str| {
        said(
            function,
            &format!(
                "pthread_t t; void *r; pthread_create(&t, 0, (void *(*)(void *))f, 0); pthread_join(t, &r); {check}"
            ),
        )
    };
    let (falls, returns) = ("int g; void *f(void *p) { g = 1; }", "void *f(void *p) { return; }");
    for function in [falls, returns, "void f(void *p) { }", "void *f(void *p) { if (!p) return; return p; }"] {
        assert_eq!(taken(function, "assert(r == 0);"), "not followed", "{function}");
        assert_eq!(taken(function, "assert((long)r != 7);"), "not followed", "{function}");
        assert_eq!(taken(function, "if (r) return 1;"), "not followed", "{function}");
        assert_eq!(taken(function, "int x = *(int *)r;"), "Memory", "{function}");
        assert_eq!(taken(function, ""), "verified", "{function}");
        assert_eq!(taken(function, "void *s = r;"), "verified", "{function}");
    }
    let either = "int n; void *f(void *p) { if (n == 0) return (void *)3; }";
    assert_eq!(taken(either, "assert((long)r == 3);"), "verified");
    assert_eq!(taken(either, "assert((long)r == 4);"), "Assertion");
    assert_eq!(taken("void f(void *p) { pthread_exit((void *)5); }", "assert((long)r == 5);"), "verified");
    assert_eq!(taken("void f(void *p) { if (p) pthread_exit((void *)5); }", "assert((long)r == 5);"), "not followed");
    let number = "#include <threads.h>\nint f(void *p) { if (p) return 3; }";
    let joined = |given: &str, check: &str| {
        said(number, &format!("thrd_t t; int r, k = 0; thrd_create(&t, f, {given}); thrd_join(t, &r); {check}"))
    };
    assert_eq!(joined("&k", "assert(r == 3);"), "verified");
    assert_eq!(joined("0", "assert(r != 7);"), "Assertion");
}

#[test]
fn a_preprocessed_file_may_have_comments() {
    let folder = Folder::new();
    let text =
        "// it's one\nint main(void) { /* \" */ const char *s = \"/* no */ // no\"; return s[0] != '/'; } /* end\n*/\n";
    let file = folder.file("x.i", text);
    assert!(matches!(check_as(&[&file], "all", &Options::default()), Found::Verified));
}
