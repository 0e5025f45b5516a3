//! `fabius FILE`: all engines that fit, side by side, as a user meets them.

use crate::common::{expect, fabius, folder, json};

#[test]
fn a_file_alone_is_decided() {
    let found = fabius(&["examples/bluetooth.fab"]);
    expect(&found, 1, &["`!stopped`", "answered by ", "replay it: "]);
    let same = fabius(&["decide", "examples/bluetooth.fab", "--engine", "explore"]);
    expect(&same, 1, &["8 steps with 1 preemption; with fewer", "answered by exploration after"]);
    expect(
        &fabius(&["examples/bluetooth_fixed.fab"]),
        0,
        &[
            "verified: 107 states were explored, up to which of equal threads is which, with independent steps in one order",
        ],
    );
}

#[test]
fn what_cannot_be_explored_is_solved() {
    let document = json(&fabius(&["examples/account.fab", "--json"]));
    assert_eq!((&document["verdict"], &document["kind"]), (&"bug".into(), &"assertion".into()));
    let states: Vec<_> = document["engines"].as_array().expect("engines were asked").iter().collect();
    assert_eq!(states.len(), 1, "{states:?}");
    assert_eq!((&states[0]["name"], &states[0]["state"]), (&"bounded model checking".into(), &"answered".into()));
}

#[test]
fn any_number_of_threads_is_decided() {
    expect(
        &fabius(&["examples/bluetooth_any_fixed.fab"]),
        0,
        &["verified", "answered by any number of threads", "exploration: "],
    );
    expect(&fabius(&["examples/bluetooth_any.fab", "--engine", "any"]), 1, &["`!stopped`"]);
    // Given numbers leave nothing open.
    expect(&fabius(&["examples/bluetooth_any_fixed.fab", "--instances", "add=2"]), 0, &["2 x add was explored"]);
}

/// Data races are bugs of C, also where threads are made by `fabius_spawn_any` alone.
#[test]
fn any_number_of_threads_of_c_race() {
    let file = folder("decide_any_races").join("any.c");
    let source = "#include <pthread.h>\n#include <fabius.h>\nint x; pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER;\n\
                  void w(void) { pthread_rwlock_rdlock(&r); x = 1; pthread_rwlock_unlock(&r); }\n\
                  int main(void) { fabius_spawn_any(w); return 0; }\n";
    std::fs::write(&file, source).expect("it can be written");
    expect(&fabius(&[&file.display().to_string()]), 1, &["data race"]);
}

/// What `init` waits for is asked of few rounds.
#[test]
fn what_a_proof_leaves_out_is_in_its_first_line() {
    let file = folder("decide_deadlock").join("open.fab");
    let source = "var x: bool = true;\ninit { await x; }\nprocess p[*] { await x; }\n";
    std::fs::write(&file, source).expect("it can be written");
    let page = file.with_extension("html");
    let file = file.display().to_string();
    let given = [file.as_str(), "--engine", "any", "--html", page.to_str().expect("it is text")];
    let words =
        format!("verified, but deadlocks were looked for in 2 rounds alone: otherwise no schedule breaks {file}\n");
    expect(&fabius(&given), 0, &[words.as_str()]);
    let page = std::fs::read_to_string(page).expect("it was written");
    assert!(page.contains("deadlocks were looked for in 2 rounds alone; otherwise no schedule breaks"), "{page}");
    let document = json(&fabius(&[&file, "--engine", "any", "--json"]));
    assert_eq!(document["bounds"]["limits"], serde_json::json!(["deadlocks were looked for in 2 rounds alone"]));
}

#[test]
fn one_engine_alone_may_not_fit() {
    expect(&fabius(&["examples/peterson.fab", "--engine", "any"]), 2, &["no process of this program is of any number"]);
    expect(&fabius(&["examples/account.fab", "--engine", "explore"]), 2, &["cannot be tried value by value"]);
    expect(&fabius(&["examples/bluetooth.fab", "--engine", "bmc"]), 1, &["answered by bounded model checking"]);
    expect(&fabius(&["examples/bluetooth.fab", "--engine", "random"]), 1, &["answered by random walks"]);
}

#[test]
fn an_engine_that_is_not_there_is_answered_with_those_that_are() {
    let words = "[possible values: explore, bmc, any, convergence, random]";
    expect(&fabius(&["examples/bluetooth.fab", "--engine", "summaries"]), 2, &[words]);
}

#[test]
fn a_limit_says_what_was_covered() {
    let given = ["examples/request_sizes.fab", "--time", "2s"];
    expect(&fabius(&given), 3, &["unknown: the time limit was reached", "bounded model checking: "]);
}

#[test]
fn the_kind_of_a_file_says_what_is_meant() {
    expect(&fabius(&["examples/mcapi.ctp"]), 1, &["bug"]);
    let trace = folder("decide").join("bug.json").display().to_string();
    expect(&fabius(&["examples/bluetooth.fab", "--trace", &trace]), 1, &["fabius replay"]);
    expect(&fabius(&[&trace]), 1, &["`!stopped`"]);
    expect(&fabius(&["chekc", "examples/bluetooth.fab"]), 2, &["unrecognized subcommand"]);
    expect(&fabius(&["no_such_file.fab"]), 2, &["no_such_file.fab"]);
}

#[test]
fn the_limits_of_a_c_program_grow_until_they_are_not_in_the_way() {
    let folder = folder("decide_larger");
    let text = |sum: u32| {
        format!(
            "#include <assert.h>\n#include <stdlib.h>\nstruct n {{ int v; struct n *next; }} *head;\nint main(void) {{\n    int sum = 0;\n    \
             for (int i = 0; i < 10; i++) {{\n        struct n *x = malloc(sizeof *x);\n        x->v = i;\n        x->next = head;\n        head = x;\n    }}\n    \
             for (struct n *x = head; x; x = x->next) sum += x->v;\n    assert(sum == {sum});\n}}\n"
        )
    };
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a file can be written");
        path.display().to_string()
    };
    let (right, wrong) = (write("right.c", text(45)), write("wrong.c", text(44)));
    expect(&fabius(&[&right]), 0, &["verified", "answered by exploration"]);
    let trace = folder.join("bug.json").display().to_string();
    expect(&fabius(&[&wrong, "--trace", &trace]), 1, &["assertion failed: sum == 44"]);
    expect(&fabius(&["replay", &trace]), 1, &["assertion failed: sum == 44"]);
    // A witness says nothing of limits, and is read back all the same.
    let fails = text(44).replace("assert(sum == 44);", "if (sum == 45) reach_error();");
    let fails = write("fails.c", format!("void reach_error(void);\n{fails}"));
    let witness = folder.join("bug.yml").display().to_string();
    expect(&fabius(&[&fails, "--property", "unreach-call", "--witness", &witness]), 1, &["reach_error"]);
    expect(&fabius(&["replay", &witness]), 1, &["assertion failed: reach_error"]);
    // Who says how many are followed gets that many, and hears which option it was.
    let said = ["more than 8 allocations of `struct n` by one thread (`--allocations` raises that)"];
    expect(&fabius(&["check", &right]), 3, &said);
    expect(&fabius(&[&right, "--allocations", "8", "--engine", "explore"]), 3, &said);
    expect(&fabius(&["check", &right, "--allocations", "10"]), 0, &["verified"]);
}
