//! Reading and writing the user's files.

use crate::args::common::When;
use crate::args::values::STDOUT;
use crate::failure::{Failure, UNKNOWN, input, output};
use crate::paint::{Paint, for_terminal, printable_source};
use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

/// The text of a file; that of standard input for `-`.
pub fn read(path: &Path) -> Result<String, Failure> {
    if path == Path::new(STDIN) {
        return read_stdin();
    }
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => input(format!("there is no file `{shown}`")),
        ErrorKind::IsADirectory => input(format!("`{shown}` is a directory")).help("give one of the files in it"),
        ErrorKind::PermissionDenied => input(format!("no permission to read `{shown}`")),
        _ => input(format!("cannot read `{shown}`: {error}")),
    })?;
    text(bytes, &shown.to_string())
}

/// The name of standard input on the command line.
pub const STDIN: &str = "-";

fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(|error| input(format!("cannot read standard input: {error}")))?;
    text(bytes, "standard input")
}

/// Bytes as text.
fn text(bytes: Vec<u8>, name: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = bytes[..at].iter().filter(|b| **b == b'\n').count() + 1;
        let byte = bytes.get(at).copied().unwrap_or_default();
        input(format!("`{name}` is not UTF-8 text: byte {byte:#04x} in line {line}")).help("save the file as UTF-8")
    })
}

/// Replaces a file as a whole: on failure the old one is still there.
pub fn write(path: &Path, contents: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| output(format!("cannot write `{}`: {error}", path.display()));
    // A device or a pipe is written to; a link is written through.
    let direct = std::fs::symlink_metadata(path).is_ok_and(|m| !m.is_file());
    if direct {
        return write_new(path, contents).map_err(failed);
    }
    if std::fs::metadata(path).is_ok_and(|m| m.permissions().readonly()) {
        return Err(output(format!("`{}` is read-only", path.display())));
    }
    let temporary = beside(path);
    let result = write_new(&temporary, contents).and_then(|()| {
        if let Ok(metadata) = std::fs::metadata(path) {
            std::fs::set_permissions(&temporary, metadata.permissions())?;
        }
        std::fs::rename(&temporary, path)
    });
    result.map_err(|error| {
        // Nothing better can be done if even this fails.
        let _ = std::fs::remove_file(&temporary);
        failed(error)
    })
}

/// Writes to a file, or to standard output by its name.
pub fn write_or_print(path: &str, text: &str) -> Result<(), Failure> {
    if path == STDOUT { print_source(text) } else { write(Path::new(path), text) }
}

/// The file that is written first, and then renamed.
pub fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}

fn write_new(path: &Path, contents: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    file.write_all(contents.as_bytes())?;
    file.flush()
}

/// Says on standard error why a limit left an output unwritten; returns the exit code.
pub fn unwritten(failure: &Failure, colour: When) -> u8 {
    let paint = Paint::of_stderr(colour);
    tell(paint, &failure.text(paint.style()));
    UNKNOWN
}

/// Writes lines to standard output, without colours. A reader that has gone away (`| head`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    write_stdout(&for_terminal(text, Paint::Plain))
}

/// The same with colours, if they are wanted.
pub fn print_in(paint: Paint, text: &str) -> Result<(), Failure> {
    write_stdout(&for_terminal(text, paint))
}

/// Writes the text of a program, which may go on to a file: as it is, but not to a terminal.
pub fn print_source(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() { print(&printable_source(text)) } else { write_stdout(text) }
}

/// Writes lines to standard error. If that is gone too, there is nobody left to tell.
pub fn tell(paint: Paint, text: &str) {
    let _ = std::io::stderr().lock().write_all(for_terminal(text, paint).as_bytes());
}

fn write_stdout(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(output(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
