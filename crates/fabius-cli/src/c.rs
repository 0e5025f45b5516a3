//! C programs on the command line.
//!
//! What belongs to a program besides its text is kept as its constants, so that a saved trace knows it too: `N=4` is a macro
//! of the preprocessor, `-I` a folder of headers, `--with` one more file.

use crate::args::common::ProgramArgs;
use crate::failure::{Failure, input};
use fabius_c::{Limits, Options};
use std::path::{Path, PathBuf};

/// The name of what stands for a folder of headers among the constants.
const INCLUDE: &str = "-I";
/// The name of what stands for one more file.
const WITH: &str = "--with";
/// The name of what stands for the most allocations.
const ALLOCATIONS: &str = "--allocations";

/// What belongs to a C program besides its text, as constants.
pub fn constants(args: &ProgramArgs) -> Vec<(String, String)> {
    let paths = |name: &str, paths: &[PathBuf]| -> Vec<(String, String)> {
        paths.iter().map(|p| (name.to_string(), p.display().to_string())).collect()
    };
    let mut all = args.consts.clone();
    all.extend(paths(INCLUDE, &args.includes));
    all.extend(paths(WITH, &args.with));
    all.extend(args.allocations.map(|n| (ALLOCATIONS.to_string(), n.to_string())));
    all
}

/// Whether a file is a C program.
pub fn is_c(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "c" || e == "i")
}

/// Reads a C program.
pub fn load(path: &Path, consts: &[(String, String)]) -> Result<fabius_c::Loaded, Failure> {
    let mut files = vec![path.to_path_buf()];
    let mut options = Options::default();
    for (name, value) in consts {
        match name.as_str() {
            WITH => files.push(PathBuf::from(value)),
            INCLUDE => options.preprocessor.push(format!("-I{value}")),
            ALLOCATIONS => {
                let allocations = value.parse().map_err(|_| input(format!("`{value}` is no number of allocations")))?;
                options.limits = Limits { allocations, ..options.limits };
            }
            _ => options.preprocessor.push(format!("-D{name}={value}")),
        }
    }
    fabius_c::load(&files, &options).map_err(|failure| match failure {
        fabius_c::Failure::Plain(message) => input(message),
        fabius_c::Failure::Source { source, diagnostics } => {
            Failure::Source { source, file: path.display().to_string(), diagnostics }
        }
    })
}
