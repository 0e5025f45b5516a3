//! Memory that is allocated: what is left of it at the end, what goes with a function, flexible arrays.

mod common;

use common::{Folder, Found, HEAD, check_as, said};
use fabius_c::{Options, Property};

/// What is said of a program of these declarations and this `main`, where this property is asked about.
fn about(property: Property, declarations: &str, main: &str) -> String {
    let points = if property == Property::NoDataRace { "sync" } else { "all" };
    let folder = Folder::new();
    let file = folder.file("x.c", &format!("{HEAD}{declarations}\nint main(void) {{ {main} return 0; }}"));
    match check_as(&[&file], points, &Options { property: Some(property), ..Options::default() }) {
        Found::Verified => "verified".into(),
        Found::Bug(kind, ..) => kind,
        Found::Other(other) if other.contains("more than is followed") => "not followed".into(),
        Found::Other(other) => other,
    }
}

#[test]
fn memory_at_the_end_is_lost_or_pointed_to() {
    let head = "struct n { struct n *next; int v; } *h; unsigned long number; int *row[3];\n\
                struct n *new(struct n *next) { struct n *x = malloc(sizeof *x); x->v = 1; x->next = next; return x; }\n\
                void *run(void *p) { free(new(0)); return 0; }";
    for (main, expected) in [
        ("h = new(new(new(0)));", "verified"),
        ("h = new(new(new(0))); h->next->next = 0;", "Leak"),
        // A ring that nothing points to, and one that something points to.
        ("struct n *a = new(0), *b = new(a); a->next = b;", "Leak"),
        ("struct n *a = new(0), *b = new(a); a->next = b; h = a;", "verified"),
        ("int *p = malloc(4); *p = 1;", "Leak"),
        ("for (int i = 0; i < 3; i++) row[i] = malloc(sizeof(int) * (i + 1)); row[1]++;", "verified"),
        ("row[2] = malloc(8); row[2] += 2;", "Leak"),
        // Variables of `main` are still there, or a number may be a pointer.
        ("int *p = malloc(4); *p = 1; exit(0);", "not followed"),
        ("h = new(0); exit(0);", "verified"),
        ("number = (unsigned long)malloc(sizeof(int));", "not followed"),
        // Another thread may still have it.
        ("pthread_t t; pthread_create(&t, 0, run, 0);", "not followed"),
        ("pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0);", "verified"),
    ] {
        assert_eq!(about(Property::ValidMemsafety, head, main), expected, "{main}");
    }
}

#[test]
fn what_alloca_gives_goes_with_the_function() {
    let head = "#include <alloca.h>\nint *g; void f(void) { int *p = alloca(sizeof(int)); *p = 1; g = p; }\n\
                int sum(int n) { int *a = alloca(n * sizeof(int)); a[n - 1] = n; return n < 2 ? a[0] : a[n - 1] + sum(n - 1); }";
    for (main, safe, clean) in [
        ("int *p = alloca(8); p[1] = 1; assert(sum(3) == 6 && p[1] == 1);", "verified", "verified"),
        ("int *p = alloca(4); free(p);", "Memory", "not followed"),
        ("f(); *g = 2;", "Memory", "not followed"),
        ("int *p = malloc(4); f(); free(p);", "verified", "verified"),
        ("int *p = malloc(4); f(); *p = 1;", "Leak", "Leak"),
    ] {
        assert_eq!(about(Property::ValidMemsafety, head, main), safe, "{main}");
        assert_eq!(about(Property::ValidMemcleanup, head, main), clean, "{main}");
    }
    assert_eq!(said(head, "f(); *g = 2;"), "Memory");
}

#[test]
fn flexible_arrays_are_as_long_as_what_is_allocated() {
    let head = "#include <stddef.h>\nstruct s { char c; long n; short a[]; }; struct old { int n; char a[0]; }; struct s g;\n\
                struct s *new(int n) { struct s *p = malloc(sizeof(struct s) + n * sizeof(short)); p->n = n; return p; }\n\
                short last(short *a, int n) { while (--n) a++; return *a; }\n\
                struct s *shared; void *run(void *p) { shared->a[1] = 1; return 0; }";
    for (main, expected) in [
        ("struct s *p = new(3); p->a[2] = 5; assert(last(p->a, 3) == 5 && sizeof *p == 16); free(p);", "verified"),
        ("struct s *p = new(3); p->a[3] = 5;", "IndexOutOfBounds"),
        ("struct s *p = new(3); p->a[-1] = 5;", "IndexOutOfBounds"),
        ("struct s *p = new(3); p->a[2] = 5; last(p->a, 4);", "IndexOutOfBounds"),
        ("struct s *p = new(3); free(p); p->a[0] = 5;", "Memory"),
        ("g.a[0] = 1;", "IndexOutOfBounds"),
        ("struct s *p = new(0), *q = new(1); q->a[0] = 7; *p = *q; p->a[0] = 1;", "IndexOutOfBounds"),
        ("struct s *p = malloc(2 * sizeof *p); p[1].n = 3; assert(p[1].n == 3); free(p);", "verified"),
        (
            "struct old *p = calloc(1, offsetof(struct old, a) + 2); strcpy(p->a, \"x\"); assert(p->a[1] == 0);",
            "verified",
        ),
        ("struct old *p = calloc(1, offsetof(struct old, a) + 2); strcpy(p->a, \"xy\");", "IndexOutOfBounds"),
        (
            "pthread_t t; shared = new(2); pthread_create(&t, 0, run, 0); shared->a[0] = 1; pthread_join(t, 0);",
            "verified",
        ),
        (
            "pthread_t t; shared = new(2); pthread_create(&t, 0, run, 0); shared->a[1] = 2; pthread_join(t, 0);",
            "DataRace",
        ),
        ("struct s *p = new(30); p->a[2] = 5;", "not followed"),
    ] {
        assert_eq!(said(head, main), expected, "{main}");
    }
}

#[test]
fn what_frees_memory_races_with_what_uses_it() {
    let head = "int *p; pthread_mutex_t m; void *use(void *a) { *p = 3; return 0; } void *end(void *a) { free(p); return 0; }\n\
                void *guarded(void *a) { pthread_mutex_lock(&m); *p = 3; pthread_mutex_unlock(&m); return 0; }";
    let start = |f: &str| format!("p = malloc(sizeof(int)); pthread_t t; pthread_create(&t, 0, {f}, 0);");
    for (f, main, expected) in [
        ("use", "free(p); pthread_join(t, 0);", "DataRace"),
        ("end", "free(p); pthread_join(t, 0);", "DataRace"),
        ("end", "*p = 1; pthread_join(t, 0);", "DataRace"),
        ("use", "pthread_join(t, 0); free(p);", "verified"),
        // That is no race; what it is instead is not asked.
        ("guarded", "pthread_mutex_lock(&m); free(p); pthread_mutex_unlock(&m); pthread_join(t, 0);", "not followed"),
    ] {
        let main = format!("{} {main}", start(f));
        assert_eq!(about(Property::NoDataRace, head, &main), expected, "{main}");
    }
}

#[test]
fn functions_that_allocate_for_others_are_told_by_sizes() {
    let head = "struct s { int a; struct s *n; }; struct w { int a[3]; };\n\
        void *raw(unsigned long n) { void *p = malloc(n); if (!p) abort(); return p; }\n\
        void *get(unsigned long n) { if (rand() % 2) return 0; return raw(n); }\n\
        void *zero(unsigned long n, unsigned long size) { return calloc(n, size); }";
    use Property::*;
    for (property, main, expected) in [
        (
            UnreachCall,
            "struct s *p = get(sizeof(*p)); int *q = get(sizeof(int)); if (p) p->a = 4; if (q) *q = p ? p->a : 4; if (q && *q != 4) reach_error();",
            "verified",
        ),
        (UnreachCall, "struct s *p = get(sizeof(struct s)); if (!p) reach_error();", "Assertion"),
        (
            UnreachCall,
            "int *p = zero(4, sizeof(int)); p[3]++; struct w *q = zero(1, sizeof *q); if (p[3] + q->a[2] != 1) reach_error();",
            "verified",
        ),
        (
            UnreachCall,
            "int *p = zero(2, sizeof(int)), *q = zero(2, sizeof(int)); p[1] = 1; q[1] = 2; if (p[1] != 1) reach_error();",
            "verified",
        ),
        (ValidMemsafety, "int *p = zero(3, sizeof(int)); p[3] = 1; free(p);", "IndexOutOfBounds"),
        (ValidMemsafety, "struct s *p = raw(sizeof(struct s)); free(p); p->a = 1;", "Memory"),
        (ValidMemsafety, "struct s *p = raw(sizeof(struct s)); int *q = raw(sizeof(int)); *q = 1; free(q);", "Leak"),
        (UnreachCall, "int *p = raw(sizeof(int)); if (*p == 5) reach_error();", "Assertion"),
        // Types of one size, and a size that nobody says.
        (
            UnreachCall,
            "struct w *p = raw(sizeof *p); struct { short a[6]; } *q = raw(sizeof *q); q->a[1] = 1; p->a[1] = 1;",
            "not followed",
        ),
        (UnreachCall, "int *p = raw(sizeof(int)); long *q = raw(8); *q = 1;", "not followed"),
    ] {
        assert_eq!(about(property, head, main), expected, "{main}");
    }
    let folder = Folder::new();
    let text = "#include <stdlib.h>\nvoid *raw(unsigned long n) { return malloc(n); }\nint main(void) { int *p = raw(4); *p = 1; return 0; }";
    let message = common::read(&[&folder.file("x.c", text)], &[]).err().unwrap_or_default();
    assert!(message.contains("what is allocated here is not known"), "{message}");
}

/// What a container of elements of any type allocates is characters, and what is copied there and back is what it was.
#[test]
fn a_number_of_bytes_that_somebody_else_knows_is_allocated() {
    let head = "struct item { int id; double w; }; struct box { void *data; size_t each; } b; \
        void make(size_t each) { b.data = malloc(2 * each); b.each = each; } \
        void put(int i, const void *x) { memcpy((char *)b.data + i * b.each, x, b.each); } \
        void get(int i, void *x) { memcpy(x, (char *)b.data + i * b.each, b.each); }";
    let main = |claim: &str| {
        format!(
            "struct item x = {{ 3, 1.5 }}, y; int n = 7, k; make(sizeof n); put(1, &n); get(1, &k); assert(k == 7); free(b.data); \
             b.data = malloc(sizeof x); b.each = sizeof x; put(0, &x); get(0, &y); assert({claim});"
        )
    };
    assert_eq!(common::said(head, &main("y.id == 3 && y.w == 1.5")), "verified");
    assert_eq!(common::said(head, &main("y.w == 2.5")), "Assertion");
}
