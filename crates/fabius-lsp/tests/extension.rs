//! What the editor's extension says about the language is so.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn read(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn the_grammar_knows_every_word() {
    let grammar = read("syntaxes/fabius.tmLanguage.json");
    let patterns = grammar["patterns"].as_array().expect("a list");
    let lists = patterns.iter().filter_map(|p| p["match"].as_str()?.strip_prefix(r"\b(?:")?.strip_suffix(r")\b"));
    let known: BTreeSet<&str> = lists.flat_map(|list| list.split('|')).collect();
    let missing: Vec<_> = fabius_lang::KEYWORDS.iter().filter(|word| !known.contains(*word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let text = grammar.to_string();
    let missing: Vec<_> = fabius_lang::CONTEXTUAL.iter().filter(|word| !text.contains(*word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let library = fabius_lsp::names::Names::of(&fabius_lang::parse_prelude(fabius_lang::LIBRARY).0).declared;
    let objects = library.iter().filter(|d| d.kind == fabius_lsp::names::Kind::Record).map(|d| d.name.as_str());
    let missing: Vec<_> = objects.filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn snippets_parse() {
    for (name, snippet) in read("snippets/fabius.json").as_object().expect("named snippets") {
        let lines: Vec<&str> = snippet["body"].as_array().expect("lines").iter().filter_map(Value::as_str).collect();
        let text = filled(&lines.join("\n"));
        let is_item = ["proc", "process", "init"].contains(&name.as_str());
        let program = if is_item { text } else { format!("proc p() {{\n{text}\n}}") };
        let wrong = fabius_lang::parse(&program).1;
        assert!(wrong.is_empty(), "{name}: {wrong:?}\n{program}");
    }
}

/// A snippet with what stands in its places: `${1:name}` is `name`, `$0` nothing.
fn filled(body: &str) -> String {
    let mut parts = body.split("${");
    let first = parts.next().unwrap_or_default().to_string();
    parts
        .fold(first, |all, part| {
            let (place, rest) = part.split_once('}').expect("closed");
            all + place.split_once(':').expect("a default").1 + rest
        })
        .replace("$0", "")
}

#[test]
fn the_commands_are_those_of_the_server() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/vscode/extension.js");
    let script = std::fs::read_to_string(script).expect("it is there");
    for command in [fabius_lsp::server::CHECK, fabius_lsp::server::STOP] {
        assert!(script.contains(&format!("aboutThis(\"{command}\")")), "{command}");
    }
    for command in read("package.json")["contributes"]["commands"].as_array().expect("a list") {
        let name = command["command"].as_str().expect("a name");
        assert!(script.contains(&format!("registerCommand(\"{name}\"")), "{name}");
    }
}
