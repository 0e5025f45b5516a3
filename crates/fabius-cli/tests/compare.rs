//! Strategies side by side: the numbers are those of `fabius check`, and bad input is answered.

use crate::common::{expect, fabius, folder, json, root};
use serde_json::Value;
use std::path::Path;

const GOOD: &str = "examples/bluetooth_fixed.fab";
const BUG: &str = "examples/bluetooth.fab";

fn text_of(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What was measured of a strategy.
fn strategy<'a>(comparison: &'a Value, name: &str) -> &'a Value {
    let all = comparison["programs"][0]["strategies"].as_array().expect("strategies are a list");
    all.iter().find(|s| s["strategy"] == name).unwrap_or_else(|| panic!("{name} is not there"))
}

/// The rows of a chart's numbers that belong to a series.
fn rows(csv: &str, series: &str) -> Vec<(f64, f64)> {
    let of = csv.lines().filter_map(|line| line.strip_prefix(&format!("{series},")));
    let number = |text: Option<&str>| text.expect("a column is there").parse().expect("it is a number");
    of.map(|line| line.split(',')).map(|mut cells| (number(cells.next()), number(cells.next()))).collect()
}

#[test]
fn what_is_within_a_bound_is_what_check_says() {
    let folder = folder("compare-within");
    let bounded = [
        ("icb", ["--bound", "preemptions", "--scheduler", "bag"]),
        ("delay:round-robin", ["--bound", "delays", "--scheduler", "round-robin"]),
        ("delay:depth-first", ["--bound", "delays", "--scheduler", "depth-first"]),
        ("idfs", ["--bound", "depth", "--scheduler", "bag"]),
    ];
    for program in [GOOD, BUG, "corpus/coverage/safe/work_stealing_queue.fab", "examples/peterson.fab"] {
        let strategies = bounded.map(|(name, _)| name).join(",");
        let args = ["compare", program, "--strategies", &strategies, "--executions", "1"];
        let comparison = json(&fabius(&[&args[..], &["--json", "--csv", text_of(&folder)]].concat()));
        let stem = Path::new(program).file_stem().and_then(|s| s.to_str()).expect("a program has a name");
        for (name, options) in bounded {
            let answer = json(&fabius(
                &[&["check", program, "--no-symmetry", "--no-reduction", "--json"], &options[..]].concat(),
            ));
            let coverage = &strategy(&comparison, name)["coverage"];
            assert_eq!(coverage["levels"], answer["levels"], "{program}, {name}");
            assert_eq!(coverage["bug_cost"], answer["cost"], "{program}, {name}");
            assert_eq!(coverage["exhausted"], Value::from(answer["verdict"] == "verified"), "{program}, {name}");
            let chart = if name == "idfs" { "within-steps" } else { "within-bound" };
            let drawn = rows(&read(&folder.join(format!("{stem}-{chart}.csv"))), name);
            let share = answer["total_states"].as_f64().map_or(1.0, |total| 100.0 / total);
            let levels = answer["levels"].as_array().expect("levels are a list").iter();
            let number = |level: &Value, field: &str| level[field].as_f64().expect("a level has numbers");
            let wanted: Vec<_> = levels.map(|l| (number(l, "bound"), number(l, "states") * share)).collect();
            assert_eq!(drawn, wanted, "{program}, {name}");
        }
    }
}

#[test]
fn executions_up_to_the_first_bug_are_those_of_check() {
    let searches: [(&str, &[&str]); 4] = [
        ("random", &["--strategy", "random", "--seed", "1"]),
        ("pct:3", &["--strategy", "pct:3", "--seed", "1"]),
        ("dfs", &["--strategy", "dfs", "--stateless", "--bound", "none"]),
        ("db:20", &["--strategy", "dfs", "--stateless", "--bound", "depth", "--max", "20"]),
    ];
    for program in [BUG, "corpus/threads/bug/region_ownership.fab", "corpus/threads/bug/token_ring_two.fab"] {
        let strategies = searches.map(|(name, _)| name).join(",");
        let comparison = json(&fabius(&["compare", program, "--strategies", &strategies, "--seeds", "2", "--json"]));
        for (name, options) in searches {
            let args = [&["check", program, "--jobs", "1", "--stats", "--json"], options].concat();
            let answer = json(&fabius(&args));
            let run = strategy(&comparison, name)["runs"].as_array().and_then(|runs| runs.last()).expect("a run");
            assert_eq!(run["bug"], answer["kind"], "{program}, {name}");
            assert_eq!(run["executions"], answer["levels"][0]["executions"], "{program}, {name}");
        }
    }
}

#[test]
fn curves_grow_to_all_states_and_end_there() {
    let args = ["compare", "examples/peterson.fab", "--strategies", "icb,dfs,random,db:4", "--executions", "60"];
    let comparison = json(&fabius(&[&args[..], &["--json", "--seeds", "3"]].concat()));
    let answer = json(&fabius(&["check", "examples/peterson.fab", "--no-symmetry", "--no-reduction", "--json"]));
    let total = answer["total_states"].as_u64().expect("all states are known");
    for name in ["icb", "dfs", "random", "db:4"] {
        for run in strategy(&comparison, name)["runs"].as_array().expect("runs are a list") {
            let growth = run["growth"].as_array().expect("a curve is a list");
            let points: Vec<(u64, u64)> = growth
                .iter()
                .map(|g| (g["executions"].as_u64().expect("a number"), g["distinct"].as_u64().expect("a number")))
                .collect();
            assert!(points.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{name}: {points:?}");
            let last = points.last().expect("something was run");
            assert!(last.1 <= total, "{name}: {points:?}");
            assert_eq!(last.0, run["executions"].as_u64().expect("a number"), "{name}");
        }
    }
    assert_eq!(strategy(&comparison, "random")["runs"].as_array().map(Vec::len), Some(3));
    // Few executions are all there are within four steps.
    let cut = &strategy(&comparison, "db:4")["runs"][0];
    assert!(cut["executions"].as_u64() < Some(60) && cut["seed"].is_null() && cut["exhausted"] == true, "{cut}");
}

#[test]
fn the_order_in_which_tasks_were_posted_makes_no_other_states() {
    for program in ["corpus/buffers/safe/two_loops.fab", "corpus/tasks/safe/levels.fab", "corpus/tasks/safe/yields.fab"]
    {
        let args = ["compare", program, "--strategies", "icb,dfs,random", "--executions", "500", "--seeds", "1"];
        let comparison = json(&fabius(&[&args[..], &["--json"]].concat()));
        let total = json(&fabius(&["check", program, "--no-symmetry", "--no-reduction", "--json"]))["total_states"]
            .as_u64()
            .expect("all are known");
        for name in ["icb", "dfs", "random"] {
            let run = &strategy(&comparison, name)["runs"][0];
            let seen =
                run["growth"].as_array().and_then(|g| g.last()).expect("a curve has an end")["distinct"].as_u64();
            assert!(seen <= Some(total), "{program}, {name}: {seen:?} of {total}");
            assert!(seen == Some(total) || run["exhausted"] == false, "{program}, {name}: {seen:?} of {total}");
        }
    }
}

#[test]
fn shares_are_of_states_that_all_strategies_count_alike() {
    // A deterministic scheduler tells states apart by the order in which tasks wait.
    let differ = ["compare", "corpus/tasks/safe/yields.fab", "--executions", "1", "--strategies"];
    let all = fabius(&[&differ[..], &["icb,delay:round-robin"]].concat());
    expect(&all, 0, &["how many there are differs", "nothing is left at 1 preemption"]);
    assert!(!String::from_utf8_lossy(&all.stdout).contains('%'), "{all:?}");
    expect(&fabius(&[&differ[..], &["icb,idfs"]].concat()), 0, &["share of all 7", "100.0 %"]);
}

#[test]
fn what_was_saved_is_read_and_drawn_as_it_was() {
    let folder = folder("compare-saved");
    let (first, second) = (folder.join("first"), folder.join("second"));
    let args = ["compare", BUG, GOOD, "--executions", "50", "--seeds", "3"];
    let measured = fabius(&[&args[..], &["--json", "--svg", text_of(&first), "--csv", text_of(&first)]].concat());
    expect(&measured, 0, &[]);
    let saved = folder.join("saved.json");
    std::fs::write(&saved, &measured.stdout).expect("a file can be written");
    let tables = fabius(&["compare", text_of(&saved), "--svg", text_of(&second), "--csv", text_of(&second)]);
    expect(&tables, 0, &["share of all", "a bug with 1 preemption", "executions up to the first bug", "random"]);
    let mut names: Vec<_> = std::fs::read_dir(&first)
        .expect("charts were drawn")
        .flatten()
        .map(|e| e.file_name().display().to_string())
        .collect();
    names.sort();
    for name in &names {
        assert!(read(&first.join(name)) == read(&second.join(name)), "{name:?}");
    }
    let expected = [
        "bluetooth-growth",
        "bluetooth-within-bound",
        "bluetooth-within-steps",
        "bluetooth_fixed-growth",
        "bluetooth_fixed-within-bound",
        "bluetooth_fixed-within-steps",
        "first-bug",
        "least-cost",
    ];
    let expected: Vec<_> = expected.iter().flat_map(|n| [format!("{n}.csv"), format!("{n}.svg")]).collect();
    assert_eq!(names, expected);
}

#[test]
fn names_of_programs_stay_text_and_files() {
    let folder = folder("compare-hostile");
    let saved = folder.join("saved.json");
    let text = String::from_utf8(fabius(&["compare", BUG, "--executions", "50", "--json"]).stdout).expect("text");
    let name = r#"../../a<script>alert(1)</script> & \"b\" \u001b[31m"#;
    std::fs::write(&saved, text.replace(BUG, name)).expect("a file can be written");
    let output = fabius(&["compare", text_of(&saved), "--svg", text_of(&folder), "--csv", text_of(&folder)]);
    expect(&output, 0, &["<script>"]);
    assert!(!output.stdout.contains(&0x1b), "a name moves the cursor");
    let charts = std::fs::read_dir(&folder).expect("charts were drawn").flatten().map(|e| e.path());
    let charts: Vec<_> = charts.filter(|p| p.extension().is_some_and(|e| e == "svg")).collect();
    assert_eq!(charts.len(), 5, "{charts:?}");
    for chart in charts {
        let text = read(&chart);
        assert!(!text.contains("<script") && !text.contains('\u{1b}'), "{}", chart.display());
    }
}

#[test]
fn numbers_and_names_of_any_size_are_shown() {
    let folder = folder("compare-edited");
    let saved = folder.join("saved.json");
    let text = String::from_utf8(fabius(&["compare", BUG, "--executions", "50", "--json"]).stdout).expect("text");
    let mut edited: Value = serde_json::from_str(&text).expect("a document is JSON");
    let strategies = edited["programs"][0]["strategies"].as_array_mut().expect("strategies are a list");
    strategies[0]["strategy"] = "\u{1b}[31m\u{1}\n".into();
    for run in strategies.iter_mut().flat_map(|s| s["runs"].as_array_mut().expect("runs are a list")) {
        run["executions"] = u64::MAX.into();
        run["growth"] = serde_json::json!([{"executions": u64::MAX, "distinct": u64::MAX}]);
    }
    for coverage in strategies.iter_mut().filter_map(|s| s.get_mut("coverage")) {
        let last = coverage["levels"].as_array_mut().and_then(|levels| levels.last_mut()).expect("levels are a list");
        last["bound"] = u32::MAX.into();
        coverage["bug_cost"] = u32::MAX.into();
    }
    std::fs::write(&saved, edited.to_string()).expect("a file can be written");
    let output = fabius(&["compare", text_of(&saved), "--svg", text_of(&folder)]);
    expect(&output, 0, &["18446744073709551615", "4294967295 preemptions"]);
    assert!(!output.stdout.contains(&0x1b), "a name moves the cursor");
    for chart in ["bluetooth-growth.svg", "bluetooth-within-bound.svg"] {
        assert!(!read(&folder.join(chart)).contains(['\u{1b}', '\u{1}']), "{chart}: no XML");
    }
}

#[test]
fn bad_input_is_answered_before_anything_is_measured() {
    let folder = folder("compare-bad");
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a file can be written");
        path
    };
    let bad = file("bad.fab", "init { x = 1; }\n");
    let any = file("any.fab", "process p[*] { }\n");
    let damaged = file("damaged.json", "{");
    let trace = root().join("corpus/oracle/param.json");
    let later = file("later.json", r#"{"version": 99, "programs": [], "more": 1}"#);
    let cases: [(&[&str], &[&str]); 10] = [
        (&[BUG, "--strategies", "icb,randm"], &["did you mean `random`?", "delay:depth-first"]),
        (&[BUG, "--strategies", "pct:0"], &["pct:D"]),
        (&[BUG, "--strategies", "pct:4294967295"], &["pct:D"]),
        (&[BUG, "--strategies", "icb,icb"], &["the strategy `icb` is given twice"]),
        (&[GOOD, "nope.fab"], &["there is no file `nope.fab`"]),
        (&[GOOD, text_of(&bad)], &["E0202", "^"]),
        (&[text_of(&any)], &["--instances p=2"]),
        (&[text_of(&damaged)], &["is not a comparison of Fabius", "fabius::compare"]),
        (&[text_of(&trace)], &["is not a comparison of Fabius"]),
        (&[text_of(&later)], &["a comparison of format 99"]),
    ];
    for (args, parts) in cases {
        let output = fabius(&[&["compare"], args].concat());
        expect(&output, 2, parts);
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    let plots = folder.join("plots");
    let same = ["compare", BUG, BUG, "--svg", text_of(&plots)];
    expect(&fabius(&same), 2, &["two programs would be called `bluetooth-..`"]);
    expect(&fabius(&["compare", BUG, "--svg", text_of(&bad)]), 2, &["cannot make the folder"]);
}

#[test]
fn memory_is_limited_for_runs_too() {
    let program = "bench/models/peterson.fab";
    let output = fabius(&[
        "compare",
        program,
        "--const",
        "N=4",
        "--strategies",
        "dfs",
        "--memory",
        "8K",
        "--time",
        "1h",
        "--json",
    ]);
    expect(&output, 0, &[]);
    let run = &json(&output)["programs"][0]["strategies"][0]["runs"][0];
    assert_eq!(run["cut"]["reason"], "memory", "{run:#}");
    let executions = |run: &Value| run["executions"].as_u64().expect("a number");
    assert!((1..10_000).contains(&executions(run)), "{run:#}");
}
