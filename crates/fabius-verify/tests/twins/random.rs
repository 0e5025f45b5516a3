//! Random programs in C and as models: the same least preemptions and delays until a condition on what the threads have seen
//! holds at the end, or a deadlock. All C programs of a round are one file, and its argument says which one runs.

use super::native;
use super::of_model;
use fastrand::Rng;
use std::fmt::Write;

/// What a thread does. Numbers are those of variables, locks, semaphores; results go to a place of their own.
enum Op {
    Load(usize, usize),
    Store(usize, usize),
    Add(usize, usize),
    Exchange(usize, usize, usize),
    Post(usize),
    Take(usize),
    /// Runs the operations with a lock.
    With(Lock, Vec<Op>),
    /// Runs the operations if the lock is free.
    Try(usize, usize, Vec<Op>),
    /// Waits to be woken, with the lock of that number.
    Wait(usize),
    /// Wakes one, with the lock of that number.
    Wake(usize),
}

#[derive(Clone, Copy)]
enum Lock {
    Mutex(usize),
    Read,
    Write,
}

struct Program {
    threads: Vec<Vec<Op>>,
    /// What must not be: results and the last values of variables.
    results: Vec<(usize, usize)>,
    values: Vec<(usize, usize)>,
}

/// What costs more is not looked for.
const MOST: u32 = 3;

/// How many variables, mutexes, conditions and semaphores there are; places for results.
const OBJECTS: usize = 2;
const RESULTS: usize = 12;

struct Generator {
    rng: Rng,
    results: usize,
}

impl Generator {
    fn result(&mut self) -> usize {
        self.results += 1;
        self.results - 1
    }

    fn object(&mut self) -> usize {
        self.rng.usize(..OBJECTS)
    }

    /// So many operations with these mutexes held, of which the last was taken last.
    fn ops(&mut self, count: usize, held: &[usize]) -> Vec<Op> {
        let mut ops = Vec::new();
        let mut left = count;
        while left > 0 && self.results < RESULTS {
            left -= 1;
            let inner = left.min(2);
            let object = self.object();
            let op = match self.rng.u32(..14) {
                0 | 1 => Op::Load(object, self.result()),
                2 | 3 => Op::Store(object, self.rng.usize(1..3)),
                4 => Op::Add(object, self.result()),
                5 => Op::Exchange(object, self.rng.usize(..2), self.result()),
                6 => Op::Post(object),
                7 => Op::Take(object),
                8 | 9 if !held.contains(&object) => {
                    left -= inner;
                    Op::With(Lock::Mutex(object), self.ops(inner, &[held, &[object]].concat()))
                }
                10 if held.is_empty() => {
                    left -= inner;
                    let lock = if self.rng.bool() { Lock::Read } else { Lock::Write };
                    // The lock for readers and writers is taken first, and once.
                    Op::With(lock, self.ops(inner, &[OBJECTS]))
                }
                11 if !held.contains(&object) => {
                    left -= inner;
                    let result = self.result();
                    Op::Try(object, result, self.ops(inner, &[held, &[object]].concat()))
                }
                12 => match held.last() {
                    Some(&last) if last < OBJECTS => Op::Wait(last),
                    _ => continue,
                },
                13 => match held.last() {
                    Some(&last) if last < OBJECTS => Op::Wake(last),
                    _ => continue,
                },
                _ => continue,
            };
            ops.push(op);
        }
        ops
    }

    fn program(&mut self) -> Program {
        self.results = 0;
        let threads: Vec<Vec<Op>> = (0..self.rng.usize(2..4)).map(|_| self.ops(4, &[])).collect();
        let mut results: Vec<(usize, usize)> = (0..self.results).map(|result| (result, self.rng.usize(..3))).collect();
        self.rng.shuffle(&mut results);
        results.truncate(self.rng.usize(..3));
        let values = if results.len() < 2 { vec![(self.object(), self.rng.usize(..3))] } else { Vec::new() };
        Program { threads, results, values }
    }
}

/// A language in which programs are written down.
#[derive(Clone, Copy)]
enum Language {
    C,
    Model,
}

fn written(op: &Op, language: Language) -> String {
    let block = |ops: &[Op]| ops.iter().map(|op| written(op, language)).collect::<String>();
    match (op, language) {
        (Op::Load(x, r), _) => format!("r{r} = x{x};\n"),
        (Op::Store(x, value), _) => format!("x{x} = {value};\n"),
        (Op::Add(x, r), Language::C) => format!("r{r} = atomic_fetch_add(&x{x}, 1);\n"),
        (Op::Add(x, r), Language::Model) => format!("let v{r} = fetch_add(x{x}, 1); r{r} = v{r};\n"),
        (Op::Exchange(x, old, r), Language::C) => {
            format!("{{ int old = {old}; r{r} = atomic_compare_exchange_strong(&x{x}, &old, 2); }}\n")
        }
        (Op::Exchange(x, old, r), Language::Model) => {
            format!("atomic {{ if x{x} == {old} {{ x{x} = 2; r{r} = 1; }} }}\n")
        }
        (Op::Post(s), Language::C) => format!("sem_post(&s{s});\n"),
        (Op::Post(s), Language::Model) => format!("atomic {{ s{s} = s{s} + 1; }}\n"),
        (Op::Take(s), Language::C) => format!("sem_wait(&s{s});\n"),
        (Op::Take(s), Language::Model) => format!("atomic {{ await s{s} > 0; s{s} = s{s} - 1; }}\n"),
        (Op::With(Lock::Mutex(m), ops), Language::C) => {
            format!("pthread_mutex_lock(&m{m});\n{}pthread_mutex_unlock(&m{m});\n", block(ops))
        }
        (Op::With(Lock::Mutex(m), ops), Language::Model) => format!("m{m}.acquire();\n{}m{m}.release();\n", block(ops)),
        (Op::With(Lock::Read, ops), Language::C) => {
            format!("pthread_rwlock_rdlock(&rw);\n{}pthread_rwlock_unlock(&rw);\n", block(ops))
        }
        (Op::With(Lock::Write, ops), Language::C) => {
            format!("pthread_rwlock_wrlock(&rw);\n{}pthread_rwlock_unlock(&rw);\n", block(ops))
        }
        (Op::With(Lock::Read, ops), Language::Model) => {
            format!("rw.acquire_read();\n{}rw.release_read();\n", block(ops))
        }
        (Op::With(Lock::Write, ops), Language::Model) => {
            format!("rw.acquire_write();\n{}rw.release_write();\n", block(ops))
        }
        (Op::Try(m, r, ops), Language::C) => format!(
            "if (pthread_mutex_trylock(&m{m}) == 0) {{ r{r} = 1;\n{}pthread_mutex_unlock(&m{m}); }}\n",
            block(ops)
        ),
        (Op::Try(m, r, ops), Language::Model) => {
            format!("let g{r} = m{m}.try_acquire(); if g{r} {{ r{r} = 1;\n{}m{m}.release(); }}\n", block(ops))
        }
        (Op::Wait(m), Language::C) => format!("pthread_cond_wait(&c{m}, &m{m});\n"),
        (Op::Wait(m), Language::Model) => format!("c{m}.wait(m{m});\n"),
        (Op::Wake(m), Language::C) => format!("pthread_cond_signal(&c{m});\n"),
        (Op::Wake(m), Language::Model) => format!("c{m}.notify_one();\n"),
    }
}

/// A line for each object.
fn objects(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

impl Program {
    fn bug(&self) -> String {
        let results = self.results.iter().map(|(result, value)| format!("r{result} == {value}"));
        let values = self.values.iter().map(|(x, value)| format!("l{x} == {value}"));
        results.chain(values).collect::<Vec<_>>().join(" && ")
    }

    fn model(&self) -> String {
        let mut text = objects(OBJECTS, |n| {
            format!("sync var x{n}: int; sync var s{n}: int; var m{n}: lock; var c{n}: condition;\n")
        });
        text += &objects(RESULTS, |n| format!("var r{n}: int;\n"));
        text += "var rw: rw_lock;\n";
        let count = self.threads.len();
        for (number, ops) in self.threads.iter().enumerate() {
            let body: String = ops.iter().map(|op| written(op, Language::Model)).collect();
            let _ = writeln!(text, "proc t{number}() {{\n{body}}}");
        }
        text += "init {\n";
        text += &objects(count, |n| format!("let h{n} = spawn t{n}();\n"));
        text += &objects(count, |n| format!("join h{n};\n"));
        text += &objects(OBJECTS, |n| format!("let l{n} = x{n};\n"));
        text + &format!("assert !({});\n}}\n", self.bug())
    }

    /// As one of the programs of a file.
    fn in_c(&self, program: usize) -> String {
        let mut text = String::new();
        let count = self.threads.len();
        for (number, ops) in self.threads.iter().enumerate() {
            let body: String = ops.iter().map(|op| written(op, Language::C)).collect();
            let _ = writeln!(text, "static void *t{program}_{number}(void *unused) {{\n{body}return unused;\n}}");
        }
        let _ = writeln!(text, "static void program{program}(void) {{\npthread_t h[{count}];");
        text += &objects(count, |n| format!("pthread_create(&h[{n}], 0, t{program}_{n}, 0);\n"));
        text += &objects(count, |n| format!("pthread_join(h[{n}], 0);\n"));
        text += &objects(OBJECTS, |n| format!("int l{n} = x{n};\n"));
        text + &format!("assert(!({}));\n}}\n", self.bug())
    }
}

/// All programs in one file.
fn file(programs: &[Program]) -> String {
    let includes = ["assert.h", "pthread.h", "semaphore.h", "stdatomic.h", "stdlib.h"];
    let mut text: String = includes.map(|name| format!("#include <{name}>\n")).concat();
    text += &objects(OBJECTS, |n| {
        format!(
            "static atomic_int x{n}; static sem_t s{n};\nstatic pthread_mutex_t m{n} = PTHREAD_MUTEX_INITIALIZER;\n\
             static pthread_cond_t c{n} = PTHREAD_COND_INITIALIZER;\n"
        )
    });
    text += &objects(RESULTS, |n| format!("static int r{n};\n"));
    text += "static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;\n";
    for (number, program) in programs.iter().enumerate() {
        text += &program.in_c(number);
    }
    text += "static void (*const programs[])(void) = {";
    text += &objects(programs.len(), |n| format!("program{n}, "));
    text + "};\nint main(int argc, char **argv) { programs[atoi(argv[argc - 1])](); }\n"
}

/// Compares so many programs.
fn compare(seed: u64, count: usize) {
    let mut generator = Generator { rng: Rng::with_seed(seed), results: 0 };
    let programs: Vec<Program> = (0..count).map(|_| generator.program()).collect();
    let Some(target) = native::build(&format!("random-{seed}"), &file(&programs), "") else { return };
    let (mut buggy, mut good) = (0, 0);
    for (number, program) in programs.iter().enumerate() {
        let model = of_model(&program.model());
        let model = [model[0], model[1], model[2]].map(|cost| cost.filter(|cost| *cost <= MOST));
        let costs = native::costs(&native::with(&target, number), MOST);
        assert_eq!(model, costs, "seed {seed}, program {number}\n{}\n{}", program.model(), program.in_c(number));
        *if model[0].is_some() { &mut buggy } else { &mut good } += 1;
    }
    println!("seed {seed}: {buggy} programs with a bug, {good} without");
    assert!(buggy > count / 4 && good > count / 10, "both are compared: {buggy}, {good}");
}

#[test]
fn random_programs_have_the_costs_of_their_models() {
    compare(0, 40);
}

#[test]
#[ignore = "takes long: cargo test --release -p fabius-verify --test twins -- --ignored"]
fn many_random_programs_have_the_costs_of_their_models() {
    for seed in 1..=100 {
        compare(seed, 100);
    }
}
