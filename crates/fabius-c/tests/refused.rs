//! What is refused is refused with its code.

mod common;

use common::read;

#[test]
fn each_refusal_has_its_code() {
    let folder = std::env::temp_dir().join(format!("fabius-refused-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    for (code, text) in [
        ("E0701", "int main(void) { return 0 }"),
        // What stands there is more than one byte.
        ("E0701", "enum { N = 2\u{202e} }; int main(void) { return N; }"),
        ("E0702", "int main(void) { int a[2]; return a[0] + missing; }"),
        ("E0703", "int main(void) { double d = 1.5; return d > 1; }"),
        ("E0704", "int elsewhere(int); int main(void) { return elsewhere(1); }"),
    ] {
        let file = folder.join(format!("{code}.c"));
        std::fs::write(&file, text).expect("the file is written");
        let message = read(&[&file], &[]).err().unwrap_or_default();
        assert!(message.contains(code), "{code}: {message}");
    }
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
}
