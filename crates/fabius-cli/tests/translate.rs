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
