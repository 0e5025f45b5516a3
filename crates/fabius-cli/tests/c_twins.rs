//! Two ways to explore a C program agree: `fabius check x.c`, which reads it, and `fabius run`, which runs what the compiler makes
//! of it: on the verdict, the kind of bug and the least preemptions of every program of `corpus/c` that is complete.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use common::{fabius, folder, json, root};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// An answer in short: `no bug`, `bug KIND COST`, or what else is said.
fn short(output: &Output) -> String {
    let document = json(output);
    let trace = &document["trace"];
    match document["verdict"].as_str().unwrap_or("nothing") {
        "bug" => format!("bug {} {}", trace["kind"].as_str().unwrap_or_default(), trace["cost"]),
        "verified" | "no_bug_within_bounds" => "no bug".into(),
        other => format!("{other}: {document}"),
    }
}

/// So many preemptions are tried in the real binary: what waits in loops has no end of them.
const MOST: &str = "3";

/// What both ways say of a program with these macros, within so many preemptions.
fn both(source: &Path, macros: &[&str], target: &Path, most: Option<&str>) -> Result<(String, String), String> {
    let name = source.display().to_string();
    let defined: Vec<String> = macros.iter().map(|m| format!("-D{m}")).collect();
    let mut check = vec!["check", &name, "--json", "--jobs", "1"];
    check.extend(defined.iter().map(String::as_str));
    check.extend(most.into_iter().flat_map(|most| ["--max", most]));
    let read = short(&fabius(&check));
    let mut build = Command::new(env!("CARGO_BIN_EXE_fabius"));
    build
        .args(["cc", "-g", "-O0", &name, "-o"])
        .arg(target)
        .args(&defined)
        .env("XDG_CACHE_HOME", target.with_file_name("cache"));
    let built = build.stdin(Stdio::null()).output().expect("the command starts");
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned());
    }
    let run = short(&fabius(&[
        "run",
        &target.display().to_string(),
        "--first-race",
        "--max",
        most.unwrap_or(MOST),
        "--json",
    ]));
    Ok((read, run))
}

#[test]
fn reading_and_running_agree() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("NOT TESTED: there is no C compiler on this machine");
        return;
    }
    let mut sources: Vec<PathBuf> =
        std::fs::read_dir(root().join("corpus/c")).expect("the corpus").map(|e| e.expect("a file").path()).collect();
    sources.retain(|f| f.is_file());
    sources.sort();
    let folder = folder("c_twins");
    let (mut compared, mut wrong) = (0, Vec::new());
    for source in sources {
        // What `fabius.h` declares is nowhere but in models.
        let text = std::fs::read_to_string(&source).expect("it can be read");
        if text.contains("\"fabius.h\"") {
            continue;
        }
        for macros in [&[][..], &["FIXED=1"]] {
            compared += 1;
            match both(&source, macros, &folder.join("program"), None) {
                Ok((read, run)) if read == run => {}
                Ok((read, run)) => wrong.push(format!("{} {macros:?}: read {read}, run {run}", source.display())),
                Err(why) => wrong.push(format!("{} {macros:?}: {why}", source.display())),
            }
        }
    }
    assert!(compared >= 40, "only {compared} programs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Readers of a read-write lock are not ordered with each other (`readers_that_write`, which is run with the other programs, too).
#[test]
fn who_writes_as_a_reader_races_at_the_same_cost() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("NOT TESTED: there is no C compiler on this machine");
        return;
    }
    let source = root().join("crates/fabius-native/tests/programs/readers_that_write.c");
    let folder = folder("c_twins_readers");
    let race = "bug data_race 0".to_string();
    assert_eq!(both(&source, &[], &folder.join("program"), None), Ok((race.clone(), race)));
}

#[test]
fn a_bug_is_seen_in_the_real_binary_or_the_answer_says_why_not() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("NOT TESTED: there is no C compiler on this machine");
        return;
    }
    let folder = folder("c_natively");
    let cache = folder.join("cache");
    let said = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
        command.args(args).args(["--natively"]).current_dir(root()).env("XDG_CACHE_HOME", &cache);
        let output = command.stdin(Stdio::null()).output().expect("the command starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().rev().find(|l| l.contains("real binary")).unwrap_or(&text).to_string()
    };
    for (name, words) in [
        ("publish", "seen in the real binary: assert(r->value == 7) fails"),
        ("transfer", "seen in the real binary: deadlock"),
        ("callback", "seen in the real binary: data race"),
        ("weak_reference", "seen in the real binary: memory that was freed"),
        ("figure9", "not seen in the real binary: `fabius_any_int(0, 1)` was a choice"),
        ("driver", "not seen in the real binary: it is not built: "),
    ] {
        let answer = said(&["check", &format!("corpus/c/{name}.c")]);
        assert!(answer.starts_with(words), "{name}: {answer}");
    }
    assert_eq!(said(&["check", "corpus/c/publish.c", "-DFIXED=1"]).matches("real binary").count(), 0);
    // Another assertion that fails there is another bug.
    let text = "#include <assert.h>\nint main(void) {\n    int x = 1;\n#ifndef __FABIUS__\n    assert(x == 3);\n#endif\n    \
                assert(x == 2 ||\n           x == 4);\n    return 0;\n}\n";
    let file = folder.join("places.c");
    for (text, words) in [
        (
            text.to_string(),
            "not seen in the real binary: the like fails there first at another place, with 0 preemptions: ",
        ),
        (text.replace("x == 3", "x == 1"), "seen in the real binary: assert(x == 2 || x == 4) fails"),
    ] {
        std::fs::write(&file, text).expect("a file can be written");
        let answer = said(&["check", &file.display().to_string()]);
        assert!(answer.starts_with(words), "{answer}");
    }
    // The values that were chosen are those that the binary gets.
    let text = "#include <assert.h>\n#include <pthread.h>\nint __VERIFIER_nondet_int(void);\nunsigned long __VERIFIER_nondet_ulong(void);\n\
                void reach_error(void) { assert(0); }\nstatic int x;\n\
                static void *run(void *unused) { x += __VERIFIER_nondet_int(); return 0; }\n\
                int main(void) {\n    pthread_t t;\n    unsigned long n = __VERIFIER_nondet_ulong();\n    pthread_create(&t, 0, run, 0);\n    \
                pthread_join(t, 0);\n    if (x == 123456 && n > 1ul << 63) reach_error();\n    return 0;\n}\n";
    let file = folder.join("values.c");
    std::fs::write(&file, text).expect("a file can be written");
    let file = file.display().to_string();
    let answer = said(&["verify", &file, "--property", "unreach-call"]);
    assert!(answer.starts_with("seen in the real binary: assert(0) fails"), "{answer}");
}

/// What `fabius verify` says of programs that it decides in a second, within three rounds.
#[test]
fn verifying_agrees_with_exploring() {
    for name in [
        "counter",
        "detached",
        "flags",
        "handover",
        "lost_wakeup",
        "machine",
        "message",
        "once_flag",
        "publish",
        "refcount",
        "rwlock",
        "semaphore",
        "seqlock",
        "spsc",
    ] {
        let file = root().join(format!("corpus/c/{name}.c")).display().to_string();
        let wrong = fabius(&["verify", &file, "--rounds", "3"]);
        assert_eq!(wrong.status.code(), Some(1), "{name}: {}", String::from_utf8_lossy(&wrong.stdout));
        let repaired = fabius(&["verify", &file, "--rounds", "3", "-DFIXED=1"]);
        let said = String::from_utf8_lossy(&repaired.stdout);
        assert!(repaired.status.code() == Some(0) && said.contains("no bug within bounds"), "{name}: {said}");
    }
}

/// What a random program may use besides locks, a condition, a semaphore and atomics: each for some of the programs.
#[derive(Default)]
struct Features {
    /// Plain data behind no lock, of some length, also through a pointer.
    unguarded: bool,
    array: bool,
    rwlock: bool,
    barrier: bool,
    heap: bool,
    once: bool,
    spin: bool,
    recursive: bool,
    keys: bool,
    /// Waits with a time limit, and yields.
    gives_way: bool,
    /// Memory orders, and fences.
    orders: bool,
    /// Loops until a lock can be had, or a variable is another one.
    loops: bool,
    /// Locks of C11, and ones that say what was wrong.
    others: bool,
    text: bool,
    detached: bool,
}

impl Features {
    fn of(rng: &mut fastrand::Rng) -> Features {
        let mut some = |percent| rng.u8(..100) < percent;
        Features {
            unguarded: some(30),
            array: some(40),
            rwlock: some(40),
            barrier: some(20),
            heap: some(40),
            once: some(20),
            spin: some(25),
            recursive: some(25),
            keys: some(20),
            gives_way: some(40),
            orders: some(30),
            loops: some(20),
            others: some(25),
            text: some(25),
            detached: some(20),
        }
    }
}

const DECLARATIONS: &str = "#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>
static atomic_int a, b, c;
static int p, q, g[3];
static char text[8] = {'o', 'n', 'e'};
static sem_t s;
static struct timespec soon = {1, 0};
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER, r, strict;
static mtx_t mtx;
static pthread_cond_t w = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t k = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
struct node { int v, n; };
static struct node *_Atomic head;
static void first(void) { a++; p = 5; }
static int bump(atomic_int *at, int by) { int old = *at; *at = old + by; return old; }";

const SET_UP: &str = "    pthread_barrier_init(&barrier, NULL, 2);
    pthread_spin_init(&spin, 0);
    pthread_key_create(&key, NULL);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&r, &attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&strict, &attributes);
    mtx_init(&mtx, mtx_plain);";

/// A random program: two or three threads, and a claim about how it ends.
fn random(seed: u64) -> String {
    let mut rng = fastrand::Rng::with_seed(seed);
    let features = Features::of(&mut rng);
    let mut maker = Maker { rng, features, text: String::new(), leave: &["return NULL", "pthread_exit(NULL)"] };
    maker.line(0, DECLARATIONS);
    let threads = maker.rng.usize(2..4);
    for t in 0..threads {
        maker.line(0, &format!("static void *t{t}(void *given) {{\n    int x = 0, y = (int)(long)given;"));
        maker.pointer();
        let count = maker.rng.usize(2..6);
        maker.statements(1, &mut Vec::new(), count);
        maker.line(0, "    (void)x;\n    (void)y;\n    return NULL;\n}");
    }
    let permits = maker.rng.u8(..2);
    maker.line(0, &format!("int main(void) {{\n    pthread_t t[{threads}];\n    int x = 0, y = 0;"));
    maker.pointer();
    maker.line(0, &format!("    sem_init(&s, 0, {permits});\n{SET_UP}"));
    maker.leave = if maker.rng.u8(..10) == 0 { &["exit(0)"] } else { &["return 0"] };
    for t in 0..threads {
        let given = maker.rng.u8(..3);
        maker.line(1, &format!("pthread_create(&t[{t}], NULL, t{t}, (void *){given}L);"));
        if maker.rng.u8(..10) == 0 {
            maker.statement(1, &mut Vec::new());
        }
    }
    let count = maker.rng.usize(..3);
    maker.statements(1, &mut Vec::new(), count);
    for t in 0..threads {
        let ends = if maker.features.detached && maker.rng.bool() { "detach(t[" } else { "join(t[" };
        let rest = if ends.starts_with('j') { ", NULL);" } else { ");" };
        maker.line(1, &format!("pthread_{ends}{t}]{rest}"));
    }
    let (one, other) = (maker.shared(), maker.shared());
    let (first, second) = (maker.rng.u8(..4), maker.rng.u8(..4));
    let claim = match maker.rng.u8(..3) {
        0 => format!("assert({one} != {first});"),
        1 => format!("assert(p != {first} || {other} == {second});"),
        _ => format!("assert(!({one} == {first} && {other} == {second}));"),
    };
    maker.line(1, &claim);
    maker.line(0, "    (void)x;\n    (void)y;\n    return p + q > 1000;\n}");
    maker.text
}

const LOADS: [&str; 3] = ["memory_order_relaxed", "memory_order_acquire", "memory_order_seq_cst"];
const STORES: [&str; 3] = ["memory_order_relaxed", "memory_order_release", "memory_order_seq_cst"];
const ORDERS: [&str; 5] = [
    "memory_order_relaxed",
    "memory_order_acquire",
    "memory_order_release",
    "memory_order_acq_rel",
    "memory_order_seq_cst",
];

struct Maker {
    rng: fastrand::Rng,
    features: Features,
    text: String,
    /// What ends the function.
    leave: &'static [&'static str],
}

impl Maker {
    fn line(&mut self, depth: usize, text: &str) {
        self.text += &format!("{}{text}\n", "    ".repeat(depth));
    }

    fn pointer(&mut self) {
        if self.features.array {
            let to = ["g", "&p", "&q", "g + 1"][self.rng.usize(..4)];
            self.line(1, &format!("int *z = {to};"));
        }
    }

    fn shared(&mut self) -> char {
        ['a', 'b', 'c'][self.rng.usize(..3)]
    }

    fn order(&mut self, of: &[&'static str]) -> &'static str {
        of[self.rng.usize(..of.len())]
    }

    fn local(&mut self) -> char {
        ['x', 'y'][self.rng.usize(..2)]
    }

    fn value(&mut self) -> String {
        if self.rng.bool() { self.local().to_string() } else { self.rng.u8(..4).to_string() }
    }

    fn plain(&mut self) -> &'static str {
        let all = ["p", "q", "g[0]", "g[1]", "(*z)"];
        all[self.rng.usize(..if self.features.array { 5 } else { 2 })]
    }

    fn statements(&mut self, depth: usize, held: &mut Vec<&'static str>, count: usize) {
        for _ in 0..count {
            self.statement(depth, held);
        }
    }

    /// Statements between these two, in which a lock is held.
    fn section(&mut self, depth: usize, held: &mut Vec<&'static str>, lock: &'static str, take: &str, give: &str) {
        let inner = self.rng.usize(1..3);
        self.line(depth, take);
        held.push(lock);
        self.statements(depth, held, inner);
        held.pop();
        self.line(depth, give);
    }

    fn block(&mut self, depth: usize, head: &str, held: &mut Vec<&'static str>) {
        let inner = self.rng.usize(1..3);
        self.line(depth, &format!("{head} {{"));
        self.statements(depth + 1, held, inner);
        self.line(depth, "}");
    }

    fn statement(&mut self, depth: usize, held: &mut Vec<&'static str>) {
        let (v, l, value) = (self.shared(), self.local(), self.value());
        let (few, some) = (self.rng.u8(..3), self.rng.u8(1..4));
        let free = |lock: &str| !held.contains(&lock);
        let deep = depth >= 4;
        let text = match self.rng.u8(..46) {
            0 => format!("{v} = {value};"),
            1 => format!("{l} = {v};"),
            2 => format!("{v} += {some};"),
            3 => {
                let what = ["add", "sub", "or", "and", "xor"][self.rng.usize(..5)];
                format!("{l} = atomic_fetch_{what}(&{v}, {some});")
            }
            4 => format!("{l} = atomic_exchange(&{v}, {value});"),
            5 => format!(
                "{{ int e = {value}; if (atomic_compare_exchange_strong(&{v}, &e, {few})) {l}++; else {l} = e; }}"
            ),
            6 | 7 if !deep && free("m") => {
                return self.section(depth, held, "m", "pthread_mutex_lock(&m);", "pthread_mutex_unlock(&m);");
            }
            8 if !deep && free("n") => {
                return self.section(depth, held, "n", "pthread_mutex_lock(&n);", "pthread_mutex_unlock(&n);");
            }
            9 | 10 if !deep => return self.block(depth, &format!("if ({v} == {few})"), held),
            11 if !deep => return self.block(depth, &format!("if ({l} > {few})"), held),
            12 if depth < 3 => return self.block(depth, "for (int i = 0; i < 2; i++)", held),
            13 => "sem_post(&s);".into(),
            14 => ["sem_wait(&s);".into(), format!("if (sem_trywait(&s) == 0) {l}++;")][self.rng.usize(..2)].clone(),
            15..=17 if held.contains(&"m") || held.contains(&"k") || self.features.unguarded => {
                let p = self.plain();
                match self.rng.u8(..4) {
                    0 => format!("{p} = {value};"),
                    1 => format!("{l} = {p};"),
                    2 => format!("{p}++;"),
                    _ => format!("if ({p} == {few}) {l} = 1;"),
                }
            }
            18 | 19 if held.contains(&"m") => match self.rng.u8(..4) {
                0 => format!("if ({v} == 0) pthread_cond_wait(&w, &m);"),
                1 => format!("while ({v} == 0) pthread_cond_wait(&w, &m);"),
                2 => "pthread_cond_signal(&w);".into(),
                _ => "pthread_cond_broadcast(&w);".into(),
            },
            20 if free("n") => {
                format!("if (pthread_mutex_trylock(&n) == 0) {{ {v}++; pthread_mutex_unlock(&n); }}")
            }
            21 => format!("{l} = bump(&{v}, {value});"),
            22 if held.is_empty() => {
                let leave = self.leave[self.rng.usize(..self.leave.len())];
                format!("if ({l} == {few}) {leave};")
            }
            23 | 24 if self.features.gives_way => match self.rng.u8(..5) {
                0 => "sched_yield();".into(),
                1 => "usleep(1);".into(),
                2 => format!("if (sem_timedwait(&s, &soon) != 0) {l} = 3;"),
                3 if free("n") => format!(
                    "if (pthread_mutex_timedlock(&n, &soon) == 0) {{ {v}++; pthread_mutex_unlock(&n); }} else {l} = 2;"
                ),
                _ if held.contains(&"m") => {
                    format!("if (pthread_cond_timedwait(&w, &m, &soon) == ETIMEDOUT) {l} = 2;")
                }
                _ => return,
            },
            25 | 26 if self.features.rwlock && !deep && free("k") => {
                let take = ["pthread_rwlock_rdlock(&k);", "pthread_rwlock_wrlock(&k);"][self.rng.usize(..2)];
                return self.section(depth, held, "k", take, "pthread_rwlock_unlock(&k);");
            }
            27 if self.features.rwlock && free("k") => {
                let what = ["rd", "wr"][self.rng.usize(..2)];
                format!("if (pthread_rwlock_try{what}lock(&k) == 0) {{ {v}++; pthread_rwlock_unlock(&k); }}")
            }
            28 if self.features.barrier => "pthread_barrier_wait(&barrier);".into(),
            29 if self.features.heap => {
                let ends = ["", " free(e);"][self.rng.usize(..2)];
                format!(
                    "{{ struct node *e = malloc(sizeof *e); e->v = {value}; e = atomic_exchange(&head, e); if (e) {{ {l} = e->v;{ends} }} }}"
                )
            }
            30 if self.features.heap => match self.rng.u8(..3) {
                0 => format!("{{ struct node *e = head; if (e) {l} = e->v; }}"),
                1 => format!("{{ struct node *e = head; if (e && {l}) e->n = 3; }}"),
                _ => "{ struct node *e = head; head = NULL; free(e); }".into(),
            },
            31 if self.features.once => "pthread_once(&once, first);".into(),
            32 if self.features.spin && !deep && free("spin") => {
                return self.section(depth, held, "spin", "pthread_spin_lock(&spin);", "pthread_spin_unlock(&spin);");
            }
            33 if self.features.recursive && !deep => {
                return self.section(depth, held, "r", "pthread_mutex_lock(&r);", "pthread_mutex_unlock(&r);");
            }
            34 if self.features.keys => format!("pthread_setspecific(key, (void *)(long)({l} + 1));"),
            35 if self.features.keys => format!("{l} = (int)(long)pthread_getspecific(key);"),
            36 | 37 if self.features.orders => {
                let (load, store, both) = (self.order(&LOADS), self.order(&STORES), self.order(&ORDERS));
                match self.rng.u8(..5) {
                    0 => format!("{l} = atomic_load_explicit(&{v}, {load});"),
                    1 => format!("atomic_store_explicit(&{v}, {value}, {store});"),
                    2 => format!("{l} = atomic_fetch_add_explicit(&{v}, {some}, {both});"),
                    3 => format!("{l} = atomic_exchange_explicit(&{v}, {value}, {both});"),
                    _ => format!(
                        "{{ int e = {value}; if (atomic_compare_exchange_strong_explicit(&{v}, &e, {few}, {both}, {load})) {l}++; }}"
                    ),
                }
            }
            38 if self.features.orders => format!("atomic_thread_fence({});", self.order(&ORDERS)),
            // Who tries without an end waits for ever, which `fabius check` does not look for.
            39 if self.features.loops && !deep && free("n") => {
                let waits = ["", " sched_yield();", " usleep(1);"][self.rng.usize(..3)];
                let tries = format!("if (pthread_mutex_trylock(&n) == 0) got = 1; else {{{waits} }}");
                let take = format!("{{ int got = 0; for (int i = 0; i < 3 && !got; i++) {tries} if (got) {{");
                return self.section(depth, held, "n", &take, "pthread_mutex_unlock(&n); } }");
            }
            40 if self.features.loops => {
                let waits = ["", " sched_yield()"][self.rng.usize(..2)];
                format!("for (int i = 0; i < 3 && {v} < {few}; i++){waits};")
            }
            41 if self.features.others && !deep && free("mtx") => {
                return self.section(depth, held, "mtx", "mtx_lock(&mtx);", "mtx_unlock(&mtx);");
            }
            42 if self.features.others => [
                format!("if (pthread_mutex_unlock(&strict) == EPERM) {l} = 1;"),
                format!("if (pthread_mutex_lock(&strict) == EDEADLK) {l} = 2;"),
                format!("if (mtx_trylock(&mtx) == thrd_success) {{ {v}++; mtx_unlock(&mtx); }}"),
                format!("sem_getvalue(&s, &{l});"),
            ][self.rng.usize(..4)]
            .clone(),
            43 if self.features.rwlock && self.features.gives_way && free("k") => {
                let what = ["rd", "wr"][self.rng.usize(..2)];
                format!("if (pthread_rwlock_timed{what}lock(&k, &soon) == 0) {{ {v}++; pthread_rwlock_unlock(&k); }}")
            }
            44 if self.features.text && (held.contains(&"m") || self.features.unguarded) => [
                "strcpy(text, \"two\");".into(),
                format!("{l} = (int)strlen(text);"),
                format!("{l} = strcmp(text, \"two\") == 0;"),
                format!("text[{few}] = 'x';"),
                format!("{l} = text[{few}] == 'x';"),
                format!("snprintf(text, sizeof text, \"%d\", {l});"),
                "memset(text, 'y', 3);".into(),
            ][self.rng.usize(..7)]
            .clone(),
            45 if self.features.array && (held.contains(&"m") || self.features.unguarded) => {
                ["memset(g, 0, sizeof g);", "memcpy(g, g + 1, sizeof *g);"][self.rng.usize(..2)].into()
            }
            _ => format!("{v}--;"),
        };
        self.line(depth, &text);
    }
}

/// Whether answers are the same. Of several bugs of one cost each way may report another one, and a data race that one of them
/// finds first may be what the other's bug comes from.
fn agree(read: &str, run: &str) -> bool {
    let parts = |answer: &str| {
        let mut words = answer.rsplitn(2, ' ');
        let cost = words.next().and_then(|c| c.parse::<u32>().ok());
        (cost, words.next().unwrap_or_default().to_string())
    };
    let ((one, first), (other, second)) = (parts(read), parts(run));
    read == run || first.starts_with("bug") && second.starts_with("bug") && one == other
}

fn random_programs_agree(seeds: std::ops::Range<u64>) {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("NOT TESTED: there is no C compiler on this machine");
        return;
    }
    let folder = folder(&format!("c_twins_random_{}", seeds.start));
    let (mut wrong, mut bugs) = (Vec::new(), 0);
    for seed in seeds {
        let text = random(seed);
        let source = folder.join("random.c");
        std::fs::write(&source, &text).expect("a file can be written");
        match both(&source, &[], &folder.join("program"), Some("2")) {
            Ok((read, run)) if agree(&read, &run) => bugs += usize::from(read.starts_with("bug")),
            Ok((read, run)) => wrong.push(format!("seed {seed}: read {read}, run {run}\n{text}")),
            Err(why) => wrong.push(format!("seed {seed}: {why}\n{text}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(bugs > 2, "only {bugs} programs have a bug");
}

#[test]
fn thirty_random_programs_agree() {
    random_programs_agree(0..30);
}

#[test]
#[ignore = "takes an hour"]
fn thousands_of_random_programs_agree() {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    let first = number("FIRST_SEED").unwrap_or(1000);
    random_programs_agree(first..first + number("SEEDS").unwrap_or(4000));
}
