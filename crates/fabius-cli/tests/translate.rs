//! What `fabius translate` prints is a program, and has no faults of its own.

use crate::common::{expect, fabius, folder};

#[test]
fn what_is_printed_of_narrow_guesses_and_of_stopped_tasks_has_no_faults_of_its_own() {
    let folder = folder("translate");
    let write = |name: &str, text: &str| {
        let path = folder.join(name).display().to_string();
        std::fs::write(&path, text).expect("a file can be written");
        path
    };
    let enums = |written: &str, failing: &str| {
        format!(
            "enum C {{ K, L, M }}\nvar e: C;\nprocess p[1] {{ e = C.{written}; }}\nprocess q[1] {{ assert {failing}; }}\n"
        )
    };
    let stopped =
        "channel c: 0..3[1];\nproc w(k: 0..3) { if * { var v: 0..3 = c.receive(); } }\nbuffer b { spawn w(0); }\n";
    for (name, source, options, code) in [
        ("one", enums("K", "e != C.K"), ["--rounds", "2"].as_slice(), 1),
        ("two", enums("L", "e == C.K"), &["--rounds", "2"], 1),
        ("stopped", stopped.into(), &["--zields", "1", "--yields", "1"], 0),
    ] {
        let path = write(&format!("{name}.fab"), &source);
        let output = fabius(&[&["translate", path.as_str()], options].concat());
        expect(&output, 0, &["proc "]);
        let printed = write(&format!("{name}-sequential.fab"), &String::from_utf8_lossy(&output.stdout));
        // Those without a bug have many states.
        let output = match code {
            0 => fabius(&["verify", &printed, "--rounds", "1"]),
            _ => fabius(&["check", &printed]),
        };
        expect(&output, code, &[if code == 0 { "no bug within bounds" } else { "assertion failed" }]);
    }
}

#[test]
fn deadlocks_are_asked_about_unless_they_are_no_bugs() {
    let folder = folder("translate-deadlock");
    let path = folder.join("waits.fab").display().to_string();
    std::fs::write(&path, "sync var x: bool;\nprocess p[1] { if * { await x; } }\n").expect("a file can be written");
    for (options, code) in [([].as_slice(), 1), (&["--no-deadlock"], 0)] {
        for bound in [["--rounds", "2"].as_slice(), &["--delays", "1"]] {
            let output = fabius(&[&["translate", path.as_str()], bound, options].concat());
            expect(&output, 0, &["proc "]);
            let printed = folder.join("sequential.fab").display().to_string();
            std::fs::write(&printed, &output.stdout).expect("a file can be written");
            expect(&fabius(&["verify", &printed, "--rounds", "1"]), code, &[]);
        }
    }
    expect(&fabius(&["translate", &path, "--to", "explicit", "--no-deadlock"]), 2, &["only `--to sequential`"]);
}

/// What a task accesses first follows at once on what its buffer did before. What stands in front of it is no statement more than
/// in the source.
#[test]
fn the_program_itself_is_written_without_a_statement_in_front_of_a_tasks_first_access() {
    let folder = folder("translate-task");
    let others = "buffer b { post w(); x = 1; }\nprocess r[1] { x = 0; }\n";
    for (task, code) in [
        ("select { when x == 1 { } or when x == 0 { assert false; } }", 0),
        ("var t: 0..1; assert x == 1 + t;", 0),
        ("var t: 0..1 = 0; assert x == 1 + t;", 1),
        ("var t: 0..1; t = 0; assert x == 1 + t;", 1),
        ("var t: 0..1; var u: 0..1 = 0; assert x == 1 + t + u;", 1),
    ] {
        let path = folder.join("task.fab").display().to_string();
        std::fs::write(&path, format!("var x: int;\nproc w() {{ {task} }}\n{others}")).expect("a file can be written");
        expect(&fabius(&["check", &path]), code, &[]);
        let output = fabius(&["translate", &path, "--to", "fab"]);
        expect(&output, 0, &["proc w"]);
        let printed = folder.join("printed.fab").display().to_string();
        std::fs::write(&printed, &output.stdout).expect("a file can be written");
        expect(&fabius(&["check", &printed]), code, &[]);
    }
}
