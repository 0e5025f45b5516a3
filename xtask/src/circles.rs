//! Circles of files: inside of a crate files import each other in one direction.
//!
//! A file imports another if it names something in it by a path: `crate::a::X`, `super::X`, `child::X`. What a file only hands
//! on with `pub use` is looked up where it is defined, so a `mod.rs` that lists what a folder offers is no import of it. What
//! a file takes from the file of a folder around it does not count either: a folder is one thing to those outside. Tests are
//! passed over: they may know everything.

use std::collections::{BTreeMap, BTreeSet};

/// The circles of a crate's files, each as the sorted module paths in it. `files` are module paths and texts, the root as
/// an empty path.
pub fn circles(files: &BTreeMap<Vec<String>, String>) -> Vec<Vec<Vec<String>>> {
    let texts: BTreeMap<&Vec<String>, Vec<String>> = files.iter().map(|(name, text)| (name, tokens(text))).collect();
    let mut passed: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    let mut named: BTreeMap<&Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
    for (name, tokens) in &texts {
        let paths = Paths { module: name, tokens, files };
        named.insert(name, paths.all(&mut passed));
    }
    let edges: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> = named
        .iter()
        .map(|(name, paths)| {
            let to = paths.iter().filter_map(|path| home(path, files, &passed)).filter(|to| !name.starts_with(to));
            (*name, to.collect())
        })
        .collect();
    let reached: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> =
        edges.keys().map(|name| (*name, reachable(name, &edges))).collect();
    let mut found: BTreeSet<Vec<Vec<String>>> = BTreeSet::new();
    for (name, all) in &reached {
        if all.contains(name) {
            found.insert(all.iter().filter(|other| reached[*other].contains(name)).map(|m| (*m).clone()).collect());
        }
    }
    found.into_iter().collect()
}

/// What can be reached over at least one edge.
fn reachable<'a>(
    from: &Vec<String>,
    edges: &BTreeMap<&'a Vec<String>, BTreeSet<&'a Vec<String>>>,
) -> BTreeSet<&'a Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&Vec<String>> = edges[from].iter().copied().collect();
    while let Some(next) = open.pop() {
        if seen.insert(next) {
            open.extend(&edges[next]);
        }
    }
    seen
}

/// The file in which what a path names is defined.
fn home<'a>(
    path: &[String],
    files: &'a BTreeMap<Vec<String>, String>,
    passed: &BTreeMap<Vec<String>, Vec<String>>,
) -> Option<&'a Vec<String>> {
    let mut path = path.to_vec();
    // Each name is handed on at most a few times; the bound ends circles of names.
    for _ in 0..16 {
        let known = (1..=path.len()).find_map(|n| Some((n, passed.get(&path[..n])?)));
        let Some((n, to)) = known else { break };
        path = to.iter().chain(&path[n..]).cloned().collect();
    }
    (0..=path.len()).rev().find_map(|n| files.get_key_value(&path[..n])).map(|(name, _)| name)
}

/// The paths of a file.
struct Paths<'a> {
    module: &'a [String],
    tokens: &'a [String],
    files: &'a BTreeMap<Vec<String>, String>,
}

impl Paths<'_> {
    /// All absolute paths that the file names; what it hands on is put into `passed`.
    fn all(&self, passed: &mut BTreeMap<Vec<String>, Vec<String>>) -> BTreeSet<Vec<String>> {
        let mut found = BTreeSet::new();
        let mut at = 0;
        while at < self.tokens.len() {
            let token = self.tokens[at].as_str();
            // Not what a type captures.
            if token == "use" && self.tokens.get(at + 1).is_none_or(|t| t != "<") {
                let public = at > 0 && (self.tokens[at - 1] == "pub" || self.tokens[at - 1] == ")");
                let mut leaves = Vec::new();
                at = self.tree(at + 1, Vec::new(), &mut leaves);
                for (path, name) in leaves {
                    let Some(absolute) = self.absolute(&path) else { continue };
                    match public {
                        true => {
                            let here = self.module.iter().cloned().chain([name]).collect();
                            passed.insert(here, absolute);
                        }
                        false => drop(found.insert(absolute)),
                    }
                }
                continue;
            }
            let begins = at == 0 || !["::", "."].contains(&self.tokens[at - 1].as_str());
            if begins && is_name(token) && self.tokens.get(at + 1).is_some_and(|t| t == "::") {
                let mut path = vec![token.to_string()];
                while self.tokens.get(at + 1).is_some_and(|t| t == "::")
                    && self.tokens.get(at + 2).is_some_and(|t| is_name(t))
                {
                    path.push(self.tokens[at + 2].clone());
                    at += 2;
                }
                // `pub(in crate::x)` imports nothing, and is not used here.
                found.extend(self.absolute(&path));
            }
            at += 1;
        }
        found
    }

    /// The leaves of a `use` tree, with the names that they get; returns where it ends.
    fn tree(&self, mut at: usize, mut path: Vec<String>, leaves: &mut Vec<(Vec<String>, String)>) -> usize {
        while let Some(token) = self.tokens.get(at) {
            match token.as_str() {
                "{" => {
                    at += 1;
                    while self.tokens.get(at).is_some_and(|t| t != "}") {
                        at = self.tree(at, path.clone(), leaves);
                        at += usize::from(self.tokens.get(at).is_some_and(|t| t == ","));
                    }
                    return at + 1;
                }
                "," | "}" | ";" => break,
                "as" => {
                    let name = self.tokens.get(at + 1).cloned().unwrap_or_default();
                    leaves.push((path, name));
                    return at + 2;
                }
                "::" => {}
                "self" if !path.is_empty() => {}
                name => path.push(name.to_string()),
            }
            at += 1;
        }
        let name = path.last().cloned().unwrap_or_default();
        leaves.push((path, name));
        at
    }

    /// A path from the root of the crate; nothing if it leads out of it.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let mut base = self.module.to_vec();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|s| s == "super") {
                    base.pop()?;
                    rest = &rest[1..];
                }
            }
            child => {
                base.push(child.to_string());
                if !self.files.contains_key(&base) {
                    return None;
                }
                rest = &rest[1..];
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Names and marks of a source text, without comments, literals and a module of tests.
fn tokens(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |n| n + 2)
        } else if let Some(length) = raw_string(rest) {
            length
        } else if c == '"' {
            string(rest)
        } else if c == '\'' {
            character(rest)
        } else if c.is_alphanumeric() || c == '_' {
            let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            all.push(rest[..length].to_string());
            length
        } else if rest.starts_with("::") {
            all.push("::".to_string());
            2
        } else {
            if !c.is_whitespace() {
                all.push(c.to_string());
            }
            c.len_utf8()
        };
        rest = &rest[length..];
        if all.ends_with(&["cfg", "(", "test", ")", "]", "mod", "tests", "{"].map(String::from)) {
            break;
        }
    }
    all
}

/// The length of `r"..."` or `r#"..."#` at the beginning of a text.
fn raw_string(text: &str) -> Option<usize> {
    let marks = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = marks.len() - marks.trim_start_matches('#').len();
    let begin = text.len() - marks.len() + hashes;
    text[begin..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(text[begin + 1..].find(&end).map_or(text.len(), |n| begin + 1 + n + end.len()))
}

/// The length of a string at the beginning of a text.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character, or of the mark of a lifetime, at the beginning of a text.
fn character(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    match letters.next() {
        Some((_, '\\')) => text[3.min(text.len())..].find('\'').map_or(text.len(), |n| n + 4),
        Some(_) => match letters.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let path = |name: &str| name.split("::").filter(|s| !s.is_empty()).map(String::from).collect();
        let files = files.iter().map(|(name, text)| (path(name), text.to_string())).collect();
        circles(&files).iter().map(|all| all.iter().map(|m| m.join("::")).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn circles_are_found_over_all_forms_of_paths() {
        assert_eq!(
            found(&[("", "mod a; mod b;"), ("a", "use crate::b::X;"), ("b", "fn f() { crate::a::g() }")]),
            ["a b"]
        );
        assert!(found(&[("", "mod a;"), ("a", "mod b; use b::X;"), ("a::b", "use super::Y;")]).is_empty());
        assert_eq!(found(&[("a", "use crate::{b::{self, X}, c};"), ("b", ""), ("c", "use super::a as z;")]), ["a c"]);
        let third = [("a", "use crate::b::X;"), ("b", "use crate::c::X;"), ("c", "use super::a::X;")];
        assert_eq!(found(&third), ["a b c"]);
    }

    #[test]
    fn what_is_handed_on_is_where_it_is_defined() {
        let listed = [("a", "pub mod b; pub mod c; pub use c::X;"), ("a::b", "use super::X;"), ("a::c", "")];
        assert!(found(&listed).is_empty());
        let back = [("a", "pub use c::X;"), ("a::b", "use super::X;"), ("a::c", "use super::b::Y;")];
        assert_eq!(found(&back), ["a::b a::c"]);
    }

    #[test]
    fn comments_literals_and_tests_import_nothing() {
        let a = "// use crate::b;\n/* crate::b::X */ const S: &str = \"crate::b::X \\\" \"; const R: &str = r#\"crate::b::X\"#;\n\
                 const C: char = '\"'; fn f<'a>(x: &'a str) {}\n#[cfg(test)]\nmod tests { use crate::b::X; }";
        assert!(found(&[("a", a), ("b", "use crate::a::X;")]).is_empty());
        assert_eq!(found(&[("a", "const C: char = '\"'; use crate::b::X;"), ("b", "use crate::a::X;")]), ["a b"]);
    }
}
