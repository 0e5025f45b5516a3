//! The command line of the compiler.

use crate::library::HEADERS;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// What is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
}

/// Whose options the compiler has.
#[derive(Clone, Copy)]
enum Family {
    Gcc,
    Clang,
}

impl Family {
    fn of(compiler: &OsStr) -> Family {
        let name = Path::new(compiler).file_name().unwrap_or(compiler);
        if name.to_string_lossy().contains("clang") { Family::Clang } else { Family::Gcc }
    }

    /// What makes the instrumentation tell volatile accesses from others, and reads before writes.
    fn flags(self) -> &'static [&'static str] {
        match self {
            Family::Gcc => &["--param=tsan-distinguish-volatile=1", "-Wno-tsan"],
            Family::Clang => &[
                "-mllvm",
                "-tsan-instrument-read-before-write=1",
                "-mllvm",
                "-tsan-distinguish-volatile=1",
                "-Wno-unused-command-line-argument",
            ],
        }
    }

    /// gcc finds our library under the name of its own; clang would link a static one, and gets ours by its name.
    fn link_flags(self) -> &'static [&'static str] {
        match self {
            Family::Gcc => &[],
            Family::Clang => {
                &["-fno-sanitize-link-runtime", "-Wl,--push-state,--no-as-needed", "-ltsan", "-Wl,--pop-state"]
            }
        }
    }
}

/// Functions of the C library whose accesses are seen where the program itself calls them.
const WRAPPED: &[&str] = &[
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "strlen",
    "strcpy",
    "strncpy",
    "strcat",
    "strcmp",
    "strncmp",
    "strchr",
    "strdup",
    "strncat",
    "stpcpy",
    "strndup",
    "strnlen",
    "strrchr",
    "strstr",
    "strcasecmp",
    "strncasecmp",
    "memchr",
    "mempcpy",
    "bzero",
];

/// Those that the compiler must not write itself either; they are found by their names.
const NOT_EXPANDED: &[&str] = &["sprintf", "snprintf", "vsprintf", "vsnprintf"];

/// Those of the C++ library, for trees and lists, unless it is linked into the program.
const WRAPPED_OF_CONTAINERS: &[&str] = &[
    "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_",
    "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_",
    "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base",
    "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base",
    "_ZNSt8__detail15_List_node_base7_M_hookEPS0_",
    "_ZNSt8__detail15_List_node_base9_M_unhookEv",
    "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_",
    "_ZNSt8__detail15_List_node_base10_M_reverseEv",
    "_ZNSt8__detail15_List_node_base4swapERS0_S1_",
];

/// The command that compiles and links as the arguments say, with the instrumentation and our library, which is in `library`.
///
/// # Errors
/// What cannot be built for exploration.
pub fn compile(language: Language, with: Option<&OsStr>, library: &Path, args: &[OsString]) -> Result<Command, String> {
    let compiler =
        with.map_or_else(|| OsString::from(if language == Language::C { "gcc" } else { "g++" }), OsStr::to_os_string);
    let family = Family::of(&compiler);
    let is = |what: &str| args.iter().any(|a| a == what);
    if let Some(bad) = ["-static", "-static-libtsan", "-static-pie"].into_iter().find(|a| is(a)) {
        return Err(format!("`{bad}` cannot be explored: the C library has to be a shared one"));
    }
    if let Some(bad) = args.iter().find(|a| a.to_string_lossy().starts_with("-fsanitize=")) {
        return Err(format!(
            "`{}` cannot be explored: the program has one instrumentation, which is ours",
            bad.display()
        ));
    }
    let mut command = Command::new(compiler);
    command.args(["-fsanitize=thread", "-fno-omit-frame-pointer"]).args(family.flags());
    // What the compiler expands by itself is not instrumented.
    command.args(WRAPPED.iter().chain(NOT_EXPANDED).map(|name| format!("-fno-builtin-{name}")));
    command.arg("-isystem").arg(library.join(HEADERS));
    if !args.iter().any(|a| a.to_string_lossy().starts_with("-g")) {
        command.arg("-g");
    }
    let links = !["-c", "-S", "-E", "-fsyntax-only", "-M", "-MM"].into_iter().any(is);
    if links {
        let mut path = OsString::from("-Wl,-rpath,");
        path.push(library);
        command.arg("-L").arg(library).arg(path).arg("-Wl,-z,now").args(family.link_flags());
        let is_static = args.iter().any(|arg| arg == "-static-libstdc++");
        let containers = if is_static { &[] } else { WRAPPED_OF_CONTAINERS };
        command.args(WRAPPED.iter().chain(containers).map(|name| format!("-Wl,--wrap={name}")));
    }
    // Functions that look at the sizes of buffers are others than those that we know.
    command.args(args).arg("-U_FORTIFY_SOURCE");
    Ok(command)
}
