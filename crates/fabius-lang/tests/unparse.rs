//! What a core program is written as compiles to a program that is written the same.

use fabius_lang::{Options, compile, unparse};
use std::path::{Path, PathBuf};

fn programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    let mut folders = vec![root.join("examples"), root.join("corpus")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("reject") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "fab") {
                all.push(path);
            }
        }
    }
    all
}

#[test]
fn the_text_of_every_program_is_a_fixed_point() {
    let mut seen = 0;
    for path in programs() {
        let source = std::fs::read_to_string(&path).unwrap();
        let Ok(program) = compile(&source, &Options::default()) else { continue };
        let text = match unparse(&program) {
            Ok(text) => text,
            Err(wrong) if wrong.contains("ThreadSet") => continue,
            Err(wrong) => panic!("{}: {wrong}", path.display()),
        };
        let again =
            compile(&text, &Options::default()).unwrap_or_else(|d| panic!("{}: {d:#?}\n{text}", path.display()));
        let second = unparse(&again).unwrap();
        let third = unparse(&compile(&second, &Options::default()).unwrap()).unwrap();
        assert_eq!(second, third, "{}", path.display());
        seen += 1;
    }
    assert!(seen > 40, "{seen} programs");
}
