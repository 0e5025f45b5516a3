//! The programs in the documents compile, and are in the one style.

use fabius_lang::{Options, compile, format};
use std::path::Path;

#[test]
fn programs_in_documents_compile() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut seen = 0;
    for name in ["language.md", "from-other-languages.md"] {
        let text = std::fs::read_to_string(root.join(name)).expect("the document is there");
        for block in text.split("```fabius\n").skip(1) {
            let source = block.split("```").next().unwrap_or("");
            compile(source, &Options::default()).unwrap_or_else(|d| panic!("{name}: {d:#?}\n{source}"));
            assert_eq!(format(source).as_deref(), Ok(source), "{name}");
            seen += 1;
        }
    }
    assert!(seen >= 2);
}
