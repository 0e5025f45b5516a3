//! Limits hold while a program is read, and for the process as a whole.

mod common;

use common::{expect, fabius, folder, json, root};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A program and a recorded run that take longer to read than the time that is given.
fn large() -> [PathBuf; 2] {
    let folder = folder("limits");
    let blocks: String = (0..20_000).map(|n| format!(" or {{ x = {n}; }}")).collect();
    let program = format!("var x: int;\ninit {{ choose {{ skip; }}{blocks} assert x >= 0; }}\n");
    let nodes: String = (0..20_000).map(|n| format!("node B{n} {{ send s{n} @{} -> @0: {n}; }}\n", n + 1)).collect();
    let run = format!("node A {{ recv r @0 -> x; assert x == 0; }}\n{nodes}");
    [("large.fab", program), ("large.ctp", run)].map(|(name, text)| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("it can be written");
        path
    })
}

#[test]
fn a_limit_that_is_hit_while_a_file_is_read_is_the_answer() {
    let files = large().map(|path| path.display().to_string());
    let [program, run] = &files;
    let asked: [&[&str]; 4] = [&["check", program], &[program], &["verify", program], &["trace", run]];
    for args in asked {
        let output = fabius(&[args, &["--time", "1ms", "--json"]].concat());
        expect(&output, 3, &[]);
        let document = json(&output);
        assert_eq!(
            (&document["verdict"], &document["reason"]["reason"]),
            (&"unknown".into(), &"time".into()),
            "{args:?}"
        );
    }
    for args in [["verify", program], ["trace", run]] {
        expect(&fabius(&[&args[..], &["--memory", "1M"]].concat()), 3, &["unknown: the memory limit was reached"]);
    }
    let several = ["check", program, "examples/bluetooth_fixed.fab", "--time", "1ms"];
    expect(&fabius(&several), 3, &["the time limit was reached"]);
    let translated = fabius(&["translate", program, "--time", "1ms"]);
    expect(&translated, 3, &["nothing was written: the time limit was reached"]);
}

/// Bytes of the process at its largest, where the system tells.
#[cfg(target_os = "linux")]
fn peak(args: &[&str]) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
    let mut child = command.args(args).current_dir(root()).stdout(Stdio::null()).spawn().expect("the command starts");
    let mut peak = 0;
    while child.try_wait().expect("it can be waited for").is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = kilobytes.map_or(peak, |k| k << 10);
        std::thread::sleep(Duration::from_millis(2));
    }
    peak
}

/// Depth-first search holds much beside the states that it counts, an execution that does not end what else could have
/// been done, and a step without an end what it has posted.
#[test]
#[cfg(target_os = "linux")]
fn the_memory_of_a_search_is_that_of_the_process() {
    let folder = folder("limits_memory");
    let file = |name: &str, text: &str| {
        let path = folder.join(name).display().to_string();
        std::fs::write(&path, text).expect("it can be written");
        path
    };
    let grows = file("grow.fab", "var a: [u8; 6];\nprocess p[3] { loop { let v = any 0..5; a[v] = a[v] + 1; } }\n");
    let posts = "proc p() { skip; }\nbuffer cpu { for i in 1..1000000000 { if * { post p(); } } }\n";
    let (posts, graph) = (file("posts.fab", posts), file("graph.dot", ""));
    let asked: [&[&str]; 4] = [
        &["check", &grows, "--strategy", "dfs"],
        &["check", &grows, "--stateless"],
        &["check", &posts, "--dot", &graph],
        &["compare", &grows, "--strategies", "db:100000", "--executions", "1000000"],
    ];
    for args in asked {
        // A tenth more is the aim; what a busy machine adds is not measured here.
        let peak = peak(&[args, &["--memory", "100M", "--time", "1h"]].concat());
        assert!((24 << 20..160 << 20).contains(&peak), "{args:?}: {peak}");
    }
}

#[test]
fn an_unknown_answer_says_what_it_leaves_out() {
    let asked =
        ["check", "corpus/known/alternating_bit_delivers.fab", "--no-properties", "--no-deadlock", "--const", "ROOM=6"];
    let output = fabius(&[&asked[..], &["--memory", "1K"]].concat());
    expect(&output, 3, &["unknown: the memory limit was reached", "were not looked at"]);
}
