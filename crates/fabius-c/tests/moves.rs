//! `memset`, `memcpy`, `memmove` and `memcmp` on structs and their parts: random programs give the same results as what the compiler
//! of the machine makes of them.

mod common;

use common::{Folder, Found, check, said};
use fastrand::Rng;
use std::fmt::Write;
use std::process::Command;

/// A field: its type, what stands behind its name, how many bytes it has and what its alignment is, and how it is shown.
struct Kind(&'static str, &'static str, usize, usize, &'static str);

const KINDS: [Kind; 14] = [
    Kind("long", "", 8, 8, "#"),
    Kind("double", "", 8, 8, "(# != # ? 5 : (# > 1) + 2 * (# == 0) + 4 * (# < -1))"),
    Kind("int", "", 4, 4, "#"),
    Kind("unsigned", "", 4, 4, "#"),
    Kind("int", "[2]", 8, 4, "#[0] * 7 + #[1]"),
    Kind("float", "", 4, 4, "(# != # ? 5 : (# > 1) + 2 * (# == 0) + 4 * (# < -1))"),
    Kind("struct in", "", 4, 2, "#.x * 7 + #.y"),
    Kind("struct in", "[2]", 8, 2, "#[0].y * 7 + #[1].x"),
    Kind("union un", "", 4, 4, "#.i"),
    Kind("short", "", 2, 2, "#"),
    Kind("char", "", 1, 1, "#"),
    Kind("char", "[4]", 4, 1, "#[0] * 7 + #[3]"),
    Kind("unsigned char", "", 1, 1, "#"),
    Kind("int *", "", 8, 8, "(# == 0)"),
];

const COMMON: &str =
    "#include <assert.h>\n#include <stddef.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n
struct in { short x, y; }; union un { int i; unsigned char c[4]; };
static void fill(void *to, int byte, size_t n) { memset(to, byte, n); }
static void copy(void *to, const void *from, size_t n) { memcpy(to, from, n); }
static int sign(int n) { return (n > 0) - (n < 0); }
";

/// A program, as one that prints what it comes to, or asserts that.
fn program(rng: &mut Rng) -> String {
    let mut kinds: Vec<&Kind> = (0..rng.usize(2..6)).map(|_| &KINDS[rng.usize(..KINDS.len())]).collect();
    // Without bytes between the fields two structs can be compared.
    let dense = rng.bool();
    if dense {
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.3));
    }
    let has_pointers = kinds.iter().any(|kind| kind.0 == "int *");
    let mut fields = String::new();
    let mut size = 0;
    for (i, Kind(ty, behind, bytes, ..)) in kinds.iter().enumerate() {
        let _ = write!(fields, "{ty} f{i}{behind}; ");
        size += bytes;
    }
    if dense && size % 8 != 0 {
        let _ = write!(fields, "char end[{}];", 8 - size % 8);
    }
    let bits = rng.u8(..4) == 0 && !dense;
    if bits {
        fields += "unsigned p : 3, q : 13; ";
    }
    let mut text = format!(
        "{COMMON}struct s {{ {fields} }}; struct t {{ {fields} }};
static struct s twin(struct s v) {{ return v; }}
static struct s g; static struct t k; static int n4 = 4;
static unsigned long work(void) {{
    unsigned long h = 7; int x = 5;
    struct s v, w, a[3], *p = calloc(2, sizeof *p); char b[sizeof(struct s)];
    memset(&v, 0, sizeof v); memset(&w, 0, sizeof w); memset(a, 0, sizeof a); memset(b, 1, sizeof b);\n"
    );
    let places = ["g", "v", "w", "a[0]", "a[1]", "a[2]", "p[0]", "p[1]", "(*p)"];
    let own = ["v", "w", "g"];
    for _ in 0..rng.usize(3..10) {
        let o = places[rng.usize(..places.len())];
        let q = places[rng.usize(..places.len())];
        let e = own[rng.usize(..own.len())];
        let (i, j) = (rng.usize(..kinds.len()), rng.usize(..kinds.len()));
        let (i, j) = (i.min(j), i.max(j));
        let byte = [0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xff, 0xc1][rng.usize(..8)];
        let from = format!("offsetof(struct s, f{i})");
        let upto = format!("(offsetof(struct s, f{j}) + sizeof {o}.f{j} - {from})");
        let line = match rng.u8(..24) {
            0 => format!("memset(&{o}, {byte}, sizeof {o});"),
            1 => format!("memset(&{o}.f{i}, {byte}, sizeof {o}.f{i});"),
            2 if kinds[i].1.is_empty() => format!("memset(&{o}.f{i}, {byte}, {upto});"),
            3 => format!("memset(a, {byte}, sizeof a);"),
            4 => format!("memset(p, {byte}, 2 * sizeof *p);"),
            5 => format!("memset(a + 1, {byte}, (n4 - 2) * sizeof *a);"),
            6 => format!("memset(&{o}, {byte}, offsetof(struct s, f{j}));"),
            7 => format!("fill(&{o}, {byte}, sizeof {o});"),
            8 => format!("fill(&{o}.f{i}, {byte}, sizeof {o}.f{i});"),
            9 => format!("if (&{o} != &{q}) memcpy(&{o}, &{q}, sizeof {o});"),
            10 => format!("memcpy(&k, &{o}, sizeof k);"),
            11 => format!("memcpy(&{o}, &k, sizeof k);"),
            12 => format!("memcpy(&{o}.f{i}, &k.f{i}, sizeof k.f{i});"),
            13 => format!("memcpy(&{o}, &k, offsetof(struct s, f{j}));"),
            14 if !has_pointers => format!("memcpy(b, &{o}, sizeof b);"),
            15 if !has_pointers && dense => format!("memcpy(&{o}, b, sizeof b);"),
            16 => format!("memmove(a + {}, a + {}, 2 * sizeof *a);", byte & 1, 1 - (byte & 1)),
            17 => format!("copy(&{o}, &k, sizeof k);"),
            18 if o != q => format!("if (&{o} != &{q}) copy(&{o}, &{q}, sizeof {o});"),
            19 if dense => format!("h = h * 3 + sign(memcmp(&{o}, &{q}, sizeof {o}));"),
            20 if dense => format!("h = h * 3 + sign(memcmp(&{e}.f{i}, &k.f{i}, sizeof k.f{i}));"),
            21 => format!("{o} = twin({q});"),
            // What has no bytes of its own is not filled in part.
            22 if !has_pointers && !dense && !fields.contains("float") && !fields.contains("double") => {
                format!("memset((char *)&{e} + {}, {byte}, {});", i, j - i + 1)
            }
            23 if kinds[i].0 == "int" && kinds[i].1.is_empty() => {
                format!("memcpy(&x, &{o}.f{i}, 3); {o}.f{i} = x + 1;")
            }
            _ => match kinds[i] {
                Kind("int *", ..) => format!("{o}.f{i} = {};", if byte & 1 == 0 { "0" } else { "&x" }),
                Kind(_, "", _, _, shown) if !shown.contains(['.', '?']) => format!("{o}.f{i} = {byte};"),
                _ => format!("{o} = {q};"),
            },
        };
        let _ = writeln!(text, "    {line}");
    }
    for o in ["g", "k", "v", "w", "a[0]", "a[1]", "a[2]", "p[0]", "p[1]"] {
        for (i, kind) in kinds.iter().enumerate() {
            let _ = writeln!(text, "    h = h * 31 + {};", kind.4.replace('#', &format!("{o}.f{i}")));
        }
        if bits {
            let _ = writeln!(text, "    h = h * 31 + {o}.p * 3 + {o}.q;");
        }
    }
    text + "    free(p); return h * 31 + x;\n}\n"
}

/// What is found of a program that asserts what the compiler's comes to.
fn found(seed: u64) -> (Found, String) {
    let text = program(&mut Rng::with_seed(seed));
    let folder = Folder::new();
    let printed = format!("{text}int main(void) {{ printf(\"%lu\", work()); return 0; }}\n");
    let (file, made) = (folder.file("printed.c", &printed), folder.0.join("printed"));
    let flags = ["-O0", "-fwrapv", "-fno-strict-aliasing", "-w", "-o"];
    let status = Command::new("cc").args(flags).arg(&made).arg(&file).status().expect("cc runs");
    assert!(status.success(), "seed {seed}");
    let output = Command::new(&made).output().expect("the program runs");
    assert!(output.status.success(), "seed {seed}");
    let value = String::from_utf8(output.stdout).expect("a number");
    let asserted = format!("{text}int main(void) {{ assert(work() == {value}ul); return 0; }}\n");
    (check(&[&folder.file("asserted.c", &asserted)], "all"), asserted)
}

/// Most are followed to the end, and none comes to something else.
fn compare(seeds: std::ops::Range<u64>) {
    let all = seeds.end - seeds.start;
    let mut verified = 0;
    for seed in seeds {
        let (found, text) = found(seed);
        match found {
            Found::Verified => verified += 1,
            Found::Other(words) if words.contains("more than is followed") || words.contains("not all values") => {
                if std::env::var("FABIUS_SHOW").is_ok() {
                    eprintln!("seed {seed}: {words}\n{text}");
                }
            }
            other => panic!("seed {seed}: {other:?}\n{text}"),
        }
    }
    assert!(verified * 10 > all * 9, "{verified} of {all} are verified");
}

#[test]
fn functions_on_memory_do_what_the_compiler_says() {
    compare(0..15);
}

/// `cargo test -p fabius-c --test moves -- --ignored`; `FABIUS_SEEDS=from..to` says which.
#[test]
#[ignore = "takes minutes"]
fn thousands_of_programs_do_what_the_compiler_says() {
    let seeds = std::env::var("FABIUS_SEEDS").unwrap_or_default();
    let (from, to) = seeds
        .split_once("..")
        .map_or((100, 2100), |(a, b)| (a.parse().expect("a number"), b.parse().expect("a number")));
    compare(from..to);
}

#[test]
fn structs_are_filled_copied_and_compared() {
    let types = "#include <stddef.h>\nstruct p { int a, b, c; }; struct q { int u, v, w; }; struct gap { char c; int n; }; struct p g, h[2];";
    for (work, claim) in [
        ("memset(&g, 0xff, sizeof g);", "g.a == -1 && g.c == -1"),
        ("memset(&g.b, 1, 2 * sizeof(int));", "g.a == 0 && g.b == 0x01010101 && g.c == 0x01010101"),
        ("memset(&g, 1, offsetof(struct p, c));", "g.b == 0x01010101 && g.c == 0"),
        ("memset(&g, -1, 6);", "g.a == -1 && g.b == 0xffff && g.c == 0"),
        (
            "struct p p = { 1, 2, 3 }, q = { 7, 8, 9 }; memcpy(&q, &p, 2 * sizeof(int));",
            "q.a == 1 && q.b == 2 && q.c == 9",
        ),
        ("struct p p = { 1, 2, 3 }; struct q q; memcpy(&q, &p, sizeof q);", "q.u == 1 && q.w == 3"),
        ("struct p p = { 1, 2, 3 }; memmove(&p.b, &p.a, 2 * sizeof(int));", "p.a == 1 && p.b == 1 && p.c == 2"),
        ("struct p p = { 1, 2, 3 }, *q = memcpy(&g, &p, sizeof p);", "q == &g && q->b == 2"),
        ("int a[2], *b = memset(a, 2, sizeof a);", "b[1] == 0x02020202"),
        ("struct p p = { 1, 2, 3 }, q = { 1, 2, 4 };", "memcmp(&p, &q, sizeof p) < 0 && !memcmp(&p, &q, 8)"),
        ("struct p p = { 256 }, q = { 1 };", "memcmp(&p, &q, sizeof p) == -1 && memcmp(&p.a, &q.a, 4) < 0"),
        ("struct gap x = { 1, 2 }, y = { 2, 2 };", "memcmp(&x, &y, sizeof x) < 0"),
        (
            "h[1].c = 4; memmove(h, h + 1, sizeof *h); memset(h + 1, 3, sizeof *h);",
            "h[0].c == 4 && h[1].a == 0x03030303",
        ),
    ] {
        assert_eq!(said(types, &format!("{work} assert({claim});")), "verified", "{work}");
        assert_eq!(said(types, &format!("{work} assert(!({claim}));")), "Assertion", "{work}");
    }
    let between = said(types, "struct gap x = { 1, 2 }, y = x; assert(memcmp(&x, &y, sizeof x) == 0);");
    assert_eq!(between, "not followed");
    let lock = "struct l { pthread_mutex_t m; int n; } l;";
    assert!(said(lock, "memset(&l, 1, sizeof l);").contains("filled with zeros only"));
    assert_eq!(said(lock, "memset(&l, 0, sizeof l); pthread_mutex_lock(&l.m); assert(!l.n);"), "verified");
    assert!(said("struct b { _Bool b; int n; } b;", "memset(&b, 7, sizeof b);").contains("not followed"));
}

#[test]
fn what_has_no_type_is_copied_by_scalars() {
    let head = "struct item { int id; double weight; struct item *next; char name[8]; }; struct queue { char *data; int each; } q; \
        static void copy(void *to, const void *from, size_t n) { memcpy(to, from, n); } struct item x = { 4, 1.5, &x, \"ab\" }, y;";
    for (work, claim) in [
        ("copy(&y, &x, sizeof x);", "y.id == 4 && y.weight == 1.5 && y.next == &x && !strcmp(y.name, \"ab\")"),
        ("struct item *p = malloc(sizeof *p); copy(p, &x, sizeof x); y = *p;", "y.next == &x && y.id == 4"),
    ] {
        assert_eq!(said(head, &format!("{work} assert({claim});")), "verified", "{work}");
        assert_eq!(said(head, &format!("{work} assert(!({claim}));")), "Assertion", "{work}");
    }
    // A whole integer is one access, where threads run, too: two that are written to the same one race.
    let threads = "int x = 3, y, z; static void copy(void *d, const void *s, size_t n) { memcpy(d, s, n); } \
        void *run(void *p) { copy(&y, &x, 4); return 0; }";
    let main =
        |work: &str| format!("pthread_t t; pthread_create(&t, 0, run, 0); {work} pthread_join(t, 0); assert(y == 3);");
    assert_eq!(said(threads, &main("z = x;")), "verified");
    assert_eq!(said(threads, &main("y = 1;")), "DataRace");
    assert_eq!(said(threads, &main("x = 1;")), "DataRace");
}
