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

#[test]
fn braces_in_front_of_a_block_are_in_parentheses() {
    let source = "record Pair { u: int, v: bool } var s: set[0..2]; var r: Pair; var x: int;\n\
        process p[1] {\n\
            if s == [1] { s.clear(); } else { while s != [1, 2] { s.insert(1); } }\n\
            if (r == Pair { u: 1, v: true }) { x = if (r == Pair { u: 2 }) { 1 } else { 2 }; }\n\
        }";
    let text = unparse(&compile(source, &Options::default()).unwrap()).unwrap();
    let second = unparse(&compile(&text, &Options::default()).unwrap()).unwrap();
    assert_eq!(text, second);
}
