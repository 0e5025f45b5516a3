//! The C programs of the corpus give the answers that their headers claim:
//! `// expect [MACRO=VALUE]: verified` or `// expect [MACRO=VALUE]: bug KIND cost N [line L]`.

mod common;

use common::{Found, check_with};
use std::path::Path;

#[test]
fn programs_give_the_answers_that_they_claim() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/c");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the corpus is there").map(|e| e.expect("a file").path()).collect();
    files.retain(|f| f.is_file());
    files.sort();
    assert!(files.len() >= 8);
    let mut wrong = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("it can be read");
        let claims: Vec<(&str, &str)> =
            text.lines().filter_map(|l| l.strip_prefix("// expect")?.split_once(':')).collect();
        assert!(!claims.is_empty(), "{} claims nothing", file.display());
        for (with, claim) in claims {
            let options: Vec<String> = with.split_whitespace().map(|w| format!("-D{w}")).collect();
            let found = check_with(&[&file], "sync", &options);
            let words: Vec<&str> = claim.split_whitespace().collect();
            let fits = match (&found, words.as_slice()) {
                (Found::Verified, ["verified"]) => true,
                (Found::Bug(kind, cost, _, line), ["bug", wanted, "cost", n, rest @ ..]) => {
                    let kind = kind
                        .chars()
                        .flat_map(|c| if c.is_uppercase() { vec!['_', c.to_ascii_lowercase()] } else { vec![c] });
                    let kind: String = kind.collect();
                    let place = rest.get(1).is_none_or(|l| *l == line.to_string());
                    kind.trim_start_matches('_') == *wanted && cost.to_string() == *n && place
                }
                _ => false,
            };
            if !fits {
                wrong.push(format!("{}{with}: {found:?}, and claims{claim}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
