//! The library that programs are linked with: part of this command, and written to a folder where it is needed.

use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// The library.
const BYTES: &[u8] = include_bytes!(env!("FABIUS_NATIVE_LIBRARY"));

/// Goes before a header of the GNU C++ library that all its others include: `std::string` is compiled with the program then,
/// where its accesses are seen, instead of being taken from the library.
const STRINGS: &[u8] = b"#include_next <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
";

/// The folder of headers that go before the compiler's, in that of the library.
pub(crate) const HEADERS: &str = "include";

/// Writes the library into a folder of its own below `cache`, unless it is there; returns that folder.
///
/// The compiler looks for the sanitizer's library by the name `libtsan.so`, and finds ours; programs look for it by its own
/// name.
///
/// # Errors
/// What the system says.
pub fn install(cache: &Path) -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    hasher.write(BYTES);
    hasher.write(STRINGS);
    let folder = cache.join(format!("native-{:016x}", hasher.finish()));
    std::fs::create_dir_all(folder.join(HEADERS).join("bits"))?;
    let header = format!("{HEADERS}/bits/c++config.h");
    for (name, bytes) in [("libfabius_native.so", BYTES), ("libtsan.so", BYTES), (&header, STRINGS)] {
        let path = folder.join(name);
        if path.is_file() {
            continue;
        }
        // Others may do the same at the same time: the name appears with all of the bytes.
        let (process, thread) = (std::process::id(), std::thread::current().id());
        let part = folder.join(format!("{name}.{process}.{thread:?}"));
        std::fs::write(&part, bytes)?;
        std::fs::rename(&part, &path)?;
    }
    Ok(folder)
}
