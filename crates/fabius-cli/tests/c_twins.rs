//! Two ways to explore a C program agree: `fabius check x.c`, which reads it, and `fabius run`, which runs what the compiler makes
//! of it: on the verdict, the kind of bug and the least preemptions of every program of `corpus/c` that is complete. Where they
//! differ, because atomic accesses order more than C says for who reads, the program says so: `// run: bug KIND COST: why`.
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

/// What both ways say of a program with these macros.
fn both(source: &Path, macros: &[&str], target: &Path) -> Result<(String, String), String> {
    let name = source.display().to_string();
    let defined: Vec<String> = macros.iter().map(|m| format!("-D{m}")).collect();
    let mut check = vec!["check", &name, "--json", "--jobs", "1"];
    check.extend(defined.iter().map(String::as_str));
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
    let run = short(&fabius(&["run", &target.display().to_string(), "--first-race", "--max", MOST, "--json"]));
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
            let other = text.lines().find_map(|l| l.strip_prefix("// run: ")).filter(|_| macros.is_empty());
            match both(&source, macros, &folder.join("program")) {
                Ok((_, run)) if other.is_some_and(|other| other.starts_with(&run)) => {}
                Ok((read, run)) if other.is_none() && read == run => {}
                Ok((read, run)) => wrong.push(format!("{} {macros:?}: read {read}, run {run}", source.display())),
                Err(why) => wrong.push(format!("{} {macros:?}: {why}", source.display())),
            }
        }
    }
    assert!(compared >= 40, "only {compared} programs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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

/// A random program: two or three threads with atomics, locks, a condition, a semaphore, and a claim about how it ends.
fn random(seed: u64) -> String {
    let mut maker = Maker { rng: fastrand::Rng::with_seed(seed), text: String::new() };
    maker.line(0, "#include <assert.h>\n#include <pthread.h>\n#include <semaphore.h>\n#include <stdatomic.h>");
    maker.line(0, "static atomic_int a, b, c;\nstatic int p, q;\nstatic sem_t s;");
    maker.line(0, "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;");
    maker.line(0, "static pthread_cond_t w = PTHREAD_COND_INITIALIZER;");
    let threads = maker.rng.usize(2..4);
    for t in 0..threads {
        maker.line(0, &format!("static void *t{t}(void *given) {{\n    int x = 0, y = (int)(long)given;"));
        let count = maker.rng.usize(2..5);
        maker.statements(1, &mut Vec::new(), count);
        maker.line(0, "    (void)x;\n    (void)y;\n    return NULL;\n}");
    }
    let permits = maker.rng.u8(..2);
    maker.line(
        0,
        &format!(
            "int main(void) {{\n    pthread_t t[{threads}];\n    int x = 0, y = 0;\n    sem_init(&s, 0, {permits});"
        ),
    );
    for t in 0..threads {
        let given = maker.rng.u8(..3);
        maker.line(1, &format!("pthread_create(&t[{t}], NULL, t{t}, (void *){given}L);"));
    }
    let count = maker.rng.usize(..3);
    maker.statements(1, &mut Vec::new(), count);
    for t in 0..threads {
        maker.line(1, &format!("pthread_join(t[{t}], NULL);"));
    }
    let (one, other) = (maker.shared(), maker.shared());
    let (first, second) = (maker.rng.u8(..4), maker.rng.u8(..4));
    maker.line(1, &format!("assert(!({one} == {first} && {other} == {second}));"));
    maker.line(0, "    (void)x;\n    (void)y;\n    return p + q > 1000;\n}");
    maker.text
}

struct Maker {
    rng: fastrand::Rng,
    text: String,
}

impl Maker {
    fn line(&mut self, depth: usize, text: &str) {
        self.text += &format!("{}{text}\n", "    ".repeat(depth));
    }

    fn shared(&mut self) -> char {
        ['a', 'b', 'c'][self.rng.usize(..3)]
    }

    fn local(&mut self) -> char {
        ['x', 'y'][self.rng.usize(..2)]
    }

    fn value(&mut self) -> String {
        if self.rng.bool() { self.local().to_string() } else { self.rng.u8(..4).to_string() }
    }

    fn statements(&mut self, depth: usize, held: &mut Vec<char>, count: usize) {
        for _ in 0..count {
            self.statement(depth, held);
        }
    }

    fn statement(&mut self, depth: usize, held: &mut Vec<char>) {
        let (v, l, value) = (self.shared(), self.local(), self.value());
        let free: Vec<char> = "mn".chars().filter(|lock| !held.contains(lock)).collect();
        let inner = self.rng.usize(1..3);
        let text = match self.rng.u8(..12) {
            0 => format!("{v} = {value};"),
            1 => format!("{l} = {v};"),
            2 => format!("{v} += {};", self.rng.u8(1..3)),
            3 => format!("{l} = atomic_fetch_add(&{v}, 1);"),
            4 => format!("{l} = atomic_exchange(&{v}, {value});"),
            5 if depth < 3 && !free.is_empty() => {
                let lock = free[self.rng.usize(..free.len())];
                self.line(depth, &format!("pthread_mutex_lock(&{lock});"));
                held.push(lock);
                self.statements(depth, held, inner);
                held.pop();
                format!("pthread_mutex_unlock(&{lock});")
            }
            6 if depth < 3 => {
                let wanted = self.rng.u8(..3);
                self.line(depth, &format!("if ({v} == {wanted}) {{"));
                self.statements(depth + 1, held, inner);
                "}".into()
            }
            7 => "sem_post(&s);".into(),
            8 if self.rng.bool() => "sem_wait(&s);".into(),
            9 if held.contains(&'m') => format!("{} = {value};", if self.rng.bool() { 'p' } else { 'q' }),
            10 if held.contains(&'m') => match self.rng.u8(..3) {
                0 => format!("if ({v} == 0) pthread_cond_wait(&w, &m);"),
                1 => "pthread_cond_signal(&w);".into(),
                _ => "pthread_cond_broadcast(&w);".into(),
            },
            11 if !held.contains(&'n') => {
                format!("if (pthread_mutex_trylock(&n) == 0) {{ {v}++; pthread_mutex_unlock(&n); }}")
            }
            _ => format!("{v}--;"),
        };
        self.line(depth, &text);
    }
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
        match both(&source, &[], &folder.join("program")) {
            Ok((read, run)) if read == run => bugs += usize::from(read.starts_with("bug")),
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
#[ignore = "takes minutes"]
fn a_thousand_random_programs_agree() {
    random_programs_agree(1000..2000);
}
