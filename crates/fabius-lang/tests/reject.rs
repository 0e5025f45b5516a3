//! The programs of `corpus/reject`: the first line of each says which code it is rejected with, and it gets no other.

use fabius_lang::{Options, Style, codes, compile, render};
use std::collections::BTreeSet;
use std::path::Path;

/// Codes without a program: a fault of the formatter, a constant given on the command line, translations, and the front ends for C,
/// Promela and ZING.
const WITHOUT_PROGRAM: [&str; 13] = [
    "E0199", "E0210", "E0501", "E0701", "E0702", "E0703", "E0704", "E0801", "E0802", "E0803", "E0811", "E0812", "E0813",
];

#[test]
fn each_program_is_rejected_with_its_code_and_each_code_has_a_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/reject");
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("").to_string();
        let source = std::fs::read_to_string(&path).expect("the file can be read");
        let Some(code) = source.lines().next().and_then(|line| line.strip_prefix("// expect: reject ")) else {
            wrong.push(format!("{name}: the first line does not say `// expect: reject E0xxx`"));
            continue;
        };
        seen.insert(code.to_string());
        let found = compile(&source, &Options::default()).err().unwrap_or_default();
        if found.is_empty() || found.iter().any(|d| d.code != code) {
            let text = render(&source, &name, &found, Style::Plain);
            wrong.push(format!("{name}: {} diagnostics, wanted {code}\n{text}", found.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let wanted: BTreeSet<String> = codes().filter(|c| !WITHOUT_PROGRAM.contains(c)).map(String::from).collect();
    assert_eq!(seen, wanted, "programs and codes");
}
