//! Random concurrent C programs: what their threads do, and how that is written in C.

use fastrand::Rng;
use std::fmt::Write;

/// The plain variables: `p`, `q`, `g[0]`, `g[1]`.
pub const PLAIN: [&str; 4] = ["p", "q", "g[0]", "g[1]"];

/// The local variables of a function: two integers, a pointer to a plain variable, a pointer to a node, and one of the program's
/// own.
pub const Z: usize = 2;
pub const E: usize = 3;
pub const LOCALS: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Number(i32),
    Local(usize),
}

/// A plain variable: one of them, or the one that `z` points to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Where {
    At(usize),
    Z,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    Relaxed,
    Acquire,
    Release,
    Both,
    Seq,
}

impl Order {
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::Both | Order::Seq)
    }

    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::Both | Order::Seq)
    }

    fn text(self) -> &'static str {
        match self {
            Order::Relaxed => "memory_order_relaxed",
            Order::Acquire => "memory_order_acquire",
            Order::Release => "memory_order_release",
            Order::Both => "memory_order_acq_rel",
            Order::Seq => "memory_order_seq_cst",
        }
    }
}

/// Locks: two normal ones, a recursive and an error-checking one.
pub const LOCKS: [&str; 4] = ["m", "n", "r", "e"];

#[derive(Clone, Debug)]
pub enum Stmt {
    Set(usize, Value),
    Increase(usize),
    Point(usize),
    Load(usize, Where),
    Store(Where, Value),
    Increment(Where),
    AtomicLoad(usize, usize, Order),
    AtomicStore(usize, Value, Order),
    /// `l = atomic_fetch_add(&a, n)`
    Add(usize, usize, i32, Order),
    Exchange(usize, usize, Value, Order),
    /// `{ int k = v; if (compare_exchange(&a, &k, n)) l++; else l = k; }`
    Compare(usize, usize, Value, i32, Order, Order),
    Lock(usize),
    Unlock(usize),
    /// `if (trylock() == 0) { .. unlock }`
    TryLock(usize, Vec<Stmt>),
    /// `l = lock(&e);`
    LockAs(usize),
    UnlockAs(usize),
    /// `pthread_cond_wait(&w, &m)`
    Wait,
    Signal,
    Broadcast,
    Read,
    Write,
    Unread,
    TryRead(Vec<Stmt>),
    TryWrite(Vec<Stmt>),
    Post,
    Take,
    TryTake(usize),
    Barrier,
    Once,
    Yield,
    /// `e = malloc(); e->v = v;`
    Allocate(Value),
    /// `e = atomic_exchange(&head, e)`
    Swap,
    /// `e = head`
    Head,
    /// `l = e->v`
    Node(usize),
    /// `e->n = 3`
    Mark,
    Free,
    If(usize, i32, Vec<Stmt>, Vec<Stmt>),
    IfNode(Vec<Stmt>),
    /// `for (int i = 0; i < 2; i++)`
    Twice(Vec<Stmt>),
    Leave(usize, i32),
    Assert(usize, i32),
}

pub struct Program {
    /// `main` comes last: what it does before it waits.
    pub threads: Vec<Vec<Stmt>>,
    /// What is behind.
    pub after: Vec<Stmt>,
    pub permits: i32,
}

/// What some programs have, and others have not.
struct Maker<'r> {
    rng: &'r mut Rng,
    unguarded: bool,
    weak: bool,
    kinds: Vec<u8>,
}

fn locals(rng: &mut Rng) -> usize {
    rng.usize(..2)
}

impl Maker<'_> {
    fn value(&mut self) -> Value {
        if self.rng.bool() { Value::Local(locals(self.rng)) } else { Value::Number(self.rng.i32(0..3)) }
    }

    fn place(&mut self) -> Where {
        if self.rng.u8(..4) == 0 { Where::Z } else { Where::At(self.rng.usize(..4)) }
    }

    fn order(&mut self, of: &[Order]) -> Order {
        if self.weak { of[self.rng.usize(..of.len())] } else { Order::Seq }
    }

    fn block(&mut self, held: &mut Vec<usize>, depth: usize) -> Vec<Stmt> {
        let mut out = Vec::new();
        for _ in 0..self.rng.usize(1..3) {
            self.statement(held, depth, &mut out);
        }
        out
    }

    /// What is done while a lock is held; now and then it is not taken, not given back, or given back twice.
    fn section(&mut self, id: usize, held: &mut Vec<usize>, depth: usize, out: &mut Vec<Stmt>, pair: (Stmt, Stmt)) {
        held.push(id);
        let inner = self.block(held, depth + 1);
        held.pop();
        let wrong = self.rng.u8(..40);
        if wrong != 0 {
            out.push(pair.0);
        }
        out.extend(inner);
        if wrong != 1 {
            out.push(pair.1.clone());
        }
        if wrong == 2 {
            out.push(pair.1);
        }
    }

    fn statement(&mut self, held: &mut Vec<usize>, depth: usize, out: &mut Vec<Stmt>) {
        use Order::*;
        let (l, few) = (locals(self.rng), self.rng.i32(0..3));
        let a = self.rng.usize(..if self.weak { 1 } else { 2 });
        let deep = depth >= 3;
        let kind = self.kinds[self.rng.usize(..self.kinds.len())];
        let stmt = match kind {
            0 if self.unguarded || !held.is_empty() => {
                let place = self.place();
                match self.rng.u8(..4) {
                    0 => Stmt::Load(l, place),
                    1 => Stmt::Store(place, self.value()),
                    2 => Stmt::Increment(place),
                    _ => Stmt::Point(self.rng.usize(..4)),
                }
            }
            1 => match self.rng.u8(..6) {
                0 | 1 => Stmt::AtomicLoad(l, a, self.order(&[Relaxed, Acquire, Seq])),
                2 => Stmt::AtomicStore(a, self.value(), self.order(&[Relaxed, Release, Seq])),
                3 => Stmt::Add(l, a, self.rng.i32(1..3), self.order(&[Relaxed, Acquire, Release, Both, Seq])),
                4 => Stmt::Exchange(l, a, self.value(), self.order(&[Relaxed, Acquire, Release, Both, Seq])),
                _ => {
                    let success = self.order(&[Relaxed, Acquire, Release, Both, Seq]);
                    let failure = self.order(&[Relaxed, Acquire]);
                    Stmt::Compare(l, a, self.value(), self.rng.i32(0..3), success, failure)
                }
            },
            2 | 3 if !deep => {
                let lock = self.rng.usize(..3);
                if held.contains(&lock) && lock != 2 {
                    return;
                }
                return self.section(lock, held, depth, out, (Stmt::Lock(lock), Stmt::Unlock(lock)));
            }
            4 if !deep && !held.contains(&1) => {
                held.push(1);
                let inner = self.block(held, depth + 1);
                held.pop();
                Stmt::TryLock(1, inner)
            }
            5 => match self.rng.bool() {
                true => Stmt::LockAs(l),
                false => Stmt::UnlockAs(l),
            },
            6 if held.contains(&0) => match self.rng.u8(..4) {
                0 | 1 => {
                    let place = Where::At(self.rng.usize(..2));
                    out.push(Stmt::Load(l, place));
                    Stmt::If(l, 0, vec![Stmt::Wait], Vec::new())
                }
                2 => Stmt::Signal,
                _ => Stmt::Broadcast,
            },
            6 => [Stmt::Signal, Stmt::Broadcast][self.rng.usize(..2)].clone(),
            7 if !deep && !held.contains(&7) => {
                let take = [Stmt::Read, Stmt::Write][self.rng.usize(..2)].clone();
                return self.section(7, held, depth, out, (take, Stmt::Unread));
            }
            8 if !deep && !held.contains(&7) => {
                held.push(7);
                let inner = self.block(held, depth + 1);
                held.pop();
                if self.rng.bool() { Stmt::TryRead(inner) } else { Stmt::TryWrite(inner) }
            }
            9 => [Stmt::Post, Stmt::Take, Stmt::TryTake(l)][self.rng.usize(..3)].clone(),
            10 => Stmt::Barrier,
            11 => Stmt::Once,
            12 => Stmt::Yield,
            13 => match self.rng.u8(..3) {
                0 => {
                    out.extend([Stmt::Allocate(self.value()), Stmt::Swap]);
                    let mut inner = vec![Stmt::Node(l)];
                    if self.rng.bool() {
                        inner.push(Stmt::Free);
                    }
                    Stmt::IfNode(inner)
                }
                1 => {
                    out.push(Stmt::Head);
                    let use_it = [Stmt::Node(l), Stmt::Mark][self.rng.usize(..2)].clone();
                    if self.rng.u8(..8) == 0 { use_it } else { Stmt::IfNode(vec![use_it]) }
                }
                _ => {
                    out.push(Stmt::Head);
                    Stmt::IfNode(vec![Stmt::Free])
                }
            },
            14 if !deep => {
                let (yes, no) = (self.block(held, depth + 1), self.block(held, depth + 1));
                Stmt::If(l, few, yes, if self.rng.bool() { no } else { Vec::new() })
            }
            15 if !deep => Stmt::Twice(self.block(held, depth + 1)),
            16 if held.is_empty() => Stmt::Leave(l, few),
            17 => Stmt::Assert(l, few),
            18 => Stmt::Set(l, self.value()),
            _ => Stmt::Increase(l),
        };
        out.push(stmt);
    }
}

/// A random program: two or three threads beside `main`, and a claim about how it ends.
pub fn random(rng: &mut Rng) -> Program {
    let weak = rng.u8(..4) == 0;
    let unguarded = rng.u8(..3) == 0;
    let mut kinds = vec![0, 0, 0, 0, 1, 1, 1, 14, 17, 18];
    let some: Vec<u8> = (2..17).filter(|_| rng.u8(..3) == 0).collect();
    kinds.extend(some.iter().chain(&some).chain(&some));
    kinds.extend(some.iter().filter(|k| [2, 7].contains(*k)));
    let mut maker = Maker { rng, unguarded, weak, kinds };
    let count = maker.rng.usize(2..4);
    let mut threads = Vec::new();
    for _ in 0..count {
        let mut out = Vec::new();
        for _ in 0..maker.rng.usize(2..5) {
            maker.statement(&mut Vec::new(), 0, &mut out);
        }
        threads.push(out);
    }
    let mut out = Vec::new();
    for _ in 0..maker.rng.usize(..3) {
        maker.statement(&mut Vec::new(), 0, &mut out);
    }
    out.retain(|s| !matches!(s, Stmt::Leave(..)));
    threads.push(out);
    let mut after = Vec::new();
    if maker.rng.bool() {
        after.push(Stmt::Load(0, Where::At(maker.rng.usize(..2))));
    } else {
        after.push(Stmt::AtomicLoad(0, 0, Order::Seq));
    }
    after.push(Stmt::Assert(0, maker.rng.i32(0..4)));
    let permits = maker.rng.i32(0..2);
    Program { threads, after, permits }
}

const HEAD: &str = "#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int a[2];
static int p, q, g[2];
static sem_t s;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER, r, e;
static pthread_cond_t w = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t k = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
struct node { int v, n; };
static struct node *_Atomic head;
static void first(void) { p = 5; atomic_fetch_add(&a[0], 1); }
";

const SET_UP: &str = "    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&r, &kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&e, &kind);
    pthread_barrier_init(&barrier, NULL, 2);
";

const LOCAL_NAMES: [&str; LOCALS] = ["x", "y", "z", "o", "i", "j"];

fn value(v: Value) -> String {
    match v {
        Value::Number(n) => n.to_string(),
        Value::Local(l) => LOCAL_NAMES[l].into(),
    }
}

fn place(w: Where) -> &'static str {
    match w {
        Where::At(i) => PLAIN[i],
        Where::Z => "(*z)",
    }
}

fn write(out: &mut String, depth: usize, stmts: &[Stmt], leave: &str, loops: usize) {
    let pad = "    ".repeat(depth);
    for s in stmts {
        let nested = |head: String, body: &[Stmt], end: &str| {
            let mut inner = String::new();
            write(&mut inner, depth + 1, body, leave, loops + 1);
            format!("{head} {{\n{inner}{end}{pad}}}")
        };
        let l = |n: &usize| LOCAL_NAMES[*n];
        let pad1 = format!("{pad}    ");
        let text = match s {
            Stmt::Set(a, v) => format!("{} = {};", l(a), value(*v)),
            Stmt::Increase(a) => format!("{}++;", l(a)),
            Stmt::Point(i) => format!("z = &{};", PLAIN[*i]),
            Stmt::Load(a, w) => format!("{} = {};", l(a), place(*w)),
            Stmt::Store(w, v) => format!("{} = {};", place(*w), value(*v)),
            Stmt::Increment(w) => format!("{}++;", place(*w)),
            Stmt::AtomicLoad(a, i, Order::Seq) => format!("{} = a[{i}];", l(a)),
            Stmt::AtomicLoad(a, i, o) => format!("{} = atomic_load_explicit(&a[{i}], {});", l(a), o.text()),
            Stmt::AtomicStore(i, v, Order::Seq) => format!("a[{i}] = {};", value(*v)),
            Stmt::AtomicStore(i, v, o) => format!("atomic_store_explicit(&a[{i}], {}, {});", value(*v), o.text()),
            Stmt::Add(a, i, n, o) => format!("{} = atomic_fetch_add_explicit(&a[{i}], {n}, {});", l(a), o.text()),
            Stmt::Exchange(a, i, v, o) => {
                format!("{} = atomic_exchange_explicit(&a[{i}], {}, {});", l(a), value(*v), o.text())
            }
            Stmt::Compare(a, i, v, n, o, f) => format!(
                "{{ int c = {}; if (atomic_compare_exchange_strong_explicit(&a[{i}], &c, {n}, {}, {})) {}++; else {} = c; }}",
                value(*v),
                o.text(),
                f.text(),
                l(a),
                l(a)
            ),
            Stmt::Lock(i) => format!("pthread_mutex_lock(&{});", LOCKS[*i]),
            Stmt::Unlock(i) => format!("pthread_mutex_unlock(&{});", LOCKS[*i]),
            Stmt::TryLock(i, body) => {
                let end = format!("{pad1}pthread_mutex_unlock(&{});\n", LOCKS[*i]);
                nested(format!("if (pthread_mutex_trylock(&{}) == 0)", LOCKS[*i]), body, &end)
            }
            Stmt::LockAs(a) => format!("{} = pthread_mutex_lock(&e) != 0;", l(a)),
            Stmt::UnlockAs(a) => format!("{} = pthread_mutex_unlock(&e) != 0;", l(a)),
            Stmt::Wait => "pthread_cond_wait(&w, &m);".into(),
            Stmt::Signal => "pthread_cond_signal(&w);".into(),
            Stmt::Broadcast => "pthread_cond_broadcast(&w);".into(),
            Stmt::Read => "pthread_rwlock_rdlock(&k);".into(),
            Stmt::Write => "pthread_rwlock_wrlock(&k);".into(),
            Stmt::Unread => "pthread_rwlock_unlock(&k);".into(),
            Stmt::TryRead(body) => {
                let end = format!("{pad1}pthread_rwlock_unlock(&k);\n");
                nested("if (pthread_rwlock_tryrdlock(&k) == 0)".into(), body, &end)
            }
            Stmt::TryWrite(body) => {
                let end = format!("{pad1}pthread_rwlock_unlock(&k);\n");
                nested("if (pthread_rwlock_trywrlock(&k) == 0)".into(), body, &end)
            }
            Stmt::Post => "sem_post(&s);".into(),
            Stmt::Take => "sem_wait(&s);".into(),
            Stmt::TryTake(a) => format!("{} = sem_trywait(&s) == 0;", l(a)),
            Stmt::Barrier => "pthread_barrier_wait(&barrier);".into(),
            Stmt::Once => "pthread_once(&once, first);".into(),
            Stmt::Yield => "sched_yield();".into(),
            Stmt::Allocate(v) => format!("o = malloc(sizeof *o); o->v = {};", value(*v)),
            Stmt::Swap => "o = atomic_exchange(&head, o);".into(),
            Stmt::Head => "o = head;".into(),
            Stmt::Node(a) => format!("{} = o->v;", l(a)),
            Stmt::Mark => "o->n = 3;".into(),
            Stmt::Free => "free(o);".into(),
            Stmt::If(a, n, yes, no) => {
                let mut text = nested(format!("if ({} == {n})", l(a)), yes, "");
                if !no.is_empty() {
                    text += &nested(" else".into(), no, "");
                }
                text
            }
            Stmt::IfNode(body) => nested("if (o)".into(), body, ""),
            Stmt::Twice(body) => nested(format!("for (int i{loops} = 0; i{loops} < 2; i{loops}++)"), body, ""),
            Stmt::Leave(a, n) => format!("if ({} == {n}) {leave}", l(a)),
            Stmt::Assert(a, n) => format!("assert({} != {n});", l(a)),
        };
        let _ = writeln!(out, "{pad}{text}");
    }
}

const VARIABLES: &str =
    "    int x = 0, y = 0, *z = &p;\n    struct node *o = NULL;\n    (void)x; (void)y; (void)z; (void)o;\n";

/// The program in C.
pub fn text(program: &Program) -> String {
    let mut out = HEAD.to_string();
    let (main, threads) = program.threads.split_last().expect("there is `main`");
    for (i, body) in threads.iter().enumerate() {
        let _ = write!(out, "static void *t{i}(void *unused) {{\n{VARIABLES}");
        write(&mut out, 1, body, "return NULL;", 0);
        out += "    return NULL;\n}\n";
    }
    let n = threads.len();
    let _ = write!(
        out,
        "int main(void) {{\n    pthread_t t[{n}];\n{VARIABLES}{SET_UP}    sem_init(&s, 0, {});\n",
        program.permits
    );
    for i in 0..n {
        let _ = writeln!(out, "    pthread_create(&t[{i}], NULL, t{i}, NULL);");
    }
    write(&mut out, 1, main, "return 0;", 0);
    for i in 0..n {
        let _ = writeln!(out, "    pthread_join(t[{i}], NULL);");
    }
    write(&mut out, 1, &program.after, "return 0;", 0);
    out + "    return 0;\n}\n"
}
