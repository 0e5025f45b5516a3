//! What reaches a terminal: lines and, where they are wanted, our own colours. And `-`, which is standard input.

use crate::common::{expect, fabius, folder, json, root};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Codes that clear the screen, set the title and the colour, in both forms; a bell; letters that turn the text around.
const EVIL: &str = "\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}[31mred\u{9b}31m\u{202e}\u{7f}\u{2066}\r";

fn is_evil(c: char) -> bool {
    c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c)
}

/// Neither stream has anything but lines; with colours, they are ours.
#[track_caller]
fn harmless(output: &Output, coloured: bool) {
    for stream in [&output.stdout, &output.stderr] {
        let mut text = String::from_utf8(stream.clone()).expect("text");
        for code in ["1", "2", "1;31", "1;32", "1;33", "36", "0"].iter().filter(|_| coloured) {
            text = text.replace(&format!("\u{1b}[{code}m"), "");
        }
        if coloured {
            // Those of diagnostics.
            text = text.replace("\u{1b}[1m\u{1b}[91m", "").replace("\u{1b}[1m\u{1b}[94m", "");
            text = text.replace("\u{1b}[91m", "").replace("\u{1b}[94m", "").replace("\u{1b}[96m", "");
        }
        assert!(!text.contains(is_evil), "{text:?}");
        assert!(!text.contains("\u{1b}[31m"), "{text:?}");
    }
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file can be written");
    path.display().to_string()
}

#[test]
fn control_characters_of_any_origin_never_reach_a_terminal() {
    let folder = folder("evil");
    let name = if cfg!(unix) { EVIL } else { "evil" };
    let program = write(
        &folder,
        &format!("{name}.fab"),
        &format!("// {EVIL}\nvar x: int;\nprocess p[2] {{ x = x + 1; assert x != 2, \"{EVIL}\"; }}\n"),
    );
    let run = write(
        &folder,
        &format!("{name}.ctp"),
        &format!("node A {{ recv r @0 -> x; assert x != 1, \"{EVIL}\"; }}\nnode B {{ send s @1 -> @0: 1; }}\n"),
    );
    let wrong = write(&folder, &format!("{name}2.fab"), &format!("init {{ x = \"{EVIL}\" /* {EVIL} */ {EVIL} }}\n"));
    let missing = folder.join(format!("{name}3.fab")).display().to_string();
    let saved = folder.join(format!("{name}.json")).display().to_string();
    let saved_run = folder.join(format!("{name}4.json")).display().to_string();
    for (colour, coloured) in [("never", false), ("always", true)] {
        let ask = |code: i32, args: &[&str]| {
            let output = fabius(&[args, &["--color", colour]].concat());
            harmless(&output, coloured);
            expect(&output, code, &[]);
        };
        ask(1, &["check", &program, "--trace", &saved]);
        ask(1, &["check", &program, "--json"]);
        ask(2, &["check", &program, &wrong, &missing, "--stats"]);
        ask(2, &["check", &program, &wrong, "--json"]);
        ask(1, &["verify", &program, "--stats"]);
        ask(1, &["trace", &run, "--trace", &saved_run, "--enumerate", "--stats"]);
        ask(1, &["trace", &run, "--json"]);
        ask(0, &["compare", &program, "--executions", "20", "--strategies", "icb,random"]);
        ask(0, &["compare", &program, "--executions", "20", "--strategies", "icb", "--json"]);
        for saved in [&saved, &saved_run] {
            ask(1, &["replay", saved]);
            ask(1, &["replay", saved, "--json"]);
        }
        for command in ["check", "verify", "trace", "translate", "fmt", "compare", "replay"] {
            ask(2, &[command, &wrong]);
            ask(2, &[command, &missing]);
        }
        ask(2, &["explain", EVIL]);
        ask(2, &["check", &program, "--const", &format!("{EVIL}=3")]);
        ask(2, &["check", &program, "--instances", &format!("{EVIL}=3")]);
    }
    for args in [["check", EVIL, EVIL], [EVIL, "x", "y"], ["check", "x.fab", "--\u{1b}[2J"], ["check", "--bound", EVIL]]
    {
        harmless(&fabius(&args), false);
    }
    // The same in a file of several documents is what the program says.
    assert!(json(&fabius(&["check", &program, "--json"]))["message"].as_str().is_some_and(|m| m.contains(EVIL)));
}

fn with_input(args: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fabius"));
    command.args(args).current_dir(root()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it is read");
    child.wait_with_output().expect("the command ends")
}

#[test]
fn standard_input_is_read_for_a_dash() {
    let program = std::fs::read_to_string(root().join("examples/bluetooth.fab")).expect("the example is there");
    let run = std::fs::read_to_string(root().join("examples/mcapi.ctp")).expect("the example is there");
    let trace = folder("dash").join("bug.json").display().to_string();
    let output = with_input(&["check", "-"], &program);
    expect(
        &output,
        1,
        &["bug: ", "--> -:41:9", "check - --trace bug.json < FILE; fabius replay bug.json --program FILE"],
    );
    expect(&with_input(&["check", "-", "--trace", &trace], &program), 1, &["--program FILE"]);
    expect(&fabius(&["replay", &trace]), 2, &["came from standard input"]);
    expect(&fabius(&["replay", &trace, "--program", "examples/bluetooth.fab"]), 1, &["-- preemption 1 --"]);
    expect(&with_input(&["replay", &trace, "--program", "-"], &program), 1, &["-- preemption 1 --"]);
    expect(&with_input(&["check", "-", "examples/fig9.fab"], &program), 1, &["bug"]);
    expect(&fabius(&["check", "-", "-"]), 2, &["given twice"]);
    expect(&with_input(&["verify", "-"], &program), 1, &["bug: "]);
    expect(&with_input(&["translate", "-"], &program), 0, &["init {"]);
    expect(&with_input(&["trace", "-"], &run), 1, &["bug: "]);
    expect(&with_input(&["compare", "-", "--executions", "20", "--strategies", "icb"], &program), 0, &["icb"]);
    expect(&with_input(&["check", "-"], "init { x = ; }"), 2, &["--> -:1:"]);
    expect(&fabius(&["check", "-"]), 2, &["E0208"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_without_codes_gets_none() {
    // `script` runs a command on a terminal of its own.
    let on_terminal = |term: &str, more: &[(&str, &str)]| {
        let command = format!("stty rows 24 cols 60; {} check examples/bluetooth.fab", env!("CARGO_BIN_EXE_fabius"));
        let mut script = Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).current_dir(root()).stdin(Stdio::null());
        script.env_remove("NO_COLOR").env("TERM", term).envs(more.iter().copied());
        script.output().ok().map(|output| String::from_utf8_lossy(&output.stdout).replace('\r', ""))
    };
    let Some(coloured) = on_terminal("xterm", &[]).filter(|text| text.contains("bug")) else {
        eprintln!("there is no `script` here, or it is another one: nothing was tested");
        return;
    };
    assert!(coloured.contains("\u{1b}[1;31mbug"), "{coloured:?}");
    for plain in [on_terminal("dumb", &[]), on_terminal("xterm", &[("NO_COLOR", "1")])] {
        let plain = plain.expect("it was there before");
        assert!(plain.contains("bug: ") && !plain.contains('\u{1b}'), "{plain:?}");
        let lanes = plain.split("\n\n").nth(1).expect("there are lanes");
        assert!(lanes.lines().all(|line| line.chars().count() <= 60), "{lanes}");
        assert!(lanes.contains("stop"), "{lanes}");
    }
}
