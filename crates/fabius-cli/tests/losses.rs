//! Nothing of the user's is overwritten, and what cannot be written is noticed before anything runs.

use crate::common::{expect, fabius, folder, root};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder with a program that has a bug, and a run that has one.
fn with_inputs(name: &str) -> PathBuf {
    let folder = folder(name);
    for (from, to) in [("examples/bluetooth.fab", "m.fab"), ("examples/mcapi.ctp", "m.ctp")] {
        std::fs::copy(root().join(from), folder.join(to)).expect("a file can be copied");
    }
    folder
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

/// The command is refused, nothing is run, and no file is new or another.
#[track_caller]
fn refused(folder: &Path, args: &[&str], because: &str) {
    let files = || {
        let all = std::fs::read_dir(folder).expect("the folder is there").map(|e| e.expect("an entry").path());
        let mut all: Vec<(PathBuf, Option<Vec<u8>>)> = all.map(|p| (p.clone(), std::fs::read(p).ok())).collect();
        all.sort();
        all
    };
    let before = files();
    let output = fabius(args);
    expect(&output, 2, &[because]);
    assert!(output.stdout.is_empty(), "{args:?}");
    assert_eq!(files(), before, "{args:?}");
}

#[test]
fn no_output_is_the_input() {
    let folder = with_inputs("output_is_input");
    let (m, run) = (path(&folder, "m.fab"), path(&folder, "m.ctp"));
    std::fs::create_dir(folder.join("below")).expect("a folder can be made");
    let roundabout = path(&folder, "below/../m.fab");
    let same = "is the same file as the input";
    for option in ["--trace", "--html", "--sarif", "--junit", "--dot"] {
        refused(&folder, &["check", &m, option, &m], same);
        refused(&folder, &["check", &m, option, &roundabout], same);
    }
    refused(&folder, &["check", &m, "examples/account.fab", "--junit", &m], same);
    for option in ["--trace", "--html", "--sarif"] {
        refused(&folder, &["verify", &m, option, &m], same);
        refused(&folder, &["trace", &run, option, &run], same);
    }
    refused(&folder, &["verify", &m, "--dump", "smt2", &m], same);
    refused(&folder, &["trace", &run, "--dump", "smt2", &run], same);

    let saved = path(&folder, "bug.json");
    expect(&fabius(&["check", &m, "--trace", &saved]), 1, &[]);
    for (file, because) in [(&m, "would overwrite what a program is made of"), (&saved, same)] {
        refused(&folder, &["replay", &saved, "--html", file], because);
        refused(&folder, &["replay", &saved, "--sarif", file], because);
        refused(&folder, &["report", &saved, "-o", file], because);
    }
    // A curve would be called as the program is.
    std::fs::copy(&m, folder.join("m-growth.svg")).expect("a file can be copied");
    let (program, plots) = (path(&folder, "m-growth.svg"), folder.display().to_string());
    refused(&folder, &["compare", &m, &program, "--svg", &plots], same);
}

#[test]
fn no_output_is_what_a_c_program_is_made_of() {
    let folder = folder("output_is_a_source");
    for (name, text) in [
        ("a.c", "#include \"a.h\"\nint other(void);\nint main(void) { return other(); }\n"),
        ("b.c", "int other(void) { return 0; }\n"),
        ("a.h", ""),
        ("p.prp", "CHECK( init(main()), LTL(G ! call(reach_error())) )\n"),
        ("t.yml", "input_files: 'a.c'\nproperties:\n  - property_file: p.prp\n"),
    ] {
        std::fs::write(folder.join(name), text).expect("a file can be written");
    }
    let [a, b, header, property, task] = ["a.c", "b.c", "a.h", "p.prp", "t.yml"].map(|name| path(&folder, name));
    for command in ["check", "verify", "decide"] {
        for output in [&b, &header] {
            refused(
                &folder,
                &[command, &a, "--with", &b, "--trace", output],
                "would overwrite what a program is made of",
            );
        }
        refused(&folder, &[command, &task, "--witness", &property], "would overwrite what a program is made of");
        refused(&folder, &[command, &task, "--html", &a], "would overwrite what a program is made of");
    }
}

#[test]
fn no_output_is_another_program() {
    let folder = with_inputs("output_is_a_program");
    let m = path(&folder, "m.fab");
    for name in ["n.fab", "n.pml", "n.zing", "n.ctp", "n.rs"] {
        let other = path(&folder, name);
        // What is not there can be written.
        expect(&fabius(&["check", &m, "--sarif", &other]), 1, &["bug:"]);
        refused(&folder, &["check", &m, "--sarif", &other], "would overwrite what a program is made of");
    }
}

#[test]
fn no_two_outputs_are_one_file() {
    let folder = with_inputs("two_outputs");
    let (m, out) = (path(&folder, "m.fab"), path(&folder, "out"));
    refused(&folder, &["check", &m, "--trace", &out, "--html", &out], "is the same file as `--trace ");
    std::fs::create_dir(folder.join("below")).expect("a folder can be made");
    let roundabout = path(&folder, "below/../out");
    refused(&folder, &["verify", &m, "--html", &out, "--sarif", &roundabout], "is the same file as `--html ");
    // A device takes both.
    if cfg!(unix) {
        expect(&fabius(&["check", &m, "--trace", "/dev/null", "--html", "/dev/null"]), 1, &["bug:"]);
    }
}

#[cfg(unix)]
#[test]
fn links_are_seen_through() {
    let folder = with_inputs("links");
    let m = path(&folder, "m.fab");
    std::os::unix::fs::symlink("m.fab", folder.join("soft")).expect("a link can be made");
    std::fs::hard_link(&m, folder.join("hard")).expect("a link can be made");
    std::os::unix::fs::symlink("nothing", folder.join("dangling")).expect("a link can be made");
    for link in ["soft", "hard"] {
        refused(&folder, &["check", &m, "--html", &path(&folder, link)], "is the same file as the input");
        refused(&folder, &["check", &path(&folder, link), "--html", &m], "is the same file as the input");
    }
    let (new, dangling) = (path(&folder, "nothing"), path(&folder, "dangling"));
    refused(&folder, &["check", &m, "--trace", &new, "--html", &dangling], "is the same file as `--trace ");
    expect(&fabius(&["check", &m, "--trace", &dangling]), 1, &[]);
    assert!(std::fs::read_to_string(new).is_ok_and(|text| text.contains("\"steps\"")), "a link is written through");
}

#[test]
fn what_cannot_be_written_is_noticed_before_the_search() {
    let folder = with_inputs("unwritable");
    let (m, nowhere) = (path(&folder, "m.fab"), path(&folder, "no/such/folder/out"));
    refused(&folder, &["check", &m, "--trace", &nowhere], "cannot write");
    refused(&folder, &["check", &m, "--html", &folder.display().to_string()], "cannot write");
    std::fs::write(folder.join("fixed"), "what was there").expect("a file can be written");
    let mut permissions = std::fs::metadata(folder.join("fixed")).expect("it is there").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(folder.join("fixed"), permissions).expect("it can be made read-only");
    refused(&folder, &["verify", &m, "--sarif", &path(&folder, "fixed")], "read-only");
}

#[test]
fn what_was_there_stays_if_there_is_no_answer() {
    let folder = with_inputs("stays");
    let (bad, out) = (path(&folder, "bad.fab"), path(&folder, "out.html"));
    std::fs::write(&bad, "init { x = ; }").expect("a file can be written");
    std::fs::write(&out, "what was there").expect("a file can be written");
    expect(&fabius(&["check", &bad, "--html", &out]), 2, &[]);
    assert_eq!(std::fs::read_to_string(&out).expect("it is there"), "what was there");
}

#[cfg(unix)]
#[test]
fn standard_streams_are_files_too() {
    let folder = with_inputs("streams");
    let (m, out) = (path(&folder, "m.fab"), path(&folder, "out.json"));
    let run = |args: &[&str], stdin: Stdio, stdout: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
        command.args(args).stdin(stdin).stdout(stdout).stderr(Stdio::piped()).output().expect("the command starts")
    };
    let opened = |path: &str| Stdio::from(std::fs::File::open(path).expect("it is there"));
    let before = std::fs::read(&m).expect("it is there");
    let output = run(&["check", "-", "--html", &m], opened(&m), Stdio::piped());
    expect(&output, 2, &["is the same file as the input `-`"]);
    let file = std::fs::File::create(&out).expect("a file can be made");
    let output = run(&["check", &m, "--json", "--trace", &out], Stdio::null(), file.into());
    expect(&output, 2, &["is the same file as standard output"]);
    let end = std::fs::OpenOptions::new().append(true).open(&m).expect("it is there");
    expect(&run(&["check", &m], Stdio::null(), end.into()), 2, &["standard output is the same file as the input"]);
    // What is said goes to standard error alone, a document too.
    let end = std::fs::OpenOptions::new().append(true).open(&m).expect("it is there");
    expect(&run(&[&m, "--json"], Stdio::null(), end.into()), 2, &["standard output is the same file as the input"]);
    assert_eq!(std::fs::read(&m).expect("it is there"), before);
}

#[test]
fn standard_output_holds_one_answer() {
    let folder = with_inputs("standard_output");
    let (m, run) = (path(&folder, "m.fab"), path(&folder, "m.ctp"));
    let own = "standard output is taken by the answer itself";
    for option in ["--trace", "--html", "--sarif", "--junit", "--dot"] {
        refused(&folder, &["check", &m, option, "-"], own);
    }
    refused(&folder, &["verify", &m, "--html", "-"], own);
    refused(&folder, &["trace", &run, "--html", "-"], own);
    expect(&fabius(&["verify", &m, "--dump", "smt2", "-"]), 0, &["(check-sat)"]);
    expect(&fabius(&["trace", &run, "--dump", "smt2", "-"]), 0, &["(check-sat)"]);
    assert!(!root().join("-").exists(), "no file is called so");
}

#[test]
fn what_is_for_c_programs_alone_is_refused_before_anything_runs() {
    let folder = with_inputs("options_of_c");
    let (m, run) = (path(&folder, "m.fab"), path(&folder, "m.ctp"));
    for options in [
        &["--with", "other.c"][..],
        &["-I", "headers"],
        &["--allocations", "3"],
        &["--property", "none.prp"],
        &["--data-model", "ilp32"],
        &["--overflow"],
        &["--leaks"],
        &["--havoc"],
    ] {
        for command in ["check", "verify", "decide", "translate"] {
            refused(&folder, &[&[command, &m], options].concat(), "is for C programs, and `");
        }
    }
    for command in ["check", "verify", "decide"] {
        refused(&folder, &[command, &m, "--natively"], "is no C program");
        refused(&folder, &[command, &m, "--svcomp"], "no property of a C program is asked about");
        refused(&folder, &[command, &m, "--witness", &path(&folder, "w.yml")], "no property of a C program");
        refused(&folder, &[command, "corpus/c/ring.c", "--svcomp"], "no property of a C program is asked about");
        refused(&folder, &[command, &run], "is a recorded run, and no program");
    }
    refused(&folder, &["check", &m, "examples/account.fab", "--natively"], "is for one program");
}
