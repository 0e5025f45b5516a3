//! What is mutated.

use super::common::root;
use super::run::run;
use std::path::{Path, PathBuf};

/// Files as they are before they are mutated.
pub struct Inputs {
    pub programs: Vec<Vec<u8>>,
    pub c: Vec<Vec<u8>>,
    /// Task definitions and properties of SV-COMP.
    pub tasks: Vec<Vec<u8>>,
    pub runs: Vec<Vec<u8>>,
    /// Of models and recorded runs.
    pub traces: Vec<Vec<u8>>,
    /// Of Rust tests, too.
    pub all_traces: Vec<Vec<u8>>,
    pub comparisons: Vec<Vec<u8>>,
}

/// Asks about `task.c`.
const TASK: &str = "format_version: '2.0'\ninput_files: 'task.c'\nproperties:\n  - property_file: task.prp\n    \
                    expected_verdict: false\noptions:\n  language: C\n  data_model: ILP32\n";
const PROPERTY: &str = "CHECK( init(main()), LTL(G ! call(reach_error())) )\n";

/// Small files with this extension below a folder.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut all: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    all.sort();
    let below: Vec<PathBuf> = all.iter().filter(|p| p.is_dir()).flat_map(|p| files(p, extension)).collect();
    let small = |p: &PathBuf| {
        p.extension().is_some_and(|e| e == extension) && std::fs::metadata(p).is_ok_and(|m| m.len() < 4000)
    };
    all.into_iter().filter(|p| small(p)).chain(below).collect()
}

/// Reads and makes all of them, with what tasks are about, in a folder.
pub fn inputs(here: &Path) -> Inputs {
    let read = |paths: Vec<PathBuf>| -> Vec<Vec<u8>> {
        paths.iter().map(|p| std::fs::read(p).expect("it can be read")).collect()
    };
    let of = |extension: &str| {
        [files(&root().join("corpus"), extension), files(&root().join("examples"), extension)].concat()
    };
    let saved = |number: usize, args: &[&str]| {
        let path = here.join(format!("saved{number}.json"));
        let trace = path.display().to_string();
        assert_eq!(run(&[args, &["--trace", &trace]].concat(), here).status.code(), Some(1), "{args:?}");
        std::fs::read(path).expect("it was written")
    };
    let example = |name: &str| root().join("examples").join(name).display().to_string();
    let (bluetooth, mcapi, fig9) = (example("bluetooth.fab"), example("mcapi.ctp"), example("fig9.fab"));
    let compare = ["compare", &bluetooth, "--json", "--executions", "20", "--strategies", "icb,random"];
    let traces = vec![
        saved(0, &["check", &bluetooth]),
        saved(1, &["check", &fig9, "--bound", "delays"]),
        saved(2, &["trace", &mcapi]),
    ];
    let c = read(of("c"));
    for (name, contents) in [("task.c", c[0].as_slice()), ("task.prp", PROPERTY.as_bytes())] {
        std::fs::write(here.join(name), contents).expect("a file can be written");
    }
    Inputs {
        programs: read(of("fab")),
        c,
        tasks: [TASK, PROPERTY].map(|text| text.as_bytes().to_vec()).to_vec(),
        runs: read(of("ctp")),
        all_traces: [traces.clone(), vec![of_a_rust_test()]].concat(),
        traces,
        comparisons: vec![run(&compare, here).stdout],
    }
}

/// The trace of a test that fails.
fn of_a_rust_test() -> Vec<u8> {
    let report = fabius::Config::new().explore(|| {
        let value = std::sync::Arc::new(fabius::sync::atomic::AtomicU32::new(0));
        let other = std::sync::Arc::clone(&value);
        let thread = fabius::thread::spawn(move || other.store(1, fabius::sync::atomic::Ordering::SeqCst));
        assert_eq!(value.load(fabius::sync::atomic::Ordering::SeqCst), 0);
        thread.join().expect("it ends");
    });
    let fabius::Verdict::Bug { trace } = report.verdict else { panic!("it fails: {:?}", report.verdict) };
    serde_json::to_vec(&trace).expect("it is plain data")
}
