//! The C preprocessor, with headers of ours in front of the system's.

use crate::attributes::behind_quotes;
use crate::folder::Folder;
use crate::lines::{is_preprocessed, without_markers};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Headers that stand in front of the system's.
const HEADERS: [(&str, &str); 4] = [
    ("ctype.h", include_str!("../headers/ctype.h")),
    ("fabius.h", include_str!("../headers/fabius.h")),
    ("stdatomic.h", include_str!("../headers/stdatomic.h")),
    ("threads.h", include_str!("../headers/threads.h")),
];

/// The files as one preprocessed text. `.i` files are taken as they are.
///
/// # Errors
/// What the preprocessor says, or why it does not run.
pub fn preprocess(files: &[PathBuf], options: &[String]) -> Result<String, String> {
    if files.iter().all(|f| f.extension().is_some_and(|e| e == "i")) {
        let read = |f: &PathBuf| {
            let text = std::fs::read_to_string(f).map_err(|e| format!("cannot read `{}`: {e}", f.display()))?;
            let text = with_words_of_c11(&without_comments(&without_markers(&text)));
            Ok(format!("# 1 \"{}\"\n{text}\n", f.display()))
        };
        return files.iter().map(read).collect();
    }
    let folder = headers().map_err(|e| format!("cannot write the headers: {e}"))?;
    let mut text = String::new();
    for file in files {
        text += &run(file, folder.path(), options)?;
        text.push('\n');
    }
    Ok(text)
}

/// The text with blanks in place of comments, which who has preprocessed it may have left. All places stay.
fn without_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = match &bytes[at..] {
            [b'/', b'/', ..] => text[at..].find('\n').map_or(text.len(), |n| at + n),
            [b'/', b'*', ..] => text[at + 2..].find("*/").map_or(text.len(), |n| at + n + 4),
            [b'"' | b'\'', ..] => {
                let end = behind_quotes(bytes, at).min(text.len());
                out.push_str(&text[at..end]);
                at = end;
                continue;
            }
            _ => {
                let next = text[at..].chars().next().expect("there is one");
                out.push(next);
                at += next.len_utf8();
                continue;
            }
        };
        out.extend(text[at..end].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
        at = end;
    }
    out
}

/// The text with C11's word for `__thread`, the only one that the parser knows.
fn with_words_of_c11(text: &str) -> String {
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    crate::dollars::each_name(text, &mut |start, end| {
        if &text[start..end] == "__thread" {
            out += &text[from..start];
            out += "_Thread_local";
            from = end;
        }
    });
    out + &text[from..]
}

fn headers() -> std::io::Result<Folder> {
    let folder = Folder::new("headers")?;
    for (name, text) in HEADERS {
        std::fs::write(folder.path().join(name), text)?;
    }
    Ok(folder)
}

fn run(file: &Path, headers: &Path, options: &[String]) -> Result<String, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("cannot read `{}`: {e}", file.display()))?;
    let copy = headers.join("preprocessed.c");
    let mut command = Command::new("cc");
    command
        // The parser knows C11's word for `__thread`.
        .args([
            "-E",
            "-std=gnu11",
            "-U__SIZEOF_INT128__",
            "-D__FABIUS__=1",
            "-D_GNU_SOURCE",
            "-D__thread=_Thread_local",
        ])
        .arg("-isystem")
        .arg(headers);
    command.args(options);
    if is_preprocessed(&text) {
        let text = format!("# 1 \"{}\"\n{}", file.display(), without_markers(&text));
        std::fs::write(&copy, text).map_err(|e| format!("cannot write `{}`: {e}", copy.display()))?;
        let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        command.arg("-iquote").arg(folder).arg(&copy);
    } else {
        command.arg(file);
    }
    let output = command.output().map_err(|e| {
        format!("the C preprocessor `cc -E` does not run: {e}; install a C compiler, or give a preprocessed file `x.i`")
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the C preprocessor says:\n{}", said.trim_end()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{}` is not UTF-8 text", file.display()))
}
