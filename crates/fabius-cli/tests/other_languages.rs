//! Programs in Promela and ZING on the command line: what they answer, their traces, limits and mistakes.

use crate::common::{expect, fabius, folder, json};
use std::path::{Path, PathBuf};

/// A counter that two processes increment in two steps.
const PML: &str = "byte x; byte done;\nactive [2] proctype p() { byte t; t = x; x = t + 1; done++ }\n\
                   active proctype q() { (done == 2) -> assert(x == N) }\n";
const ZING: &str = "class M {\n    static int x;\n    static int done;\n\
                    static void add() { int t; t = x; x = t + 1; atomic { done = done + 1; } }\n\
                    activate static void p() { add(); }\n    activate static void q() { add(); }\n\
                    activate static void r() { select { wait(done == 2) -> assert(x == N); } }\n};\n";

/// A program of each language in a folder; `n` is what it says that the counter is.
fn programs(test: &str, n: &str) -> [String; 2] {
    let folder = folder(&format!("other_languages_{test}"));
    [("counter.pml", PML), ("counter.zing", ZING)]
        .map(|(file, text)| written(&folder.join(file), &text.replace('N', n)))
}

fn written(path: &Path, text: &str) -> String {
    std::fs::write(path, text).expect("it can be written");
    path.display().to_string()
}

#[test]
fn they_are_checked_and_verified() {
    for (n, code) in [("2", 1), ("x", 0)] {
        for program in programs("answers", n) {
            for command in ["check", "verify"] {
                expect(&fabius(&[command, &program]), code, &[if code == 1 { "assertion failed" } else { "" }]);
            }
        }
    }
}

#[test]
fn traces_show_the_text_and_are_replayed_with_it_alone() {
    for program in programs("replay", "2") {
        let trace = PathBuf::from(&program).with_extension("json").display().to_string();
        expect(&fabius(&["check", &program, "--trace", &trace]), 1, &["x = t + 1"]);
        expect(&fabius(&["replay", &trace]), 1, &["assertion failed"]);
        let text = std::fs::read_to_string(&program).expect("it is there");
        written(Path::new(&program), &text.replace("t + 1", "t + 2"));
        expect(&fabius(&["replay", &trace]), 2, &[]);
    }
}

#[test]
fn what_is_translated_has_the_same_verdict() {
    for (n, code) in [("2", 1), ("x", 0)] {
        for program in programs("translate", n) {
            let output = fabius(&["translate", &program, "--to", "fab"]);
            expect(&output, 0, &[]);
            let again = PathBuf::from(&program).with_extension("fab");
            let again = written(&again, &String::from_utf8_lossy(&output.stdout));
            expect(&fabius(&["check", &again]), code, &[]);
        }
    }
}

#[test]
fn processes_that_know_their_numbers_are_translated_each_by_its_own_name() {
    let folder = folder("other_languages_numbers");
    for (count, least, code) in [("", 1, 0), ("[2]", 2, 0), ("[2]", 1, 1)] {
        let text = format!("active {count} proctype p() {{ assert(_pid < {least}) }}\n");
        let program = written(&folder.join("numbers.pml"), &text);
        let output = fabius(&["translate", &program, "--to", "fab"]);
        expect(&output, 0, &["process p"]);
        let again = written(&folder.join("numbers.fab"), &String::from_utf8_lossy(&output.stdout));
        expect(&fabius(&["check", &again]), code, &[]);
    }
}

#[test]
fn who_may_wait_for_ever_is_checked_and_not_translated() {
    let folder = folder("other_languages_ends");
    let ends = [
        ("end.pml", "byte x;\nactive proctype p() { end: do :: x == 1 -> x = 0 od }\n"),
        ("end.zing", "class M { static bool b;\nactivate static void p() { select end { wait(b) -> ; } } };\n"),
    ];
    for (file, text) in ends {
        let program = written(&folder.join(file), text);
        expect(&fabius(&["check", &program]), 0, &["verified"]);
        for asked in [["verify", &program].as_slice(), &["translate", &program, "--to", "fab"]] {
            expect(&fabius(asked), 2, &["E0501", "may last for ever", ":2:"]);
        }
    }
}

#[test]
fn limits_hold_and_mistakes_have_their_places() {
    for program in programs("limits", "x") {
        let output = fabius(&["check", &program, "--memory", "1K", "--json"]);
        expect(&output, 3, &[]);
        assert_eq!(json(&output)["reason"]["reason"], "memory");
        let text = if program.ends_with("pml") {
            "active proctype p() {\n  y = 1\n}\n"
        } else {
            "class M {\n  activate static void a() { y = 1; }\n};\n"
        };
        written(Path::new(&program), text);
        expect(&fabius(&["check", &program]), 2, &[":2:", "`y`"]);
        if program.ends_with("zing") {
            expect(&fabius(&["check", &program, "--const", "SIZE=1"]), 2, &["SIZE"]);
        }
    }
}

#[test]
#[cfg(unix)]
fn who_is_told_to_end_says_what_is_known() {
    use std::process::{Command, Stdio};
    let folder = folder("other_languages_sigterm");
    let endless = [
        ("endless.pml", "int x, y; active proctype p() { do :: x++ :: y++ od }\n"),
        (
            "endless.zing",
            "class M { static int x; static int y; activate static void a() { while (true) { x = x + 1; } }\n\
                          activate static void b() { while (true) { y = y + 1; } } };\n",
        ),
    ];
    for (file, text) in endless {
        let program = written(&folder.join(file), text);
        let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
        let child = command.args(["check", &program, "--json"]).stdout(Stdio::piped()).spawn().expect("it starts");
        std::thread::sleep(std::time::Duration::from_millis(700));
        let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("there is `kill`");
        assert!(killed.success());
        let output = child.wait_with_output().expect("it ends");
        expect(&output, 3, &[]);
        assert_eq!(json(&output)["reason"]["reason"], "interrupted");
    }
}
