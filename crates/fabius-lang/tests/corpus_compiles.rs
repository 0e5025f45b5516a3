//! Every program that comes with the project compiles.

use std::path::{Path, PathBuf};

fn programs(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            if path.file_name().is_some_and(|n| n != "reject") {
                programs(&path, out);
            }
        } else if path.extension().is_some_and(|e| e == "fab") {
            out.push(path);
        }
    }
}

#[test]
fn every_program_of_the_corpus_the_examples_and_the_benchmarks_compiles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    ["corpus", "examples", "bench/models"].iter().for_each(|d| programs(&root.join(d), &mut files));
    assert!(files.len() > 40, "the programs are found");
    let mut wrong = Vec::new();
    // Some are for `verify` only.
    let options = fabius_lang::Options { choices: fabius_lang::Choices::Unbounded, ..Default::default() };
    for file in files {
        let source = std::fs::read_to_string(&file).expect("the file can be read");
        if let Err(diagnostics) = fabius_lang::compile(&source, &options) {
            for d in diagnostics {
                let at = d.span.line_col(&source);
                let text = d.span.text(&source).to_string();
                wrong.push(format!(
                    "{}:{}:{}: {} {} [{text}] {}",
                    file.display(),
                    at.line,
                    at.column,
                    d.code,
                    d.message,
                    d.label
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
