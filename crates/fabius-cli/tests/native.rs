//! `fabius cc` and `fabius run`, as a user calls them.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ACCOUNT: &str = r#"#include <assert.h>
#include <pthread.h>
#include <stdio.h>
static int balance;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *deposit(void *unused) {
    pthread_mutex_lock(&lock);
    int seen = balance;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    balance = seen + 1;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(int argc, char **argv) {
    pthread_t a, b;
    pthread_create(&a, 0, deposit, 0);
    if (argc == 1) pthread_create(&b, 0, deposit, 0);
    pthread_join(a, 0);
    if (argc == 1) pthread_join(b, 0);
    printf("the balance is %d\n", balance);
    assert(balance == (argc == 1 ? 2 : 1));
}
"#;

/// A folder for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("native").join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("account.c"), ACCOUNT).unwrap();
        Folder(path)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
        command.args(args).current_dir(&self.0).env("XDG_CACHE_HOME", self.0.join("cache"));
        command
    }

    fn fabius(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn build(&self) {
        let built = self.fabius(&["cc", "-O1", "account.c", "-o", "account"]);
        assert!(built.status.success(), "{}", text(&built.stderr));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_bug_is_shown_saved_and_run_again() {
    let folder = Folder::new("bug");
    folder.build();
    let run = folder.fabius(&["run", "./account", "--trace", "bug.json", "--html", "bug.html"]);
    let shown = text(&run.stdout);
    assert_eq!(run.status.code(), Some(1), "{shown}{}", text(&run.stderr));
    assert!(shown.starts_with("bug: assert(balance == (argc == 1 ? 2 : 1)) fails, at account.c:22\n"), "{shown}");
    assert!(shown.contains("with 1 preemption; with fewer there is no bug"), "{shown}");
    assert!(shown.contains("balance: 0 -> 1"), "{shown}");
    assert!(!shown.contains("the balance is 1"), "what the program prints is not shown: {shown}");
    let page = std::fs::read_to_string(folder.0.join("bug.html")).unwrap();
    assert!(page.contains("int seen = balance;"));
    let again = folder.fabius(&["run", "./account", "--replay", "bug.json"]);
    let shown = text(&again.stdout);
    assert_eq!(again.status.code(), Some(1), "{shown}");
    assert!(shown.contains("the balance is 1") && shown.contains("account.c:22"), "{shown}");
}

#[test]
fn a_document_has_the_form_of_every_answer() {
    let folder = Folder::new("json");
    folder.build();
    let run = folder.fabius(&["run", "./account", "--json"]);
    assert_eq!(run.status.code(), Some(1));
    let document: Value = serde_json::from_slice(&run.stdout).unwrap();
    let schema: Value = serde_json::from_slice(&folder.fabius(&["schema", "answer"]).stdout).unwrap();
    assert!(jsonschema::is_valid(&schema, &document), "{document:#}");
    assert_eq!(
        (&document["verdict"], &document["kind"], &document["cost"]),
        (&"bug".into(), &"assertion".into(), &1.into())
    );
}

#[test]
fn the_answer_is_a_test_case_of_junit() {
    let folder = Folder::new("junit");
    folder.build();
    let case = |args: &[&str]| {
        let run = folder.fabius(&[&["run", "./account", "--junit", "x.xml"], args].concat());
        let report = std::fs::read_to_string(folder.0.join("x.xml")).unwrap();
        let report = quick_junit::Report::deserialize_from_str(&report).expect("the report is JUnit XML");
        (run.status.code(), report.test_suites[0].test_cases[0].clone())
    };
    let (code, bug) = case(&[]);
    assert_eq!((code, bug.name.as_str()), (Some(1), "./account"));
    let quick_junit::TestCaseStatus::NonSuccess { message: Some(message), description: Some(text), .. } = &bug.status
    else {
        panic!("{:?}", bug.status)
    };
    assert!(message.as_str().contains("fails, at account.c:22"), "{message:?}");
    assert!(text.as_str().contains("with 1 preemption") && text.as_str().contains("int seen = balance;"), "{text:?}");
    let (code, good) = case(&["--", "one"]);
    assert_eq!(code, Some(0));
    assert!(matches!(good.status, quick_junit::TestCaseStatus::Success { .. }));
    assert!(good.system_out.is_some_and(|out| out.as_str().starts_with("verified")));
}

#[test]
fn gdb_stops_where_an_execution_fails() {
    if Command::new("gdb").arg("--version").output().is_err() {
        eprintln!("NOT TESTED: there is no gdb on this machine");
        return;
    }
    let folder = Folder::new("gdb");
    folder.build();
    folder.fabius(&["run", "./account", "--trace", "bug.json"]);
    let orders = folder.0.join("orders");
    std::fs::write(&orders, "frame function main\nprint balance\nkill\nquit\n").unwrap();
    let mut command = folder.command(&["run", "./account", "--replay", "bug.json", "--gdb"]);
    let output = command.stdin(std::fs::File::open(orders).unwrap()).output().unwrap();
    let shown = text(&output.stdout);
    assert!(shown.contains("in main (") && shown.contains("account.c:22"), "{shown}{}", text(&output.stderr));
    assert!(shown.contains("$1 = 1"), "{shown}");
    assert_eq!(folder.fabius(&["run", "./account", "--gdb"]).status.code(), Some(2), "there is nothing to replay");
}

#[test]
fn strategies_are_compared() {
    let folder = Folder::new("compare");
    folder.build();
    let ways = "icb,delay:round-robin,dfs,random,pct:2";
    let run = folder.fabius(&["compare", "./account", "--strategies", ways, "--executions", "500", "--json"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let comparison: Value = serde_json::from_slice(&run.stdout).unwrap();
    let schema: Value = serde_json::from_slice(&folder.fabius(&["schema", "comparison"]).stdout).unwrap();
    assert!(jsonschema::is_valid(&schema, &comparison), "{comparison:#}");
    let program = &comparison["programs"][0];
    assert_eq!((&program["name"], &program["counted"]), (&"./account".into(), &"classes".into()));
    let strategies = program["strategies"].as_array().unwrap();
    assert_eq!(strategies.len(), 5);
    for way in &strategies[..2] {
        assert_eq!(way["coverage"]["bug_cost"], 1, "{way:#}");
    }
    for way in &strategies[3..] {
        let runs = way["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 5);
        assert!(runs.iter().all(|run| run["bug"] == "assertion"), "{way:#}");
    }
}

#[test]
fn what_has_no_bug_is_verified_and_arguments_are_the_programs() {
    let folder = Folder::new("verified");
    folder.build();
    let run = folder.fabius(&["run", "./account", "--", "one"]);
    assert_eq!((run.status.code(), text(&run.stdout).as_str()), (Some(0), "verified: no schedule breaks ./account\n"));
}

#[test]
fn a_limit_makes_no_proof() {
    let folder = Folder::new("limit");
    folder.build();
    let run = folder.fabius(&["run", "./account", "--max", "0"]);
    let shown = text(&run.stdout);
    assert_eq!(run.status.code(), Some(0));
    assert!(shown.starts_with("no bug within bounds: every schedule with at most 0 preemptions"), "{shown}");
}

#[test]
fn what_cannot_be_run_or_compiled_is_said() {
    let folder = Folder::new("bad");
    let missing = folder.fabius(&["run", "./nothing"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("`./nothing` cannot be run"), "{}", text(&missing.stderr));
    let other = folder.fabius(&["run", "/bin/true"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("was it built with `fabius cc`"), "{}", text(&other.stderr));
    let endless = folder.fabius(&["run", "/bin/sleep", "--time", "100ms", "--", "60"]);
    assert_eq!(endless.status.code(), Some(3));
    assert!(text(&endless.stdout).contains("was it built with `fabius cc`"), "{}", text(&endless.stdout));
    let text_of_it = folder.fabius(&["run", "account.c"]);
    assert_eq!(text_of_it.status.code(), Some(2));
    let told = text(&text_of_it.stderr);
    assert!(told.contains("`account.c` is the text of a program"), "{told}");
    assert!(told.contains("`fabius cc account.c -o account`, or explore its text: `fabius check account.c`"), "{told}");
    let fixed = folder.fabius(&["cc", "-static", "account.c"]);
    assert_eq!(fixed.status.code(), Some(2));
    assert!(text(&fixed.stderr).contains("`-static` cannot be explored"), "{}", text(&fixed.stderr));
    std::fs::write(folder.0.join("wrong.c"), "int main(void) { return }\n").unwrap();
    assert_eq!(folder.fabius(&["cc", "wrong.c"]).status.code(), Some(1), "the exit code is the compiler's");
}

#[test]
fn a_row_says_that_a_thread_begins_and_the_last_line_how_to_see_it_again() {
    let folder = Folder::new("begins");
    folder.build();
    let run = folder.fabius(&["run", "./account", "--html", "bug.html", "--seed", "3"]);
    let shown = text(&run.stdout);
    assert!(shown.contains("(begins)") && !shown.contains("(ends)"), "{shown}");
    let again = "replay it: fabius run ./account --seed 3 --trace bug.json; fabius run ./account --replay bug.json\n";
    assert!(shown.contains(again), "{shown}");
    let page = std::fs::read_to_string(folder.0.join("bug.html")).unwrap();
    assert!(page.contains("(begins)") && !page.contains("(ends)"));
}

#[test]
fn the_trace_of_a_program_is_run_again_by_the_program() {
    let folder = Folder::new("replay");
    folder.build();
    folder.fabius(&["run", "./account", "--trace", "bug.json"]);
    let replayed = folder.fabius(&["replay", "bug.json"]);
    let said = text(&replayed.stderr);
    assert_eq!(replayed.status.code(), Some(2));
    assert!(said.contains("`fabius run ./account --replay bug.json`"), "{said}");
}

/// A trace knows what the program was given, and where threads were switched.
#[test]
fn a_trace_is_run_again_as_it_was_found() {
    let folder = Folder::new("given");
    let program = "#include <assert.h>\n#include <pthread.h>\n#include <stdlib.h>\n\
                   static int sum;\n\
                   static void *adds(void *by) { int was = sum; sum = was + *(int *)by; return by; }\n\
                   int main(int count, char **given) {\n\
                   pthread_t a, b; int by = count > 1 ? atoi(given[1]) : 0;\n\
                   pthread_create(&a, 0, adds, &by); pthread_create(&b, 0, adds, &by);\n\
                   pthread_join(a, 0); pthread_join(b, 0); assert(sum == 2 * by); }\n";
    std::fs::write(folder.0.join("account.c"), program).unwrap();
    folder.build();
    let found = folder.fabius(&["run", "./account", "--points", "all", "--trace", "bug.json", "--", "3"]);
    assert_eq!(found.status.code(), Some(1), "{}", text(&found.stdout));
    let replayed = folder.fabius(&["run", "./account", "--replay", "bug.json"]);
    assert!(text(&replayed.stdout).contains("assert(sum == 2 * by) fails"), "{}", text(&replayed.stdout));
}

/// The runtime knows a pipe that threads speak through by what it is, and the output may be one, too: nobody in the program
/// reads what is written there.
#[test]
fn output_of_a_replay_is_complete_whoever_reads_it() {
    let folder = Folder::new("output");
    let program = "#include <assert.h>\n#include <string.h>\n#include <unistd.h>\n\
                   static char text[200000];\n\
                   int main(void) { memset(text, 126, sizeof text); assert(write(1, text, sizeof text) < 0); }\n";
    std::fs::write(folder.0.join("account.c"), program).unwrap();
    folder.build();
    folder.fabius(&["run", "./account", "--trace", "bug.json"]);
    let replayed = text(&folder.fabius(&["run", "./account", "--replay", "bug.json"]).stdout);
    assert_eq!(replayed.matches('~').count(), 200_000);
}

#[test]
fn what_a_program_is_made_of_is_not_overwritten() {
    let folder = Folder::new("sources");
    folder.build();
    for option in ["--trace", "--html", "--sarif"] {
        let run = folder.fabius(&["run", "./account", option, "account.c"]);
        let said = text(&run.stderr);
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.contains("account.c` would overwrite what a program is made of"), "{said}");
    }
    assert_eq!(std::fs::read_to_string(folder.0.join("account.c")).unwrap(), ACCOUNT);
}

/// The library is written where the XDG Base Directory Specification says.
#[test]
fn a_cache_that_is_no_full_path_is_none() {
    let folder = Folder::new("no_cache");
    for none in ["", "here"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
        command.args(["cc", "-O1", "account.c", "-o", "account"]).current_dir(&folder.0);
        let built = command.env("XDG_CACHE_HOME", none).env("HOME", folder.0.join("home")).output().unwrap();
        assert!(built.status.success(), "{}", text(&built.stderr));
        assert!(folder.0.join("home/.cache/fabius").is_dir());
        assert!(!folder.0.join("fabius").exists() && !folder.0.join("here").exists());
    }
}
