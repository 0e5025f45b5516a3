//! What is refused is refused with its code.

mod common;

use common::{Folder, read};

#[test]
fn each_refusal_has_its_code() {
    let folder = std::env::temp_dir().join(format!("fabius-refused-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    for (code, text) in [
        ("E0701", "int main(void) { return 0 }"),
        // What stands there is more than one byte.
        ("E0701", "enum { N = 2\u{202e} }; int main(void) { return N; }"),
        ("E0702", "int main(void) { int a[2]; return a[0] + missing; }"),
        ("E0702", "int main(void) { return _Alignof(struct missing); }"),
        ("E0703", "int main(void) { int x = 0; __asm__(\"nop\" : \"+r\"(x)); return x; }"),
        ("E0704", "int elsewhere(int); int main(void) { return elsewhere(1); }"),
    ] {
        let file = folder.join(format!("{code}.c"));
        std::fs::write(&file, text).expect("the file is written");
        let message = read(&[&file], &[]).err().unwrap_or_default();
        assert!(message.contains(code), "{code}: {message}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
}

#[test]
fn what_would_be_laid_out_in_another_way_is_refused_at_its_place() {
    for (line, message, text) in [
        (2, "this `#pragma pack` is not taken", "int x;\n#pragma pack(3)\nstruct s { char c; int i; };"),
        (2, "behind `#pragma pack`", "#pragma pack(2)\nstruct s { char c; int i : 3; };"),
        (1, "`#pragma scalar_storage_order`", "#pragma scalar_storage_order big-endian"),
        (2, "`#pragma weak`", "void f(void);\n#pragma weak f"),
        (1, "`#pragma redefine_extname`", "#pragma redefine_extname f g"),
        (1, "an alignment of a bit-field", "struct s { int a; int b : 4 __attribute__((aligned(8))); };"),
        (1, "a field that is packed", "struct s { char a : 5; char b : 5 __attribute__((packed)); };"),
        (1, "a field that is packed", "struct s { char a; char *b __attribute__((packed)); };"),
        (2, "fails: \"in it\"", "struct s { int x;\n_Static_assert(sizeof(int) == 5, \"in\" \" it\"); };"),
        (1, "fails: \"head\"", "int main(void) { for (_Static_assert(0, \"head\");;) { } }"),
    ] {
        let main = if text.contains("main") { "" } else { "int main(void) { return 0; }" };
        let folder = Folder::new();
        let file = folder.file("x.c", &format!("{text}\n{main}"));
        let said = read(&[&file], &[]).err().unwrap_or_default();
        assert!(said.contains(message) && said.contains(&format!("c:{line}:")), "{text}: {said}");
    }
    let folder = Folder::new();
    let text = "#pragma once\n#pragma GCC diagnostic push\nstruct s { int x; _Static_assert(sizeof(int) == 4, \"in\"); };\n\
                int main(void) { for (_Static_assert(1, \"head\"); 0;) { } return sizeof(struct s) == 4 ? 0 : 1; }\n";
    assert!(read(&[&folder.file("x.c", text)], &[]).is_ok());
}

#[test]
fn any_number_of_threads_begin_at_the_end_of_main() {
    let said = |main: &str| {
        let folder = Folder::new();
        let text = format!("#include <fabius.h>\nint x;\nvoid w(void) {{ x = 1; }}\nint main(void) {{ {main} }}\n");
        read(&[&folder.file("x.c", &text)], &[]).err().unwrap_or_default()
    };
    for main in ["x = 2; fabius_spawn_any(w);", "fabius_spawn_any(w); fabius_spawn_any(w); return 0;"] {
        assert_eq!(said(main), "", "{main}");
    }
    for main in [
        "fabius_spawn_any(w); x = 2;",
        "fabius_spawn_any(w); return x++;",
        "if (x) fabius_spawn_any(w);",
        "{ fabius_spawn_any(w); }",
        "fabius_spawn_any(w); x = 2; fabius_spawn_any(w);",
    ] {
        let message = said(main);
        assert!(message.contains("begin when `main` has done all") && message.contains("c:4:"), "{main}: {message}");
    }
}

#[test]
fn what_is_wrong_in_a_header_is_said_of_the_header() {
    let folder = Folder::new();
    folder.file("halves.h", "/* one */\nstatic int half(int x) {\n    return *L\"ab\";\n}\n");
    let main = folder.file("main.c", "#include \"halves.h\"\nint main(void) { return half(3) + *L\"c\"; }\n");
    let said = read(&[&main], &[]).expect_err("it is refused");
    for words in ["main.c:2:", "halves.h:3:", "3 |     return *L\"ab\";"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}
