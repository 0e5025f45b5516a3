//! Random programs of two or three threads that speak to each other by what the C library and the kernel offer, as C.

use fastrand::Rng;
use std::fmt::Write;

/// What a thread does in one call. A number that is read goes into the register that is named last.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Lock,
    Unlock,
    TryLock(usize),
    Load(usize),
    Store(i32),
    Add(i32, usize),
    Exchange(i32, i32, usize),
    Post,
    Wait,
    TryWait(usize),
    /// Puts a byte into a pipe; takes one, or sees that nobody writes any more.
    PipeWrite(i32),
    PipeRead(usize),
    PipeClose,
    /// Whether there is something to read from the pipe.
    Poll(usize),
    Send(i32),
    Receive(usize),
    /// The same without waiting.
    ReceiveNow(usize),
    /// Two bytes, however they come.
    ReceiveTwo(usize),
    /// An event that gives all that was added, and one that gives one at a time.
    EventAdd(i32),
    EventTake(usize),
    CountAdd(i32),
    CountTake(usize),
    /// A byte of a file.
    FileRead(usize),
    FileWrite(i32),
    FileNext(usize),
    /// Another file becomes a byte longer; its size.
    Append(i32),
    StreamPut(i32),
    Size(usize),
    SizeByName(usize),
    /// A signal that all threads have blocked, to the process or to a thread.
    Kill,
    KillThread(usize),
    WaitForSignal,
    /// Waits for something to read from the pipe, or for a signal that is let in until then.
    PollForSignal(usize),
    Pending(usize),
    /// Another signal, whose handler says that it ran: to the process, to a thread.
    Tell,
    TellThread(usize),
    /// Lets it in for a moment, or until it comes; whether its handler has run.
    LetIn(usize),
    LetInUntil(usize),
    Barrier,
    ReadLock,
    WriteLock,
    Release,
    TryReadLock(usize),
    WaitForCondition,
    Signal,
    Broadcast,
    Once(i32, usize),
}

/// Threads, and how many registers they have.
pub struct Program {
    pub threads: Vec<Vec<Op>>,
    pub registers: usize,
}

pub fn random(rng: &mut Rng) -> Program {
    let mut program = Program { threads: Vec::new(), registers: 0 };
    let count = if rng.u8(..4) == 0 { 3 } else { 2 };
    let kinds: Vec<u8> = (0..rng.usize(1..4)).map(|_| rng.u8(..19)).collect();
    for _ in 0..count {
        let length = if count == 2 { rng.usize(1..4) } else { rng.usize(1..3) };
        let mut ops = Vec::new();
        for _ in 0..length {
            let kind = kinds[rng.usize(..kinds.len())];
            part(kind, count, &mut program.registers, &mut ops, rng);
        }
        program.threads.push(ops);
    }
    program
}

/// One thing that is done with an object of this kind.
fn part(kind: u8, threads: usize, registers: &mut usize, ops: &mut Vec<Op>, rng: &mut Rng) {
    let value = rng.i32(1..4);
    let which = rng.u8(..4);
    let mut new = || {
        *registers += 1;
        *registers - 1
    };
    match (kind, which) {
        (0, 0 | 1) => ops.extend([Op::Lock, Op::Load(new()), Op::Unlock]),
        (0, 2) => ops.extend([Op::Lock, Op::Store(value), Op::Unlock]),
        (0, _) => ops.push(Op::TryLock(new())),
        (1, 0 | 1) => ops.push(Op::Post),
        (1, 2) => ops.push(Op::Wait),
        (1, _) => ops.push(Op::TryWait(new())),
        (2, 0) => ops.push(Op::Load(new())),
        (2, 1) => ops.push(Op::Store(value)),
        (2, 2) => ops.push(Op::Add(value, new())),
        (2, _) => ops.push(Op::Exchange(rng.i32(..3), value, new())),
        (3, 0 | 1) => ops.push(Op::PipeWrite(value)),
        (3, _) => ops.push(Op::PipeRead(new())),
        (4, 0 | 1) => ops.push(Op::Send(value)),
        (4, 2) => ops.push(Op::Receive(new())),
        (4, _) => ops.push(Op::ReceiveNow(new())),
        (5, 0 | 1) => ops.push(Op::EventAdd(value)),
        (5, _) => ops.push(Op::EventTake(new())),
        (6, 0 | 1) => ops.push(Op::CountAdd(value)),
        (6, _) => ops.push(Op::CountTake(new())),
        (7, 0) => {
            let register = new();
            ops.extend([Op::Lock, Op::FileRead(register), Op::FileNext(register), Op::Unlock]);
        }
        (7, 1) => ops.push(Op::FileRead(new())),
        (7, _) => ops.push(Op::FileWrite(value)),
        (8, 0) => ops.push(Op::Append(value)),
        (8, 1) => ops.push(Op::StreamPut(value)),
        (8, 2) => ops.push(Op::Size(new())),
        (8, _) => ops.push(Op::SizeByName(new())),
        (9, 0) => ops.push(Op::Kill),
        (9 | 10, 1) => ops.push(Op::WaitForSignal),
        (9 | 10, 2) => ops.push(Op::Pending(new())),
        (9 | 10, _) => ops.push(Op::KillThread(rng.usize(..threads))),
        (11, _) => ops.push(Op::Barrier),
        (12, 0) => ops.extend([Op::ReadLock, Op::Load(new()), Op::Release]),
        (12, 1 | 2) => ops.extend([Op::WriteLock, Op::Store(value), Op::Release]),
        (12, _) => ops.push(Op::TryReadLock(new())),
        (13, 0) => ops.extend([Op::Lock, Op::WaitForCondition, Op::Unlock]),
        (13, 1 | 2) => ops.extend([Op::Lock, Op::Store(value), Op::Signal, Op::Unlock]),
        (13, _) => ops.push(Op::Broadcast),
        (14, 0) => ops.push(Op::PipeClose),
        (14, 1) => ops.push(Op::Poll(new())),
        (14, 2) => ops.push(Op::PipeWrite(value)),
        (14, _) => ops.push(Op::PipeRead(new())),
        (15, _) => ops.push(Op::Once(value, new())),
        (16, 0 | 1) => ops.push(Op::Send(value)),
        (16, 2) => ops.push(Op::ReceiveTwo(new())),
        (16, _) => ops.push(Op::ReceiveNow(new())),
        (18, 0) => ops.push(if rng.bool() { Op::Tell } else { Op::LetInUntil(new()) }),
        (18, 1) => ops.push(Op::TellThread(rng.usize(..threads))),
        (18, _) => ops.push(Op::LetIn(new())),
        (_, 0) => ops.push(Op::PipeWrite(value)),
        (_, 1) => ops.push(Op::KillThread(rng.usize(..threads))),
        (_, 2) => ops.push(Op::Kill),
        _ => ops.push(Op::PollForSignal(new())),
    }
}

impl Op {
    fn text(self) -> String {
        match self {
            Op::Lock => "pthread_mutex_lock(&m);".into(),
            Op::Unlock => "pthread_mutex_unlock(&m);".into(),
            Op::TryLock(r) => format!("r[{r}] = !pthread_mutex_trylock(&m); if (r[{r}]) pthread_mutex_unlock(&m);"),
            Op::Load(r) => format!("r[{r}] = x;"),
            Op::Store(v) => format!("x = {v};"),
            Op::Add(v, r) => format!("r[{r}] = atomic_fetch_add(&x, {v});"),
            Op::Exchange(old, new, r) => {
                format!("{{ int e = {old}; r[{r}] = atomic_compare_exchange_strong(&x, &e, {new}); }}")
            }
            Op::Post => "sem_post(&s);".into(),
            Op::Wait => "sem_wait(&s);".into(),
            Op::TryWait(r) => format!("r[{r}] = !sem_trywait(&s);"),
            Op::PipeWrite(v) => format!("{{ char c = {v}; write(p[1], &c, 1); }}"),
            Op::PipeRead(r) => format!("{{ char c; r[{r}] = read(p[0], &c, 1) == 1 ? c : -1; }}"),
            Op::PipeClose => "close(p[1]);".into(),
            Op::Poll(r) => format!("{{ struct pollfd f = {{p[0], POLLIN, 0}}; r[{r}] = poll(&f, 1, 0); }}"),
            Op::Send(v) => format!("{{ char c = {v}; send(k[1], &c, 1, 0); }}"),
            Op::Receive(r) => format!("{{ char c; recv(k[0], &c, 1, 0); r[{r}] = c; }}"),
            Op::ReceiveNow(r) => format!("{{ char c; r[{r}] = recv(k[0], &c, 1, MSG_DONTWAIT) == 1 ? c : -1; }}"),
            Op::ReceiveTwo(r) => format!("{{ char c[2]; recv(k[0], c, 2, MSG_WAITALL); r[{r}] = c[0] * 10 + c[1]; }}"),
            Op::EventAdd(v) => format!("{{ uint64_t n = {v}; write(e[0], &n, 8); }}"),
            Op::EventTake(r) => format!("{{ uint64_t n; read(e[0], &n, 8); r[{r}] = n; }}"),
            Op::CountAdd(v) => format!("{{ uint64_t n = {v}; write(e[1], &n, 8); }}"),
            Op::CountTake(r) => format!("{{ uint64_t n; read(e[1], &n, 8); r[{r}] = n; }}"),
            Op::FileRead(r) => format!("{{ char c = 0; pread(f[0], &c, 1, 0); r[{r}] = c; }}"),
            Op::FileWrite(v) => format!("{{ char c = {v}; pwrite(f[0], &c, 1, 0); }}"),
            Op::FileNext(r) => format!("{{ char c = r[{r}] + 1; pwrite(f[0], &c, 1, 0); }}"),
            Op::Append(v) => format!("{{ char c = {v}; write(f[1], &c, 1); }}"),
            Op::StreamPut(v) => format!("fputc({v}, stream);"),
            Op::Size(r) => format!("{{ struct stat b; fstat(f[1], &b); r[{r}] = b.st_size; }}"),
            Op::SizeByName(r) => format!("{{ struct stat b; stat(name, &b); r[{r}] = b.st_size; }}"),
            Op::Kill => "kill(getpid(), SIGUSR1);".into(),
            Op::KillThread(t) => format!("pthread_kill(th[{t}], SIGUSR1);"),
            Op::WaitForSignal => "{ int g; sigwait(&set, &g); }".into(),
            Op::PollForSignal(r) => {
                format!("{{ struct pollfd f = {{p[0], POLLIN, 0}}; r[{r}] = ppoll(&f, 1, 0, &all_in); }}")
            }
            Op::Pending(r) => format!("{{ sigset_t q; sigpending(&q); r[{r}] = sigismember(&q, SIGUSR1); }}"),
            Op::Tell => "kill(getpid(), SIGUSR2);".into(),
            Op::TellThread(t) => format!("pthread_kill(th[{t}], SIGUSR2);"),
            Op::LetIn(r) => format!(
                "pthread_sigmask(SIG_UNBLOCK, &second, 0); pthread_sigmask(SIG_BLOCK, &second, 0); r[{r}] = told;"
            ),
            Op::LetInUntil(r) => format!("sigsuspend(&only_second); r[{r}] = told;"),
            Op::Barrier => "pthread_barrier_wait(&b);".into(),
            Op::ReadLock => "pthread_rwlock_rdlock(&w);".into(),
            Op::WriteLock => "pthread_rwlock_wrlock(&w);".into(),
            Op::Release => "pthread_rwlock_unlock(&w);".into(),
            Op::TryReadLock(r) => {
                format!("r[{r}] = !pthread_rwlock_tryrdlock(&w); if (r[{r}]) pthread_rwlock_unlock(&w);")
            }
            Op::WaitForCondition => "pthread_cond_wait(&c, &m);".into(),
            Op::Signal => "pthread_cond_signal(&c);".into(),
            Op::Broadcast => "pthread_cond_broadcast(&c);".into(),
            Op::Once(v, r) => format!("mine = {v}; pthread_once(&o, set_once); r[{r}] = once;"),
        }
    }
}

const HEAD: &str = "#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t w = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t o = PTHREAD_ONCE_INIT;
static pthread_barrier_t b;
static sem_t s;
static atomic_int x;
static int p[2], k[2], e[2], f[2], r[32], once;
static __thread int mine;
static FILE *stream;
static sigset_t set, all_in, second, only_second;
static __thread atomic_int told;
static pthread_t th[3];
static char name[] = \"fabius-XXXXXX\";
static void set_once(void) { once = mine; }
static void handle(int signal) {}
static void handle_second(int signal) { told = 1; }
";

const BEGIN: &str = "int main(void) {
    pthread_barrier_init(&b, 0, 2);
    sem_init(&s, 0, 0);
    pipe(p);
    socketpair(AF_UNIX, SOCK_STREAM, 0, k);
    e[0] = eventfd(0, 0);
    e[1] = eventfd(0, EFD_SEMAPHORE);
    f[0] = memfd_create(\"a\", 0);
    close(mkstemp(name));
    f[1] = open(name, O_WRONLY | O_APPEND);
    stream = fopen(name, \"a\");
    setvbuf(stream, 0, _IONBF, 0);
    signal(SIGUSR1, handle);
    signal(SIGUSR2, handle_second);
    sigemptyset(&second);
    sigaddset(&second, SIGUSR2);
    sigfillset(&only_second);
    sigdelset(&only_second, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &second, 0);
    sigemptyset(&all_in);
    sigaddset(&all_in, SIGUSR2);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
";

/// The program, in which registers that hold these numbers in the end fail an assertion.
pub fn text(program: &Program, wrong: &[i32]) -> String {
    let mut text = HEAD.to_string();
    for (number, ops) in program.threads.iter().enumerate() {
        writeln!(text, "static void *t{number}(void *none) {{").unwrap();
        ops.iter().for_each(|op| writeln!(text, "    {}", op.text()).unwrap());
        text += "    return none;\n}\n";
    }
    text += BEGIN;
    let threads = 0..program.threads.len();
    threads.clone().for_each(|n| writeln!(text, "    pthread_create(&th[{n}], 0, t{n}, 0);").unwrap());
    threads.for_each(|n| writeln!(text, "    pthread_join(th[{n}], 0);").unwrap());
    let all = wrong.iter().enumerate().map(|(n, value)| format!("r[{n}] == {value}")).collect::<Vec<_>>().join(" && ");
    let all = if all.is_empty() { "0" } else { &all };
    text + &format!("    unlink(name);\n    assert(!({all}));\n}}\n")
}
