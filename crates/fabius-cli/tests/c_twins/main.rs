//! Two ways to explore a C program agree: `fabius check x.c`, which reads it, and `fabius run`, which runs what the compiler makes
//! of it: on the verdict, the kind of bug and the least preemptions of every program of `corpus/c` that is complete.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../common/mod.rs"]
mod common;
mod random;

use common::{fabius, folder, json, root};
use random::random;
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
    both_optimized("-O0", source, macros, target, most)
}

/// The same of a binary that was made with this option.
fn both_optimized(
    option: &str,
    source: &Path,
    macros: &[&str],
    target: &Path,
    most: Option<&str>,
) -> Result<(String, String), String> {
    let name = source.display().to_string();
    let defined: Vec<String> = macros.iter().map(|m| format!("-D{m}")).collect();
    let mut check = vec!["check", &name, "--json", "--jobs", "1"];
    check.extend(defined.iter().map(String::as_str));
    check.extend(most.into_iter().flat_map(|most| ["--max", most]));
    let read = short(&fabius(&check));
    let mut build = Command::new(env!("CARGO_BIN_EXE_fabius"));
    build
        .args(["cc", "-g", option, &name, "-o"])
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

/// A thread that comes back to where it was by its own steps alone may be left for nothing, if it does not give way elsewhere.
#[test]
fn loops_that_wait_are_left_at_the_same_cost() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("NOT TESTED: there is no C compiler on this machine");
        return;
    }
    let folder = folder("c_twins_loops");
    for (name, answer) in [
        ("looks_with_a_lock", "bug assertion 0"),
        ("looks_with_a_lock_fixed", "no bug"),
        ("yields_with_a_lock", "bug assertion 1"),
        ("writes_while_it_tries", "bug assertion 1"),
    ] {
        let source = root().join(format!("crates/fabius-native/tests/programs/{name}.c"));
        let said = both(&source, &[], &folder.join("program"), None);
        assert_eq!(said, Ok((answer.to_string(), answer.to_string())), "{name}");
    }
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

/// Whether answers are the same. Of several bugs of one cost each way may report another one, and a data race that one of them
/// finds first may be what the other's bug comes from. Threads that wait for ever in loops are looked for in the binary alone.
fn agree(read: &str, run: &str) -> bool {
    let parts = |answer: &str| {
        let mut words = answer.rsplitn(2, ' ');
        let cost = words.next().and_then(|c| c.parse::<u32>().ok());
        (cost, words.next().unwrap_or_default().to_string())
    };
    let ((one, first), (other, second)) = (parts(read), parts(run));
    let is_bug = first.starts_with("bug");
    read == run
        || is_bug && second.starts_with("bug") && one == other
        || second == "bug livelock" && (!is_bug || one >= other)
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
        let option = if seed % 3 == 2 { "-O2" } else { "-O0" };
        match both_optimized(option, &source, &[], &folder.join("program"), Some("2")) {
            // An access that comes to nothing is left out, and its race with it.
            Ok((read, _)) if option == "-O2" && read.starts_with("bug data_race") => {}
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
