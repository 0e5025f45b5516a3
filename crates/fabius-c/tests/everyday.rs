//! What programs of every day use, one small program each: values that nobody has set, jumps, functions that are called at an end.
//!
//! Length: one test for each thing, with the programs in it.

mod common;

use common::{Folder, Found, HEAD, check, check_text, said};

#[test]
fn an_integer_without_a_value_may_be_anything() {
    assert_eq!(said("", "int n; assert(n != 5);"), "Assertion");
    assert!(said("", "int n; assert(n == n);").contains("not all values"));
    assert_eq!(said("", "unsigned char n; assert(n < 255);"), "Assertion");
    assert_eq!(said("", "unsigned long n; assert(n != 1);"), "Assertion");
    assert_eq!(said("", "int n; for (int i = 0; i < 3; i++) n = i; assert(n == 2);"), "verified");
    assert_eq!(said("", "int n; while (1) { n = 2; break; } assert(n == 2);"), "verified");
    assert_eq!(said("", "int n, k = rand() % 2; if (k) n = 1; if (k) assert(n == 1);"), "verified");
    assert_eq!(said("", "int n, k = rand() % 2; if (k) n = 1; if (!k) assert(n == 0);"), "Assertion");
    assert_eq!(said("", "for (int i = 0; i < 2; i++) { int n; if (i == 0) n = 1; assert(n == 1); }"), "Assertion");
    assert_eq!(said("int f(void) { return 7; }", "int n; n = f(); assert(n == 7);"), "verified");
    assert_eq!(
        said("", "int n; switch (rand() % 3) { case 0: n = 1; break; default: n = 2; } assert(n > 0);"),
        "verified"
    );
    assert_eq!(said("", "int n; goto set; again: assert(n == 1); return 0; set: n = 1; goto again;"), "verified");
    assert_eq!(
        said("", "int n = 0; int i; do { int k; if (n) assert(k == 1); else k = 1; } while (n++ < 1);"),
        "Assertion"
    );
    assert_eq!(said("", "_Bool b; assert(!b);"), "Assertion");
    assert_eq!(said("", "_Bool b; assert(b == 0 || b == 1);"), "verified");
    assert_eq!(said("", "int n = n; assert(n == 0);"), "Assertion");
    // A jump passes over a declaration, and over a first value.
    assert_eq!(said("", "goto in; int n; in: assert(n == 0);"), "Assertion");
    assert_eq!(said("", "if (rand() % 2) goto in; if (0) { int n = 5; in: assert(n == 0); }"), "Assertion");
    assert_eq!(said("", "if (rand() % 2) goto end; int n = 5; assert(n == 5); end: return 0;"), "verified");
    // On one line, an assignment of 0 is none of these.
    assert_eq!(said("", "int n; n = 0; assert(n == 0); n = 0; assert(n == 0);"), "verified");
}

#[test]
fn what_is_declared_in_passing_is_taken() {
    assert_eq!(said("", "extern int nowhere; extern int errors[]; return 0;"), "verified");
    assert!(said("", "extern int nowhere; return nowhere;").contains("defined nowhere"));
    assert_eq!(said("int f(void) { extern int later; return later; } int later = 4;", "assert(f() == 4);"), "verified");
    let sums = "int sum(int n, int a[n]) { return n ? a[n - 1] + sum(n - 1, a) : 0; } int row(int n, int a[n][3]) { return a[n - 1][2]; }";
    let main =
        "int a[3] = { 1, 2, 3 }; int b[2][3] = { { 0 }, { 0, 0, 9 } }; assert(sum(3, a) == 6 && row(2, b) == 9);";
    assert_eq!(said(sums, main), "verified");
    let kind =
        "#define KIND(x) _Generic((x), int: 1, char *: 2, int (*)(int): 3, default: 4)\nint f(int n) { return n; }";
    assert_eq!(
        said(kind, "char b[3]; assert(KIND(\"a\") == 2 && KIND(b) == 2 && KIND(f) == 3 && KIND(2L) == 4);"),
        "verified"
    );
}

#[test]
fn what_is_printed_is_read() {
    let two = "pthread_t t; pthread_create(&t, 0, run, 0); b[0] = 1; pthread_join(t, 0);";
    for print in [
        "printf(\"%d: %s\", 1, b)",
        "printf(\"%-5s\", b)",
        "puts(b)",
        "fprintf(stderr, \"%*d %s\", 3, 4, b)",
        "perror(b)",
        "fputs(b, stdout)",
    ] {
        let run = format!("#include <stdio.h>\nchar b[8]; void *run(void *p) {{ {print}; return 0; }}");
        assert_eq!(said(&run, two), "DataRace", "{print}");
    }
    let address = "#include <stdio.h>\nchar b[8]; void *run(void *p) { printf(\"%p %.3s\", b, b); return 0; }";
    assert_eq!(said(address, two), "verified");
    assert_eq!(said("#include <stdio.h>", "char a[2]; a[0] = a[1] = 'a'; puts(a);"), "Memory");
    assert_eq!(said("#include <stdio.h>", "const char *s = \"abc\"; puts(s); printf(\"%s\", s);"), "verified");
}

#[test]
fn destructors_are_given_what_a_thread_leaves_behind() {
    let key = "pthread_key_t k; int ended; void end(void *p) { __sync_fetch_and_add(&ended, (long)p); }\
               void *run(void *p) { pthread_setspecific(k, p); return 0; }";
    let main = |first: &str, second: &str| {
        format!(
            "pthread_key_create(&k, end); pthread_t a, b; pthread_create(&a, 0, run, (void *){first});\
             pthread_create(&b, 0, run, (void *){second}); pthread_join(a, 0); pthread_join(b, 0);"
        )
    };
    assert_eq!(said(key, &format!("{} assert(__sync_fetch_and_add(&ended, 0) == 5);", main("2", "3"))), "verified");
    assert_eq!(said(key, &format!("{} assert(__sync_fetch_and_add(&ended, 0) == 3);", main("0", "3"))), "verified");
    assert_eq!(
        said(
            key,
            &format!(
                "{} pthread_setspecific(k, (void *)1); assert(__sync_fetch_and_add(&ended, 0) == 0);",
                main("0", "0")
            )
        ),
        "verified"
    );
    let exits = key.replace("return 0; }", "pthread_exit(0); }");
    assert_eq!(said(&exits, &format!("{} assert(__sync_fetch_and_add(&ended, 0) == 5);", main("2", "3"))), "verified");
    let plain = key.replace("__sync_fetch_and_add(&ended, (long)p);", "ended += (long)p;");
    assert_eq!(said(&plain, &main("2", "3")), "DataRace");
    let frees = "pthread_key_t k; void *run(void *p) { int *mine = malloc(sizeof(int)); pthread_setspecific(k, mine); *mine = 1; return mine; }";
    let main = "pthread_key_create(&k, free_it); pthread_t t; int *r; pthread_create(&t, 0, run, 0); pthread_join(t, (void **)&r);";
    let frees = format!("void free_it(void *p) {{ free(p); }} {frees}");
    assert_eq!(said(&frees, main), "verified");
    assert_eq!(said(&frees, &format!("{main} *r = 2;")), "Memory");
    let deleted = key.replace("return 0; }", "pthread_key_delete(k); return 0; }");
    let main = "pthread_key_create(&k, end); pthread_t a; pthread_create(&a, 0, run, (void *)2); pthread_join(a, 0); assert(ended == 0);";
    assert_eq!(said(&deleted, main), "verified");
    let again = "pthread_key_t k; void end(void *p) { pthread_setspecific(k, p); } void *run(void *p) { pthread_setspecific(k, p); return 0; }";
    let main = "pthread_key_create(&k, end); pthread_t t; pthread_create(&t, 0, run, (void *)1); pthread_join(t, 0);";
    assert_eq!(said(again, main), "not followed");
}

#[test]
fn what_is_registered_for_the_end_runs_there() {
    let two = "int n; void one(void) { n = n * 10 + 1; } void two(void) { n = n * 10 + 2; assert(n != 12); }";
    assert_eq!(said(two, "atexit(two); atexit(one); return 0;"), "Assertion");
    assert_eq!(said(two, "atexit(one); atexit(two); return 0;"), "verified");
    assert_eq!(said(two, "atexit(two); atexit(one); _exit(0);"), "verified");
    assert_eq!(said(two, "atexit(two); atexit(one); exit(0);"), "Assertion");
    let registers = format!("{two} void more(void) {{ n = 1; atexit(two); }}");
    assert_eq!(said(&registers, "atexit(more);"), "Assertion");
    assert!(said(two, "atexit(two); pthread_exit(0);").contains("together with `atexit`"));
}

#[test]
fn each_thread_has_its_own_last_error() {
    let head = "#include <errno.h>\n#include <semaphore.h>\nsem_t s; void *run(void *p) { errno = 7; return 0; }";
    let thread = "pthread_t t; errno = 3; pthread_create(&t, 0, run, 0); assert(errno == 3); pthread_join(t, 0); assert(errno == 3);";
    assert_eq!(said(head, thread), "verified");
    assert_eq!(
        said(head, "assert(sem_trywait(&s) == -1 && errno == EAGAIN); errno = EINTR; assert(errno == 4);"),
        "verified"
    );
    assert_eq!(said(head, "errno++; assert(errno == 0);"), "Assertion");
    let too_large = "assert(strtol(\"12\", 0, 10) == 12 && errno == 0); strtoull(\"18446744073709551616\", 0, 10); assert(errno == ERANGE);";
    assert_eq!(said(head, too_large), "verified");
}

#[test]
fn functions_on_bits_and_letters_are_those_of_the_compiler() {
    let main = r#"
        assert(__builtin_popcount(0xf0f0) == 8 && __builtin_popcountll(~0ull) == 64 && __builtin_parity(7) == 1);
        assert(__builtin_ctz(8) == 3 && __builtin_clz(1) == 31 && __builtin_ffs(0) == 0 && __builtin_ffs(12) == 3);
        assert(__builtin_bswap32(0x01020304) == 0x04030201);
        if (__builtin_constant_p(n)) n = 2;
        if (n == 7) __builtin_unreachable();
        char b[8] = "ab";
        strncat(b, "cdef", 2);
        assert(strcmp(b, "abcd") == 0 && strrchr("abca", 'a')[0] == 'a' && strrchr("ab", 'x') == 0 && strnlen(b, 2) == 2);
        assert(strstr(b, "bc") == b + 1 && strstr(b, "cb") == 0 && memchr(b, 'c', 4) == b + 2 && atol("-9") == -9);
    "#;
    assert_eq!(said("int n;", main), "verified");
    assert_eq!(said("int n;", "if (n == 0) __builtin_unreachable();"), "not followed");
}

#[test]
fn jumps_go_into_statements() {
    let device = "int f(int n) { int k = 0; switch (n % 4) { case 0: do { k++; case 3: k++; case 2: k++; case 1: k++; } while ((n -= 4) > 0); } return k; }";
    assert_eq!(said(device, "assert(f(7) == 7 && f(9) == 9 && f(8) == 8 && f(1) == 1 && f(-2) == 0);"), "verified");
    let branches = "int g(char c, int x) { switch (c) { case 'a': { case 'b': return 1; } if (x) { case 'c': return 2; } else { case 'e': x += 5; } return x; default: return 3; } }";
    let main = "assert(g('a', 0) == 1 && g('b', 0) == 1 && g('c', 0) == 2 && g('e', 1) == 6 && g('d', 0) == 3);";
    assert_eq!(said(branches, main), "verified");
    let loops = "int h(int x, int y) { int r = 0, i = 10; switch (x) { case 1: for (i = 0; i < 3; i++) { r += 100; case 2: r++; if (i == y) break; }\
                 r += 1000; if (r) case 3: r += 5; } return r * 100 + i; }";
    let main = "assert(h(1, 1) == 120701 && h(2, 10) == 100610 && h(2, 0) == 100611 && h(3, 0) == 510 && h(4, 0) == 10 && h(1, 9) == 130803);";
    assert_eq!(said(loops, main), "verified");
    assert_eq!(
        said("int s(int x) { switch (x) case 5: return 1; return 2; }", "assert(s(5) == 1 && s(6) == 2);"),
        "verified"
    );
    let inner = "int t(int x, int y) { switch (x) { { case 1: switch (y) { case 1: return 11; default: break; case 2: return 12; } } case 2: return 20; default: ; } return 0; }";
    assert_eq!(
        said(inner, "assert(t(1, 1) == 11 && t(1, 2) == 12 && t(1, 3) == 20 && t(2, 1) == 20 && t(3, 1) == 0);"),
        "verified"
    );
    let into = "int i(int x) { int r = 0; if (x) goto inside; while (r < 3) { r++; inside: r += 2; } return r; }";
    assert_eq!(said(into, "assert(i(1) == 5 && i(0) == 3);"), "verified");
    let deep = "int d(int x) { int r = 0; if (x == 1) goto yes; if (x == 2) goto no; if (x > 5) { r = 1; yes: r += 10; } else { r = 2; no: r += 20; { if (r > 40) goto yes; } } return r; }";
    assert_eq!(said(deep, "assert(d(1) == 10 && d(2) == 20 && d(6) == 11 && d(0) == 22);"), "verified");
    let back = "int b(int n) { int r = 0; { again: r += n; } n--; if (n > 0) goto again; return r; }";
    assert_eq!(said(back, "assert(b(4) == 10);"), "verified");
    assert!(
        said("int e(int x) { goto in; switch (x) { case 1: in: return 1; } return 2; }", "e(1);")
            .contains("it is in a `switch`")
    );
}

#[test]
fn elements_are_sorted_by_what_compares_them() {
    let head = "struct s { short key; int value; };\n\
                int up(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }\n\
                int down(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }\n\
                int by_key(const void *a, const void *b) { return ((const struct s *)a)->key - ((const struct s *)b)->key; }";
    let numbers = "int a[5] = { 3, 1, 4, 1, 5 };";
    let sorted = "assert(a[0] == 1 && a[1] == 1 && a[2] == 3 && a[3] == 4 && a[4] == 5);";
    assert_eq!(said(head, &format!("{numbers} qsort(a, 5, sizeof(int), up); {sorted}")), "verified");
    assert_eq!(
        said(head, &format!("{numbers} qsort(a, 5, sizeof(int), down); assert(a[0] == 5 && a[4] == 1);")),
        "verified"
    );
    assert_eq!(
        said(head, &format!("{numbers} qsort((void *)(a + 1), 2, sizeof a[0], up); assert(a[1] == 1 && a[2] == 4);")),
        "verified"
    );
    assert_eq!(said(head, &format!("{numbers} qsort(a, 4, sizeof(int), up); {sorted}")), "verified");
    assert_eq!(said(head, &format!("{numbers} qsort(a, 3, sizeof(int), up); {sorted}")), "Assertion");
    assert_eq!(said(head, &format!("{numbers} qsort(a, 6, sizeof(int), up);")), "Memory");
    let structs = "struct s *p = malloc(3 * sizeof(struct s)); p[0].key = 2; p[1].key = 1; p[2].key = 2; p[0].value = 7; p[2].value = 8;";
    let sorted = "assert(p[0].key == 1 && p[1].value == 7 && p[2].value == 8);";
    assert_eq!(said(head, &format!("{structs} qsort(p, 3, sizeof *p, by_key); {sorted}")), "verified");
}

#[test]
fn each_byte_is_filled() {
    let main = "int a[3]; unsigned u; short s[2]; long l; char c[3]; memset(a, -1, sizeof a); memset(&u, 0xab, sizeof u);\
                memset(s, 1, sizeof s); memset(&l, 0x180, sizeof l); memset(c, 'x', 2);\
                assert(a[2] == -1 && u == 0xababababu && s[1] == 257 && l == (long)0x8080808080808080 && c[1] == 'x');";
    assert_eq!(said("", main), "verified");
    assert_eq!(said("", &format!("{main} assert(c[2] != 'x');")), "Assertion");
    let once =
        "int n = 1; char c[3]; memset(c, n++, sizeof c); memset(c, n++, 0); assert(n == 3 && c[0] == 1 && c[2] == 1);";
    assert_eq!(said("", once), "verified");
}

#[test]
fn jumps_stay_inside_of_atomic_sections() {
    let head = "void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void); int x, y;\n\
                void *run(void *p) { __VERIFIER_atomic_begin(); for (int i = 0; i < 5; i++) { if (i == 3) break; if (i == 1) continue; x++; }\n\
                switch (x) { case 2: y = 1; break; case 4: y = 2; break; default: y = 9; } { goto set; y = 8; set: x += 0; }\n\
                __VERIFIER_atomic_end(); return 0; }";
    let two = "pthread_t a, b; pthread_create(&a, 0, run, 0); pthread_create(&b, 0, run, 0); pthread_join(a, 0); pthread_join(b, 0);";
    assert_eq!(said(head, &format!("{two} assert(x == 4 && y == 2);")), "verified");
    assert_eq!(said(head, "run(0); assert(x == 2 && y == 1); run(0); assert(y == 1);"), "Assertion");
    let out = head
        .replace("{ goto set; y = 8; set: x += 0; }", "if (x > 5) goto end;")
        .replace("return 0; }", "end: return 0; }");
    assert!(said(&out, "run(0);").contains("a jump out of an atomic section"));
}

/// What is common in real code, and easily taken for something else.
#[test]
fn what_gnu_c_knows_is_taken() {
    assert_eq!(said("", "char *p = malloc(0); free(p);"), "verified");
    assert_eq!(said("", "char *p = malloc(0); p[0] = 1;"), "IndexOutOfBounds");
    assert_eq!(said("", "char *p = malloc(0); free(p); free(p);"), "Memory");
    assert_eq!(
        said("", "int n = rand() % 3; int *p = malloc(n * sizeof(int)); if (n) p[n - 1] = 1; free(p);"),
        "verified"
    );
    assert_eq!(
        said("", "int n = rand() % 3; int *p = malloc(n * sizeof(int)); p[0] = 1; free(p);"),
        "IndexOutOfBounds"
    );
    assert_eq!(
        said("", "int *p = __builtin_malloc(8); p[1] = __builtin_abs(-3); assert(p[1] == 3); __builtin_free(p);"),
        "verified"
    );
    assert_eq!(said("", "__builtin_trap();"), "Assertion");
    let fence =
        "int n = 1; __asm__ volatile (\"\" ::: \"memory\"); asm volatile(\"mfence\"); asm(\"pause\"); assert(n == 1);";
    assert_eq!(said("", fence), "verified");
    assert!(said("", "int n; asm(\"cpuid\");").contains("assembly is not taken"));
    let aligned = "typedef long word; enum { WIDE = 32 };\n\
                   struct a { char c; int x __attribute__((aligned(sizeof(word)))); };\n\
                   struct b { char c; int x __attribute__((__aligned__(WIDE / 2))); };\n\
                   struct c { char c; } __attribute__((aligned(__alignof__(int))));\n\
                   struct d { char c; _Alignas(long) char d; };";
    let sizes =
        "assert(sizeof(struct a) == 16 && sizeof(struct b) == 32 && sizeof(struct c) == 4 && sizeof(struct d) == 16);";
    assert_eq!(said(aligned, sizes), "verified");
    assert!(said("struct a { int x __attribute__((aligned(3))); } a;", "a.x = 1;").contains("no power of two"));
    assert!(said("int n; struct a { int x __attribute__((aligned(n))); } a;", "a.x = 1;").contains("a constant"));
    let same =
        "#define SAME(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))\nint x; long y; int z[3];";
    assert_eq!(said(same, "assert(SAME(x, x) && !SAME(x, y) && !SAME(z, &z[0]) && SAME(z, z));"), "verified");
    assert_eq!(
        said(
            "",
            "assert(__builtin_types_compatible_p(int, const int) && !__builtin_types_compatible_p(int, unsigned));"
        ),
        "verified"
    );
    assert_eq!(
        said("", "assert(__builtin_types_compatible_p(int[3], int[3]) && !__builtin_types_compatible_p(int *, int));"),
        "verified"
    );
}

#[test]
fn each_thread_has_its_own_in_memory_too() {
    let head = "__thread int x; _Thread_local int y = 3; int *shared; void inc(int *p) { ++*p; }\n\
                void *own(void *p) { inc(&x); assert(x == 1 && y == 3); return 0; }\n\
                void *other(void *p) { *shared = 5; x = 9; return 0; }";
    let with = |thread: &str, main: &str| {
        said(head, &format!("pthread_t t; {main} pthread_create(&t, 0, {thread}, 0); inc(&y); pthread_join(t, 0);"))
    };
    assert_eq!(with("own", "inc(&x);"), "verified");
    let seen = "pthread_t t; shared = &x; pthread_create(&t, 0, other, 0); pthread_join(t, 0);";
    assert_eq!(said(head, &format!("{seen} assert(x == 5);")), "verified");
    assert_eq!(said(head, &format!("{seen} assert(x == 9);")), "Assertion");
    assert_eq!(said(head, &seen.replace("pthread_join(t, 0);", "x = 1;")), "DataRace");
    // Those of a function, and the last error.
    let head = "#include <errno.h>\nint next(void) { static __thread int n = 5; int *p = &n; return ++*p; }\n\
                void *run(void *p) { int *e = &errno; *e = 3; assert(next() == 6 && next() == 7); return 0; }";
    let main = "pthread_t t; next(); pthread_create(&t, 0, run, 0);";
    assert_eq!(said(head, &format!("{main} assert(next() == 7 && errno == 0); pthread_join(t, 0);")), "verified");
    assert_eq!(said(head, &format!("{main} assert(next() == 6); pthread_join(t, 0);")), "Assertion");
}

/// Where threads are switched at synchronization alone, others go on while a loop looks at data.
#[test]
fn a_loop_that_waits_for_data_lets_others_go_on() {
    let head = "int flag, data; int *p = &flag; void *set(void *a) { data = 1; flag = 1; return 0; }";
    let wait = |wait: &str| {
        said(head, &format!("pthread_t t; pthread_create(&t, 0, set, 0); {wait} data = 2; pthread_join(t, 0);"))
    };
    for each in
        ["while (!flag) ;", "do { } while (flag != 1);", "for (;;) if (*p) break;", "while (1) { if (flag) break; }"]
    {
        assert_eq!(wait(each), "DataRace", "{each}");
    }
    assert_eq!(
        said(head, "pthread_t t; pthread_create(&t, 0, set, 0); pthread_join(t, 0); while (!flag) ;"),
        "verified"
    );
    assert_eq!(said("int n;", "for (int i = 0; i < 3; i++) n += i; while (n != 3) ; assert(n == 3);"), "verified");
}

#[test]
fn labels_stand_anywhere_in_a_switch() {
    let sections = "void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void); int g;";
    let section = "switch (rand() % 3) { case 0: __VERIFIER_atomic_begin(); g++; __VERIFIER_atomic_end(); break;\n\
                   default: __VERIFIER_atomic_begin(); g = 5; __VERIFIER_atomic_end(); } assert(g == 1 || g == 5);";
    assert_eq!(said(sections, section), "verified");
    assert_eq!(said(sections, &section.replace("|| g == 5", "")), "Assertion");
    assert_eq!(
        said(sections, "goto in; in: __VERIFIER_atomic_begin(); g++; __VERIFIER_atomic_end(); assert(g == 1);"),
        "verified"
    );
    let jump = "int n = 0, k = rand() % 2; switch (k) { case 0: if (n) goto out; n = 2; break; case 1: again: n++; if (n < 3) goto again; out: ; }";
    assert_eq!(said("", &format!("{jump} assert(n == 3 - (k == 0));")), "verified");
    assert_eq!(said("", &format!("{jump} assert(n == 3);")), "Assertion");
}

#[test]
fn a_function_takes_any_number_of_arguments() {
    let head = "#include <stdarg.h>\nint sum(int n, ...) { va_list ap; int s = 0; va_start(ap, n);\n\
                for (int i = 0; i < n; i++) s += va_arg(ap, int); va_end(ap); return s; }\n\
                long pick(const char *how, ...) { va_list a, b; va_start(a, how); va_copy(b, a); long s = 0;\n\
                for (; *how; how++) s += *how == 'l' ? va_arg(a, long) : *how == 'p' ? *va_arg(a, int *) : va_arg(a, int);\n\
                s = s * 100 + va_arg(b, int); va_end(a); va_end(b); return s; }\n\
                int next(va_list *ap) { return va_arg(*ap, int); }\n\
                int two(int n, ...) { va_list ap; va_start(ap, n); int a = next(&ap), b = next(&ap); va_end(ap); return a * 10 + b; }\n\
                int (*f)(int, ...) = sum; int g; void *run(void *p) { assert(sum(3, 4, 5, sum(1, 6)) == 15); return 0; }";
    for (main, expected) in [
        ("assert(sum(0) == 0 && sum(2, 3, 4) == 7 && f(1, -1) == -1);", "verified"),
        ("assert(sum(2, 3, 4) == 8);", "Assertion"),
        (
            "int x = 5; char c = -1; assert(pick(\"ilpi\", c, 1l << 40, &x, 2) == ((1l << 40) + 6) * 100 - 1);",
            "verified",
        ),
        ("assert(two(0, 1, 2) == 12);", "verified"),
        ("sum(2, 1);", "not followed"),
        ("pthread_t t; pthread_create(&t, 0, run, 0); run(0); pthread_join(t, 0);", "verified"),
    ] {
        assert_eq!(said(head, main), expected, "{main}");
    }
}

#[test]
fn what_is_printed_into_memory_is_there() {
    let head = "#include <stdio.h>\n#include <stdarg.h>\nchar b[32];\n\
                int is(int n, int m, const char *s) { return n == m && strcmp(b, s) == 0; }\n\
                int print(const char *f, ...) { va_list ap; va_start(ap, f); int n = vsnprintf(b, 8, f, ap); va_end(ap); return n; }\n\
                void *run(void *p) { snprintf(b, 8, \"run\"); return 0; }";
    for (main, expected) in [
        (
            "int n = sprintf(b, \"a%d-%s|%5u|%-4d|%x%c%%\", -12, \"xy\", 7u, 3, 255, 'q'); assert(is(n, 23, \"a-12-xy|    7|3   |ffq%\"));",
            "verified",
        ),
        ("int n = snprintf(b, 4, \"%ld\", 123456l); assert(is(n, 6, \"123\"));", "verified"),
        (
            "int n = snprintf(b, 32, \"%03d %+d %lu %lld %hhd %X %o\", 7, 8, 9ul, -1ll << 40, 257, 171, 8); assert(is(n, 31, \"007 +8 9 -1099511627776 1 AB 10\"));",
            "verified",
        ),
        ("int n = snprintf(b, 32, \"%.2s|%*d\", \"abc\", 3, 1); assert(is(n, 6, \"ab|  1\"));", "verified"),
        ("int n = print(\"%s:%d\", \"abcdef\", 34); assert(is(n, 9, \"abcdef:\"));", "verified"),
        ("assert(snprintf(0, 0, \"%d\", -10) == 3);", "verified"),
        ("char s[4]; sprintf(s, \"%d\", 1234);", "Memory"),
        ("snprintf(b, 8, \"%f\", 1.5);", "not followed"),
        ("pthread_t t; pthread_create(&t, 0, run, 0); snprintf(b, 8, \"x\"); pthread_join(t, 0);", "DataRace"),
        ("pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); assert(is(3, 3, \"run\"));", "verified"),
    ] {
        assert_eq!(said(head, main), expected, "{main}");
    }
}

#[test]
fn arrays_without_a_constant_length_end_where_c_has_their_end() {
    let head = "void fill(int *p, int n) { for (int i = 0; i < n; i++) p[i] = i; } int three(void) { return 3; }";
    for (main, expected) in [
        ("int n = three(); int a[n]; for (int i = 0; i < n; i++) a[i] = i; assert(a[2] == 2);", "verified"),
        ("int n = three(); int a[n]; for (int i = 0; i <= n; i++) a[i] = i;", "IndexOutOfBounds"),
        ("int n = three(); int a[n]; fill(a, n); n = 9; assert(a[2] == 2);", "verified"),
        ("int n = three(); int a[n]; fill(a, n); n = 9; a[3] = 1;", "IndexOutOfBounds"),
        ("int n = three(); int a[n]; fill(a, n + 1);", "IndexOutOfBounds"),
        ("int n = three(); int a[n]; int *p = a; p += n; *p = 1;", "IndexOutOfBounds"),
        ("int n = three(); int a[2][n]; a[1][2] = 5; assert(a[1][2] == 5);", "verified"),
        ("int n = three(); int a[2][n]; a[0][3] = 7;", "not followed"),
        ("for (int n = 1; n < 4; n++) { int a[n]; a[n - 1] = n; if (n == 3) a[0] = a[n]; }", "IndexOutOfBounds"),
    ] {
        assert_eq!(said(head, main), expected, "{main}");
    }
    // Where such lengths say how far apart elements are.
    for (head, main) in [
        ("", "int n = 2, a[2][2]; int (*p)[n] = a; p[1][0] = 1;"),
        ("", "int n = 2, (*p)[n] = malloc(sizeof(int[2][2]));"),
        ("", "int n = 3, a[n][n], *p = &a[0][0]; p[4] = 1;"),
        ("", "int n = 2; typedef int row[n]; row a; a[0] = 1;"),
        ("int sum(int n, int a[][n]) { return a[1][1]; }", "int a[2][2] = {{1, 2}, {3, 4}}; sum(2, a);"),
    ] {
        let said = said(head, main);
        assert!(said.contains("constant length") || said.contains("is a constant here"), "{main}: {said}");
    }
}

#[test]
fn a_number_of_bytes_that_is_not_constant_is_copied() {
    let head = "int three(void) { return 3; }";
    for (main, expected) in [
        (
            "int n = three(), a[4] = {1, 2, 3, 4}, b[4] = {0}; memcpy(b, a, n * sizeof *b); memset(a, 0, n * sizeof *a); \
             assert(b[2] == 3 && !b[3] && !a[0] && a[3] == 4);",
            "verified",
        ),
        (
            "char a[8] = \"abcdefg\"; memmove(a + 1, a, 3); assert(a[1] == 'a' && a[3] == 'c' && a[4] == 'e'); \
             memmove(a, a + 1, three()); assert(a[0] == 'a' && a[2] == 'c' && a[3] == 'c'); \
             memmove(a + 2, a, three()); assert(a[2] == 'a' && a[4] == 'c');",
            "verified",
        ),
        ("int n = three() + 2, a[4], b[4]; memset(b, 0, sizeof b); memcpy(a, b, n * sizeof *b);", "IndexOutOfBounds"),
        ("int n = three(), a[4] = {1}, b[4] = {0}; memcpy(b, a, n);", "not followed"),
    ] {
        assert_eq!(said(head, main), expected, "{main}");
    }
}

#[test]
fn texts_and_bits_as_the_library_has_them() {
    let head = "#include <ctype.h>\n\
        int less(int a, int b) { return a < b; } int (*choose(char c))(int, int) { if (c == '<') return less; return 0; }\n\
        enum flags { LOW = 1, TOP = 1u << 31 }; struct s { int x; };";
    for main in [
        "char *end; assert(strtol(\" -12x\", &end, 10) == -12 && *end == 'x'); assert(strtol(\"0x1f\", 0, 0) == 31);",
        "char *end; char *no = \"z\"; assert(strtol(no, &end, 10) == 0 && end == no); assert(strtoul(\"755\", 0, 8) == 493);",
        "assert(strtol(\"-9223372036854775809\", 0, 10) == -9223372036854775807l - 1);",
        "assert(strtol(\"9223372036854775808\", 0, 10) == 9223372036854775807l && strtoul(\"-1\", 0, 10) == ~0ul);",
        "char *p = strdup(\"abc\"); p[0] = 'x'; assert(!strcmp(p, \"xbc\")); free(p);",
        "assert(isdigit('7') && !isdigit('a') && isspace('\\n') && isalnum('Z') && isxdigit('f') && ispunct('!') && !isprint(7));",
        "assert(__builtin_clzl(1) == 63 && __builtin_ctzll(1ull << 40) == 40 && __builtin_clzll(5) == 61 && __builtin_ffsl(8) == 4);",
        "assert(__builtin_bswap16(0x102) == 0x201 && __builtin_bswap64(1) == 1ull << 56 && __builtin_parityl(7) == 1);",
        "assert(choose('<')(1, 2) && (*choose('<'))(1, 2) && !choose('>'));",
        "unsigned f = TOP; assert((f & TOP) && TOP > 0 && sizeof(enum flags) == 4);",
        "{ struct s; struct s *p = 0; struct s { long l[3]; }; assert(sizeof(struct s) == 24 && !p); } assert(sizeof(struct s) == 4);",
    ] {
        assert_eq!(said(head, main), "verified", "{main}");
    }
}

#[test]
fn an_atomic_section_ends_on_several_ways() {
    let head = "void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void); int n, m, x;\n\
        #define BEGIN __VERIFIER_atomic_begin()\n#define END __VERIFIER_atomic_end()\n\
        int take(void) { BEGIN; if (n == 0) { END; return 0; } n--; m++; assert(n >= 0); END; return 1; }\n\
        int find(int k) { BEGIN; for (int i = 0; i < 3; i++) { if (i == k) { x = i; END; return i; } } END; return -1; }\n\
        int both(int c) { int r; BEGIN; if (c) { x = 5; END; r = 1; } else { int y = 7; x = y; END; r = y; } return r; }\n\
        void hold(void) { again: BEGIN; if (m) { END; goto again; } m = 1; END; }\n\
        int gap(void) { BEGIN; if (n) { END; BEGIN; n--; assert(n >= 0); END; return 0; } END; return 1; }\n\
        void *taker(void *p) { while (take()) ; return 0; } void *holder(void *p) { hold(); x++; BEGIN; m = 0; END; return 0; }\n\
        void *leaver(void *p) { gap(); return 0; }";
    let two = |f: &str| format!("pthread_t t; pthread_create(&t, 0, {f}, 0); {f}(0); pthread_join(t, 0);");
    for (main, expected) in [
        (format!("n = 2; {} assert(n == 0 && m == 2);", two("taker")), "verified"),
        (format!("{} assert(x == 2);", two("holder")), "verified"),
        (format!("n = 1; {}", two("leaver")), "Assertion"),
        (
            "assert(find(1) == 1 && find(9) == -1 && x == 1 && both(1) == 1 && both(0) == 7 && x == 7);".into(),
            "verified",
        ),
    ] {
        assert_eq!(said(head, &main), expected, "{main}");
    }
    for main in [
        "BEGIN; x = 1;",
        "BEGIN; if (x) { END; return 1; } x = 2;",
        "BEGIN; while (x) { x--; if (n) { END; break; } } END;",
    ] {
        let said = said(head, main);
        assert!(said.contains("does not end in the block"), "{main}: {said}");
    }
}

#[test]
fn what_stands_in_front_of_a_statement_expression_keeps_its_value() {
    let head = "int g, c = 3;\n#define MAX(a, b) ({ int m = (a); if (m < (b)) m = (b); m; })";
    for main in [
        "int a = 60, r = (a - g) + ({ int z; z = c; z; }); assert(r == 63);",
        "int a = 60, r = (a - !g) >> ({ short z = c; z -= 3; z; }); assert(r == 59);",
        "int a = 60, r = (a + c) * 2 + MAX(g, c); assert(r == 129);",
    ] {
        assert_eq!(said(head, main), "verified", "{main}");
    }
}

#[test]
fn preprocessed_text_of_gcc_is_taken() {
    let head = "typedef unsigned long pthread_t; extern int pthread_create(pthread_t *, void *, void *(*)(void *), void *);\n\
        extern int pthread_join(pthread_t, void **); extern void *__VERIFIER_nondet_pointer(void); extern void reach_error(void);\n\
        typedef _Atomic struct { _Bool __val; } atomic_flag; atomic_flag l = { 0 }; static __thread int mine; int c;\n";
    let run = "void *run(void *p) { mine = 1; while (__atomic_test_and_set((&l), 5)) ; c += mine; __atomic_clear((&l), 5);\n\
        return __VERIFIER_nondet_pointer(); }\n";
    let main = "int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); run(0); pthread_join(t, 0);\n";
    let folder = common::Folder::new();
    let said = |end: &str| {
        let file = folder.file("x.i", &format!("{head}{run}{main}{end} }}"));
        format!("{:?}", common::check_with(&[&file], "sync", &[]))
    };
    assert_eq!(said("if (c != 2 || mine != 1) reach_error();"), "Verified");
    assert!(said("if (c != 1) reach_error();").contains("Assertion"));
    let old = "int new = 7, old; __atomic_exchange((&c), (&new), (&old), 5);";
    assert_eq!(said(&format!("{old} if (old != 2 || c != 7) reach_error();")), "Verified");
    assert!(said(&format!("{old} if (old != 7) reach_error();")).contains("Assertion"));
    assert_eq!(said("if (__func__[3] != 'n' || sizeof(__func__) != 5) reach_error();"), "Verified");
    assert!(said("if (run(0) == &c) reach_error();").contains("more than is followed"));
}

#[test]
fn arrays_of_arrays_are_copied_whole() {
    let head = "int r[2][2], t[2][2] = {{5, 6}, {7, 8}}, v[2][1][3], w[2][1][3] = {{{1, 2, 3}}, {{4, 5, 6}}}; \
                struct m { int n, m[2][2]; } x, y = { 1, {{5, 6}, {7, 8}} }; char a[2][3], b[2][3] = {\"ab\", \"cd\"};";
    let copied = "assert(r[0][0] == 5 && r[0][1] == 6 && r[1][0] == 7 && r[1][1] == 8);";
    for copies in [
        "memcpy(r, t, sizeof t);",
        "memmove(&r, &t, sizeof t);",
        "int (*p)[2] = r; memcpy(p, t, sizeof t);",
        "memcpy(&r[0][0], &t[0][0], sizeof t);",
        "memcpy(r[0], t[0], sizeof t);",
        "memmove(r[0], t[0], sizeof t);",
        "memcpy(r[1], t[1], sizeof *t); memcpy(&r[0][1], &t[0][1], sizeof **t); r[0][0] = 5;",
        "int (*p)[2] = malloc(2 * sizeof *p); memcpy(p, t, sizeof t); memcpy(r, p, sizeof t);",
        "int (*p)[2] = malloc(sizeof *p); memcpy(p, t, sizeof *t); p = realloc(p, 2 * sizeof *p); p[1][0] = 7; p[1][1] = 8; memcpy(r, p, sizeof t);",
        "memcpy(x.m, y.m, sizeof x.m); memcpy(r, x.m, sizeof r); assert(x.n == 0);",
    ] {
        assert_eq!(said(head, &format!("{copies} {copied}")), "verified", "{copies}");
        assert_eq!(said(head, &format!("{copies} assert(r[1][1] == 0);")), "Assertion", "{copies}");
    }
    assert_eq!(said(head, "memcpy(v, w, sizeof v); assert(v[1][0][2] == 6 && v[0][0][0] == 1);"), "verified");
    assert_eq!(said(head, "memcpy(a, b, sizeof a); assert(a[1][0] == 'c' && !a[0][2]);"), "verified");
    assert_eq!(said(head, "memset(&t[0][0], 0, sizeof t); assert(t[1][1] == 0);"), "verified");
    assert_eq!(said(head, "int q[3][2]; memcpy(q, t, sizeof t); memcpy(r, q, sizeof q);"), "IndexOutOfBounds");
    let less = "int rows[3][2] = {{3, 1}, {1, 2}, {2, 3}}; int less(const void *a, const void *b) { return (*(int (*)[2])a)[0] - (*(int (*)[2])b)[0]; }";
    let sorted = "qsort(rows, 3, sizeof *rows, less); assert(rows[0][0] == 1 && rows[0][1] == 2 && rows[1][1] == 3 && rows[2][1] == 1);";
    assert_eq!(said(less, sorted), "verified");
    let run = "int r[2][2], t[2][2]; void *run(void *p) { memcpy(r, t, sizeof t); return 0; }";
    assert_eq!(
        said(run, "pthread_t t1; pthread_create(&t1, 0, run, 0); t[1][1] = 1; pthread_join(t1, 0);"),
        "DataRace"
    );
}

#[test]
fn memory_without_a_type_is_copied_byte_by_byte() {
    let head = "struct s { int a; short b; char c[2]; } u = { 1, 2, \"x\" }, v; int x = 1, y = 0x01020304; char t[4] = \"abc\", w[4]; \
        static void copy(void *d, const void *s, size_t n) { memcpy(d, s, n); } static void clear(void *d, size_t n) { memset(d, 0, n); } \
        static void swap(void *a, void *b, size_t n) { char t[16]; memcpy(t, a, n); memcpy(a, b, n); memcpy(b, t, n); } struct opaque;";
    for (work, claim) in [
        ("copy(&y, &x, sizeof x);", "y == 1"),
        ("void *d = &y, *s = &x; memmove(d, s, 4);", "y == 1"),
        ("clear(&y, sizeof y);", "y == 0"),
        ("clear(&y, 2);", "y == 0x01020000"),
        ("void *d = &y; memset(d, 1, 3);", "y == 0x01010101"),
        ("swap(&x, &y, sizeof x);", "x == 0x01020304 && y == 1"),
        ("swap(&u, &v, sizeof u);", "v.a == 1 && v.b == 2 && v.c[0] == 'x' && u.a == 0 && u.b == 0 && !u.c[0]"),
        ("copy(w, t, sizeof w);", "strcmp(w, \"abc\") == 0"),
        ("memcpy((struct opaque *)&y, (struct opaque *)&x, sizeof x);", "y == 1"),
    ] {
        assert_eq!(said(head, &format!("{work} assert({claim});")), "verified", "{work}");
        assert_eq!(said(head, &format!("{work} assert(!({claim}));")), "Assertion", "{work}");
    }
    // A pointer is copied as a whole, and not in part.
    let pointers = "int *p, *q; int x; static void copy(void *d, const void *s, size_t n) { memcpy(d, s, n); }";
    assert_eq!(said(pointers, "p = &x; copy(&q, &p, sizeof p); assert(q == &x);"), "verified");
    assert_eq!(said(pointers, "p = &x; copy(&q, &p, sizeof p); assert(q == 0);"), "Assertion");
    let copied = said(pointers, "p = &x; copy(&q, &p, 3); assert(q == 0);");
    assert!(!["verified", "Assertion"].contains(&copied.as_str()), "{copied}");
    let threads = "int x, y; static void copy(void *d, const void *s, size_t n) { memcpy(d, s, n); } void *run(void *p) { copy(&x, &y, 4); return 0; }";
    let raced = said(threads, "pthread_t t; pthread_create(&t, 0, run, 0); x = 1; pthread_join(t, 0);");
    assert_ne!(raced, "verified");
}

#[test]
fn a_later_initial_value_replaces_all_of_an_earlier_one() {
    let types = "struct P { int a, b; }; struct D { int n, d[2]; }; union U { int i; char c[4]; }; struct V { int n; union U u; };";
    for (declared, claim) in [
        ("struct P x[2] = { [0 ... 1] = { 3, 4 }, [0] = { 2 } };", "x[0].a == 2 && x[0].b == 0 && x[1].b == 4"),
        ("int x[2][2] = { [0][1] = 5, [0] = { 2 } };", "x[0][0] == 2 && x[0][1] == 0"),
        ("struct D x = { .d[1] = 5, .d = { 2 } };", "x.d[0] == 2 && x.d[1] == 0"),
        ("char x[2][4] = { [0] = \"abc\", [0] = \"z\" };", "x[0][0] == 'z' && x[0][2] == 0"),
        ("union U x = { .i = 0x01020304, .c = { 9 } };", "x.i == 9"),
        ("struct V x = { 1, { 0x01020304 }, .u.c[1] = 9 };", "x.n == 1 && x.u.i == 0x0900"),
        ("int x[3] = { [1] = 5, [0] = 1, 0 };", "x[0] == 1 && x[1] == 0"),
        ("struct P x[2] = { [0 ... 1] = { 3, 4 }, [0].a = 2 };", "x[0].a == 2 && x[0].b == 4"),
        ("int x[4] = { [0 ... 3] = 7, [1 ... 2] = 0 };", "x[0] == 7 && x[1] == 0 && x[2] == 0 && x[3] == 7"),
    ] {
        assert_eq!(said(types, &format!("{declared} assert({claim});")), "verified", "{declared}");
        assert_eq!(said(&format!("{types} {declared}"), &format!("assert({claim});")), "verified", "{declared}");
    }
}

#[test]
fn what_is_constant_is_not_written_to() {
    let head = "static const int k = 1; const int a[2] = {1, 2}; const struct { int n; } s = {3}; int n; int *const c = &n; const int *d = &n;";
    for writes in [
        "char *p = \"abc\"; p[0] = 1;",
        "char *p = \"abc\"; strcpy(p, \"d\");",
        "int *p = (int *)&k; *p = 2;",
        "int *p = (int *)&a[1]; *p = 2;",
        "int *p = (int *)&s.n; *p = 2;",
        "const int l = 3; int *p = (int *)&l; *p = 2;",
        "int **p = (int **)&c; *p = 0;",
        "int *p = (int *)&k; memset(p, 0, sizeof k);",
    ] {
        assert_eq!(said(head, writes), "Memory", "{writes}");
    }
    for fine in [
        "char t[] = \"abc\", *p = t; p[0] = 1;",
        "int *p = (int *)d; *p = 2; *c = 3; d = 0;",
        "const int l = 3; const int *p = &l; assert(*p == 3 && k == 1 && a[1] == 2);",
        "const char *t = \"ab\"; char b[3]; memcpy(b, t, 3); b[0] = 0; assert(t[0] == 'a');",
        "for (int i = 0; i < 2; i++) { const int l = i; const int *p = &l; assert(*p == i); }",
    ] {
        assert_eq!(said(head, fine), "verified", "{fine}");
    }
}

/// The same of a file that is preprocessed with the system's headers alone.
fn said_of_preprocessed(headers: &str, declarations: &str, main: &str) -> String {
    let folder = Folder::new();
    let file = folder.file("x.c", &format!("{headers}\n{declarations}\nint main(void) {{ {main} return 0; }}\n"));
    let output = std::process::Command::new("cc").args(["-E", "-std=gnu11"]).arg(&file).output().expect("a compiler");
    let text = String::from_utf8(output.stdout).expect("it is a text");
    match check(&[&folder.file("x.i", &text)], "sync") {
        Found::Verified => "verified".into(),
        Found::Bug(kind, ..) => kind,
        Found::Other(other) if other.contains("more than is followed") => "not followed".into(),
        Found::Other(other) => other,
    }
}

#[test]
fn threads_of_c11_may_be_those_of_the_system() {
    let headers = "#include <assert.h>\n#include <threads.h>";
    let declarations = "mtx_t m; cnd_t c; once_flag f = ONCE_FLAG_INIT; int n, ready; struct timespec soon; tss_t key;\n\
        void first(void) { n = 1; }\n\
        int run(void *p) { call_once(&f, first); mtx_lock(&m); n++; ready = 1; cnd_signal(&c); mtx_unlock(&m); thrd_yield(); \
        return tss_get(key) ? 1 : 7; }";
    let start = "thrd_t t; int r; mtx_init(&m, mtx_plain); cnd_init(&c); tss_create(&key, 0); tss_set(key, &n); \
                 thrd_create(&t, run, 0);";
    let good = "mtx_lock(&m); while (!ready) cnd_wait(&c, &m); mtx_unlock(&m); thrd_join(t, &r); assert(r == 7 && n == 2 && tss_get(key) == &n);";
    assert_eq!(said_of_preprocessed(headers, declarations, &format!("{start} {good}")), "verified");
    let tried = "int l = mtx_trylock(&m); assert(l == thrd_success || l == thrd_busy); if (l == thrd_busy) n = 3;";
    assert_eq!(said_of_preprocessed(headers, declarations, &format!("{start} {tried}")), "DataRace");
    let timed = "int l = mtx_timedlock(&m, &soon); assert(l == thrd_success);";
    assert_eq!(said_of_preprocessed(headers, declarations, &format!("{start} {timed}")), "Assertion");
}

#[test]
fn classes_of_characters_may_be_those_of_a_table() {
    let headers = "#include <assert.h>\n#include <ctype.h>";
    let text = "static const char t[] = \"aZ5 \\t_\\n\\177f~\";";
    let main = "for (int i = 0; t[i]; i++) { int c = t[i]; assert(!isalnum(c) == !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9')); \
        assert(!isspace(c) == !(c == ' ' || c == '\\t' || c == '\\n')); assert(!ispunct(c) == !(c == '_' || c == '~')); \
        assert(!isxdigit(c) == !(c == 'a' || c == '5' || c == 'f')); assert(!iscntrl(c) == !(c == '\\t' || c == '\\n' || c == 127)); \
        assert(!isprint(c) == !(c == ' ' || isgraph(c)) && !isblank(c) == !(c == ' ' || c == '\\t')); } \
        assert(isdigit(t[2]) && isupper(t[1]) && islower(t[0]) && isalpha(t[0]) && !isalpha(t[2]) && !isdigit(-1) && tolower(t[1]) == 'z');";
    assert_eq!(said_of_preprocessed(headers, text, main), "verified");
    assert_eq!(said_of_preprocessed(headers, text, "assert(isdigit(t[1]));"), "Assertion");
    assert_eq!(said_of_preprocessed(headers, text, "int c = 1000 + t[0]; return isdigit(c);"), "IndexOutOfBounds");
}

#[test]
fn what_is_included_may_call_the_library() {
    let folder = Folder::new();
    let included = "#include <string.h>\nstatic int len(const char *s) { return strlen(s); }\nstatic int above(double d) { return d > 0.5; }\n\
                    static void (*end)(void *) = free;\n";
    folder.file("inc.h", included);
    let main = "#include <assert.h>\n#include <stdlib.h>\n#include \"inc.h\"\n\
                int main(void) { int *p = malloc(sizeof *p); end(p); assert(len(\"abc\") == 3 && above(1)); return 0; }\n";
    assert_eq!(check(&[&folder.file("x.c", main)], "sync"), Found::Verified);
}

#[test]
fn functions_of_the_library_may_be_called_by_pointers() {
    let head = "#include <stdio.h>\n#include <unistd.h>\nstruct l { void (*end)(void *); }; int n; void set(void) { n = 1; } static int (*same)(const char *, const char *) = strcmp;";
    let ends = "struct l l = { free }; int *p = malloc(sizeof *p); *p = 1; l.end(p);";
    assert_eq!(said(head, ends), "verified");
    assert_eq!(said(head, &format!("{ends} l.end(p);")), "Memory");
    assert_eq!(said(head, "void (*e)(int) = exit; atexit(set); e(0); assert(0);"), "verified");
    assert_eq!(said(head, "assert(same(\"a\", \"a\") == 0 && same(\"a\", \"b\") < 0);"), "verified");
    assert_eq!(said(head, "void (*a)(void) = abort; if (same(\"a\", \"b\")) a();"), "Assertion");
    let text = format!("{HEAD}{head}\nint main(void) {{ int (*w)(const char *) = unlink; w(\"a\"); return 0; }}");
    let Found::Other(unknown) = check_text(&text, "sync") else { panic!("it is followed") };
    assert!(unknown.contains("`unlink` is called by a pointer, and has no body here"), "{unknown}");
    // A key's destructor.
    let run = "pthread_key_t k; void *run(void *p) { pthread_setspecific(k, malloc(sizeof(int))); return 0; }";
    let main = "pthread_key_create(&k, free); pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0);";
    assert_eq!(said(run, main), "verified");
    // The names may mean something else.
    assert_eq!(said("struct s { int free; } s; int exit = 1;", "s.free = 2; assert(s.free + exit == 3);"), "verified");
    assert_eq!(said(head, "assert(getpid() > 0);"), "verified");
}

#[test]
fn a_thread_that_is_cancelled_ends_where_it_may() {
    let unistd = "#include <unistd.h>\n#include <time.h>\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int n; pthread_t t; void *r;\n";
    let start = "pthread_create(&t, 0, run, 0); pthread_cancel(t); pthread_join(t, &r);";
    let said = |run: &str, main: &str| said(&format!("{unistd}{run}"), main);
    // It goes on for ever, unless it is cancelled; in a function, too.
    let asks = "void *run(void *p) { for (;;) pthread_testcancel(); }";
    assert_eq!(said(asks, &format!("{start} assert(r == PTHREAD_CANCELED);")), "verified");
    let waits = "static void wait(void) { sleep(1); n = 1; } void *run(void *p) { for (;;) wait(); }";
    assert_eq!(said(waits, &format!("{start} assert(r == PTHREAD_CANCELED);")), "verified");
    assert_eq!(said(waits, &format!("{start} assert(n == 1);")), "Assertion");
    // It may have come to its end before.
    let once = "void *run(void *p) { usleep(1); return 0; }";
    assert_eq!(said(once, &format!("{start} assert(r == PTHREAD_CANCELED);")), "Assertion");
    assert_eq!(said(once, &format!("{start} assert(!r || r == PTHREAD_CANCELED);")), "verified");
    // What a thread holds that ends so is held for ever.
    let holds =
        "void *run(void *p) { pthread_mutex_lock(&m); pthread_testcancel(); pthread_mutex_unlock(&m); return 0; }";
    assert_eq!(said(holds, &format!("{start} pthread_mutex_lock(&m);")), "Deadlock");
    let held_off = "void *run(void *p) { int old; pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old); pthread_mutex_lock(&m); \
                    pthread_testcancel(); n = 1; pthread_mutex_unlock(&m); pthread_setcancelstate(old, 0); pthread_testcancel(); return 0; }";
    assert_eq!(said(held_off, &format!("{start} pthread_mutex_lock(&m); assert(n == 1);")), "verified");
    // Who is not cancelled goes on, and who waits is not followed.
    assert_eq!(
        said(
            once,
            "pthread_t u; pthread_create(&u, 0, run, 0); pthread_create(&t, 0, run, 0); pthread_cancel(u); pthread_join(t, &r); assert(!r);"
        ),
        "verified"
    );
    let joins = "pthread_t u; void *other(void *p) { return 0; } void *run(void *p) { pthread_create(&u, 0, other, 0); pthread_join(u, 0); return 0; }";
    assert!(said(joins, start).contains("where threads are cancelled"));
    // Nobody has begun.
    let early = said(once, "pthread_cancel(t); pthread_create(&t, 0, run, 0); pthread_join(t, &r); assert(!r);");
    assert!(early != "verified" && early != "Assertion", "{early}");
}

/// Threads that are buffers have their own; tasks of one thread that have a variable at once are not told apart, and of threads of
/// any number nothing says which is which.
#[test]
fn variables_of_tasks_are_their_own() {
    let set = "#include <fabius.h>\nvoid set(int *p, int v) { *p = v; } void run(void *v) { int x; set(&x, (int)(long)v); AGAIN assert(x == (int)(long)v); }";
    let said = |again: &str, main: &str| said(&format!("#define AGAIN {again}\n{set}"), main);
    let buffers = "fabius_buffer(run, (void *)1); fabius_buffer(run, (void *)2);";
    assert_eq!(said("", buffers), "verified");
    assert_eq!(said("x++;", buffers), "Assertion");
    let tasks = "fabius_post(run, (void *)1); fabius_post(run, (void *)2);";
    assert_eq!(said("", tasks), "verified");
    assert_eq!(said("fabius_yield();", tasks), "not followed");
    for any in ["void any(void) { run((void *)1); }", "__thread int y; void any(void) { set(&y, 1); assert(y == 1); }"]
    {
        let main = "int main(void) { fabius_spawn_any(any); return 0; }";
        let refused = check_text(&format!("{HEAD}#define AGAIN\n{set}\n{any}\n{main}"), "all");
        assert!(matches!(&refused, Found::Other(words) if words.contains("any number of threads")), "{refused:?}");
    }
}
