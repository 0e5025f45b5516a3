//! What the README, the documents and the help texts tell the reader to type does what they say.

#![cfg(unix)]

mod common;

use common::{folder, root};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A command and the lines that are shown below it, if any are.
#[derive(Debug)]
struct Shown {
    place: String,
    command: String,
    /// What is said of it behind `#`.
    comment: String,
    output: Vec<String>,
}

/// The commands of a document. A block of plain text right behind a command is what it prints.
fn shown(file: &str) -> Vec<Shown> {
    let text = std::fs::read_to_string(root().join(file)).expect("the document can be read");
    let mut all: Vec<Shown> = Vec::new();
    let (mut block, mut prose) = (None, 0);
    for (number, line) in text.lines().enumerate() {
        match (block, line.strip_prefix("```")) {
            (None, Some(name)) => {
                let is_of_command = name == "text" && prose <= 3 && all.last().is_some_and(|s| s.output.is_empty());
                block = Some(if name == "console" || is_of_command { name } else { "" });
            }
            (Some(""), Some(_)) => block = None,
            (Some(_), Some(_)) => (block, prose) = (None, 0),
            (None, None) => prose += 1,
            // What comes after a block of something else is not what the command prints.
            (Some(""), None) => prose = usize::MAX / 2,
            (Some(_), None) => match line.strip_prefix("$ ") {
                Some(given) => {
                    let (command, comment) = given.split_once(" #").unwrap_or((given, ""));
                    let place = format!("{file}:{}", number + 1);
                    let (command, comment) = (command.trim().to_string(), comment.trim().to_string());
                    all.push(Shown { place, command, comment, output: Vec::new() });
                }
                None => all.last_mut().expect("a command comes first").output.push(line.into()),
            },
        }
    }
    all
}

/// A folder with the files that the commands name.
fn place(name: &str) -> PathBuf {
    let here = folder(name);
    for file in ["examples", "corpus"] {
        std::os::unix::fs::symlink(root().join(file), here.join(file)).expect("a link can be made");
    }
    here
}

fn run(command: &str, here: &Path) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_fabius"));
    let others = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{others}", bin.parent().expect("it is in a folder").display());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(here).env("PATH", path).env("XDG_CACHE_HOME", here.join("cache"));
    shell.stdin(Stdio::null()).output().expect("there is a shell")
}

/// Runs what is shown; says what is otherwise.
fn wrong(shown: &Shown, here: &Path) -> Option<String> {
    let Shown { place, command, comment, output } = shown;
    let ran = run(command, here);
    let text = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    let otherwise = |what: &str| Some(format!("{place}: {command}: {what}\n{text}"));
    let code = ran.status.code();
    if !matches!(code, Some(0 | 1 | 3)) {
        return otherwise(&format!("exit code {code:?}"));
    }
    for (word, wanted) in
        [("verified", 0), ("a bug", 1), ("seeded bug", 1), ("no deadlock", 0), ("nothing goes wrong", 0)]
    {
        if comment.contains(word) && code != Some(wanted) {
            return otherwise(&format!("`{comment}`, and exit code {code:?}"));
        }
    }
    // The shown lines in their order; `..` stands for any number of others.
    let mut lines = text.lines().map(without_times);
    let mut is_next = false;
    for wanted in output {
        if wanted == ".." {
            is_next = false;
            continue;
        }
        let wanted = without_times(wanted);
        let found =
            if is_next { lines.next().is_some_and(|line| line == wanted) } else { lines.any(|line| line == wanted) };
        if !found {
            return otherwise(&format!("`{wanted}` is not printed where it is shown"));
        }
        is_next = true;
    }
    None
}

/// A line without the seconds that something took.
fn without_times(line: &str) -> String {
    let words: Vec<&str> = line.trim_end().split(' ').collect();
    let is_time = |at: usize| words.get(at + 1) == Some(&"s") && words[at].parse::<f64>().is_ok();
    let shown = (0..words.len()).map(|at| if is_time(at) { "?" } else { words[at] });
    shown.collect::<Vec<_>>().join(" ")
}

/// Of another program, or of one that is not there.
fn is_elsewhere(command: &str) -> bool {
    !command.starts_with("fabius ")
        || ["queue_test", "queue.comparison.json", " models/", "main.c", " task."]
            .iter()
            .any(|name| command.contains(name))
}

/// Thousands of executions of many programs.
fn is_long(command: &str) -> bool {
    command.starts_with("fabius compare corpus/")
}

/// All that is wrong with the commands that `which` chooses; how many were run.
fn all_wrong(files: &[&str], here: &Path, which: impl Fn(&str) -> bool) -> (usize, Vec<String>) {
    let mut all: Vec<Shown> = files.iter().flat_map(|file| shown(file)).collect();
    for shown in &mut all {
        shown.command = shown.command.replace("cargo run --release -p fabius-cli --", "fabius");
    }
    let chosen: Vec<Shown> = all.into_iter().filter(|s| !is_elsewhere(&s.command) && which(&s.command)).collect();
    (chosen.len(), chosen.iter().filter_map(|shown| wrong(shown, here)).collect())
}

const DOCUMENTS: [&str; 11] = [
    "README.md",
    "docs/any-number-of-threads.md",
    "docs/c.md",
    "docs/cli.md",
    "docs/compare.md",
    "docs/from-other-languages.md",
    "docs/json.md",
    "docs/language.md",
    "docs/messages.md",
    "docs/native.md",
    "docs/testing-a-lock-free-queue.md",
];

#[test]
fn commands_of_the_documents_do_what_they_say() {
    let here = place("documents");
    // The program that the README shows in C.
    let readme = std::fs::read_to_string(root().join("README.md")).expect("it can be read");
    let source = readme.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("it shows a program");
    std::fs::write(here.join("account.c"), source).expect("it can be written");
    let (run, wrong) = all_wrong(&DOCUMENTS, &here, |command| !is_long(command));
    assert!(run >= 28, "{run} commands were run");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `cargo test --release -p fabius-cli --test documents -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn long_commands_of_the_documents_do_what_they_say() {
    let (run, wrong) = all_wrong(&DOCUMENTS, &place("documents_long"), is_long);
    assert!(run >= 2, "{run} commands were run");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn examples_of_the_help_texts_run() {
    let here = place("documents_help");
    let mut count = 0;
    for command in ["decide", "check", "verify", "trace", "translate"] {
        let help = run(&format!("fabius {command} --help"), &here);
        let help = String::from_utf8_lossy(&help.stdout).into_owned();
        let examples =
            help.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| line.starts_with("fabius "));
        for example in examples.filter(|example| !is_elsewhere(example) && !is_long(example)) {
            let code = run(example, &here).status.code();
            assert!(matches!(code, Some(0 | 1 | 3)), "{example}: exit code {code:?}");
            count += 1;
        }
    }
    assert!(count >= 10, "{count} examples");
}

#[test]
fn what_is_not_so_is_noticed() {
    let here = place("documents_wrong");
    let shown = |command: &str, comment: &str, output: &[&str]| Shown {
        place: "here".into(),
        command: command.into(),
        comment: comment.into(),
        output: output.iter().map(|line| line.to_string()).collect(),
    };
    let command = "fabius check examples/bluetooth.fab";
    assert!(
        wrong(&shown(command, "a bug", &["8 steps with 1 preemption; with fewer there is no bug"]), &here).is_none()
    );
    assert!(wrong(&shown(command, "", &["7 steps with 1 preemption; with fewer there is no bug"]), &here).is_some());
    assert!(wrong(&shown(command, "verified", &[]), &here).is_some());
    assert!(wrong(&shown("fabius check nothing.fab", "", &[]), &here).is_some());
    assert_eq!(
        without_times("answered by exploration after 0.01 s"),
        without_times("answered by exploration after 12.3 s")
    );
}
