//! What a core program is written as compiles to a program that is written the same.

use fabius_lang::{Options, compile, unparse};
use testkit::corpus::programs;

#[test]
fn the_text_of_every_program_is_a_fixed_point() {
    let mut seen = 0;
    for path in programs(&["corpus", "examples"]) {
        let source = std::fs::read_to_string(&path).unwrap();
        let Ok(program) = compile(&source, &Options::default()) else { continue };
        let text = match unparse(&program) {
            Ok(text) => text,
            Err(wrong) if wrong.contains("ThreadSet") || wrong.contains("all threads") => continue,
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
