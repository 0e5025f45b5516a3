//! Models in the manner of SPIN's examples and of textbooks: each has the verdict that SPIN gives, without its formulas and with each of
//! them alone. What SPIN says stands in comments: in the first line, and behind each formula.

mod common;

use common::{Said, answer, compiled, folder, is_there, spin};
use std::path::Path;

/// Every model, without its formulas and with each: its name, its text, and what SPIN says.
fn models() -> Vec<(String, String, Said)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/textbook");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("it is there").map(|f| f.expect("a file").path()).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("it is read");
        let name = file.file_stem().expect("a name").to_string_lossy();
        let said = |line: &str| if line.ends_with("/* bug */") { Said::Bug } else { Said::None };
        let is_formula = |line: &&str| line.starts_with("ltl ");
        let base: String = text.lines().filter(|line| !is_formula(line)).map(|line| format!("{line}\n")).collect();
        all.push((name.to_string(), base.clone(), said(text.lines().next().unwrap_or_default())));
        for line in text.lines().filter(is_formula) {
            all.push((format!("{name}: {line}"), format!("{base}{line}\n"), said(line)));
        }
    }
    assert!(all.len() > 80, "{} models", all.len());
    all
}

#[test]
fn models_of_textbooks_have_the_verdicts_that_spin_gives() {
    let mut wrong = Vec::new();
    for (name, source, wanted) in models() {
        match compiled(&source).map(|program| answer(&program).0) {
            Err(refused) => wrong.push(format!("{name}: {refused}")),
            Ok(said) if said != wanted => wrong.push(format!("{name}: {said:?}")),
            Ok(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "a C compiler runs for each model: two minutes"]
fn spin_says_what_stands_in_the_models() {
    if !is_there() {
        return;
    }
    let mut wrong = Vec::new();
    for (n, (name, source, wanted)) in models().into_iter().enumerate() {
        let theirs = spin(&source, &folder(&format!("textbook{n}")));
        if theirs.said != wanted {
            wrong.push(format!("{name}: {:?}\n{}", theirs.said, theirs.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
