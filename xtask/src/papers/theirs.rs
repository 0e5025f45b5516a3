//! What the papers say: `corpus/papers/*.csv`, each with the source in its first lines.

use std::path::Path;

/// The rows of a file, below the names of the columns.
pub fn read(root: &Path, name: &str) -> Result<Vec<Vec<String>>, String> {
    let path = root.join("corpus/papers").join(name);
    let broken = |e: csv::Error| format!("{}: {e}", path.display());
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(&path).map_err(broken)?;
    reader.records().map(|row| Ok(row.map_err(broken)?.iter().map(String::from).collect())).collect()
}
