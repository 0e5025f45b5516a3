//! What constructs of C with threads mean, one small program each.
//!
//! Length: one test for each construct, with the programs in it.

mod common;

use common::{Folder, Found, HEAD, check, check_text, said};

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

const FLAG: &str = "#include <semaphore.h>\n#include <stdatomic.h>\natomic_int flag; int data[2]; sem_t s;\
                    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; pthread_key_t k;\n\
                    #define LOAD() atomic_load_explicit(&flag, memory_order_relaxed)\n\
                    #define STORE() atomic_store_explicit(&flag, 1, memory_order_relaxed)\n";

#[test]
fn operations_of_the_library_order_who_takes_behind_who_gave_and_nothing_else() {
    let read = "pthread_rwlock_rdlock(&l); D; pthread_rwlock_unlock(&l);";
    let write = "pthread_rwlock_wrlock(&l); D; pthread_rwlock_unlock(&l);";
    for (one, other, word) in [
        (read, read, "DataRace"),
        (read, write, "verified"),
        (write, read, "verified"),
        (write, write, "verified"),
        ("D; sem_post(&s);", "sem_post(&s); D;", "DataRace"),
        ("D; sem_wait(&s);", "sem_wait(&s); D;", "DataRace"),
        ("D; sem_wait(&s);", "sem_post(&s); D;", "DataRace"),
        ("D; sem_post(&s);", "sem_wait(&s); D;", "verified"),
        ("D; pthread_cond_signal(&c);", "pthread_cond_broadcast(&c); D;", "DataRace"),
        ("D; pthread_key_create(&k, 0);", "pthread_key_t n; pthread_key_create(&n, 0); D;", "DataRace"),
    ] {
        let (one, other) = (one.replace('D', "data[0] = 1"), other.replace('D', "data[0] = 2"));
        let globals = format!("{FLAG} void *run(void *p) {{ {one} STORE(); return 0; }}");
        let main = format!(
            "sem_init(&s, 0, 2); pthread_t t; pthread_create(&t, 0, run, 0); if (LOAD()) {{ {other} }} pthread_join(t, 0);"
        );
        assert_eq!(said(&globals, &main), word, "{one} {other}");
    }
}

#[test]
fn fences_order_what_is_around_them() {
    let fence = |order: &str| match order {
        "" | "__sync_synchronize()" => order.to_string(),
        order => format!("atomic_thread_fence(memory_order_{order})"),
    };
    for (release, acquire, word) in [
        ("release", "acquire", "verified"),
        ("seq_cst", "acq_rel", "verified"),
        ("__sync_synchronize()", "__sync_synchronize()", "verified"),
        ("release", "", "DataRace"),
        ("", "acquire", "DataRace"),
        ("acquire", "release", "DataRace"),
        ("relaxed", "acquire", "DataRace"),
    ] {
        let (release, acquire) = (fence(release), fence(acquire));
        let globals = format!("{FLAG} void *run(void *p) {{ data[0] = 1; {release}; STORE(); return 0; }}");
        let main = format!(
            "pthread_t t; pthread_create(&t, 0, run, 0); if (LOAD()) {{ {acquire}; data[0] = 2; }} pthread_join(t, 0);"
        );
        assert_eq!(said(&globals, &main), word, "{release} {acquire}");
    }
    // What is written behind the fence is not released, and what is read behind the other one not acquired.
    let late = format!(
        "{FLAG} void *run(void *p) {{ atomic_thread_fence(memory_order_release); data[0] = 1; STORE(); return 0; }}"
    );
    let main = "pthread_t t; pthread_create(&t, 0, run, 0); if (LOAD()) { atomic_thread_fence(memory_order_acquire); data[0] = 2; } pthread_join(t, 0);";
    assert_eq!(said(&late, main), "DataRace");
    let globals = format!(
        "{FLAG} void *run(void *p) {{ data[0] = 1; atomic_thread_fence(memory_order_release); STORE(); return 0; }}"
    );
    let early = "pthread_t t; pthread_create(&t, 0, run, 0); atomic_thread_fence(memory_order_acquire); if (LOAD()) data[0] = 2; pthread_join(t, 0);";
    assert_eq!(said(&globals, early), "DataRace");
    let count = |second: &str| {
        format!(
            "{FLAG} void *run(void *i) {{ data[(long)i] = 1; \
             if (atomic_fetch_add_explicit(&flag, 1, memory_order_release) == 1) {{ {second}; assert(data[0] + data[1] == 2); }} return 0; }}"
        )
    };
    let main = "pthread_t a, b; pthread_create(&a, 0, run, (void *)0); pthread_create(&b, 0, run, (void *)1); pthread_join(a, 0); pthread_join(b, 0);";
    assert_eq!(said(&count("atomic_thread_fence(memory_order_acquire)"), main), "verified");
    assert_eq!(said(&count(""), main), "DataRace");
}

#[test]
fn an_atomic_variable_is_not_followed_through_a_plain_pointer() {
    let globals = "#include <stdatomic.h>\n_Atomic int x; void *run(void *p) { x = 1; return 0; }";
    let main = |work: &str| {
        format!("int *p = (int *)&x; pthread_t t; pthread_create(&t, 0, run, 0); {work}; pthread_join(t, 0);")
    };
    assert_eq!(said(globals, &main("int y = *p")), "not followed");
    assert_eq!(said(globals, &main("*p = 2")), "not followed");
    assert_eq!(said(globals, &main("__atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST)")), "verified");
    assert_eq!(said(globals, &main("_Atomic int *q = (_Atomic int *)p; int y = *q")), "verified");
}

#[test]
fn what_a_double_does_not_hold_of_a_long_double_is_not_known() {
    for (globals, main, word) in [
        ("", "long double a = (1LL << 60) + 1, b = 1LL << 60; assert(a == b);", "not followed"),
        ("long long g = 1LL << 60;", "long double a = g + 1; assert((long long)a != g + 1);", "not followed"),
        ("", "assert(0.9999999999999999999L == 1.0L);", "not followed"),
        (
            "long long g = 1LL << 53;",
            "long double a = g, b = 7; assert(a > b && 2.0L < b && (long long)a == g);",
            "verified",
        ),
        ("", "signed char c = 300.0; assert(c == 44);", "not followed"),
        ("", "unsigned char c = 255.5; unsigned u = 4294967295.0; assert(c == 255 && u == 4294967295u);", "verified"),
    ] {
        assert_eq!(said(globals, main), word, "{globals} {main}");
    }
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
    let bytes = "char *p = (char *)&s; *p = 1; assert(s.a == 0x0a0b0c01 && p[3] == 10 && p[4] == 7);";
    assert_eq!(said("struct s { int a; char b; } s = { 0x0a0b0c0d, 7 };", bytes), "verified");
    assert_eq!(said("struct s { char b; int a; } s;", "char *p = (char *)&s; p[1] = 1;"), "not followed");
    assert_eq!(said("struct s { char b; int a[90]; } s;", "char *p = (char *)&s; p[4] = 1;"), "not followed");
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
        ("#include <setjmp.h>\njmp_buf b;", "setjmp(b);", "no function that is known"),
        ("#include <signal.h>\nvoid f(int n) {}", "signal(2, f);", "`signal` is not taken"),
        ("int a[2000], b[2000];", "memset(a, 0, sizeof a);", "more than 1024 values at once"),
        ("union u { int a; _Atomic int b; } u;", "u.a = 1;", "an atomic variable in `union u` is not taken"),
        ("union { int a; _Atomic int b; } u;", "u.a = 1;", "an atomic variable in a union without a name is not taken"),
        ("union u { unsigned a : 3; long b; } u;", "__sync_fetch_and_add(&u.b, 1);", "on a part of a union"),
        ("struct s { long a : 40; } s;", "return s.a > 0;", "of 32 to 63 bits"),
        ("struct s { unsigned a : 30, b : 30, c : 30; } s;", "s.a = 1;", "a run of bit-fields of more than 64 bits"),
        ("struct s { int a, b; }; _Atomic struct s s;", "struct s t = s;", "it would be several values"),
        ("int x; __attribute__((constructor(200))) void f(void) { x = 1; }", "return x;", "`constructor` is not taken"),
        ("int x; __attribute__((constructor)) void f(int n) { x = 1; }", "return x;", "`constructor` is not taken"),
        ("void f(int *p) {}", "__attribute__((cleanup(f))) int x = 1;", "`cleanup` is not taken"),
        ("typedef int big __attribute__((aligned(16)));", "big x = 1;", "has an alignment of its own"),
        ("enum e { A = 0xffffffffu, B = -1 };", "return A;", "is no `int`"),
        ("enum e { A = 1l << 40 };", "return A;", "more than 32 bits"),
        ("int n = 3;", "int a[2][n]; return sizeof a[0];", "whose length is not constant"),
        ("#include <wchar.h>", "wchar_t *s = L\"a\";", "wide characters"),
        ("", "return 'ab';", "one of several"),
        ("#include <stdio.h>", "char b[4]; scanf(\"%s\", b);", "only numbers are read"),
        ("", "_Static_assert(sizeof(long) == 4, \"\");", "this static assertion fails"),
        ("union u { int a; long double d; } u;", "u.d = 1;", "in a union"),
        ("_Atomic double d;", "d = 1;", "it would be several values"),
        ("double d, e;", "__atomic_exchange_n(&d, 1.0, 5);", "an atomic operation on `double`"),
        ("struct s { int n; int d[]; } s = { 1, { 2 } };", "return s.n;", "an initial value of a flexible array"),
        ("int x[2]; int *_Atomic p = x;", "__atomic_fetch_add(&p, 4, 5);", "compilers do not agree"),
    ] {
        let said = said(head, main);
        assert!(said.contains(words), "{main}: {said}");
    }
    assert_eq!(said("#include <signal.h>", "signal(SIGPIPE, SIG_IGN);"), "verified");
}

#[test]
fn what_runs_first_and_what_the_system_says() {
    for x in [
        "static __attribute__((constructor)) void f(void) { x = 1; }",
        "static void f(void) __attribute__((constructor)); static void f(void) { x = 1; }",
        "__attribute__((__constructor__, noinline)) int f(void) { x = 1; return 2; }",
    ] {
        let said = said(&format!("int x; {x}"), "assert(x == 1); x = 2;");
        let taken = if x.contains("noinline") { "is not taken" } else { "verified" };
        assert!(said.contains(taken), "{x}: {said}");
    }
    let size = "int n = rand() % 3 + 1; int a[n], b[n][2]; assert(sizeof a == n * sizeof(int) && sizeof b == 8 * n);";
    assert_eq!(said("", size), "verified");
    assert_eq!(said("", "int n = rand() % 3 + 1; int a[n]; assert(sizeof a < 12);"), "Assertion");
    let print = "#include <stdio.h>";
    assert_eq!(said(print, "int n = printf(\"a\"); assert(n >= -1);"), "verified");
    assert_eq!(said(print, "assert(puts(\"a\") >= 0);"), "Assertion");
    let system = "#include <unistd.h>\n#include <pthread.h>";
    assert_eq!(said(system, "long n = sysconf(_SC_PAGESIZE); pthread_testcancel(); assert(n >= -1);"), "verified");
    assert_eq!(said(system, "assert(sysconf(_SC_PAGESIZE) != 4096);"), "Assertion");
    let aligned =
        "int *p; if (posix_memalign((void **)&p, 64, 2 * sizeof(int)) != 0) return 1; p[1] = 3; assert(p[1] == 3);";
    assert_eq!(said("", &format!("{aligned} free(p);")), "verified");
    assert_eq!(said("", &format!("{aligned} free(p); p[1] = 3;")), "Memory");
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

#[test]
fn each_thread_has_its_own() {
    let variables = "static __thread int t; _Thread_local struct { int u; } s = { 3 };\
                     void *run(void *p) { assert(t == 0 && s.u == 3); t++; s.u++; assert(t == 1 && s.u == 4); return 0; }";
    assert_eq!(said(variables, &format!("{TWO} assert(t == 0 && s.u == 3);")), "verified");
}

#[test]
fn a_run_of_bit_fields_is_one_memory_location() {
    let fields = "struct { unsigned a : 3, b : 5; unsigned : 0; unsigned c : 4; char d; } s;\
                  void *first(void *p) { s.a = 1; return 0; } void *second(void *p) { s.OTHER = 1; return 0; }";
    let main = "pthread_t a, b; pthread_create(&a, 0, first, 0); pthread_create(&b, 0, second, 0); pthread_join(a, 0); pthread_join(b, 0);";
    for (other, kind) in [("b", "DataRace"), ("c", "verified"), ("d", "verified")] {
        assert_eq!(said(&fields.replace("OTHER", other), main), kind, "{other}");
    }
    // What the neighbour has written between reading and writing is lost.
    let text =
        format!("{HEAD}{}\nint main(void) {{ {main} assert(s.a == 1 && s.b == 1); }}", fields.replace("OTHER", "b"));
    assert!(matches!(check_text(&text, "all"), Found::Bug(kind, 1, ..) if kind == "Assertion"));
}

#[test]
fn threads_may_use_different_parts_of_a_union() {
    let parts = "union { struct { int a, b; } s; long whole; char bytes[8]; } u;\
                 void *first(void *p) { u.s.a = 1; return 0; } void *second(void *p) { OTHER = 1; return 0; }";
    let main = "pthread_t a, b; pthread_create(&a, 0, first, 0); pthread_create(&b, 0, second, 0); pthread_join(a, 0); pthread_join(b, 0);";
    for (other, kind) in
        [("u.s.b", "verified"), ("u.bytes[4]", "verified"), ("u.bytes[3]", "DataRace"), ("u.whole", "DataRace")]
    {
        assert_eq!(said(&parts.replace("OTHER", other), main), kind, "{other}");
    }
    assert_eq!(said("union { int a[2]; char b[8]; } u; int n = 2;", "u.a[n] = 1;"), "IndexOutOfBounds");
}

/// Each of these holds for the compiler of the machine, too.
#[test]
fn small_programs_mean_what_the_compiler_says() {
    let programs = [
        (
            "struct in { int a[2]; union { short s; char c; } u; }; struct out { struct in x[2]; int *p; const char *name; };\
          int g; struct out o = { .x = { [1] = { .a = { 1, 2 }, .u.c = 'x' } }, .p = &g, .name = \"abc\" };\
          struct in make(int a) { struct in r = { { a, a + 1 }, { .s = 3 } }; return r; }",
            "assert(o.x[1].u.s == 'x' && o.x[1].a[1] == 2 && o.name[2] == 'c' && o.p == &g);\
          assert(make(9).a[1] == 10 && make(1).u.c == 3); struct in v, w; assert((w = v = make(4)).a[0] == 4);",
        ),
        (
            "struct list { struct list *next; }; struct item { int v; struct { int w; struct list l; } in; } a = { 1, { 2 } };\
          #define OF(p, T, m) ((T *)((char *)(p) - __builtin_offsetof(T, m)))",
            "struct list *p = &a.in.l; OF(p, struct item, in.l)->v = 9; assert(a.v == 9);\
          struct item *q = malloc(sizeof *q); q->v = 7; p = &q->in.l; assert(OF(p, struct item, in.l)->v == 7);",
        ),
        (
            "struct msg { int tag; union { int i; void *p; struct { short x, y; } at; }; };",
            "int n = 5; struct msg m = { 1, { .at = { 3, 4 } } }; assert(m.i == 0x40003); m.p = &n; assert(*(int *)m.p == 5);\
          struct msg *q = &m, k = *q; q->i = 0; assert(k.p == &n && m.at.x == 0);",
        ),
        (
            "union u { int i; unsigned n; char b[4]; };",
            "union u v; int *p = &v.i; *p = -1; assert(v.n == 0xffffffffu); char *b = v.b; b[1] = 0; assert(v.n == 0xffff00ffu);\
          union u *h = malloc(2 * sizeof *h); h[1].i = 258; assert(h[1].b[0] == 2 && h[1].b[1] == 1); free(h);",
        ),
        (
            "struct __attribute__((packed)) p { char c; int i; }; struct a { char c; _Alignas(16) int i; char d __attribute__((aligned(8))); };\
          typedef struct { char c; long l; } __attribute__((packed, aligned(2))) t; typedef int byte __attribute__((mode(QI)));",
            "assert(sizeof(struct p) == 5 && sizeof(struct a) == 32 && sizeof(t) == 10 && sizeof(byte) == 1);\
          assert(__builtin_offsetof(struct a, d) == 24);",
        ),
        (
            "",
            "int *p = (int[]){ [5] = 7 }; assert(p[5] == 7); assert(sizeof((int[]){ 1, 2 }) == 8 && sizeof((char[]){ \"abc\" }) == 4);\
          assert('\\'' == 39 && '\\377' == -1); assert(labs(-(1l << 40)) == 1l << 40 && llabs(-3ll) == 3);",
        ),
        (
            "struct f { unsigned a : 3; int b : 5; _Bool c : 1; int : 0; unsigned long d : 32, e : 32; };",
            "struct f x = { 9, -1, 4 }; assert(x.a == 1 && x.b == -1 && x.c == 1); assert(x.a - 2 < 0); assert((x.a = 10) == 2);\
          x.b = 15; x.b++; assert(x.b == -16); x.d = -1; x.e = 0; struct f *p = &x, y = *p; p->a = 7; p->a++; assert(x.a == 0 && y.a == 2);",
        ),
    ];
    let programs = programs.into_iter().chain([(
        "int calls; int next(int n) { calls++; return n; }",
        "int x = 3, *p = &x; assert((next(5) ?: next(7)) == 5 && calls == 1); assert((next(0) ? : next(7)) == 7 && calls == 3);\
         char c = 0; assert(sizeof(c ?: 1l) == 8 && (p ?: 0) == p && (0u ?: -1) > 0 && (x++ ?: 0) == 3 && x == 4); assert(\"?:\"[0] == '?');",
    )]);
    let folder = Folder::new();
    for (declarations, main) in programs {
        let declarations = declarations.replace("#define", "\n#define");
        assert_eq!(said(&declarations, main), "verified", "{main}");
        let file = folder.file("x.c", &format!("{HEAD}{declarations}\nint main(void) {{ {main} return 0; }}"));
        let program = folder.0.join("x");
        let made =
            std::process::Command::new("cc").args(["-w", "-o"]).arg(&program).arg(&file).status().expect("cc runs");
        assert!(made.success(), "{main}");
        assert!(std::process::Command::new(&program).status().expect("it runs").success(), "{main}");
    }
}

#[test]
fn a_union_in_a_struct_in_a_union_is_copied_from_and_to_where_it_is() {
    let types = "union in { int a; char c[4]; }; union out { struct { int pad; union in in; } s; long l; };\
                 static union in get(union out *p) { return p->s.in; } static int a(union in x) { return x.a; }";
    let start = "union out o = { .l = 0x0000000200000001L }; union in x = { 7 }, *p = &o.s.in;";
    let holds = |main: &str| assert_eq!(said(types, &format!("{start} {main}")), "verified", "{main}");
    holds("x = o.s.in; assert(x.a == 2 && a(o.s.in) == 2 && get(&o).a == 2 && a(*p) == 2);");
    holds("o.s.in = x; assert(o.l == 0x0000000700000001L);");
    holds("*p = x; assert(o.s.pad == 1 && o.s.in.a == 7);");
    holds("memset(&o.s.in, 0, sizeof o.s.in); assert(o.l == 1);");
    // Of one cell.
    let one = types.replace("char c[4]", "int b");
    assert_eq!(said(&one, &format!("{start} x = o.s.in; o.s.pad = x.b; assert(o.l == 0x200000002L);")), "verified");
}

#[test]
fn a_struct_of_bit_fields_in_a_union_is_copied_passed_and_returned() {
    let types = "struct h { unsigned v : 4; unsigned h : 4; unsigned short len; }; union hh { struct h h; unsigned raw; };\
                 static unsigned len(struct h x) { return x.len; } static struct h get(union hh *p) { return p->h; }";
    let holds =
        |main: &str| assert_eq!(said(types, &format!("union hh h = {{ .raw = 0x150054 }}; {main}")), "verified");
    holds("struct h k = h.h; assert(k.len == 0x15 && k.v == 4 && len(h.h) == 0x15 && get(&h).h == 5);");
    holds("struct h k = { 1, 2, 3 }; h.h = k; assert((h.raw & 0xffff00ff) == 0x30021);");
}

/// Where `run` begins and ends, and the other thread's whole work.
fn least(middle: &str) -> Option<u32> {
    let text = format!(
        "{HEAD}#include <sched.h>\n#include <semaphore.h>\n#include <stdatomic.h>\n#include <unistd.h>\n\
         atomic_int f, g; sem_t s; pthread_mutex_t m; pthread_cond_t c; pthread_rwlock_t l; struct timespec soon;\n\
         void *run(void *p) {{ f = 1; {middle} assert(g == 0); return 0; }}\n\
         void *other(void *p) {{ if (f == 1) g = 1; return 0; }}\n\
         int main(void) {{ pthread_t a, b; sem_init(&s, 0, 1); pthread_create(&a, 0, run, 0); \
         pthread_create(&b, 0, other, 0); pthread_join(a, 0); pthread_join(b, 0); return 0; }}"
    );
    match check_text(&text, "sync") {
        Found::Bug(kind, cost, ..) if kind == "Assertion" => Some(cost),
        _ => None,
    }
}

#[test]
fn to_leave_who_gives_way_is_no_preemption() {
    for gives_way in [
        "sched_yield();",
        "usleep(1);",
        "sem_timedwait(&s, &soon);",
        "pthread_mutex_timedlock(&m, &soon);",
        "pthread_rwlock_timedrdlock(&l, &soon);",
        "pthread_mutex_lock(&m); pthread_cond_timedwait(&c, &m, &soon);",
    ] {
        assert_eq!(least(gives_way), Some(0), "{gives_way}");
    }
    for goes_on in ["", "sem_wait(&s);", "pthread_mutex_trylock(&m);", "pthread_rwlock_rdlock(&l);"] {
        assert_eq!(least(goes_on), Some(1), "{goes_on}");
    }
    // What was given way to is over when the next step is made.
    assert_eq!(least("sched_yield(); f = 2; f = 1;"), Some(0));
    assert_eq!(least("f = 2; sched_yield(); f = 1;"), Some(1));
}

/// One thread writes `x` and takes the lock, or the other way round; the other one is refused it, or not.
#[test]
fn who_is_refused_a_lock_is_ordered_with_no_one() {
    let heads =
        "#include <errno.h>\n#include <semaphore.h>\n#include <stdatomic.h>\n#include <threads.h>\n#include <time.h>\n";
    let shared = "int x; struct timespec soon; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; mtx_t c; sem_t s; atomic_int a; \
                  pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; pthread_spinlock_t p;";
    let start = "sem_init(&s, 0, 1); mtx_init(&c, mtx_timed); pthread_spin_init(&p, 0); pthread_t t; pthread_create(&t, 0, run, 0);";
    let says = |run: &str, main: &str| {
        // In one line macros of the library would have one place with others.
        let run = format!("{heads}{shared} void *run(void *q) {{ {run} return 0; }}").replace("; ", ";\n");
        said(&run, &format!("{start} {main} pthread_join(t, 0);"))
    };
    for (lock, try_it, unlock) in [
        ("pthread_mutex_lock(&m)", "pthread_mutex_trylock(&m)", "pthread_mutex_unlock(&m)"),
        ("pthread_mutex_lock(&m)", "pthread_mutex_timedlock(&m, &soon)", "pthread_mutex_unlock(&m)"),
        ("mtx_lock(&c)", "mtx_trylock(&c)", "mtx_unlock(&c)"),
        ("pthread_spin_lock(&p)", "pthread_spin_trylock(&p)", "pthread_spin_unlock(&p)"),
        ("pthread_rwlock_wrlock(&l)", "pthread_rwlock_tryrdlock(&l)", "pthread_rwlock_unlock(&l)"),
        ("pthread_rwlock_rdlock(&l)", "pthread_rwlock_trywrlock(&l)", "pthread_rwlock_unlock(&l)"),
        ("sem_wait(&s)", "sem_trywait(&s)", "sem_post(&s)"),
    ] {
        for atomic in ["", "a = 1;", "atomic_store_explicit(&a, 1, memory_order_relaxed);"] {
            let run = format!("x = 1; {lock}; {atomic}");
            let refused = says(&run, &format!("if ({try_it} != 0) x = 2; else {unlock};"));
            assert_eq!(refused, "DataRace", "{try_it} {atomic}");
        }
        let both = format!("if ({try_it} == 0) {{ x++; {unlock}; }}");
        let other = format!("{lock}; {} {unlock};", if lock.contains("rdlock") { "(void)x;" } else { "x++;" });
        let both = both.replace("x++", if try_it.contains("rdlock") { "(void)x" } else { "x++" });
        assert_eq!(says(&other, &both), "verified", "{try_it}");
    }
    // How many units a semaphore has is told to everybody, and what a mutex of another is.
    assert_eq!(
        says("sem_wait(&s); x = 1; sem_post(&s);", "int n; sem_getvalue(&s, &n); if (n == 0) x = 2;"),
        "DataRace"
    );
    let checks = "pthread_mutexattr_t e; pthread_mutexattr_init(&e); pthread_mutexattr_settype(&e, PTHREAD_MUTEX_ERRORCHECK); \
                  pthread_mutex_init(&m, &e); pthread_t u; pthread_create(&u, 0, run, 0);";
    let run = format!("{heads}{shared} void *run(void *q) {{ x = 1; pthread_mutex_lock(&m); return 0; }}");
    let main =
        format!("{checks} if (pthread_mutex_trylock(&m) != 0) {{ if (pthread_mutex_unlock(&m) == EPERM) x = 2; }}");
    assert_eq!(said(&run, &main), "DataRace");
}

/// C knows nothing of what instructions order.
#[test]
fn assembly_orders_nothing_between_threads() {
    let run = "#include <stdatomic.h>\nint x; atomic_int a; void *run(void *p) { x = 1; FENCE; STORE; return 0; }";
    let main = "pthread_t t; pthread_create(&t, 0, run, 0); if (LOAD) { FENCE; x = 2; } pthread_join(t, 0);";
    let relaxed = |fence: &str| {
        let text = |of: &str| {
            of.replace("FENCE", fence)
                .replace("STORE", "atomic_store_explicit(&a, 1, memory_order_relaxed)")
                .replace("LOAD", "atomic_load_explicit(&a, memory_order_relaxed)")
        };
        said(&text(run), &text(main))
    };
    for fence in ["__asm__ volatile (\"mfence\" ::: \"memory\")", "__asm__ volatile (\"\" ::: \"memory\")"] {
        assert_eq!(relaxed(fence), "DataRace", "{fence}");
    }
    assert_eq!(relaxed("__sync_synchronize()"), "verified");
}

#[test]
fn a_thread_ends_wherever_it_asks_to() {
    let run = "int seen; static int ends(int n) { if (n > 1) pthread_exit((void *)(long)n); return n; } \
               static int half(int n) { int m = ends(n / 2); seen = 1; return m + 1; } \
               void *run(void *p) { long n = half((int)(long)p); return (void *)(n + 10); }";
    let main = "pthread_t t; void *r; pthread_create(&t, 0, run, (void *)GIVENL); pthread_join(t, &r);";
    let given = |n: &str, claim: &str| said(run, &format!("{}{claim}", main.replace("GIVEN", n)));
    assert_eq!(given("2", "assert((long)r == 12 && seen == 1);"), "verified");
    assert_eq!(given("8", "assert((long)r == 4 && seen == 0);"), "verified");
    // The first thread's end lets the others go on, and nothing behind it happens.
    let ends =
        "int x; static void leave(void) { pthread_exit(0); } void *run(void *p) { x = 1; assert(x == 0); return 0; }";
    assert_eq!(said(ends, "pthread_t t; pthread_create(&t, 0, run, 0); leave(); assert(0);"), "Assertion");
    assert_eq!(
        said(&ends.replace("x == 0", "x == 1"), "pthread_t t; pthread_create(&t, 0, run, 0); leave(); assert(0);"),
        "verified"
    );
    // A function that a thread runs and another one calls.
    let both = "void *run(void *p) { if (p) pthread_exit(p); return 0; }";
    assert_eq!(said(both, "pthread_t t; pthread_create(&t, 0, run, 0); run(&t); assert(0);"), "verified");
}

#[test]
fn numbers_that_nothing_depends_on_may_be_floating() {
    let average = "#include <math.h>\n#include <stdio.h>\nstruct s { int n; double sum; float parts[2]; };\n\
                   static double mean(const int *a, int n) { double s = 0; for (int i = 0; i < n; i++) s += a[i]; return s / n; }";
    let main = "int a[3] = { 1, 2, 3 }; struct s s = { 2, 1.5, { 0.5f, 1 } }; s.sum += mean(a, 3) * 2 - 1e-3; s.parts[1]++; \
                double d = a[0] ? s.sum : -a[1], *p = &s.sum; *p = sqrt(d) + sinf(s.parts[0]); double *q = malloc(2 * sizeof(double)); \
                q[1] = *p; struct s t = s; printf(\"%f %f\", q[1], t.sum); free(q); assert(s.n == 2 && sizeof s == 24);";
    assert_eq!(said(average, main), "verified");
    // What is read and written is read and written.
    let run = "double d; int i; void *run(void *p) { WHAT return 0; }";
    for (what, found) in [
        ("d = d + 1;", "DataRace"),
        ("double e = i; i = 1;", "DataRace"),
        ("double e = i * 0.5; (void)(e + d);", "verified"),
        ("double e = 1.5; d = e;", "DataRace"),
    ] {
        assert_eq!(said(&run.replace("WHAT", what), TWO), found, "{what}");
    }
}

#[test]
fn types_are_laid_out_as_pragmas_and_alignments_say() {
    let declarations = "#include <stddef.h>\n#pragma pack(push, 2)\n\
        struct s { char c; int i; char d; };\n\
        #pragma pack(pop)\n\
        struct t { char c; int i; };\n\
        #pragma pack(push, keep, 4)\n\
        #pragma pack(1)\n\
        struct u { struct t t; char c; long l; };\n\
        #pragma pack(pop, keep)\n\
        struct v { char c; _Alignas(16) int a, b; };\n\
        struct w { char c; int a, b __attribute__((aligned(8))), d; };";
    let main = "assert(sizeof(struct s) == 8 && offsetof(struct s, i) == 2 && _Alignof(struct s) == 2); \
        assert(sizeof(struct t) == 8 && sizeof(struct u) == 17 && offsetof(struct u, l) == 9); \
        assert(sizeof(struct v) == 48 && offsetof(struct v, b) == 32 && sizeof(struct w) == 16 && offsetof(struct w, d) == 12); \
        struct u u = {{1, 2}, 3, 4}; u.l += u.t.i; \
        assert(u.l == 6 && u.c == 3); __auto_type q = 5L; \
        assert(sizeof q == 8); int m = ({ __auto_type a = 3; __auto_type b = ({ __auto_type c = a + 1; c; }); a > b ? a : b; }); \
        assert(m == 4);";
    assert_eq!(said(declarations, main), "verified");
}

#[test]
fn more_threads_than_parties_pass_a_barrier() {
    let run = "pthread_barrier_t b; int last; void *run(void *p) { \
               if (pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD) __atomic_add_fetch(&last, 1, __ATOMIC_SEQ_CST); return 0; }";
    let main = "pthread_t t[4]; pthread_barrier_init(&b, 0, 2); for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, run, 0); \
                for (int i = 0; i < 4; i++) pthread_join(t[i], 0); assert(last == 2);";
    assert_eq!(said(run, main), "verified");
    assert_eq!(said(run, &main.replace("init(&b, 0, 2)", "init(&b, 0, 3)")), "Deadlock");
}

/// What is made or destroyed while it is in use.
#[test]
fn what_is_in_use_is_not_made_again_or_destroyed() {
    let waits = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; int go;\n\
        void *f(void *p) { pthread_mutex_lock(&m); while (!go) pthread_cond_wait(&c, &m);\n\
        pthread_mutex_unlock(&m); return 0; }";
    let beside = |what: &str| {
        format!(
            "pthread_t t; pthread_create(&t, 0, f, 0); {what} pthread_mutex_lock(&m); go = 1; \
            pthread_cond_signal(&c); pthread_mutex_unlock(&m); pthread_join(t, 0);"
        )
    };
    assert_eq!(said(waits, &beside("")), "verified");
    assert_eq!(said(waits, &beside("pthread_cond_destroy(&c);")), "SyncMisuse");
    assert_eq!(said(waits, &beside("pthread_cond_init(&c, 0);")), "SyncMisuse");
    assert_eq!(said(waits, &(beside("") + "pthread_cond_destroy(&c); pthread_cond_init(&c, 0);")), "verified");
    let lock = "pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;";
    assert_eq!(said(lock, "pthread_rwlock_rdlock(&l); pthread_rwlock_destroy(&l);"), "SyncMisuse");
    assert_eq!(said(lock, "pthread_rwlock_wrlock(&l); pthread_rwlock_destroy(&l);"), "SyncMisuse");
    let back = "pthread_rwlock_rdlock(&l); pthread_rwlock_unlock(&l); pthread_rwlock_destroy(&l);";
    assert_eq!(said(lock, back), "verified");
    let barrier = "pthread_barrier_t b; void *f(void *p) { pthread_barrier_wait(&b); return 0; }";
    let made = "assert(pthread_barrier_init(&b, 0, 2) == 0); pthread_t t; pthread_create(&t, 0, f, 0);";
    let met = "pthread_barrier_wait(&b); pthread_join(t, 0); pthread_barrier_destroy(&b);";
    assert_eq!(said(barrier, &format!("{made} {met}")), "verified");
    assert_eq!(said(barrier, &format!("{made} pthread_barrier_destroy(&b);")), "SyncMisuse");
    assert_eq!(said(barrier, &format!("{made} pthread_barrier_init(&b, 0, 2); {met}")), "SyncMisuse");
    assert_eq!(said(barrier, "assert(pthread_barrier_init(&b, 0, 0) == 22);"), "verified");
}

#[test]
fn to_wait_gives_a_recursive_mutex_back_once() {
    let run = "pthread_mutex_t m; pthread_cond_t c; int go; void *run(void *p) { pthread_mutex_lock(&m); TWICE \
               while (!go) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); return 0; }";
    let main = "pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE); \
                pthread_mutex_init(&m, &a); pthread_t t; pthread_create(&t, 0, run, 0); pthread_mutex_lock(&m); go = 1; \
                pthread_cond_signal(&c); pthread_mutex_unlock(&m); pthread_join(t, 0);";
    assert_eq!(said(&run.replace("TWICE", ""), main), "verified");
    assert_eq!(said(&run.replace("TWICE", "pthread_mutex_lock(&m);"), main), "Deadlock");
}

#[test]
fn who_waits_for_some_time_gets_what_is_free_or_gives_up() {
    let run = "struct timespec soon; pthread_mutex_t m; pthread_rwlock_t l; int got; void *run(void *p) { \
               if (pthread_mutex_timedlock(&m, &soon) == 0) { got = 1; pthread_mutex_unlock(&m); } \
               else if (pthread_rwlock_timedwrlock(&l, &soon) == 0) { got = 2; pthread_rwlock_unlock(&l); } return 0; }";
    let main = "int r; pthread_t t; pthread_mutex_lock(&m); pthread_rwlock_rdlock(&l); pthread_create(&t, 0, run, 0); \
                pthread_mutex_unlock(&m); pthread_rwlock_unlock(&l); pthread_join(t, 0);";
    assert_eq!(said(run, main), "verified");
    for outcome in 0..3 {
        assert_eq!(said(run, &format!("{main} assert(got != {outcome});")), "Assertion", "{outcome}");
    }
    let own = "r = pthread_rwlock_wrlock(&l); assert(r == 0); r = pthread_rwlock_wrlock(&l); assert(r == 35); \
               r = pthread_rwlock_rdlock(&l); assert(r == 35); r = pthread_rwlock_tryrdlock(&l); assert(r == 16); \
               r = pthread_mutex_timedlock(&m, &soon); assert(r == 0); r = pthread_mutex_timedlock(&m, &soon); assert(r == 110);";
    assert_eq!(said(run, &format!("int r; {own}")), "verified");
}

#[test]
fn a_plain_access_races_with_an_atomic_operation_on_a_variable_that_is_not_atomic() {
    let run = |body: &str| format!("int x, y[2], data; int *p; void *run(void *q) {{ {body} return 0; }}");
    let main = |body: &str| {
        format!(
            "p = malloc(sizeof(int)); *p = 0; pthread_t a; pthread_create(&a, 0, run, 0); {body} pthread_join(a, 0);"
        )
    };
    for place in ["x", "y[1]", "*p"] {
        let is = |there: &str, here: &str| said(&run(&there.replace('@', place)), &main(&here.replace('@', place)));
        let add = "__atomic_fetch_add(&(@), 1, __ATOMIC_SEQ_CST);";
        assert_eq!(is(add, "int v = @;"), "DataRace", "{place}");
        assert_eq!(is("@ = 1;", "while (!__atomic_load_n(&(@), __ATOMIC_ACQUIRE)) {}"), "DataRace", "{place}");
        assert_eq!(is("__sync_lock_test_and_set(&(@), 1);", "@ = 0;"), "DataRace", "{place}");
        assert_eq!(is(add, add), "verified", "{place}");
        assert_eq!(is(add, "int v = __atomic_load_n(&(@), __ATOMIC_RELAXED);"), "verified", "{place}");
        assert_eq!(
            is("__atomic_store_n(&(@), 1, 0);", "__sync_val_compare_and_swap(&(@), 1, 2);"),
            "verified",
            "{place}"
        );
        // They order what is around them.
        let publish = "data = 1; __atomic_store_n(&(@), 1, __ATOMIC_RELEASE);";
        let reads = "if (__atomic_load_n(&(@), __ATOMIC_ACQUIRE)) assert(data == 1);";
        assert_eq!(is(publish, reads), "verified", "{place}");
        assert_eq!(is("__atomic_store_n(&(@), 1, __ATOMIC_RELEASE); data = 1;", reads), "DataRace", "{place}");
        let lock = "while (__sync_lock_test_and_set(&(@), 1)) {} data++; __sync_lock_release(&(@));";
        assert_eq!(is(lock, lock), "verified", "{place}");
        assert_eq!(is(lock, "data = 3;"), "DataRace", "{place}");
    }
    // Two variables order nothing between each other.
    let other = run("data = 1; __atomic_store_n(&x, 1, 5);");
    assert_eq!(said(&other, &main("if (__atomic_load_n(&y[0], 5) == 0) data = 2;")), "DataRace");
    // A section of the user's is no atomic operation.
    let section = "void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void); int x; void *run(void *p) {\
                   __VERIFIER_atomic_begin(); x = 1; __VERIFIER_atomic_end(); return 0; }";
    assert_eq!(
        said(section, &main("__sync_fetch_and_add(&x, 1);").replace("p = malloc(sizeof(int)); *p = 0; ", "")),
        "DataRace"
    );
}

#[test]
fn names_may_have_dollars() {
    let text = "int main$x, main_x; _Bool weak$$choice; struct s$ { int a$b; } v$ = { .a$b = 3 };";
    assert_eq!(
        said(text, "main$x = 1; __auto_type t$ = v$.a$b; weak$$choice = t$ == 3; assert(main_x == 0 && weak$$choice);"),
        "verified"
    );
    assert_eq!(said(text, "main$x = 1; assert(main$x == 0);"), "Assertion");
}
