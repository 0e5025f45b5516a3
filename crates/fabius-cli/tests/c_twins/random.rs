//! Random programs in C, for the two ways to explore them.

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
    /// The same without an end.
    waits: bool,
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
            waits: some(25),
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
pub fn random(seed: u64) -> String {
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
        let text = match self.rng.u8(..49) {
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
            46..=48 if self.features.waits => {
                let other = self.shared();
                let gives = ["", "", "", " sched_yield();"][self.rng.usize(..4)];
                match self.rng.u8(..14) {
                    0 => format!("while ({v} == {few}) {{{gives} }}"),
                    1 => format!("while ({v} == {few} || {other} == {some}) {{{gives} }}"),
                    2 => format!("while ({v} == {few}) {{ {other} = {};{gives} }}", [few, some][self.rng.usize(..2)]),
                    3 if free("n") => format!(
                        "while (pthread_mutex_trylock(&n) != 0) {{ {v} = {some};{gives} }} {other}++; pthread_mutex_unlock(&n);"
                    ),
                    4 if free("n") => format!(
                        "for ({l} = {few}; {l} == {few};) {{ pthread_mutex_lock(&n); {l} = {v};{gives} pthread_mutex_unlock(&n); }}"
                    ),
                    5 => format!(
                        "{{ int e = {value}; while (!atomic_compare_exchange_weak(&{v}, &e, e + {some})) {{{gives} }} }}"
                    ),
                    6 => format!(
                        "{{ int e; do {{ e = {few};{gives} }} while (!atomic_compare_exchange_strong(&{v}, &e, {some})); }}"
                    ),
                    7 => format!("while (atomic_exchange(&{v}, {some}) == {some}) {{{gives} }}"),
                    8 => format!(
                        "for ({l} = {v}; !atomic_compare_exchange_strong(&{v}, &{l}, {l} ^ {some});) {{{gives} }}"
                    ),
                    9 => format!(
                        "{{ struct node *e = malloc(sizeof *e); e->v = {v}; while (!atomic_compare_exchange_weak(&{v}, &e->v, e->v + {some})) {{{gives} }} free(e); }}"
                    ),
                    10 => format!("while (sem_trywait(&s) != 0) {{{gives} }}"),
                    11 => format!("while ({v} == {few} && {other} != {some}) {{{gives} }}"),
                    12 if free("n") => format!(
                        "for ({l} = 1; {l};) {{ pthread_mutex_lock(&n); if ({v} != {few}) {{ {v} = {some}; {l} = 0; }}{gives} pthread_mutex_unlock(&n); }}"
                    ),
                    _ => format!("do {{ {l} = {v};{gives} }} while ({l} != {some});"),
                }
            }
            _ => format!("{v}--;"),
        };
        self.line(depth, &text);
    }
}
