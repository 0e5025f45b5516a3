//! Every code that the front end gives has a page, and the examples on the pages are what they say.

use fabius_lang::{Options, codes, compile, explain};
use std::collections::BTreeSet;
use std::path::Path;

/// The codes that occur in the source text of the front end.
fn codes_in(dir: &Path, out: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            codes_in(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).expect("the file can be read");
            let quoted = text.split('"').filter(|w| w.len() == 5 && w.starts_with('E'));
            out.extend(quoted.filter(|w| w[1..].chars().all(|c| c.is_ascii_digit())).map(String::from));
        }
    }
}

#[test]
fn pages_and_codes_are_the_same() {
    let mut used = BTreeSet::new();
    codes_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut used);
    let pages: BTreeSet<String> = codes().map(String::from).collect();
    // What cannot be translated is said by `fabius verify`, of programs that compile.
    used.insert("E0501".into());
    // The front end for C says these.
    used.extend(["E0701", "E0702", "E0703", "E0704"].map(String::from));
    // That for Promela says these.
    used.extend(["E0801", "E0802", "E0803"].map(String::from));
    // And that for ZING these.
    used.extend(["E0811", "E0812", "E0813"].map(String::from));
    assert_eq!(used, pages);
    assert_eq!(codes().count(), pages.len(), "no code has two pages");
}

#[test]
fn wrong_examples_give_the_code_and_right_ones_compile() {
    let block = |page: &str, kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n"))?;
        rest.split_once("```").map(|(text, _)| text.to_string())
    };
    let mut without = Vec::new();
    for code in codes() {
        let page = explain(code).expect("a code has a page");
        let (Some(wrong), Some(right)) = (block(page, "wrong"), block(page, "right")) else {
            without.push(code);
            continue;
        };
        let found = compile(&wrong, &Options::default()).expect_err(code);
        assert!(found.iter().any(|d| d.code == code), "{code}: {found:?}");
        let right = compile(&right, &Options::default());
        assert!(right.is_ok(), "{code}: {right:?}");
    }
    // Depth, a fault of the formatter, the command line, translations, C, Promela and ZING do not fit into an example.
    let others = ["E0701", "E0702", "E0703", "E0704", "E0801", "E0802", "E0803", "E0811", "E0812", "E0813"];
    assert_eq!(without, [&["E0104", "E0199", "E0210", "E0501"][..], &others].concat());
}
