//! The rules of the house.
//!
//! 1. Crates import only what `ARCHITECTURE.md` allows them to (checked over `cargo metadata`).
//! 2. Every technique in the table of `ARCHITECTURE.md` has its file, a `Paper:` line in that file's header, and its test.
//! 3. A source file of more than 600 lines says why in its header, in a line that begins with `//! Length:`.
//! 4. Every dependency from outside has a line of reason in `docs/dependencies.md`.
//! 5. Every corpus program and example states what is expected of it.
//! 6. The files of a crate import each other in one direction.
//! 7. Where a crate lists its tests (`autotests = false`), each file of tests is listed, or is a module of `tests/all.rs`.
//! 8. A crate whose examples are not run (`doctest = false`, which saves the time to look for them) has none.

use crate::circles;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Which of our crates each of our crates may import. A crate that is not listed may not exist.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("fabius-trace", &[]),
    ("fabius-curves", &[]),
    ("fabius-explore", &["fabius-trace"]),
    ("fabius-lang", &["fabius-trace"]),
    ("fabius-semantics", &["fabius-lang", "fabius-explore", "fabius-trace"]),
    ("fabius-machine", &["fabius-lang", "fabius-explore", "fabius-trace"]),
    ("fabius-translate", &["fabius-lang", "fabius-trace"]),
    ("fabius-c", &["fabius-lang", "fabius-trace"]),
    ("fabius-promela", &["fabius-lang", "fabius-trace"]),
    ("fabius-zing", &["fabius-lang", "fabius-trace"]),
    ("fabius-smt", &[]),
    ("fabius-html", &["fabius-trace"]),
    ("fabius-sequential", &["fabius-lang", "fabius-smt", "fabius-trace"]),
    ("fabius-messages", &["fabius-explore", "fabius-smt", "fabius-trace"]),
    ("fabius-lsp", &["fabius-lang", "fabius-trace"]),
    ("fabius-native-protocol", &["fabius-trace"]),
    ("fabius-native-runtime", &["fabius-explore", "fabius-native-protocol", "fabius-trace"]),
    ("fabius-native", &["fabius-native-protocol", "fabius-trace"]),
    (
        "fabius-verify",
        &[
            "fabius-trace",
            "fabius-explore",
            "fabius-lang",
            "fabius-semantics",
            "fabius-machine",
            "fabius-translate",
            "fabius-smt",
            "fabius-sequential",
        ],
    ),
    (
        "fabius-cli",
        &[
            "fabius-verify",
            "fabius-trace",
            "fabius-explore",
            "fabius-lang",
            "fabius-semantics",
            "fabius-lsp",
            "fabius-messages",
            "fabius-c",
            "fabius-native",
            "fabius-promela",
            "fabius-zing",
            "fabius-html",
            "fabius-curves",
        ],
    ),
    ("fabius", &["fabius-explore", "fabius-html", "fabius-trace"]),
    ("fabius-loom", &["fabius"]),
    ("fabius-shuttle", &["fabius"]),
    ("fabius-parking-lot", &["fabius"]),
    ("fabius-crossbeam-channel", &["fabius"]),
    ("fabius-tokio", &["fabius", "fabius-tokio-macros"]),
    ("fabius-tokio-macros", &[]),
    ("loom", &["fabius-loom"]),
    ("rounds", &["fabius"]),
    ("shuttle", &["fabius-shuttle"]),
    ("stdmodel", &[]),
    ("testkit", &["fabius-lang", "fabius-trace"]),
    ("xtask", &["fabius-curves", "fabius-explore", "fabius-lang", "fabius-machine", "fabius-trace", "testkit"]),
];

/// Longest source file that needs no reason.
const MAX_LINES: usize = 600;

/// Runs all checks on the workspace in the current directory and prints what is wrong.
pub fn run() -> ExitCode {
    let mut problems = Vec::new();
    for check in [imports, techniques, lengths, dependencies, expectations, directions, tests, examples] {
        if let Err(error) = check(&mut problems) {
            problems.push(error);
        }
    }
    for problem in &problems {
        eprintln!("tidy: {problem}");
    }
    if problems.is_empty() {
        println!("tidy: all rules hold");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn read(path: impl AsRef<Path>) -> Result<String, String> {
    std::fs::read_to_string(path.as_ref()).map_err(|e| format!("cannot read {}: {e}", path.as_ref().display()))
}

/// A crate of the workspace.
struct Member {
    name: String,
    dependencies: Vec<Dependency>,
}

/// A direct dependency.
struct Dependency {
    name: String,
    for_tests_only: bool,
}

fn members() -> Result<Vec<Member>, String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["metadata", "--format-version=1", "--no-deps", "--locked"])
        .output()
        .map_err(|e| format!("cannot run cargo metadata: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
    let list = |v: &Value| v.as_array().cloned().unwrap_or_default();
    Ok(list(&metadata["packages"])
        .iter()
        .map(|package| Member {
            name: text(&package["name"]),
            dependencies: list(&package["dependencies"])
                .iter()
                .map(|d| Dependency { name: text(&d["name"]), for_tests_only: d["kind"] == "dev" })
                .collect(),
        })
        .collect())
}

fn imports(problems: &mut Vec<String>) -> Result<(), String> {
    let ours: BTreeSet<&str> = MAY_IMPORT.iter().map(|(name, _)| *name).collect();
    for Member { name, dependencies } in members()? {
        let Some((_, allowed)) = MAY_IMPORT.iter().find(|(known, _)| *known == name) else {
            problems.push(format!("crate {name} is not in the plan (xtask/src/tidy.rs, ARCHITECTURE.md)"));
            continue;
        };
        for Dependency { name: dependency, for_tests_only } in dependencies {
            if ours.contains(dependency.as_str()) && !for_tests_only && !allowed.contains(&dependency.as_str()) {
                problems.push(format!("{name} must not import {dependency}"));
            }
        }
    }
    Ok(())
}

/// Rows `| technique | \`file\` | \`test\` |` below the heading "Techniques" of ARCHITECTURE.md.
fn techniques(problems: &mut Vec<String>) -> Result<(), String> {
    let text = read("ARCHITECTURE.md")?;
    let section = text.split("\n## ").find(|s| s.starts_with("Techniques")).unwrap_or_default();
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`')).collect())
        .collect();
    if rows.is_empty() {
        return Err("ARCHITECTURE.md has no table under the heading Techniques".into());
    }
    for row in rows {
        let [technique, file, test] = row[..] else {
            problems.push(format!("ARCHITECTURE.md: a row with {} cells instead of 3: {row:?}", row.len()));
            continue;
        };
        match read(file) {
            Ok(source) if !header(&source).contains("Paper:") => {
                problems.push(format!("{file} ({technique}) has no `Paper:` line in its header"));
            }
            Ok(_) => {}
            Err(error) => problems.push(error),
        }
        let (test_file, test_name) = test.split_once("::").unwrap_or((test, ""));
        match read(test_file) {
            Ok(source) if !source.contains(&format!("fn {test_name}")) => {
                problems.push(format!("{test_file} has no test {test_name} ({technique})"));
            }
            Ok(_) => {}
            Err(error) => problems.push(error),
        }
    }
    Ok(())
}

/// The module documentation at the top of a source file.
fn header(source: &str) -> String {
    source.lines().take_while(|line| line.starts_with("//!")).collect::<Vec<_>>().join("\n")
}

fn lengths(problems: &mut Vec<String>) -> Result<(), String> {
    for path in files(&["crates", "xtask", "bench"], "rs")? {
        let source = read(&path)?;
        let lines = source.lines().count();
        if lines > MAX_LINES && !header(&source).contains("Length:") {
            problems.push(format!("{} has {lines} lines and no `//! Length:` line that says why", path.display()));
        }
    }
    Ok(())
}

fn dependencies(problems: &mut Vec<String>) -> Result<(), String> {
    let reasons = read("docs/dependencies.md")?;
    let members = members()?;
    let ours: BTreeSet<&String> = members.iter().map(|m| &m.name).collect();
    let outside: BTreeSet<&String> =
        members.iter().flat_map(|m| &m.dependencies).map(|d| &d.name).filter(|name| !ours.contains(name)).collect();
    for name in outside {
        if !reasons.contains(&format!("`{name}`")) {
            problems.push(format!("docs/dependencies.md gives no reason for {name}"));
        }
    }
    Ok(())
}

fn expectations(problems: &mut Vec<String>) -> Result<(), String> {
    let folders = ["corpus", "examples"];
    for path in files(&folders, "fab")?.into_iter().chain(files(&folders, "ctp")?) {
        let claims = ["// expect:", "// verify:"];
        if !read(&path)?.lines().any(|line| claims.iter().any(|claim| line.trim_start().starts_with(claim))) {
            problems.push(format!("{} has no `// expect:` or `// verify:` line", path.display()));
        }
    }
    Ok(())
}

fn directions(problems: &mut Vec<String>) -> Result<(), String> {
    let mut crates: BTreeMap<PathBuf, BTreeMap<Vec<String>, String>> = BTreeMap::new();
    for path in files(&["crates", "xtask"], "rs")? {
        let Some(src) = path.ancestors().find(|folder| folder.ends_with("src")) else { continue };
        let inside = path.strip_prefix(src).map_err(|e| e.to_string())?.with_extension("");
        let mut module: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        match module.last().map(String::as_str) {
            Some("tests") => continue,
            Some("mod" | "lib") => drop(module.pop()),
            Some("main") if !src.join("lib.rs").is_file() => drop(module.pop()),
            _ => {}
        }
        crates.entry(src.to_path_buf()).or_default().insert(module, read(&path)?);
    }
    for (src, files) in crates {
        let name = src.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        for circle in circles::circles(&files) {
            let names: Vec<String> =
                circle.iter().map(|m| if m.is_empty() { "the root".into() } else { m.join("::") }).collect();
            problems.push(format!("files of {name} import each other in a circle: {}", names.join(", ")));
        }
    }
    Ok(())
}

fn tests(problems: &mut Vec<String>) -> Result<(), String> {
    for manifest in files(&["crates"], "toml")? {
        let (listed, folder) = (read(&manifest)?, manifest.with_file_name("tests"));
        if !listed.contains("autotests = false") {
            continue;
        }
        let all = read(folder.join("all.rs"))?;
        for path in files(&[&folder.to_string_lossy()], "rs")?.iter().filter(|path| path.parent() == Some(&folder)) {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            if !listed.contains(&format!("\"tests/{name}.rs\"")) && !all.contains(&format!("mod {name};")) {
                problems.push(format!("{} is not run: `tests/all.rs` does not name it", path.display()));
            }
        }
    }
    Ok(())
}

fn examples(problems: &mut Vec<String>) -> Result<(), String> {
    for manifest in files(&["crates"], "toml")? {
        let folder = manifest.with_file_name("src");
        if !read(&manifest)?.contains("doctest = false") {
            continue;
        }
        for path in files(&[&folder.to_string_lossy()], "rs")? {
            let has_one = |line: &str| ["//! ```", "/// ```"].iter().any(|fence| line.trim_start().starts_with(fence));
            if read(&path)?.lines().any(has_one) {
                problems.push(format!("{} has an example that is not run: `doctest = false`", path.display()));
            }
        }
    }
    Ok(())
}

/// All files with this extension below these folders, sorted; `target` folders are passed over.
fn files(folders: &[&str], extension: &str) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(PathBuf::from).filter(|path| path.is_dir()).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|e| format!("cannot list {}: {e}", folder.display()))? {
            let path = entry.map_err(|e| e.to_string())?.path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
