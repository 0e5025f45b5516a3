//! Temporary folders.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Result;
use std::path::{Path, PathBuf};

/// A folder for temporary files, which is removed when it is no longer needed.
pub struct Folder(PathBuf);

impl Folder {
    /// A new folder.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(what: &str) -> Result<Folder> {
        // The number cannot be guessed, and a folder that is there already is not taken: it is somebody else's.
        let number = RandomState::new().build_hasher().finish();
        let folder = std::env::temp_dir().join(format!("fabius-{what}-{number:016x}"));
        std::fs::create_dir(&folder)?;
        Ok(Folder(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over lies in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
