//! The library that programs are linked with: part of this command, and written to a folder where it is needed.

use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// The library.
const BYTES: &[u8] = include_bytes!(env!("FABIUS_NATIVE_LIBRARY"));

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
    let folder = cache.join(format!("native-{:016x}", hasher.finish()));
    std::fs::create_dir_all(&folder)?;
    for name in ["libfabius_native.so", "libtsan.so"] {
        let path = folder.join(name);
        if path.is_file() {
            continue;
        }
        // Others may do the same at the same time: the name appears with all of the bytes.
        let (process, thread) = (std::process::id(), std::thread::current().id());
        let part = folder.join(format!("{name}.{process}.{thread:?}"));
        std::fs::write(&part, BYTES)?;
        std::fs::rename(&part, &path)?;
    }
    Ok(folder)
}
