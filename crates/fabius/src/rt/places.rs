//! Where in the source a thread is, from the addresses on its stack.

use std::ffi::c_void;
use std::path::PathBuf;

/// A function on a stack. Inlined functions stand for themselves.
pub(super) struct Frame {
    pub name: String,
    /// File, line and column.
    at: Option<(PathBuf, u32, u32)>,
}

/// Whose a function is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Test,
    /// Part of `core`: holds nothing that others need.
    Core,
    /// Of std, an allocator, C: may hold what the whole process needs.
    Library,
}

/// Parts of the names of files that are not the test's.
const LIBRARIES: [&str; 8] = [
    "/rustc/",
    "/rustlib/src/",
    "/rust/deps/",
    "/hashbrown-",
    "/parking_lot",
    "/lock_api-",
    "/corosensei-",
    concat!(env!("CARGO_MANIFEST_DIR"), "/src/"),
];

/// Crates that are not the test's.
const CRATES: [&str; 6] = ["std", "alloc", "hashbrown", "fabius", "fabius_explore", "fabius_trace"];

impl Frame {
    /// Inlined functions have short names, so the file says whose they are, if it is known.
    pub fn owner(&self) -> Owner {
        let file = self.at.as_ref().map(|(file, ..)| file.to_string_lossy());
        let name = self.name.trim_start_matches(['<', '&', '*']);
        let name = name.strip_prefix("mut ").or(name.strip_prefix("dyn ")).unwrap_or(name);
        let is_of = |krate: &&str| name.strip_prefix(*krate).is_some_and(|rest| rest.starts_with("::"));
        let is_in = |file: &str, part: &str| file.contains(part);
        match file {
            Some(file) if is_in(&file, "/library/core/") => Owner::Core,
            Some(file) if LIBRARIES.iter().any(|l| is_in(&file, l)) || !file.ends_with(".rs") => Owner::Library,
            None if is_of(&"core") => Owner::Core,
            None if !name.contains("::") => Owner::Library,
            _ if CRATES.iter().any(is_of) => Owner::Library,
            _ => Owner::Test,
        }
    }

    /// The place in the source.
    pub fn place(&self) -> Option<(String, u32, u32)> {
        let (file, line, column) = self.at.as_ref()?;
        let here = std::env::current_dir().unwrap_or_default();
        // Cargo names files from the workspace's folder and runs tests in the package's.
        let short =
            here.ancestors().filter(|a| a.join("Cargo.toml").is_file()).last().and_then(|a| file.strip_prefix(a).ok());
        Some((short.unwrap_or(file).display().to_string(), *line, *column))
    }
}

/// The functions at an address of the program, the innermost first; none if it has no names.
pub(super) fn frames_at(address: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    backtrace::resolve(address as *mut c_void, |symbol| {
        if let Some(name) = symbol.name() {
            let at = symbol.filename().zip(symbol.lineno());
            let at = at.map(|(file, line)| (PathBuf::from(file), line, symbol.colno().unwrap_or(1)));
            frames.push(Frame { name: format!("{name:#}"), at });
        }
    });
    frames
}

/// Where a test is, from the functions on its stack: those of libraries that it calls are left out.
pub(super) fn place_of(frames: &[Frame]) -> Option<(String, u32, u32)> {
    frames.iter().filter(|f| f.owner() == Owner::Test).find_map(Frame::place)
}
