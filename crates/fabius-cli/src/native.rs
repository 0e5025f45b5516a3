//! C and C++ programs that `fabius cc` has built, and the library that they are linked with.

use crate::c;
use crate::failure::{Failure, input, internal, output};
use fabius_native::{Problem, Target};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A program and its arguments. A name without a folder is a file here.
pub fn target(program: &Path, args: &[OsString]) -> Result<Target, Failure> {
    let is_bare = program.components().count() == 1;
    if program.is_file() && !is_program(program) && is_source(program) {
        return Err(source(program));
    }
    let program = if is_bare { Path::new(".").join(program) } else { program.to_path_buf() };
    Ok(Target { program, args: args.to_vec(), library: library()? })
}

/// Whether a file is a program for this kind of system, by how it begins.
pub fn is_program(file: &Path) -> bool {
    let mut begin = [0; 4];
    std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == *b"\x7fELF"
}

/// Whether a file is the text of a C or C++ program, by its name.
fn is_source(file: &Path) -> bool {
    file.extension().is_some_and(|e| ["c", "i", "cc", "cpp", "cxx", "C"].iter().any(|end| e == *end))
}

/// What to do with the text of a program in place of `run`.
fn source(file: &Path) -> Failure {
    let (name, out) = (file.display(), file.with_extension(""));
    let (command, explored) = match c::is_c(file) {
        true => ("cc", format!(", or explore its text: `fabius check {name}`")),
        false => ("c++", String::new()),
    };
    input(format!("`{name}` is the text of a program, and `fabius run` runs binaries"))
        .help(format!("build it first: `fabius {command} {name} -o {}`{explored}", out.display()))
}

/// The folder of the library, which is written there if it is not.
pub fn library() -> Result<PathBuf, Failure> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    // What is empty or no full path is none, says the XDG Base Directory Specification.
    let given = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = home().filter(|path| path.is_absolute());
    let cache = given.or(home).unwrap_or_else(std::env::temp_dir);
    let cache = cache.join("fabius");
    fabius_native::install(&cache).map_err(|e| {
        output(format!("the library for native programs cannot be written to `{}`: {e}", cache.display()))
            .help("name another folder by `XDG_CACHE_HOME`")
    })
}

/// Why a program was not explored.
pub fn unexplored(problem: Problem) -> Failure {
    match problem {
        Problem::CannotRun(message) => input(message),
        Problem::NotOurs(message) => {
            input(message).help("build it with `fabius cc`, or with the flags that `fabius cc -v` prints")
        }
        Problem::Failed => internal("the library in the program's process has given up; see above".into()),
    }
}
