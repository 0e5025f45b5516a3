//! Every program that comes with the project compiles.

use testkit::corpus::programs;

#[test]
fn every_program_of_the_corpus_the_examples_and_the_benchmarks_compiles() {
    let files = programs(&["corpus", "examples", "bench/models"]);
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
